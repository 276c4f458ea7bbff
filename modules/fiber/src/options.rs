//! What stacks are to be like.

use std::env;
use std::fmt;

use crate::error::OptionsError;

/// What keeps a stack from growing into another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Guard {
    /// A page that nobody may touch, by `MADV_GUARD_INSTALL` (Linux 6.13): it takes no mapping of its own, so there may be
    /// any number.
    Marker,
    /// A page that nobody may touch, by `mprotect`: takes two of the mappings of the OS process, of which Linux gives 65,530
    /// (`vm.max_map_count`).
    Protection,
    /// A page that is looked at when the stack is suspended or over, and given back. So an overflow is told **after** it
    /// has happened, and may have spoilt another stack by then.
    Canary,
}

impl Guard {
    /// All of them, the best first.
    pub const ALL: [Guard; 3] = [Guard::Marker, Guard::Protection, Guard::Canary];
}

impl fmt::Display for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Guard::Marker => "MADV_GUARD_INSTALL",
            Guard::Protection => "mprotect",
            Guard::Canary => "canary",
        })
    }
}

/// What [stacks](crate::Stacks) are to be like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    pub(crate) size: usize,
    pub(crate) guards: Vec<Guard>,
}

impl Options {
    /// Of how many bytes a stack is where nothing else is said, with its guard.
    pub const SIZE: usize = 64 << 10;
    /// Of how many bytes it is at least.
    pub const LEAST: usize = 16 << 10;
    /// Of how many bytes it is at most: a GiB.
    pub const MOST: usize = 1 << 30;

    /// 64 KiB each, with the best guard that can be had.
    pub fn new() -> Self {
        Options {
            size: Self::SIZE,
            guards: Guard::ALL.to_vec(),
        }
    }

    /// As [`new`](Options::new), with the size that `GRAPHMAP_STACK` says: bytes, or `k`, `m` or `g` of them in powers of 1024.
    ///
    /// # Errors
    ///
    /// If that is not a size, or out of bounds.
    pub fn from_env() -> Result<Self, OptionsError> {
        Options::from_env_or(Self::SIZE)
    }

    /// As [`from_env`](Options::from_env), with this size where `GRAPHMAP_STACK` is not set, or empty.
    ///
    /// # Errors
    ///
    /// As there.
    pub fn from_env_or(size: usize) -> Result<Self, OptionsError> {
        let text = env::var_os("GRAPHMAP_STACK").filter(|text| !text.is_empty());
        let Some(text) = text else {
            return Ok(Options::new().size(size));
        };
        let asked = text.to_str().and_then(|text| bytes(text.trim()));
        match asked.filter(|size| (Self::LEAST..=Self::MOST).contains(size)) {
            Some(size) => Ok(Options::new().size(size)),
            None => Err(OptionsError(text.to_string_lossy().into_owned())),
        }
    }

    /// So many bytes each, guard included, rounded up to whole pages: address space, of which memory is taken as a stack grows.
    /// Less than [`LEAST`](Options::LEAST) or more than [`MOST`](Options::MOST) is as much as that.
    pub fn size(mut self, bytes: usize) -> Self {
        self.size = bytes.clamp(Self::LEAST, Self::MOST);
        self
    }

    /// Only these guards, the first that can be had. Without [`Guard::Canary`] no stack is to be had where there are no others.
    pub fn guards(mut self, guards: &[Guard]) -> Self {
        self.guards = guards.to_vec();
        self
    }
}

impl Default for Options {
    fn default() -> Self {
        Options::new()
    }
}

/// A number of bytes, as `65536`, `64k`, `64K` or `64KiB`, which are powers of 1024, or `64kB`, of 1000: as all sizes in
/// variables of graphmap are written.
fn bytes(text: &str) -> Option<usize> {
    let digits = text.find(|c: char| !c.is_ascii_digit());
    let (number, unit) = text.split_at(digits.unwrap_or(text.len()));
    let unit = match &*unit.trim().to_ascii_lowercase() {
        "" | "b" => 1,
        "k" | "kib" => 1 << 10,
        "m" | "mib" => 1 << 20,
        "g" | "gib" => 1 << 30,
        "kb" => 1_000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        _ => return None,
    };
    number.parse::<usize>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read() {
        for (text, size) in [
            ("65536", 65_536),
            ("64k", 65_536),
            ("64kB", 64_000),
            ("64 KiB", 65_536),
            ("1M", 1 << 20),
            ("1g", 1 << 30),
        ] {
            assert_eq!(bytes(text), Some(size), "{text}");
        }
        let most = usize::MAX.to_string() + "k";
        for text in [
            "",
            "k",
            "-1",
            "1.5m",
            "64 apples",
            "0x10",
            "ß",
            "+1",
            "1k k",
            &most,
        ] {
            assert_eq!(bytes(text), None, "{text}");
        }
    }

    #[test]
    fn sizes_stay_within_bounds() {
        assert_eq!(Options::new().size(0).size, Options::LEAST);
        assert_eq!(Options::new().size(usize::MAX).size, Options::MOST);
    }
}
