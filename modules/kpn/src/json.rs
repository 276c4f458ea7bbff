//! The network as JSON: the format of external passes and emitters, and a front end for programs
//! that write networks (`net.json`).
//!
//! The text is one object. Every list is in the order of ranks or of the source. The fields are:
//!
//! - `graphmap`: version of the format, [`VERSION`]
//! - `name`: name of the graph
//! - `sources`: names of the source texts that spans refer to
//! - `skeleton`: requested skeleton, if any
//! - `attributes`: an object of strings: attributes that graphmap keeps and does not interpret
//! - `modules`: `name`, `kind`, `parent` (index of an earlier module), `attributes`, `span`
//! - `processes`: `name` (unique), `kind`, `module` (index), `load`, `mem`, `attributes`, `span`
//! - `channels`: `from`, `to`, `type`, `capacity`, `initial`, `tag`, `traffic`, `flow` (`credits`,
//!   `round-robin`), `bundle`, `bundle_name`, `other_bundle`, `attributes`, `span`. The ends are
//!   `[process, port]`, or a process name for the ports `out` and `in`, or `null` for the
//!   environment.
//! - `constraints`: `processes` (names), one of `host`, `osprocess`, `colocate`, `separate`, `hold`
//!   (least and most), `span`. Or `module` (index), one of `whole` (`true`), `prefer`, `span`.
//! - `boxes`: `count` (number of OS processes), `limits`, `name`. A limit has `of` (a list of
//!   objects with `modules` and `kind`), `least`, `most`.
//! - `environment`: an object of strings: environment variables of the program
//! - `glue`: `stage` (`maininit`, ..), `function`, `header`, `condition` (variable and value)
//! - `kinds`: `name`, `members` (ranks), `ports`. Written for convenience, and not read back.
//! - `mapping`: `os_process` (of each rank), `bindings` (of each OS process: `host`, `cores`),
//!   `strategy`. Written for emitters, and not read back.
//!
//! Only `graphmap`, the name of a process, and `from` and `to` of a channel are required. A `span`
//! is `[source, start, end]`: index of the source, first byte, and one past the last byte. Unknown
//! fields are rejected, because a misspelt field would otherwise be ignored silently. The schema is
//! in `network.schema.json` ([`SCHEMA`]).

mod format;
mod read;
mod shape;
mod write;

pub use format::{MALFORMED, SCHEMA, VERSION, WRONG_REFERENCE};
pub use read::{Positions, read};
pub use write::{Written, write};
