use crate::wiring::Collect;
use std::error::Error;

/// Prints the prime of each process, in the order of the chain.
pub async fn collect(mut p: Collect) -> Result<(), Box<dyn Error>> {
    let primes = p.in_.read().await;
    let primes = primes.ok_or("a process of the chain has no prime")?;
    for line in primes.chunks(16) {
        let line: Vec<String> = line.iter().map(|prime| format!("{prime:5}")).collect();
        println!("{}", line.concat());
    }
    let sum: u64 = primes.iter().sum();
    println!("{} primes, their sum is {sum}", primes.len());
    Ok(())
}
