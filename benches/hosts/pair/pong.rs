use crate::wiring::Pong;
use graphmap_runtime::Stopped;

/// Gives back what it gets.
pub async fn pong(mut p: Pong) -> Result<(), Stopped> {
    while let Some(number) = p.small.read().await {
        p.small_back.write(number).await?;
    }
    while let Some(block) = p.large.read().await {
        p.large_back.write(block).await?;
    }
    Ok(())
}
