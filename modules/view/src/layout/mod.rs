//! Positions of all elements of a picture.

pub(crate) mod scope;
