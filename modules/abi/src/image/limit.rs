//! Check that the system allows as many copies of the program as there are ranks.

use std::fs;

use super::refused::Refused;

/// Number of memory mappings that the rest of the run may need.
const RESERVE: usize = 1000;

/// Returns the number of memory mappings of this OS process, or 0 if it is unknown.
fn mappings() -> usize {
    let maps = fs::read("/proc/self/maps").unwrap_or_default();
    maps.iter().filter(|&&byte| byte == b'\n').count()
}

/// Returns the largest number of memory mappings of an OS process, if it is known.
fn limit() -> Option<usize> {
    let text = fs::read_to_string("/proc/sys/vm/max_map_count").ok()?;
    text.trim().parse().ok()
}

/// Checks that the mappings of all copies are within the limit of the system, if a rank has `each`
/// mappings.
pub(super) fn check(each: usize, ranks: usize) -> Result<(), Refused> {
    checked(mappings(), each, limit(), ranks)
}

/// Returns the number of ranks that fit if a rank has `each` mappings. Returns `None` if the limit
/// of the system is unknown.
pub(super) fn most(each: usize) -> Option<usize> {
    Some(fitting(mappings(), each, limit()?))
}

fn fitting(before: usize, each: usize, limit: usize) -> usize {
    limit.saturating_sub(before + RESERVE) / each.max(1)
}

fn checked(before: usize, each: usize, limit: Option<usize>, ranks: usize) -> Result<(), Refused> {
    let Some(limit) = limit else {
        return Ok(());
    };
    let needed = (before + RESERVE).saturating_add(each.saturating_mul(ranks));
    match needed <= limit {
        true => Ok(()),
        false => Err(Refused::TooManyRanks {
            ranks,
            needed,
            limit,
            most: fitting(before, each, limit),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_advised_number_of_ranks_is_the_largest_that_fits() {
        let Err(Refused::TooManyRanks { most, needed, .. }) =
            checked(100, 6, Some(65_530), 100_000)
        else {
            panic!("100,000 ranks need more than 65,530 mappings");
        };
        checked(100, 6, Some(65_530), most).unwrap();
        checked(100, 6, Some(65_530), most + 1).unwrap_err();
        checked(100, 6, Some(needed), 100_000).unwrap();
        checked(100, 6, Some(needed - 1), 100_000).unwrap_err();
    }

    #[test]
    fn unknown_limits_are_not_checked() {
        checked(100, 6, None, 1_000_000).unwrap();
    }
}
