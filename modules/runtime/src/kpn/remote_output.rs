//! The writing end of a channel to a process of another OS process.
//!
//! It sends tokens as bytes, each for one credit. At first it has as many credits as the capacity,
//! and the reader gives them back. The reading end is in `remote_input.rs`.

use std::any::Any;
use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::channel::Put;
use graphmap_executor::exec::between_polls::send_leave;
use graphmap_executor::exec::current;
use graphmap_executor::exec::frames::{CLOSE, Remote, RemoteWriter};
use graphmap_executor::exec::hooks::Owner;
use graphmap_executor::exec::hooks::Side;
use graphmap_executor::exec::scheduler::Scheduler;
use graphmap_executor::link::waiter::{ARMED, GONE, REMOTE, is_hooked, waits};
use graphmap_executor::payload::encoder::LARGE;
use graphmap_executor::payload::gather::Slice;
use graphmap_executor::payload::remote::RemoteSlice;
use graphmap_executor::payload::sliced::SlicedMessage;
use graphmap_executor::payload::{Encoder, Format};
use graphmap_executor::placement::SchedulerId;

/// Output whose reader is in another OS process.
pub(crate) struct RemoteOutput<T> {
    writer: Arc<RemoteWriter>,
    remote: Rc<Remote>,
    format: Format<T>,
    lend: Lend<T>,
    sent: Cell<u64>,
    run: u64,
}

/// Boxed token, and its bytes. Instead of large slices, the bytes contain their addresses and
/// lengths.
type Exposed = (Box<dyn Any>, Vec<u8>);

/// Functions that keep a token while its large slices are read or sent. They need `T: 'static`, so
/// they are set when the output is created.
struct Lend<T> {
    expose: fn(T, Format<T>) -> Exposed,
    slice: fn(T, Format<T>, u32, usize) -> Result<SlicedMessage, T>,
}

impl<T: 'static> Lend<T> {
    fn new() -> Self {
        Lend {
            expose,
            slice: SlicedMessage::new,
        }
    }
}

fn expose<T: 'static>(token: T, format: Format<T>) -> Exposed {
    let token = Box::new(token);
    let (bytes, left) = format.slices(&token, LARGE);
    let mut before = 0;
    let slice = |slice: Slice<'_>| RemoteSlice {
        gap: slice.copied - std::mem::replace(&mut before, slice.copied),
        address: slice.bytes.as_ptr().expose_provenance() as u64,
        len: slice.bytes.len(),
        align: slice.align,
    };
    let slices: Vec<_> = left.into_iter().map(slice).collect();
    let bytes = Encoder::to_vec(&(slices, bytes));
    (token, bytes)
}

impl<T: 'static> RemoteOutput<T> {
    pub(crate) fn new(
        number: u32,
        peer: SchedulerId,
        capacity: u32,
        scheduler: &Scheduler,
        remote: &Rc<Remote>,
        format: Format<T>,
    ) -> Self {
        let writer = remote.add_writer(peer, |index| {
            RemoteWriter::new(number, peer, index, capacity)
        });
        let end = Arc::clone(&writer);
        let slot = scheduler.registry().add_cross(number, Side::Write, end);
        writer.slot.store(slot, Ordering::Relaxed);
        RemoteOutput {
            writer,
            remote: Rc::clone(remote),
            format,
            lend: Lend::new(),
            sent: Cell::new(0),
            run: scheduler.run(),
        }
    }
}

impl<T> RemoteOutput<T> {
    /// Returns the number of the channel in its run.
    pub(crate) fn channel(&self) -> u32 {
        self.writer.number
    }

    /// Returns the number of the channel, if the channel belongs to the run with number `run`.
    /// Returns `None` otherwise.
    pub(crate) fn number(&self, run: u64) -> Option<u32> {
        (self.run == run).then_some(self.writer.number)
    }

    /// Sends a token. Returns it in [`Put::Full`] if there is no credit, or in [`Put::Stopped`] if
    /// the reader has left. Does not block.
    pub(crate) fn put(&self, token: T) -> Put<T> {
        if self.writer.reader_has_left() {
            current::left_early(|_| Some(self.writer.number));
            return Put::Stopped(token);
        }
        if !self.writer.has_room() {
            return Put::Full(token);
        }
        if !self.send(&token) {
            self.lend(token);
        }
        Put::Done
    }

    /// Returns true if a token can be sent now: there is credit, and the reader has not left.
    #[inline]
    pub(crate) fn has_room(&self) -> bool {
        self.writer.has_room() && !self.writer.reader_has_left()
    }

    /// Sends a token. There must be space for it. Returns false if the token was not sent and must
    /// be [lent](RemoteOutput::lend).
    #[inline]
    pub(crate) fn send(&self, token: &T) -> bool {
        self.send_to(token, &[])
    }

    /// Sends a token as [`RemoteOutput::send`] does, also to the readers of `also`, which share the
    /// scheduler of this one's reader. Returns false, without a send to any of them, if the token
    /// must be [lent](RemoteOutput::lend_to).
    #[inline(always)]
    pub(crate) fn send_to(&self, token: &T, also: &[&Self]) -> bool {
        // Encoding is user code, which may do anything except use this end.
        let buffer = self.remote.buffer();
        let bytes = match self.format.is_small {
            true => self.format.bytes_into(token, buffer),
            false => match self
                .format
                .gather(token, buffer, self.remote.longest_slice() > 0)
            {
                Ok(gather) => {
                    self.spend(also);
                    self.remote.send_gathered(&self.writer, gather);
                    return true;
                }
                Err(buffer) => {
                    self.remote.keep(buffer);
                    return false;
                }
            },
        };
        self.spend(also);
        self.remote.send_token(&self.writer, bytes);
        true
    }

    /// Spends one credit of this output and of each in `also`, before a token is sent.
    #[inline(always)]
    fn spend(&self, also: &[&Self]) {
        for output in [self].iter().chain(also) {
            output.writer.spend();
            output.sent.set(output.sent.get() + 1);
        }
        if !also.is_empty() {
            let readers: Vec<u32> = also.iter().map(|output| output.writer.index).collect();
            self.remote.send_also(self.writer.peer, &readers);
        }
    }

    /// Sends a token, if possible without a copy of its large slices. There must be space for it.
    /// The token is then kept until they are sent, or until the reader has read them.
    #[cold]
    pub(crate) fn lend(&self, token: T) {
        self.lend_to(token, &[]);
    }

    /// Sends a token as [`RemoteOutput::lend`] does, also to the readers of `also`.
    pub(crate) fn lend_to(&self, token: T, also: &[&Self]) {
        // In each case, user code runs before credit is spent.
        if self.remote.has_access(self.writer.peer) {
            let (token, bytes) = (self.lend.expose)(token, self.format);
            self.spend(also);
            self.remote.send_exposed(&self.writer, token, &bytes);
            return;
        }
        let longest = self.remote.longest_slice();
        match (self.lend.slice)(token, self.format, self.writer.number, longest) {
            Ok(message) => {
                self.spend(also);
                self.remote.send_sliced(&self.writer, message);
            }
            Err(token) => {
                let bytes = self.format.bytes_into(&token, self.remote.buffer());
                self.spend(also);
                self.remote.send_token(&self.writer, bytes);
            }
        }
    }

    /// Returns the scheduler of the reader.
    pub(crate) fn peer(&self) -> SchedulerId {
        self.writer.peer
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.writer.reader_has_left()
    }

    /// Arms a wait by the state word `word`. Returns false if the reader has left already, or if
    /// there is space and `word` waits for space.
    ///
    /// # Panics
    /// Panics if `scheduler` is not of the channel's run.
    pub(crate) fn arm(&self, scheduler: &Scheduler, word: u32) -> bool {
        assert!(
            scheduler.run() == self.run,
            "a process of a nested run cannot wait at a port of the outer run whose other end is \
             in another OS process"
        );
        let changed = self.is_stopped() || (word & ARMED != 0 && self.writer.has_room());
        if !changed {
            self.writer.set_word(word);
            self.touch();
        }
        !changed
    }

    /// Arms a wait by the state word `word`, as [`RemoteOutput::arm`] does, and returns true. If
    /// the process need not wait, frees the hook that was made for it, and returns false.
    ///
    /// # Panics
    /// Panics if `scheduler` is not of the channel's run.
    pub(crate) fn wait(&self, scheduler: &Scheduler, word: u32) -> bool {
        let waits = self.arm(scheduler, word);
        if !waits {
            self.unhook(word);
            self.writer.set_word(REMOTE);
        }
        waits
    }

    /// Returns the key by which the hook of a foreign waker identifies the state word.
    pub(crate) fn owner(&self) -> Owner {
        Arc::as_ptr(&self.writer).addr()
    }

    pub(crate) fn word(&self) -> u32 {
        self.writer.word()
    }

    /// Cancels the wait at this end, if there is one.
    pub(crate) fn disarm(&self) {
        let word = self.writer.word();
        if waits(word) {
            self.unhook(word);
            self.writer.set_word(REMOTE);
            self.touch();
        }
    }

    fn unhook(&self, word: u32) {
        if is_hooked(word) {
            current::with_run(self.run, |scheduler| scheduler.unhook(word, self.owner()));
        }
    }

    fn touch(&self) {
        current::with_run(self.run, |scheduler| {
            let slot = self.writer.slot.load(Ordering::Relaxed);
            scheduler.registry().touch_cross(slot);
        });
    }
}

impl<T> Drop for RemoteOutput<T> {
    fn drop(&mut self) {
        let RemoteWriter { index, peer, .. } = *self.writer;
        self.unhook(self.writer.word());
        self.writer.set_word(GONE);
        self.remote.remove_writer(&self.writer);
        send_leave(&self.remote, peer, CLOSE, index);
        current::with_run(self.run, |scheduler| {
            let slot = self.writer.slot.load(Ordering::Relaxed);
            scheduler.registry().remove_cross(slot);
            let mut statistics = scheduler.statistics().borrow_mut();
            *statistics.sent_by.entry(scheduler.number().0).or_default() += self.sent.get();
        });
    }
}
