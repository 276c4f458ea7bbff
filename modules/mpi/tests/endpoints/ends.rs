//! Ends of endpoints that are not joined, that outlive the run, or that another rank holds.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use graphmap_runtime::RunError;
use mpi::endpoint::{self, Endpoint, Endpoints, JoinHandle};
use mpi::topology::{Rank, SimpleCommunicator};
use mpi::traits::*;

use crate::cases::sum;

/// Runs ranks on one scheduler, and initializes them.
fn ranks(
    count: usize,
    rank: impl Fn(SimpleCommunicator) + Send + Sync + 'static,
) -> Result<graphmap_runtime::Report, RunError> {
    mpi::run_with(&mpi::Options::new(), count, move || {
        let universe = mpi::initialize().unwrap();
        rank(universe.world());
    })
}

/// Returns the panic message of a function.
fn panic_of(f: impl FnOnce()) -> String {
    let panic = catch_unwind(AssertUnwindSafe(f)).unwrap_err();
    let text = panic.downcast_ref::<&str>().map(|text| text.to_string());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap()
}

/// Value that increments a counter when it is dropped.
struct Counted(Arc<AtomicUsize>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// Returns from the function of a rank before its endpoints have ended. The rank ends when all of
/// them have.
#[test]
fn rank_ends_after_its_endpoints() {
    let ended = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&ended);
    let run = mpi::run_with(&mpi::Options::new(), 3, move || {
        let universe = mpi::initialize().unwrap();
        let mut made = universe.world().endpoints(3);
        let count = || Counted(Arc::clone(&count));
        let (first, second, third) = (count(), count(), count());
        drop(made.remove(2).on_thread(|rank| {
            let _third = third;
            (0..5).for_each(|_| assert_eq!(rank.call(|mine| sum(mine, 1)), 9));
        }));
        drop(made.remove(1).start(|mine| {
            let _second = second;
            (0..5).for_each(|_| assert_eq!(sum(&mine, 1), 9));
        }));
        // The last endpoint drops the `Universe`, which finalizes the rank.
        drop(made.remove(0).start(|mine| {
            (0..5).for_each(|_| assert_eq!(sum(&mine, 1), 9));
            while first.0.load(Ordering::SeqCst) < 6 {
                mine.any_process().immediate_probe();
            }
            drop((first, universe));
            assert!(mpi::is_finalized());
        }));
    });
    run.unwrap();
    assert_eq!(ended.load(Ordering::SeqCst), 9);
}

/// Fails a run, which drops the contents of all stacks and all functions that have not begun. A
/// panic or a new endpoint has no effect then.
#[test]
fn stacks_are_dropped_when_the_run_fails() {
    struct Starts(Option<Endpoint>, Counted);
    impl Drop for Starts {
        fn drop(&mut self) {
            let counted = Counted(Arc::clone(&self.1.0));
            let (started, endpoint) = (self.0.take(), ());
            if let Some(started) = started {
                drop(started.start(move |_| drop((endpoint, counted))));
            }
        }
    }
    let dropped = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&dropped);
    let (calls_left, all_calls) = mpsc::channel::<()>();
    let run = ranks(2, move |world| {
        let counted = || Counted(Arc::clone(&count));
        let mut made = world.endpoints(7);
        for _ in 0..2 {
            let counted = counted();
            drop(made.remove(0).start(move |mine| {
                let receive = || mine.any_process().receive::<u8>();
                assert!(catch_unwind(AssertUnwindSafe(receive)).is_err());
                drop(counted);
                panic!("instead of an end");
            }));
        }
        let starts = Starts(made.pop(), counted());
        drop(made.remove(0).start(move |mine| {
            let _starts = starts;
            mine.any_process().receive::<u8>();
        }));
        let in_a_call = (counted(), calls_left.clone());
        drop(made.remove(0).on_thread(move |rank| {
            rank.call(move |mine| {
                let _in_a_call = in_a_call;
                mine.any_process().receive::<u8>();
            });
        }));
        let (calls, all) = (counted(), counted());
        drop(made.remove(0).start(move |mine| {
            let _calls = calls;
            // Twice, because this endpoint catches the first panic.
            for _ in 0..2 {
                let caught = catch_unwind(AssertUnwindSafe(|| {
                    mine.any_process().receive::<u8>();
                }));
                assert!(caught.is_err());
            }
        }));
        world.barrier();
        let never = counted();
        let last = made.remove(0).start(move |_| drop(never));
        assert!(world.rank() == 0, "the end");
        drop(all);
        last.join();
        world.barrier();
    });
    let told = run.unwrap_err().to_string();
    assert!(
        told.contains("(rank 1) failed: panicked: the end"),
        "{told}"
    );
    // If a thread makes a call after the end of the run, the function of the call is dropped.
    let minute = Duration::from_secs(60);
    assert_eq!(
        all_calls.recv_timeout(minute),
        Err(mpsc::RecvTimeoutError::Disconnected)
    );
    // For each rank: two stacks that panic, two values of the destructor that starts an endpoint,
    // and one each for the call, the stack that catches, the function of the rank, and the endpoint
    // that never begins.
    assert_eq!(dropped.load(Ordering::SeqCst), 2 * (2 + 2 + 1 + 1 + 1 + 1));
}

thread_local! {
    static LEFT: RefCell<(Vec<Endpoint>, Vec<JoinHandle<Rank>>)> = RefCell::default();
}

/// Gives endpoints and join handles to another rank of the same thread. Only the rank that has
/// created an endpoint can start it, but any rank can wait for it.
#[test]
fn endpoint_is_started_by_its_creator_only() {
    let run = ranks(2, |world| {
        if world.rank() == 0 {
            let mut two = world.endpoints(2);
            let running = two.remove(0).start(|mine| {
                mine.barrier();
                mine.rank()
            });
            LEFT.with_borrow_mut(|left| (left.0, left.1) = (two, vec![running]));
            world.barrier();
            world.barrier();
            return;
        }
        let own = world.endpoints(1).remove(0);
        world.barrier();
        let (mut others, mut running) = LEFT.take();
        let other = others.remove(0);
        assert_eq!((other.rank(), other.size()), (1, 3));
        assert!(!running[0].is_finished());
        let told = panic_of(|| drop(other.start(|_| {})));
        assert!(told.contains("by the rank that created it"), "{told}");
        // The running endpoint waits in a barrier for this one, which is dropped here. So the join
        // below waits forever, too.
        let waits = panic_of(|| assert_eq!(own.into_communicator().process_at_rank(7).rank(), 7));
        assert!(waits.contains("rank 7 does not exist"), "{waits}");
        running.remove(0).join();
    });
    let told = run.unwrap_err().to_string();
    assert!(
        told.contains("waits in join (world.endpoints, rank 0): "),
        "{told}"
    );
    assert!(
        told.contains("waits in barrier (world.endpoints, "),
        "{told}"
    );
}

/// Uses endpoints, join handles and a communicator after the end of their run. They report that,
/// and have no other effect.
#[test]
fn calls_after_the_run_panic() {
    let run = ranks(1, |world| {
        let two = world.endpoints(3);
        let running: Vec<_> = world
            .endpoints(2)
            .into_iter()
            .map(|endpoint| endpoint.start(|mine| mine.rank()))
            .collect();
        let kept = world
            .endpoints(1)
            .remove(0)
            .start(|mine| mine.any_process().receive::<Rank>().0);
        LEFT.with_borrow_mut(|left| (left.0, left.1) = (two, running));
        LEFT.with_borrow_mut(|left| left.1.push(kept));
        // All endpoints are polled before the run ends.
        world.this_process().receive::<Rank>();
    });
    let told = run.unwrap_err().to_string();
    assert!(
        told.contains("receive (world.endpoints, from any rank"),
        "{told}"
    );
    let (mut endpoints, mut running) = LEFT.take();
    assert!(running.iter().all(JoinHandle::is_finished));
    // A result from before the end is still available.
    assert_eq!(running.remove(0).join(), 0);
    assert_eq!(
        panic_of(|| assert_eq!(running.pop().unwrap().join(), 1)),
        "the run has ended"
    );
    let started = panic_of(|| drop(endpoints.remove(0).start(|_| {})));
    assert!(started.contains("only ranks start endpoints"), "{started}");
    let communicator = endpoints.remove(0).into_communicator();
    assert_eq!((communicator.rank(), communicator.size()), (1, 3));
    let called = panic_of(|| communicator.barrier());
    assert!(called.contains("finalized"), "{called}");
    let called = panic_of(|| drop(communicator.endpoints(1)));
    assert!(called.contains("finalized"), "{called}");
}

/// Panics in a call of a thread. The thread catches the panic and continues.
#[test]
fn thread_can_catch_the_panic_of_a_call() {
    let run = ranks(2, |world| {
        let threads = world.endpoints(1).into_iter().map(|endpoint| {
            endpoint.on_thread(|rank| {
                let told = panic_of(|| rank.call(|mine| assert!(mine.rank() > 5, "too small")));
                assert_eq!(told, "too small");
                let told = panic_of(|| rank.call(|mine| mine.process_at_rank(9).send(&1)));
                assert!(told.contains("rank 9 does not exist"), "{told}");
                rank.call(|mine| sum(mine, 1))
            })
        });
        assert!(threads.map(JoinHandle::join).all(|sum| sum == 2));
    });
    run.unwrap();
}

/// Fails a run with threads whose calls are in progress or come later. Each of these calls panics
/// in its thread.
#[test]
fn threads_that_outlive_the_run() {
    let (over, is_over) = mpsc::channel();
    let (tell, told) = mpsc::channel();
    let is_over = Arc::new(std::sync::Mutex::new(Some(is_over)));
    let run = ranks(2, move |world| {
        let mut two = world.endpoints(2);
        if world.rank() == 1 {
            let (tell, is_over) = (tell.clone(), is_over.lock().unwrap().take().unwrap());
            let later = two.pop().unwrap().on_thread(move |rank| {
                is_over.recv().unwrap();
                tell.send(panic_of(|| rank.call(|mine| mine.barrier())))
                    .unwrap();
            });
            drop(later);
        }
        let tell = tell.clone();
        drop(two.remove(0).on_thread(move |rank| {
            let told = panic_of(|| {
                rank.call(|mine| {
                    SimpleCommunicator::world().this_process().send(&1);
                    mine.any_process().receive::<i32>();
                });
            });
            tell.send(told).unwrap();
        }));
        // The call is in progress after this receive.
        world.this_process().receive::<i32>();
        world.barrier();
        assert!(world.rank() == 0, "the end");
        world.barrier();
    });
    assert!(run.unwrap_err().to_string().contains("panicked: the end"));
    over.send(()).unwrap();
    for _ in 0..3 {
        assert_eq!(told.recv().unwrap(), "the run has ended");
    }
}

/// Drops the result of a thread that is never joined. The destructor runs on a stack of the rank,
/// so it can make calls.
#[test]
fn results_not_joined_are_dropped_by_the_rank() {
    struct Calls(bool);
    impl Drop for Calls {
        fn drop(&mut self) {
            let world = SimpleCommunicator::world();
            assert_eq!(sum(&world, 1), 2);
            assert!(self.0, "in a destructor");
        }
    }
    for ends_well in [true, false] {
        // The function returns first. Its remaining endpoints live until the rank has waited for
        // them.
        let run = mpi::run_with(&mpi::Options::new(), 2, move || {
            let universe = mpi::initialize().unwrap();
            let mut two = universe.world().endpoints(2);
            drop(two.remove(0).on_thread(move |_| Calls(ends_well)));
            let last = two.remove(0).start(move |mine| {
                mine.any_process().receive::<u8>();
                drop(universe);
            });
            std::mem::forget(last);
        });
        let told = run.unwrap_err().to_string();
        let wanted = match ends_well {
            true => "waits in receive (world.endpoints, from any rank",
            false => "panicked: in a destructor (as rank ",
        };
        assert!(told.contains(wanted), "{told}");
    }
}

/// Creates endpoints, stacks and threads in many rounds, some of which are never used. Nothing may
/// accumulate.
#[test]
fn repeated_endpoints_do_not_accumulate() {
    let run = ranks(2, |world| {
        for round in 0..200 {
            let mut made = world.endpoints(3);
            drop(made.remove(round % 3));
            let thread = made
                .remove(round % 2)
                .on_thread(|rank| rank.call(|mine| mine.size()));
            let sizes = endpoint::each(made, |mine| mine.size());
            assert_eq!((thread.join(), &sizes[..]), (6, &[6][..]));
        }
    });
    run.unwrap();
}
