//! Supervision of the programs that the command starts.

use crate::cli::child::Watched;
use crate::cli::signals::{self, Guard};
use crate::cli::supervisor::{self, Bound, END_TREE};
use crate::program::Supervise;
use std::any::Any;
use std::ffi::OsStr;
use std::io;
use std::process::Command;

/// Runs programs under a supervisor, which ends them when graphmap ends. Signals are recorded until
/// the current work can be interrupted.
pub(crate) struct Supervised;

impl Supervise for Supervised {
    fn tree(&self, program: &OsStr) -> io::Result<Command> {
        supervisor::command(program, Bound::Tree)
    }

    fn attend(&self) -> Box<dyn Any> {
        // USR1 requests a report of the program. It must not end graphmap while there is no program
        // yet.
        Box::new((signals::report_request(), Guard::new()))
    }

    fn watch(&self, child: u32) -> Box<dyn Any> {
        Box::new(Watched::new(child, Some(END_TREE)))
    }

    fn interrupted(&self) -> Option<i32> {
        signals::interrupted()
    }
}
