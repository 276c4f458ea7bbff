//! The elements that a rank exposes: one piece of memory from 0 on, or pieces that come and go.

/// Pieces of memory, each with the place of its first element, in ascending order.
pub(super) struct Regions<T> {
    all: Vec<(usize, Vec<T>)>,
    /// Where the next one begins. No place is given twice, so one that was told of a piece which is gone leads nowhere; and nothing
    /// is at the place behind a piece.
    next: usize,
}

impl<T> Regions<T> {
    /// None so far.
    pub(super) fn none() -> Self {
        Regions {
            all: Vec::new(),
            next: 0,
        }
    }

    /// One piece, from 0 on.
    pub(super) fn one(elements: Vec<T>) -> Self {
        let next = elements.len().saturating_add(1);
        Regions {
            all: vec![(0, elements)],
            next,
        }
    }

    /// Adds a piece: where it begins; `None`: there are no places left.
    pub(super) fn attach(&mut self, elements: Vec<T>) -> Option<usize> {
        let first = self.next;
        self.next = first.checked_add(elements.len())?.checked_add(1)?;
        self.all.push((first, elements));
        Some(first)
    }

    /// Takes the piece away that begins there.
    pub(super) fn detach(&mut self, first: usize) -> Option<Vec<T>> {
        let at = self.all.binary_search_by_key(&first, |piece| piece.0);
        at.ok().map(|at| self.all.remove(at).1)
    }

    /// The piece that begins there.
    pub(super) fn at(&mut self, first: usize) -> Option<&mut [T]> {
        let at = self.all.binary_search_by_key(&first, |piece| piece.0);
        at.ok().map(|at| &mut *self.all[at].1)
    }

    /// These elements, if they are all in one piece.
    pub(super) fn within(&mut self, first: usize, last: usize) -> Option<&mut [T]> {
        let behind = self.all.partition_point(|piece| piece.0 <= first);
        let (begins, elements) = self.all.get_mut(behind.checked_sub(1)?)?;
        elements.get_mut(first - *begins..last.checked_sub(*begins)?)
    }

    /// All elements of all pieces, in order.
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

    /// Against a map from places to elements.
    #[test]
    fn pieces_come_and_go() {
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
