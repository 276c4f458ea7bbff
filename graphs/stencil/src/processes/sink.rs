use super::source::order;
use crate::plate::Plate;
use crate::wiring::Sink;
use std::error::Error;

/// Prints the mean temperature, and compares each block with the same block of an uncut plate.
pub async fn sink(mut p: Sink) -> Result<(), Box<dyn Error>> {
    let side = p.in_.members().isqrt();
    let blocks = p.in_.read().await;
    let blocks = blocks.ok_or("a block of the plate did not come back")?;
    let order = order()?;
    let points = side * order.size;
    let heat: f64 = blocks.iter().flat_map(|block| block.inner()).sum();
    println!(
        "{points} x {points} points in {side} x {side} blocks, {} steps",
        order.steps
    );
    println!("mean temperature {:.9}", heat / (points * points) as f64);
    if !order.check {
        return Ok(());
    }
    let mut whole = Plate::heated_in_the_north(points);
    for _ in 0..order.steps {
        whole.step();
    }
    let mut worst = 0.0_f64;
    for (i, block) in blocks.iter().enumerate() {
        let expected = whole.block(side, i / side, i % side);
        for (found, expected) in block.inner().zip(expected.inner()) {
            worst = worst.max((found - expected).abs());
        }
    }
    println!("largest difference from the whole plate {worst:e}");
    Ok(())
}
