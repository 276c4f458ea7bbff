//! The network as JSON: what external passes and emitters are handed and hand back, and a front end
//! for programs that write networks (`net.json`).
//!
//! One object; every list is in the order of ranks or of the source.
//!
//! | field | holds |
//! |---|---|
//! | `graphmap` | version of the format, [`VERSION`] |
//! | `name` | name of the graph |
//! | `sources` | names of the source texts that spans speak of |
//! | `skeleton` | the skeleton asked for, or absent |
//! | `modules` | `name`, `kind`, `parent` (index of a module before it), `span` |
//! | `processes` | `name` (unique), `kind`, `module` (index), `load`, `mem`, `span` |
//! | `channels` | `from`, `to` (`[process, port]`, a bare process name for the ports `out` and `in`, `null` for the environment), `type`, `capacity`, `initial`, `tag`, `traffic`, `flow` (`credits`, `round-robin`), `bundle`, `bundle_name`, `span` |
//! | `constraints` | `processes` (names), one of `host`, `osprocess`, `colocate`, `separate`, `hold` (least and most), `span`; or `module` (index), one of `whole` (`true`), `prefer`, `span` |
//! | `kinds` | written for the reader's comfort, not read back: `name`, `members` (ranks), `ports` |
//! | `mapping` | written for emitters, not read back: `os_process` (of each rank), `bindings` (of each OS process: `host`, `cores`), `strategy` |
//!
//! Only `graphmap`, the name of a process, and `from` and `to` of a channel must be there. A `span`
//! is `[source, start, end]`: index of the source, bytes of it. Unknown fields are refused,
//! because a misspelt one would otherwise be lost without a message. The schema is in
//! `network.schema.json` ([`SCHEMA`]).

mod format;
mod read;
mod shape;
mod write;

pub use format::{MALFORMED, SCHEMA, VERSION, WRONG_REFERENCE};
pub use read::{Positions, read};
pub use write::{Written, write};
