//! Who sees to it that what is started does not outlive us.

use std::any::Any;
use std::ffi::OsStr;
use std::io;
use std::process::Command;

/// How programs are started, and what becomes of them when we are told to end.
pub(crate) trait Supervise {
    /// A command whose whole tree of processes ends with us.
    ///
    /// # Errors
    /// When there is no such program.
    fn tree(&self, program: &OsStr) -> io::Result<Command>;

    /// Until it is dropped, a signal that would end us is noted instead.
    fn attend(&self) -> Box<dyn Any>;

    /// Until it is dropped, a child is told to end when we are.
    fn watch(&self, child: u32) -> Box<dyn Any>;

    /// The signal that told us to end.
    fn interrupted(&self) -> Option<i32>;
}

/// Programs are started as they are, and signals are the caller's business: what a library must leave
/// alone.
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
