//! Signals that ask this OS process to end or to report.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// Returns the flag that signals set while a [`Guard`] exists. It stays set until
/// [`take_interrupt`] clears it.
pub(crate) fn interrupt() -> Arc<AtomicBool> {
    Arc::clone(&signals().interrupt)
}

/// Returns the last signal that arrived while a [`Guard`] existed. Returns `None` if none arrived,
/// or if [`take_interrupt`] has cleared it.
pub(crate) fn interrupted() -> Option<i32> {
    if !signals().interrupt.load(Ordering::SeqCst) {
        return None;
    }
    i32::try_from(signals().last.load(Ordering::SeqCst)).ok()
}

/// Returns true if a signal arrived while a [`Guard`] existed, and clears it. In this case the next
/// signal has its default action, which ends this OS process, unless another guard is created
/// before.
pub(crate) fn take_interrupt() -> bool {
    let taken = signals().interrupt.swap(false, Ordering::SeqCst);
    if taken {
        signals().idle.store(true, Ordering::SeqCst);
    }
    taken
}

/// Returns the exit code for a program that a signal ended, as shells define it: 128 plus the
/// signal. Returns 255 if the sum is greater, or if the number is negative.
pub(crate) fn exit_code(signal: i32) -> u8 {
    u8::try_from(signal).map_or(u8::MAX, |signal| signal.saturating_add(128))
}

/// As long as a guard exists, HUP, INT, QUIT and TERM set [`interrupt`] and do not end this OS
/// process, because work must be finished first.
///
/// No guard exists while files are read, skeletons are rendered, or networks are checked. A signal
/// then ends this OS process at once.
pub(crate) struct Guard;

impl Guard {
    pub(crate) fn new() -> Guard {
        signals().guards.fetch_add(1, Ordering::SeqCst);
        signals().idle.store(false, Ordering::SeqCst);
        Guard
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if signals().guards.fetch_sub(1, Ordering::SeqCst) == 1 {
            signals().idle.store(true, Ordering::SeqCst);
        }
    }
}

/// Signal that requests a report from the child process. It is passed on to it.
pub(crate) struct ReportRequest {
    signal: i32,
    asked: Arc<AtomicBool>,
}

impl ReportRequest {
    /// Returns the signal if it has arrived since the previous call, and otherwise `None`.
    pub(crate) fn take(&self) -> Option<i32> {
        self.asked
            .swap(false, Ordering::SeqCst)
            .then_some(self.signal)
    }
}

/// Handles the signal that requests a report, which then no longer ends this OS process. Returns
/// `None` if the signal is ignored or cannot be handled.
pub(crate) fn report_request() -> Option<ReportRequest> {
    let signal = report_signal()?;
    let asked = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(signal, Arc::clone(&asked)).ok()?;
    Some(ReportRequest { signal, asked })
}

fn report_signal() -> Option<i32> {
    use signal_hook::consts::SIGUSR1;
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    (ignored(&status) & (1 << (SIGUSR1 - 1)) == 0).then_some(SIGUSR1)
}

/// Makes `signal` set [`interrupt`] while a [`Guard`] exists. Without a guard, it has its default
/// action.
pub(crate) fn also(signal: i32) {
    signals().register(signal);
}

struct Signals {
    /// Number of [`Guard`]s.
    guards: AtomicUsize,
    /// Whether a signal has its default action.
    idle: Arc<AtomicBool>,
    interrupt: Arc<AtomicBool>,
    /// Number of the signal that arrived last.
    last: Arc<AtomicUsize>,
}

fn signals() -> &'static Signals {
    static SIGNALS: OnceLock<Signals> = OnceLock::new();
    SIGNALS.get_or_init(|| {
        let signals = Signals {
            guards: AtomicUsize::new(0),
            idle: Arc::new(AtomicBool::new(true)),
            interrupt: Arc::new(AtomicBool::new(false)),
            last: Arc::new(AtomicUsize::new(0)),
        };
        for signal in ending() {
            signals.register(signal);
        }
        handle_child_signal();
        signals
    })
}

impl Signals {
    fn register(&self, signal: i32) {
        // Errors are ignored: a signal without a handler keeps its action.
        let idle = Arc::clone(&self.idle);
        let _ = signal_hook::flag::register_conditional_default(signal, idle);
        // Handlers run in the order of registration. Code that sees the flag therefore sees the
        // number.
        if let Ok(number) = usize::try_from(signal) {
            let last = Arc::clone(&self.last);
            let _ = signal_hook::flag::register_usize(signal, last, number);
        }
        let interrupt = Arc::clone(&self.interrupt);
        let _ = signal_hook::flag::register(signal, interrupt);
    }
}

/// Installs a handler for CHLD. The parent may have set this signal to be ignored: then waiting for
/// a child process fails, and child processes would inherit the setting.
fn handle_child_signal() {
    let _ = signal_hook::flag::register(signal_hook::consts::SIGCHLD, Arc::default());
}

/// Returns the signals that ask a program to end, without the signals that the parent set to be
/// ignored (`nohup`, a background job). These stay ignored here and in child processes.
fn ending() -> Vec<i32> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = ignored(&status);
    let mut ending = vec![SIGHUP, SIGINT, SIGQUIT, SIGTERM];
    ending.retain(|signal| ignored & (1 << (signal - 1)) == 0);
    ending
}

/// Returns the set of ignored signals in the text of `/proc/PID/status`. Bit 0 is signal 1. Returns
/// 0 if the text does not state them.
fn ignored(status: &str) -> u64 {
    let mut lines = status.lines();
    let set = lines.find_map(|line| line.strip_prefix("SigIgn:"));
    set.and_then(|set| u64::from_str_radix(set.trim(), 16).ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    #[test]
    fn ignored_signals_are_parsed() {
        let status = "Name:\tx\nSigBlk:\t0000000000000002\nSigIgn:\t0000000000001001\nSigCgt:\t4\n";
        assert_eq!(super::ignored(status), 1 << 12 | 1);
        assert_eq!(super::ignored(""), 0);
    }
}
