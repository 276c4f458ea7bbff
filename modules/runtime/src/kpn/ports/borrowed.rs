//! A copy of a port, held by a future that borrows the port.

use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};

/// Copy of a port that stays borrowed while the copy exists.
///
/// A reference to the port would be one more dependent load between the process that is to run and
/// the state word that names the process after it.
pub(super) struct Borrowed<'a, P> {
    port: ManuallyDrop<P>,
    _port: PhantomData<&'a mut P>,
}

impl<'a, P> Borrowed<'a, P> {
    /// Makes a borrowed copy. `copy` returns a second port with the same end, which is never
    /// dropped. `copy` must not panic.
    #[inline(always)]
    pub(super) fn new(port: &'a mut P, copy: impl FnOnce(&P) -> P) -> Self {
        Borrowed {
            port: ManuallyDrop::new(copy(port)),
            _port: PhantomData,
        }
    }
}

impl<P> Deref for Borrowed<'_, P> {
    type Target = P;

    #[inline(always)]
    fn deref(&self) -> &P {
        &self.port
    }
}

impl<P> DerefMut for Borrowed<'_, P> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut P {
        &mut self.port
    }
}

impl<P: fmt::Debug> fmt::Debug for Borrowed<'_, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
