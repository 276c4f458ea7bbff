use super::source::signal;
use crate::complex::{Complex, transform};
use crate::wiring::Sink;

/// Reads the transforms and compares each with the transform by definition.
pub async fn sink(mut p: Sink) {
    let (mut signals, mut worst, mut power) = (0, 0.0_f64, 0.0);
    while let Some(samples) = p.in_.read().await {
        let expected = transform(&signal(signals, samples.len()));
        for (found, expected) in samples.iter().zip(expected) {
            worst = worst.max(found.value.distance(expected));
            power += found.value.distance(Complex::default()).powi(2);
        }
        signals += 1;
    }
    println!("{signals} signals of {} samples", p.in_.members());
    println!("power {power:.6}");
    println!("largest difference from the definition {worst:.1e}");
}
