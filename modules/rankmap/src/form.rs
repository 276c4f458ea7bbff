//! Forms of rank maps. They are independent of each other, except that run lengths consist of two
//! sequences of gaps. `map.rs` combines them.

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
