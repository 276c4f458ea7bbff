//! Scopes, which determine how long requests may borrow their buffers.

use std::cell::{Cell, RefCell};
use std::marker::PhantomData;

use super::loan::Loan;

/// A scope whose requests may borrow for `'a`.
///
/// # Safety
/// Requests must be registered only during `'a`.
pub unsafe trait Scope<'a> {
    /// Registers a request.
    fn register(&self);

    /// Unregisters a request that has ended.
    ///
    /// # Safety
    /// The request must have been registered.
    unsafe fn unregister(&self);

    /// Records that the request that was registered last has lent an operation to other ranks. The
    /// operation lives for `'a`. The loan must end before `'a` does, also if the request is
    /// forgotten.
    #[doc(hidden)]
    fn lends(&self, _lent: Loan) {}
}

/// Scope without an end, for static buffers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct StaticScope;

// SAFETY: `'static` has no end.
unsafe impl Scope<'static> for StaticScope {
    fn register(&self) {}

    unsafe fn unregister(&self) {}
}

/// Scope that ends with a call of [`scope`].
#[derive(Debug)]
pub struct LocalScope<'a> {
    requests: Cell<usize>,
    /// Loans of requests. Requests that are complete may be among them.
    lent: RefCell<Vec<Loan>>,
    /// Makes the type invariant in `'a`.
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
        // A forgotten request is not polled again. Its loan must end here, because other ranks may
        // still enter the reduction. After that, the request does no harm, except that it may keep
        // a message from other receives.
        if self.requests.get() != 0 {
            self.lent.take().iter().for_each(Loan::invalidate);
        }
        if self.requests.get() != 0 && !std::thread::panicking() {
            panic!("at least one request was dropped without being completed");
        }
    }
}

// SAFETY: requests hold a reference to the scope, so they end before it. Forgotten requests are
// never polled.
unsafe impl<'a> Scope<'a> for &LocalScope<'a> {
    fn register(&self) {
        self.requests.set(self.requests.get() + 1);
    }

    unsafe fn unregister(&self) {
        let requests = self.requests.get().checked_sub(1);
        self.requests
            .set(requests.expect("a request ends as often as it begins"));
    }

    fn lends(&self, lent: Loan) {
        let mut all = self.lent.borrow_mut();
        all.retain(Loan::is_shared);
        all.push(lent);
    }
}

/// Calls `f` with a scope, and returns its result. Requests of the scope may borrow values that
/// outlive this call.
///
/// # Panics
/// If a request of the scope was neither completed nor dropped when `f` returns, for example by
/// `mem::forget`.
pub fn scope<'a, F, R>(f: F) -> R
where
    F: FnOnce(&LocalScope<'a>) -> R,
{
    f(&LocalScope::new())
}
