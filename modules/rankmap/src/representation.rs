//! Names of the forms.

use std::fmt;

use crate::map::{Form, RankMap};

/// Forms that a rank map can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Representation {
    /// A range with a stride, such as the identity.
    Progression,
    /// Nested ranges with strides: a regular section, as in Cartesian topologies.
    Grid,
    /// A sequence of progressions.
    Runs,
    /// Ascending ranges of consecutive ranks: their starts and lengths as gaps.
    RunLengths,
    /// One bit for each rank, with a directory.
    Bitmap,
    /// One bit for each rank, without a directory.
    BareBitmap,
    /// Gaps in Elias-Fano code.
    EliasFano,
    /// A packed array.
    List,
    /// Packed array of the images of a permutation, with shortcuts for the inverse.
    Shortcuts,
    /// Packed arrays of the images of a permutation and of its inverse.
    Inverse,
    /// Merges that sort a permutation of few ascending sequences: the wavelet tree on runs.
    Wavelet,
    /// Binary decision diagram: the ranks are halved repeatedly, and equal halves are stored once.
    DecisionDiagram,
    /// A roaring bitmap of the crate `roaring`. Requires the feature `roaring`.
    #[cfg(feature = "roaring")]
    Roaring,
    /// The ranks that another map does not contain.
    Complement,
    /// One map after the other: a set and a permutation, or a child and its parent.
    Composition,
    /// A sequence of disjoint maps.
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
    /// Returns the form of this map.
    ///
    /// Cost: constant time. Source: Mir Taheri 2011 (3.4) for the forms.
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
