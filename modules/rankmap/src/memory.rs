//! Memory use of a map.

use std::collections::HashSet;
use std::sync::Arc;

use crate::map::{Form, RankMap};

/// Size of the two counters of an [`Arc`].
const COUNTERS: usize = 2 * size_of::<usize>();

impl RankMap {
    /// Returns the number of bytes that this map occupies, including storage that it shares with
    /// other maps.
    ///
    /// Cost: constant time for each map that it consists of. Source: this crate.
    pub fn bytes(&self) -> usize {
        let mut memory = Memory::default();
        memory.heap(self);
        size_of::<RankMap>() + memory.bytes
    }
}

/// Counts bytes on the heap. Storage that parts of a map share is counted once.
#[derive(Default)]
struct Memory {
    bytes: usize,
    seen: HashSet<usize>,
}

impl Memory {
    fn heap(&mut self, map: &RankMap) {
        match &map.form {
            Form::Progression(_) => {}
            Form::Grid(form) => self.once(form, form.bytes()),
            Form::Runs(form) => self.once(form, form.bytes()),
            Form::RunLengths(form) => self.once(form, form.bytes()),
            Form::Bitmap(form) => self.once(form, form.bytes()),
            Form::EliasFano(form) => self.once(form, form.bytes()),
            Form::List(form) => self.once(form, form.bytes()),
            Form::Permutation(form) => self.once(form, form.bytes()),
            Form::Wavelet(form) => self.once(form, form.bytes()),
            Form::Diagram(form) => self.once(form, form.bytes()),
            #[cfg(feature = "roaring")]
            Form::Roaring(form) => self.once(form, form.bytes()),
            Form::Complement(form) => {
                self.once(form, 0);
                self.heap(&form.of);
            }
            Form::Composition(form) => {
                self.once(form, 0);
                self.heap(&form.outer);
                self.heap(&form.inner);
            }
            Form::Concatenation(form) => {
                self.once(form, form.bytes());
                form.parts().iter().for_each(|part| self.heap(part));
            }
        }
    }

    fn once<T>(&mut self, shared: &Arc<T>, heap: usize) {
        if self.seen.insert(Arc::as_ptr(shared).addr()) {
            self.bytes += COUNTERS + size_of::<T>() + heap;
        }
    }
}
