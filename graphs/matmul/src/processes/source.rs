use crate::matrix::Matrix;
use crate::types::Pair;
use crate::wiring::Source;
use std::error::Error;

/// The factors, cut into one block for each cell.
///
/// The blocks are dealt out so that what meets in a cell belongs together: row `r` of the left
/// matrix starts `r` cells further left, column `c` of the right one `c` cells further up.
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

/// The matrices to multiply, of the size that the user wants: so many numbers a side of a cell.
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
