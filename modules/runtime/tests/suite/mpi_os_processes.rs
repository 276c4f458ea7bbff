//! Ranks in OS processes that share memory.
#![cfg(not(miri))]

use crate::common::cases;
use crate::common::places::{self, Outcome, Place};
use crate::common::ranks::in_os_processes;
use graphmap_runtime as rt;
use rt::mpi::Error;
use rt::{Exit, Options};

/// A value that can be encoded, but not decoded.
struct Odd;

impl rt::Payload for Odd {
    fn size(&self) -> usize {
        1
    }

    fn encode<'a>(&'a self, to: &mut rt::Encoder<'a>) {
        to.copy(&[1]);
    }

    fn decode(from: &mut rt::Decoder<'_>) -> Result<Self, rt::DecodeError> {
        Err(from.error("another"))
    }
}

#[test]
fn a_value_that_cannot_be_read_is_an_error_of_its_receive() {
    in_os_processes(2, Exit::Ok, |world| async move {
        if world.rank() == 0 {
            return world.send(Odd, 1, 0).await;
        }
        let error = world.recv::<Odd>(0, 0).await.err();
        assert!(matches!(error, Some(Error::Unreadable(_))), "{error:?}");
        Ok(())
    });
}

/// Runs every case that succeeds in several OS processes with one or two schedulers each.
#[test]
fn ranks_in_several_os_processes() {
    for (case, number) in [
        ("messages", 3),
        ("collectives", 5),
        ("communicators", 2),
        ("known", 3),
        ("known", 8),
        ("persistent", 10),
        ("endpoints", 1),
        ("threads", 2),
        ("polling", 0),
        ("accesses", 4),
        ("pieces", 5),
        ("shared memory", 200),
    ] {
        places::run_all(
            &[Place::Shared(3, 1), Place::Shared(2, 2)],
            0,
            &Options::new(),
            |_, _| cases::network(case, number),
            |place, Outcome { exit, error, .. }| {
                assert_eq!(exit, Exit::Ok, "{case}, {place:?}: {error}");
            },
        );
    }
}

/// Runs a case that fails in two OS processes, and returns its error.
macro_rules! error_of {
    ($case:expr, $exit:expr) => {{
        let mut error = String::new();
        places::run_all(
            &[Place::Shared(2, 1)],
            0,
            &Options::new(),
            |_, _| cases::network($case, 0),
            |_, outcome| {
                assert_eq!(outcome.exit, $exit, "{}", outcome.error);
                error = outcome.error;
            },
        );
        error
    }};
}

/// Checks that the report of a deadlock names the waiting calls and their source positions.
#[test]
fn deadlocks_are_reported() {
    for (case, communicator) in [
        ("ranks in a cycle", "world"),
        // The same cycle, with threads as ranks.
        ("threads in a cycle", "world.endpoints"),
    ] {
        let error = error_of!(case, Exit::Blocked);
        if places::is_within() {
            continue;
        }
        for rank in 0..3 {
            let next = (rank + 1) % 3;
            let told = format!("receive ({communicator}, from rank {next}, tag 5): ");
            assert!(error.contains(&told), "{error}");
        }
        assert!(error.contains("cases.rs:"), "{error}");
    }
}

/// Checks the errors of calls that do not match, and of a rank or a thread that panics.
#[test]
fn errors_are_reported() {
    for (case, told) in [
        (
            "ranks that do not go together",
            ["collective calls do not match", "allreduce of `u8`"],
        ),
        (
            "a rank that panics",
            ["rank3", "in the middle of a collective call"],
        ),
        (
            "a thread that panics",
            [
                "the thread of rank 2 of world.endpoints (",
                "panicked: in the middle of its work",
            ],
        ),
    ] {
        let error = error_of!(case, Exit::Failed);
        if places::is_within() {
            continue;
        }
        for told in told {
            assert!(error.contains(told), "{error}");
        }
    }
}
