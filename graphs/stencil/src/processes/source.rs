use crate::plate::Plate;
use crate::wiring::Source;
use std::error::Error;

/// Cuts the plate into blocks, and writes them.
pub async fn source(mut p: Source) -> Result<(), Box<dyn Error>> {
    let side = p.out.members().isqrt();
    let plate = Plate::heated_in_the_north(side * order()?.size);
    let blocks = (0..side * side).map(|i| plate.block(side, i / side, i % side));
    p.out.write(blocks.collect()).await?;
    Ok(())
}

/// Command-line arguments.
pub struct Order {
    /// Number of points along a side of a block.
    pub size: usize,
    pub steps: usize,
    /// Whether to compute the uncut plate as well, which takes as long as all blocks together.
    pub check: bool,
}

pub fn order() -> Result<Order, String> {
    let number = |at: usize, name: &str, default: usize| match std::env::args().nth(at) {
        None => Ok(default),
        Some(text) => match text.parse() {
            Ok(number @ 1..=10_000) => Ok(number),
            _ => Err(format!("`{text}` is no {name} from 1 to 10000")),
        },
    };
    let check = match std::env::args().nth(3).as_deref() {
        None => true,
        Some("unchecked") => false,
        Some(text) => return Err(format!("`{text}`: only `unchecked` can follow the steps")),
    };
    Ok(Order {
        size: number(1, "size of a block", 20)?,
        steps: number(2, "number of steps", 500)?,
        check,
    })
}
