use crate::wiring::Generate;
use graphmap_runtime::Stopped;

/// Writes all numbers from 2 on, until the reader ends.
pub async fn generate(mut p: Generate) -> Result<(), Stopped> {
    for number in 2.. {
        p.out.write(number).await?;
    }
    Ok(())
}
