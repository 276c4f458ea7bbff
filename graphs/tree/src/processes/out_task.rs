use crate::types::Request;
use crate::wiring::OutTask;
use graphmap_runtime::Stopped;

/// Requests tasks and passes each to the module below that has had space for longest. Ends at once
/// in the lowest modules.
pub async fn out_task(mut p: OutTask) -> Result<(), Stopped> {
    while p.out.is_connected() {
        p.outreq.write(Request).await?;
        let Some(task) = p.in_.read().await else {
            break;
        };
        p.out.write(task).await?;
    }
    Ok(())
}
