//! Conversion of measured values to integers, which is exact if they have few decimals.

use crate::error::Error;

/// Conversion of values to integers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// Number of units in 1.
    pub factor: f64,
    /// Sum of the rounding errors of all values, in the unit of the values. 0 if the conversion is
    /// exact.
    pub error: f64,
}

impl Scale {
    /// Returns a value in units, rounded to the nearest integer. A negative value or NaN gives 0,
    /// and a value that is too large gives the largest `u64`.
    #[must_use]
    pub fn units(&self, value: f64) -> u64 {
        (value * self.factor).round() as u64
    }
}

/// Most digits after the decimal point in an exact conversion.
const DIGITS: u32 = 18;
/// Approximate sum of the integers if the conversion is not exact: 12 significant digits.
const ROUNDED: f64 = 1e12;

/// Returns the scale for values such as seconds or fractions.
///
/// The factor is the least power of ten that makes all values integers, as written in decimals.
/// This needs at most 18 decimals, and a sum of the integers of at most `most`. Otherwise, the
/// factor is the largest power of ten for which that sum is at most 10^12 and at most `most`. The
/// exponent is then from -300 to 300, and [`Scale::error`] is the loss. The same factor makes the
/// values in `more` exact if possible. They are not part of the sum, and they are not checked.
///
/// The values are iterated twice, and a clone must yield the same ones. The time is linear in them,
/// and longer if they are not integers.
///
/// # Errors
///
/// [`Error::Input`] if one of `values` is negative, infinite or NaN. The message contains the index
/// of the first such value.
pub fn scale(
    values: impl Iterator<Item = f64> + Clone,
    more: &[f64],
    most: f64,
) -> Result<Scale, Error> {
    let mut decimals = 0;
    let mut total = 0.0;
    for (index, value) in values.clone().enumerate() {
        if !value.is_finite() || value < 0.0 {
            return Err(Error::input(format!(
                "weight {index} is {value}; weights must be finite and not negative"
            )));
        }
        total += value;
        decimals = decimals.max(decimals_of(value));
    }
    let others = more.iter().map(|&v| decimals_of(v)).max().unwrap_or(0);
    let exact = 10_f64.powi(decimals.max(others) as i32);
    // If only `more` has too many decimals, the values themselves stay exact.
    let own = 10_f64.powi(decimals as i32);
    let factor = [exact, own]
        .into_iter()
        .find(|factor| decimals <= DIGITS && *factor <= 1e18 && total * factor <= most);
    let Some(factor) = factor else {
        // Largest power of ten within this sum.
        let digits = (ROUNDED.min(most) / total).log10().floor();
        let factor = 10_f64.powi(digits.clamp(-300.0, 300.0) as i32);
        let off = |value: f64| ((value * factor).round() / factor - value).abs();
        let error = values.map(off).sum();
        return Ok(Scale { factor, error });
    };
    Ok(Scale { factor, error: 0.0 })
}

/// Returns the number of digits after the decimal point in the shortest decimal form of a value.
/// Returns 0 for an infinite value and NaN.
#[must_use]
pub fn decimals_of(value: f64) -> u32 {
    if value.fract() == 0.0 {
        return 0;
    }
    let text = format!("{value:e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let after = digits.split_once('.').map_or(0, |(_, after)| after.len()) as i32;
    let exponent: i32 = exponent.parse().unwrap_or(0);
    (after - exponent).max(0) as u32
}

/// Returns the greatest common divisor of two numbers that are not negative. If one of them is 0,
/// returns the other.
pub(crate) fn gcd(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::LARGEST_TOTAL;
    use proptest::prelude::*;

    const MOST: f64 = LARGEST_TOTAL as f64;

    #[test]
    fn few_decimals_are_exact() {
        let scaled = |values: &[f64]| {
            let scale = scale(values.iter().copied(), &[], MOST).unwrap();
            let units: Vec<u64> = values.iter().map(|&v| scale.units(v)).collect();
            (units, scale.factor, scale.error)
        };
        assert_eq!(scaled(&[3.0, 0.0, 7.0]), (vec![3, 0, 7], 1.0, 0.0));
        assert_eq!(scaled(&[1e9, 0.1]), (vec![10_000_000_000, 1], 10.0, 0.0));
        assert_eq!(scaled(&[0.29, 2.5]), (vec![29, 250], 100.0, 0.0));
        assert_eq!(scaled(&[1e-12, 1.0]).0, [1, 1_000_000_000_000]);
        assert_eq!(scaled(&[]), (vec![], 1.0, 0.0));
        // `more` requires a finer unit.
        let other = scale([1.0, 2.0].into_iter(), &[0.25], MOST).unwrap();
        assert_eq!((other.units(2.0), other.factor), (200, 100.0));
    }

    #[test]
    fn many_decimals_are_rounded_and_the_error_reported() {
        let values = [1.0 / 3.0, 2.0 / 3.0, 1e6];
        let found = scale(values.into_iter(), &[], MOST).unwrap();
        let off = |&v: &f64| (v - found.units(v) as f64 / found.factor).abs();
        let error: f64 = values.iter().map(off).sum();
        assert!(found.error > 0.0 && found.error == error && error < 1e-5);
        // The range is too large: the smaller value is lost, and the error contains it.
        let found = scale([1e300, 1.0].into_iter(), &[], MOST).unwrap();
        assert!(found.units(1.0) == 0 && found.error >= 1.0);
    }

    #[test]
    fn bad_values_are_refused() {
        for wrong in [-2.0, f64::NAN, f64::INFINITY] {
            assert!(scale([1.0, wrong].into_iter(), &[], MOST).is_err());
        }
    }

    proptest! {
        #[test]
        fn sum_stays_within_the_limit(
            values in prop::collection::vec(prop_oneof![0.0..1e18, 0.0..1.0, 1e-300..1e-290], 0..20)
        ) {
            let found = scale(values.iter().copied(), &[], MOST).unwrap();
            let sum: u64 = values.iter().map(|&v| found.units(v)).sum();
            prop_assert!(sum as f64 <= MOST + values.len() as f64);
            for value in &values {
                let back = found.units(*value) as f64 / found.factor;
                prop_assert!((back - value).abs() <= found.error + value * 1e-14);
            }
        }
    }
}
