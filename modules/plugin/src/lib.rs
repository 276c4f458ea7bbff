//! External passes, strategies, emitters and front ends: executables that read a request as JSON
//! from standard input and write a reply as JSON to standard output.
//!
//! The request is an object with these fields:
//!
//! * `protocol` ([`PROTOCOL`]), `action` (`pass`, `map`, `emit` or `read`), `name` and `options`,
//! * `network`, in the format of [`graphmap_kpn::json`], for all but a front end,
//! * `platform`, in the format of [`graphmap_kpn::hardware`], for these, if it is known,
//! * `task`, in the format of [`graphmap_kpn::mapper::Task`], for a strategy,
//! * `path`, for an emitter and a front end,
//! * `text`, the text of the graph file, for a front end.
//!
//! The reply is an object with `protocol` and optional fields: `network` (omitted by a pass that
//! changes nothing), `mapping` (of a strategy), `files` (of an emitter) and `diagnostics`. Spans in
//! the reply of a front end are positions in the text, whose index is 0. An executable that finds
//! errors reports them in `diagnostics` and exits with 0. Any other exit status is a failure of the
//! executable itself.
//!
//! An executable may behave in any way, so a run is protected against it. A separate thread writes
//! the request, so that an executable that replies before it has read everything does not block.
//! Its time is limited, and at its end its whole process group is killed. Processes that have left
//! the group are the responsibility of the launching program ([`External::launch`]).

mod ask;
pub mod codes;
mod external;
mod process;
mod reply;
mod search;

pub use external::{CANNOT_RUN, External, Launch, PROTOCOL, TIMEOUT, cannot_run};
pub use search::{EMITTER, Executable, FRONT_END, PASS, STRATEGY, find, on_path};
