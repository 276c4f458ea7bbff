//! How long to look away from MPI, which wakes nobody: it has to be looked at.
//!
//! Who has just got something looks again and again, giving its core to others in between; the longer nothing
//! comes, the longer it sleeps, up to [`LONGEST`].

use std::thread;
use std::time::{Duration, Instant};

use crate::bell::Bell;

/// For so long it is looked at without a break: some times what an answer takes over TCP, and longer than the shortest sleep
/// of the other side, which the kernel makes a twentieth of a millisecond longer. Else two that answer each other, once late,
/// would stay so: each would sleep as the other had.
const EAGER: Duration = Duration::from_micros(200);
/// And so much longer for each byte that is on its way, as MPI moves what is large only when it is called: as long as it takes
/// over a network of a thousand million bits a second.
const A_BYTE: Duration = Duration::from_nanos(10);
/// The core is offered to others after so many looks: where nobody wants it, that takes as long as some.
const OFFERED: u32 = 4;
const SHORTEST: Duration = Duration::from_micros(50);
/// A first message after a long while is late by half of this in the middle. Looking so often took a fiftieth of a core
/// in a program built without optimisation.
const LONGEST: Duration = Duration::from_micros(1500);

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
    start: Instant,
    next: Duration,
    looks: u32,
    moved: u64,
}

impl Nap {
    pub(crate) fn new() -> Nap {
        Nap {
            start: Instant::now(),
            next: SHORTEST,
            looks: 0,
            moved: 0,
        }
    }

    /// Nothing has come: looks away, or not. Whether it did: then it is to be looked at twice, as MPICH 4 finds in one look what
    /// has come, and tells of it in the next. Else what came meanwhile would wait for the next nap.
    #[must_use]
    pub(crate) fn take(
        &mut self,
        bell: &Bell,
        at_most: Option<Duration>,
        under_way: UnderWay,
    ) -> bool {
        if under_way.moved != self.moved {
            *self = Nap {
                moved: under_way.moved,
                ..Nap::new()
            };
        }
        let bytes = u32::try_from(under_way.bytes).unwrap_or(u32::MAX);
        if self.start.elapsed() < EAGER + A_BYTE * bytes {
            self.looks += 1;
            if self.looks.is_multiple_of(OFFERED) {
                thread::yield_now();
            }
            return false;
        }
        let time = at_most.map_or(self.next, |at_most| at_most.min(self.next));
        bell.wait(time);
        self.next = (self.next * 2).min(LONGEST);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use graphmap_runtime::between::Doorbell;

    /// A bell that has rung, so that nobody sleeps.
    fn bell() -> Bell {
        let bell = Bell::default();
        bell.ring();
        bell
    }

    fn late(nap: &mut Nap) {
        nap.start -= Duration::from_secs(3600);
    }

    #[test]
    fn what_moves_is_looked_at_anew() {
        let (bell, mut nap) = (bell(), Nap::new());
        late(&mut nap);
        let mut under_way = UnderWay::default();
        for _ in 0..2 {
            assert!(nap.take(&bell, None, under_way));
        }
        assert_eq!(nap.next, 4 * SHORTEST);
        under_way.moved += 1;
        assert!(!nap.take(&bell, None, under_way));
        assert_eq!(nap.next, SHORTEST);
        assert!(!nap.take(&bell, None, under_way));
        assert_eq!(nap.next, SHORTEST);
    }

    #[test]
    fn what_is_large_is_waited_for_longer() {
        let (bell, mut nap) = (bell(), Nap::new());
        late(&mut nap);
        let under_way = UnderWay {
            bytes: usize::MAX,
            moved: 0,
        };
        let day = Duration::from_secs(86_400);
        assert!(A_BYTE * u32::MAX < day);
        nap.start += Duration::from_secs(3590);
        assert!(!nap.take(&bell, None, under_way));
        assert_eq!(nap.next, SHORTEST);
        nap.start -= day;
        assert!(nap.take(&bell, None, under_way));
        assert_eq!(nap.next, 2 * SHORTEST);
    }
}
