use crate::wiring::InResult;
use graphmap_runtime::Stopped;

/// Passes on the strips that the next module sends back.
pub async fn in_result(mut p: InResult) -> Result<(), Stopped> {
    while let Some(strip) = p.in_.read().await {
        p.out.write(strip).await?;
    }
    Ok(())
}
