//! OS processes of a host, each on a core of its own.
//!
//! Each chooses by the same rules from the cores that the program was started with, so nobody has to tell another. What
//! cannot be pinned runs all the same.

use std::sync::atomic::{AtomicBool, Ordering};

/// Whether [`pin`] has given each OS process cores that no other has.
static APART: AtomicBool = AtomicBool::new(false);

/// Pins this OS process, one of `count`, to cores of its own where there are enough; `named` are those that each is to
/// have, if all of them are there. Threads that it has by now stay where they are.
pub(crate) fn pin(me: usize, count: usize, named: Option<&[Vec<u32>]>) {
    let allowed = system::allowed();
    let named = named.filter(|named| {
        let there = |core| allowed.contains(core);
        named.len() == count && named.iter().flatten().all(there)
    });
    let cores = match named {
        Some(named) => named[me].clone(),
        None => choose(me, count, &allowed, system::siblings)
            .into_iter()
            .collect(),
    };
    if !cores.is_empty() && system::pin(&cores) {
        APART.store(named.is_none_or(are_apart), Ordering::Relaxed);
    }
}

/// Whether this OS process was pinned, and none of the run shares a core with another.
pub(crate) fn is_apart() -> bool {
    APART.load(Ordering::Relaxed)
}

fn are_apart(named: &[Vec<u32>]) -> bool {
    let mut all: Vec<u32> = named.concat();
    all.sort_unstable();
    all.windows(2).all(|two| two[0] != two[1])
}

/// The one core that this thread may use, if it is one.
pub(crate) fn core() -> Option<u32> {
    match *system::allowed() {
        [core] => Some(core),
        _ => None,
    }
}

/// Cores of OS processes as text: `0 2 4,5`.
pub(crate) fn parse(text: &str) -> Option<Vec<Vec<u32>>> {
    let one = |word: &str| word.split(',').map(|core| core.parse().ok()).collect();
    text.split_whitespace().map(one).collect()
}

/// The core of an OS process; none: it is not to be pinned. `siblings` tells the hardware threads that are on the same
/// core as one.
fn choose(
    me: usize,
    count: usize,
    allowed: &[u32],
    siblings: impl Fn(u32) -> String,
) -> Option<u32> {
    if count > allowed.len() {
        return None;
    }
    // One of each core comes first, then the others.
    let (mut first, mut others, mut seen) = (Vec::new(), Vec::new(), Vec::new());
    for &core in allowed {
        if first.len() > me {
            break;
        }
        let siblings = siblings(core);
        if siblings.is_empty() || !seen.contains(&siblings) {
            seen.push(siblings);
            first.push(core);
        } else {
            others.push(core);
        }
    }
    first.extend(others);
    first.get(me).copied()
}

#[cfg(all(target_os = "linux", not(miri)))]
mod system {
    use std::ffi::c_int;

    unsafe extern "C" {
        fn sched_getaffinity(process: c_int, size: usize, cores: *mut u64) -> c_int;
        fn sched_setaffinity(process: c_int, size: usize, cores: *const u64) -> c_int;
    }

    /// As many bits as the largest machines have cores.
    type Cores = [u64; 128];

    pub(super) fn allowed() -> Vec<u32> {
        let mut cores: Cores = [0; 128];
        // SAFETY: there is room for as many bytes as is said. 0 is this thread.
        if unsafe { sched_getaffinity(0, size_of::<Cores>(), cores.as_mut_ptr()) } != 0 {
            return Vec::new();
        }
        let all = 0..u64::BITS * cores.len() as u32;
        all.filter(|core| cores[*core as usize / 64] >> (core % 64) & 1 == 1)
            .collect()
    }

    pub(super) fn pin(to: &[u32]) -> bool {
        let mut cores: Cores = [0; 128];
        for &core in to {
            if let Some(word) = cores.get_mut(core as usize / 64) {
                *word |= 1 << (core % 64);
            }
        }
        // SAFETY: there are as many bytes as is said. 0 is this thread.
        unsafe { sched_setaffinity(0, size_of::<Cores>(), cores.as_ptr()) == 0 }
    }

    pub(super) fn siblings(core: u32) -> String {
        let file = format!("/sys/devices/system/cpu/cpu{core}/topology/thread_siblings_list");
        std::fs::read_to_string(file).unwrap_or_default()
    }
}

#[cfg(not(all(target_os = "linux", not(miri))))]
mod system {
    pub(super) fn allowed() -> Vec<u32> {
        Vec::new()
    }

    pub(super) fn pin(_to: &[u32]) -> bool {
        false
    }

    pub(super) fn siblings(_core: u32) -> String {
        String::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(count: usize, allowed: &[u32], threads: u32) -> Vec<Option<u32>> {
        // Hardware threads of a core follow each other.
        let siblings = |core: u32| match threads {
            0 => String::new(),
            threads => (core / threads).to_string(),
        };
        let one = |me| choose(me, count, allowed, siblings);
        (0..count).map(one).collect()
    }

    #[test]
    fn each_has_a_core_of_its_own() {
        assert_eq!(chosen(2, &[0, 1, 2], 1), [0, 1].map(Some));
        assert_eq!(chosen(2, &[4, 7], 0), [4, 7].map(Some));
        let two = [0, 1, 2, 3, 4, 5];
        assert_eq!(chosen(3, &two, 2), [0, 2, 4].map(Some));
        assert_eq!(chosen(4, &two, 2), [0, 2, 4, 1].map(Some));
        // More than there are cores, or nothing known.
        assert_eq!(chosen(3, &[0, 1], 1), [None; 3]);
        assert_eq!(chosen(1, &[], 1), [None]);
    }

    #[test]
    fn those_that_are_named() {
        assert_eq!(parse("0,1 2"), Some(vec![vec![0, 1], vec![2]]));
        assert!(parse("0 x").is_none() && parse("0, 1").is_none());
        let apart = |text| are_apart(&parse(text).unwrap());
        assert!(apart("0 1") && apart("0,1 2,3"));
        assert!(!apart("0 0") && !apart("0,1 1,2"));
    }
}
