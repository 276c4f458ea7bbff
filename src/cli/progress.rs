//! Shows progress on the terminal.

use super::args::MessageFormat;
use super::session::Session;
use super::talk;
use crate::cli::signals;
use graphmap_partition::Watch;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Minimum duration of work that is shown, and the interval of updates.
const LONG: Duration = Duration::from_millis(500);

/// Interval at which signals are polled.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Shows a line about the work on the terminal, from [`LONG`] after its creation until it is
/// dropped.
pub(crate) struct Progress {
    thread: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Progress {
    /// Starts to show progress in a thread. The line contains the best result so far if there is a
    /// `watch`, and the remaining time if `time` limits the work. Shows nothing if messages do not
    /// go to a terminal, or with `--quiet` or messages as JSON.
    pub(crate) fn start(
        session: &Session<'_>,
        what: &'static str,
        watch: Option<&Arc<Watch>>,
        time: Option<Duration>,
    ) -> Progress {
        let wanted = talk::on_terminal()
            && !session.common.quiet
            && session.common.message_format == MessageFormat::Human;
        if !wanted {
            return Progress { thread: None };
        }
        let end = time.map(|t| Instant::now() + t);
        let watch = watch.cloned();
        let (done, wait) = channel();
        let thread = std::thread::spawn(move || {
            if wait.recv_timeout(LONG) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            let start = Instant::now();
            loop {
                let left = end.map(|end| end.saturating_duration_since(Instant::now()));
                let status_line = status_line(what, watch.as_ref().and_then(|w| w.best()), left);
                let seconds = (LONG + start.elapsed()).as_secs();
                talk::say_over(&format!("{status_line} ({seconds}s)"));
                if wait.recv_timeout(LONG) != Err(RecvTimeoutError::Timeout) {
                    break;
                }
            }
            talk::say_over("");
        });
        Progress {
            thread: Some((done, thread)),
        }
    }
}

/// Returns the line: the work, the best result so far, and the remaining time. If there is a
/// result, the line adds that Ctrl-C uses it.
fn status_line(what: &str, best: Option<f64>, left: Option<Duration>) -> String {
    let mut text = what.to_owned();
    if let Some(best) = best {
        text += &format!(": {best} so far");
    }
    if let Some(left) = left {
        text += &format!(", {:.1} s left", left.as_secs_f64());
    }
    if best.is_some() {
        text += ", Ctrl-C uses it";
    }
    text
}

/// Ends a search on the first signal, so that its best result is used. The second signal ends
/// graphmap. Active until it is dropped.
pub(crate) struct Patience {
    _guard: signals::Guard,
    watch: Arc<Watch>,
    thread: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Patience {
    pub(crate) fn new() -> Patience {
        let enough = Arc::new(AtomicBool::new(false));
        let watch = Arc::new(Watch::new(Arc::clone(&enough)));
        let guard = signals::Guard::new();
        let (done, wait) = channel();
        let thread = std::thread::spawn(move || {
            while wait.recv_timeout(POLL_INTERVAL) == Err(RecvTimeoutError::Timeout) {
                if signals::take_interrupt() {
                    enough.store(true, Ordering::Relaxed);
                    return;
                }
            }
        });
        Patience {
            _guard: guard,
            watch,
            thread: Some((done, thread)),
        }
    }

    pub(crate) fn watch(&self) -> &Arc<Watch> {
        &self.watch
    }
}

impl Drop for Patience {
    fn drop(&mut self) {
        if let Some((done, thread)) = self.thread.take() {
            drop(done);
            let _ = thread.join();
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((done, thread)) = self.thread.take() {
            drop(done);
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_cost_and_remaining_time_are_shown() {
        let left = Some(Duration::from_millis(2500));
        assert_eq!(status_line("mapping", None, None), "mapping");
        assert_eq!(status_line("mapping", None, left), "mapping, 2.5 s left");
        assert_eq!(
            status_line("mapping", Some(12.0), left),
            "mapping: 12 so far, 2.5 s left, Ctrl-C uses it"
        );
    }
}
