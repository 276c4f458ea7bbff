//! Measured values as integers: exactly, where they have few enough decimals.

use crate::error::Error;

/// Integers that stand for values.
#[derive(Clone, Debug, PartialEq)]
pub struct Scaled {
    /// One for each value.
    pub units: Vec<u64>,
    /// How many of them make 1.
    pub factor: f64,
    /// By how much they are off, summed over all values, in units of the values; 0 when they are
    /// exact.
    pub error: f64,
}

/// Digits after the decimal point that are counted.
const DIGITS: u32 = 18;
/// Sum of the integers where values cannot be had exactly, about: 12 digits of the whole.
const ROUNDED: f64 = 1e12;

/// Turns values (seconds, fractions) into integers: by the least power of ten that leaves none of them
/// a fraction, as it would be written in decimals; where their sum would exceed `most`, by the largest
/// that keeps the sum within 12 digits, and those that are lost are told. `more` are values that are to
/// be exact by the same factor, without being in the list.
///
/// Takes time linear in the values, and longer where they are no whole numbers.
///
/// # Errors
///
/// [`Error::Input`] on a negative, infinite or undefined value, with its index.
pub fn scale(values: &[f64], more: &[f64], most: f64) -> Result<Scaled, Error> {
    let mut decimals = 0;
    let mut total = 0.0;
    for (index, &value) in values.iter().enumerate() {
        if !value.is_finite() || value < 0.0 {
            return Err(Error::input(format!(
                "weight {index} is {value}: weights are finite and not negative"
            )));
        }
        total += value;
        decimals = decimals.max(decimals_of(value));
    }
    let others = more.iter().map(|&v| decimals_of(v)).max().unwrap_or(0);
    let exact = 10_f64.powi(decimals.max(others) as i32);
    // What has too many decimals in the list of others is no reason to lose the values themselves.
    let own = 10_f64.powi(decimals as i32);
    let factor = [exact, own]
        .into_iter()
        .find(|factor| decimals <= DIGITS && *factor <= 1e18 && total * factor <= most)
        .unwrap_or_else(|| below(ROUNDED.min(most) / total));
    let mut error = 0.0;
    let units = values.iter().map(|&value| {
        let unit = (value * factor).round();
        if factor != exact && factor != own {
            error += (unit / factor - value).abs();
        }
        unit as u64
    });
    Ok(Scaled {
        units: units.collect(),
        factor,
        error,
    })
}

/// The largest power of ten that is no more.
fn below(value: f64) -> f64 {
    10_f64.powi(value.log10().floor().clamp(-300.0, 300.0) as i32)
}

/// Digits after the point that a value has as it is written, in the shortest way that means it.
pub(crate) fn decimals_of(value: f64) -> u32 {
    if value.fract() == 0.0 {
        return 0;
    }
    let text = format!("{value:e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let after = digits.split_once('.').map_or(0, |(_, after)| after.len()) as i32;
    let exponent: i32 = exponent.parse().unwrap_or(0);
    (after - exponent).max(0) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::LARGEST_TOTAL;
    use proptest::prelude::*;

    const MOST: f64 = LARGEST_TOTAL as f64;

    #[test]
    fn what_has_few_decimals_is_exact() {
        let scaled = |values: &[f64]| {
            let scaled = scale(values, &[], MOST).unwrap();
            (scaled.units, scaled.factor, scaled.error)
        };
        assert_eq!(scaled(&[3.0, 0.0, 7.0]), (vec![3, 0, 7], 1.0, 0.0));
        assert_eq!(scaled(&[1e9, 0.1]), (vec![10_000_000_000, 1], 10.0, 0.0));
        assert_eq!(scaled(&[0.29, 2.5]), (vec![29, 250], 100.0, 0.0));
        assert_eq!(scaled(&[1e-12, 1.0]).0, [1, 1_000_000_000_000]);
        assert_eq!(scaled(&[]), (vec![], 1.0, 0.0));
        // Another value has the finer step.
        let other = scale(&[1.0, 2.0], &[0.25], MOST).unwrap();
        assert_eq!((other.units, other.factor), (vec![100, 200], 100.0));
    }

    #[test]
    fn what_has_more_is_rounded_and_the_error_told() {
        let values = [1.0 / 3.0, 2.0 / 3.0, 1e6];
        let found = scale(&values, &[], MOST).unwrap();
        let off = |(v, &u): (&f64, &u64)| (v - u as f64 / found.factor).abs();
        let error: f64 = values.iter().zip(&found.units).map(off).sum();
        assert!(found.error > 0.0 && found.error == error && error < 1e-5);
        // Too many for what is counted: the smallest is lost, and that is told.
        let found = scale(&[1e300, 1.0], &[], MOST).unwrap();
        assert!(found.units[1] == 0 && found.error >= 1.0);
    }

    #[test]
    fn bad_values_are_refused() {
        for wrong in [-2.0, f64::NAN, f64::INFINITY] {
            assert!(scale(&[1.0, wrong], &[], MOST).is_err());
        }
    }

    proptest! {
        #[test]
        fn the_sum_stays_within_what_is_counted(
            values in prop::collection::vec(prop_oneof![0.0..1e18, 0.0..1.0, 1e-300..1e-290], 0..20)
        ) {
            let found = scale(&values, &[], MOST).unwrap();
            let sum: u64 = found.units.iter().sum();
            prop_assert!(sum as f64 <= MOST + values.len() as f64);
            for (value, &unit) in values.iter().zip(&found.units) {
                let back = unit as f64 / found.factor;
                prop_assert!((back - value).abs() <= found.error + value * 1e-14);
            }
        }
    }
}
