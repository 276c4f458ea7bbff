//! Units of numbers of bytes.

/// Splits a text into a number and the factor of its unit.
///
/// `K`, `M`, `G`, `T` and `KiB` to `TiB` are powers of 1024, and `kB` to `TB` are powers of 1000.
/// The first letter of the unit may be in lower or upper case. White space before the unit is
/// removed. Without a known unit, returns the whole text and 1. The number is not checked, and may
/// be empty.
///
/// ```
/// use graphmap_kpn::size::split;
/// assert_eq!(split("64K"), ("64", 1024));
/// assert_eq!(split("1.5 GB"), ("1.5", 1_000_000_000));
/// assert_eq!(split("7"), ("7", 1));
/// ```
#[must_use]
pub fn split(text: &str) -> (&str, u64) {
    let (stem, base): (&str, u64) = match (text.strip_suffix("iB"), text.strip_suffix('B')) {
        (Some(stem), _) => (stem, 1024),
        (None, Some(stem)) => (stem, 1000),
        (None, None) => (text, 1024),
    };
    let power = match stem.bytes().next_back() {
        Some(b'k' | b'K') => 1,
        Some(b'm' | b'M') => 2,
        Some(b'g' | b'G') => 3,
        Some(b't' | b'T') => 4,
        _ => return (text, 1),
    };
    (stem[..stem.len() - 1].trim_end(), base.pow(power))
}
