use crate::wiring::Load;
use graphmap_runtime::Stopped;

/// Passes samples to the first stage.
pub async fn load(mut p: Load) -> Result<(), Stopped> {
    while let Some(sample) = p.in_.read().await {
        p.out.write(sample).await?;
    }
    Ok(())
}
