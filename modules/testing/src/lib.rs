//! What the tests of all crates share: a test that leaves something out says so ([`skip()`]), and hosts to run on ([`Hosts`]).

mod hosts;
mod launcher;
mod skip;

pub use hosts::Hosts;
pub use launcher::prepare_launcher;
pub use skip::{Need, skip, tell};
