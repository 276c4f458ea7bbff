//! Detection of quiescence between OS processes without shared memory, by counting frames (F.
//! Mattern, "Algorithms for distributed termination detection", 1987: the four counter method).
//!
//! In a *wave*, OS process 0 asks all others how many frames they have sent and received. Each one
//! answers when it is idle. When all have answered, OS process 0 begins a second wave. Suppose that
//! the number of frames received by the first wave equals the number sent by the second. Then no OS
//! process was running and no frame was in transit at the end of the first wave. This has not
//! changed since.
//!
//! An OS process that is running answers only when it is idle, so it is not asked repeatedly. After
//! an unsuccessful wave there is a pause, which doubles each time.

use std::time::{Duration, Instant};

/// First pause after an unsuccessful wave, and the longest.
const SHORTEST: Duration = Duration::from_micros(20);
const LONGEST: Duration = Duration::from_millis(1);

/// Counts of one OS process, or of all together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Counts {
    pub(crate) sent: u64,
    pub(crate) received: u64,
    /// True if a process has run since the last examination of all schedulers.
    pub(crate) has_activity: bool,
}

/// Result of a wave.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// Not all OS processes have answered.
    Nothing,
    /// An OS process has run meanwhile.
    Work,
    /// Quiescence. True if a process has run since the last examination.
    Quiescence(bool),
}

/// State of the waves on OS process 0.
pub(crate) struct Waves {
    number: u32,
    /// Number of missing answers.
    awaited: usize,
    /// Sum of the answers of this wave, and of the last one if it was successful.
    now: Counts,
    before: Option<Counts>,
    pause: Duration,
    next: Option<Instant>,
}

impl Waves {
    pub(crate) fn new() -> Waves {
        Waves {
            number: 0,
            awaited: 0,
            now: Counts::default(),
            before: None,
            pause: Duration::ZERO,
            next: None,
        }
    }

    /// Begins a wave, and returns its number. Returns `None` if a wave is in progress or the pause
    /// has not passed. `me` contains the counts of OS process 0, which is idle. `others` is the
    /// number of other OS processes.
    pub(crate) fn begin(&mut self, now: Instant, me: Counts, others: usize) -> Option<u32> {
        if self.awaited > 0 || self.next.is_some_and(|next| now < next) {
            return None;
        }
        self.number = self.number.wrapping_add(1);
        self.awaited = others;
        self.now = me;
        Some(self.number)
    }

    /// Adds the counts of an OS process that answers wave `number`. Returns the result of the wave.
    /// It is [`Found::Nothing`] if answers are missing, and for an answer to another wave.
    pub(crate) fn answer(&mut self, number: u32, counts: Counts) -> Found {
        if number != self.number || self.awaited == 0 {
            return Found::Nothing;
        }
        self.awaited -= 1;
        self.now.sent = self.now.sent.wrapping_add(counts.sent);
        self.now.received = self.now.received.wrapping_add(counts.received);
        self.now.has_activity |= counts.has_activity;
        self.found()
    }

    /// Returns the result of the wave, and prepares the next one. Returns [`Found::Nothing`],
    /// without an effect, if answers are missing.
    ///
    /// Returns [`Found::Quiescence`], and discards the counts, if four numbers are equal: the
    /// frames sent and received in this wave, and in the wave before it. Otherwise returns
    /// [`Found::Work`]. The next wave may begin at once if the frames sent and received in this
    /// wave are equal in number, and else after a pause.
    pub(crate) fn found(&mut self) -> Found {
        if self.awaited > 0 {
            return Found::Nothing;
        }
        let now = self.now;
        if let Some(before) = self.before
            && before.received == now.sent
            && before.sent == now.received
            && before.sent == before.received
        {
            self.reset();
            return Found::Quiescence(now.has_activity);
        }
        if now.sent == now.received {
            // The second wave begins at once.
            self.before = Some(now);
            self.next = None;
        } else {
            self.before = None;
            self.pause = (self.pause * 2).clamp(SHORTEST, LONGEST);
            self.next = Some(Instant::now() + self.pause);
        }
        Found::Work
    }

    /// Discards the counts and the pause, so that the next wave is a first one and may begin at
    /// once.
    pub(crate) fn reset(&mut self) {
        self.before = None;
        self.pause = Duration::ZERO;
        self.next = None;
    }

    /// Returns the time until the next wave may begin, which is zero when the pause has passed.
    /// Returns `None` if a wave is in progress, or if there is no pause.
    pub(crate) fn rest(&self, now: Instant) -> Option<Duration> {
        match self.awaited {
            0 => self.next.map(|next| next.saturating_duration_since(now)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a pseudo-random number.
    fn next(state: &mut u64) -> u64 {
        *state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        *state >> 33
    }

    /// An OS process that sends frames to others while the budget lasts.
    #[derive(Default, Clone)]
    struct One {
        counts: Counts,
        asked: Option<u32>,
        works: bool,
    }

    #[test]
    fn quiescence_is_detected_and_never_too_early() {
        for seed in 0..300u64 {
            let mut random = seed;
            let count = 2 + next(&mut random) as usize % 4;
            let mut all = vec![One::default(); count];
            all.iter_mut().for_each(|one| one.works = true);
            let mut frames: Vec<usize> = Vec::new();
            let mut answers: Vec<(u32, Counts)> = Vec::new();
            let mut waves = Waves::new();
            let mut budget = 60;
            let mut found = false;
            for _ in 0..100_000 {
                let who = next(&mut random) as usize % count;
                match next(&mut random) % 4 {
                    0 if all[who].works && budget > 0 => {
                        budget -= 1;
                        all[who].counts.sent += 1;
                        frames.push(next(&mut random) as usize % count);
                    }
                    0 | 1 => all[who].works = false,
                    2 if !frames.is_empty() => {
                        // Frames of different pairs may overtake each other.
                        let at = next(&mut random) as usize % frames.len();
                        let to = frames.swap_remove(at);
                        all[to].counts.received += 1;
                        all[to].works = true;
                    }
                    _ => {
                        waves.next = None;
                        if !all[0].works
                            && let Some(number) =
                                waves.begin(Instant::now(), all[0].counts, count - 1)
                        {
                            all[1..].iter_mut().for_each(|one| one.asked = Some(number));
                        }
                        if !all[who].works
                            && let Some(number) = all[who].asked.take()
                        {
                            answers.push((number, all[who].counts));
                        }
                        if let Some((number, counts)) = answers.pop()
                            && let Found::Quiescence(_) = waves.answer(number, counts)
                        {
                            assert!(frames.is_empty(), "seed {seed}");
                            assert!(all.iter().all(|one| !one.works), "seed {seed}");
                            found = true;
                            break;
                        }
                    }
                }
            }
            assert!(found, "seed {seed}");
        }
    }

    #[test]
    fn quiescence_of_one_os_process_is_detected() {
        let mut waves = Waves::new();
        let me = Counts {
            has_activity: true,
            ..Counts::default()
        };
        assert_eq!(waves.begin(Instant::now(), me, 0), Some(1));
        assert_eq!(waves.found(), Found::Work);
        assert_eq!(waves.begin(Instant::now(), me, 0), Some(2));
        assert_eq!(waves.found(), Found::Quiescence(true));
    }
}
