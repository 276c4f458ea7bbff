//! Receives frames from the schedulers of other OS processes, and passes each to its channel,
//! writer or upper layer. When the run is over, gathers the statistics of all schedulers at the
//! first one. `frames.rs` sends.

use super::frames::ALSO;
use super::frames::CLOSE;
use super::frames::CREDIT;
use super::frames::DATA;
use super::frames::DATA_AND_CREDIT;
use super::frames::DECISION;
use super::frames::EXPOSED;
use super::frames::LEFT;
use super::frames::Mail;
use super::frames::READ;
use super::frames::Remote;
use super::frames::RemoteReader;
use super::frames::SLICED;
use super::frames::STATISTICS;
use super::frames::WAIT_REPORT;
use super::report;
use super::report::Directory;
use super::scheduler::Scheduler;
use super::statistics::Recorder;
use super::statistics::Statistics;
use super::upper_layer::FIRST_UPPER_KIND;
use super::user_code;
use crate::link::between::Header;
use crate::link::between::RunState;
use crate::placement::SchedulerId;
use std::any::Any;
use std::sync::Arc;
use std::thread;
use std::time::Duration;
use std::time::Instant;

/// Maximum number of frames that are received before processes run.
const FRAMES: usize = 1024;

impl Scheduler {
    /// Receives frames from other OS processes, and sends waiting frames. Returns true if a frame
    /// came. Returns false if the run has only one OS process. An invalid frame ends the run.
    pub(super) fn exchange(&self) -> bool {
        match &self.remote {
            Some(remote) => self.exchange_with(remote),
            None => false,
        }
    }

    /// Exchanges frames as [`Scheduler::exchange`] does, over the given connection. Also sends
    /// pending credit at intervals, and drops tokens that have been sent. Stops this scheduler's
    /// run if the run is over in another OS process. Returns true if a frame came. May call user
    /// code.
    #[inline(never)]
    pub(super) fn exchange_with(&self, remote: &Remote) -> bool {
        remote.send_credit_at_times();
        remote.flush();
        let was_exchanging = remote.is_exchanging.replace(true);
        self.drop_sent(remote);
        let mut came = false;
        if remote.is_ready() {
            // Decoding a payload runs user code. If it panics, the run has failed, and the
            // remaining frames are not needed.
            self.guarded(|| {
                match remote.receive(FRAMES, |from, header, bytes| {
                    came = true;
                    self.take(remote, from, header, bytes);
                }) {
                    Ok(count) => came |= count > 0,
                    Err(why) => self.core.shared.fail(None, why),
                }
            });
        }
        remote.is_exchanging.set(was_exchanging);
        if remote.state() != RunState::Running {
            self.core.shared.halt();
        }
        came
    }

    fn take(&self, remote: &Remote, from: usize, header: Header, bytes: &[u8]) {
        match header.kind {
            DATA | DATA_AND_CREDIT => {
                let (bytes, credit) = match header.kind {
                    DATA => (bytes, None),
                    _ => self.split_credit(from, bytes),
                };
                if let Some(reader) = remote.reader(from, header.number) {
                    self.deliver(&*reader, |reader| reader.deliver(bytes));
                }
                for reader in remote.take_also(from) {
                    if let Some(reader) = remote.reader(from, reader) {
                        self.deliver(&*reader, |reader| reader.deliver(bytes));
                    }
                }
                // The credit is read after the token, because it is in the last cache line of the
                // frame. To wait for that line first would delay the token.
                if let Some(credit) = credit {
                    let number = u32::from_ne_bytes(*credit);
                    if let Some(id) = remote.take_notice(from, Header { number, ..header }) {
                        self.wake(id);
                    }
                }
            }
            EXPOSED => {
                let readers = remote.take_also(from);
                for reader in [header.number].into_iter().chain(readers) {
                    if let Some(reader) = remote.reader(from, reader) {
                        let memory = remote.memory_of(from);
                        self.deliver(&*reader, |reader| reader.deliver_slices(bytes, &memory));
                    }
                }
                remote.send(SchedulerId(from as u32), READ, header.extra, 0, &[]);
            }
            SLICED => self.take_sliced(remote, from, header.number),
            ALSO => remote.is_also_for(from, bytes),
            READ => {
                if let Some((channel, token)) = remote.was_read(header.number) {
                    self.drop_token(channel, token);
                }
                // The token may have contained ends of channels.
                self.deferred.flush();
            }
            CLOSE => drop(remote.remove_reader(from, header.number)),
            CREDIT | LEFT => {
                if let Some(id) = remote.take_notice(from, header) {
                    self.wake(id);
                }
            }
            WAIT_REPORT | DECISION | STATISTICS => {
                let (kind, bytes) = (header.kind, bytes.to_vec());
                let mail = Mail { from, kind, bytes };
                remote.mail.borrow_mut().push_back(mail);
            }
            above if above >= FIRST_UPPER_KIND => self.take_frame(from as u32, header, bytes),
            _ => {}
        }
    }

    /// Splits a frame into the bytes of a token and the index of the channel that gets the credit.
    /// If the frame is too short for an index, ends the run with a failure and returns `None` for
    /// it.
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

    /// Delivers a token whose slices have been received, to `reader` and the further readers that
    /// were announced. The last of them gets the memory of the slices. If no slices have been
    /// received, ends the run with a failure.
    #[cold]
    fn take_sliced(&self, remote: &Remote, from: usize, reader: u32) {
        let Some(slices) = remote.take_slices() else {
            let who = self.core.shared.os_process_of(SchedulerId(from as u32));
            let why = format!("a token from OS process {who} arrived without its slices");
            return self.core.shared.fail(None, why);
        };
        let also = remote.take_also(from);
        let readers = also.into_iter().chain([reader]);
        let mut readers = readers
            .filter_map(|reader| remote.reader(from, reader))
            .peekable();
        while let Some(reader) = readers.next() {
            if readers.peek().is_none() {
                slices.mark_last_reader();
            }
            self.deliver(&*reader, |reader| {
                reader.deliver_slices(slices.head(), &slices)
            });
        }
    }

    /// Drops tokens that have been sent completely.
    #[inline]
    fn drop_sent(&self, remote: &Remote) {
        while let Some((channel, token)) = remote.take_sent() {
            self.drop_token(channel, token);
            // The token may have contained ends of channels.
            self.deferred.flush();
        }
    }

    /// Delivers a token, which is decoded by user code. An invalid token or a panic ends the run
    /// with a failure of the reader.
    #[inline]
    fn deliver(
        &self,
        reader: &dyn RemoteReader,
        deliver: impl FnOnce(&dyn RemoteReader) -> Result<(), String>,
    ) {
        let mut read = Ok(());
        if let Err(panic) = user_code::caught(|| read = deliver(reader)) {
            read = Err(format!("cannot be decoded: panicked: {panic}"));
        }
        if let Err(why) = read {
            self.fail_to_read(reader, &why);
        }
    }

    /// Drops a token after it has been sent or read. Its channel, with the number `channel`, starts
    /// here. The destructor is user code. A panic in it ends the run with a failure of the writer.
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

    /// Ends the run with a failure of the reader, because a received token is invalid. `why`
    /// completes the message.
    #[cold]
    fn fail_to_read(&self, reader: &dyn RemoteReader, why: &str) {
        let (directory, number) = (self.directory(), reader.number());
        let process = directory.peers(number).1.map(|rank| {
            let (kind, index) = directory.of_rank(rank);
            directory.process(kind, index)
        });
        let (token, channel) = (reader.token(), report::channel(directory, number));
        let message = format!("a token of type {token} from {channel} {why}");
        self.core.shared.fail(process, message);
    }

    /// Blocks until a message that is not about a channel has come, and removes and returns it.
    /// Exchanges other frames meanwhile. Returns `None` if the run has failed and no such message
    /// is left.
    pub(super) fn next_mail(&self, remote: &Remote) -> Option<Mail> {
        loop {
            self.exchange_with(remote);
            let mail = remote.mail.borrow_mut().pop_front();
            if mail.is_some() {
                return mail;
            }
            let failed = || remote.state() == RunState::Failed;
            if failed() {
                return None;
            }
            remote.sleep(failed, None);
        }
    }
}

/// Longest time without a frame while recordings of a failed run are gathered. A scheduler may
/// compute for a long time before it sends them.
const MAX_SILENCE: Duration = Duration::from_secs(1);
/// Longest time in which all of them are gathered.
const ALL: Duration = Duration::from_secs(10);
/// Interval of the checks, because no scheduler rings a bell after a failure.
const CHECK_INTERVAL: Duration = Duration::from_millis(1);

impl Scheduler {
    /// Sends the statistics of this scheduler to the first one of the run. The first one gathers
    /// those of all. It returns them in the order of the schedulers, or `None` if the run has
    /// failed or the statistics of a scheduler are invalid. The others return an empty list. In a
    /// traced run, recordings of other OS processes are added to the trace of the first.
    ///
    /// Blocks until all is sent or received. After a failure of the run, it blocks only if the run
    /// is traced, and for about 10 s at most.
    pub fn gather(
        &self,
        remote: &Remote,
        mut statistics: Statistics,
        directory: &Arc<dyn Directory>,
    ) -> Option<Vec<Statistics>> {
        let trace = self.recorder().map(Recorder::trace);
        statistics.frames = Some(remote.sent());
        if remote.link().me() > 0 {
            // The schedulers of OS process 0 hand in to the same trace as the first one.
            if let (Some(trace), Some((1.., _))) = (trace, self.core.shared.os_process()) {
                statistics.recorded = trace.take();
            }
            remote.send(
                SchedulerId::LEADER,
                STATISTICS,
                0,
                0,
                &statistics.to_bytes(),
            );
            let start = Instant::now();
            while !remote.flush() {
                match remote.state() {
                    // A recording is needed even if the run has failed.
                    RunState::Failed if trace.is_none() || start.elapsed() > ALL => break,
                    RunState::Failed => thread::sleep(CHECK_INTERVAL),
                    // The wait ends when all is sent.
                    _ => remote.sleep(
                        || remote.flush() || remote.state() == RunState::Failed,
                        None,
                    ),
                }
            }
            return Some(Vec::new());
        }
        let mut all: Vec<_> = (0..remote.link().count()).map(|_| None).collect();
        all[0] = Some(statistics);
        let came = |message: Mail| {
            let mut statistics = Statistics::from_bytes(&message.bytes, directory);
            if let (Some(statistics), Some(trace)) = (&mut statistics, trace) {
                statistics
                    .recorded
                    .drain(..)
                    .for_each(|part| trace.add(part));
            }
            (message.from, statistics)
        };
        for _ in 1..all.len() {
            let Some(message) = self.next_mail(remote) else {
                if trace.is_some() {
                    self.gather_after_failure(remote, &mut all, came);
                }
                return None;
            };
            let (from, statistics) = came(message);
            all[from] = statistics;
        }
        all.into_iter().collect()
    }

    /// Receives statistics after the run has failed, into the entries of `all`. Returns when all
    /// schedulers that can still send have sent. Also returns after 1 s without a frame, and after
    /// 10 s in any case. `came` decodes a message.
    fn gather_after_failure(
        &self,
        remote: &Remote,
        all: &mut [Option<Statistics>],
        came: impl Fn(Mail) -> (usize, Option<Statistics>),
    ) {
        let start = Instant::now();
        let mut last = start;
        while last.elapsed() < MAX_SILENCE && start.elapsed() < ALL {
            // Checked before the exchange, because a scheduler that has ended by now sends no frame
            // later.
            let mut missing = (0..all.len()).filter(|&who| all[who].is_none());
            let is_over = !missing.any(|who| remote.link().may_receive_from(who));
            let has_come = self.exchange_with(remote);
            if has_come {
                last = Instant::now();
            }
            for message in remote.mail.take() {
                // There may be messages of a deadlock detection.
                if message.kind == STATISTICS {
                    let (from, statistics) = came(message);
                    all[from] = statistics;
                }
            }
            match (has_come, is_over) {
                // One exchange does not receive all frames.
                (true, _) => {}
                (false, true) => return,
                (false, false) => thread::sleep(CHECK_INTERVAL),
            }
        }
    }
}
