use crate::wiring::Collect;
use std::error::Error;
use std::time::Instant;

/// Prints the number of primes, their sum, and the time that they took.
pub async fn collect(mut p: Collect) -> Result<(), Box<dyn Error>> {
    let start = Instant::now();
    let primes = p.in_.read().await;
    let primes = primes.ok_or("a process of the chain has no prime")?;
    eprintln!("took {:.6} s", start.elapsed().as_secs_f64());
    println!("{} primes, their sum is {}", primes.len(), primes.iter().sum::<u64>());
    Ok(())
}
