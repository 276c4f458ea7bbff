use crate::types::Request;
use crate::wiring::InTask;
use graphmap_runtime::Stopped;

/// Index of the worker's channel at `inreq`, in the order of the graph.
const WORKER: usize = 0;

/// Reads one task ahead, and writes it to the first process that asks: the worker or the next one.
pub async fn in_task(mut p: InTask) -> Result<(), Stopped> {
    while let Some(task) = p.in_.read().await {
        match p.inreq.read().await {
            Some((WORKER, Request)) => p.outlocal.write(task).await?,
            Some((_, Request)) => p.out.write(task).await?,
            None => break,
        }
    }
    Ok(())
}
