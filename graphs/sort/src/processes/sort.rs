use crate::wiring::Sort;
use graphmap_runtime::Stopped;

/// Reads all numbers, sorts them, and writes them in order.
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
