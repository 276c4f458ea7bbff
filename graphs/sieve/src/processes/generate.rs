use crate::wiring::Generate;
use graphmap_runtime::Stopped;

/// All numbers from 2 on, until nobody wants more.
pub async fn generate(mut p: Generate) -> Result<(), Stopped> {
    for number in 2.. {
        p.out.write(number).await?;
    }
    Ok(())
}
