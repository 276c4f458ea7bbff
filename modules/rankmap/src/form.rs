//! The forms a rank map can have. None knows of another, but that run lengths
//! are two sequences of gaps; `map.rs` puts them together.

pub(crate) mod bitmap;
pub(crate) mod diagram;
pub(crate) mod elias_fano;
pub(crate) mod grid;
pub(crate) mod list;
pub(crate) mod permutation;
#[cfg(feature = "roaring")]
pub(crate) mod roaring;
pub(crate) mod run_lengths;
pub(crate) mod runs;
pub(crate) mod wavelet;
