//! Shared by the tests of all crates: a test that leaves something out says so ([`skip()`]), hosts
//! to run on ([`Hosts`]), default signals for the programs that a test starts
//! ([`start_with_default_signals()`]), cheap builds ([`build_cheaply()`]), JSON schemas
//! ([`Schema`]), and the number of random cases ([`cases()`]).

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
pub use skip::{Need, skip, tell};
