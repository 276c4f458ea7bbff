use crate::wiring::End;
use std::error::Error;
use std::time::Instant;

/// Says how many tokens came, and how long that took from when each sink had had one, in nanoseconds.
pub async fn end(mut p: End) -> Result<(), Box<dyn Error>> {
    p.in_.read().await.ok_or("nobody has had any")?;
    let start = Instant::now();
    let counts = p.in_.read().await.ok_or("nobody has counted")?;
    let took = start.elapsed().as_nanos();
    println!("{} in {took}", counts.iter().sum::<u64>());
    Ok(())
}
