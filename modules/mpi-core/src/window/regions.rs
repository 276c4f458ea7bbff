//! The elements that a rank exposes: one piece of memory from 0 on, or several pieces that are
//! attached and detached.

/// Pieces of memory, each with the displacement of its first element, in ascending order.
pub(super) struct Regions<T> {
    all: Vec<(usize, Vec<T>)>,
    /// Displacement of the next piece. Displacements are not reused, so the displacement of a
    /// detached piece stays invalid. The displacement after the end of a piece is never used.
    next: usize,
}

impl<T> Regions<T> {
    /// Creates an empty list.
    pub(super) fn none() -> Self {
        Regions {
            all: Vec::new(),
            next: 0,
        }
    }

    /// Creates a list of one piece, at displacement 0.
    pub(super) fn one(elements: Vec<T>) -> Self {
        let next = elements.len().saturating_add(1);
        Regions {
            all: vec![(0, elements)],
            next,
        }
    }

    /// Adds a piece. Returns its displacement, or drops it and returns `None` if no displacements
    /// are left.
    pub(super) fn attach(&mut self, elements: Vec<T>) -> Option<usize> {
        let first = self.next;
        self.next = first.checked_add(elements.len())?.checked_add(1)?;
        self.all.push((first, elements));
        Some(first)
    }

    /// Removes and returns the piece that begins at `first`. `None` if no piece begins there.
    pub(super) fn detach(&mut self, first: usize) -> Option<Vec<T>> {
        let at = self.all.binary_search_by_key(&first, |piece| piece.0);
        at.ok().map(|at| self.all.remove(at).1)
    }

    /// Returns the piece that begins at `first`. `None` if no piece begins there.
    pub(super) fn at(&mut self, first: usize) -> Option<&mut [T]> {
        let at = self.all.binary_search_by_key(&first, |piece| piece.0);
        at.ok().map(|at| &mut *self.all[at].1)
    }

    /// Returns the elements from `first` to `last`, excluding `last`, if they are all in one piece.
    /// An empty range must begin in a piece or at its end. Otherwise returns `None`.
    pub(super) fn within(&mut self, first: usize, last: usize) -> Option<&mut [T]> {
        let behind = self.all.partition_point(|piece| piece.0 <= first);
        let (begins, elements) = self.all.get_mut(behind.checked_sub(1)?)?;
        elements.get_mut(first - *begins..last.checked_sub(*begins)?)
    }

    /// Removes and returns the elements of all pieces, in order of displacement.
    pub(super) fn take(&mut self) -> Vec<T> {
        let mut all = std::mem::take(&mut self.all).into_iter();
        let first = all.next().map_or(Vec::new(), |piece| piece.1);
        all.fold(first, |mut all, mut piece| {
            all.append(&mut piece.1);
            all
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares with a map from displacements to elements.
    #[test]
    fn regions_match_map_after_attach_and_detach() {
        let mut regions = Regions::none();
        let mut model = std::collections::BTreeMap::new();
        let mut firsts: Vec<usize> = Vec::new();
        for step in 0..40_usize {
            if step % 3 < 2 {
                let elements: Vec<usize> = (0..step % 4).map(|at| step * 10 + at).collect();
                let first = regions.attach(elements.clone()).unwrap();
                model.extend((first..).zip(elements));
                firsts.push(first);
            } else {
                let first = firsts.remove(step % firsts.len());
                for (at, element) in (first..).zip(regions.detach(first).unwrap()) {
                    assert_eq!(model.remove(&at), Some(element));
                }
                assert_eq!(regions.detach(first), None);
            }
            for first in 0..100 {
                let one = regions.within(first, first + 1).map(|found| found[0]);
                assert_eq!(one, model.get(&first).copied());
                let two = regions.within(first, first + 2).map(|found| found.to_vec());
                let both = [first, first + 1].map(|at| model.get(&at).copied());
                assert_eq!(two, both.into_iter().collect());
            }
        }
        let all: Vec<usize> = model.into_values().collect();
        assert_eq!(regions.take(), all);
        assert_eq!(Regions::<u8>::one(vec![1, 2]).within(1, 0), None);
    }
}
