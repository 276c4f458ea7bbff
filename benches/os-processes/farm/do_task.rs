use crate::types::{Request, Strip, compute};
use crate::wiring::DoTask;
use graphmap_runtime::Stopped;

/// Requests tasks, computes them, and writes the results.
pub async fn do_task(mut p: DoTask) -> Result<(), Stopped> {
    loop {
        p.outreq.write(Request).await?;
        let Some(task) = p.in_.read().await else {
            return Ok(());
        };
        let value = compute(task.rounds);
        p.out.write(Strip { value }).await?;
    }
}
