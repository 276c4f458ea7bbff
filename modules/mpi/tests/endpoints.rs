//! Endpoints: further ranks of ranks, each on a stack or thread of its own, wherever these are; and what is told of them when they wait for
//! ever, panic or are let go of.

#[path = "endpoints/cases.rs"]
mod cases;
#[path = "endpoints/ends.rs"]
mod ends;
#[path = "endpoints/failures.rs"]
mod failures;
#[path = "common/cases.rs"]
mod harness;
#[path = "endpoints/threads.rs"]
mod threads;

use cases::CASES;
use failures::FAILURES;
use harness::Case;

fn all() -> impl Iterator<Item = &'static Case> {
    CASES.iter().chain(FAILURES)
}
