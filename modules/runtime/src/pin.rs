//! OS processes of a host, each on a core of its own.
//!
//! Each chooses by the same rules from the cores that the program was started with, so nobody has to tell another. What
//! cannot be pinned runs all the same.

use std::sync::atomic::{AtomicBool, Ordering};

/// Whether [`pin`] has pinned this OS process.
static PINNED: AtomicBool = AtomicBool::new(false);

/// Pins this OS process, one of `count`, to cores of its own where there are enough; `named` are those that each is to
/// have, if all of them are there. Threads that it has by now stay where they are.
pub(crate) fn pin(me: usize, count: usize, named: Option<&[Vec<u32>]>) {
    let cores = choose(me, count, named, &system::allowed(), system::siblings);
    if !cores.is_empty() && system::pin(&cores) {
        PINNED.store(true, Ordering::Relaxed);
    }
}

/// Whether this OS process was pinned: then all of the run have cores of their own.
pub(crate) fn is_pinned() -> bool {
    PINNED.load(Ordering::Relaxed)
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

/// The cores of an OS process; none: it is not to be pinned. `siblings` tells the hardware threads that are on the same
/// core as one.
fn choose(
    me: usize,
    count: usize,
    named: Option<&[Vec<u32>]>,
    allowed: &[u32],
    siblings: impl Fn(u32) -> String,
) -> Vec<u32> {
    if let Some(named) = named
        && named.len() == count
        && named.iter().flatten().all(|core| allowed.contains(core))
    {
        return named[me].clone();
    }
    if count > allowed.len() {
        return Vec::new();
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
    first.get(me).copied().into_iter().collect()
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

    fn chosen(count: usize, named: Option<&str>, allowed: &[u32], threads: u32) -> Vec<Vec<u32>> {
        let named = named.map(|text| parse(text).unwrap());
        // Hardware threads of a core follow each other.
        let siblings = |core: u32| match threads {
            0 => String::new(),
            threads => (core / threads).to_string(),
        };
        let one = |me| choose(me, count, named.as_deref(), allowed, siblings);
        (0..count).map(one).collect()
    }

    #[test]
    fn each_has_a_core_of_its_own() {
        assert_eq!(chosen(2, None, &[0, 1, 2], 1), [[0], [1]]);
        assert_eq!(chosen(2, None, &[4, 7], 0), [[4], [7]]);
        assert_eq!(chosen(3, None, &[0, 1, 2, 3, 4, 5], 2), [[0], [2], [4]]);
        assert_eq!(
            chosen(4, None, &[0, 1, 2, 3, 4, 5], 2),
            [[0], [2], [4], [1]]
        );
        // More than there are cores, or nothing known.
        assert_eq!(chosen(3, None, &[0, 1], 1), [[0u32; 0]; 3]);
        assert_eq!(chosen(1, None, &[], 1), [[0u32; 0]; 1]);
    }

    #[test]
    fn those_that_are_named() {
        assert_eq!(chosen(2, Some("3 1"), &[0, 1, 2, 3], 1), [[3], [1]]);
        let both = [vec![0, 1], vec![2]];
        assert_eq!(chosen(2, Some("0,1 2"), &[0, 1, 2], 1), both);
        assert_eq!(chosen(3, Some("0 0 1"), &[0, 1], 1), [[0], [0], [1]]);
        // Of another machine, or of another number of OS processes.
        assert_eq!(chosen(2, Some("0 9"), &[0, 1], 1), [[0], [1]]);
        assert_eq!(chosen(2, Some("1"), &[0, 1], 1), [[0], [1]]);
        assert!(parse("0 x").is_none() && parse("0, 1").is_none());
    }
}
