use super::source::factors;
use crate::matrix::Matrix;
use crate::wiring::Sink;
use std::error::Error;

/// Assembles the product and compares it with the product of the uncut factors.
pub async fn sink(mut p: Sink) -> Result<(), Box<dyn Error>> {
    let side = p.in_.members().isqrt();
    let blocks = p.in_.read().await;
    let blocks = blocks.ok_or("a cell has sent no block")?;
    let product = Matrix::of_blocks(&blocks);
    let (left, right) = factors(side)?;
    let mut expected = Matrix::new(product.size(), |_, _| 0);
    expected.add_product(&left, &right);
    println!("{0} x {0} numbers on {side} x {side} cells", product.size());
    println!("trace of the product {}", product.trace());
    if product != expected {
        return Err("the product is not that of the factors".into());
    }
    println!("equal to the product made at once");
    Ok(())
}
