use crate::wiring::Helper;
use graphmap_runtime::Stopped;

/// Passes on its tokens.
pub async fn helper(mut p: Helper) -> Result<(), Stopped> {
    while let Some(token) = p.in_.read().await {
        p.out.write(token).await?;
    }
    Ok(())
}
