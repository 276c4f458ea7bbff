use crate::wiring::End;
use std::error::Error;
use std::time::Instant;

/// Prints the number of tokens and a time in nanoseconds. It begins when each sink has received a
/// token, and ends when all tokens have arrived.
pub async fn end(mut p: End) -> Result<(), Box<dyn Error>> {
    p.in_.read().await.ok_or("nobody has had any")?;
    let start = Instant::now();
    let counts = p.in_.read().await.ok_or("nobody has counted")?;
    let took = start.elapsed().as_nanos();
    println!("{} in {took}", counts.iter().sum::<u64>());
    Ok(())
}
