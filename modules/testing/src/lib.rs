//! Helpers of the tests of all crates:
//!
//! - reported skips ([`skip()`])
//! - virtual hosts ([`Hosts`]) and settings for launchers ([`prepare_launcher()`])
//! - default signals for the programs that a test starts ([`start_with_default_signals()`])
//! - cheap builds ([`build_cheaply()`])
//! - JSON schemas ([`Schema`])
//! - the number of random cases ([`cases()`])

mod builds;
mod hosts;
mod launcher;
mod schema;
mod signals;
mod skip;

pub use builds::{build_cheaply, cases};
pub use hosts::Hosts;
pub use launcher::prepare_launcher;
pub use schema::Schema;
pub use signals::start_with_default_signals;
pub use skip::{Need, print_line, skip};
