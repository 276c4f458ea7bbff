//! That nothing moves any more: found by counting, as no memory is shared (F. Mattern, "Algorithms for distributed
//! termination detection", 1987: the four counter method).
//!
//! OS process 0 asks all how many frames they have sent and received; each answers when it has nothing to
//! do. When all have answered it asks once more. If as many were received before as were sent until after, then at
//! the end of the first wave nobody did anything and nothing was on its way, and so it has been since.
//!
//! Nobody is asked again and again while others work: who works answers when it has done. A wave in vain is
//! followed by a pause that doubles.

use std::time::{Duration, Instant};

/// First pause after a wave in vain, and the longest.
const SHORTEST: Duration = Duration::from_micros(20);
const LONGEST: Duration = Duration::from_millis(1);

/// What an OS process answers, or all together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Counts {
    pub(crate) sent: u64,
    pub(crate) received: u64,
    /// Something has run since the last time that all was looked at.
    pub(crate) stirred: bool,
}

/// What comes of a wave.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// Not all have answered.
    Nothing,
    /// Somebody has worked meanwhile.
    Work,
    /// Nothing moves; whether something has run since the last time.
    Standstill(bool),
}

/// The waves, as OS process 0 has them.
pub(crate) struct Waves {
    number: u32,
    /// How many are still to answer.
    awaited: usize,
    /// What those have said who have answered, and what all have said in the wave before.
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

    /// Begins a wave, if none is under way and it is time: its number. `me`: the counts of OS process 0, which has
    /// nothing to do at the moment; `others`: how many others there are.
    pub(crate) fn begin(&mut self, now: Instant, me: Counts, others: usize) -> Option<u32> {
        if self.awaited > 0 || self.next.is_some_and(|next| now < next) {
            return None;
        }
        self.number = self.number.wrapping_add(1);
        self.awaited = others;
        self.now = me;
        Some(self.number)
    }

    /// An answer has come.
    pub(crate) fn answer(&mut self, number: u32, counts: Counts) -> Found {
        if number != self.number || self.awaited == 0 {
            return Found::Nothing;
        }
        self.awaited -= 1;
        self.now.sent = self.now.sent.wrapping_add(counts.sent);
        self.now.received = self.now.received.wrapping_add(counts.received);
        self.now.stirred |= counts.stirred;
        self.found()
    }

    /// What comes of it, when all have answered.
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
            self.again();
            return Found::Standstill(now.stirred);
        }
        if now.sent == now.received {
            // The second wave comes at once.
            self.before = Some(now);
            self.next = None;
        } else {
            self.before = None;
            self.pause = (self.pause * 2).clamp(SHORTEST, LONGEST);
            self.next = Some(Instant::now() + self.pause);
        }
        Found::Work
    }

    /// What was counted is of no use any more.
    pub(crate) fn again(&mut self) {
        self.before = None;
        self.pause = Duration::ZERO;
        self.next = None;
    }

    /// How long there is nothing to do, if that is known.
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

    /// A number that looks random.
    fn next(state: &mut u64) -> u64 {
        *state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        *state >> 33
    }

    /// Some OS processes that send each other frames, for as long as they have any left to send.
    #[derive(Default, Clone)]
    struct One {
        counts: Counts,
        asked: Option<u32>,
        works: bool,
    }

    #[test]
    fn a_standstill_is_found_when_there_is_one_and_never_before() {
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
                        // Frames of different pairs overtake each other.
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
                            && let Found::Standstill(_) = waves.answer(number, counts)
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
    fn one_alone_is_found_too() {
        let mut waves = Waves::new();
        let me = Counts {
            stirred: true,
            ..Counts::default()
        };
        assert_eq!(waves.begin(Instant::now(), me, 0), Some(1));
        assert_eq!(waves.found(), Found::Work);
        assert_eq!(waves.begin(Instant::now(), me, 0), Some(2));
        assert_eq!(waves.found(), Found::Standstill(true));
    }
}
