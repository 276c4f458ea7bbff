//! The elements of windows.

use graphmap_runtime::mpi as core;

/// An element of a window: a number, a `bool`, a character, or a tuple or an array of these. Also
/// every other `Payload` of the runtime that is `Copy`.
pub trait Element: core::Value + Copy {}

impl<T: core::Value + Copy> Element for T {}
