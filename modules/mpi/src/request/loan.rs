//! Validity of an operation that a call has lent to other ranks.

use std::cell::Cell;
use std::rc::Rc;

/// Whether an operation that a call has lent to other ranks is still valid. Clones share the state.
#[derive(Debug, Clone)]
pub struct Loan(Rc<Cell<bool>>);

impl Loan {
    pub(crate) fn new() -> Self {
        Loan(Rc::new(Cell::new(true)))
    }

    /// Marks the operation as invalid.
    pub(crate) fn invalidate(&self) {
        self.0.set(false);
    }

    pub(crate) fn is_valid(&self) -> bool {
        self.0.get()
    }

    /// Returns true if another clone of this loan exists.
    pub(super) fn is_shared(&self) -> bool {
        Rc::strong_count(&self.0) > 1
    }
}
