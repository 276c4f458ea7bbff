use crate::wiring::Pong;
use graphmap_runtime::Stopped;

/// Sends each token back. With a third argument, sends the delay of the token instead.
pub async fn pong(mut p: Pong) -> Result<(), Stopped> {
    let rests = std::env::args().nth(3).is_some();
    while let Some(number) = p.small.read().await {
        let late = || super::ping::now().saturating_sub(number);
        let answer = if rests { late() } else { number };
        p.small_back.write(answer).await?;
    }
    while let Some(block) = p.large.read().await {
        p.large_back.write(block).await?;
    }
    Ok(())
}
