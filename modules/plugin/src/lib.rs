//! External passes and emitters: executables that read a request as JSON from standard input and
//! write a reply as JSON to standard output.
//!
//! The request is one object: `protocol` ([`PROTOCOL`]), `action` (`pass` or `emit`), `name`,
//! `options`, `network` (as [`graphmap_kpn::json`] has it), `platform` (as [`graphmap_kpn::hardware`] has it) where it
//! is known, and, for an emitter, `path`. The reply is one object, too: `protocol`, and where there is something to say `network` (a pass that changes
//! nothing leaves it out), `files` (an emitter's) and `diagnostics`. What the executable finds
//! wrong it says there and ends with 0; another end is a failure of the executable itself.
//!
//! An executable is handed what it does not expect, and may do anything: the request is written
//! from a thread of its own, so that one that answers before it has read all does not block; the
//! time it may take is limited, and at its end its whole process group is killed. What has left the
//! group is the business of whoever starts it ([`External::launch`]).

mod ask;
pub mod codes;
mod external;
mod process;
mod reply;
mod search;

pub use external::{CANNOT_RUN, External, Launch, PROTOCOL, TIMEOUT, cannot_run};
pub use search::{EMITTER, Executable, PASS, find, on_path};
