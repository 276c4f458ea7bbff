use super::source::order;
use crate::plate::Side::{East, North, South, West};
use crate::wiring::Block;
use std::error::Error;

/// Computes the steps of one block. In each step it writes its sides to its neighbours, reads
/// theirs, and spreads its heat. The rim at the edge of the plate has no neighbour and does not
/// change.
pub async fn block(mut p: Block) -> Result<(), Box<dyn Error>> {
    let Some(mut block) = p.start.read().await else {
        return Ok(());
    };
    let mut out = [
        (North, p.north),
        (South, p.south),
        (West, p.west),
        (East, p.east),
    ];
    let mut seen = [
        (North, p.from_north),
        (South, p.from_south),
        (West, p.from_west),
        (East, p.from_east),
    ];
    for _ in 0..order()?.steps {
        for (side, port) in out.iter_mut().filter(|(_, port)| port.is_connected()) {
            port.write(block.side(*side)).await?;
        }
        for (side, port) in &mut seen {
            if let Some(rim) = port.read().await {
                block.set_rim(*side, &rim);
            }
        }
        block.step();
    }
    p.result.write(block).await?;
    Ok(())
}
