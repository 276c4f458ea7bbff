//! Tells somebody who waits at a terminal that work goes on.

use super::args::MessageFormat;
use super::session::Session;
use super::talk;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// Work shorter than this is not worth a word.
const LONG: Duration = Duration::from_millis(500);

/// While it lives, and when it lives long enough, a line on the terminal says what is being done.
pub(crate) struct Progress {
    thread: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Progress {
    pub(crate) fn start(session: &Session<'_>, what: &'static str) -> Progress {
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
            let _ = wait.recv();
            bar.finish_and_clear();
        });
        Progress {
            thread: Some((done, thread)),
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
