//! Groups of groups, and complements.

use std::sync::Arc;

use crate::build::Builder;
use crate::choose::Estimate;
use crate::error::Error;
use crate::form::grid::{Axis, Grid};
use crate::map::{COMPLEMENTS, Complement, Composition, Concatenation, DEEP, Form, PARTS, RankMap};
use crate::progression::Progression;
use crate::representation::Representation;

/// Largest number of progressions that are walked to find a smaller form of an existing map.
const WORTH: u64 = 1 << 22;

impl Builder {
    /// Returns the members of `outer` whose ranks in `outer` are the members of `inner`, in the
    /// order of `inner`.
    ///
    /// The result, a group of a group, is stored relative to `outer` and shares its storage if the
    /// strategy prefers that.
    ///
    /// Cost: constant time for closed forms, otherwise up to a few walks through the progressions
    /// of the result. Source: Mir Taheri 2011 (3.5 and 3.6) for sets and permutations apart, this
    /// crate for maps relative to a parent.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchRank`] if a member of `inner` is not a rank of `outer`.
    pub fn compose(&self, outer: &RankMap, inner: &RankMap) -> Result<RankMap, Error> {
        let len = outer.len();
        if let Some(most) = inner.max().map(u64::from).filter(|most| *most >= len) {
            return Err(Error::NoSuchRank { rank: most, len });
        }
        Ok(self.join(outer, inner))
    }

    /// Composes maps as [`Builder::compose`] does, but cannot fail. All members of `inner` must be
    /// ranks of `outer`; otherwise the result is arbitrary, or the method panics.
    pub(crate) fn join(&self, outer: &RankMap, inner: &RankMap) -> RankMap {
        if let Some(closed) = join_closed(outer, inner) {
            return closed;
        }
        if let Form::Composition(both) = &outer.form {
            // Avoids a chain of parents if the inner maps have a closed composition.
            if let Some(inner) = join_closed(&both.inner, inner) {
                return self.join(&both.outer, &inner);
            }
        }
        let relative = RankMap::of(Form::Composition(Arc::new(Composition {
            outer: outer.clone(),
            inner: inner.clone(),
        })));
        let deep = relative.depth() > DEEP;
        if relative.pieces() > WORTH && !deep {
            return relative;
        }
        // Storage that is shared with the parent does not count.
        let bytes = inner.bytes() + 2 * size_of::<usize>() + size_of::<Composition>();
        let most = match deep {
            true => f64::INFINITY,
            false => self.weight_of(&relative, bytes),
        };
        self.within(most, &|give| relative.all(give))
            .unwrap_or(relative)
    }

    fn weight_of(&self, map: &RankMap, bytes: usize) -> f64 {
        let (select, rank) = map.time();
        self.weigh(&Estimate {
            representation: Representation::Composition,
            bytes,
            select,
            rank,
        })
    }

    /// Returns the same map in a lighter form, if one exists. Otherwise, and if the map has more
    /// than [`WORTH`] progressions, returns the map itself.
    pub(crate) fn shorter(&self, map: RankMap) -> RankMap {
        if map.pieces() > WORTH {
            return map;
        }
        let most = self.weigh(&map.cost());
        self.within(most, &|give| map.all(give)).unwrap_or(map)
    }

    /// Returns the ranks below `end` that `of` does not contain, in ascending order. `of` must
    /// ascend, with all members below `end`, which must be at most 2^32.
    pub(crate) fn rest(&self, of: &RankMap, end: u64) -> RankMap {
        if let Some(closed) = rest_closed(of, end) {
            return closed;
        }
        if let Form::Complement(complement) = &of.form {
            // The complemented map with the ranks from `behind` on, or a prefix of the complemented
            // map.
            let (out, behind) = (&complement.of, complement.end);
            let within = RankMap::identity(out.find(end).0);
            return match behind < end {
                true => self.concatenate(&[out.clone(), Progression::between(behind, end).into()]),
                false => self.join(out, &within),
            };
        }
        let lazy = RankMap::of(Form::Complement(Arc::new(Complement {
            of: of.clone(),
            end,
        })));
        match lazy.complements() > COMPLEMENTS {
            true => self
                .within(f64::INFINITY, &|give| lazy.all(give))
                .unwrap_or(lazy),
            false => self.shorter(lazy),
        }
    }

    /// Returns the members of all maps, one map after the other. The maps must be disjoint. The
    /// result is one form if that is lighter or if there are more than [`PARTS`] maps, and
    /// otherwise a concatenation.
    pub(crate) fn concatenate(&self, parts: &[RankMap]) -> RankMap {
        let mut flat: Vec<RankMap> = Vec::new();
        for part in parts.iter().filter(|part| !part.is_empty()) {
            match &part.form {
                Form::Concatenation(inner) => flat.extend(inner.parts().iter().cloned()),
                _ => flat.push(part.clone()),
            }
        }
        if flat.len() < 2 {
            return flat.pop().unwrap_or_else(RankMap::empty);
        }
        let many = flat.len() > PARTS;
        let sets = flat.iter().all(RankMap::is_ascending);
        let lazy = RankMap::of(Form::Concatenation(Arc::new(Concatenation::new(
            flat.clone(),
        ))));
        if lazy.pieces() > WORTH && !many {
            return lazy;
        }
        let most = match many {
            true => f64::INFINITY,
            false => self.weight_of(&lazy, lazy.bytes()),
        };
        // Sets without a pattern are merged, because that needs no array of their members.
        if sets && self.chooses() && lazy.pieces() >= lazy.len() / 4 {
            let plain = match many {
                true => None,
                false => self.unlisted(most, &|give| lazy.all(give)).ok(),
            };
            let weight = |map: &RankMap| self.weigh(&map.cost());
            let merged = self.merged(&flat, plain.as_ref().map_or(most, weight));
            return merged.or(plain).unwrap_or(lazy);
        }
        self.within(most, &|give| lazy.all(give)).unwrap_or(lazy)
    }
}

impl RankMap {
    /// Returns the map with `by` added to each member, in the same order. Returns `None` if a sum
    /// is not a rank.
    ///
    /// Cost: `O(p)` for `p` progressions. Source: this crate.
    pub fn moved(&self, by: i64) -> Option<RankMap> {
        if by == 0 {
            return Some(self.clone());
        }
        let start = |piece: &Progression| i64::from(piece.start()).checked_add(by);
        let to = |piece: Progression| {
            let start = u32::try_from(start(&piece)?).ok()?;
            Progression::new(start, piece.step(), piece.len()).ok()
        };
        let mut all = true;
        self.all(&mut |piece| all &= to(piece).is_some());
        let moved = Builder::new().source(&|give| {
            self.all(&mut |piece| to(piece).into_iter().for_each(&mut *give));
        });
        moved.ok().filter(|_| all)
    }
}

/// Returns the composition if its form is known in constant time, otherwise `None`.
fn join_closed(outer: &RankMap, inner: &RankMap) -> Option<RankMap> {
    if inner.is_empty() {
        return Some(RankMap::empty());
    }
    let whole = inner.is_identity() && inner.len() == outer.len();
    if whole {
        return Some(outer.clone());
    }
    if outer.is_identity() {
        return Some(inner.clone());
    }
    if let Form::Grid(grid) = &outer.form
        && inner.is_identity()
    {
        return grid.prefix(inner.len()).ok().map(RankMap::closed);
    }
    let Form::Progression(by) = &outer.form else {
        return None;
    };
    match &inner.form {
        Form::Progression(of) => {
            let step = of.step() * by.step();
            Some(Progression::valid(by.at(of.start()), step, of.len()).into())
        }
        Form::Grid(grid) => grid.scaled(by.start(), by.step()).ok().map(RankMap::closed),
        _ => None,
    }
}

/// Returns the complement of an ascending map below `end` if the complement is known in constant
/// time, otherwise `None`. All members must be below `end`.
fn rest_closed(of: &RankMap, end: u64) -> Option<RankMap> {
    let all = RankMap::identity(end);
    if of.is_empty() {
        return Some(all);
    }
    match &of.form {
        Form::Complement(complement) if complement.end == end => {
            return Some(complement.of.clone());
        }
        Form::Progression(_) => {}
        _ => return None,
    }
    let Form::Progression(of) = &of.form else {
        return None;
    };
    let (first, last) = (u64::from(of.start()), u64::from(of.last()) + 1);
    if of.step() == 1 {
        return match (first == 0, last == end) {
            (true, _) => Some(Progression::between(last, end).into()),
            (_, true) => Some(Progression::between(0, first).into()),
            _ => None,
        };
    }
    // Of each `step` ranks one is missing: always the first, or always the last.
    let step = of.step() as u64;
    let to_the_end = last - 1 + step >= end;
    let start = match (first, to_the_end) {
        (0, true) => 1,
        (_, true) if first == step - 1 => 0,
        _ => return None,
    };
    let rows = u32::try_from((end - start).div_ceil(step)).ok()?;
    let axes = [
        Axis::line(rows, step as i64),
        Axis::line((step - 1) as u32, 1),
    ];
    Grid::closed(start as i64, &axes, end - of.len())
        .ok()
        .map(RankMap::closed)
}

impl RankMap {
    /// Returns the depth to which complements, compositions and concatenations are nested: 0 for a
    /// form without parts.
    fn depth(&self) -> usize {
        match &self.form {
            Form::Complement(complement) => 1 + complement.of.depth(),
            Form::Composition(both) => 1 + both.outer.depth().max(both.inner.depth()),
            Form::Concatenation(parts) => {
                1 + parts.parts().iter().map(RankMap::depth).max().unwrap_or(0)
            }
            _ => 0,
        }
    }

    /// Returns the depth to which complements are nested: 0 if the map and its parts contain none.
    pub(crate) fn complements(&self) -> usize {
        match &self.form {
            Form::Complement(complement) => 1 + complement.of.complements(),
            Form::Composition(both) => both.outer.complements().max(both.inner.complements()),
            Form::Concatenation(parts) => {
                let parts = parts.parts().iter().map(RankMap::complements);
                parts.max().unwrap_or(0)
            }
            _ => 0,
        }
    }

    /// Returns true if the largest world rank is known without a walk through the progressions.
    pub(crate) fn knows_max(&self) -> bool {
        self.is_ascending()
            || match &self.form {
                Form::Progression(_) | Form::Grid(..) | Form::Permutation(_) | Form::Wavelet(_) => {
                    true
                }
                Form::Composition(both) => both.outer.is_ascending() && both.inner.knows_max(),
                Form::Concatenation(parts) => parts.parts().iter().all(RankMap::knows_max),
                _ => false,
            }
    }

    /// Returns the largest world rank, or `None` if there are no members. Costs at most one SELECT
    /// for each part if [`RankMap::knows_max`] returns true, otherwise a walk through the
    /// progressions.
    pub(crate) fn max(&self) -> Option<u32> {
        if self.is_ascending() {
            return self.last();
        }
        match &self.form {
            Form::Progression(progression) if !progression.is_empty() => {
                return Some(progression.max());
            }
            Form::Grid(grid) => return Some(grid.max()),
            // The images are all of `0..len`.
            Form::Permutation(_) | Form::Wavelet(_) => {
                return self.len().checked_sub(1).map(|last| last as u32);
            }
            Form::Composition(both) if both.outer.is_ascending() => {
                return both.inner.max().map(|most| both.outer.at(most));
            }
            Form::Concatenation(parts) => {
                return parts.parts().iter().filter_map(RankMap::max).max();
            }
            _ => {}
        }
        let mut most = None;
        self.all(&mut |piece| {
            if !piece.is_empty() {
                most = most.max(Some(piece.max()));
            }
        });
        most
    }

    /// Returns the members whose ranks in this group are the members of `ranks`, in that order, as
    /// [`Builder::compose`] does.
    ///
    /// Cost: as [`Builder::compose`]. Source: Mir Taheri 2011 (3.7).
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchRank`] if a member of `ranks` is not a rank of this group.
    pub fn compose(&self, ranks: &RankMap) -> Result<RankMap, Error> {
        Builder::new().compose(self, ranks)
    }

    /// Returns the world ranks below `end` that this group does not contain, in ascending order. An
    /// `end` above 2^32 counts as 2^32.
    ///
    /// Cost: constant time if the map is a progression whose complement has a closed form, or if it
    /// is stored as a complement below the same `end`. Otherwise walks through the progressions,
    /// after [`RankMap::to_set`] if the map does not ascend. Source: Mir Taheri 2011 (4.1) for the
    /// complement of a set.
    ///
    /// # Errors
    ///
    /// [`Error::NoSuchRank`] if the group has a member that is not below `end`.
    pub fn complement(&self, end: u64) -> Result<RankMap, Error> {
        if let Some(most) = self.max().map(u64::from).filter(|most| *most >= end) {
            return Err(Error::NoSuchRank {
                rank: most,
                len: end,
            });
        }
        let builder = Builder::new();
        let set = self.to_set();
        Ok(builder.rest(&set, end.min(1 << 32)))
    }
}
