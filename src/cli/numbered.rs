//! Formats processes of one kind by their numbers.

use graphmap_kpn::network::{Network, ProcessId};

/// Returns processes as their kind and their numbers, `main 0-7, 40-47`, cut at a width in bytes.
/// All processes must be of one kind. Returns `None` if there are no processes, or if a name is not
/// the kind and a number without leading zeros.
pub(super) fn numbered(network: &Network, processes: &[ProcessId], width: usize) -> Option<String> {
    let kind = network.kind_name(*processes.first()?);
    let numbers = processes.iter().map(|&id| {
        let number = network.process_name(id).strip_prefix(kind)?;
        // `main07` would be printed as `main7`.
        let number: u64 = number
            .parse()
            .ok()
            .filter(|n: &u64| n.to_string() == number)?;
        Some(number)
    });
    let numbers: Option<Vec<u64>> = numbers.collect();
    Some(format!(
        "{kind} {}",
        ranges(numbers?, width.saturating_sub(kind.len()))
    ))
}

/// Returns different numbers as ranges: `0-3, 8` for 0 1 2 3 8 in any order. Numbers whose ranges
/// do not fit in `width` bytes are counted at the end. The first range is always printed, and the
/// count may exceed the width.
fn ranges(mut numbers: Vec<u64>, width: usize) -> String {
    numbers.sort_unstable();
    let mut parts: Vec<(u64, u64)> = Vec::new();
    for n in numbers {
        match parts.last_mut() {
            Some((_, last)) if *last + 1 == n => *last = n,
            _ => parts.push((n, n)),
        }
    }
    let mut text = String::new();
    for (i, (first, last)) in parts.iter().enumerate() {
        let part = match first == last {
            true => first.to_string(),
            false => format!("{first}-{last}"),
        };
        if i > 0 && text.len() + part.len() + 2 > width {
            let left = parts[i..].iter().map(|(first, last)| last - first + 1);
            return format!("{text} and {} more", left.sum::<u64>());
        }
        if i > 0 {
            text += ", ";
        }
        text += &part;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::ranges;

    #[test]
    fn numbers_are_ranges_and_the_rest_is_counted() {
        assert_eq!(ranges(vec![8, 3, 2, 1, 0], 60), "0-3, 8");
        assert_eq!(ranges(vec![5], 0), "5");
        let even = (0..100).map(|n| 2 * n).collect();
        assert_eq!(ranges(even, 20), "0, 2, 4, 6, 8, 10 and 94 more");
    }
}
