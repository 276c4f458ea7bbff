use crate::types::Count;
use crate::wiring::OutResult;
use graphmap_runtime::Stopped;

/// Adds up the counts of its own worker and the sums from below, and writes one sum at the end.
pub async fn out_result(mut p: OutResult) -> Result<(), Stopped> {
    let mut sum = Count::default();
    while let Some((_, count)) = p.in_.read().await {
        sum = sum + count;
    }
    p.out.write(sum).await
}
