//! The meeting of the schedulers of all OS processes of a run about a standstill: each tells the first what it knows,
//! and the first decides for all.

use std::any::Any;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::current;
use super::floor::ABOVE;
use super::guard;
use super::outside::{
    ALSO, CLOSE, CREDIT, DATA, DATA_AND_CREDIT, EXPOSED, FarReader, LEFT, Mail, Outside, READ,
    SLICED, TALLY, TOLD, VERDICT,
};
use super::report;
use super::scheduler::Scheduler;
use super::shared::{Told, Verdict};
use super::side::Side;
use super::waits::{Grow, Update, Wait};
use crate::error::RunError;
use crate::link::between::{Header, RunState};
use crate::payload::{Decoder, Encoder};
use crate::placement::SchedulerId;

crate::payload!(
    enum Side {
        Read,
        Write,
    }
);
crate::payload!(Wait {
    rank,
    peer,
    hint,
    stop,
    capacity
});
crate::payload!(Update { number, side, wait });
crate::payload!(Told {
    live,
    moved,
    foreign,
    updates,
    ended,
    ranks,
    above,
    calls
});
crate::payload!(Grow { number, capacity });

/// Most frames that are taken before processes run.
const FRAMES: usize = 1024;

/// How often a run within another looks whether there is room for what that one sends.
const ROOM: Duration = Duration::from_micros(100);

/// Verdicts as numbers, with the channels that grow.
const RESUME: u8 = 0;
const CENSUS: u8 = 1;
const WAIT: u8 = 2;
const END: u8 = 3;

impl Scheduler {
    /// Does what the process whose turn it was has deferred: to wake others, to get frames on their way.
    /// The next may compute for long.
    #[inline(always)]
    pub(super) fn flush_deferred(&self) {
        if self.deferred.is_pending() {
            self.flush_deferred_now();
        }
    }

    #[inline(never)]
    fn flush_deferred_now(&self) {
        self.deferred.flush();
        if self.close_left() {
            // Where tokens are dropped, others may have been read and written.
            self.deferred.flush();
        }
        // Who has failed tells that first: others would fail, too, of ends of channels that it has closed.
        if let Some(outside) = &self.outside
            && !self.core.shared.stopped()
        {
            outside.flush();
        }
        if !self.outer.get().is_null() {
            self.flush_around();
        }
    }

    /// Sends what ports of the runs around this one have for other OS processes, as far as there is room; false: this one is not
    /// to sleep yet.
    #[cold]
    fn flush_around(&self) -> bool {
        let flushed = current::flush_around(self);
        if !flushed {
            self.deferred.note();
        }
        flushed
    }

    /// Called before this scheduler sleeps: exchanges with other OS processes for the runs around it that have frames for which there
    /// is no room, or values to drop when they have been sent, and waits a little. Returns true if it did.
    pub(super) fn waits_for_room_around(&self) -> bool {
        !self.outer.get().is_null() && self.waits_around()
    }

    #[cold]
    fn waits_around(&self) -> bool {
        let flushed = self.flush_around();
        let exchanges = current::exchange_around(self);
        if exchanges {
            // Values that were dropped may have had ends of channels.
            self.flush_deferred();
        }
        // A decoder may have started this run. Then nothing is received before the run ends, so this scheduler must not wait for room:
        // the other OS process may be waiting in the same way. Only code outside of the run can depend on the frames.
        let waits = exchanges || !flushed && self.core.shared.has_foreign_wakers();
        if waits && self.queue.is_empty() {
            thread::sleep(ROOM);
        }
        waits
    }

    /// Takes what has come from other OS processes, and sends what waits; whether something came.
    pub(super) fn exchange(&self) -> bool {
        match &self.outside {
            Some(outside) => self.exchange_with(outside),
            None => false,
        }
    }

    #[inline(never)]
    pub(super) fn exchange_with(&self, outside: &Outside) -> bool {
        outside.send_credit_at_times();
        outside.flush();
        let was_exchanging = outside.is_exchanging.replace(true);
        self.drop_sent(outside);
        let mut came = false;
        if outside.is_ready() {
            // To read a payload is code of the user. If it panics the run is over, and the rest is of no use.
            self.guarded(|| {
                match outside.receive(FRAMES, |from, header, bytes| {
                    came = true;
                    self.take(outside, from, header, bytes);
                }) {
                    Ok(count) => came |= count > 0,
                    Err(why) => self.core.shared.fail(None, why),
                }
            });
        }
        outside.is_exchanging.set(was_exchanging);
        if outside.state() != RunState::Running {
            self.core.shared.halt();
        }
        came
    }

    fn take(&self, outside: &Outside, from: usize, header: Header, bytes: &[u8]) {
        match header.kind {
            DATA | DATA_AND_CREDIT => {
                let (bytes, credit) = match header.kind {
                    DATA => (bytes, None),
                    _ => self.split_credit(from, bytes),
                };
                if let Some(reader) = outside.reader(from, header.number) {
                    self.deliver(&*reader, |reader| reader.deliver(bytes));
                }
                for reader in outside.take_also(from) {
                    if let Some(reader) = outside.reader(from, reader) {
                        self.deliver(&*reader, |reader| reader.deliver(bytes));
                    }
                }
                // Behind the token, so that to wait for its last line is not to wait for its first.
                if let Some(credit) = credit {
                    let number = u32::from_ne_bytes(*credit);
                    if let Some(id) = outside.take_notice(from, Header { number, ..header }) {
                        self.wake(id);
                    }
                }
            }
            EXPOSED => {
                let readers = outside.take_also(from);
                for reader in [header.number].into_iter().chain(readers) {
                    if let Some(reader) = outside.reader(from, reader) {
                        let memory = outside.memory_of(from);
                        self.deliver(&*reader, |reader| reader.deliver_slices(bytes, &memory));
                    }
                }
                outside.send(SchedulerId(from as u32), READ, header.extra, 0, &[]);
            }
            SLICED => self.take_sliced(outside, from, header.number),
            ALSO => outside.is_also_for(from, bytes),
            READ => {
                if let Some((channel, token)) = outside.was_read(header.number) {
                    self.drop_token(channel, token);
                }
                // It may have had ends of channels.
                self.deferred.flush();
            }
            CLOSE => drop(outside.remove_reader(from, header.number)),
            CREDIT | LEFT => {
                if let Some(id) = outside.take_notice(from, header) {
                    self.wake(id);
                }
            }
            TOLD | VERDICT | TALLY => {
                let (kind, bytes) = (header.kind, bytes.to_vec());
                let mail = Mail { from, kind, bytes };
                outside.mail.borrow_mut().push_back(mail);
            }
            above if above >= ABOVE => self.take_frame(from as u32, header, bytes),
            _ => {}
        }
    }

    /// The bytes of a token, and the channel that gets the credit that came with it.
    #[inline]
    fn split_credit<'a>(&self, from: usize, bytes: &'a [u8]) -> (&'a [u8], Option<&'a [u8; 4]>) {
        if let Some((token, channel)) = bytes.split_last_chunk() {
            return (token, Some(channel));
        }
        let who = self.core.shared.os_process_of(SchedulerId(from as u32));
        let why = format!(
            "a token that came from OS process {who} ends before the credit it is to bring"
        );
        self.core.shared.fail(None, why);
        (bytes, None)
    }

    /// A token whose slices have been received: the last of its readers gets their memory.
    #[cold]
    fn take_sliced(&self, outside: &Outside, from: usize, reader: u32) {
        let Some(slices) = outside.take_slices() else {
            let who = self.core.shared.os_process_of(SchedulerId(from as u32));
            let why = format!("a token that came from OS process {who} has none of its slices");
            return self.core.shared.fail(None, why);
        };
        let also = outside.take_also(from);
        let readers = also.into_iter().chain([reader]);
        let mut readers = readers
            .filter_map(|reader| outside.reader(from, reader))
            .peekable();
        while let Some(reader) = readers.next() {
            if readers.peek().is_none() {
                slices.is_read_for_the_last_time();
            }
            self.deliver(&*reader, |reader| {
                reader.deliver_slices(slices.told(), &slices)
            });
        }
    }

    /// Drops tokens of which all has been sent.
    #[inline]
    fn drop_sent(&self, outside: &Outside) {
        while let Some((channel, token)) = outside.take_sent() {
            self.drop_token(channel, token);
            // It may have had ends of channels.
            self.deferred.flush();
        }
    }

    /// Has a token delivered, which is to be read: code of the user.
    #[inline]
    fn deliver(
        &self,
        reader: &dyn FarReader,
        deliver: impl FnOnce(&dyn FarReader) -> Result<(), String>,
    ) {
        let mut read = Ok(());
        if let Err(panic) = guard::caught(|| read = deliver(reader)) {
            read = Err(format!("cannot be read: panicked: {panic}"));
        }
        if let Err(why) = read {
            self.fail_to_read(reader, &why);
        }
    }

    /// Drops a token of a channel that starts here, which its reader has read: code of the user.
    pub(super) fn drop_token(&self, channel: u32, token: Box<dyn Any>) {
        let Err(panic) = guard::caught(|| drop(token)) else {
            return;
        };
        let directory = self.directory();
        let process = directory.peers(channel).0.map(|rank| {
            let (kind, index) = directory.of_rank(rank);
            directory.process(kind, index)
        });
        let channel = report::channel(directory, channel);
        let message =
            format!("a token that went over {channel} panicked when it was dropped: {panic}");
        self.core.shared.fail(process, message);
    }

    /// A token has come that is none: the run fails at its reader.
    #[cold]
    fn fail_to_read(&self, reader: &dyn FarReader, why: &str) {
        let (directory, number) = (self.directory(), reader.number());
        let process = directory.peers(number).1.map(|rank| {
            let (kind, index) = directory.of_rank(rank);
            directory.process(kind, index)
        });
        let (token, channel) = (reader.token(), report::channel(directory, number));
        let message = format!("a token of type {token} that came over {channel} {why}");
        self.core.shared.fail(process, message);
    }

    /// Whether a meeting is on that this one was not at: it goes there now.
    pub(super) fn is_called(&self, outside: &Outside) -> bool {
        let called = outside.is_called();
        outside
            .met
            .set(outside.link().meeting().unwrap_or(outside.met.get()));
        called
    }

    /// Goes to a meeting that is on, also with something to do, as who was woken from outside of the network when it had just been called: the
    /// others wait there, and what there is to do may be to look for what they would send.
    #[inline]
    pub(super) fn meet_if_called(&self) -> Option<Verdict> {
        let outside = self.outside.as_ref()?;
        outside.is_called().then(|| self.go_to_meeting(outside))
    }

    #[cold]
    fn go_to_meeting(&self, outside: &Outside) -> Verdict {
        // No word tells of waits that are polled.
        self.polled.arm(|id| self.wake(id));
        if self.ran.get() {
            outside.moved.set(true);
        }
        self.is_called(outside);
        self.standstill()
    }

    /// Sleeps until something comes, or a standstill is to be told as `quiet`, or meets the other OS processes. `ran`: something has run
    /// since the last time.
    pub(super) fn sleep_among(
        &self,
        outside: &Outside,
        ran: bool,
        quiet: Option<Instant>,
    ) -> Option<Verdict> {
        if ran {
            outside.moved.set(true);
        }
        if self.is_called(outside) {
            return Some(self.standstill());
        }
        let shared = &*self.core.shared;
        self.tally.borrow_mut().sleeps += 1;
        outside.moved.set(false);
        let at_most = quiet.map(|at| at.saturating_duration_since(Instant::now()));
        let stay = || {
            let inbox = shared.inbox(self.index());
            inbox.is_filled()
                || shared.stopped()
                || outside.is_called()
                || outside.state() != RunState::Running
        };
        outside.sleep(stay, at_most);
        quiet.filter(|at| *at <= Instant::now()).map(|_| {
            shared.ask();
            Verdict::Wait(None)
        })
    }

    /// Tells the first, and does what that decides.
    pub(super) fn meet(&self, told: Told) -> Verdict {
        match &self.outside {
            None => self.core.shared.meet(told),
            Some(outside) if outside.link().me() == 0 => self.lead(outside, told),
            Some(outside) => self.follow(outside, &told),
        }
    }

    /// The run is over: if it fails, and that is known here, all others are told why.
    pub(super) fn announce(&self) {
        let Some(outside) = &self.outside else { return };
        match self.core.shared.failure() {
            // The first has found that, and tells it when all have ended.
            None | Some(RunError::Blocked(_) | RunError::Memory(_)) => {}
            Some(error) => outside.link().fail(&error.to_cause()),
        }
    }

    fn follow(&self, outside: &Outside, told: &Told) -> Verdict {
        outside.send(SchedulerId::LEADER, TOLD, 0, 0, &Encoder::to_vec(told));
        let Some(message) = self.next_mail(outside) else {
            return Verdict::End;
        };
        match Decoder::from_slice::<(u8, Vec<Grow>)>(&message.bytes) {
            Ok((RESUME, grow)) => Verdict::Resume(grow.into()),
            Ok((CENSUS, _)) => Verdict::Census,
            Ok((WAIT, _)) => Verdict::Wait(None),
            _ => {
                self.core.shared.halt();
                Verdict::End
            }
        }
    }

    fn lead(&self, outside: &Outside, mut told: Told) -> Verdict {
        for _ in 1..outside.link().count() {
            let Some(message) = self.next_mail(outside) else {
                return Verdict::End;
            };
            match Decoder::from_slice::<Told>(&message.bytes) {
                Ok(other) => told.join(other),
                Err(error) => {
                    let from = self
                        .core
                        .shared
                        .os_process_of(SchedulerId(message.from as u32));
                    let why = format!("what OS process {from} knows of waits is garbled: {error}");
                    self.core.shared.fail(None, why);
                    return Verdict::End;
                }
            }
        }
        let verdict = self.core.shared.decide_for_all(told);
        let none: Arc<[Grow]> = Arc::default();
        let (number, grow) = match &verdict {
            Verdict::Resume(grow) => (RESUME, grow),
            Verdict::Census => (CENSUS, &none),
            Verdict::Wait(_) => (WAIT, &none),
            Verdict::End => (END, &none),
        };
        match verdict {
            Verdict::Census => {}
            Verdict::Wait(_) => {
                outside.link().unstir();
                outside.link().close_meeting();
            }
            Verdict::Resume(_) => outside.link().close_meeting(),
            Verdict::End => outside.link().end(),
        }
        let bytes = Encoder::to_vec(&(number, grow.to_vec())).clone();
        for other in 1..outside.link().count() as u32 {
            outside.send(SchedulerId(other), VERDICT, 0, 0, &bytes);
        }
        outside.flush();
        verdict
    }

    /// The next message that is not about a channel; none if the run has failed.
    pub(super) fn next_mail(&self, outside: &Outside) -> Option<Mail> {
        loop {
            self.exchange_with(outside);
            let mail = outside.mail.borrow_mut().pop_front();
            if mail.is_some() {
                return mail;
            }
            let failed = || outside.state() == RunState::Failed;
            if failed() {
                return None;
            }
            outside.sleep(failed, None);
        }
    }
}
