use crate::wiring::Head;
use std::error::Error;
use std::io::BufRead as _;
use std::time::Instant;

/// Sends a token round the ring and prints the time. With an argument, waits for a line of input
/// before it ends.
pub async fn head(mut p: Head) -> Result<(), Box<dyn Error>> {
    let start = Instant::now();
    p.out.write(0).await?;
    let count = p.in_.read().await.ok_or("the ring has ended")?;
    println!("{count} links in {:.6} s", start.elapsed().as_secs_f64());
    if std::env::args().len() > 1 {
        std::io::stdin().lock().lines().next();
    }
    Ok(())
}
