//! Endpoints: additional ranks of a process, each on its own stack or thread, in any OS process.
//! Also the reports if endpoints wait forever, panic or are dropped.

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
