//! What becomes of a signal, as the kernel has it: nothing is set to find that out.
//!
//! To set a handler and then the one before again would lose how that is called: whether on a stack of its own, and with
//! what told of the signal. So what somebody else has set is left alone.

/// What an OS process does when a signal comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// What the kernel has for it.
    Default,
    /// Nothing.
    Ignored,
    /// A handler is called.
    Caught,
}

/// What this OS process does when that signal comes; none where that cannot be told.
pub fn action(signal: u32) -> Option<Action> {
    #[cfg(not(miri))]
    return in_status(&std::fs::read_to_string("/proc/self/status").ok()?, signal);
    #[cfg(miri)]
    return None.filter(|_: &Action| signal > 0);
}

/// The same, of the text of `/proc/self/status`.
#[cfg_attr(miri, allow(dead_code))]
fn in_status(status: &str, signal: u32) -> Option<Action> {
    let set = |name| {
        let set = status.lines().find_map(|line| line.strip_prefix(name))?;
        u64::from_str_radix(set.trim(), 16).ok()
    };
    let (ignored, caught) = (set("SigIgn:")?, set("SigCgt:")?);
    let has = |set: u64| set & (1 << (signal - 1)) != 0;
    Some(match (has(ignored), has(caught)) {
        (true, _) => Action::Ignored,
        (_, true) => Action::Caught,
        _ => Action::Default,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_says_is_read() {
        let status = "Name:\tx\nSigIgn:\t0000000000000200\nSigCgt:\t0000000180000440\n";
        assert_eq!(in_status(status, 10), Some(Action::Ignored));
        assert_eq!(in_status(status, 11), Some(Action::Caught));
        assert_eq!(in_status(status, 12), Some(Action::Default));
        for garbled in ["", "SigIgn:\t0\n", "SigIgn:\tx\nSigCgt:\t0\n"] {
            assert_eq!(in_status(garbled, 10), None);
        }
    }
}
