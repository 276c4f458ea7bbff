use crate::wiring::OutResult;
use graphmap_runtime::Stopped;

/// Sends results back towards the manager: those of its own worker and those from further down the
/// chain, as they come.
pub async fn out_result(mut p: OutResult) -> Result<(), Stopped> {
    while let Some((_, strip)) = p.in_.read().await {
        p.out.write(strip).await?;
    }
    Ok(())
}
