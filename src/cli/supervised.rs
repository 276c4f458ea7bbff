//! What the command starts ends with it.

use crate::cli::child::Watched;
use crate::cli::signals::{self, Guard};
use crate::cli::supervisor::{self, Bound, END_TREE};
use crate::program::Supervise;
use std::any::Any;
use std::ffi::OsStr;
use std::io;
use std::process::Command;

/// Programs run under a supervisor, which ends them when we end; signals that tell us to end wait until
/// what is under way can be left.
pub(crate) struct Supervised;

impl Supervise for Supervised {
    fn tree(&self, program: &OsStr) -> io::Result<Command> {
        supervisor::command(program, Bound::Tree)
    }

    fn attend(&self) -> Box<dyn Any> {
        // Who asks what a program does may do so before there is one: that ends nothing.
        Box::new((signals::question(), Guard::new()))
    }

    fn watch(&self, child: u32) -> Box<dyn Any> {
        Box::new(Watched::new(child, Some(END_TREE)))
    }

    fn interrupted(&self) -> Option<i32> {
        signals::interrupted()
    }
}
