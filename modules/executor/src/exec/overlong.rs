//! Processes whose turns last so long that the others of their scheduler wait for them.
//!
//! Seen from another thread, by what a scheduler writes anyway: which process it runs, and, once for each batch of turns, how many
//! batches there were. So a process that lets others run now and then may be told too, if a whole batch of turns is mostly its own:
//! nobody is woken from outside meanwhile.

use std::time::{Duration, Instant};

/// How long a batch of turns lasts before it is told, and how many times longer the next time.
const LONG: Duration = Duration::from_secs(10);
const LONGER: u32 = 4;

/// What was seen of the schedulers of an OS process.
#[derive(Default)]
pub(super) struct Overlong(Vec<Seen>);

struct Seen {
    /// Batch and process, and since when it was these at each look.
    at_work: Option<(u32, u32)>,
    since: Instant,
    patience: Duration,
}

impl Overlong {
    /// Looks at what each scheduler runs now. Tells scheduler and process, and for how long that has run, where `others` of it can run.
    pub(super) fn look(
        &mut self,
        now: Instant,
        at_work: &[Option<(u32, u32)>],
        others: impl Fn(usize, u32) -> bool,
    ) -> Vec<(usize, u32, Duration)> {
        let never = || Seen {
            at_work: None,
            since: now,
            patience: LONG,
        };
        self.0.resize_with(at_work.len(), never);
        let mut told = Vec::new();
        for (scheduler, (seen, &at_work)) in self.0.iter_mut().zip(at_work).enumerate() {
            if seen.at_work != at_work {
                (seen.at_work, seen.since) = (at_work, now);
                continue;
            }
            let lasted = now.duration_since(seen.since);
            if let Some((_, process)) = at_work
                && lasted >= seen.patience
                && others(scheduler, process)
            {
                seen.patience = seen.patience.saturating_mul(LONGER);
                told.push((scheduler, process, lasted));
            }
        }
        told
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_runs_for_long_is_told_ever_more_rarely() {
        let (mut seen, start) = (Overlong::default(), Instant::now());
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        let mut look = |seconds: u64, work: &[Option<(u32, u32)>]| {
            // Alone in the fourth minute.
            let told = seen.look(at(seconds), work, |_, _| !(180..240).contains(&seconds));
            told.into_iter()
                .map(|(scheduler, process, lasted)| (scheduler, process, lasted.as_secs()))
                .collect::<Vec<_>>()
        };
        let none: Vec<(usize, u32, u64)> = Vec::new();
        assert_eq!(look(0, &[Some((5, 3)), None]), none);
        // Another batch, another process, nobody.
        assert_eq!(look(9, &[Some((6, 3)), None]), none);
        assert_eq!(look(12, &[Some((6, 4)), None]), none);
        assert_eq!(look(21, &[Some((6, 4)), None]), none);
        assert_eq!(look(22, &[Some((6, 4)), Some((1, 0))]), [(0, 4, 10)]);
        assert_eq!(look(33, &[Some((6, 4)), Some((1, 0))]), [(1, 0, 11)]);
        assert_eq!(look(51, &[Some((6, 4)), None]), none);
        assert_eq!(look(52, &[Some((6, 4)), None]), [(0, 4, 40)]);
        assert_eq!(look(60, &[Some((7, 4)), None]), none);
        // It is not told for each process anew.
        assert_eq!(look(100, &[Some((7, 4)), None]), none);
        // Who keeps nobody from running is not told, until he does.
        assert_eq!(look(239, &[Some((7, 4)), None]), none);
        assert_eq!(look(240, &[Some((7, 4)), None]), [(0, 4, 180)]);
    }
}
