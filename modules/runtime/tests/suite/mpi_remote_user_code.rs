//! Faulty or unusual user code in ranks on several schedulers. Values and operations panic or send
//! messages, and communicators and requests are dropped while they are in use.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::Poll;

use crate::common::places::{Place, RANKS};
use crate::common::ranks::{everywhere, run_at};
use crate::common::{forget, seeds};
use graphmap_runtime as rt;
use rt::mpi::{self, Communicator, Error, Group, Request};
use rt::{DecodeError, Decoder, Encoder, Payload, RunError, yield_now};

/// A value that panics at the step that its number names.
struct Bad(u8);

const ENCODE: u8 = 1;
const DECODE: u8 = 2;
const DROP: u8 = 3;
const SIZE: u8 = 4;

impl Payload for Bad {
    fn size(&self) -> usize {
        assert_ne!(self.0, SIZE, "asked for a size");
        1
    }

    fn encode<'a>(&'a self, to: &mut Encoder<'a>) {
        assert_ne!(self.0, ENCODE, "asked to encode");
        to.copy(&[self.0]);
    }

    fn decode(from: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        let [kind] = from.take()?;
        assert_ne!(kind, DECODE, "asked to decode");
        Ok(Bad(kind))
    }
}

impl Drop for Bad {
    fn drop(&mut self) {
        assert!(self.0 != DROP || std::thread::panicking(), "asked to drop");
    }
}

/// Checks that the run ends whichever step panics: without an error, or with that panic in its
/// report.
#[test]
fn values_that_panic_end_the_run() {
    let ways: [fn(Communicator, u8) -> _; 4] = [
        |world, kind| Box::pin(by_message(world, kind, false)) as Way,
        |world, kind| Box::pin(by_message(world, kind, true)) as Way,
        |world, kind| Box::pin(by_collective(world, kind)) as Way,
        |world, kind| Box::pin(by_bcast(world, kind)) as Way,
    ];
    for place in RANKS {
        for kind in [ENCODE, DECODE, DROP, SIZE] {
            for way in ways {
                let end = run_at(place, 3, kind.into(), move |world| way(world, kind));
                match end {
                    Ok(_) => {}
                    Err(RunError::Failed(failure)) => {
                        assert!(
                            failure.message.contains("asked to")
                                || failure.message.contains("asked for"),
                            "{place:?}: {failure:?}"
                        );
                    }
                    Err(error) => panic!("{place:?}, {kind}: {error}"),
                }
            }
        }
    }
}

type Way = std::pin::Pin<Box<dyn Future<Output = Result<(), Error>>>>;

async fn by_message(world: Communicator, kind: u8, late: bool) -> Result<(), Error> {
    let (next, before) = ((world.rank() + 1) % 3, (world.rank() + 2) % 3);
    let sent = match late {
        true => world.ssend(Bad(kind), next, 0),
        false => world.send(Bad(kind), next, 0),
    };
    for _ in 0..world.rank() {
        yield_now().await;
    }
    let received = world.recv::<Bad>(before, 0).await?;
    sent.await?;
    drop(received);
    Ok(())
}

async fn by_collective(world: Communicator, kind: u8) -> Result<(), Error> {
    world.reduce(Bad(kind), |_, other| other, 1).await.map(drop)
}

async fn by_bcast(world: Communicator, kind: u8) -> Result<(), Error> {
    let values = (world.rank() == 2).then(|| (0..3).map(|_| Bad(kind)).collect());
    world.scatter(values, 2).await.map(drop)
}

/// Sends messages from a reduction operation, which may do anything except wait. A panic of an
/// operation fails the run.
#[test]
fn operations_that_send_and_panic() {
    everywhere(4, 3, |world| async move {
        let own = world.clone();
        let sum = world.allreduce(1u32, move |a, b| {
            own.bsend(a, own.rank(), 77).cancel();
            a + b
        });
        assert_eq!(sum.await?, 4);
        world.barrier().await?;
        while world.iprobe(own_source(&world), 77).await?.is_some() {
            world.recv::<u32>(own_source(&world), 77).await?;
        }
        Ok(())
    });
    for place in RANKS {
        let end = run_at(place, 4, 3, |world| async move {
            world
                .allreduce(1u32, |_, _| panic!("no operation"))
                .await
                .map(drop)
        });
        match end {
            Err(RunError::Failed(failure)) => {
                assert!(
                    failure.message.contains("no operation"),
                    "{place:?}: {failure:?}"
                );
            }
            other => panic!("{place:?}: {other:?}"),
        }
    }
}

fn own_source(world: &Communicator) -> usize {
    world.rank()
}

/// Drops communicators, requests and collective calls while they are in progress.
#[test]
fn dropped_while_in_progress() {
    for seed in seeds(8, 1) {
        everywhere(5, seed, move |world| async move {
            let me = world.rank();
            for round in 0..10u64 {
                let comm = world.dup().await?;
                drop(comm.barrier());
                drop(comm.allgather(vec![me; 3]));
                drop(comm.gather(me, 3));
                let to = (me + round as usize) % 5;
                drop(comm.send(vec![1u8; 100_000], to, 0));
                drop(comm.ssend(2u8, to, 1));
                drop(comm.recv::<u8>(mpi::ANY_SOURCE, 1));
                if (me as u64 + seed + round).is_multiple_of(3) {
                    yield_now().await;
                }
                drop(comm.split(Some(1), 0));
                drop(comm);
            }
            // The world still works.
            assert_eq!(world.allreduce(1u64, |a, b| a + b).await?, 5);
            Ok(())
        });
    }
}

/// Forgets a receive, which keeps its message and must not block any other operation.
#[test]
fn forgotten_requests() {
    everywhere(3, 2, |world| async move {
        let next = (world.rank() + 1) % 3;
        let before = (world.rank() + 2) % 3;
        forget(world.recv::<Vec<u8>>(before, 5));
        forget(world.ssend(vec![1u8; 100_000], next, 5));
        forget(world.barrier());
        world.send(7u8, next, 6).await?;
        assert_eq!(world.recv::<u8>(before, 6).await?.0, 7);
        Ok(())
    });
}

/// Makes one rank call a different collective operation, early or late. All ranks must get the
/// error.
#[test]
fn a_mismatched_call_is_an_error_on_all_ranks() {
    for wrong in 0..5 {
        for seed in seeds(3, 1) {
            everywhere(5, seed, move |world| async move {
                let me = world.rank();
                if (me as u64 + seed).is_multiple_of(2) {
                    yield_now().await;
                }
                let error = match me == wrong {
                    true => world.scan(1u8, |a, b| a + b).await.err(),
                    false => world.allgather(1u8).await.err(),
                };
                assert!(matches!(error, Some(Error::Mismatch(_))), "{error:?}");
                let group = match me == wrong {
                    true => Group::of(vec![0, 4])?,
                    false => world.group().clone(),
                };
                let made = world.create(&group).await;
                // The first member of a group creates its communicator.
                assert!(wrong == 0 || made.is_err() == (me == wrong), "{made:?}");
                assert_eq!(world.allreduce(1u8, |a, b| a + b).await?, 5);
                Ok(())
            });
        }
    }
}

/// Runs a network within a process. The inner run uses the communicator of the outer run.
#[test]
fn a_nested_run_sends_to_ranks_around_it() {
    for place in [Place::Threads(2), Place::Late(2)] {
        run_at(place, 2, 1, |world| async move {
            if world.rank() == 1 {
                assert_eq!(world.recv::<u8>(0, 0).await?.0, 9);
                return Ok(());
            }
            let mut inner = rt::Local::new();
            let outer = world.clone();
            inner.spawn(async move { outer.send(9u8, 1, 0).await });
            inner.run(&rt::Options::new()).unwrap();
            let _ = world.ssend(1u8, 0, 3).cancel();
            Ok(())
        })
        .unwrap();
    }
}

/// Polls a future and catches its panics. Returns `None` if it panicked.
async fn caught<T>(future: impl Future<Output = T>) -> Option<T> {
    let mut future = std::pin::pin!(future);
    std::future::poll_fn(|context| {
        let polled = catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context)));
        polled.map_or(Poll::Ready(None), |polled| polled.map(Some))
    })
    .await
}

/// Catches the panic of an operation within a rank. The other ranks wait for the result, so the run
/// must fail.
#[test]
fn an_operation_whose_panic_is_caught_ends_the_run() {
    type Call = fn(Communicator) -> Way;
    let calls: [(&str, Call); 5] = [
        ("allreduce of `u32`", |world| {
            Box::pin(async move {
                world.allreduce(1u32, |_, _| panic!("no sum")).await?;
                Ok(())
            })
        }),
        ("reduce of `u32` with root 1", |world| {
            Box::pin(async move {
                world.reduce(1u32, |_, _| panic!("no sum"), 1).await?;
                Ok(())
            })
        }),
        ("reduce_scatter of `alloc::vec::Vec<u32>`", |world| {
            Box::pin(async move {
                let all = vec![1u32; world.size()];
                world.reduce_scatter(all, |_, _| panic!("no sum")).await?;
                Ok(())
            })
        }),
        ("scan of `u32`", |world| {
            Box::pin(async move {
                world.scan(1u32, |_, _| panic!("no sum")).await?;
                Ok(())
            })
        }),
        ("exscan of `u32`", |world| {
            Box::pin(async move {
                world.exscan(1u32, |_, _| panic!("no sum")).await?;
                Ok(())
            })
        }),
    ];
    for place in RANKS {
        for (name, call) in calls {
            let end = run_at(place, 3, 1, move |world| async move {
                let _: Option<Result<(), Error>> = caught(async { call(world).await }).await;
                Ok(())
            });
            let Err(RunError::Failed(failure)) = end else {
                panic!("{place:?}, {name}: {end:?}");
            };
            let told = format!("{name} of world panicked: no sum");
            assert!(failure.message.contains(&told), "{place:?}: {failure:?}");
        }
    }
}

/// Checks that a message that cannot be encoded uses no credit.
#[test]
fn messages_that_are_not_encoded_take_no_credit() {
    struct Large(bool);
    impl Payload for Large {
        fn size(&self) -> usize {
            60_000
        }

        fn encode<'a>(&'a self, to: &mut Encoder<'a>) {
            assert!(!self.0, "no bytes");
            to.copy(&[0; 60_000]);
        }

        fn decode(from: &mut Decoder<'_>) -> Result<Self, DecodeError> {
            let _: [u8; 60_000] = from.take()?;
            Ok(Large(false))
        }
    }
    run_at(Place::Late(2), 2, 1, |world| async move {
        if world.rank() == 0 {
            for _ in 0..100 {
                let send = AssertUnwindSafe(|| drop(world.send(Large(true), 1, 0)));
                assert!(catch_unwind(send).is_err());
            }
            let sent = world.send(Large(false), 1, 0);
            assert!(sent.is_done(), "it waits for a receive");
            sent.await?;
        }
        world.barrier().await?;
        if world.rank() == 1 {
            let _ = world.recv::<Large>(0, 0).await?;
        }
        Ok(())
    })
    .unwrap();
}
