//! What the machine says.

use std::fs;

fn status(field: &str) -> f64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with(field));
    let kib = line
        .and_then(|line| line.split_whitespace().nth(1))
        .and_then(|n| n.parse().ok());
    kib.unwrap_or(f64::NAN) * 1024.0
}

/// Bytes of memory in use now.
pub fn resident() -> f64 {
    status("VmRSS:")
}

/// Most bytes of memory in use so far.
pub fn peak() -> f64 {
    status("VmHWM:")
}

/// The processor's name.
pub fn processor() -> String {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = info
        .lines()
        .find_map(|line| line.strip_prefix("model name"));
    name.map_or("unknown", |name| name.trim_start_matches([' ', '\t', ':']))
        .to_string()
}
