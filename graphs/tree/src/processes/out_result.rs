use crate::types::Count;
use crate::wiring::OutResult;
use graphmap_runtime::Stopped;

/// Adds up what its own worker finds and what comes from below, and sends one sum up at the end.
pub async fn out_result(mut p: OutResult) -> Result<(), Stopped> {
    let mut sum = Count::default();
    while let Some((_, count)) = p.in_.read().await {
        sum = sum + count;
    }
    p.out.write(sum).await
}
