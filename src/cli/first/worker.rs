use crate::wiring::Worker;
use graphmap_runtime::Stopped;

/// Squares numbers.
pub async fn worker(mut ports: Worker) -> Result<(), Stopped> {
    while let Some(number) = ports.in_.read().await {
        ports.out.write(number * number).await?;
    }
    Ok(())
}
