//! What maps take in memory, what they share counted once.

use std::collections::HashSet;
use std::sync::Arc;

use crate::map::{Form, RankMap};

/// Adds up the bytes of maps; what several of them share is counted once.
///
/// ```
/// use graphmap_rankmap::{Memory, RankMap};
///
/// let some = RankMap::from_slice(&[3, 17, 4, 29, 100])?;
/// let mut memory = Memory::new();
/// memory.add(&some);
/// let alone = memory.bytes();
/// memory.add(&some.clone());
/// assert_eq!(memory.bytes(), alone + size_of::<RankMap>());
/// # Ok::<(), graphmap_rankmap::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Memory {
    bytes: usize,
    seen: HashSet<usize>,
}

/// The two counters in front of what an [`Arc`] shares.
const COUNTERS: usize = 2 * size_of::<usize>();

impl RankMap {
    /// The bytes that this map takes, those that it shares with others included.
    ///
    /// Cost: one look at each map that it is made of. Source: own.
    pub fn bytes(&self) -> usize {
        let mut memory = Memory::new();
        memory.add(self);
        memory.bytes()
    }
}

impl Memory {
    /// Nothing so far.
    ///
    /// Cost: constant time. Source: own.
    pub fn new() -> Self {
        Memory::default()
    }

    /// Adds a map: itself, and what it has on the heap unless that is counted already.
    ///
    /// Cost: one look at each map that it is made of, in a hash set. Source: own.
    pub fn add(&mut self, map: &RankMap) {
        self.bytes += size_of::<RankMap>();
        self.heap(map);
    }

    /// The bytes of all maps added so far.
    ///
    /// Cost: constant time. Source: own.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

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
