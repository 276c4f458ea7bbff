//! How many mappings guards may take: the kernel gives each OS process so many, and others need some.

use std::fs;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How many mappings a protected page takes: its own, and what is beyond it.
const EACH: usize = 2;

/// Some mappings of the budget, given back when this is dropped.
#[derive(Debug)]
pub(crate) struct Share(usize);

impl Share {
    /// Of nothing.
    pub(crate) fn none() -> Self {
        Share(0)
    }

    /// Takes what one more protected page needs: whether that was there.
    pub(crate) fn add(&mut self) -> bool {
        let take = |left: usize| left.checked_sub(EACH);
        let taken = left().fetch_update(Ordering::Relaxed, Ordering::Relaxed, take);
        self.0 += if taken.is_ok() { EACH } else { 0 };
        taken.is_ok()
    }

    /// Nothing is left, as the kernel says.
    pub(crate) fn spent(&mut self) {
        self.0 -= EACH;
        left().store(0, Ordering::Relaxed);
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        left().fetch_add(self.0, Ordering::Relaxed);
    }
}

/// How many mappings are left of the budget, which is worked out when it is asked for first.
fn left() -> &'static AtomicUsize {
    static LEFT: OnceLock<AtomicUsize> = OnceLock::new();
    LEFT.get_or_init(|| {
        let limit = fs::read_to_string("/proc/sys/vm/max_map_count").ok();
        let maps = fs::read("/proc/self/maps").ok();
        let held = maps.map(|maps| maps.iter().filter(|byte| **byte == b'\n').count());
        budget(limit.as_deref(), held).into()
    })
}

/// What guards may take of a limit, where so many mappings are held. An eighth of the limit is left to others.
fn budget(limit: Option<&str>, held: Option<usize>) -> usize {
    /// What Linux has, if nobody has changed it.
    const DEFAULT: usize = 65_530;
    let limit = limit.and_then(|limit| limit.trim().parse().ok());
    let limit: usize = limit.unwrap_or(DEFAULT);
    limit.saturating_sub(limit / 8 + held.unwrap_or(DEFAULT / 8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_keep_an_eighth_of_the_mappings() {
        assert_eq!(budget(Some("65530\n"), Some(339)), 57_000);
        assert_eq!(budget(Some("800"), Some(100)), 600);
        assert_eq!(budget(Some("800"), Some(1000)), 0);
        assert_eq!(budget(Some("0"), Some(1)), 0);
        for unknown in [None, Some(""), Some("many"), Some("-1")] {
            assert_eq!(budget(unknown, Some(339)), 57_000);
        }
        assert_eq!(budget(Some("65530"), None), 65_530 - 2 * 8191);
    }
}
