//! A private copy of the program for each rank, so that each rank has its own globals.
//!
//! The program is a position-independent executable or a shared object. Each rank loads a copy of
//! its file with `dlopen`, which matches libraries by name and by inode. The copy is a file in
//! memory without a name in the file system.

mod calendar;
mod elf;
mod examine;
mod exceptions;
mod floating;
mod getopt;
mod iostreams;
mod libc_calls;
mod library;
mod limit;
mod load;
mod own;
mod pause;
mod plugins;
mod program;
mod refused;
mod streams;
mod variables;
mod wide;

pub(crate) use examine::examine;
pub(crate) use exceptions::Exceptions;
pub(crate) use floating::Floating;
pub(crate) use libc_calls::{begin, replacement};
pub(crate) use load::Image;
pub(crate) use own::OwnImage;
pub(crate) use program::Program;
pub(crate) use refused::Refused;
