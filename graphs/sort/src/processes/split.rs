use crate::wiring::Split;
use graphmap_runtime::Stopped;

/// Writes the numbers to the left and to the right in turn.
pub async fn split(mut p: Split) -> Result<(), Stopped> {
    while let Some(number) = p.in_.read().await {
        p.left.write(number).await?;
        std::mem::swap(&mut p.left, &mut p.right);
    }
    Ok(())
}
