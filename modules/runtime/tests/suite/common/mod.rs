//! Code that the tests share: ports with one input and one output bundle, logs, random numbers.
#![allow(unreachable_pub)]

pub mod accounted;
pub mod bad_variables;
pub mod cases;
pub mod communicator_cases;
pub mod endpoint_cases;
pub mod exposed;
pub mod flows;
pub mod itself;
pub mod json;
pub mod known_cases;
pub mod large;
pub mod places;
pub mod program;
pub mod rank_cases;
pub mod ranks;
pub mod script;
pub mod simulated;
pub mod thread_cases;
pub mod together;
pub mod token;
pub mod waited_for;
pub mod ways;
pub mod window_cases;

use std::sync::atomic::AtomicPtr;
use std::sync::{Arc, Mutex};

use graphmap_runtime::{Block, Ends, Input, Output, Ports, Report, RunError};

/// A process with two ports, `in` and `out`, each with any number of channels.
pub struct Both<T> {
    pub ins: Vec<Input<T>>,
    pub outs: Vec<Output<T>>,
}

impl<T: 'static> Ports for Both<T> {
    fn connect(ends: &mut Ends<'_>) -> Self {
        Both {
            ins: ends.inputs(),
            outs: ends.outputs(),
        }
    }
}

pub const BOTH: &[&str] = &["in", "out"];

/// Values that processes on any thread have recorded.
pub struct Log<T>(Arc<Mutex<Vec<T>>>);

impl<T> Clone for Log<T> {
    fn clone(&self) -> Self {
        Log(Arc::clone(&self.0))
    }
}

impl<T> Log<T> {
    pub fn new() -> Self {
        Log(Arc::default())
    }

    pub fn add(&self, seen: T) {
        self.0.lock().unwrap().push(seen);
    }

    /// Returns a function that adds a value to the log.
    pub fn adder(&self) -> impl Fn(T) + Clone + Send + Sync + 'static
    where
        T: Send + 'static,
    {
        let log = self.clone();
        move |seen| log.add(seen)
    }

    pub fn take(&self) -> Vec<T> {
        std::mem::take(&mut self.0.lock().unwrap())
    }

    pub fn sorted(&self) -> Vec<T>
    where
        T: Ord,
    {
        let mut all = self.take();
        all.sort();
        all
    }
}

/// Returns the size of a test: `full`, or `miri` under Miri, which is a thousand times slower.
pub const fn size(full: u64, miri: u64) -> u64 {
    if cfg!(miri) { miri } else { full }
}

/// Returns the seeds of a test. The first one is `GRAPHMAP_FUZZ_SEED` (default 0), and their number
/// is `GRAPHMAP_FUZZ_RUNS` (default: the [`size`] of the test).
pub fn seeds(full: u64, miri: u64) -> std::ops::Range<u64> {
    let number = |name| Some(std::env::var(name).ok()?.parse::<u64>().unwrap());
    let first = number("GRAPHMAP_FUZZ_SEED").unwrap_or(0);
    first..first + number("GRAPHMAP_FUZZ_RUNS").unwrap_or(size(full, miri))
}

/// Returns the report of a run that blocked.
///
/// # Panics
///
/// If the run has another outcome.
pub fn blocked(outcome: Result<Report, RunError>) -> Block {
    match outcome {
        Err(RunError::Blocked(block)) => block,
        other => panic!("not blocked: {other:?}"),
    }
}

/// Mixes two numbers into one that depends on all bits of both.
pub fn mix(a: u64, b: u64) -> u64 {
    Random(a ^ b.rotate_left(17)).next()
}

/// Small pseudorandom number generator: splitmix64 (Steele, Lea, Flood 2014).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for at in (1..items.len()).rev() {
            items.swap(at, self.below(at as u64 + 1) as usize);
        }
    }
}

/// Forgets a value as `mem::forget` does, to test what forgetting does to the runtime. Its memory
/// stays reachable, so that it is not reported as a leak.
pub fn forget<T>(value: T) {
    static FORGOTTEN: Mutex<Vec<AtomicPtr<u8>>> = Mutex::new(Vec::new());
    let kept = Box::into_raw(Box::new(std::mem::ManuallyDrop::new(value)));
    FORGOTTEN.lock().unwrap().push(AtomicPtr::new(kept.cast()));
}
