//! A group of a group, and what a group leaves out.

use std::sync::Arc;

use crate::build::Builder;
use crate::choose::Estimate;
use crate::error::Error;
use crate::form::grid::{Axis, Grid};
use crate::map::{COMPLEMENTS, Complement, Composition, Concatenation, DEEP, Form, PARTS, RankMap};
use crate::progression::Progression;
use crate::representation::Representation;

/// Up to how many progressions are looked at to find a shorter form of what is known already.
const WORTH: u64 = 1 << 22;

impl Builder {
    /// The members of `outer` whose ranks there are those of `inner`, in the order of `inner`: a group of a
    /// group. Stored relative to `outer`, which it then shares, where that is better by the strategy.
    ///
    /// Cost: constant time for closed forms; else it may go through the progressions of the result once. Source: Mir
    /// Taheri 2011, 3.5 and 3.6, for sets and permutations apart; relative to a parent, own.
    pub fn compose(&self, outer: &RankMap, inner: &RankMap) -> Result<RankMap, Error> {
        let len = outer.len();
        if let Some(most) = inner.max().map(u64::from).filter(|most| *most >= len) {
            return Err(Error::NoSuchRank { rank: most, len });
        }
        Ok(self.join(outer, inner))
    }

    /// [`Builder::compose`] of ranks that there are.
    pub(crate) fn join(&self, outer: &RankMap, inner: &RankMap) -> RankMap {
        if let Some(closed) = join_closed(outer, inner) {
            return closed;
        }
        if let Form::Composition(both) = &outer.form {
            // Not chains of parents, where a shorter way is known.
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
        // What is shared with the parent costs nothing more.
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

    /// The same map in a form that weighs less, if there is one and it is found soon.
    pub(crate) fn shorter(&self, map: RankMap) -> RankMap {
        if map.pieces() > WORTH {
            return map;
        }
        let most = self.weigh(&map.cost());
        self.within(most, &|give| map.all(give)).unwrap_or(map)
    }

    /// The ranks from 0 up to before `end` that an ascending map, all below `end`, leaves out.
    pub(crate) fn rest(&self, of: &RankMap, end: u64) -> RankMap {
        if let Some(closed) = rest_closed(of, end) {
            return closed;
        }
        if let Form::Complement(complement) = &of.form {
            // What was left out of less than that, and what is behind it; or a part of it.
            let (out, behind) = (&complement.of, complement.end);
            let within = RankMap::identity(out.find(end).0);
            return match behind < end {
                true => self.behind(&[out.clone(), Progression::between(behind, end).into()]),
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

    /// Maps one behind the other that have nothing in common.
    pub(crate) fn behind(&self, parts: &[RankMap]) -> RankMap {
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
        // Sets without a pattern are merged: no array of their members is made.
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
    /// The map with each member plus `by`; `None` where one of them would not be a rank.
    ///
    /// Cost: `O(p)` for so many progressions. Source: own.
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

/// Compositions that cost nothing.
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

/// What a progression leaves out, where that is closed.
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
    // One of each `step` is left out, from the first or from the last on.
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
    /// How many maps are in each other.
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

    /// How many complements are in each other.
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

    /// Whether the largest world rank is known without going through the progressions.
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

    /// The largest world rank. The cost of SELECT where it is known, else that of going through the progressions.
    pub(crate) fn max(&self) -> Option<u32> {
        if self.is_ascending() {
            return self.last();
        }
        match &self.form {
            Form::Progression(progression) if !progression.is_empty() => {
                return Some(progression.max());
            }
            Form::Grid(grid) => return Some(grid.max()),
            // As many as there are, from 0 on.
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

    /// The members whose ranks in this group are those of `ranks`, in that order: see [`Builder::compose`].
    ///
    /// Cost: that of [`Builder::compose`]. Source: Mir Taheri 2011, 3.7.
    pub fn compose(&self, ranks: &RankMap) -> Result<RankMap, Error> {
        Builder::new().compose(self, ranks)
    }

    /// The world ranks from 0 up to before `end` that this group does not have, ascending; an error if it has
    /// any from `end` on.
    ///
    /// Cost: constant time for what leaves out one range, or a map that is kept as what it leaves out; else that of
    /// going through the progressions. Source: Mir Taheri 2011, 4.1, for the complement of a set.
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
