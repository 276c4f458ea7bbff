//! Scopes: how long requests may borrow their buffers.

use std::cell::{Cell, RefCell};
use std::marker::PhantomData;

use super::lent::Lent;

/// How long requests may borrow.
///
/// # Safety
/// Requests may be registered only as long as `'a`.
pub unsafe trait Scope<'a> {
    /// A request begins.
    fn register(&self);

    /// A request has ended.
    ///
    /// # Safety
    /// It has to have been registered.
    unsafe fn unregister(&self);

    /// The request that was registered last has lent others something that lives as long as `'a`: what is lent ends before that, also
    /// if the request is forgotten.
    #[doc(hidden)]
    fn lends(&self, _lent: Lent) {}
}

/// For ever: of what is static.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct StaticScope;

// SAFETY: there is no end.
unsafe impl Scope<'static> for StaticScope {
    fn register(&self) {}

    unsafe fn unregister(&self) {}
}

/// Until the end of a [`scope`].
#[derive(Debug)]
pub struct LocalScope<'a> {
    requests: Cell<usize>,
    /// What requests have lent, perhaps some that are over.
    lent: RefCell<Vec<Lent>>,
    /// Neither longer nor shorter.
    phantom: PhantomData<Cell<&'a ()>>,
}

impl LocalScope<'_> {
    pub(super) fn new() -> Self {
        LocalScope {
            requests: Cell::new(0),
            lent: RefCell::default(),
            phantom: PhantomData,
        }
    }
}

impl Drop for LocalScope<'_> {
    fn drop(&mut self) {
        // One that was forgotten will not be polled again, so it does no harm but to keep a message from others, once what it has lent
        // is taken back: other ranks may come to the reduction later.
        if self.requests.get() != 0 {
            self.lent.take().iter().for_each(Lent::end);
        }
        if self.requests.get() != 0 && !std::thread::panicking() {
            panic!("at least one request was dropped without being completed");
        }
    }
}

// SAFETY: requests hold a reference to it, so it ends after them, or they are never polled again.
unsafe impl<'a> Scope<'a> for &LocalScope<'a> {
    fn register(&self) {
        self.requests.set(self.requests.get() + 1);
    }

    unsafe fn unregister(&self) {
        let requests = self.requests.get().checked_sub(1);
        self.requests
            .set(requests.expect("a request ends as often as it begins"));
    }

    fn lends(&self, lent: Lent) {
        let mut all = self.lent.borrow_mut();
        all.retain(Lent::is_shared);
        all.push(lent);
    }
}

/// A scope of which requests may borrow what lives longer.
pub fn scope<'a, F, R>(f: F) -> R
where
    F: FnOnce(&LocalScope<'a>) -> R,
{
    f(&LocalScope::new())
}
