//! Iteration over the world ranks of a map.

use super::RankMap;
use super::walk::CHUNK;

impl RankMap {
    /// Returns an iterator over the world ranks in group order.
    ///
    /// Cost: `O(n)`; the iterator holds a buffer of 64 ranks. Source: this crate.
    pub fn iter(&self) -> Iter<'_> {
        Iter {
            map: self,
            next: 0,
            chunk: [0; CHUNK],
            at: 0,
            filled: 0,
        }
    }
}

/// Iterator over the world ranks of a [`RankMap`] in group order.
#[derive(Clone)]
pub struct Iter<'a> {
    map: &'a RankMap,
    next: u64,
    chunk: [u32; CHUNK],
    at: usize,
    filled: usize,
}

impl Iterator for Iter<'_> {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        if self.at == self.filled {
            self.refill()?;
        }
        let rank = self.chunk[self.at];
        self.at += 1;
        Some(rank)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.map.len() - self.next + (self.filled - self.at) as u64;
        (left as usize, Some(left as usize))
    }

    fn nth(&mut self, n: usize) -> Option<u32> {
        let buffered = self.filled - self.at;
        if n < buffered {
            self.at += n;
        } else {
            self.at = self.filled;
            self.next = self
                .next
                .saturating_add((n - buffered) as u64)
                .min(self.map.len());
        }
        self.next()
    }
}

impl ExactSizeIterator for Iter<'_> {}
impl std::iter::FusedIterator for Iter<'_> {}

impl Iter<'_> {
    #[cold]
    fn refill(&mut self) -> Option<()> {
        let len = (self.map.len() - self.next).min(CHUNK as u64) as usize;
        if len == 0 {
            return None;
        }
        self.map.read(self.next, &mut self.chunk[..len]);
        self.next += len as u64;
        (self.at, self.filled) = (0, len);
        Some(())
    }
}

impl<'a> IntoIterator for &'a RankMap {
    type Item = u32;
    type IntoIter = Iter<'a>;

    fn into_iter(self) -> Iter<'a> {
        self.iter()
    }
}
