use crate::wiring::Source;
use std::error::Error;

/// Writes tokens. The argument is their number.
pub async fn source(mut p: Source) -> Result<(), Box<dyn Error>> {
    let count: u64 = std::env::args().nth(1).ok_or("how many?")?.parse()?;
    for number in 0..count {
        p.out.write(number).await.map_err(|_| "nobody reads")?;
    }
    Ok(())
}
