//! How long to look away from MPI, which wakes nobody: it has to be looked at.
//!
//! Who has just got something looks again and again, giving its core to others in between; the longer nothing
//! comes, the longer it sleeps, up to [`LONGEST`]: and up to [`LISTENING`] where messages wake ([`arrivals`](crate::arrivals)).

use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::arrivals::Arrivals;
use crate::bell::Bell;

/// For so long it is looked at without a break: some times what an answer takes over TCP, and longer than the shortest sleep
/// of the other side, which the kernel makes a twentieth of a millisecond longer. Else two that answer each other, once late,
/// would stay so: each would sleep as the other had.
const EAGER: Duration = Duration::from_micros(200);
/// And so much longer for each byte that is on its way, as MPI moves what is large only when it is called: as long as it takes
/// over a network of a thousand million bits a second.
const A_BYTE: Duration = Duration::from_nanos(10);
/// The time, and what else there is to do, is asked for after so many looks: that takes as long as a look over shared memory.
const ASKED: u32 = 8;
/// And the core offered to others then, or where nobody takes that up each time after so many: it takes as long as some looks.
const RARELY: u32 = 8;
/// Somebody has taken up an offer that took longer than this.
const TAKEN_UP: Duration = Duration::from_micros(3);
const SHORTEST: Duration = Duration::from_micros(50);
/// A first message after a long while is late by half of this in the middle. Looking so often took a fiftieth of a core
/// in a program built without optimisation.
const LONGEST: Duration = Duration::from_micros(1500);
/// What MPI holds back to be sent when it is called next, and what comes by another way than it is thought, is late by this at most, and by
/// no longer than nothing has come before.
const LISTENING: Duration = Duration::from_millis(25);

/// At which of the times that are asked for the core is offered: one thread calls MPI.
static OFFERED: AtomicU32 = AtomicU32::new(1);

/// What MPI is doing.
#[derive(Clone, Copy, Default)]
pub(crate) struct UnderWay {
    /// So many bytes are on their way, from here or to here.
    pub(crate) bytes: usize,
    /// How many messages have begun or ended so far.
    pub(crate) moved: u64,
}

/// Since when nothing has come, or begun to, or gone.
pub(crate) struct Nap {
    start: Option<Instant>,
    next: Duration,
    looks: u32,
    asked: u32,
    moved: u64,
}

impl Nap {
    pub(crate) fn new() -> Nap {
        Nap {
            start: None,
            next: SHORTEST,
            looks: 0,
            asked: 0,
            moved: 0,
        }
    }

    /// Nothing has come: whether to look again before anything else is asked.
    #[must_use]
    pub(crate) fn looks_again(&mut self) -> bool {
        self.looks = self.looks.wrapping_add(1);
        self.next == SHORTEST && !self.looks.is_multiple_of(ASKED)
    }

    /// Nothing has come: looks away, or not. Whether it did: then it is to be looked at twice, as MPICH 4 finds in one look what
    /// has come, and tells of it in the next. Else what came meanwhile would wait for the next nap.
    #[must_use]
    pub(crate) fn take(
        &mut self,
        (bell, arrivals): (&Bell, &mut Arrivals),
        now: Instant,
        at_most: Option<Duration>,
        under_way: UnderWay,
    ) -> bool {
        if under_way.moved != self.moved {
            *self = Nap {
                moved: under_way.moved,
                ..Nap::new()
            };
        }
        let start = *self.start.get_or_insert(now);
        let bytes = u32::try_from(under_way.bytes).unwrap_or(u32::MAX);
        if now.saturating_duration_since(start) < EAGER + A_BYTE * bytes {
            self.offer(now);
            return false;
        }
        // What is under way MPI moves when it is called, and wakes nobody for that.
        let listens =
            self.next > LONGEST && under_way.bytes == 0 && arrivals.wake(now, under_way.moved);
        let longest = if listens { LISTENING } else { LONGEST };
        let time = self.next.min(longest);
        let time = at_most.map_or(time, |at_most| at_most.min(time));
        if arrivals.wait(bell, time, listens && time > LONGEST, under_way.moved) {
            *self = Nap {
                moved: under_way.moved,
                ..Nap::new()
            };
        } else {
            self.next = (self.next * 2).min(LISTENING);
        }
        true
    }

    /// Offers the core to others, if it is time: often where somebody wants it.
    fn offer(&mut self, now: Instant) {
        self.asked = self.asked.wrapping_add(1);
        let offered = OFFERED.load(Ordering::Relaxed);
        if !self.asked.is_multiple_of(offered) {
            return;
        }
        thread::yield_now();
        let offered = match now.elapsed() > TAKEN_UP {
            true => 1,
            false => (offered * 2).min(RARELY),
        };
        OFFERED.store(offered, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use graphmap_runtime::between::Doorbell;

    /// A bell that has rung, so that nobody sleeps.
    fn bell() -> Bell {
        let bell = Bell::new().unwrap();
        bell.ring();
        bell
    }

    /// Since so many seconds.
    fn late(nap: &mut Nap, seconds: u64) {
        nap.start = Instant::now().checked_sub(Duration::from_secs(seconds));
        assert!(nap.start.is_some());
    }

    #[test]
    fn what_moves_is_looked_at_anew() {
        let (bell, mut arrivals, mut nap) = (bell(), Arrivals::default(), Nap::new());
        late(&mut nap, 3600);
        let mut under_way = UnderWay::default();
        for _ in 0..2 {
            assert!(nap.take((&bell, &mut arrivals), Instant::now(), None, under_way));
        }
        assert_eq!(nap.next, 4 * SHORTEST);
        under_way.moved += 1;
        // One time for both, whatever the machine has to do in between.
        let now = Instant::now();
        assert!(!nap.take((&bell, &mut arrivals), now, None, under_way));
        assert_eq!(nap.next, SHORTEST);
        assert!(!nap.take((&bell, &mut arrivals), now, None, under_way));
        assert_eq!(nap.next, SHORTEST);
    }

    #[test]
    fn what_is_large_is_waited_for_longer() {
        let (bell, mut arrivals, mut nap) = (bell(), Arrivals::default(), Nap::new());
        let under_way = UnderWay {
            bytes: usize::MAX,
            moved: 0,
        };
        assert!(A_BYTE * u32::MAX < Duration::from_secs(3600));
        late(&mut nap, 10);
        assert!(!nap.take((&bell, &mut arrivals), Instant::now(), None, under_way));
        assert_eq!(nap.next, SHORTEST);
        late(&mut nap, 3600);
        assert!(nap.take((&bell, &mut arrivals), Instant::now(), None, under_way));
        assert_eq!(nap.next, 2 * SHORTEST);
    }

    #[test]
    fn who_has_slept_asks_at_each_look() {
        let (bell, mut arrivals, mut nap) = (bell(), Arrivals::default(), Nap::new());
        let again: Vec<bool> = (0..9).map(|_| nap.looks_again()).collect();
        let time = |look: u32| look.is_multiple_of(ASKED);
        assert_eq!(again, (1..10).map(|look| !time(look)).collect::<Vec<_>>());
        late(&mut nap, 3600);
        assert!(nap.take(
            (&bell, &mut arrivals),
            Instant::now(),
            None,
            UnderWay::default()
        ));
        assert!((0..8).all(|_| !nap.looks_again()));
    }
}
