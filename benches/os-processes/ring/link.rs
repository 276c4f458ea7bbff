use crate::wiring::Link;
use graphmap_runtime::Stopped;

/// Passes on each count plus one.
pub async fn link(mut p: Link) -> Result<(), Stopped> {
    while let Some(count) = p.in_.read().await {
        p.out.write(count + 1).await?;
    }
    Ok(())
}
