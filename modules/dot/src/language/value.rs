//! Values of attributes: parsers, and the messages for values that do not fit.

use super::keys::Key;
use graphmap_kpn::declared::{At, BundleKind, Direction, Flow};
use graphmap_kpn::expression::Expression;
use graphmap_kpn::nearest::nearest;
use graphmap_kpn::size;
use graphmap_kpn::sizes::entries;
use std::num::NonZeroU32;

/// A value that does not fit: the expected values, and possibly a suggestion.
#[derive(Debug, PartialEq)]
pub(crate) struct Misfit {
    pub(crate) expected: &'static str,
    pub(crate) hint: Option<String>,
}

impl Misfit {
    fn of(expected: &'static str) -> Misfit {
        Misfit {
            expected,
            hint: None,
        }
    }

    fn near(expected: &'static str, value: &str, words: &[&'static str]) -> Misfit {
        let near = nearest(value, words.iter().copied());
        Misfit {
            expected,
            hint: near.map(|word| format!("did you mean `{word}`?")),
        }
    }
}

/// Returns a name unchanged. It is a misfit if it is empty.
pub(crate) fn name(value: &str) -> Result<&str, Misfit> {
    match value {
        "" => Err(Misfit::of("a name that is not empty")),
        _ => Ok(value),
    }
}

/// Checks a list of codes of diagnostics, separated by commas, and returns it unchanged. It is a
/// misfit if a code is empty or blank. Whether the codes exist is not checked.
pub(crate) fn codes(value: &str) -> Result<&str, Misfit> {
    if value.split(',').any(|code| code.trim().is_empty()) {
        return Err(Misfit::of(
            "codes of diagnostics, such as `G0314` or `G0305,G0314`",
        ));
    }
    Ok(value)
}

/// Parses a whole number from 0 to [`u32::MAX`]. Any other value is a misfit.
pub(crate) fn count(value: &str) -> Result<u32, Misfit> {
    value
        .parse()
        .map_err(|_| Misfit::of("a whole number from 0 to 4294967295"))
}

/// Parses the version of the graph language, a whole number of 32 bits. Any other value is a
/// misfit. The caller decides whether the version is supported.
pub(crate) fn version(value: &str) -> Result<u32, Misfit> {
    count(value)
        .map_err(|_| Misfit::of("the version of the graph language, a whole number: `graphmap=1`"))
}

/// Parses a range into minimum and maximum: `4`, `1-4`, `1-` or `-4`, or with `..` instead of `-`.
/// A missing minimum is 0, and a missing maximum is [`u32::MAX`]. White space around the numbers is
/// ignored.
///
/// It is a misfit if the minimum exceeds the maximum, if both are missing, or if one is not a
/// number.
pub(crate) fn range(value: &str) -> Result<(u32, u32), Misfit> {
    let number = |text: &str, open: u32| match text.trim() {
        "" => Some(open),
        digits => digits.parse().ok(),
    };
    let parts = value.split_once("..").or_else(|| value.split_once('-'));
    let both = match parts {
        _ if value.trim().trim_matches(['-', '.']).is_empty() => None,
        Some((least, most)) => number(least, 0).zip(number(most, u32::MAX)),
        None => number(value, 0).map(|n| (n, n)),
    };
    match both {
        Some((least, most)) if least > most => Err(Misfit {
            expected: "a number or a range, smaller number first",
            hint: Some(format!(
                "{least} is more than {most}: write `{most}..{least}`"
            )),
        }),
        both => both.ok_or(Misfit::of(
            "a number or a range, such as `4`, `1-4`, `1-`, `-4` or `1..n`",
        )),
    }
}

/// Parses a range whose numbers were computed. A negative number is not the maximum of a range.
pub(crate) fn computed_range(value: &str) -> Result<(u32, u32), Misfit> {
    if value.starts_with('-') || value.contains("--") {
        return Err(Misfit {
            expected: "a number from 0",
            hint: Some("write a range of expressions with two dots: `hold=\"1..n\"`".to_owned()),
        });
    }
    range(value)
}

/// Parses a capacity: a whole number from 1 to [`u32::MAX`]. Any other value is a misfit, and for
/// `0` it contains a hint.
pub(crate) fn capacity(value: &str) -> Result<NonZeroU32, Misfit> {
    value.parse().map_err(|_| Misfit {
        expected: "a whole number from 1 to 4294967295",
        hint: (value == "0")
            .then(|| "use at least 1: a channel needs space for one token".to_owned()),
    })
}

/// Parses an MPI tag: a whole number from 0 to [`i32::MAX`]. Any other value is a misfit.
pub(crate) fn tag(value: &str) -> Result<i32, Misfit> {
    let tag = value.parse().ok().filter(|tag| *tag >= 0);
    tag.ok_or(Misfit::of("a whole number from 0 to 2147483647"))
}

/// Parses a cost: a finite number of at least 0. Any other value is a misfit.
pub(crate) fn amount(value: &str) -> Result<f64, Misfit> {
    let number = value.parse::<f64>().ok();
    let number = number.filter(|n| n.is_finite() && *n >= 0.0);
    number.ok_or(Misfit::of("a finite number of at least 0"))
}

/// Parses a number of bytes, with an optional unit ([`size::split`]). It need not be whole. It is a
/// misfit if it is not a number, is negative, or is not finite.
pub(crate) fn bytes(value: &str) -> Result<f64, Misfit> {
    // Fast path: nearly all values are plain numbers.
    if let Ok(number) = value.parse::<u32>() {
        return Ok(number.into());
    }
    let (digits, factor) = size::split(value);
    let factor = factor as f64;
    match amount(digits) {
        Ok(n) if (n * factor).is_finite() => Ok(n * factor),
        _ => Err(Misfit::of(
            "a number of bytes, such as `4096`, `64KiB`, `2GB` or `2G`",
        )),
    }
}

pub(crate) fn truth(value: &str) -> Result<bool, Misfit> {
    // The same words as in Graphviz.
    match value.to_ascii_lowercase().as_str() {
        "true" | "yes" | "1" => Ok(true),
        "false" | "no" | "0" => Ok(false),
        _ => Err(Misfit::near("`true` or `false`", value, &["true", "false"])),
    }
}

pub(crate) fn bundle(value: &str) -> Result<BundleKind, Misfit> {
    BundleKind::from_name(value).ok_or_else(|| {
        let names = BundleKind::ALL.map(BundleKind::name);
        Misfit::near(
            "`select`, `gather` or `reduce` (many writers), `broadcast`, `scatter`, \
             `switch` or `share` (many readers)",
            value,
            &names,
        )
    })
}

/// Parses `bundle=` of an edge: the kind at one end, or the kinds at both ends, separated by a
/// comma.
pub(crate) fn bundles(value: &str) -> Result<(BundleKind, Option<BundleKind>), Misfit> {
    let Some((one, other)) = value.split_once(',') else {
        return Ok((bundle(value)?, None));
    };
    let (one, other) = (bundle(one.trim())?, bundle(other.trim())?);
    match one.direction() == other.direction() {
        true => Err(Misfit::of(
            "one kind, or a kind for each end, such as `scatter, gather`",
        )),
        false => Ok((one, Some(other))),
    }
}

pub(crate) fn flow(value: &str) -> Result<Flow, Misfit> {
    Flow::from_name(value).ok_or_else(|| {
        let names = Flow::ALL.map(Flow::name);
        Misfit::near("`credits` or `\"round-robin\"`", value, &names)
    })
}

/// Returns true for the words of `at=`, which are not names of sizes.
pub(crate) fn is_keyword(value: &str) -> bool {
    matches!(value, "first" | "last" | "all" | "each")
}

fn one_at(value: &str) -> Option<At> {
    match value {
        "first" => Some(At::First),
        "last" => Some(At::Last),
        "all" => Some(At::All),
        "each" => Some(At::Each),
        _ => value.parse().ok().filter(|n| *n > 0).map(At::Index),
    }
}

/// Parses `at=`: one word for each end of the channel, writer first, or one word for both. A word
/// is `first`, `last`, `all`, `each` or a number from 1. Any other value is a misfit.
pub(crate) fn at(value: &str) -> Result<(At, At), Misfit> {
    let both = match value.split_once(',') {
        None => one_at(value.trim()).map(|at| (at, at)),
        Some((from, to)) => one_at(from.trim()).zip(one_at(to.trim())),
    };
    both.ok_or_else(|| {
        Misfit::near(
            "`first`, `last`, `all`, `each` or a number from 1, or two of them with a comma",
            value,
            &["first", "last", "all", "each"],
        )
    })
}

/// Parses `port=`: the direction of a module port.
pub(crate) fn direction(value: &str) -> Result<Direction, Misfit> {
    match value {
        "in" => Ok(Direction::Input),
        "out" => Ok(Direction::Output),
        _ => Err(Misfit::near(
            "`in` (channels enter the module) or `out`",
            value,
            &["in", "out"],
        )),
    }
}

/// Parses `beyond=`: the target of steps past the last instance. The result is true for `NULL`. Any
/// other value is a misfit.
pub(crate) fn beyond(value: &str) -> Result<bool, Misfit> {
    match value {
        "NULL" => Ok(true),
        _ => Err(Misfit::near("`NULL`, the environment", value, &["NULL"])),
    }
}

/// Parses `step=`: the distance in each level of repetition, outermost first. It is a misfit unless
/// it consists of whole numbers with commas between them.
pub(crate) fn step(value: &str) -> Result<Vec<i32>, Misfit> {
    let steps: Result<Vec<i32>, _> = value.split(',').map(|s| s.trim().parse()).collect();
    steps.map_err(|_| Misfit::of("a whole number, or one for each level, such as `1` or `1,0`"))
}

/// Returns true if the value of a key contains an expression with a name.
fn is_expression(key: Key, value: &str) -> bool {
    key.is_number()
        && entries(value).into_iter().any(|entry| {
            let parsed = Expression::parse(&value[entry]);
            parsed.is_ok_and(|e| e.names().iter().any(|(name, _)| !is_keyword(name)))
        })
}

/// Returns true if two values of a key mean the same, or if one of them is invalid. Two different
/// texts do not mean the same if one of them contains an expression.
pub(crate) fn same(key: Key, a: &str, b: &str) -> bool {
    fn read<'v, T: PartialEq>(
        of: impl Fn(&'v str) -> Result<T, Misfit>,
        a: &'v str,
        b: &'v str,
    ) -> bool {
        match (of(a), of(b)) {
            (Ok(a), Ok(b)) => a == b,
            _ => true,
        }
    }
    match key {
        _ if a == b => true,
        Key::Replicas if [a, b].iter().any(|v| matches!(*v, "+" | "*")) => false,
        _ if is_expression(key, a) || is_expression(key, b) => false,
        Key::Version | Key::Replicas | Key::OsProcess | Key::Initial => read(count, a, b),
        Key::Load | Key::Prefer => read(amount, a, b),
        Key::Mem | Key::Traffic => read(bytes, a, b),
        Key::Capacity => read(capacity, a, b),
        Key::Tag => read(tag, a, b),
        Key::Hold => read(range, a, b),
        Key::Cluster | Key::Whole | Key::Wrap | Key::Closed => read(truth, a, b),
        Key::Port => read(direction, a, b),
        Key::Beyond => read(beyond, a, b),
        Key::Bundle => read(bundles, a, b),
        Key::At => read(at, a, b),
        Key::Step => read(step, a, b),
        _ => read(name, a, b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_and_their_ranges_held() {
        assert_eq!(bytes("64KiB"), Ok(65536.0));
        assert_eq!(bytes("1.5 kB"), Ok(1500.0));
        assert_eq!(bytes("2G"), Ok(2_147_483_648.0));
        assert!(bytes("KiB").is_err() && bytes("-1").is_err() && bytes("1e308TB").is_err());
        assert!(amount("nan").is_err() && amount("inf").is_err());
        assert_eq!(at("last, first"), Ok((At::Last, At::First)));
        assert_eq!(at("3"), Ok((At::Index(3), At::Index(3))));
        assert!(at("0").is_err() && at("first,").is_err() && at("a,b,c").is_err());
        assert_eq!(step("1, -2"), Ok(vec![1, -2]));
        assert!(step("1,").is_err());
        assert!(capacity("0").is_err() && tag("-1").is_err() && count("1.0").is_err());
        assert_eq!(
            bundle("selct").unwrap_err().hint.as_deref(),
            Some("did you mean `select`?")
        );
        assert_eq!(truth("Yes"), Ok(true));
    }
}
