//! Roaring bitmaps of the crate `roaring`: ascending ranks in chunks of 2^16, each in the form that
//! suits it.

use roaring::RoaringBitmap;

use crate::error::Error;

/// Bytes that the crate uses for each chunk in addition to its members: the key, the kind, and a
/// vector.
const CHUNK: usize = 40;
/// Bytes of a chunk that is a bitmap.
const BITMAP: u64 = 8192;

/// Ascending ranks in chunks of 2^16 ranks, each as an array of 16-bit numbers, a bitmap, or ranges
/// (D. Lemire, O. Kaser, N. Kurz et al., *Roaring bitmaps: implementation of an optimized software
/// library*, 2018).
///
/// SELECT and RANK visit the chunks in order, and then the bits or ranges of one chunk.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Roaring {
    bitmap: RoaringBitmap,
    len: u64,
}

impl Roaring {
    /// Collects the ranks that `each` gives.
    pub(crate) fn collect(each: impl FnOnce(&mut dyn FnMut(u32))) -> Self {
        let mut bitmap = RoaringBitmap::new();
        each(&mut |rank| {
            bitmap.insert(rank);
        });
        bitmap.optimize();
        // A clone has no spare capacity.
        Roaring::of(bitmap.clone())
    }

    fn of(bitmap: RoaringBitmap) -> Self {
        let len = bitmap.len();
        Roaring { bitmap, len }
    }

    pub(crate) fn len(&self) -> u64 {
        self.len
    }

    /// Returns the member at an index, in ascending order, or 0 if there is none.
    pub(crate) fn at(&self, index: u32) -> u32 {
        self.bitmap.select(index).unwrap_or(0)
    }

    /// Returns the number of members below `number`, and true if `number` is a member.
    pub(crate) fn find(&self, number: u64) -> (u64, bool) {
        let Ok(number) = u32::try_from(number) else {
            return (self.len, false);
        };
        let is = self.bitmap.contains(number);
        (self.bitmap.rank(number) - u64::from(is), is)
    }

    /// Fills `out` with the members from index `from` on, in ascending order. If fewer are left,
    /// the rest of `out` does not change.
    pub(crate) fn read(&self, from: u64, out: &mut [u32]) {
        let Some(first) = self.bitmap.select(from as u32) else {
            return;
        };
        let mut members = self.bitmap.iter();
        members.advance_to(first);
        for (out, member) in out.iter_mut().zip(members) {
            *out = member;
        }
    }

    /// Returns the number of chunks with members.
    pub(crate) fn chunks(&self) -> u64 {
        u64::from(self.bitmap.statistics().n_containers)
    }

    /// Returns the size on the heap in bytes.
    pub(crate) fn bytes(&self) -> usize {
        let all = self.bitmap.statistics();
        // An array takes two bytes a member. The crate reports four.
        let members = 2 * u64::from(all.n_values_array_containers)
            + BITMAP * u64::from(all.n_bitset_containers)
            + all.n_bytes_run_containers;
        all.n_containers as usize * CHUNK + members as usize
    }

    /// Returns upper bounds of the size on the heap in bytes and of the number of chunks, for `len`
    /// members from `min` to `max` in `ranges` ranges.
    pub(crate) fn bytes_for(len: u64, ranges: u64, min: u32, max: u32) -> (usize, u64) {
        let span = u64::from(max >> 16) - u64::from(min >> 16) + 1;
        let chunks = span.min(len);
        // A range is divided at the end of a chunk.
        let members = (4 * (ranges + chunks)).min(2 * len).min(BITMAP * chunks);
        // A vector has a capacity of at least four.
        (chunks as usize * (CHUNK + 16) + members as usize, chunks)
    }

    /// Returns the serialization of the crate.
    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.bitmap.serialized_size());
        // Writing into a vector does not fail.
        let _ = self.bitmap.serialize_into(&mut bytes);
        bytes
    }

    /// Decodes the result of [`Roaring::to_bytes`], which the crate validates. Returns
    /// [`Error::Malformed`] if the bytes are invalid, if more bytes follow, or if there are no
    /// members.
    pub(crate) fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let mut rest = bytes;
        match RoaringBitmap::deserialize_from(&mut rest) {
            Ok(bitmap) if rest.is_empty() && !bitmap.is_empty() => Ok(Roaring::of(bitmap)),
            _ => Err(Error::Malformed("a roaring bitmap")),
        }
    }
}
