//! The model of a process network and what every other part of graphmap needs to speak of it.

pub mod diagnostic;
pub mod nearest;
pub mod source;
