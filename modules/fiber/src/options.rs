//! Options of stacks.

use std::env;

use graphmap_executor::bytes;

use crate::error::OptionsError;

/// Options of [stacks](crate::Stacks): their size and how they are guarded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    pub(crate) size: usize,
    pub(crate) guard: usize,
    pub(crate) markers: bool,
}

impl Options {
    /// Default size of a stack in bytes, guard included: 64 KiB.
    pub const SIZE: usize = 64 << 10;
    /// Least size of a stack in bytes: 16 KiB.
    pub const LEAST: usize = 16 << 10;
    /// Largest size of a stack in bytes: 1 GiB.
    pub const MOST: usize = 1 << 30;

    /// Returns options for stacks of 64 KiB each, guarded by `MADV_GUARD_INSTALL` if the kernel has
    /// it. Does not read `GRAPHMAP_STACK`.
    pub fn new() -> Self {
        Options {
            size: Self::SIZE,
            guard: 0,
            markers: true,
        }
    }

    /// Returns the options of [`new`](Options::new), with the size in `GRAPHMAP_STACK` if this is
    /// set and not empty. The size is a number of bytes, guard included. The units `K` or `KiB` to
    /// `T` or `TiB` are powers of 1024, and `kB` to `TB` are powers of 1000, both without regard to
    /// case.
    ///
    /// # Errors
    ///
    /// Returns an error if the value is not a size, or is not from [`LEAST`](Options::LEAST) to
    /// [`MOST`](Options::MOST).
    pub fn from_env() -> Result<Self, OptionsError> {
        Options::from_env_or(Self::SIZE)
    }

    /// Returns the options of [`from_env`](Options::from_env), with `size` as the default if
    /// `GRAPHMAP_STACK` is unset or empty. `size` is in bytes, and is clamped like the argument of
    /// [`size`](Options::size).
    ///
    /// # Errors
    ///
    /// Returns an error if the value of the variable is not a size, or is not from
    /// [`LEAST`](Options::LEAST) to [`MOST`](Options::MOST).
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

    /// Sets the size of each stack in bytes, guard included. It is clamped to the range from
    /// [`LEAST`](Options::LEAST) to [`MOST`](Options::MOST), and later rounded up to whole pages.
    /// The size is address space: a stack takes memory only as it grows.
    pub fn size(mut self, bytes: usize) -> Self {
        self.size = bytes.clamp(Self::LEAST, Self::MOST);
        self
    }

    /// Sets the size of the guard below each stack, in bytes [default: one page, which is part of
    /// the size]. It is address space in addition to the size, rounded up to whole pages. A frame
    /// that is larger than the guard may skip it.
    ///
    /// Guards by `MADV_GUARD_INSTALL` take 4 KiB of page tables for each 2 MiB. Those by `mprotect`
    /// take no memory.
    pub fn guard(mut self, bytes: usize) -> Self {
        self.guard = bytes.min(Self::MOST);
        self
    }

    /// Guards stacks by `mprotect`, as on a kernel without `MADV_GUARD_INSTALL` (before Linux
    /// 6.13).
    ///
    /// Each stack then takes two mappings of the OS process. Guards may take seven eighths of
    /// `vm.max_map_count`: 28,665 stacks of all pools of the OS process with the default limit.
    /// More stacks cannot be allocated.
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
