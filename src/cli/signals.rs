//! Signals that tell us to end.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// A flag that signals set while a [`Guard`] lives.
pub(crate) fn interrupt() -> Arc<AtomicBool> {
    Arc::clone(&signals().interrupt)
}

/// The signal that told us to end while a [`Guard`] lived.
pub(crate) fn interrupted() -> Option<i32> {
    if !signals().interrupt.load(Ordering::SeqCst) {
        return None;
    }
    i32::try_from(signals().last.load(Ordering::SeqCst)).ok()
}

/// Whether there was one, and it is forgotten: the next one ends us as it would any program.
pub(crate) fn take_interrupt() -> bool {
    let taken = signals().interrupt.swap(false, Ordering::SeqCst);
    if taken {
        signals().idle.store(true, Ordering::SeqCst);
    }
    taken
}

/// The exit code of a program that ended since a signal told it to, as shells have it.
pub(crate) fn exit_code(signal: i32) -> u8 {
    u8::try_from(signal).map_or(u8::MAX, |signal| signal.saturating_add(128))
}

/// While one lives, a signal that tells us to end (HUP, INT, QUIT, TERM) sets [`interrupt`] instead of
/// ending us: there is something to bring to its end first. There is none while files are read,
/// skeletons rendered or networks checked: a signal ends that at once.
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

/// A signal that asks the program that we run what it is doing: it is passed on.
pub(crate) struct Question {
    signal: i32,
    asked: Arc<AtomicBool>,
}

impl Question {
    /// The signal, if it came since this was last called.
    pub(crate) fn take(&self) -> Option<i32> {
        self.asked
            .swap(false, Ordering::SeqCst)
            .then_some(self.signal)
    }
}

/// From now on the signal that asks does not end us; none where it is ignored, or there is no such signal.
pub(crate) fn question() -> Option<Question> {
    let signal = asking()?;
    let asked = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(signal, Arc::clone(&asked)).ok()?;
    Some(Question { signal, asked })
}

fn asking() -> Option<i32> {
    use signal_hook::consts::SIGUSR1;
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    (ignored(&status) & (1 << (SIGUSR1 - 1)) == 0).then_some(SIGUSR1)
}

/// Counts another signal among those that tell us to end.
pub(crate) fn also(signal: i32) {
    signals().register(signal);
}

struct Signals {
    /// How many [`Guard`]s live.
    guards: AtomicUsize,
    /// Whether a signal may end us as it would any program.
    idle: Arc<AtomicBool>,
    interrupt: Arc<AtomicBool>,
    /// The last signal.
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
        children_can_be_waited_for();
        signals
    })
}

impl Signals {
    fn register(&self, signal: i32) {
        // Where there are no signals, there is none to be told by.
        let idle = Arc::clone(&self.idle);
        let _ = signal_hook::flag::register_conditional_default(signal, idle);
        // In this order: who sees the flag sees the number.
        if let Ok(number) = usize::try_from(signal) {
            let last = Arc::clone(&self.last);
            let _ = signal_hook::flag::register_usize(signal, last, number);
        }
        let interrupt = Arc::clone(&self.interrupt);
        let _ = signal_hook::flag::register(signal, interrupt);
    }
}

/// Whoever started us may have had the ends of children ignored: then nobody could wait for one, and what we start
/// would inherit that.
fn children_can_be_waited_for() {
    let _ = signal_hook::flag::register(signal_hook::consts::SIGCHLD, Arc::default());
}

/// The signals that tell a program to end, but for those that whoever started us wants ignored
/// (`nohup`, a shell that puts us in the background): they stay so, and so they are for what we start.
fn ending() -> Vec<i32> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = ignored(&status);
    let mut ending = vec![SIGHUP, SIGINT, SIGQUIT, SIGTERM];
    ending.retain(|signal| ignored & (1 << (signal - 1)) == 0);
    ending
}

/// The set of ignored signals in `/proc/PID/status`: bit 0 is signal 1.
fn ignored(status: &str) -> u64 {
    let mut lines = status.lines();
    let set = lines.find_map(|line| line.strip_prefix("SigIgn:"));
    set.and_then(|set| u64::from_str_radix(set.trim(), 16).ok())
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    #[test]
    fn what_is_ignored_is_read_from_the_status() {
        let status = "Name:\tx\nSigBlk:\t0000000000000002\nSigIgn:\t0000000000001001\nSigCgt:\t4\n";
        assert_eq!(super::ignored(status), 1 << 12 | 1);
        assert_eq!(super::ignored(""), 0);
    }
}
