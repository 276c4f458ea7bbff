//! Deadlock detection: the checks and decisions of a scheduler when all schedulers are quiescent.
//!
//! No process runs during a check, and no code of a process is called: the waits are read from the
//! state words of channels. With several schedulers or OS processes, each reports its waits to the
//! first, which decides for all.

use super::frames::{
    ABOVE, ALSO, CLOSE, CREDIT, DATA, DATA_AND_CREDIT, EXPOSED, FarReader, LEFT, Mail, Outside,
    READ, SLICED, TALLY, TOLD, VERDICT,
};
use super::hooks::{Behind, Side};
use super::scheduler::Scheduler;
use super::shared::{Told, Verdict};
use super::wait_graph::{Grow, UNKNOWN, Update, Wait};
use super::wait_queues::Look;
use super::{current, report, user_code};
use crate::error::RunError;
use crate::link::between::{Header, RunState};
use crate::link::waiter::{ARMED, ELSEWHERE, GONE, HOOK, ID, STOP, is_hooked};
use crate::payload::{Decoder, Encoder};
use crate::placement::SchedulerId;
use std::any::Any;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

impl Scheduler {
    /// Everyone slept: tells what has become of the waits of its processes, and does what the
    /// schedulers decide.
    #[cold]
    pub(super) fn standstill(&self) -> Verdict {
        let mut verdict = self.meet(self.tell());
        if let Verdict::Census = verdict {
            let ranks = (0..self.tasks.len() as u32).filter_map(|at| self.rank(self.base + at));
            verdict = self.meet(Told {
                ranks: ranks.collect(),
                calls: self.calls(),
                ..self.tell()
            });
        }
        if let Verdict::Resume(grow) = &verdict {
            for channel in &**grow {
                let wake = |id| self.wake(id);
                self.registry.grow(channel.number, channel.capacity, wake);
            }
        }
        verdict
    }

    /// What has become of the waits since this was last asked.
    fn tell(&self) -> Told {
        let ended = self.ended.take();
        self.told.set(self.live.get() > 0);
        // Before the mail: who wakes puts mail in and lets go of the waker then, so one of the two
        // is seen.
        let foreign = self.core.shared.has_foreign_wakers();
        let mut told = Told {
            live: self.live.get(),
            // What comes from other OS processes now is about the meeting, or somebody there has
            // moved.
            moved: self.outside.as_ref().is_some_and(|o| o.moved.get())
                || !self.queue.is_empty()
                || self.hooks.has_loose()
                || self.core.shared.inbox(self.index()).is_filled(),
            foreign,
            above: self.has_floor_above(),
            ended: ended
                .into_iter()
                .map(|(kind, index)| self.directory.rank(kind, index))
                .collect(),
            ..Told::default()
        };
        if told.live == 0 {
            // Nobody is left who waits, and those who were told to wait have ended.
            return told;
        }
        self.registry.collect(|look| {
            if let Some(update) = self.update(look) {
                told.updates.push(update);
            }
        });
        for ready in self.hooks.take_touched() {
            ready.collect(|number, side, word| {
                let wait = word.and_then(|word| {
                    let look = self.registry.look(number, side);
                    self.wait(Look { word, ..look })
                });
                told.updates.push(Update { number, side, wait });
            });
        }
        let (times, waits) = &mut self.tally.borrow_mut().told;
        *times += 1;
        *waits += told.updates.len() as u64;
        told
    }

    /// What is to be told of one side of a channel; `None` if a bundle tells it.
    fn update(&self, look: Look) -> Option<Update> {
        let Look {
            number,
            side,
            word,
            cross,
            ..
        } = look;
        if cross.is_none() && word & ID == ELSEWHERE && word & (GONE | ARMED) == 0 {
            // It is in another OS process, which tells. (At an end of ours it says that nobody
            // waits.)
            return None;
        }
        if is_hooked(word) && matches!(self.hooks.behind(word), Some(Behind::Bundle(true))) {
            return None;
        }
        let wait = self.wait(look);
        Some(Update { number, side, wait })
    }

    /// Who waits at a side of a channel.
    fn wait(&self, look: Look) -> Option<Wait> {
        let Look {
            number,
            side,
            word,
            capacity,
            other,
            cross,
        } = look;
        if word & GONE != 0 || word & (ARMED | STOP) == 0 {
            return None;
        }
        let id = match word & HOOK {
            0 => word & ID,
            _ => match self.hooks.behind(word)? {
                Behind::Process(id) => id,
                Behind::Bundle(_) => return None,
            },
        };
        if let (Some(slot), Some(header)) = (cross, self.header(id)) {
            header.set_told();
            self.registry.set_told(id, slot);
        }
        let (from, to) = self.directory.peers(number);
        let known = match side {
            Side::Read => from,
            Side::Write => to,
        };
        // Where channels have no table, who waited last at the other side is a hint.
        let guess = || {
            (from.is_none() && to.is_none())
                .then(|| self.rank(other & ID))
                .flatten()
        };
        Some(Wait {
            rank: self.rank(id)?,
            peer: known.or_else(guess).unwrap_or(UNKNOWN),
            hint: known.is_none(),
            stop: word & STOP != 0,
            capacity,
        })
    }

    /// The rank of a process that has not ended.
    pub(super) fn rank(&self, id: u32) -> Option<u32> {
        let header = self.header(id)?;
        Some(self.directory.rank(header.kind(), header.index()))
    }
}

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
    /// Does what the process whose turn it was has deferred: to wake others, to get frames on their
    /// way. The next may compute for long.
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
        // Who has failed tells that first: others would fail, too, of ends of channels that it has
        // closed.
        if let Some(outside) = &self.outside
            && !self.core.shared.stopped()
        {
            outside.flush();
        }
        if !self.outer.get().is_null() {
            self.flush_around();
        }
    }

    /// Sends what ports of the runs around this one have for other OS processes, as far as there is
    /// room; false: this one is not to sleep yet.
    #[cold]
    fn flush_around(&self) -> bool {
        let flushed = current::flush_around(self);
        if !flushed {
            self.deferred.note();
        }
        flushed
    }

    /// Called before this scheduler sleeps: exchanges with other OS processes for the runs around
    /// it that have frames for which there is no room, or values to drop when they have been sent,
    /// and waits a little. Returns true if it did.
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
        // A decoder may have started this run. Then nothing is received before the run ends, so
        // this scheduler must not wait for room: the other OS process may be waiting in the same
        // way. Only code outside of the run can depend on the frames.
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
            // To read a payload is code of the user. If it panics the run is over, and the rest is
            // of no use.
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
        if let Err(panic) = user_code::caught(|| read = deliver(reader)) {
            read = Err(format!("cannot be read: panicked: {panic}"));
        }
        if let Err(why) = read {
            self.fail_to_read(reader, &why);
        }
    }

    /// Drops a token of a channel that starts here, which its reader has read: code of the user.
    pub(super) fn drop_token(&self, channel: u32, token: Box<dyn Any>) {
        let Err(panic) = user_code::caught(|| drop(token)) else {
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

    /// Goes to a meeting that is on, also with something to do, as who was woken from outside of
    /// the network when it had just been called: the others wait there, and what there is to do may
    /// be to look for what they would send.
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

    /// Sleeps until something comes, or a standstill is to be told as `quiet`, or meets the other
    /// OS processes. `ran`: something has run since the last time.
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
