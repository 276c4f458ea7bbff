//! What stacks are to be like.

use std::env;

use graphmap_executor::bytes;

use crate::error::OptionsError;

/// What [stacks](crate::Stacks) are to be like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    pub(crate) size: usize,
    pub(crate) markers: bool,
}

impl Options {
    /// Of how many bytes a stack is where nothing else is said, with its guard.
    pub const SIZE: usize = 64 << 10;
    /// Of how many bytes it is at least.
    pub const LEAST: usize = 16 << 10;
    /// Of how many bytes it is at most: a GiB.
    pub const MOST: usize = 1 << 30;

    /// 64 KiB each.
    pub fn new() -> Self {
        Options {
            size: Self::SIZE,
            markers: true,
        }
    }

    /// As [`new`](Options::new), with the size that `GRAPHMAP_STACK` says: bytes, or `k`, `m` or
    /// `g` of them in powers of 1024.
    ///
    /// # Errors
    ///
    /// If that is not a size, or out of bounds.
    pub fn from_env() -> Result<Self, OptionsError> {
        Options::from_env_or(Self::SIZE)
    }

    /// As [`from_env`](Options::from_env), with this size where `GRAPHMAP_STACK` is not set, or
    /// empty.
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
        let asked = asked.and_then(|size| usize::try_from(size).ok());
        match asked.filter(|size| (Self::LEAST..=Self::MOST).contains(size)) {
            Some(size) => Ok(Options::new().size(size)),
            None => Err(OptionsError(text.to_string_lossy().into_owned())),
        }
    }

    /// So many bytes each, guard included, rounded up to whole pages: address space, of which
    /// memory is taken as a stack grows. Less than [`LEAST`](Options::LEAST) or more than
    /// [`MOST`](Options::MOST) is as much as that.
    pub fn size(mut self, bytes: usize) -> Self {
        self.size = bytes.clamp(Self::LEAST, Self::MOST);
        self
    }

    /// Guards stacks by `mprotect`, as on a kernel without `MADV_GUARD_INSTALL` (before Linux
    /// 6.13).
    ///
    /// Each stack takes two mappings of the OS process then, and guards may take seven eighths of
    /// `vm.max_map_count`: 28,665 stacks, unless the limit was changed.
    pub fn without_markers(mut self) -> Self {
        self.markers = false;
        self
    }
}

impl Default for Options {
    fn default() -> Self {
        Options::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_stay_within_bounds() {
        assert_eq!(Options::new().size(0).size, Options::LEAST);
        assert_eq!(Options::new().size(usize::MAX).size, Options::MOST);
    }
}
