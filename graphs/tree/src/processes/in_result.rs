use crate::wiring::InResult;
use graphmap_runtime::Stopped;

/// Adds up the sums of the modules below, which send one sum each at the end.
pub async fn in_result(mut p: InResult) -> Result<(), Stopped> {
    while let Some(sum) = p.in_.read(|a, b| a + b).await {
        p.out.write(sum).await?;
    }
    Ok(())
}
