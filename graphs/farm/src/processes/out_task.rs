use crate::types::Request;
use crate::wiring::OutTask;
use graphmap_runtime::Stopped;

/// Requests tasks and passes them to the next module of the chain. Ends at once in the last module.
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
