//! The operations of a link whose OS processes are started and ended by a launcher.

use std::io::Write;
use std::thread;
use std::time::{Duration, Instant};

use graphmap_runtime::between::{
    Header, HostRings, Job, Link, ReceivedSlices, RunState, SentValue, SlicedMessage,
};
use graphmap_runtime::{Encoder, RunError};

use super::{FAIL, HELLO, MpiLink, header};
use crate::messages::is_ours;
use crate::operation::MOST;
use crate::printed::{self, FORWARDING};
use crate::receiving::Received;
use crate::{digest, finalize};

/// Interval between polls of MPI while there is other work.
const POLL_INTERVAL: Duration = Duration::from_micros(2);

/// Largest number of consecutive receives from this host before MPI is polled.
const SAME_HOST_IN_A_ROW: u32 = 64;

/// Time limit for notifying all others that the run has failed, because some may no longer exist.
const LEAVING: Duration = Duration::from_millis(100);

/// Time in which the launcher ends this OS process after OS process 0 has reported the cause. The
/// launcher of Open MPI takes two seconds and some round trips if there are several hosts.
const ENDING: Duration = Duration::from_secs(10);
/// Interval between checks whether OS process 0 has reported the cause.
const POLLED: Duration = Duration::from_millis(1);

/// Time limit for pending sends of values when the run has ended. The others receive them in any
/// case.
const LETTING_GO: Duration = Duration::from_secs(2);

impl Job for MpiLink {
    fn send_owned(&self, to: usize, header: Header, bytes: Vec<u8>) {
        self.known.sent.set(self.known.sent.get() + 1);
        if let Some((rings, number)) = self.rings_to(to) {
            return rings.send_owned(number, header, bytes);
        }
        self.polls.set(0);
        self.messages.borrow_mut().send_owned(to, header, bytes);
    }

    fn try_send_pieces(&self, to: usize, header: Header, pieces: &[&[u8]]) -> bool {
        let sent = match self.rings_to(to) {
            Some((rings, number)) => rings.try_send_pieces(number, header, pieces),
            None => {
                self.polls.set(0);
                (self.messages.borrow_mut()).try_send_pieces(to, header, pieces)
            }
        };
        self.known.sent.set(self.known.sent.get() + u64::from(sent));
        sent
    }

    fn longest_slice(&self) -> usize {
        MOST
    }

    fn send_sliced(&self, to: usize, header: Header, message: SlicedMessage) {
        self.known.sent.set(self.known.sent.get() + 1);
        if let Some((rings, number)) = self.rings_to(to) {
            return rings.send_sliced(number, header, message);
        }
        self.polls.set(0);
        self.messages.borrow_mut().send_sliced(to, header, message);
    }

    fn take_sent(&self) -> Option<SentValue> {
        let same_host = self.same_host.as_ref();
        same_host
            .and_then(|same_host| same_host.rings().take_sent())
            .or_else(|| self.messages.borrow_mut().take_sent())
    }

    fn keeps_values(&self) -> bool {
        let same_host = self.same_host.as_ref();
        same_host.is_some_and(|same_host| same_host.rings().keeps_values())
            || self.messages.borrow().lends()
    }

    fn release_values(&self) {
        if let Some(same_host) = &self.same_host {
            same_host.rings().release_values();
        }
        let start = Instant::now();
        // MPI needs its buffers until they are sent.
        while !self.messages.borrow_mut().release_values()
            && self.state() != RunState::Failed
            && start.elapsed() < LETTING_GO
        {
            self.push(true);
            self.poll();
            thread::yield_now();
        }
    }

    fn take_slices(&self) -> Option<ReceivedSlices> {
        let same_host = self.same_host.as_ref();
        (self.slices.take())
            .or_else(|| same_host.and_then(|same_host| same_host.rings().take_slices()))
    }

    fn host_rings(&self, to: usize) -> Option<(&HostRings, usize)> {
        self.rings_to(to)
    }

    fn receive(&self, take: &mut dyn FnMut(usize, Header, &[u8])) -> Result<bool, String> {
        if let Some(why) = self.wrong.take() {
            return Err(why);
        }
        // Continuous traffic on this host must not delay messages from other hosts.
        let in_a_row = self.same_host_in_a_row.get();
        if in_a_row < SAME_HOST_IN_A_ROW && self.receive_same_host(take)? {
            self.same_host_in_a_row.set(in_a_row + 1);
            return Ok(true);
        }
        self.same_host_in_a_row.set(0);
        if self.is_alone() {
            return Ok(false);
        }
        // If the call follows a check that found messages, a new check is not needed.
        if !self.messages.borrow().is_filled() && !self.fresh.take() {
            let now = Instant::now();
            let due = |polled: Instant| now.saturating_duration_since(polled) >= POLL_INTERVAL;
            if self.polled.get().is_none_or(due) {
                self.polled.set(Some(now));
                self.poll();
            }
        }
        loop {
            // The callback may send frames, so nothing is borrowed during the call.
            let taken = self.messages.borrow_mut().take();
            let Some((from, come)) = taken else {
                return Ok(false);
            };
            let mut is_one = true;
            match come {
                Received::Whole(header, bytes) => {
                    take(from, header, &bytes);
                    self.messages.borrow_mut().keep(bytes);
                }
                Received::Sliced(header, slices) => {
                    self.slices.set(Some(slices));
                    take(from, header, &[]);
                    self.slices.take();
                }
                Received::Packed(mut frames) => {
                    // The frames were validated when the message came.
                    match frames.next() {
                        Ok(Some((header, bytes))) if !is_ours(header) => take(from, header, bytes),
                        _ => is_one = false,
                    }
                    let mut messages = self.messages.borrow_mut();
                    match frames.is_empty() {
                        true => messages.keep_message(frames),
                        false => messages.put_back(from, frames),
                    }
                }
            }
            if is_one {
                self.known.received.set(self.known.received.get() + 1);
                return Ok(true);
            }
        }
    }

    fn buffer(&self) -> Vec<u8> {
        let same_host = self
            .same_host
            .as_ref()
            .map(|same_host| same_host.rings().buffer());
        match same_host.filter(|buffer| buffer.capacity() > 0) {
            Some(buffer) => buffer,
            None => self.messages.borrow_mut().buffer(),
        }
    }

    fn keep(&self, buffer: Vec<u8>) {
        self.messages.borrow_mut().keep(buffer);
    }

    fn messages(&self) -> u64 {
        self.messages.borrow().sent()
    }

    fn hosts(&self) -> Vec<String> {
        self.hosts.clone()
    }

    fn begin(&self, network: u64) {
        let program = match digest::program() {
            Ok(program) => program,
            Err(error) => {
                let why = format!("the program cannot read its own file: {error}");
                return self.fail(&Encoder::to_vec(&RunError::File(why)));
            }
        };
        let agreement = digest::agreement(network, program);
        self.messages.borrow_mut().agree(agreement);
        if let Some(same_host) = &self.same_host {
            same_host.rings().agree(agreement);
        }
        if self.me > 0 {
            self.send_own(0, header(HELLO, 0), &[]);
            self.push(true);
        }
    }

    fn finish(&self) {
        // OS processes that do not know yet that the run has ended learn it from these frames.
        let start = Instant::now();
        while (self.same_host.as_ref()).is_some_and(|same_host| !same_host.rings().flush())
            && start.elapsed() < LETTING_GO
        {
            thread::yield_now();
        }
        let mut messages = self.messages.borrow_mut();
        messages.finish();
        finalize::end(&mut messages.world);
    }

    fn wait_for_abort(&self, at_most: Duration) -> bool {
        let start = Instant::now();
        while start.elapsed() < at_most && !self.is_reported.get() {
            self.push(true);
            self.poll();
            thread::sleep(POLLED);
        }
        // MPI is no longer polled, because it would report the OS processes that have ended.
        if self.is_reported.get() {
            thread::sleep(ENDING);
        }
        self.is_reported.get()
    }

    fn abort(&self, code: u8) -> ! {
        // An OS process that gets this frame ends by itself, independent of the launcher. The
        // launcher of MPICH 4.0.2 may wait indefinitely for the OS processes of one host after
        // those of another have ended.
        if self.me == 0 && self.known.state.get() == RunState::Failed {
            let cause = self.known.cause.borrow().clone().unwrap_or_default();
            self.send_own_to_all(header(FAIL, 0), &cause);
            let start = Instant::now();
            while !(self.push(true) && self.messages.borrow().is_sent())
                && start.elapsed() < LEAVING
            {
                self.poll();
            }
        }
        // Printed text is preserved as far as possible.
        let _ = std::io::stdout().flush();
        printed::wait_until_read(FORWARDING);
        self.messages.borrow().world.abort(code)
    }
}
