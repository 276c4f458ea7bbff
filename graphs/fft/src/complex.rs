//! Complex numbers, with the operations of a Fourier transform.

use std::ops::{Add, Mul, Sub};

#[derive(Clone, Copy, Debug, Default, PartialEq, graphmap_runtime::Payload)]
pub struct Complex {
    pub re: f64,
    pub im: f64,
}

impl Complex {
    /// Returns the point of the unit circle after `part` of a full turn, clockwise.
    pub fn turn(part: f64) -> Complex {
        let (sin, cos) = (-std::f64::consts::TAU * part).sin_cos();
        Complex { re: cos, im: sin }
    }

    pub fn distance(self, other: Complex) -> f64 {
        (self.re - other.re).hypot(self.im - other.im)
    }
}

impl Add for Complex {
    type Output = Complex;
    fn add(self, other: Complex) -> Complex {
        Complex {
            re: self.re + other.re,
            im: self.im + other.im,
        }
    }
}

impl Sub for Complex {
    type Output = Complex;
    fn sub(self, other: Complex) -> Complex {
        Complex {
            re: self.re - other.re,
            im: self.im - other.im,
        }
    }
}

impl Mul for Complex {
    type Output = Complex;
    fn mul(self, other: Complex) -> Complex {
        Complex {
            re: self.re * other.re - self.im * other.im,
            im: self.re * other.im + self.im * other.re,
        }
    }
}

/// Returns the Fourier transform by its definition, in time quadratic in the number of samples.
pub fn transform(signal: &[Complex]) -> Vec<Complex> {
    let n = signal.len();
    let of_frequency = |k: usize| {
        let terms = signal.iter().enumerate();
        terms.fold(Complex::default(), |sum, (i, &value)| {
            sum + value * Complex::turn((i * k % n) as f64 / n as f64)
        })
    };
    (0..n).map(of_frequency).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wave_has_one_frequency() {
        let signal: Vec<Complex> = (0..8).map(|i| Complex::turn(f64::from(-i) / 8.0)).collect();
        for (k, value) in transform(&signal).into_iter().enumerate() {
            let expected = if k == 1 { 8.0 } else { 0.0 };
            assert!(
                value.distance(Complex {
                    re: expected,
                    im: 0.0
                }) < 1e-12,
                "{k}"
            );
        }
    }
}
