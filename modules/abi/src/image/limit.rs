//! Check that the system allows as many copies of the program as there are ranks.

use std::fs;

/// Number of memory mappings that the rest of the run may need.
const RESERVE: usize = 1000;

/// Returns the number of memory mappings of this OS process, or 0 if it is unknown.
pub(super) fn mappings() -> usize {
    let maps = fs::read("/proc/self/maps").unwrap_or_default();
    maps.iter().filter(|&&byte| byte == b'\n').count()
}

/// Checks, after the first copy was loaded, that the mappings of all copies are within the limit of
/// the system. `before` is the number of mappings before.
///
/// # Errors
/// A description of the limit.
pub(super) fn check(before: usize, ranks: usize) -> Result<(), String> {
    checked(before, mappings(), limit(), ranks)
}

/// Returns the largest number of memory mappings of an OS process, if it is known.
fn limit() -> Option<usize> {
    let text = fs::read_to_string("/proc/sys/vm/max_map_count").ok()?;
    text.trim().parse().ok()
}

/// Returns the number of ranks that fit if a copy of the program has this number of mappings.
/// Returns `None` if the limit of the system is unknown.
pub(super) fn most(each: usize) -> Option<usize> {
    Some(limit()?.saturating_sub(mappings() + RESERVE) / each)
}

fn checked(before: usize, after: usize, limit: Option<usize>, ranks: usize) -> Result<(), String> {
    let (Some(limit), each @ 1..) = (limit, after.saturating_sub(before)) else {
        return Ok(());
    };
    let needed = (after + RESERVE).saturating_add(each.saturating_mul(ranks - 1));
    if needed <= limit {
        return Ok(());
    }
    let most = limit.saturating_sub(after + RESERVE) / each + 1;
    Err(format!(
        "{ranks} ranks need {needed} memory mappings, and the system allows {limit}: \
         start at most {most} ranks, or raise the limit by `sysctl -w vm.max_map_count={needed}`"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_advised_number_of_ranks_is_the_largest_that_fits() {
        let text = checked(100, 106, Some(65_530), 100_000).unwrap_err();
        assert!(text.contains("at most 10738 ranks"), "{text}");
        checked(100, 106, Some(65_530), 10_738).unwrap();
        checked(100, 106, Some(65_530), 10_739).unwrap_err();
    }

    #[test]
    fn unknown_limits_are_not_checked() {
        checked(0, 0, Some(65_530), 1_000_000).unwrap();
        checked(100, 106, None, 1_000_000).unwrap();
    }
}
