use crate::wiring::Sort;
use graphmap_runtime::Stopped;

/// Keeps all its numbers until the last has come, and sends them off in order.
pub async fn sort(mut p: Sort) -> Result<(), Stopped> {
    let mut numbers = Vec::new();
    while let Some(number) = p.in_.read().await {
        numbers.push(number);
    }
    numbers.sort_unstable();
    for number in numbers {
        p.out.write(number).await?;
    }
    Ok(())
}
