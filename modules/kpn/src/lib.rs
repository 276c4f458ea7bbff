//! The model of a process network and what every other part of graphmap needs to speak of it.
//!
//! Data flows one way: a front end makes [`declared::Declared`].

pub mod arena;
pub mod declared;
pub mod diagnostic;
pub mod names;
pub mod nearest;
pub mod source;
