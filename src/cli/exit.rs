//! How the command ends.

use crate::cli::signals;

/// Every way the command can end, with the code the shell sees.
///
/// `graphmap run` passes on the code of the program that it ran where that is another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// All went well; warnings do not change that.
    Ok,
    /// The graph, or another input text, has errors.
    Graph,
    /// The command line is wrong, or a file could not be read or written.
    Usage,
    /// `--check` found a difference.
    Difference,
    /// No mapping meets all constraints.
    Infeasible,
    /// A pass, an emitter or a plug-in failed.
    Plugin,
    /// The network that was run blocked.
    Blocked,
    /// `graphmap run`: the program ended with this code. Also what [`Exit::signal`] gives.
    Program(u8),
}

impl Exit {
    /// A signal ended the program, or told us to end: 128 and its number, as shells have it.
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

    /// For `--help` and the manual page.
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
