use crate::wiring::Split;
use graphmap_runtime::Stopped;

/// Deals numbers out, one to the left, one to the right.
pub async fn split(mut p: Split) -> Result<(), Stopped> {
    while let Some(number) = p.in_.read().await {
        p.left.write(number).await?;
        std::mem::swap(&mut p.left, &mut p.right);
    }
    Ok(())
}
