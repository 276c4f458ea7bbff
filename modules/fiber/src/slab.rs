//! Many stacks in one mapping.

use std::io;
use std::ptr;

use corosensei::stack::valgrind::ValgrindStackRegistration;

use crate::budget::Share;
use crate::options::Guard;
use crate::registry::{self, Entry};
use crate::shape::Shape;
use crate::system::Mapping;

/// Many stacks in one mapping, of which some are in use.
#[derive(Debug)]
pub(crate) struct Slab {
    shape: Shape,
    /// The stacks that were used and are free.
    free: Vec<u32>,
    /// What guards the stacks that have been used; the others never were.
    guards: Vec<Guard>,
    /// Tells valgrind, if this runs on it, that these are stacks.
    known: Vec<ValgrindStackRegistration>,
    /// How many stacks there are.
    stacks: u32,
    entry: &'static Entry,
    /// Given back after the mapping.
    mapping: Mapping,
    share: Share,
}

impl Slab {
    /// So many stacks at most, and fewer where there is not room for as many.
    pub(crate) fn new(shape: Shape, most: u32) -> io::Result<Slab> {
        let mut stacks = most.max(1);
        let mapping = loop {
            let len = shape.stride.checked_mul(stacks as usize);
            let mapping = len.map(Mapping::reserve);
            match mapping.unwrap_or_else(|| Err(io::ErrorKind::OutOfMemory.into())) {
                Ok(mapping) => break mapping,
                Err(error) if stacks == 1 => return Err(error),
                Err(_) => stacks /= 2,
            }
        };
        Ok(Slab {
            shape,
            free: Vec::new(),
            guards: Vec::new(),
            known: Vec::new(),
            stacks,
            entry: registry::list(mapping.start(), mapping.len(), shape),
            mapping,
            share: Share::none(),
        })
    }

    /// A stack that is free, with one of these guards, the one that was used last, if there is one: by its number.
    pub(crate) fn take(&mut self, guards: &[Guard]) -> io::Result<Option<u32>> {
        if let Some(number) = self.free.pop() {
            return Ok(Some(number));
        }
        let number = self.guards.len();
        if number == self.stacks as usize {
            return Ok(None);
        }
        let mut failed = io::ErrorKind::Unsupported.into();
        for guard in guards {
            match self.guard(number, *guard) {
                Ok(()) => {
                    self.guards.push(*guard);
                    self.known.push(self.make_known(number));
                    return Ok(Some(number as u32));
                }
                Err(error) => failed = error,
            }
        }
        Err(failed)
    }

    fn make_known(&self, number: usize) -> ValgrindStackRegistration {
        let from = self.shape.limit(number) + self.shape.guard;
        let first = ptr::with_exposed_provenance_mut(self.start() + from);
        ValgrindStackRegistration::new(first, self.shape.stride - self.shape.guard)
    }

    fn guard(&mut self, number: usize, guard: Guard) -> io::Result<()> {
        let (from, len) = (self.shape.limit(number), self.shape.guard);
        match guard {
            // SAFETY: nobody has used the stack yet.
            Guard::Marker => unsafe { self.mapping.install_guard(from, len) },
            Guard::Protection => {
                if !self.share.add() {
                    return Err(io::ErrorKind::OutOfMemory.into());
                }
                // SAFETY: as above.
                let done = unsafe { self.mapping.protect(from, len) };
                if done.is_err() {
                    self.share.spent();
                }
                done
            }
            // It is zero: nobody has touched it.
            Guard::Canary => Ok(()),
        }
    }

    /// A stack is free again.
    pub(crate) fn give_back(&mut self, number: u32) {
        self.free.push(number);
    }

    /// What guards a stack that was taken.
    pub(crate) fn guarded_by(&self, number: u32) -> Guard {
        self.guards[number as usize]
    }

    /// Whether no stack is to be had, none in use.
    pub(crate) fn is_full(&self) -> bool {
        self.free.is_empty() && self.guards.len() == self.stacks as usize
    }

    /// Whether no stack is in use.
    pub(crate) fn is_empty(&self) -> bool {
        self.free.len() == self.guards.len()
    }

    /// Address space.
    pub(crate) fn bytes(&self) -> usize {
        self.mapping.len()
    }

    /// Where this stack's slab begins.
    pub(crate) fn start(&self) -> usize {
        self.mapping.start()
    }

    /// Gives back the memory of stacks that are free.
    pub(crate) fn trim(&mut self) -> io::Result<()> {
        for number in &self.free {
            let from = self.shape.limit(*number as usize) + self.shape.guard;
            // SAFETY: nobody uses the stack.
            unsafe {
                self.mapping
                    .discard(from, self.shape.stride - self.shape.guard)?;
            }
        }
        Ok(())
    }
}

impl Drop for Slab {
    fn drop(&mut self) {
        self.known.clear();
        self.entry.unlist();
    }
}
