//! Memory of large messages, to be used again: new memory has to be zeroed by the kernel.

/// What has so many bytes is kept.
const LEAST: usize = 64 << 10;
/// Memory of so many messages is kept, of so many bytes each at most.
const POOLED: usize = 4;
const LARGEST: usize = 4 << 20;

/// See the module.
#[derive(Default)]
pub(crate) struct Pool(Vec<Vec<u8>>);

impl Pool {
    /// Memory for so many bytes, if they are many one that was kept.
    pub(crate) fn memory(&mut self, len: usize) -> Vec<u8> {
        match len < LEAST {
            true => Vec::new(),
            false => self.0.pop().unwrap_or_default(),
        }
    }

    /// Keeps memory.
    pub(crate) fn keep(&mut self, bytes: Vec<u8>) {
        if (LEAST..=LARGEST).contains(&bytes.capacity()) && self.0.len() < POOLED {
            self.0.push(bytes);
        }
    }
}
