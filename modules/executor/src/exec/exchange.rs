//! Frames that come from the schedulers of other OS processes: each is given to the channel, the
//! writer or the upper layer that it is for. When the run is over, the statistics of all come
//! together at the first scheduler. `frames.rs` sends.

use super::frames::ALSO;
use super::frames::CLOSE;
use super::frames::CREDIT;
use super::frames::DATA;
use super::frames::DATA_AND_CREDIT;
use super::frames::EXPOSED;
use super::frames::FarReader;
use super::frames::LEFT;
use super::frames::Mail;
use super::frames::Outside;
use super::frames::READ;
use super::frames::SLICED;
use super::frames::TALLY;
use super::frames::TOLD;
use super::frames::VERDICT;
use super::report;
use super::report::Directory;
use super::scheduler::Scheduler;
use super::statistics::Recorder;
use super::statistics::Tally;
use super::upper_layer::ABOVE;
use super::user_code;
use crate::link::between::Header;
use crate::link::between::RunState;
use crate::placement::SchedulerId;
use std::any::Any;
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use std::time::Instant;

/// Most frames that are taken before processes run.
const FRAMES: usize = 1024;

impl Scheduler {
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
        let why = format!("a token from OS process {who} ends before its piggybacked credit");
        self.core.shared.fail(None, why);
        (bytes, None)
    }

    /// A token whose slices have been received: the last of its readers gets their memory.
    #[cold]
    fn take_sliced(&self, outside: &Outside, from: usize, reader: u32) {
        let Some(slices) = outside.take_slices() else {
            let who = self.core.shared.os_process_of(SchedulerId(from as u32));
            let why = format!("a token from OS process {who} arrived without its slices");
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
            read = Err(format!("cannot be decoded: panicked: {panic}"));
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
        let message = format!("a token of {channel} panicked when it was dropped: {panic}");
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
        let message = format!("a token of type {token} from {channel} {why}");
        self.core.shared.fail(process, message);
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

/// How long nothing may come of what others have recorded of a run that has failed: one of them may
/// compute for long.
const SILENCE: Duration = Duration::from_secs(1);
/// How long all of it may take.
const ALL: Duration = Duration::from_secs(10);
/// How often is looked then, as nobody rings any more.
const LOOK: Duration = Duration::from_millis(1);

impl Scheduler {
    /// Sends what was counted to the first scheduler, which gathers what all have, in their order;
    /// none if the run has failed.
    pub fn gather(
        &self,
        outside: &Outside,
        mut tally: Tally,
        directory: &Arc<dyn Directory>,
    ) -> Option<Vec<Tally>> {
        let trace = self.recorder().map(Recorder::trace);
        tally.frames = Some(outside.sent());
        if outside.link().me() > 0 {
            // Those of OS process 0 hand in to the same trace as the first.
            if let (Some(trace), Some((1.., _))) = (trace, self.core.shared.os_process()) {
                tally.recorded = trace.take();
            }
            outside.send(SchedulerId::LEADER, TALLY, 0, 0, &tally.to_bytes());
            let start = Instant::now();
            while !outside.flush() {
                match outside.state() {
                    // What has been recorded is wanted all the same.
                    RunState::Failed if trace.is_none() || start.elapsed() > ALL => break,
                    RunState::Failed => thread::sleep(LOOK),
                    // It is over when all is sent.
                    _ => outside.sleep(
                        || outside.flush() || outside.state() == RunState::Failed,
                        None,
                    ),
                }
            }
            return Some(Vec::new());
        }
        let mut all: Vec<_> = (0..outside.link().count()).map(|_| None).collect();
        all[0] = Some(tally);
        let came = |message: Mail| {
            let mut tally = Tally::from_bytes(&message.bytes, directory);
            if let (Some(tally), Some(trace)) = (&mut tally, trace) {
                tally.recorded.drain(..).for_each(|part| trace.add(part));
            }
            (message.from, tally)
        };
        for _ in 1..all.len() {
            let Some(message) = self.next_mail(outside) else {
                if trace.is_some() {
                    self.gather_late(outside, &mut all, came);
                }
                return None;
            };
            let (from, tally) = came(message);
            all[from] = tally;
        }
        all.into_iter().collect()
    }

    /// The run has failed. Takes what comes from those who can still send, until all of them have
    /// or nothing comes any more.
    fn gather_late(
        &self,
        outside: &Outside,
        all: &mut [Option<Tally>],
        came: impl Fn(Mail) -> (usize, Option<Tally>),
    ) {
        let start = Instant::now();
        let mut last = start;
        while last.elapsed() < SILENCE && start.elapsed() < ALL {
            // Before what they have sent is looked for: who is gone by now sends no more.
            let mut missing = (0..all.len()).filter(|&who| all[who].is_none());
            let is_over = !missing.any(|who| outside.link().may_come_from(who));
            let has_come = self.exchange_with(outside);
            if has_come {
                last = Instant::now();
            }
            for message in outside.mail.take() {
                // There may have been a meeting.
                if message.kind == TALLY {
                    let (from, tally) = came(message);
                    all[from] = tally;
                }
            }
            match (has_come, is_over) {
                // Not all that has come is taken at once.
                (true, _) => {}
                (false, true) => return,
                (false, false) => thread::sleep(LOOK),
            }
        }
    }
}
