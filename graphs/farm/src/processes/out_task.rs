use crate::types::Request;
use crate::wiring::OutTask;
use graphmap_runtime::Stopped;

/// Asks for a task and takes it on to the next module of the chain. The last module has none.
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
