//! What is looked at where there is no guard: a page that nobody should have touched.

use std::ptr;

use crate::overflow;
use crate::shape::Shape;

/// The lowest page of a stack, which is zero until the stack has overflowed. It takes no memory: that it is read maps the
/// kernel's page of zeros.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Canary {
    limit: usize,
    shape: Shape,
}

impl Canary {
    pub(crate) fn new(limit: usize, shape: Shape) -> Self {
        Canary { limit, shape }
    }

    /// Of a stack that is suspended: looks at the bytes that are met first, and ends the program if the stack has overflowed.
    pub(crate) fn look(self) {
        self.look_at(self.shape.guard - 256);
    }

    /// Of a stack that is given back: looks at all.
    pub(crate) fn look_at_all(self) {
        self.look_at(0);
    }

    fn look_at(self, from: usize) {
        let words = (self.shape.guard - from) / size_of::<u64>();
        let first: *const u64 = ptr::with_exposed_provenance(self.limit + from);
        let intact = (0..words).all(|word| {
            // SAFETY: memory of a stack that is in use, of which any bytes may be read.
            unsafe { first.add(word).read_volatile() == 0 }
        });
        if !intact {
            overflow::found(self.limit, self.shape);
        }
    }
}
