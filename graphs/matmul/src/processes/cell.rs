use crate::matrix::Matrix;
use crate::types::Pair;
use crate::wiring::Cell;
use graphmap_runtime as rt;

/// Multiplies the blocks that arrive here, and passes them on: the left factor to the left, the
/// right factor up. After one round for each cell of a row, the block of the product is complete.
pub async fn cell(mut p: Cell) -> Result<(), rt::Stopped> {
    let side = rt::me().members.isqrt();
    let Some(Pair {
        mut left,
        mut right,
    }) = p.start.read().await
    else {
        return Ok(());
    };
    let mut product = Matrix::new(left.size(), |_, _| 0);
    for round in 1..=side {
        product.add_product(&left, &right);
        if round == side {
            break;
        }
        p.left.write(left).await?;
        p.up.write(right).await?;
        let (Some(next_left), Some(next_right)) = (p.right.read().await, p.down.read().await)
        else {
            return Ok(());
        };
        (left, right) = (next_left, next_right);
    }
    p.result.write(product).await
}
