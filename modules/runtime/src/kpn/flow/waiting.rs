//! The futures of the ends: each polls its end, and has nobody wait there when it is dropped.

use std::pin::Pin;
use std::task::{Context, Poll};

/// An end that can be waited for.
pub(super) trait Waits {
    /// Nobody waits there any more.
    fn turn_away(&mut self);
}

/// Polls an end until it has what is asked for.
pub(super) struct Until<'a, E: Waits, P> {
    pub(super) end: &'a mut E,
    pub(super) poll: P,
}

// The end is borrowed, and what polls it is moved and never pinned.
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
