//! Sequences of integers as short texts. The size of wiring therefore depends on the irregularity
//! of a network, not on its size.
//!
//! A text is a list of *runs* separated by spaces. A run is a start and any number of steps
//! `+step*count` or `-step*count`, the innermost first:
//!
//! * `7` is a single 7.
//! * `7+0*4` is 7 7 7 7.
//! * `10+1*3` is 10 11 12.
//! * `10+1*3+100*2` is 10 11 12 110 111 112.
//!
//! Rows of grids, lines of a graph file and ranks of repeated modules are each one run.

use std::fmt::Write;

/// Maximum number of steps of a run that the runtime accepts.
const DIMENSIONS: usize = 8;

/// Values `start + step * i` for `i` in `0 .. count`. Each further dimension repeats them.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Run {
    start: i64,
    /// Step and count, innermost first. Each count is at least 2.
    dimensions: Vec<(i64, u64)>,
}

/// Encodes values as a short text, which is empty without values. Linear in the number of values.
///
/// Finds runs greedily: first arithmetic progressions, then progressions of equal progressions,
/// until no more can be joined.
pub fn encode(values: &[u32]) -> String {
    let mut runs = progressions(values);
    loop {
        let before = runs.len();
        runs = joined(runs);
        if runs.len() == before {
            break;
        }
    }
    let mut text = String::new();
    for run in &runs {
        if !text.is_empty() {
            text.push(' ');
        }
        // Writing to a string cannot fail.
        if let [(step, 2)] = run.dimensions[..] {
            let _ = write!(text, "{} {}", run.start, run.start + step);
            continue;
        }
        let _ = write!(text, "{}", run.start);
        for (step, count) in &run.dimensions {
            let _ = write!(text, "{step:+}*{count}");
        }
    }
    text
}

/// Splits the values into arithmetic progressions from left to right, each as long as possible.
/// Only a pair gives up its second value if a progression of at least three values begins there.
fn progressions(values: &[u32]) -> Vec<Run> {
    let value = |i: usize| i64::from(values[i]);
    let length = |from: usize| {
        if from + 1 >= values.len() {
            return values.len() - from;
        }
        let step = value(from + 1) - value(from);
        let mut to = from + 2;
        while to < values.len() && value(to) - value(to - 1) == step {
            to += 1;
        }
        to - from
    };
    let mut runs = Vec::new();
    let mut from = 0;
    let mut known = None;
    while from < values.len() {
        let mut count = known.take().unwrap_or_else(|| length(from));
        if count == 2 {
            // A single value before a longer run must not take the run's first value.
            let next = length(from + 1);
            if next > 2 {
                count = 1;
                known = Some(next);
            }
        }
        let start = value(from);
        let dimensions = match count {
            1 => Vec::new(),
            _ => vec![(value(from + 1) - start, count as u64)],
        };
        runs.push(Run { start, dimensions });
        from += count;
    }
    runs
}

/// Joins adjacent runs that differ only in their starts, if the starts are equally spaced. Does not
/// join single values, two pairs, or runs that have 8 dimensions already.
fn joined(runs: Vec<Run>) -> Vec<Run> {
    let mut result: Vec<Run> = Vec::with_capacity(runs.len());
    let mut from = 0;
    while from < runs.len() {
        let mut to = from + 1;
        let alike = |to: usize| runs[to].dimensions == runs[from].dimensions;
        // Single values were joined earlier.
        let step = match runs.get(to) {
            Some(next) if alike(to) && !next.dimensions.is_empty() => next.start - runs[from].start,
            _ => 0,
        };
        if !runs[from].dimensions.is_empty() {
            while to < runs.len() && alike(to) && runs[to].start - runs[to - 1].start == step {
                to += 1;
            }
        }
        let mut run = runs[from].clone();
        if to - from == 2 && run.dimensions == [(run.dimensions[0].0, 2)] {
            // Two pairs are clearer as four values, and need not belong together.
            to = from + 1;
        } else if to - from > 1 && run.dimensions.len() == DIMENSIONS {
            to = from + 1;
        } else if to - from > 1 {
            run.dimensions.push((step, (to - from) as u64));
        }
        result.push(run);
        from = to;
    }
    result
}

/// Maximum number of values that [`decode`] returns.
const MOST: usize = 10_000_000;

/// Decodes a text of [`encode`]. An empty text has no values. Returns `None` if the text is not a
/// sequence, has a value that is not a `u32`, or has more than ten million values.
pub fn decode(text: &str) -> Option<Vec<u32>> {
    let mut values: Vec<u32> = Vec::new();
    for run in text.split_whitespace() {
        let split = run.find(['+', '-']).unwrap_or(run.len());
        let mut block = vec![run[..split].parse::<i64>().ok()?];
        let mut rest = &run[split..];
        while !rest.is_empty() {
            let end = rest[1..].find(['+', '-']).map_or(rest.len(), |i| i + 1);
            let (step, count) = rest[..end].split_once('*')?;
            let (step, count): (i64, usize) = (step.parse().ok()?, count.parse().ok()?);
            if count.checked_mul(block.len())? > MOST {
                return None;
            }
            let once = block.clone();
            block.clear();
            for i in 0..count {
                let far = step.checked_mul(i64::try_from(i).ok()?)?;
                for value in &once {
                    block.push(value.checked_add(far)?);
                }
            }
            rest = &rest[end..];
        }
        for value in block {
            values.push(u32::try_from(value).ok()?);
        }
        if values.len() > MOST {
            return None;
        }
    }
    Some(values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn regular_sequences_are_one_run() {
        let cases: &[(&[u32], &str)] = &[
            (&[], ""),
            (&[7], "7"),
            (&[7, 9], "7 9"),
            (&[7, 7], "7 7"),
            (&[7, 7, 7], "7+0*3"),
            (&[9, 6, 3], "9-3*3"),
            (&[0, 1, 2, 10, 11, 12], "0+1*3+10*2"),
            (&[0, 5, 1, 6, 2, 7], "0+5*2+1*3"),
            (&[0, 0, 0, 1, 1, 1, 2, 2, 2], "0+0*3+1*3"),
            (&[0, 3, 4, 5], "0 3+1*3"),
            (&[5, 1, 4, 1, 6, 9], "5 1 4 1 6 9"),
        ];
        for (values, text) in cases {
            assert_eq!(encode(values), *text, "{values:?}");
        }
    }

    #[test]
    fn three_dimensions_are_one_run() {
        let values: Vec<u32> = (0..4)
            .flat_map(|a| (0..5).flat_map(move |b| (0..6).map(move |c| 1000 * a + 50 * b + c)))
            .collect();
        assert_eq!(encode(&values), "0+1*6+50*5+1000*4");
    }

    #[test]
    fn text_of_random_values_is_no_longer_than_a_list() {
        let mut state = 1u64;
        let values: Vec<u32> = (0..10_000)
            .map(|_| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                (state >> 44) as u32 % 50
            })
            .collect();
        let list: usize = values.iter().map(|v| v.to_string().len() + 1).sum();
        assert!(encode(&values).len() <= list + list / 20);
    }

    #[test]
    fn invalid_sequences_are_not_decoded() {
        for text in [
            "x",
            "1+",
            "1+1",
            "1+1*",
            "1*3",
            "1-1*3",
            "0+1*99999999999",
            "+1*3",
            "0+1*9999999+0*9",
        ] {
            assert_eq!(decode(text), None, "{text}");
        }
        assert_eq!(decode(""), Some(Vec::new()));
        assert_eq!(decode("3+1*0"), Some(Vec::new()));
    }

    proptest! {
        #[test]
        fn any_text_is_decoded_or_not(text in "[0-9+*-]{0,12}") {
            let _ = decode(&text);
        }

        #[test]
        fn what_is_encoded_is_decoded(values in prop::collection::vec(0u32..6, 0..60)) {
            prop_assert_eq!(decode(&encode(&values)), Some(values));
        }

        #[test]
        fn runs_are_decoded(
            runs in prop::collection::vec((0u32..99, 0u32..9, 1u32..9, 0u32..99, 1u32..5), 0..9)
        ) {
            let values: Vec<u32> = runs
                .into_iter()
                .flat_map(|(start, step, count, jump, times)| {
                    (0..times).flat_map(move |j| (0..count).map(move |i| start + step * i + jump * j))
                })
                .chain([u32::MAX, 0, u32::MAX])
                .collect();
            prop_assert_eq!(decode(&encode(&values)), Some(values));
        }
    }
}
