//! Functions for both pictures of a mapped network: the level of detail, and numbers as text.

use crate::Detail;
use graphmap_kpn::codes;
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::emit::EmitContext;
use graphmap_kpn::mapping::Mapped;

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

/// Returns a number with at most two decimals, without trailing zeros.
pub(crate) fn number(value: f64) -> String {
    let rounded = format!("{value:.2}");
    let number = rounded.trim_end_matches('0').trim_end_matches('.');
    // An empty sum is -0.
    if number == "-0" { "0" } else { number }.to_owned()
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

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn numbers_are_as_short_as_they_can_be() {
        let nothing: f64 = [].iter().sum();
        for (value, shown) in [
            (nothing, "0"),
            (-0.001, "0"),
            (10.0, "10"),
            (0.5, "0.5"),
            (-2.255, "-2.25"),
        ] {
            assert_eq!(number(value), shown, "{value:?}");
        }
    }
}
