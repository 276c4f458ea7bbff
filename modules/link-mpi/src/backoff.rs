//! The pause between two polls of MPI, which does not wake a waiting thread.
//!
//! A thread that has just received a message polls without a pause, and yields its core in between.
//! The longer no message arrives, the longer it sleeps, up to [`MOST`].

use std::time::{Duration, Instant};

/// Time for which MPI is polled without a pause. It is several times the round trip over TCP, and
/// longer than the shortest sleep of the other side, to which the kernel adds 50 µs. Otherwise one
/// late answer would make two sides that answer each other sleep before every later answer.
const EAGER: Duration = Duration::from_micros(200);
/// Addition to [`EAGER`] for each byte in transit, because MPI moves large messages only when it is
/// called. It is the transfer time of a byte on a network of one gigabit per second.
const A_BYTE: Duration = Duration::from_nanos(10);
/// Number of polls after which the clock is read and the core is yielded, because each of these
/// takes as long as several polls.
const POLLS: u32 = 8;
/// A sleep is this fraction of the time for which no message has come, up to [`LONGEST`].
const PART: u32 = 8;
const SHORTEST: Duration = Duration::from_micros(50);
/// A message after a tenth of a second of silence is late by half of this on average.
const LONGEST: Duration = Duration::from_micros(1500);
/// Beyond [`LONGEST`], a sleep is this fraction of the time. Polling every 1.5 ms took 1.8% of a
/// core. Polling every 10 ms takes 0.3%.
const SLOWLY: u32 = 256;
const MOST: Duration = Duration::from_millis(10);

/// Data in transit.
#[derive(Clone, Copy, Default)]
pub(crate) struct UnderWay {
    /// Number of bytes in transit, sent or received.
    pub(crate) bytes: usize,
    /// Number of messages that have begun or ended so far.
    pub(crate) moved: u64,
}

/// Time since the last message began or ended, and the number of polls.
#[derive(Default)]
pub(crate) struct Backoff {
    start: Option<Instant>,
    polls: u32,
    moved: u64,
}

impl Backoff {
    /// Returns true if MPI should be polled again before the clock is read. Must be called after a
    /// poll that found no message.
    ///
    /// Returns false at every eighth call, and at each call after [`Backoff::pause`] has returned a
    /// time to sleep.
    pub(crate) fn polls_again(&mut self) -> bool {
        self.polls += 1;
        !self.polls.is_multiple_of(POLLS)
    }

    /// Returns the time to sleep before the next poll. Zero means not to sleep.
    ///
    /// The silence is the time since a call in which `under_way.moved` had changed, or since the
    /// first call. A silence of less than 200 µs, plus 10 ns for each byte in transit, gives zero.
    /// A longer silence gives an eighth of it, at least 50 µs and at most 10 ms.
    pub(crate) fn pause(&mut self, now: Instant, under_way: UnderWay) -> Duration {
        if under_way.moved != self.moved {
            (self.start, self.moved) = (None, under_way.moved);
        }
        let silence = now.saturating_duration_since(*self.start.get_or_insert(now));
        let bytes = u32::try_from(under_way.bytes).unwrap_or(u32::MAX);
        if silence < EAGER + A_BYTE * bytes {
            return Duration::ZERO;
        }
        // From now on the clock is read after every poll.
        self.polls = POLLS - 1;
        let longest = (silence / SLOWLY).clamp(LONGEST, MOST);
        (silence / PART).clamp(SHORTEST, longest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_with_the_silence_and_start_again_when_something_moves() {
        let (mut backoff, mut under_way) = (Backoff::default(), UnderWay::default());
        let start = Instant::now();
        let at = |micros| start + Duration::from_micros(micros);
        let mut pause = |micros, under_way| backoff.pause(at(micros), under_way).as_micros();
        assert_eq!([pause(0, under_way), pause(199, under_way)], [0, 0]);
        assert_eq!([pause(200, under_way), pause(800, under_way)], [50, 100]);
        assert_eq!(pause(300_000, under_way), LONGEST.as_micros());
        assert_eq!(pause(1_024_000, under_way), 4000);
        assert_eq!(pause(10_000_000, under_way), MOST.as_micros());
        under_way.moved += 1;
        assert_eq!(pause(11_000_000, under_way), 0);
        assert_eq!(pause(11_000_300, under_way), 50);
    }

    #[test]
    fn messages_under_way_are_polled_for_longer() {
        let (mut backoff, start) = (Backoff::default(), Instant::now());
        let under_way = UnderWay {
            bytes: 1 << 20,
            moved: 0,
        };
        let mut pause = |millis| backoff.pause(start + Duration::from_millis(millis), under_way);
        assert_eq!([pause(0), pause(10)], [Duration::ZERO; 2]);
        assert!(pause(11) > Duration::ZERO);
    }

    #[test]
    fn the_clock_is_read_after_some_polls_and_after_each_pause() {
        let mut backoff = Backoff::default();
        let again: Vec<bool> = (1..=16).map(|_| backoff.polls_again()).collect();
        let expected: Vec<bool> = (1..=16).map(|poll| poll % POLLS != 0).collect();
        assert_eq!(again, expected);
        let start = Instant::now();
        for seconds in 0..3 {
            let now = start + Duration::from_secs(seconds);
            let _ = backoff.pause(now, UnderWay::default());
        }
        assert!(!backoff.polls_again());
    }
}
