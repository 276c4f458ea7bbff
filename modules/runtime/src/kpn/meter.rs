//! Counters at an end of a channel: bytes read in a profiled run, and tokens in a traced run.

use std::any::{Any, TypeId};
use std::cell::Cell;
use std::collections::HashMap;

use super::credits::Credits;
use graphmap_executor::exec::current;
use graphmap_executor::exec::statistics::Recorder;
use graphmap_executor::payload::Format;
use graphmap_executor::trace::Way;

/// The formats of the token types of a network that have one.
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

/// The work for each token at an end of a channel.
///
/// An input has a meter only if the run is profiled or traced, or if the writer is in another OS
/// process. An output has one only if the run is traced. An end without a meter has no overhead,
/// because its mark must be checked anyway.
pub(crate) struct Meter<T> {
    /// Credits for the writer, if it is in another OS process.
    credits: Option<Credits>,
    counts: Option<Counts<T>>,
}

/// Counters of an end.
pub(crate) struct Counts<T> {
    /// Format to count bytes with, if the run is profiled and the type has a format.
    pub(crate) format: Option<Format<T>>,
    pub(crate) bytes: Cell<u64>,
    /// Ordinal of the next token, if the run is traced. Both ends count in the same way.
    pub(crate) tokens: Option<Cell<u64>>,
    /// Number of the channel. It is stored with the run, because a port may move to another run.
    pub(crate) number: u32,
    pub(crate) run: u64,
}

impl<T> Counts<T> {
    /// Creates counters for a reader. Returns `None` if there is nothing to count: no format, and
    /// the run is not traced. `number` is the number of the channel.
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

    /// Creates counters for a writer in a traced run. `initial` is the number of initial tokens.
    pub(crate) fn of_writer(initial: u32, number: u32, run: u64) -> Self {
        Counts {
            format: None,
            bytes: Cell::new(0),
            tokens: Some(Cell::new(u64::from(initial))),
            number,
            run,
        }
    }

    fn recorder(&self, record: impl FnOnce(&Recorder)) {
        current::with_run(self.run, |scheduler| scheduler.recorder().map(record));
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

    /// Counts a token that was read, as far as this meter does: gives credit to the writer, records
    /// the message, and adds the size of the token. Measuring its size is user code, which may do
    /// anything except use this input.
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

    /// Counts a token that was written or put into the rendezvous slot, if the run is traced.
    pub(crate) fn count_written(&self) {
        if let Some(counts) = &self.counts {
            counts.message(Way::Write);
        }
    }

    /// Withdraws the last token from the count, so that the next token gets its ordinal.
    pub(crate) fn take_back(&self) {
        let tokens = self
            .counts
            .as_ref()
            .and_then(|counts| counts.tokens.as_ref());
        if let Some(tokens) = tokens {
            tokens.set(tokens.get().saturating_sub(1));
        }
    }

    /// Records that the polled process is going to wait at this end, if the run is traced.
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
            let mut statistics = scheduler.statistics().borrow_mut();
            statistics.bytes.push((self.number, self.bytes.get()));
        });
    }
}
