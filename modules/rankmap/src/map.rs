//! A rank map is one of the forms, or a few of them put together: as a complement, a composition, a concatenation.
//!
//! Here is what it is made of. What is asked of it stands above, a file for each question, as what is asked of maps made
//! of maps is asked of these in turn.

mod iter;
mod lookup;
mod walk;

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
use crate::progression::Progression;

pub use iter::Iter;

/// How many maps one behind the other are asked before they are put into one.
pub(crate) const PARTS: usize = 16;
/// How many maps may be in each other before a group of a group is written down by itself.
pub(crate) const DEEP: usize = 16;
/// How many complements may be in each other: SELECT of each asks the one within some thirty times.
pub(crate) const COMPLEMENTS: usize = 2;

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

impl RankMap {
    pub(crate) fn of(form: Form) -> Self {
        RankMap { form }
    }

    /// No ranks at all.
    ///
    /// Cost: constant time, nothing on the heap. Source: own.
    pub fn empty() -> Self {
        RankMap::of(Form::Progression(Progression::EMPTY))
    }

    /// The world of `len` ranks: each has its own. Nothing is on the heap.
    ///
    /// Cost: constant time, nothing on the heap. Source: Mir Taheri 2011, 3.6.
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
}

/// The ranks from 0 up to before an end that an ascending map does not have.
///
/// SELECT halves the members of the map: the logarithm of their number, times their SELECT. RANK is theirs.
pub(crate) struct Complement {
    pub(crate) of: RankMap,
    pub(crate) end: u64,
}

/// One map after the other: a set in another order, or a group of a group, stored relative to its parent.
///
/// SELECT and RANK cost what both cost.
pub(crate) struct Composition {
    pub(crate) outer: RankMap,
    pub(crate) inner: RankMap,
}

/// Maps one after the other that have nothing in common.
///
/// SELECT halves the parts, RANK asks them all.
pub(crate) struct Concatenation {
    parts: Vec<RankMap>,
    /// The group rank at which each begins.
    first: Vec<u32>,
    len: u64,
    ascending: bool,
}

impl Concatenation {
    pub(crate) fn parts(&self) -> &[RankMap] {
        &self.parts
    }

    /// The bytes on the heap, without those of the parts.
    pub(crate) fn bytes(&self) -> usize {
        self.parts.capacity() * size_of::<RankMap>() + self.first.capacity() * 4
    }
}
