use crate::matrix::Matrix;
use crate::types::Pair;
use crate::wiring::Source;
use std::error::Error;

/// Cuts the factors into one block for each cell.
///
/// The blocks are skewed as in Cannon's algorithm, so that matching blocks meet in a cell. Row `r`
/// of the left matrix starts `r` cells further left, and column `c` of the right one `c` cells
/// further up.
pub async fn source(mut p: Source) -> Result<(), Box<dyn Error>> {
    let side = p.out.members().isqrt();
    let (left, right) = factors(side)?;
    let pairs = (0..side * side).map(|cell| {
        let (row, column) = (cell / side, cell % side);
        let meeting = (row + column) % side;
        Pair {
            left: left.block(side, row, meeting),
            right: right.block(side, meeting, column),
        }
    });
    p.out.write(pairs.collect()).await?;
    Ok(())
}

/// Returns the matrices to multiply. The argument is the size of a block, 50 by default.
pub fn factors(side: usize) -> Result<(Matrix, Matrix), String> {
    let size = match std::env::args().nth(1) {
        None => 50,
        Some(text) => match text.parse() {
            Ok(size @ 1..=1000) => size,
            _ => return Err(format!("`{text}` is no size of a block from 1 to 1000")),
        },
    };
    let whole = side * size;
    Ok((Matrix::scrambled(whole, 1), Matrix::scrambled(whole, 2)))
}
