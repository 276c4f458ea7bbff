//! A rank map is one of the forms, or a few of them put together.

pub(crate) mod joined;
mod many;

use std::fmt;
use std::sync::Arc;

use crate::form::bitmap::Bitmap;
use crate::form::diagram::Diagram;
use crate::form::elias_fano::EliasFano;
use crate::form::grid::{Closed, Grid};
use crate::form::list::List;
use crate::form::permutation::Permutation;
#[cfg(feature = "roaring")]
use crate::form::roaring::Roaring;
use crate::form::run_lengths::RunLengths;
use crate::form::runs::Runs;
use crate::form::wavelet::Wavelet;
use crate::map::joined::{Complement, Composition, Concatenation};
use crate::progression::{Grouping, Progression};

/// From the ranks of a group to world ranks and back: an injective map of `0..len` into `0..2^32`.
///
/// Immutable; a clone shares what is on the heap. See the [crate](crate) for what there is to choose from,
/// and what it costs.
#[derive(Clone)]
pub struct RankMap {
    pub(crate) form: Form,
}

#[derive(Clone)]
pub(crate) enum Form {
    Progression(Progression),
    Grid(Arc<Grid>),
    Runs(Arc<Runs>),
    RunLengths(Arc<RunLengths>),
    Bitmap(Arc<Bitmap>),
    EliasFano(Arc<EliasFano>),
    List(Arc<List>),
    Permutation(Arc<Permutation>),
    Wavelet(Arc<Wavelet>),
    Diagram(Arc<Diagram>),
    #[cfg(feature = "roaring")]
    Roaring(Arc<Roaring>),
    Complement(Arc<Complement>),
    Composition(Arc<Composition>),
    Concatenation(Arc<Concatenation>),
}

/// Runs an expression for whichever form there is.
macro_rules! each_form {
    ($form:expr, $inner:ident => $do:expr) => {
        match $form {
            Form::Progression($inner) => $do,
            Form::Grid($inner) => $do,
            Form::Runs($inner) => $do,
            Form::RunLengths($inner) => $do,
            Form::Bitmap($inner) => $do,
            Form::EliasFano($inner) => $do,
            Form::List($inner) => $do,
            Form::Permutation($inner) => $do,
            Form::Wavelet($inner) => $do,
            Form::Diagram($inner) => $do,
            #[cfg(feature = "roaring")]
            Form::Roaring($inner) => $do,
            Form::Complement($inner) => $do,
            Form::Composition($inner) => $do,
            Form::Concatenation($inner) => $do,
        }
    };
}

impl RankMap {
    pub(crate) fn of(form: Form) -> Self {
        RankMap { form }
    }

    /// No ranks at all.
    pub fn empty() -> Self {
        RankMap::of(Form::Progression(Progression::EMPTY))
    }

    /// The world of `len` ranks: each has its own. Nothing is on the heap.
    ///
    /// # Panics
    ///
    /// If there are not so many ranks, 2^32.
    pub fn identity(len: u64) -> Self {
        assert!(len <= 1 << 32, "there are only 2^32 ranks");
        RankMap::of(Form::Progression(Progression::between(0, len)))
    }

    pub(crate) fn closed(closed: Closed) -> Self {
        RankMap::of(match closed {
            Closed::Progression(progression) => Form::Progression(progression),
            Closed::Grid(grid) => Form::Grid(Arc::new(grid)),
        })
    }

    /// How many members there are. Constant time.
    pub fn len(&self) -> u64 {
        each_form!(&self.form, form => form.len())
    }

    /// Whether there is none. Constant time.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// SELECT: the world rank of a rank of the group, if the group has so many. For the cost see the
    /// [crate](crate).
    #[inline(always)]
    pub fn select(&self, rank: u32) -> Option<u32> {
        // One look at the form, not two, where that is most of the cost.
        let known = u64::from(rank);
        match &self.form {
            Form::Progression(form) => (known < form.len()).then(|| form.at(rank)),
            Form::Grid(form) => (known < form.len()).then(|| form.at(rank)),
            Form::EliasFano(form) => form.select(rank),
            _ => self.select_else(rank),
        }
    }

    /// SELECT of the forms that are not so short that they are a part of their caller.
    #[inline(never)]
    fn select_else(&self, rank: u32) -> Option<u32> {
        (u64::from(rank) < self.len()).then(|| self.at(rank))
    }

    /// SELECT of a rank that there is.
    #[inline]
    pub(crate) fn at(&self, rank: u32) -> u32 {
        each_form!(&self.form, form => form.at(rank))
    }

    /// RANK: the rank in the group of a world rank, if it is a member. For the cost see the [crate](crate).
    #[inline]
    pub fn rank(&self, world: u32) -> Option<u32> {
        match &self.form {
            Form::Progression(progression) => progression.index_of(world),
            Form::Grid(grid) => grid.rank(world),
            Form::Runs(runs) => runs.rank(world),
            Form::RunLengths(runs) => found(runs.find(u64::from(world))),
            Form::Bitmap(bitmap) => match bitmap.contains(world) {
                true => found(bitmap.find(u64::from(world))),
                false => None,
            },
            Form::EliasFano(gaps) => found(gaps.find(u64::from(world))),
            Form::List(list) => list.find(u64::from(world)).1,
            Form::Permutation(permutation) => permutation.rank(world),
            Form::Wavelet(wavelet) => wavelet.rank(world),
            Form::Diagram(diagram) => found(diagram.find(u64::from(world))),
            #[cfg(feature = "roaring")]
            Form::Roaring(roaring) => found(roaring.find(u64::from(world))),
            Form::Complement(complement) => found(complement.find(u64::from(world))),
            Form::Composition(both) => both.rank(world),
            Form::Concatenation(parts) => parts.rank(world),
        }
    }

    /// Whether a world rank is a member. At most the cost of RANK.
    pub fn contains(&self, world: u32) -> bool {
        match &self.form {
            Form::Bitmap(bitmap) => bitmap.contains(world),
            _ => self.rank(world).is_some(),
        }
    }

    /// Whether the world ranks ascend with the ranks of the group: whether it is a set. Constant time.
    pub fn is_ascending(&self) -> bool {
        match &self.form {
            Form::Progression(progression) => progression.step() > 0,
            Form::Grid(grid) => grid.is_ascending(),
            Form::Runs(runs) => runs.is_ascending(),
            Form::List(list) => list.is_ascending(),
            Form::Permutation(_) => self.len() < 2,
            Form::Wavelet(wavelet) => wavelet.sequences() < 2,
            #[cfg(feature = "roaring")]
            Form::Roaring(_) => true,
            Form::RunLengths(_)
            | Form::Bitmap(_)
            | Form::EliasFano(_)
            | Form::Diagram(_)
            | Form::Complement(_) => true,
            Form::Composition(both) => both.is_ascending(),
            Form::Concatenation(parts) => parts.is_ascending(),
        }
    }

    /// Of an ascending map: how many members are below a number, and whether the number is one.
    pub(crate) fn find(&self, world: u64) -> (u64, bool) {
        let is = |world: u64| u32::try_from(world).is_ok_and(|world| self.rank(world).is_some());
        match &self.form {
            Form::Progression(progression) => (progression.below(world), is(world)),
            Form::Grid(grid) => (grid.below(world), is(world)),
            Form::Runs(runs) => (runs.below(world), is(world)),
            Form::RunLengths(runs) => runs.find(world),
            Form::Bitmap(bitmap) => bitmap.find(world),
            Form::EliasFano(gaps) => gaps.find(world),
            Form::Diagram(diagram) => diagram.find(world),
            #[cfg(feature = "roaring")]
            Form::Roaring(roaring) => roaring.find(world),
            Form::List(list) => {
                let (below, equal) = list.find(world);
                (below, equal.is_some())
            }
            // Of such, only the identity ascends.
            Form::Permutation(_) | Form::Wavelet(_) => (world.min(self.len()), is(world)),
            Form::Complement(complement) => complement.find(world),
            Form::Composition(both) => both.find(world),
            Form::Concatenation(parts) => parts.find(world),
        }
    }

    /// The smallest rank of an ascending map.
    pub(crate) fn first(&self) -> Option<u32> {
        self.select(0)
    }

    /// The largest rank of an ascending map.
    pub(crate) fn last(&self) -> Option<u32> {
        self.len().checked_sub(1).map(|last| self.at(last as u32))
    }

    /// The world ranks from a rank of the group on; there are so many.
    pub(crate) fn read(&self, from: u64, out: &mut [u32]) {
        match &self.form {
            Form::Bitmap(bitmap) => bitmap.read(from, out),
            Form::EliasFano(gaps) => gaps.read(from, out),
            Form::Diagram(diagram) => diagram.read(from, out),
            #[cfg(feature = "roaring")]
            Form::Roaring(roaring) => roaring.read(from, out),
            Form::List(list) => list.read(from, out),
            Form::Permutation(permutation) => permutation.read(from, out),
            Form::Wavelet(wavelet) => {
                for (rank, out) in (from as u32..).zip(out) {
                    *out = wavelet.at(rank);
                }
            }
            Form::Composition(both) => both.read(from, out),
            Form::Complement(complement) => complement.read(from, out),
            _ => {
                let (mut at, to) = (0, from + out.len() as u64);
                self.each(from, to, &mut |piece| {
                    let len = piece.len() as usize;
                    let (step, mut rank) = (piece.step(), i64::from(piece.start()));
                    for out in &mut out[at..at + len] {
                        *out = rank as u32;
                        rank += step;
                    }
                    at += len;
                });
            }
        }
    }

    /// The world ranks from a rank of the group up to before another, as progressions, without writing them
    /// out.
    pub(crate) fn each(&self, from: u64, to: u64, give: &mut dyn FnMut(Progression)) {
        let to = to.min(self.len());
        if from >= to {
            return;
        }
        match &self.form {
            Form::Progression(progression) => give(progression.slice(from, to)),
            Form::Grid(grid) => grid.each(from, to, give),
            Form::Runs(runs) => runs.each(from, to, give),
            Form::RunLengths(runs) => runs.each(from, to, give),
            Form::Diagram(diagram) => diagram.each(from, to, give),
            Form::Complement(complement) => complement.each(from, to, give),
            Form::Composition(both) => both.each(from, to, give),
            Form::Concatenation(parts) => parts.each(from, to, give),
            _ => {
                let mut grouping = Grouping::new();
                let mut at = from;
                let mut some = [0; CHUNK];
                while at < to {
                    let len = (to - at).min(CHUNK as u64) as usize;
                    self.read(at, &mut some[..len]);
                    for rank in &some[..len] {
                        grouping.push(Progression::valid(*rank, 1, 1), give);
                    }
                    at += len as u64;
                }
                grouping.finish(give);
            }
        }
    }

    /// Whether every rank is its own.
    pub(crate) fn is_identity(&self) -> bool {
        matches!(&self.form, Form::Progression(p) if p.start() == 0 && p.step() == 1)
    }

    /// The step of a map that is one progression.
    pub(crate) fn in_step(&self) -> Option<i64> {
        match &self.form {
            Form::Progression(progression) => Some(progression.step()),
            _ => None,
        }
    }

    /// All world ranks as progressions.
    pub(crate) fn all(&self, give: &mut dyn FnMut(Progression)) {
        self.each(0, self.len(), give);
    }

    /// At most how many progressions [`RankMap::each`] gives: what it costs to go through the map.
    pub(crate) fn pieces(&self) -> u64 {
        match &self.form {
            Form::Progression(_) => 1,
            Form::Grid(grid) => grid.pieces(),
            Form::Runs(runs) => runs.count() as u64,
            Form::RunLengths(runs) => runs.count(),
            Form::Diagram(diagram) => diagram.ranges(),
            #[cfg(feature = "roaring")]
            Form::Roaring(_) => self.len(),
            Form::Bitmap(_)
            | Form::EliasFano(_)
            | Form::List(_)
            | Form::Permutation(_)
            | Form::Wavelet(_) => self.len(),
            Form::Complement(complement) => complement.pieces(),
            Form::Composition(both) => both.pieces(),
            Form::Concatenation(parts) => parts.pieces(),
        }
    }

    /// Whether [`RankMap::each`] knows progressions without reading rank by rank.
    pub(crate) fn in_pieces(&self) -> bool {
        #[cfg(feature = "roaring")]
        if let Form::Roaring(_) = self.form {
            return false;
        }
        !matches!(
            self.form,
            Form::Bitmap(_)
                | Form::EliasFano(_)
                | Form::List(_)
                | Form::Permutation(_)
                | Form::Wavelet(_)
        )
    }

    /// The world ranks in the order of the group, at the speed of memory.
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

/// What [`RankMap::find`] says, as RANK.
#[inline]
fn found((below, equal): (u64, bool)) -> Option<u32> {
    equal.then_some(below as u32)
}

/// How many ranks are read at a time.
const CHUNK: usize = 64;

/// The world ranks of a [`RankMap`] in the order of the group.
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

impl fmt::Debug for RankMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let few: Vec<u32> = self.iter().take(8).collect();
        f.debug_struct("RankMap")
            .field("len", &self.len())
            .field("form", &self.representation())
            .field("begins", &few)
            .finish()
    }
}
