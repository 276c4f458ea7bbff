use crate::wiring::Copy;
use graphmap_runtime::Stopped;

/// Passes on its tokens.
pub async fn copy(mut p: Copy) -> Result<(), Stopped> {
    while let Some(token) = p.in_.read().await {
        p.out.write(token).await?;
    }
    Ok(())
}
