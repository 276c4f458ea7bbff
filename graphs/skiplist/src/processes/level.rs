use crate::list::{List, height};
use crate::wiring::Level;
use graphmap_runtime::{Stopped, me};

/// Moves each search forward on this level, and passes it on to the level below.
pub async fn level(mut p: Level) -> Result<(), Stopped> {
    let me = me();
    // The bottom is level 1, and the last of these processes is level 2.
    let level = (me.members - me.index + 1) as u32;
    let mut keys = List::default();
    while let Some(mut search) = p.search.read().await {
        keys.advance(&mut search);
        if height(search.key) >= level {
            keys.change(&search);
        }
        p.down.write(search).await?;
    }
    Ok(())
}
