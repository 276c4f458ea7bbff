//! Threads as ranks, with processes at each place: calls among threads and tasks, panics, deadlocks
//! and the end of a run.

use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, mpsc};
use std::task::Poll;
use std::thread;

use crate::common::places::{Place, RANKS};
use crate::common::ranks::{everywhere, network, run_at};
use crate::common::thread_cases::{ended, polling_for_answers, start, threads_and_tasks};
use crate::common::{forget, seeds, size};
use graphmap_runtime as rt;
use rt::mpi::{self, ANY_SOURCE, Communicator, Error, ThreadRank};
use rt::{Local, Options, RunError, yield_now};

/// Uses three threads in each of four processes. The root is the second thread of its process.
#[test]
fn bcast_and_allreduce_over_twelve_threads() {
    everywhere(4, 1, |world| async move {
        let three = world.endpoints(3).await?;
        let threads = start(three, |rank| {
            let value = (rank.rank() == 4).then_some(400);
            let given = rank.bcast(value, 4)?;
            let sum = rank.allreduce(rank.rank(), |a, b| a + b)?;
            rank.barrier()?;
            Ok((rank.rank(), rank.size(), given, sum))
        })?;
        let first = 3 * world.rank();
        let wanted = (first..first + 3).map(|rank| (rank, 12, 400, 66));
        assert!(ended(threads).await?.into_iter().eq(wanted));
        Ok(())
    });
}

/// Uses one communicator whose ranks are threads, tasks of processes, and handles that threads
/// created.
#[test]
fn threads_and_tasks_together() {
    let rounds = size(6, 2);
    for seed in seeds(4, 1) {
        everywhere(3, seed, move |world| threads_and_tasks(world, seed, rounds));
    }
}

/// Polls for an answer in a loop, so that its process never sleeps. The answer must arrive
/// nevertheless: the thread may call while all other schedulers have just detected that they are
/// asleep, and run the deadlock detection.
#[test]
fn polling_for_an_answer_succeeds() {
    let questions = size(300, 3) as u32;
    everywhere(2, 1, move |world| polling_for_answers(world, questions));
}

/// Moves a rank from thread to thread. The process communicates with these threads only by
/// messages.
#[test]
fn a_rank_goes_from_thread_to_thread() {
    everywhere(2, 1, |world| async move {
        let mut two = world.endpoints(2).await?;
        let (other, own) = (two.remove(1).into_thread(), two.remove(0));
        // The thread with the corresponding endpoint in the other process.
        let across = (other.rank() + 2) % 4;
        thread::spawn(move || {
            other.send(1u8, across, 5).unwrap();
            let (give, take) = mpsc::channel();
            thread::spawn(move || {
                let rank: ThreadRank = take.recv().unwrap();
                let (_, status) = rank.recv::<u8>(ANY_SOURCE, 5).unwrap();
                rank.send(status.source, rank.rank() - 1, 6).unwrap();
            });
            give.send(other).unwrap();
        });
        let (from, status) = own.recv::<usize>(ANY_SOURCE, 6).await?;
        assert_eq!((from, status.source), (across, own.rank() + 1));
        Ok(())
    });
}

/// Makes calls without a rank, which must fail. A process must not call as a thread either.
#[test]
fn calls_without_a_rank_are_errors() {
    let outside = mpi::world().unwrap_err();
    assert_eq!(outside, Error::NoProcess);
    assert!(
        outside.to_string().contains("threads with an endpoint"),
        "{outside}"
    );
    everywhere(2, 1, |world| async move {
        let rank = world.endpoints(1).await?.remove(0);
        let without = thread::spawn(|| mpi::world().map(drop));
        assert_eq!(without.join().unwrap(), Err(Error::NoProcess));
        let thread = rank.clone().on_thread(|rank| {
            // The closure runs on the scheduler, but it is not a process either.
            rank.call(|_| async { mpi::world().map(drop) })
        })?;
        assert_eq!(thread.await?, Err(Error::NoProcess));
        let as_thread = rank.into_thread();
        let error = as_thread.barrier().unwrap_err();
        assert!(matches!(error, Error::Thread(_)), "{error}");
        assert!(
            error.to_string().contains("must not call as a thread"),
            "{error}"
        );
        world.barrier().await
    });
}

/// Lets a thread panic: in its own code, in calls that the scheduler runs, and while it owns a
/// rank. Each must fail the run.
#[test]
fn threads_that_panic_end_the_run() {
    type Does = fn(Communicator) -> Result<(), Error>;
    let ways: [Does; 4] = [
        |rank| rank.on_thread(|_| -> () { panic!("no more") }).map(drop),
        |rank| {
            rank.on_thread(|rank| {
                rank.call(|_| -> std::future::Ready<Result<(), Error>> { panic!("no more") })
                    .unwrap()
            })
            .map(drop)
        },
        |rank| {
            rank.on_thread(|rank| {
                rank.call(|_| async {
                    yield_now().await;
                    if true {
                        panic!("no more")
                    }
                    Ok(())
                })
                .unwrap()
            })
            .map(drop)
        },
        |rank| {
            let rank = rank.into_thread();
            thread::spawn(move || {
                let _rank = rank;
                panic!("no more");
            });
            Ok(())
        },
    ];
    for place in RANKS {
        for (number, way) in ways.into_iter().enumerate() {
            let failed = run_at(place, 2, 1, move |world| async move {
                let rank = world.endpoints(1).await?.remove(0);
                if rank.rank() == 1 {
                    way(rank.clone())?;
                }
                // This message is never sent.
                rank.recv::<u8>(ANY_SOURCE, 9).await.map(drop)
            });
            let Err(RunError::Failed(failure)) = failed else {
                panic!("{place:?}, {number}: {failed:?}");
            };
            let told = &failure.message;
            let who = "the thread of rank 1 of world.endpoints (";
            assert!(
                told.contains(who) && told.contains("mpi_threads.rs:"),
                "{told}"
            );
            assert!(
                told.contains(if number < 3 {
                    "panicked: no more"
                } else {
                    "panicked"
                }),
                "{told}"
            );
            assert!(
                failure.process == "rank1" || told.contains("rank1"),
                "{failure:?}"
            );
        }
    }
}

/// A value that panics when it is cloned or dropped.
struct Bad {
    cloned: bool,
    dropped: bool,
}

impl Clone for Bad {
    fn clone(&self) -> Self {
        assert!(!self.cloned, "no clone");
        Bad { ..*self }
    }
}

impl Drop for Bad {
    fn drop(&mut self) {
        assert!(!self.dropped, "no drop");
    }
}

rt::payload!(Bad { cloned, dropped });

/// Result of a call of a thread.
type Given = Result<(), Error>;

/// Catches the panic of an operation in a thread. The other ranks wait for the result, so the run
/// must fail.
#[test]
fn an_operation_that_panics_is_the_end_for_all() {
    for place in RANKS {
        let failed = run_at(place, 3, 1, |world| async move {
            let rank = world.endpoints(1).await?.remove(0);
            let thread = rank.on_thread(|rank| {
                let sum = || rank.allreduce(1u32, |_, _| panic!("no sum"));
                drop(catch_unwind(AssertUnwindSafe(sum)));
            })?;
            thread.await
        });
        let Err(RunError::Failed(failure)) = failed else {
            panic!("{place:?}: {failed:?}");
        };
        let told = "allreduce of `u32` of world.endpoints panicked: no sum";
        assert!(failure.message.contains(told), "{place:?}: {failure:?}");
    }
}

/// Broadcasts a value whose clone panics. The panic affects only the rank that takes the clone, and
/// the others get their values.
#[test]
fn a_clone_that_panics_affects_one_rank() {
    for place in RANKS {
        let outcomes: Arc<Mutex<Vec<Option<Given>>>> = Arc::default();
        let all = Arc::clone(&outcomes);
        run_at(place, 3, 1, move |world| {
            let all = Arc::clone(&all);
            async move {
                let rank = world.endpoints(1).await?.remove(0);
                let thread = rank.on_thread(move |rank| {
                    let bad = (rank.rank() == 0).then_some(Bad {
                        cloned: true,
                        dropped: false,
                    });
                    let given = || rank.bcast(bad, 0).map(drop);
                    let given = catch_unwind(AssertUnwindSafe(given));
                    all.lock().unwrap().push(given.ok());
                })?;
                thread.await
            }
        })
        .unwrap();
        // On each scheduler, the last rank that takes the value gets the original.
        let all = outcomes.lock().unwrap();
        let got = all.iter().filter(|given| **given == Some(Ok(()))).count();
        let panicked = all.iter().filter(|given| given.is_none()).count();
        assert_eq!((got + panicked, got > 0), (3, true), "{place:?}: {all:?}");
    }
}

/// Drops a rank with a message that panics when it is dropped, while another thread makes a call
/// with such a value.
#[test]
fn what_is_left_behind_panics() {
    let bad = || Bad {
        cloned: false,
        dropped: true,
    };
    let mut net = Local::new();
    net.spawn(async move {
        let world = mpi::world()?;
        let other = world.dup().await?.into_thread();
        let mut two = world.endpoints(2).await?;
        drop(two[1].bsend(bad(), 0, 0));
        let leaves = two.remove(0).into_thread();
        drop(two);
        let (tell, told) = mpsc::channel();
        thread::spawn(move || {
            drop(leaves);
            let kept = bad();
            tell.send(()).unwrap();
            let call = other.call(move |_| {
                forget(kept);
                std::future::ready(Ok(()))
            });
            assert_eq!(call, Err(Error::Over));
        });
        told.recv().unwrap();
        // Does not return to the scheduler, so that the scheduler finds both at once.
        (0..2000).for_each(|_| thread::yield_now());
        world.barrier().await?;
        yield_now().await;
        world.barrier().await
    });
    let failed = net.run(&Options::new());
    let Err(RunError::Failed(failure)) = failed else {
        panic!("{failed:?}");
    };
    let told = "a message that was never received panicked when it was dropped: no drop";
    assert!(failure.message.contains(told), "{failure:?}");
}

/// Drops the rank of a thread. The run must report at once that the other rank waits forever.
#[test]
fn waits_for_a_dropped_rank_are_reported() {
    for place in RANKS {
        let blocked = run_at(place, 2, 1, |world| async move {
            let rank = world.endpoints(1).await?.remove(0);
            match rank.rank() {
                1 => rank.on_thread(|_| ())?.await,
                _ => rank.barrier().await,
            }
        });
        let Err(RunError::Blocked(block)) = blocked else {
            panic!("{place:?}: {blocked:?}");
        };
        assert!(
            block
                .to_string()
                .contains("barrier (world.endpoints, 1 of "),
            "{block}"
        );
    }
}

/// Blocks all ranks, threads among them. The run must report this at once, with the source line of
/// each wait.
#[test]
fn deadlocks_of_threads_are_reported() {
    for place in RANKS {
        let blocked = run_at(place, 2, 1, |world| async move {
            let two = world.endpoints(2).await?;
            let threads = start(two, |rank| {
                let next = (rank.rank() + 1) % rank.size();
                match rank.rank() {
                    0 => rank.call(move |rank| rank.ssend(1u8, next, 3)),
                    1 => rank.call(move |rank| async move { rank.probe(next, 4).await.map(drop) }),
                    _ => rank.recv::<u8>(next, 5).map(drop),
                }
            })?;
            ended(threads).await.map(drop)
        });
        let Err(RunError::Blocked(block)) = blocked else {
            panic!("{place:?}: {blocked:?}");
        };
        let told = block.to_string();
        for call in [
            "send (world.endpoints, to rank 1, tag 3): ",
            "probe (world.endpoints, from rank 2, tag 4): ",
            "receive (world.endpoints, from rank 3, tag 5): ",
            "receive (world.endpoints, from rank 0, tag 5): ",
            "thread join (world.endpoints, rank 0): ",
        ] {
            assert!(told.contains(call), "{place:?}: no {call} in {told}");
        }
        assert!(told.contains("tests/suite/mpi_threads.rs:"), "{told}");
    }
}

/// Lets a thread wait outside the library. It may still call, so this is not a deadlock, and the
/// run only reports that there is no progress. Then the thread calls, and the run continues.
#[test]
#[cfg_attr(miri, ignore = "it takes seconds until a quiet while is told")]
fn a_thread_that_may_still_call_is_waited_for() {
    let (tell, told) = mpsc::channel();
    let options = Options::new().on_quiet(move |block| {
        let _ = tell.send(block.quiet().to_string());
    });
    let told = Arc::new(Mutex::new(told));
    let network = network(2, move |world| {
        let told = Arc::clone(&told);
        async move {
            let rank = world.endpoints(1).await?.remove(0);
            if rank.rank() == 1 {
                let thread = rank.on_thread(move |rank| {
                    let told = told.lock().unwrap().recv().unwrap();
                    rank.barrier().map(|()| told)
                })?;
                let told = thread.await??;
                let call = "a thread (rank 1 of world.endpoints, which can still make calls): ";
                assert!(
                    told.contains(call) && told.contains("mpi_threads.rs:"),
                    "{told}"
                );
                return Ok(());
            }
            rank.barrier().await
        }
    });
    rt::run(network, &options).unwrap();
}

/// Makes calls that wait when the run ends, and calls after the end. All must return `Error::Over`.
#[test]
fn threads_that_outlive_the_run() {
    for place in RANKS {
        let outcomes: Arc<Mutex<Vec<thread::JoinHandle<[Error; 3]>>>> = Arc::default();
        let all = Arc::clone(&outcomes);
        run_at(place, 2, 1, move |world| {
            let all = Arc::clone(&all);
            async move {
                let rank = world.endpoints(1).await?.remove(0);
                let thread = rank.clone().into_thread();
                let mine = rank.rank();
                all.lock().unwrap().push(thread::spawn(move || {
                    thread.send(7u8, mine, 1).unwrap();
                    let first = thread.recv::<u8>(ANY_SOURCE, 2).unwrap_err();
                    let second = thread.send(1u8, 0, 0).unwrap_err();
                    [first, second, thread.barrier().unwrap_err()]
                }));
                // The thread has started, and waits or is about to wait.
                rank.recv::<u8>(mine, 1).await?;
                world.barrier().await
            }
        })
        .unwrap();
        for thread in outcomes.lock().unwrap().drain(..) {
            assert_eq!(
                thread.join().unwrap(),
                [Error::Over, Error::Over, Error::Over]
            );
        }
    }
}

/// Fails a run while threads wait. Their calls must return, and must not delay the end of the run.
#[test]
fn threads_of_a_run_that_fails() {
    for place in RANKS {
        let (give, take) = mpsc::channel();
        let give = Arc::new(Mutex::new(give));
        let failed = run_at(place, 3, 1, move |world| {
            let give = Arc::clone(&give);
            async move {
                let rank = world.endpoints(1).await?.remove(0);
                if rank.rank() == 2 {
                    rank.recv::<u8>(0, 1).await?;
                    rank.recv::<u8>(1, 1).await?;
                    panic!("one of three");
                }
                let give = give.lock().unwrap().clone();
                let thread = rank.on_thread(move |rank| {
                    rank.send(1u8, 2, 1).unwrap();
                    give.send(rank.recv::<u8>(2, 3).map(drop)).unwrap();
                })?;
                thread.await
            }
        });
        let Err(RunError::Failed(failure)) = failed else {
            panic!("{place:?}: {failed:?}");
        };
        assert!(failure.message.contains("one of three"), "{failure:?}");
        let heard: Vec<Result<(), Error>> = take.iter().collect();
        assert_eq!(heard, [Err(Error::Over), Err(Error::Over)], "{place:?}");
    }
}

/// Makes a thread with a communicator of a run that has ended. All its calls must fail.
#[test]
fn a_rank_of_a_run_that_is_over() {
    let kept = std::rc::Rc::new(std::cell::RefCell::new(None));
    let keeps = std::rc::Rc::clone(&kept);
    let mut net = Local::new();
    net.spawn(async move {
        let one = mpi::world()?.endpoints(1).await?.remove(0);
        keeps.replace(Some(one));
        Ok::<(), Error>(())
    });
    net.run(&Options::new()).unwrap();
    let one = kept.take().unwrap();
    let rank = one.clone().into_thread();
    assert_eq!(
        thread::spawn(move || rank.barrier()).join().unwrap(),
        Err(Error::Over)
    );
    let (give, take) = mpsc::channel();
    drop(
        one.on_thread(move |rank| give.send(rank.recv::<u8>(0, 0).map(drop)))
            .unwrap(),
    );
    assert_eq!(take.recv().unwrap(), Err(Error::Over));
}

/// Creates ranks that are dropped, forgotten or never used. No other call may block because of
/// them.
#[test]
fn ranks_that_are_forgotten() {
    everywhere(3, 1, |world| async move {
        for round in 0..4 {
            let ranks = world.endpoints(3).await?;
            let mut threads: Vec<ThreadRank> =
                ranks.into_iter().map(Communicator::into_thread).collect();
            drop(threads.swap_remove(round % 3));
            forget(threads.pop());
            let thread = threads.remove(0);
            // This message is never received either.
            thread::spawn(move || drop(thread.send(round, thread.rank(), 0)));
        }
        world.barrier().await
    });
}

/// Wakes a call by another thread that has a clone of its waker.
#[test]
fn a_call_that_another_thread_wakes() {
    everywhere(2, 1, |world| async move {
        let rank = world.endpoints(1).await?.remove(0);
        let threads = start([rank], |rank| {
            rank.call(|rank| async move {
                let mut woken = false;
                let sum = rank.allreduce(1, |a, b| a + b);
                poll_fn(|context| {
                    if woken {
                        return Poll::Ready(());
                    }
                    woken = true;
                    let waker = context.waker().clone();
                    thread::spawn(move || waker.wake());
                    Poll::Pending
                })
                .await;
                sum.await
            })
        })?;
        assert_eq!(ended(threads).await?, [2]);
        Ok(())
    });
}

/// Uses many threads as ranks.
#[test]
fn many_threads() {
    let threads = size(20, 3) as usize;
    run_at(Place::Threads(2), 4, 1, move |world| async move {
        let ranks = world.endpoints(threads).await?;
        let sums = start(ranks, |rank| {
            let mut sum = 0;
            for round in 0..5u64 {
                let next = (rank.rank() + 1) % rank.size();
                rank.send(round, next, 0)?;
                sum += rank.recv::<u64>(ANY_SOURCE, 0)?.0;
            }
            rank.allreduce(sum, |a, b| a + b)
        })?;
        let all = 4 * threads as u64 * 10;
        assert!(ended(sums).await?.iter().all(|&sum| sum == all));
        Ok(())
    })
    .unwrap();
}
