//! Ranks in OS processes that share memory.
//!
//! As in `os_processes.rs`, a program is this very file.
#![cfg(not(miri))]
#![allow(clippy::print_stdout)]

use crate::common::cases;
use crate::common::itself::{CASE, Itself};
use crate::common::ranks::network;
use graphmap_runtime as rt;
use rt::mpi::Error;

/// This file as a program.
const ITSELF: Itself = Itself(module_path!());

#[test]
#[ignore = "run by `ranks_in_several_os_processes`"]
fn program() {
    let exit = match std::env::var(CASE).as_deref() {
        Ok("unreadable") => rt::main(|| {
            network(2, |world| async move {
                if world.rank() == 0 {
                    return world.send(Odd, 1, 0).await;
                }
                let error = world.recv::<Odd>(0, 0).await.err();
                assert!(matches!(error, Some(Error::Unreadable(_))), "{error:?}");
                Ok(())
            })
        }),
        Ok(case) => {
            let (name, number) = case.split_once(':').unwrap_or((case, "0"));
            rt::main(|| cases::network(name, number.parse().unwrap()))
        }
        Err(_) => return,
    };
    println!("code {exit:?}");
}

/// Is not read as it is written.
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

/// Every case that ends well does so, in several OS processes of one or two schedulers.
#[test]
fn ranks_in_several_os_processes() {
    for case in [
        "messages:3",
        "collectives:5",
        "communicators:2",
        "known:3",
        "known:8",
        "persistent:20",
        "endpoints:1",
        "threads:2",
        "polling",
        "accesses:4",
        "pieces:5",
        "shared memory:500",
        "unreadable",
    ] {
        for (os_processes, schedulers) in [(2, "1"), (3, "1"), (2, "2")] {
            let more = [("GRAPHMAP_SCHEDULERS", schedulers)];
            let (out, err) = ITSELF.start(case, os_processes, &more);
            assert!(
                out.contains("code ExitCode(unix_exit_status(0))"),
                "{case}, {os_processes} x {schedulers}: {out}\n{err}"
            );
        }
    }
}

/// A standstill tells who waits in which call, and where that is.
#[test]
fn a_standstill_is_told() {
    let (_, err) = ITSELF.start("ranks in a cycle", 2, &[]);
    for rank in 0..3 {
        let next = (rank + 1) % 3;
        let told = format!("waits in receive (world, from rank {next}, tag 5): ");
        assert!(err.contains(&told), "{err}");
    }
    assert!(err.contains("cases.rs:"), "{err}");
    // The same of threads that are ranks.
    let (_, err) = ITSELF.start("threads in a cycle", 2, &[]);
    for rank in 0..3 {
        let next = (rank + 1) % 3;
        let told = format!("receive (world.endpoints, from rank {next}, tag 5): ");
        assert!(err.contains(&told), "{err}");
    }
}

/// Calls that do not go together, and a rank that panics, end the run with what they are.
#[test]
fn mistakes_are_told() {
    let (_, err) = ITSELF.start("ranks that do not go together", 2, &[]);
    assert!(
        err.contains("collective calls that do not go together")
            && err.contains("allreduce of `u8`"),
        "{err}"
    );
    let (_, err) = ITSELF.start("a rank that panics", 2, &[]);
    assert!(
        err.contains("rank3") && err.contains("in the middle of a collective call"),
        "{err}"
    );
    let (_, err) = ITSELF.start("a thread that panics", 2, &[]);
    assert!(
        err.contains("the thread that was rank 2 of world.endpoints (")
            && err.contains("panicked: in the middle of its work"),
        "{err}"
    );
}
