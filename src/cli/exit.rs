//! Exit status of the command.

use crate::cli::signals;

/// Outcome of the command, with the exit code for each.
///
/// `graphmap run` also returns other exit codes, if the program that it ran ends with them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Success; warnings do not change that.
    Ok,
    /// The graph, or another input text, has errors.
    Graph,
    /// Wrong usage, or a file cannot be read or written.
    Usage,
    /// `--check` found a difference.
    Difference,
    /// No mapping meets all constraints.
    Infeasible,
    /// A pass, an emitter or a plug-in failed.
    Plugin,
    /// The network deadlocked.
    Blocked,
    /// The exit code of the program that `graphmap run` ran, or the code of [`Exit::signal`].
    Program(u8),
}

impl Exit {
    /// Returns the outcome if the signal `signal` ended the program, or asked graphmap to end. The
    /// code is the sum of 128 and the number of the signal, as in shells.
    pub(crate) fn signal(signal: i32) -> Exit {
        Exit::Program(signals::exit_code(signal))
    }

    pub(crate) fn code(self) -> u8 {
        match self {
            Exit::Ok => 0,
            Exit::Graph => 1,
            Exit::Usage => 2,
            Exit::Difference => 3,
            Exit::Infeasible => 4,
            Exit::Plugin => 5,
            Exit::Blocked => 6,
            Exit::Program(code) => code,
        }
    }

    /// Exit codes, for `--help` and the manual page.
    pub(crate) const TABLE: &str = "\
Exit status:
  0  success; warnings do not change that
  1  the graph has errors
  2  wrong usage, or a file cannot be read or written
  3  --check found a difference
  4  no mapping meets all constraints
  5  a pass, an emitter or a plug-in failed
  6  the network deadlocked";
}
