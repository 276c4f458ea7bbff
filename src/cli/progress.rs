//! Tells somebody who waits at a terminal that work goes on.

use super::args::MessageFormat;
use super::session::Session;
use super::talk;
use crate::signals;
use graphmap_partition::Watch;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Work shorter than this is not worth a word.
const LONG: Duration = Duration::from_millis(500);

/// How often it is looked whether somebody has had enough.
const LOOK: Duration = Duration::from_millis(50);

/// While it lives, and when it lives long enough, a line on the terminal says what is being done.
pub(crate) struct Progress {
    thread: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Progress {
    /// Of work that can be watched the line tells how good the best is so far.
    pub(crate) fn start(
        session: &Session<'_>,
        what: &'static str,
        watch: Option<&'static Watch>,
    ) -> Progress {
        let wanted = talk::on_terminal()
            && !session.common.quiet
            && session.common.message_format == MessageFormat::Human;
        if !wanted {
            return Progress { thread: None };
        }
        let (done, wait) = channel();
        let thread = std::thread::spawn(move || {
            if wait.recv_timeout(LONG) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
            if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} ({elapsed})") {
                bar.set_style(style);
            }
            bar.set_message(what);
            bar.enable_steady_tick(Duration::from_millis(100));
            while wait.recv_timeout(LONG) == Err(RecvTimeoutError::Timeout) {
                if let Some(best) = watch.and_then(Watch::best) {
                    bar.set_message(format!("{what}: {best} so far, Ctrl-C takes it"));
                }
            }
            bar.finish_and_clear();
        });
        Progress {
            thread: Some((done, thread)),
        }
    }
}

/// While it lives, Ctrl-C (or `kill`) ends a search, whose best is then used; the second ends us.
pub(crate) struct Patience {
    _guard: signals::Guard,
    watch: &'static Watch,
    thread: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Patience {
    pub(crate) fn new() -> Patience {
        let enough = Arc::new(AtomicBool::new(false));
        // One a run of the command: nothing is lost by never giving it back.
        let watch = Box::leak(Box::new(Watch::new(Arc::clone(&enough))));
        let guard = signals::Guard::new();
        let (done, wait) = channel();
        let thread = std::thread::spawn(move || {
            while wait.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
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

    pub(crate) fn watch(&self) -> &'static Watch {
        self.watch
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
