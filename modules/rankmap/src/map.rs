//! A rank map has one of the forms, or combines maps: as a complement, a composition or a
//! concatenation.
//!
//! This module defines the structure. Each submodule implements one kind of query, and a combined
//! map forwards the query to its parts.

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

/// Largest number of parts of a concatenation. More parts are merged into one form.
pub(crate) const PARTS: usize = 16;
/// Largest depth of nested maps. A deeper composition is stored independently of its parent.
pub(crate) const DEEP: usize = 16;
/// Largest depth of nested complements. The limit is small because SELECT at each level calls the
/// inner SELECT about thirty times.
pub(crate) const COMPLEMENTS: usize = 2;

/// Map from the ranks of a group to world ranks and back: an injective map of `0..len` into
/// `0..2^32`.
///
/// A rank map is immutable. A clone shares the heap storage. The [crate](crate) documentation lists
/// the forms and their costs.
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

    /// Returns the map without members.
    ///
    /// Cost: constant time, no heap storage. Source: this crate.
    pub fn empty() -> Self {
        RankMap::of(Form::Progression(Progression::EMPTY))
    }

    /// Returns the identity on `len` ranks: the group of the world.
    ///
    /// Cost: constant time, no heap storage. Source: Mir Taheri 2011 (3.6).
    ///
    /// # Panics
    ///
    /// Panics if `len` exceeds 2^32.
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

    /// Returns true if the map is a progression that maps each rank to itself, or is empty. Does
    /// not examine other forms, and returns false for them.
    pub(crate) fn is_identity(&self) -> bool {
        matches!(&self.form, Form::Progression(p) if p.start() == 0 && p.step() == 1)
    }

    /// Returns the step if the form of the map is a progression, otherwise `None`.
    pub(crate) fn in_step(&self) -> Option<i64> {
        match &self.form {
            Form::Progression(progression) => Some(progression.step()),
            _ => None,
        }
    }
}

/// The ranks below `end` that an ascending map does not contain.
///
/// SELECT is a binary search over the members of the map, with one SELECT of the map in each step.
/// RANK is one RANK of the map.
pub(crate) struct Complement {
    pub(crate) of: RankMap,
    pub(crate) end: u64,
}

/// One map applied after the other: a set in another order, or a group of a group, stored relative
/// to its parent.
///
/// SELECT and RANK cost the sum of both maps.
pub(crate) struct Composition {
    pub(crate) outer: RankMap,
    pub(crate) inner: RankMap,
}

/// Disjoint maps one after the other.
///
/// SELECT is a binary search over the parts. RANK tries each part.
pub(crate) struct Concatenation {
    parts: Vec<RankMap>,
    /// Group rank of the first member of each part.
    first: Vec<u32>,
    len: u64,
    ascending: bool,
}

impl Concatenation {
    pub(crate) fn parts(&self) -> &[RankMap] {
        &self.parts
    }

    /// Returns the size on the heap in bytes of the arrays of parts and ranks, without the heap
    /// storage of the parts.
    pub(crate) fn bytes(&self) -> usize {
        self.parts.capacity() * size_of::<RankMap>() + self.first.capacity() * 4
    }
}
