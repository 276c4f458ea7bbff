//! The elements of windows.

use graphmap_runtime::mpi as core;

/// An element of a window: a number, a truth value, a character, a tuple or an array of these, and
/// every other `Payload` of the runtime that is `Copy`.
pub trait Element: core::Value + Copy {}

impl<T: core::Value + Copy> Element for T {}
