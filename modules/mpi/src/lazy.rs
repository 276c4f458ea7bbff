//! A value that is made when it is first asked for.

use std::ops::Deref;
use std::sync::OnceLock;

/// A value that is made when it is first asked for. If that panics, the next to ask tries again: a rank that may not make a
/// datatype does not keep the others from it.
pub struct Lazy<T> {
    value: OnceLock<T>,
    make: fn() -> T,
}

impl<T> Lazy<T> {
    /// A value that this makes.
    pub const fn new(make: fn() -> T) -> Self {
        let value = OnceLock::new();
        Lazy { value, make }
    }
}

impl<T> Deref for Lazy<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.value.get_or_init(self.make)
    }
}
