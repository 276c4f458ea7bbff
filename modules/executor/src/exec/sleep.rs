//! The futures of processes that sleep, and the wake-ups when their timers are due.
//!
//! The first poll of a future sets its timer, so a future that is not awaited keeps no network
//! waiting. Dropping the future removes the timer.

use super::current;
use super::report::WaitingCall;
use super::scheduler::Scheduler;
use super::timers::Key;
use super::timers::Timer;
use super::timers::Timers;
use super::wait_graph::UNKNOWN;
use crate::link::waiter::ARMED;
use crate::link::waiter::NO_ID;
use std::fmt;
use std::future::poll_fn;
use std::marker::PhantomData;
use std::panic::Location;
use std::pin::Pin;
use std::task::Context;
use std::task::Poll;
use std::task::ready;
use std::time::Duration;
use std::time::Instant;

/// Time after which a sleep ends whose end is too far away for an `Instant`: 30 years.
const FAR: Duration = Duration::from_secs(30 * 365 * 24 * 60 * 60);

/// Returns the time after a duration, or in about 30 years if that is too far away.
fn after(start: Instant, duration: Duration) -> Instant {
    start.checked_add(duration).unwrap_or_else(|| start + FAR)
}

impl Scheduler {
    /// Wakes the processes and hooks whose timers are due. Has no effect if no timer is set.
    #[inline]
    pub(super) fn fire_timers(&self) {
        if !self.timers.is_empty() {
            self.fire_due_timers(Instant::now());
        }
    }

    #[inline(never)]
    fn fire_due_timers(&self, now: Instant) {
        while let Some(id) = self.timers.pop_due(now) {
            // The wait of another process may be a deadlock now, even if this id wakes none.
            self.ran.set(true);
            self.wake(id);
        }
    }

    /// Sets the timer with a key for the process or task that polls with this context, or changes
    /// the id that it wakes. May call user code, because it may clone a waker.
    fn set_timer(&self, key: Key, place: &'static Location<'static>, context: &Context<'_>) {
        let word = self.timers.id(key).map_or(NO_ID, |id| ARMED | id);
        let id = self.waiter(context, word, Timers::owner(key.1));
        self.timers.set(key, Timer { id, place });
    }

    /// Removes the timer with a key, because nothing waits for it any more. Has no effect if it is
    /// not set.
    fn cancel_timer(&self, key: Key) {
        if let Some(id) = self.timers.remove(key) {
            self.unhook(ARMED | id, Timers::owner(key.1));
            // The waits of other processes may be a deadlock now.
            self.ran.set(true);
        }
    }

    /// Returns a call for each timer that a process of this scheduler waits for, except for
    /// processes that have been woken.
    pub(super) fn sleeps(&self) -> Vec<WaitingCall> {
        let asleep = |id: u32| {
            let process = self.hooks.process(id)?;
            let header = self.header(process)?;
            (!header.is_queued()).then(|| self.rank(process)).flatten()
        };
        let sleeps = self.timers.all().into_iter().filter_map(|timer| {
            Some(WaitingCall {
                rank: asleep(timer.id)?,
                peer: UNKNOWN,
                text: "sleep".to_string(),
                place: timer.place.into(),
            })
        });
        sleeps.collect()
    }
}

/// The future of [`sleep`] and [`sleep_until`].
///
/// It also is a source of `select!`, as in `() = pause => ..`. There it is ready once, and has
/// ended afterwards.
#[must_use = "this does nothing unless it is awaited"]
pub struct Sleep {
    until: Instant,
    place: &'static Location<'static>,
    /// The run in which the timer was set, and the number of the timer.
    timer: Option<(u64, u64)>,
    ended: bool,
    /// A timer belongs to the scheduler of a thread.
    thread: PhantomData<*const ()>,
}

impl fmt::Debug for Sleep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sleep")
            .field("until", &self.until)
            .finish_non_exhaustive()
    }
}

/// Lets the process sleep for a duration, at least. Other processes of its scheduler run meanwhile,
/// in contrast to `std::thread::sleep`, which blocks the thread with all of them.
///
/// The duration begins with this call, not when the future is first polled. The process is polled
/// at the first opportunity after its end. A scheduler without other work sleeps until then. A
/// duration that has ended at the first poll does not let other processes run: see
/// [`yield_now`](crate::yield_now). A duration that is too long for an `Instant` is 30 years.
///
/// While a process sleeps, a network in which all others wait is not in a deadlock, and does not
/// count as quiet ([`Options::on_quiet`](crate::Options::on_quiet)). If the future is dropped, the
/// sleep is over.
///
/// # Panics
/// The future panics if it must wait outside of a run.
///
/// ```
/// use graphmap_runtime::{Local, Options, sleep};
/// use std::time::{Duration, Instant};
///
/// let mut net = Local::new();
/// net.spawn(async {
///     let start = Instant::now();
///     sleep(Duration::from_millis(5)).await;
///     assert!(start.elapsed() >= Duration::from_millis(5));
/// });
/// net.run(&Options::new()).unwrap();
/// ```
#[track_caller]
pub fn sleep(duration: Duration) -> Sleep {
    sleep_until(after(Instant::now(), duration))
}

/// Lets the process sleep until a time, as [`sleep`] does. The future is ready at its first poll if
/// the time has passed.
///
/// # Panics
/// The future panics if it must wait outside of a run.
#[track_caller]
pub fn sleep_until(until: Instant) -> Sleep {
    Sleep::new(until, Location::caller())
}

impl Sleep {
    fn new(until: Instant, place: &'static Location<'static>) -> Self {
        Sleep {
            until,
            place,
            timer: None,
            ended: false,
            thread: PhantomData,
        }
    }

    /// Returns the time until which the process sleeps.
    pub fn until(&self) -> Instant {
        self.until
    }

    /// Polls the sleep as a source: returns `Ready(None)` if an earlier poll was ready.
    #[doc(hidden)]
    pub fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<()>> {
        if self.ended {
            return Poll::Ready(None);
        }
        Pin::new(self).poll(context).map(Some)
    }

    /// Removes the timer. The next poll sets it again.
    #[doc(hidden)]
    pub fn turn_away(&mut self) {
        if let Some((run, number)) = self.timer.take() {
            current::with_run(run, |scheduler| {
                scheduler.cancel_timer((self.until, number))
            });
        }
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = self.get_mut();
        if this.ended || Instant::now() >= this.until {
            this.turn_away();
            this.ended = true;
            return Poll::Ready(());
        }
        let set = current::with_current(|scheduler| {
            if this.timer.is_some_and(|(run, _)| run != scheduler.run()) {
                this.turn_away();
            }
            let number = match this.timer {
                Some((_, number)) => number,
                None => scheduler.timers.next_number(),
            };
            scheduler.set_timer((this.until, number), this.place, context);
            this.timer = Some((scheduler.run(), number));
        });
        set.expect("a sleep was awaited outside a process of a run");
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        self.turn_away();
    }
}

/// A timer that is due at regular times. [`interval`] creates it.
///
/// It also is a source of `select!`, as in `due = ticks => ..`, and does not keep it waiting when
/// all streams have ended.
#[derive(Debug)]
pub struct Interval {
    sleep: Sleep,
    period: Duration,
}

/// Creates a timer that is due at regular times: one period after this call, and then after each
/// further period.
///
/// # Panics
/// If the period is zero.
///
/// ```
/// use graphmap_runtime::{Local, Options, interval, select};
/// use std::time::Duration;
///
/// let mut net = Local::new();
/// let (mut out, mut input) = net.channel::<u32>(1);
/// net.spawn(async move {
///     let mut ticks = interval(Duration::from_millis(1));
///     for n in 0..3 {
///         ticks.tick().await;
///         out.write(n).await?;
///     }
///     Ok::<(), graphmap_runtime::Stopped>(())
/// });
/// net.spawn(async move {
///     let (mut ticks, mut sum) = (interval(Duration::from_millis(2)), 0);
///     loop {
///         select! {
///             n = input => sum += n,
///             _due = ticks => println!("{sum} so far"),
///             else => break,
///         }
///     }
///     assert_eq!(sum, 3);
/// });
/// net.run(&Options::new()).unwrap();
/// ```
#[track_caller]
pub fn interval(period: Duration) -> Interval {
    assert!(period > Duration::ZERO, "the period of an interval is zero");
    Interval {
        sleep: sleep(period),
        period,
    }
}

impl Interval {
    /// Lets the process sleep until the timer is due, as [`sleep`] does, and returns the time at
    /// which it was due. If several of its times have passed since the last call, returns the first
    /// of them and skips the others. If the future is dropped, the next call waits for the same
    /// time.
    ///
    /// # Panics
    /// The future panics if it must wait outside of a run.
    pub async fn tick(&mut self) -> Instant {
        struct Ticking<'a>(&'a mut Interval);
        impl Drop for Ticking<'_> {
            fn drop(&mut self) {
                self.0.turn_away();
            }
        }
        let ticking = Ticking(self);
        poll_fn(|context| ticking.0.poll_tick(context)).await
    }

    /// Returns the time between two ticks.
    pub fn period(&self) -> Duration {
        self.period
    }

    #[doc(hidden)]
    pub fn poll_tick(&mut self, context: &mut Context<'_>) -> Poll<Instant> {
        ready!(Pin::new(&mut self.sleep).poll(context));
        let due = self.sleep.until;
        let next = next_tick(due, self.period, Instant::now());
        self.sleep = Sleep::new(next, self.sleep.place);
        Poll::Ready(due)
    }

    /// Removes the timer. The next poll sets it again.
    #[doc(hidden)]
    pub fn turn_away(&mut self) {
        self.sleep.turn_away();
    }
}

/// Returns the first time after `now` that is a multiple of the period after `due`. `period` must
/// not be zero.
fn next_tick(due: Instant, period: Duration, now: Instant) -> Instant {
    let since = now.saturating_duration_since(due).as_nanos() % period.as_nanos();
    // The remainder is less than the period, so it fits.
    let since = Duration::new(
        (since / 1_000_000_000) as u64,
        (since % 1_000_000_000) as u32,
    );
    after(now.max(due), period - since)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missed_ticks_are_skipped() {
        let due = Instant::now();
        let ms = Duration::from_millis;
        for (late, next) in [(0, 10), (1, 10), (9, 10), (10, 20), (11, 20), (1009, 1010)] {
            assert_eq!(
                next_tick(due, ms(10), due + ms(late)),
                due + ms(next),
                "{late}"
            );
        }
        // Never early, because the clock does not go back.
        assert_eq!(next_tick(due + ms(5), ms(10), due), due + ms(15));
        assert!(next_tick(due, Duration::MAX, due) > due + ms(1000));
    }
}
