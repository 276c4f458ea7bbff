use crate::complex::Complex;
use crate::types::Sample;
use crate::wiring::Source;
use std::error::Error;

/// Writes one signal after the other, one sample to each row.
pub async fn source(mut p: Source) -> Result<(), Box<dyn Error>> {
    let rows = p.out.members();
    for number in 0..count()? {
        let signal = signal(number, rows);
        // The butterfly expects its samples in bit-reversed order.
        let bits = rows.trailing_zeros();
        let backwards = |row: usize| row.reverse_bits() >> (usize::BITS - bits);
        let value = |row| signal[backwards(row)];
        let samples = (0..rows).map(|row| Sample {
            row,
            value: value(row),
        });
        p.out.write(samples.collect()).await?;
    }
    Ok(())
}

/// Returns the number of signals: the first argument, 1000 by default.
fn count() -> Result<u32, Box<dyn Error>> {
    match std::env::args().nth(1) {
        None => Ok(1000),
        Some(text) => match text.parse() {
            Ok(count) => Ok(count),
            Err(_) => Err(format!("`{text}` is no number of signals").into()),
        },
    }
}

/// Returns the signal with this number: two waves and some noise.
pub fn signal(number: u32, samples: usize) -> Vec<Complex> {
    let mut noise = number;
    let wave =
        |i: usize, frequency: u32| Complex::turn(-f64::from(frequency) * i as f64 / samples as f64);
    let sample = |i| {
        noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let re = f64::from(noise >> 16) / 65536.0;
        wave(i, number) + wave(i, number / 3) + Complex { re, im: 0.0 }
    };
    (0..samples).map(sample).collect()
}
