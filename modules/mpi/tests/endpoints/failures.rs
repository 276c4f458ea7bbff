//! Cases that fail, and their reports.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

use mpi::collective::UserOperation;
use mpi::endpoint::{self, Endpoints, JoinHandle};
use mpi::topology::{Rank, SimpleCommunicator};
use mpi::traits::*;

use crate::cases::sum;
use crate::harness::Case;

const fn failing(
    name: &'static str,
    rank: fn(SimpleCommunicator),
    told: &'static [&'static str],
) -> Case {
    let ranks = 2;
    Case {
        name,
        ranks,
        rank,
        told,
    }
}

pub(crate) const FAILURES: &[Case] = &[
    failing(
        "a deadlock",
        deadlock,
        &[
            "deadlock: 2 processes remain, and all of them wait",
            "waits in send (world.endpoints, to rank 1, tag 0): ",
            "waits in receive (world.endpoints, from rank 2, tag 1): ",
            "waits in join (world.endpoints, rank 2): ",
            "tests/endpoints/failures.rs:",
        ],
    ),
    failing(
        "a deadlock of threads and stacks",
        deadlock_of_threads,
        &[
            "deadlock: 2 processes remain, and all of them wait",
            "waits in receive (world.endpoints, from rank 3, tag 5): ",
            "waits in receive (world.endpoints, from rank 0, tag 5): ",
            "waits in thread join (world.endpoints, rank 1): ",
            "tests/endpoints/failures.rs:",
        ],
    ),
    failing(
        "one that is let go of",
        let_go_of,
        &[
            "deadlock: 1 process remains",
            "waits in receive (world.endpoints, from rank 3, any tag): ",
        ],
    ),
    failing(
        "one that is forgotten",
        forgotten,
        &["waits in barrier (world.endpoints, "],
    ),
    failing(
        "one that waits for itself",
        for_itself,
        &["waits in join (world.endpoints, rank 0): "],
    ),
    failing(
        "a panic",
        panic,
        &[
            "process main1 (rank 1) failed: panicked: one too many (as rank 3 of world.endpoints, started at modules/mpi/tests/endpoints/failures.rs:",
        ],
    ),
    failing(
        "a panic that nobody joins",
        panic_alone,
        &[
            "process main0 (rank 0) failed: panicked: nobody hears this (as rank 0 of world.endpoints",
        ],
    ),
    failing(
        "a call that does not fit",
        mismatch,
        &["barrier", "(as rank "],
    ),
    failing(
        "after the end of the rank",
        finalized,
        &["its `Universe` was dropped (as rank "],
    ),
    failing(
        "a thread that panics",
        thread_panics,
        &[
            "the thread of rank 1 of world.endpoints (",
            " panicked: in the thread",
        ],
    ),
    failing(
        "a call of a thread that panics",
        call_panics,
        &[
            "the thread of rank 1 of world.endpoints (",
            " panicked: in the call",
        ],
    ),
    failing(
        "an operation whose panic is caught",
        operation_panics,
        &["all", "of world panicked: no sum"],
    ),
    failing(
        "a call of a thread that starts one",
        call_starts,
        &["not from `ThreadRank::call`"],
    ),
];

/// Panics in an operation. The rank that calls it catches the panic, and the other rank must not
/// wait forever.
fn operation_panics(world: SimpleCommunicator) {
    let operation = UserOperation::commutative(|_, _| panic!("no sum"));
    let mut sum = 0;
    let all_reduce = AssertUnwindSafe(|| world.all_reduce_into(&1, &mut sum, &operation));
    let panicked = catch_unwind(all_reduce);
    assert!(panicked.is_err(), "there is no sum");
}

/// Sends on all endpoints but one. No send completes before its receive.
fn deadlock(world: SimpleCommunicator) {
    endpoint::each(world.endpoints(2), |mine| {
        let next = mine.process_at_rank((mine.rank() + 1) % 4);
        match mine.rank() {
            3 => drop(mine.process_at_rank(2).receive_with_tag::<u8>(1)),
            _ => next.synchronous_send(&1_u8),
        }
    });
}

fn deadlock_of_threads(world: SimpleCommunicator) {
    let mut two = world.endpoints(2);
    let receive = |mine: &SimpleCommunicator| {
        let other = mine.process_at_rank(3 - mine.rank());
        other.receive_with_tag::<u8>(5).0
    };
    let thread = two.remove(1).on_thread(move |rank| rank.call(receive));
    let stack = two.remove(0).start(move |mine| receive(&mine));
    assert_eq!(thread.join(), stack.join());
}

fn let_go_of(world: SimpleCommunicator) {
    let mut two = world.endpoints(2);
    if world.rank() == 1 {
        return drop(two);
    }
    let from =
        |rank: Rank| move |mine: SimpleCommunicator| mine.process_at_rank(rank).receive::<u8>().0;
    two.remove(0).start(from(3)).join();
}

fn forgotten(world: SimpleCommunicator) {
    for endpoint in world.endpoints(2) {
        match endpoint.rank() % 2 {
            0 => std::mem::forget(endpoint),
            _ => std::mem::forget(endpoint.start(|mine| mine.barrier())),
        }
    }
    world.barrier();
    world.process_at_rank(1 - world.rank()).receive::<u8>();
}

/// Joins a stack from the stack itself.
fn for_itself(world: SimpleCommunicator) {
    let running: Rc<RefCell<Option<JoinHandle<()>>>> = Rc::default();
    let own = Rc::clone(&running);
    let started = world.endpoints(1).remove(0).start(move |mine| {
        mine.barrier();
        let own = own.take();
        own.expect("it was put there").join();
    });
    *running.borrow_mut() = Some(started);
    world.process_at_rank(world.rank()).receive::<u8>();
}

fn panic(world: SimpleCommunicator) {
    endpoint::each(world.endpoints(2), |mine| {
        assert!(sum(&mine, 1) == 4 && mine.rank() != 3, "one too many");
        mine.barrier();
    });
}

fn panic_alone(world: SimpleCommunicator) {
    for endpoint in world.endpoints(1) {
        drop(endpoint.start(|mine| assert!(mine.rank() != 0, "nobody hears this")));
    }
    world.process_at_rank(1 - world.rank()).receive::<u8>();
}

fn mismatch(world: SimpleCommunicator) {
    endpoint::each(world.endpoints(2), |mine| match mine.rank() {
        3 => mine.barrier(),
        _ => drop(sum(&mine, 1)),
    });
}

/// Makes calls on an endpoint that is not joined, after its rank was finalized.
fn finalized(world: SimpleCommunicator) {
    for endpoint in world.endpoints(1) {
        drop(endpoint.start(|mine| {
            mine.barrier();
            mine.barrier();
        }));
    }
}

fn thread_panics(world: SimpleCommunicator) {
    let threads = world.endpoints(1).into_iter().map(|endpoint| {
        endpoint.on_thread(|rank| {
            assert!(rank.rank() == 0, "in the thread");
            rank.call(|mine| mine.barrier());
        })
    });
    threads.for_each(JoinHandle::join);
}

fn call_panics(world: SimpleCommunicator) {
    let threads = world.endpoints(1).into_iter().map(|endpoint| {
        endpoint.on_thread(|rank| {
            rank.call(|mine| assert!(mine.rank() == 0, "in the call"));
            rank.call(|mine| mine.barrier());
        })
    });
    threads.for_each(JoinHandle::join);
}

fn call_starts(world: SimpleCommunicator) {
    let threads = world.endpoints(1).into_iter().map(|endpoint| {
        endpoint.on_thread(|rank| {
            rank.call(|mine| {
                for endpoint in mine.endpoints(1) {
                    drop(endpoint.start(|_| {}));
                }
            });
        })
    });
    threads.for_each(JoinHandle::join);
}
