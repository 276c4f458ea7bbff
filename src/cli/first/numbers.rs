use crate::wiring::Numbers;
use graphmap_runtime::Stopped;

/// Sends the numbers from 1 to 1000, each to the first worker that is ready.
pub async fn numbers(mut ports: Numbers) -> Result<(), Stopped> {
    for number in 1..=1000 {
        ports.out.write(number).await?;
    }
    Ok(())
}
