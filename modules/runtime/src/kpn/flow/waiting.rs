//! Future of the ends of flow-controlled channels. It polls an end, and cancels its wait when it is
//! dropped.

use std::pin::Pin;
use std::task::{Context, Poll};

/// An end that can be waited for.
pub(super) trait Waits {
    /// Cancels the wait at this end.
    fn turn_away(&mut self);
}

/// Future that polls an end until `poll` is ready.
pub(super) struct Until<'a, E: Waits, P> {
    pub(super) end: &'a mut E,
    pub(super) poll: P,
}

// The end is borrowed, and `poll` is moved and never pinned.
impl<E: Waits, P> Unpin for Until<'_, E, P> {}

impl<E, P, R> Future for Until<'_, E, P>
where
    E: Waits,
    P: FnMut(&mut E, &mut Context<'_>) -> Poll<R>,
{
    type Output = R;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<R> {
        let this = self.get_mut();
        (this.poll)(this.end, context)
    }
}

impl<E: Waits, P> Drop for Until<'_, E, P> {
    #[inline]
    fn drop(&mut self) {
        self.end.turn_away();
    }
}
