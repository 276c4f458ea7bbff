//! What a trace does not have, and what is told of that.

use graphmap_executor::error::RunError;
use graphmap_executor::trace::Trace;

/// How much of a run its trace does not have.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub(super) struct LeftOut {
    /// Of the beginning: there was no room for them.
    pub(super) turns: u64,
    pub(super) messages: u64,
    /// Messages of which one side is not there.
    pub(super) arrows: u64,
    /// Messages that were read, by the clocks of two hosts, before they were written.
    pub(super) backward: u64,
    /// OS processes that handed in nothing, as the run failed.
    pub(super) os_processes: u64,
}

impl LeftOut {
    /// What is told of it, if anything is missing.
    pub(super) fn notice(&self, trace: &Trace, kept: usize) -> Option<String> {
        let mut said = Vec::new();
        if self.turns + self.messages > 0 {
            let (turns, messages) = (self.turns, self.messages);
            said.push(format!(
                "the first {turns} polls and {messages} messages are missing: each scheduler keeps \
                 its last {kept} events; GRAPHMAP_TRACE_EVENTS=N raises this number"
            ));
        }
        if self.backward > 0 {
            let backward = self.backward;
            said.push(format!(
                "{backward} arrows between hosts are missing: by the clocks of the hosts, the \
                 token was read before it was written"
            ));
        }
        if self.os_processes > 0 {
            let lost = match self.os_processes {
                1 => "one OS process".to_string(),
                lost => format!("{lost} OS processes"),
            };
            said.push(format!(
                "the events of {lost} are missing, because the run failed"
            ));
        }
        let file = RunError::shown(trace.file());
        let file = file.display();
        (!said.is_empty()).then(|| format!("trace {file}: {}", said.join("; ")))
    }
}
