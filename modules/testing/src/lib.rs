//! What the tests of all crates share: a test that leaves something out says so ([`skip()`]), hosts to run on ([`Hosts`]), and JSON schemas
//! ([`Schema`]).

mod hosts;
mod launcher;
mod schema;
mod skip;

pub use hosts::Hosts;
pub use launcher::prepare_launcher;
pub use schema::Schema;
pub use skip::{Need, skip, tell};
