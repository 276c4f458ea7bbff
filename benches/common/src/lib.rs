//! Shared by the benchmarks: measurements in turns, statistics, memory of this OS process, and
//! random numbers. Linux only.

use std::fs;

/// Measures each contestant `rounds` times and returns the values of each.
///
/// The contestants take turns, because the speed of a machine changes from one second to the next.
/// A contestant for which `measure` returns `None` has no value in that round.
pub fn in_turns<C>(
    rounds: usize,
    contestants: &mut [C],
    mut measure: impl FnMut(&mut C) -> Option<f64>,
) -> Vec<Vec<f64>> {
    let mut values = vec![Vec::new(); contestants.len()];
    for _ in 0..rounds {
        for (values, contestant) in values.iter_mut().zip(contestants.iter_mut()) {
            values.extend(measure(contestant));
        }
    }
    values
}

/// Returns the median, which is the mean of two values if the count is even. Returns `None` if
/// there are no values.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        odd if odd % 2 == 1 => Some(sorted[middle]),
        _ => Some((sorted[middle - 1] + sorted[middle]) / 2.0),
    }
}

/// Returns a size in `/proc/self/status`, such as `VmPTE`, in bytes.
///
/// # Panics
///
/// Panics if the field does not exist or is not a size.
pub fn status(field: &str) -> f64 {
    let status = fs::read_to_string("/proc/self/status").expect("Linux");
    let mut lines = status.lines();
    let size = lines.find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    let size = size.unwrap_or_else(|| panic!("no field {field}"));
    let kibibytes = size.trim().trim_end_matches(" kB").parse::<f64>();
    kibibytes.expect("a size") * 1024.0
}

/// Returns the resident memory of this OS process, in bytes.
pub fn resident() -> f64 {
    status("VmRSS")
}

/// Returns the peak of the resident memory, in bytes.
pub fn peak() -> f64 {
    status("VmHWM")
}

/// Returns the model name of the processor, or "unknown".
pub fn processor() -> String {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let mut lines = info.lines();
    let name = lines.find_map(|line| line.strip_prefix("model name"));
    name.map_or("unknown", |name| name.trim_start_matches([' ', '\t', ':']))
        .to_owned()
}

/// Pseudo-random numbers that are the same in every run (Steele, Lea and Flood's SplitMix64).
pub struct Random(pub u64);

impl Random {
    /// Returns the next number.
    pub fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mix = self.0;
        mix = (mix ^ (mix >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mix = (mix ^ (mix >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mix ^ (mix >> 31)
    }

    /// Returns a number less than `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        ((u128::from(self.number()) * u128::from(end)) >> 64) as u64
    }

    /// Shuffles the values.
    pub fn shuffle<T>(&mut self, values: &mut [T]) {
        for at in (1..values.len()).rev() {
            values.swap(at, self.below(at as u64 + 1) as usize);
        }
    }
}
