//! Tests with loom: the ring between schedulers, the inbox, sleeping, and the byte rings between OS
//! processes. Loom runs each test for all interleavings, and for all values that the memory model
//! lets a load return. It reports a lost wake-up as a deadlock, and a race on a slot as an error.
//!
//! Run: `RUSTFLAGS="--cfg loom" cargo test -p graphmap-executor --release --lib interleavings`

mod byte_rings;

use loom::sync::Arc;
use loom::thread;

use crate::exec::parker::{Parker, Unparked};
use crate::link::inbox::Inbox;
use crate::link::spsc::{Offered, Pop, Push, Ring};
use crate::link::waiter::{ARMED, STOP};
use crate::sync::{Ordering, fence};

/// The shared state of two schedulers that these tests need.
struct Pair {
    parker: Parker,
    inboxes: [Inbox; 2],
    ring: Ring<Box<u32>>,
}

impl Pair {
    fn new(capacity: u32) -> Arc<Self> {
        Arc::new(Pair {
            parker: Parker::new(2),
            inboxes: [Inbox::new(), Inbox::new()],
            ring: Ring::new(capacity, ()),
        })
    }

    fn send(&self, to: usize, id: Option<u32>) {
        if let Some(id) = id {
            self.inboxes[to].push(id);
            self.parker.unpark(to);
        }
    }

    /// Sleeps until the inbox of scheduler `me` has a wake-up, and removes all of its wake-ups. All
    /// schedulers must not sleep at the same time, because that would be a deadlock.
    fn rest(&self, me: usize) {
        let mut mail = Vec::new();
        while mail.is_empty() {
            let rest = self
                .parker
                .park(me, || self.inboxes[me].is_filled(), || true, None);
            assert_eq!(rest, Unparked::Woken);
            self.inboxes[me].drain(&mut mail);
        }
    }

    /// Settles the taken tokens, as the end of a poll does: returns the id of the writer if it
    /// waits for space, to be woken.
    fn settle_taken(&self) -> Option<u32> {
        fence(Ordering::SeqCst);
        self.ring.unarm_writer()
    }

    fn write(&self, token: u32) -> bool {
        // SAFETY: only the first thread writes.
        if let Some(wake) = unsafe { self.ring.push_in_place(|| Box::new(token)) } {
            self.send(1, wake.or_else(|| self.ring.flush_put()));
            return true;
        }
        // SAFETY: only the first thread writes.
        if let Some(wake) = unsafe { self.ring.try_push_cached(|| Box::new(token)) } {
            self.send(1, wake.or_else(|| self.ring.flush_put()));
            return true;
        }
        let mut token = Box::new(token);
        loop {
            // SAFETY: only the first thread writes.
            match unsafe { self.ring.push(token, false) } {
                Push::Done(wake) | Push::Offered(wake) => {
                    self.send(1, wake.or_else(|| self.ring.flush_put()));
                    return true;
                }
                Push::Gone(_) => return false,
                Push::Full(back) => token = back,
            }
            if self.ring.arm_writer(10) {
                self.rest(0);
            } else {
                self.ring.disarm_writer();
            }
        }
    }

    /// Leaves the token in the rendezvous slot, as a write that waits does, and sleeps until it is
    /// taken or gets space. Puts the token into the ring if there is space. Returns false if the
    /// reader has left without the token.
    fn offer(&self, token: u32) -> bool {
        let mut token = Box::new(token);
        let wake = loop {
            // SAFETY: only the first thread writes.
            match unsafe { self.ring.push(token, true) } {
                Push::Done(wake) => {
                    self.send(1, wake.or_else(|| self.ring.flush_put()));
                    return true;
                }
                Push::Offered(wake) => break wake,
                Push::Gone(_) => return false,
                Push::Full(back) => token = back,
            }
            self.wait_for_room();
        };
        self.send(1, wake.or_else(|| self.ring.flush_put()));
        loop {
            // SAFETY: only the first thread writes.
            match unsafe { self.ring.offered() } {
                Offered::Done => return true,
                Offered::Refused => return false,
                Offered::Waits => self.wait_for_room(),
            }
        }
    }

    fn wait_for_room(&self) {
        if self.ring.arm_writer(10) {
            self.rest(0);
        } else {
            self.ring.disarm_writer();
        }
    }

    fn read(&self) -> Option<u32> {
        // SAFETY: only the second thread reads.
        match unsafe { self.ring.pop_in_place() } {
            Some(Pop::Value(token, wake)) => {
                self.send(0, wake.or_else(|| self.settle_taken()));
                return Some(*token);
            }
            Some(Pop::End) => unreachable!("the end takes another look"),
            Some(Pop::Empty) | None => {}
        }
        // SAFETY: only the second thread reads.
        if let Some((token, wake)) = unsafe { self.ring.try_pop_cached() } {
            self.send(0, wake.or_else(|| self.settle_taken()));
            return Some(*token);
        }
        loop {
            // SAFETY: only the second thread reads.
            match unsafe { self.ring.pop() } {
                Pop::Value(token, wake) => {
                    self.send(0, wake.or_else(|| self.settle_taken()));
                    return Some(*token);
                }
                Pop::End => return None,
                Pop::Empty => {}
            }
            if self.ring.arm_reader(11) {
                self.rest(1);
            } else {
                self.ring.disarm_reader();
            }
        }
    }
}

/// Checks `f` with loom, with at most three preemptions, which takes seconds, or with
/// `LOOM_MAX_PREEMPTIONS`. Four preemptions take minutes. Panics if an interleaving fails.
fn model(f: impl Fn() + Sync + Send + 'static) {
    model_within(3, f);
}

/// Checks `f` with loom, with at most `preemptions` unless `LOOM_MAX_PREEMPTIONS` is set. For tests
/// that would take minutes with one more. Panics if an interleaving fails.
fn model_within(preemptions: usize, f: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound.get_or_insert(preemptions);
    builder.check(f);
}

#[test]
fn tokens_arrive_in_order_without_lost_wakeups() {
    model(|| {
        let pair = Pair::new(1);
        let writer = Arc::clone(&pair);
        let writer = thread::spawn(move || {
            assert!(writer.write(1) && writer.write(2));
            let wake = writer.ring.close_writer();
            writer.send(1, wake);
        });
        assert_eq!(
            [pair.read(), pair.read(), pair.read()],
            [Some(1), Some(2), None]
        );
        writer.join().unwrap();
    });
}

#[test]
fn a_reader_that_leaves_stops_the_writer() {
    model(|| {
        let pair = Pair::new(1);
        let writer = Arc::clone(&pair);
        let writer = thread::spawn(move || {
            let mut written = 0;
            while written < 4 && writer.write(written) {
                written += 1;
            }
            assert!((1..=3).contains(&written));
        });
        assert_eq!(pair.read(), Some(0));
        let wake = pair.ring.close_reader();
        pair.send(0, wake);
        writer.join().unwrap();
    });
}

#[test]
fn checking_before_arming_loses_no_wakeup() {
    model(|| {
        let pair = Pair::new(1);
        let writer = Arc::clone(&pair);
        let writer = thread::spawn(move || {
            for token in 1..=2 {
                // SAFETY: only this thread writes.
                if !unsafe { writer.ring.writer_is_ready(true) } {
                    thread::yield_now();
                }
                assert!(writer.write(token));
            }
            let wake = writer.ring.close_writer();
            writer.send(1, wake);
        });
        for expected in [Some(1), Some(2), None] {
            // SAFETY: only this thread reads.
            if !unsafe { pair.ring.reader_is_ready(true) } {
                thread::yield_now();
            }
            // A positive result is a hint only. The read arms and sleeps if necessary.
            assert_eq!(pair.read(), expected);
        }
        writer.join().unwrap();
    });
}

#[test]
fn one_flush_for_two_tokens_wakes_the_reader() {
    model(|| {
        let pair = Pair::new(2);
        let writer = Arc::clone(&pair);
        let writer = thread::spawn(move || {
            for token in 1..=2 {
                // SAFETY: only this thread writes.
                match unsafe { writer.ring.push(Box::new(token), false) } {
                    Push::Done(wake) => writer.send(1, wake),
                    _ => unreachable!("there is room for two"),
                }
            }
            let wake = writer.ring.flush_put();
            writer.send(1, wake);
            // For the other direction: space for a third token is published by a flush only.
            assert!(writer.write(3));
        });
        assert_eq!(pair.read(), Some(1));
        let mut taken = 0;
        while taken < 2 {
            // SAFETY: only this thread reads.
            match unsafe { pair.ring.pop() } {
                Pop::Value(_, wake) => {
                    pair.send(0, wake);
                    taken += 1;
                }
                Pop::End => unreachable!("the writer has not left"),
                Pop::Empty => {
                    let wake = pair.settle_taken();
                    pair.send(0, wake);
                    if pair.ring.arm_reader(11) {
                        pair.rest(1);
                    } else {
                        pair.ring.disarm_reader();
                    }
                }
            }
        }
        writer.join().unwrap();
    });
}

#[test]
fn offered_tokens_are_read_in_order() {
    model_within(2, || {
        let pair = Pair::new(1);
        let writer = Arc::clone(&pair);
        let writer = thread::spawn(move || {
            assert!((1..=3).all(|token| writer.offer(token)));
            let wake = writer.ring.close_writer();
            writer.send(1, wake);
        });
        assert_eq!(
            [(); 4].map(|()| pair.read()),
            [Some(1), Some(2), Some(3), None]
        );
        writer.join().unwrap();
    });
}

#[test]
fn a_withdrawn_token_is_not_read() {
    model_within(2, || {
        let pair = Pair::new(1);
        let writer = Arc::clone(&pair);
        let writer = thread::spawn(move || {
            assert!(writer.write(1));
            let mut back = Vec::new();
            for token in [2, 3] {
                // SAFETY: only this thread writes.
                match unsafe { writer.ring.push(Box::new(token), true) } {
                    Push::Offered(wake) => {
                        writer.send(1, wake.or_else(|| writer.ring.flush_put()));
                        // SAFETY: as above.
                        match unsafe { writer.ring.take_back() } {
                            Some(token) => back.push(*token),
                            None => writer.send(1, writer.ring.flush_put()),
                        }
                    }
                    Push::Done(wake) => {
                        writer.send(1, wake.or_else(|| writer.ring.flush_put()));
                    }
                    Push::Full(token) => back.push(*token),
                    Push::Gone(_) => unreachable!("the reader is there"),
                }
            }
            let wake = writer.ring.close_writer();
            writer.send(1, wake);
            back
        });
        let mut all: Vec<u32> = std::iter::from_fn(|| pair.read()).collect();
        assert!(all.is_sorted() && all[0] == 1);
        all.extend(writer.join().unwrap());
        all.sort_unstable();
        assert_eq!(all, [1, 2, 3]);
    });
}

#[test]
fn leaving_refuses_an_offered_token() {
    model(|| {
        let pair = Pair::new(1);
        let writer = Arc::clone(&pair);
        let writer =
            thread::spawn(move || (1..=2).take_while(|&token| writer.offer(token)).count() as u32);
        let first = pair.read();
        let wake = pair.ring.close_reader();
        pair.send(0, wake);
        let mut dropped = 0;
        // SAFETY: only this thread reads.
        while let Pop::Value(_, wake) = unsafe { pair.ring.pop() } {
            pair.send(0, wake);
            dropped += 1;
        }
        let written = writer.join().unwrap();
        assert!(first == Some(1) && dropped <= 1);
        // After one token was read there is space for one more, and not for a third.
        assert!((1..=2).contains(&written));
        assert_eq!(pair.ring.taken(), 1);
    });
}

/// Tests a wait for the stop. `word` is the state word of the writer: it names the writer, or is
/// armed as for a hook.
fn waits_for_the_stop(word: u32) {
    model(move || {
        let pair = Pair::new(1);
        let writer = Arc::clone(&pair);
        let writer = thread::spawn(move || {
            // The read of the token may wake an armed writer early. The reader's leaving must wake
            // it.
            assert!(writer.write(1));
            while !writer.ring.arm_stop(word) {
                writer.rest(0);
            }
            writer.ring.disarm_writer();
            // SAFETY: only this thread writes.
            let pushed = unsafe { writer.ring.push(Box::new(2), false) };
            assert!(matches!(pushed, Push::Gone(_)));
        });
        assert_eq!(pair.read(), Some(1));
        let wake = pair.ring.close_reader();
        pair.send(0, wake);
        writer.join().unwrap();
    });
}

#[test]
fn a_writer_that_waits_for_the_stop_is_woken() {
    waits_for_the_stop(STOP | 10);
}

#[test]
fn a_hook_that_waits_for_the_stop_is_woken() {
    waits_for_the_stop(ARMED | STOP | 10);
}

#[test]
fn a_writer_can_wait_for_the_stop_and_then_for_room() {
    model(|| {
        let pair = Pair::new(1);
        let writer = Arc::clone(&pair);
        let writer = thread::spawn(move || {
            for token in 1..=2 {
                // As in a `select!` in which the wait for the stop loses: the word names the writer
                // and is not cleared.
                if writer.ring.arm_stop(STOP | 10) || !writer.write(token) {
                    return;
                }
            }
        });
        assert_eq!(pair.read(), Some(1));
        let wake = pair.ring.close_reader();
        pair.send(0, wake);
        writer.join().unwrap();
    });
}

#[test]
fn the_last_to_sleep_detects_quiescence() {
    model(|| {
        let pair = Pair::new(1);
        let other = Arc::clone(&pair);
        // The other scheduler sends one wake-up and then has no work. Both must detect it.
        let sleep = |pair: &Pair, me: usize| loop {
            let rest = pair
                .parker
                .park(me, || pair.inboxes[me].is_filled(), || true, None);
            if rest == Unparked::AllAsleep {
                break;
            }
            pair.inboxes[me].drain(&mut Vec::new());
        };
        let other = thread::spawn(move || {
            other.send(1, Some(7));
            sleep(&other, 0);
            assert!(!other.inboxes[1].is_filled());
        });
        sleep(&pair, 1);
        other.join().unwrap();
    });
}
