//! Counting at an end of a channel: the bytes that are read, where a run is profiled, and the tokens, where it is traced.

use std::any::{Any, TypeId};
use std::cell::Cell;
use std::collections::HashMap;

use super::credits::Credits;
use graphmap_executor::exec::current;
use graphmap_executor::exec::statistics::Recorder;
use graphmap_executor::payload::Format;
use graphmap_executor::trace::Way;

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

/// What has to be done for each token at an end of a channel.
///
/// An input of a run that is neither profiled nor traced, whose writer is in the same OS process, has none and pays
/// nothing for it: its end has no mark, which it has to look for anyway. An output has one where a run is traced.
pub(crate) struct Meter<T> {
    /// For a writer in another OS process.
    credits: Option<Credits>,
    counts: Option<Counts<T>>,
}

/// What is counted at an end.
pub(crate) struct Counts<T> {
    /// Of types that are counted in bytes, where the run is profiled.
    pub(crate) format: Option<Format<T>>,
    pub(crate) bytes: Cell<u64>,
    /// How many tokens there were before the next, where the run is traced: both ends count alike.
    pub(crate) tokens: Option<Cell<u64>>,
    /// The channel and the run: a port may be moved to another.
    pub(crate) number: u32,
    pub(crate) run: u64,
}

impl<T> Counts<T> {
    /// For the reader of a channel; none if nothing is to be counted.
    pub(crate) fn of_reader(
        format: Option<Format<T>>,
        traced: bool,
        number: u32,
        run: u64,
    ) -> Option<Self> {
        (format.is_some() || traced).then(|| Counts {
            format,
            bytes: Cell::new(0),
            tokens: traced.then(Cell::default),
            number,
            run,
        })
    }

    /// For the writer of a channel of a traced run, with so many tokens in it.
    pub(crate) fn of_writer(initial: u32, number: u32, run: u64) -> Self {
        Counts {
            format: None,
            bytes: Cell::new(0),
            tokens: Some(Cell::new(u64::from(initial))),
            number,
            run,
        }
    }

    fn recorder(&self, tell: impl FnOnce(&Recorder)) {
        current::with_run(self.run, |scheduler| scheduler.recorder().map(tell));
    }

    fn message(&self, way: Way) {
        if let Some(tokens) = &self.tokens {
            let ordinal = tokens.replace(tokens.get() + 1);
            self.recorder(|recorder| recorder.message(way, self.number, ordinal));
        }
    }
}

impl<T> Meter<T> {
    pub(crate) fn new(credits: Option<Credits>, counts: Option<Counts<T>>) -> Self {
        Meter { credits, counts }
    }

    /// Counts a token that was read. To measure it is code of the user, which may do anything but use this input.
    #[inline]
    pub(crate) fn count(&self, token: &T) {
        if let Some(credits) = &self.credits {
            credits.taken();
        }
        if let Some(counts) = &self.counts {
            counts.message(Way::Read);
            if let Some(format) = &counts.format {
                let bytes = (format.size)(token) as u64;
                counts.bytes.set(counts.bytes.get().saturating_add(bytes));
            }
        }
    }

    /// Counts a token that was written, or left in the rendezvous slot.
    pub(crate) fn count_written(&self) {
        if let Some(counts) = &self.counts {
            counts.message(Way::Write);
        }
    }

    /// The last token was taken back: the next has its number.
    pub(crate) fn take_back(&self) {
        let tokens = self
            .counts
            .as_ref()
            .and_then(|counts| counts.tokens.as_ref());
        if let Some(tokens) = tokens {
            tokens.set(tokens.get().saturating_sub(1));
        }
    }

    /// Who has its turn is going to wait here.
    #[inline(never)]
    pub(crate) fn waits(&self, way: Way) {
        if let Some(counts) = &self.counts
            && counts.tokens.is_some()
        {
            counts.recorder(|recorder| recorder.waits(way, counts.number));
        }
    }
}

impl<T> Drop for Counts<T> {
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
