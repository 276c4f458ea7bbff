use crate::wiring::Merge;
use graphmap_runtime::Stopped;

/// Merges two sorted streams into one.
pub async fn merge(mut p: Merge) -> Result<(), Stopped> {
    let (mut left, mut right) = (p.left.read().await, p.right.read().await);
    loop {
        match (left, right) {
            (Some(number), other) if other.is_none_or(|other| number <= other) => {
                p.out.write(number).await?;
                left = p.left.read().await;
            }
            (_, Some(number)) => {
                p.out.write(number).await?;
                right = p.right.read().await;
            }
            _ => return Ok(()),
        }
    }
}
