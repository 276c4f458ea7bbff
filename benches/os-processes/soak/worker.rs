use crate::wiring::Worker;
use graphmap_runtime::Stopped;

/// Passes on its tokens.
pub async fn worker(mut p: Worker) -> Result<(), Stopped> {
    while let Some(token) = p.in_.read().await {
        p.out.write(token).await?;
    }
    Ok(())
}
