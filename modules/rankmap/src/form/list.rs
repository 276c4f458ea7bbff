//! Single ranks, each with as many bits as the largest rank needs.

use crate::bits::{Packed, width_of};

/// A packed array of ranks (the thesis's optimised canonical representation). If the ranks do not
/// ascend, also the group ranks in order of world rank.
///
/// SELECT is one access. RANK is a binary search.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct List {
    base: u32,
    ranks: Packed,
    order: Option<Packed>,
}

impl List {
    /// Collects the ranks that `each` gives. There must be `len` ranks, and they must ascend and be
    /// from `base` to `max`.
    pub(crate) fn ascending(
        len: u64,
        base: u32,
        max: u32,
        each: impl FnOnce(&mut dyn FnMut(u32)),
    ) -> Self {
        let mut ranks = Packed::zeros(width_of(u64::from(max - base)), len);
        let mut index = 0;
        each(&mut |rank| {
            ranks.set(index, rank - base);
            index += 1;
        });
        List::packed(base, ranks)
    }

    /// Stores ranks in any order. The ranks must be distinct. `order` must contain their indices in
    /// ascending order of rank.
    pub(crate) fn ordered(ranks: &[u32], order: &[u32]) -> Self {
        let (min, max) = match order {
            [] => (0, 0),
            [first, ..] => (
                ranks[*first as usize],
                ranks[order[order.len() - 1] as usize],
            ),
        };
        let len = ranks.len() as u64;
        let width = width_of(u64::from(max - min));
        let index = width_of(len.saturating_sub(1));
        List {
            base: min,
            ranks: Packed::collect(width, len, ranks.iter().map(|rank| rank - min)),
            order: Some(Packed::collect(index, len, order.iter().copied())),
        }
    }

    /// Creates a list of ascending ranks. `ranks` contains each rank minus `base`.
    pub(crate) fn packed(base: u32, ranks: Packed) -> Self {
        List {
            base,
            ranks,
            order: None,
        }
    }

    pub(crate) fn parts(&self) -> (u32, &Packed, Option<&Packed>) {
        (self.base, &self.ranks, self.order.as_ref())
    }

    pub(crate) fn len(&self) -> u64 {
        self.ranks.len()
    }

    pub(crate) fn is_ascending(&self) -> bool {
        self.order.is_none()
    }

    #[inline]
    pub(crate) fn at(&self, index: u32) -> u32 {
        self.base + self.ranks.get(u64::from(index))
    }

    /// Returns the number of members below `rank`, and the group rank of `rank` if it is a member,
    /// otherwise `None`.
    #[inline]
    pub(crate) fn find(&self, rank: u64) -> (u64, Option<u32>) {
        let Some(rest) = rank.checked_sub(u64::from(self.base)) else {
            return (0, None);
        };
        let place = |index: u64| {
            self.order
                .as_ref()
                .map_or(index, |order| u64::from(order.get(index)))
        };
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = (low + high) / 2;
            if u64::from(self.ranks.get(place(middle))) < rest {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        let found = (low < self.len()).then(|| place(low));
        let equal = found.filter(|index| u64::from(self.ranks.get(*index)) == rest);
        (low, equal.map(|index| index as u32))
    }

    /// Fills `out` with the members from index `from` on, in the order of the group. There must be
    /// enough members.
    pub(crate) fn read(&self, from: u64, out: &mut [u32]) {
        for (index, out) in (from..).zip(out) {
            *out = self.base + self.ranks.get(index);
        }
    }

    /// Returns the member with an index in ascending order. There must be such a member.
    pub(crate) fn in_order(&self, index: u64) -> u32 {
        let index = self
            .order
            .as_ref()
            .map_or(index, |order| u64::from(order.get(index)));
        self.base + self.ranks.get(index)
    }

    /// Returns the size on the heap in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.ranks.bytes() + self.order.as_ref().map_or(0, Packed::bytes)
    }

    /// Returns the size on the heap in bytes for `len` ranks from `min` to `max`. `ordered` is true
    /// if the ranks do not ascend, so that their order is stored too.
    pub(crate) fn bytes_for(len: u64, min: u32, max: u32, ordered: bool) -> usize {
        let ranks = Packed::bytes_for(width_of(u64::from(max - min)), len);
        let order = Packed::bytes_for(width_of(len.saturating_sub(1)), len);
        ranks + if ordered { order } else { 0 }
    }
}
