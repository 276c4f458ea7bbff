//! A port, as the futures have it that borrow it.

use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};

/// A copy of a port that is borrowed as long as this is there. Not a reference to it: that would be one more load on the way
/// from the process that is to run to the word that says who runs after it, and each waits for the one before.
pub(super) struct Borrowed<'a, P> {
    port: ManuallyDrop<P>,
    _port: PhantomData<&'a mut P>,
}

impl<'a, P> Borrowed<'a, P> {
    /// `copy` makes another port with the same end, which is never dropped: nothing may panic in it.
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
