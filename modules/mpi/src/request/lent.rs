//! What a call has lent to others, and for how long.

use std::cell::Cell;
use std::rc::Rc;

/// While it has not ended, what a call has lent to others is there.
#[derive(Debug, Clone)]
pub struct Lent(Rc<Cell<bool>>);

impl Lent {
    pub(crate) fn new() -> Self {
        Lent(Rc::new(Cell::new(true)))
    }

    /// It is there no more.
    pub(crate) fn end(&self) {
        self.0.set(false);
    }

    pub(crate) fn is_there(&self) -> bool {
        self.0.get()
    }

    /// Whether others know of it.
    pub(super) fn is_shared(&self) -> bool {
        Rc::strong_count(&self.0) > 1
    }
}
