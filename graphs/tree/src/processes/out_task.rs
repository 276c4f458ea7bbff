use crate::types::Request;
use crate::wiring::OutTask;
use graphmap_runtime::Stopped;

/// Asks for a task and gives it to the module below that has had room for longest. The lowest
/// modules have none below.
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
