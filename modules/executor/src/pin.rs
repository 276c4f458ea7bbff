//! Pinning of the schedulers of a host to cores.
//!
//! Each OS process chooses its own cores by the same rules from the cores that the program was
//! started with, so the choice needs no communication. Pinning is optional: if it fails, the run
//! continues without it.

/// The cores of each scheduler of this OS process.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Pins {
    /// Cores of each scheduler. Empty if the schedulers are not pinned.
    cores: Vec<Vec<u32>>,
    /// True if no two schedulers of the run share a core.
    pub apart: bool,
}

impl Pins {
    /// Chooses the cores of OS process `me` of `count`, for `each` schedulers.
    ///
    /// `named` gives cores for each OS process. They are used if `named` has `count` entries and
    /// this thread may use all of these cores. The schedulers of an OS process share its cores
    /// among them, or each gets all of them if there are fewer cores than schedulers. Without such
    /// cores, each scheduler of the run gets a core of its own, or none is pinned if there are too
    /// few cores that this thread may use. Does not pin yet.
    ///
    /// # Panics
    /// Panics if the cores in `named` are used and `me` is not below `count`. Also panics if they
    /// are not used and `each` is 0.
    pub fn choose(me: usize, count: usize, each: usize, named: Option<&[Vec<u32>]>) -> Self {
        Pins::of(me, count, each, named, &system::allowed(), system::siblings)
    }

    fn of(
        me: usize,
        count: usize,
        each: usize,
        named: Option<&[Vec<u32>]>,
        allowed: &[u32],
        siblings: impl Fn(u32) -> String,
    ) -> Self {
        let there = |core| allowed.contains(core);
        let named = named.filter(|named| named.len() == count && named.iter().flatten().all(there));
        if let Some(named) = named {
            let deal = |at: usize| match named[me].len() >= each {
                true => named[me].iter().copied().skip(at).step_by(each).collect(),
                false => named[me].clone(),
            };
            let enough = named.iter().all(|cores| cores.len() >= each);
            return Pins {
                cores: (0..each).map(deal).collect(),
                apart: enough && are_apart(named),
            };
        }
        let all = choose(count * each, allowed, siblings);
        Pins {
            apart: !all.is_empty(),
            cores: all
                .chunks(each)
                .nth(me)
                .map(|cores| cores.iter().map(|&core| vec![core]).collect())
                .unwrap_or_default(),
        }
    }

    /// Pins this thread to the cores of scheduler `at` of this OS process. Threads that it starts
    /// later inherit this. Has no effect if the schedulers are not pinned, if there is no such
    /// scheduler, or if the operating system refuses.
    pub fn pin(&self, at: usize) {
        if let Some(cores) = self.cores.get(at).filter(|cores| !cores.is_empty()) {
            // If the system refuses, the thread stays unpinned.
            system::pin(cores);
        }
    }
}

fn are_apart(named: &[Vec<u32>]) -> bool {
    let mut all: Vec<u32> = named.concat();
    all.sort_unstable();
    all.windows(2).all(|two| two[0] != two[1])
}

/// Returns the number of the only core that this thread may use. Returns `None` if it may use
/// several cores, or if the cores cannot be determined.
pub fn core() -> Option<u32> {
    match *system::allowed() {
        [core] => Some(core),
        _ => None,
    }
}

/// Parses the cores of OS processes, such as `0 2 4,5`: white space separates OS processes, and
/// commas separate the cores of one. Each core is a decimal integer. Returns `None` if the text is
/// blank, or if a core is not an integer below 2^32.
pub fn parse(text: &str) -> Option<Vec<Vec<u32>>> {
    let one = |word: &str| word.split(',').map(|core| core.parse().ok()).collect();
    let all: Option<Vec<Vec<u32>>> = text.split_whitespace().map(one).collect();
    all.filter(|all| !all.is_empty())
}

/// Returns the first `count` cores of `allowed`, or an empty vector if fewer are allowed. One
/// hardware thread of each physical core comes first, then the others. `siblings` returns an
/// identifier of the physical core of a hardware thread, or an empty string if it is unknown.
fn choose(count: usize, allowed: &[u32], siblings: impl Fn(u32) -> String) -> Vec<u32> {
    if count > allowed.len() {
        return Vec::new();
    }
    // One hardware thread of each core comes first, then the others.
    let (mut first, mut others, mut seen) = (Vec::new(), Vec::new(), Vec::new());
    for &core in allowed {
        if first.len() == count {
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
    first.truncate(count);
    first
}

#[cfg(not(miri))]
mod system {
    /// One bit for each core. [`libc::cpu_set_t`] has 1,024 bits, too few for the largest machines.
    type Cores = [u64; 128];

    pub(super) fn allowed() -> Vec<u32> {
        let mut cores: Cores = [0; 128];
        let set = cores.as_mut_ptr().cast();
        // SAFETY: the call may write `size_of::<Cores>()` bytes at `set`. 0 means this thread.
        if unsafe { libc::sched_getaffinity(0, size_of::<Cores>(), set) } != 0 {
            return Vec::new();
        }
        let mut all = Vec::new();
        for (first, mut word) in (0..).step_by(64).zip(cores) {
            while word != 0 {
                all.push(first + word.trailing_zeros());
                word &= word - 1;
            }
        }
        all
    }

    pub(super) fn pin(to: &[u32]) -> bool {
        let mut cores: Cores = [0; 128];
        for &core in to {
            if let Some(word) = cores.get_mut(core as usize / 64) {
                *word |= 1 << (core % 64);
            }
        }
        // SAFETY: the call may read `size_of::<Cores>()` bytes. 0 means this thread.
        unsafe { libc::sched_setaffinity(0, size_of::<Cores>(), cores.as_ptr().cast()) == 0 }
    }

    pub(super) fn siblings(core: u32) -> String {
        let file = format!("/sys/devices/system/cpu/cpu{core}/topology/thread_siblings_list");
        std::fs::read_to_string(file).unwrap_or_default()
    }
}

#[cfg(miri)]
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

    /// Returns a function for cores with consecutive hardware threads.
    fn siblings(threads: u32) -> impl Fn(u32) -> String {
        move |core| match threads {
            0 => String::new(),
            threads => (core / threads).to_string(),
        }
    }

    #[test]
    fn each_has_a_core_of_its_own() {
        assert_eq!(choose(2, &[0, 1, 2], siblings(1)), [0, 1]);
        assert_eq!(choose(2, &[4, 7], siblings(0)), [4, 7]);
        let two = [0, 1, 2, 3, 4, 5];
        assert_eq!(choose(3, &two, siblings(2)), [0, 2, 4]);
        assert_eq!(choose(4, &two, siblings(2)), [0, 2, 4, 1]);
        // Fewer cores than requested, or no information.
        assert!(choose(3, &[0, 1], siblings(1)).is_empty());
        assert!(choose(1, &[], siblings(1)).is_empty());
    }

    #[test]
    fn schedulers_of_an_os_process() {
        let of = |me, named: Option<&str>| {
            let named = named.map(|text| parse(text).unwrap());
            Pins::of(me, 2, 2, named.as_deref(), &[0, 1, 2, 3], siblings(0))
        };
        let pins = |cores: &[&[u32]], apart| Pins {
            cores: cores.iter().map(|cores| cores.to_vec()).collect(),
            apart,
        };
        assert_eq!(of(1, None), pins(&[&[2], &[3]], true));
        assert_eq!(of(0, Some("0,1,2 3")), pins(&[&[0, 2], &[1]], false));
        assert_eq!(of(1, Some("0,1 2")), pins(&[&[2], &[2]], false));
        assert_eq!(of(1, Some("0,1 3,2")), pins(&[&[3], &[2]], true));
        // One of the cores does not exist.
        assert_eq!(of(0, Some("0,1 8,9")), of(0, None));
        let none = Pins::of(1, 2, 3, None, &[0, 1], siblings(0));
        assert_eq!(none, Pins::default());
    }

    #[test]
    fn named_cores() {
        assert_eq!(parse("0,1 2"), Some(vec![vec![0, 1], vec![2]]));
        assert!(parse("0 x").is_none() && parse("0, 1").is_none());
        assert!(parse(" ").is_none());
        let apart = |text| are_apart(&parse(text).unwrap());
        assert!(apart("0 1") && apart("0,1 2,3"));
        assert!(!apart("0 0") && !apart("0,1 1,2"));
    }
}
