//! How programs are started, and how they end when graphmap ends.

use std::any::Any;
use std::ffi::OsStr;
use std::io;
use std::process::Command;

/// Starts programs, and ends them when this OS process ends.
pub(crate) trait Supervise {
    /// Returns a command for a program, whose tree of OS processes is to end together with this OS
    /// process.
    ///
    /// # Errors
    /// Returns an error if there is no such program.
    fn tree(&self, program: &OsStr) -> io::Result<Command>;

    /// Records signals that would end this OS process, until the returned guard is dropped. They do
    /// not end it in that time.
    fn attend(&self) -> Box<dyn Any>;

    /// Ends the child process with the id `child` when a signal is recorded, until the returned
    /// guard is dropped.
    fn watch(&self, child: u32) -> Box<dyn Any>;

    /// Returns the last recorded signal, or `None` if there is none.
    fn interrupted(&self) -> Option<i32>;
}

/// Starts programs directly and does not handle signals, which a library must leave to its caller.
pub(crate) struct Unsupervised;

impl Supervise for Unsupervised {
    fn tree(&self, program: &OsStr) -> io::Result<Command> {
        Ok(Command::new(program))
    }

    fn attend(&self) -> Box<dyn Any> {
        Box::new(())
    }

    fn watch(&self, _: u32) -> Box<dyn Any> {
        Box::new(())
    }

    fn interrupted(&self) -> Option<i32> {
        None
    }
}
