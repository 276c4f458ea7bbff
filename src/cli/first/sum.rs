use crate::wiring::Sum;

/// Adds the squares of all workers.
pub async fn sum(mut ports: Sum) {
    let mut sum = 0;
    while let Some((_worker, square)) = ports.in_.read().await {
        sum += square;
    }
    println!("the sum of the squares from 1 to 1000 is {sum}");
}
