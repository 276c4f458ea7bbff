//! Functions for pictures: the level of detail, numbers as text, and text in XML.

use crate::text::redirects;
use graphmap_kpn::codes;
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::emit::EmitContext;
use graphmap_kpn::mapping::Mapped;
use std::collections::BTreeMap;

/// Maximum number of processes that a picture shows individually by default.
pub const MOST_PROCESSES: usize = 200;

/// Least number of which not all digits are shown.
const LARGE: f64 = 1e12;

/// Returns `1 process` or `2 processes`, for a noun with a plural in `es`. 0 has the plural.
pub(crate) fn count(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "es" };
    format!("{number} {noun}{plural}")
}

/// Level of detail of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// Every process and channel.
    Processes,
    /// One node for all processes of a kind in an OS process.
    Kinds,
}

impl Detail {
    /// Returns the level of the option `detail=processes` or `detail=kinds`. Without the option,
    /// shows processes up to [`MOST_PROCESSES`], and kinds in larger networks.
    ///
    /// # Errors
    /// Returns the value of the option if it is neither.
    pub fn choose(options: &BTreeMap<String, String>, mapped: &Mapped) -> Result<Detail, String> {
        match options.get("detail").map(String::as_str) {
            Some("processes") => Ok(Detail::Processes),
            Some("kinds") => Ok(Detail::Kinds),
            Some(other) => Err(other.to_owned()),
            None if mapped.network().processes.len() <= MOST_PROCESSES => Ok(Detail::Processes),
            None => Ok(Detail::Kinds),
        }
    }
}

/// Returns the level of detail of the options ([`Detail::choose`]).
///
/// # Errors
/// Returns an error (`G0020`) for an unknown value of `detail`.
pub(crate) fn detail(context: &EmitContext<'_>, mapped: &Mapped) -> Result<Detail, Diagnostics> {
    Detail::choose(context.options, mapped).map_err(|value| {
        let mut found = Diagnostics::new();
        found.push(
            Diagnostic::error(
                codes::DETAIL,
                format!("a picture has no level of detail `{value}`"),
            )
            .help("use `detail=processes` or `detail=kinds`"),
        );
        found
    })
}

/// Returns a sum of traffic or loads. A sum that `f64` cannot represent is the largest number.
pub(crate) fn total(values: impl Iterator<Item = f64>) -> f64 {
    values.sum::<f64>().min(f64::MAX)
}

/// Returns a number that reads back as the same, with an exponent if it is large.
pub(crate) fn exact(value: f64) -> String {
    match value.abs() < LARGE {
        true => value.to_string(),
        false => format!("{value:e}"),
    }
}

/// Returns a number with at most two decimals, without trailing zeros. A large one is compact.
pub(crate) fn number(value: f64) -> String {
    if value.abs() >= LARGE {
        return compact(value);
    }
    let rounded = format!("{value:.2}");
    let number = rounded.trim_end_matches('0').trim_end_matches('.');
    // An empty sum is -0.
    if number == "-0" { "0" } else { number }.to_owned()
}

/// Returns a number with at most three digits and a suffix: `1.23k` for 1234. Numbers below 1000
/// have at most two decimals.
pub(crate) fn compact(value: f64) -> String {
    let mut scaled = value;
    let mut suffixes = ["", "k", "M", "G", "T", "P", "E"].into_iter();
    let mut suffix = suffixes.next().unwrap_or_default();
    while scaled.abs() >= 999.5 {
        let Some(next) = suffixes.next() else {
            return format!("{value:.1e}");
        };
        (scaled, suffix) = (scaled / 1000.0, next);
    }
    let decimals = match scaled.abs() {
        small if small < 9.995 => 2,
        medium if medium < 99.95 => 1,
        _ => 0,
    };
    let rounded = format!("{scaled:.decimals$}").parse().unwrap_or(scaled);
    number(rounded) + suffix
}

/// Returns ranges of ascending numbers: `0-3,8` for 0 1 2 3 8.
pub(crate) fn ranges(numbers: &[u32]) -> String {
    let mut parts: Vec<(u32, u32)> = Vec::new();
    for &n in numbers {
        match parts.last_mut() {
            Some((_, last)) if *last + 1 == n => *last = n,
            _ => parts.push((n, n)),
        }
    }
    let parts = parts.iter().map(|&(a, b)| {
        if a == b {
            a.to_string()
        } else {
            format!("{a}-{b}")
        }
    });
    parts.collect::<Vec<_>>().join(",")
}

/// Escapes a text for the content of an XML element or for an attribute in quotes. Control
/// characters, also newlines and tabs, and characters that change the direction of the text become
/// U+FFFD.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // XML 1.0 cannot represent most control characters, and these two.
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c if redirects(c) => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{compact, escaped, exact, number, ranges, total};

    #[test]
    fn text_is_escaped() {
        assert_eq!(escaped("a<b> & \u{1}c"), "a&lt;b&gt; &amp; \u{fffd}c");
        assert_eq!(escaped("\"'\u{ffff}"), "&quot;&#39;\u{fffd}");
        assert_eq!(escaped("\u{202e}evil"), "\u{fffd}evil");
    }

    #[test]
    fn ascending_numbers_become_ranges() {
        assert_eq!(ranges(&[0, 1, 2, 3, 8, 10, 11]), "0-3,8,10-11");
        assert_eq!(ranges(&[]), "");
    }

    #[test]
    fn compact_numbers_have_three_digits() {
        for (value, shown) in [
            (0.0, "0"),
            (0.126, "0.13"),
            (9.996, "10"),
            (999.4, "999"),
            (999.6, "1k"),
            (1234.0, "1.23k"),
            (45_678.0, "45.7k"),
            (2e6, "2M"),
            (1e30, "1.0e30"),
        ] {
            assert_eq!(compact(value), shown, "{value:?}");
        }
    }

    #[test]
    fn sums_are_finite_and_exact_numbers_are_short() {
        assert_eq!(total([f64::MAX, f64::MAX].into_iter()), f64::MAX);
        for (value, shown) in [
            (0.1, "0.1"),
            (12.0, "12"),
            (f64::MAX, "1.7976931348623157e308"),
        ] {
            assert_eq!(exact(value), shown);
            assert_eq!(exact(value).parse(), Ok(value));
        }
    }

    #[test]
    fn numbers_are_as_short_as_they_can_be() {
        let nothing: f64 = [].iter().sum();
        for (value, shown) in [
            (nothing, "0"),
            (-0.001, "0"),
            (10.0, "10"),
            (0.5, "0.5"),
            (-2.255, "-2.25"),
            (1e11, "100000000000"),
            (2.5e12, "2.5T"),
            (1e300, "1.0e300"),
            (f64::MAX, "1.8e308"),
        ] {
            assert_eq!(number(value), shown, "{value:?}");
        }
    }
}
