//! Counting the bytes that are read from a channel, where a run is profiled.

use std::any::{Any, TypeId};
use std::cell::Cell;
use std::collections::HashMap;

use super::end::End;
use super::far::Credits;
use crate::exec::current;
use crate::payload::Format;

/// The formats of the types of a network that have one.
#[derive(Default)]
pub(crate) struct Formats(HashMap<TypeId, Box<dyn Any + Send + Sync>>);

impl Formats {
    pub(crate) fn insert<T: 'static>(&mut self, format: Format<T>) {
        self.0.insert(TypeId::of::<T>(), Box::new(format));
    }

    pub(crate) fn get<T: 'static>(&self) -> Option<Format<T>> {
        self.0
            .get(&TypeId::of::<T>())?
            .downcast_ref::<Format<T>>()
            .copied()
    }

    pub(crate) fn has(&self, token: TypeId) -> bool {
        self.0.contains_key(&token)
    }
}

/// What an input has in place of its end: the end, and what has to be done for each token that is read.
///
/// An input of a run that is not profiled, whose writer is in the same OS process, has none and pays
/// nothing for it: its end has no mark, which it has to look for anyway.
pub(crate) struct Meter<T> {
    pub(crate) end: End<T>,
    /// Of types that are counted in bytes.
    format: Option<Format<T>>,
    /// For a writer in another OS process.
    credits: Option<Credits>,
    bytes: Cell<u64>,
    /// The channel and the run: an input may be moved to another.
    number: u32,
    run: u64,
}

impl<T> Meter<T> {
    pub(crate) fn new(
        end: End<T>,
        format: Option<Format<T>>,
        credits: Option<Credits>,
        number: u32,
        run: u64,
    ) -> Self {
        Meter {
            end,
            format,
            credits,
            bytes: Cell::new(0),
            number,
            run,
        }
    }

    /// Counts a token. To measure it is code of the user, which may do anything but use this input.
    #[inline]
    pub(crate) fn count(&self, token: &T) {
        if let Some(credits) = &self.credits {
            credits.taken();
        }
        if let Some(format) = &self.format {
            let bytes = (format.size)(token) as u64;
            self.bytes.set(self.bytes.get().saturating_add(bytes));
        }
    }
}

impl<T> Drop for Meter<T> {
    fn drop(&mut self) {
        if self.format.is_none() {
            return;
        }
        current::with_run(self.run, |scheduler| {
            let mut tally = scheduler.tally().borrow_mut();
            tally.bytes.push((self.number, self.bytes.get()));
        });
    }
}
