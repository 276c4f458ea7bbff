//! Signal dispositions of the programs that a test starts.

use std::fs;
use std::sync::Arc;
use std::sync::Once;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGALRM, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};

/// Signals whose effect on a program is tested.
const RESTORED: [i32; 7] = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGALRM, SIGUSR1, SIGUSR2];

/// Resets ignored signals to the default disposition in programs that this OS process starts from
/// now on. `nohup`, and shells that start a command in the background, make it ignore signals.
///
/// An ignored signal stays ignored across `exec`, but a handled one becomes a default one.
/// Therefore, each ignored signal gets a handler that does nothing. This OS process still ignores
/// the signal.
///
/// # Panics
///
/// If a handler cannot be installed.
pub fn start_with_default_signals() {
    static RESTORED_ONCE: Once = Once::new();
    RESTORED_ONCE.call_once(|| {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        for signal in RESTORED {
            if is_ignored(&status, signal) {
                signal_hook::flag::register(signal, Arc::new(AtomicBool::new(false)))
                    .expect("a signal can be handled");
            }
        }
    });
}

/// Returns whether the OS process of a `/proc/PID/status` ignores a signal.
fn is_ignored(status: &str, signal: i32) -> bool {
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn ignored_signals_are_read_from_the_status() {
        let status = "Name:\tx\nSigBlk:\t0000000000000002\nSigIgn:\t0000000000001001\n";
        assert!(is_ignored(status, SIGHUP));
        assert!(!is_ignored(status, SIGINT));
        assert!(!is_ignored("", SIGHUP));
    }

    /// Checks signals in a separate OS process, which the next test starts with ignored signals.
    #[test]
    #[ignore = "run by `programs_start_with_default_signals`"]
    fn below_a_caller_that_ignores_signals() {
        start_with_default_signals();
        let own = fs::read_to_string("/proc/self/status").unwrap();
        let output = Command::new("cat")
            .arg("/proc/self/status")
            .output()
            .unwrap();
        let started = String::from_utf8(output.stdout).unwrap();
        for signal in [SIGHUP, SIGINT, SIGTERM] {
            assert!(!is_ignored(&own, signal), "handled here: {signal}");
            assert!(!is_ignored(&started, signal), "default there: {signal}");
        }
    }

    #[test]
    fn programs_start_with_default_signals() {
        let ignores = "trap '' HUP INT TERM; exec \"$0\" --exact --ignored signals::tests::below_a_caller_that_ignores_signals";
        let program = std::env::current_exe().unwrap();
        let output = Command::new("sh")
            .arg("-c")
            .arg(ignores)
            .arg(program)
            .output();
        let output = output.unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(
            output.status.success() && said.contains("1 passed"),
            "{said}"
        );
    }
}
