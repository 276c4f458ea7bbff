//! Which form a map has, by name.

use std::fmt;

use crate::map::{Form, RankMap};

/// The forms that a rank map can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Representation {
    /// A range with a stride; the identity is one.
    Progression,
    /// Nested ranges with strides: a regular section, as Cartesian topologies make.
    Grid,
    /// Progressions one after the other.
    Runs,
    /// Ranges of neighbours: beginnings and lengths as gaps.
    RunLengths,
    /// A bit for each rank, with a directory.
    Bitmap,
    /// A bit for each rank, without one.
    BareBitmap,
    /// Gaps by Elias and Fano.
    EliasFano,
    /// A packed array.
    List,
    /// A packed array of where each rank of a set goes, with shortcuts back.
    Shortcuts,
    /// A packed array of where each rank of a set goes, and one of where each comes from.
    Inverse,
    /// The merges that would sort a permutation of few ascending sequences: the wavelet tree on runs.
    Wavelet,
    /// Halves of halves, of which equal ones are there once: a binary decision diagram.
    DecisionDiagram,
    /// A roaring bitmap, of the crate `roaring`; with the feature of that name.
    #[cfg(feature = "roaring")]
    Roaring,
    /// What another map leaves out.
    Complement,
    /// One map after the other: a set and a permutation, or a child and its parent.
    Composition,
    /// Maps one behind the other.
    Concatenation,
}

impl fmt::Display for Representation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Representation::Progression => "progression",
            Representation::Grid => "grid",
            Representation::Runs => "runs",
            Representation::RunLengths => "run lengths",
            Representation::Bitmap => "bitmap",
            Representation::BareBitmap => "bare bitmap",
            Representation::EliasFano => "Elias-Fano",
            Representation::List => "packed array",
            Representation::Shortcuts => "permutation with shortcuts",
            Representation::Inverse => "permutation with inverse",
            Representation::Wavelet => "wavelet tree on runs",
            Representation::DecisionDiagram => "decision diagram",
            #[cfg(feature = "roaring")]
            Representation::Roaring => "roaring",
            Representation::Complement => "complement",
            Representation::Composition => "composition",
            Representation::Concatenation => "concatenation",
        })
    }
}

impl RankMap {
    /// Which form this map has.
    ///
    /// Cost: constant time. Source: Mir Taheri 2011, 3.4, for the forms.
    pub fn representation(&self) -> Representation {
        match &self.form {
            Form::Progression(_) => Representation::Progression,
            Form::Grid(..) => Representation::Grid,
            Form::Runs(_) => Representation::Runs,
            Form::RunLengths(_) => Representation::RunLengths,
            Form::Bitmap(bitmap) if bitmap.is_indexed() => Representation::Bitmap,
            Form::Bitmap(_) => Representation::BareBitmap,
            Form::EliasFano(_) => Representation::EliasFano,
            Form::List(_) => Representation::List,
            Form::Permutation(permutation) if permutation.has_inverse() => Representation::Inverse,
            Form::Permutation(_) => Representation::Shortcuts,
            Form::Wavelet(_) => Representation::Wavelet,
            Form::Diagram(_) => Representation::DecisionDiagram,
            #[cfg(feature = "roaring")]
            Form::Roaring(_) => Representation::Roaring,
            Form::Complement(_) => Representation::Complement,
            Form::Composition(_) => Representation::Composition,
            Form::Concatenation(_) => Representation::Concatenation,
        }
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
