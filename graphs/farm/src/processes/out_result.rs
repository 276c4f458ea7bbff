use crate::wiring::OutResult;
use graphmap_runtime::Stopped;

/// Passes results on towards the manager, in order of arrival. They come from its own worker and
/// from further down the chain.
pub async fn out_result(mut p: OutResult) -> Result<(), Stopped> {
    while let Some((_, strip)) = p.in_.read().await {
        p.out.write(strip).await?;
    }
    Ok(())
}
