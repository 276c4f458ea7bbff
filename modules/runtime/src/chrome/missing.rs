//! Events that a trace lacks, and the notice about them.

use graphmap_executor::error::RunError;
use graphmap_executor::trace::Trace;

/// Numbers of events that a trace lacks.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct Missing {
    /// Polls at the beginning of the run. Later events have replaced them, and `messages` too.
    pub(super) polls: u64,
    pub(super) messages: u64,
    /// Messages of which one side was not recorded.
    pub(super) arrows: u64,
    /// Messages that were read before they were written, by the clocks of their hosts.
    pub(super) backward: u64,
    /// OS processes that delivered no events because the run failed.
    pub(super) os_processes: u64,
}

impl Missing {
    /// Returns a notice about the missing polls, messages, backward arrows and OS processes.
    /// Returns `None` if all four numbers are 0. `arrows` is not mentioned. `kept` is the maximum
    /// number of events that a scheduler keeps. The notice names the file of `trace`.
    pub(super) fn notice(&self, trace: &Trace, kept: usize) -> Option<String> {
        let mut notices = Vec::new();
        if self.polls + self.messages > 0 {
            let (polls, messages) = (self.polls, self.messages);
            notices.push(format!(
                "the first {polls} polls and {messages} messages are missing: each scheduler keeps \
                 its last {kept} events; GRAPHMAP_TRACE_EVENTS=N raises this number"
            ));
        }
        if self.backward > 0 {
            let backward = self.backward;
            notices.push(format!(
                "{backward} arrows between hosts are missing: by the clocks of the hosts, the \
                 token was read before it was written"
            ));
        }
        if self.os_processes > 0 {
            let lost = match self.os_processes {
                1 => "one OS process".to_string(),
                lost => format!("{lost} OS processes"),
            };
            notices.push(format!(
                "the events of {lost} are missing, because the run failed"
            ));
        }
        let file = RunError::shown(trace.file());
        let file = file.display();
        (!notices.is_empty()).then(|| format!("trace {file}: {}", notices.join("; ")))
    }
}
