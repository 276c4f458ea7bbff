//! The members of each colour during a split, stored as gaps.

use std::collections::HashMap;

use crate::progression::Progression;

/// Gaps between the members of each colour, with seven bits in a byte. A colour with one member in
/// a hundred takes a byte a member.
pub(super) struct Gaps {
    bytes: Vec<u8>,
    /// For each colour, in ascending order: the end of its gaps in `bytes`, and whether its keys
    /// ascend.
    colours: Vec<(u32, usize, bool)>,
}

/// State of a colour during a walk.
#[derive(Clone, Copy)]
struct Colour {
    /// The rank after the last member.
    next: u64,
    /// Number of bytes of its gaps in the first walk. Position of its next gap in the second walk.
    bytes: usize,
    /// Key of the last member.
    key: i64,
    ascends: bool,
}

impl Gaps {
    /// Collects the members. `each` is called twice. Both times it must give the same ascending
    /// ranks, each with its colour and its key.
    pub(super) fn collect(each: impl Fn(&mut dyn FnMut(u32, u32, i64))) -> Gaps {
        let mut known: HashMap<u32, Colour> = HashMap::new();
        each(&mut |rank, colour, key| {
            let of_it = known.entry(colour).or_insert(Colour {
                next: 0,
                bytes: 0,
                key,
                ascends: true,
            });
            let gap = u64::from(rank).saturating_sub(of_it.next);
            of_it.bytes += bytes_of(gap);
            of_it.ascends &= of_it.key <= key;
            (of_it.next, of_it.key) = (u64::from(rank) + 1, key);
        });
        let mut colours: Vec<(u32, usize, bool)> = known
            .iter()
            .map(|(colour, of_it)| (*colour, of_it.bytes, of_it.ascends))
            .collect();
        colours.sort_unstable_by_key(|(colour, ..)| *colour);
        let mut all = 0;
        for (colour, bytes, _) in &mut colours {
            if let Some(of_it) = known.get_mut(colour) {
                (of_it.next, of_it.bytes) = (0, all);
            }
            all += *bytes;
            *bytes = all;
        }
        let mut bytes = vec![0; all];
        each(&mut |rank, colour, _| {
            let Some(of_it) = known.get_mut(&colour) else {
                return;
            };
            let mut gap = u64::from(rank).saturating_sub(of_it.next);
            for left in (0..bytes_of(gap)).rev() {
                // The byte exists, unless the second walk returned different values.
                if let Some(byte) = bytes.get_mut(of_it.bytes) {
                    *byte = (gap & 0x7F) as u8 | u8::from(left > 0) << 7;
                }
                of_it.bytes += 1;
                gap >>= 7;
            }
            of_it.next = u64::from(rank) + 1;
        });
        Gaps { bytes, colours }
    }

    /// Returns the colours in ascending order, each with its members. The last value is true if no
    /// key of the colour is smaller than the key before it.
    pub(super) fn each(&self) -> impl Iterator<Item = (u32, Members<'_>, bool)> {
        let mut from = 0;
        self.colours.iter().map(move |(colour, end, ascends)| {
            let bytes = &self.bytes[from..*end];
            from = *end;
            (*colour, Members { bytes }, *ascends)
        })
    }
}

/// Returns the number of bytes of a gap, with seven bits in each. It is at least 1.
fn bytes_of(gap: u64) -> usize {
    (64 - (gap | 1).leading_zeros()).div_ceil(7) as usize
}

/// Members of one colour.
pub(super) struct Members<'a> {
    bytes: &'a [u8],
}

impl Members<'_> {
    /// Gives the members in ascending order, each as a progression of one term.
    pub(super) fn give(&self, give: &mut dyn FnMut(Progression)) {
        let (mut next, mut gap, mut shift) = (0_u64, 0_u64, 0);
        for byte in self.bytes {
            gap |= u64::from(byte & 0x7F) << shift;
            shift += 7;
            if byte < &0x80 {
                give(Progression::valid((next + gap) as u32, 1, 1));
                next += gap + 1;
                (gap, shift) = (0, 0);
            }
        }
    }
}
