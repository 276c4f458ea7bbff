use super::source::numbers;
use crate::wiring::Sink;
use std::error::Error;

/// Compares the numbers that arrive with the same numbers sorted by the standard library.
pub async fn sink(mut p: Sink) -> Result<(), Box<dyn Error>> {
    let mut expected: Vec<u64> = numbers()?.collect();
    expected.sort_unstable();
    let mut sorted = Vec::with_capacity(expected.len());
    while let Some(number) = p.in_.read().await {
        sorted.push(number);
    }
    if sorted != expected {
        return Err("the numbers are not as the standard library sorts them".into());
    }
    println!("{} numbers sorted", sorted.len());
    if let Some(middle) = sorted.get(sorted.len() / 2) {
        println!("median {middle}");
    }
    Ok(())
}
