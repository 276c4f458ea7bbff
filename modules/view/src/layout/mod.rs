//! Positions of all elements of a picture.

pub(crate) mod layered;
pub(crate) mod matrix;
pub(crate) mod scope;
