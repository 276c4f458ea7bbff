//! Buffers of large messages for reuse, because the kernel has to zero new memory.

/// Least size of a buffer that is kept, in bytes.
const LEAST: usize = 64 << 10;
/// Largest number of buffers that are kept, and the largest size of each in bytes.
const POOLED: usize = 4;
const LARGEST: usize = 4 << 20;

/// A pool of buffers.
#[derive(Default)]
pub(crate) struct Pool(Vec<Vec<u8>>);

impl Pool {
    /// Returns a buffer for `len` bytes: one from the pool if `len` is at least [`LEAST`] and the
    /// pool is not empty, and a new one otherwise. It may have contents, and less capacity than
    /// `len`.
    pub(crate) fn memory(&mut self, len: usize) -> Vec<u8> {
        match len < LEAST {
            true => Vec::new(),
            false => self.0.pop().unwrap_or_default(),
        }
    }

    /// Keeps a buffer. Frees it if its capacity is out of range or the pool is full.
    pub(crate) fn keep(&mut self, bytes: Vec<u8>) {
        if (LEAST..=LARGEST).contains(&bytes.capacity()) && self.0.len() < POOLED {
            self.0.push(bytes);
        }
    }
}
