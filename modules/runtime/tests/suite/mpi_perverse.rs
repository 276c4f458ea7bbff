//! Unusual but safe uses of messages: requests that outlive their run, wakers that run user code,
//! and values that send messages when they are dropped.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use graphmap_runtime::mpi::{self, Communicator, Error};
use graphmap_runtime::{
    DecodeError, Decoder, Encoder, Local, Options, Payload, RunError, yield_now,
};

/// Code of a rank, which gets the world.
type Rank = Box<dyn FnOnce(Communicator) -> Pin<Box<dyn Future<Output = ()>>>>;

/// Runs each rank with the world communicator.
fn ranks(ranks: Vec<Rank>) {
    let mut net = Local::new();
    for rank in ranks {
        net.spawn(async move { rank(mpi::world().unwrap()).await });
    }
    net.run(&Options::new()).unwrap();
}

macro_rules! rank {
    (|$world:ident| $body:expr) => {
        Box::new(move |$world: Communicator| {
            Box::pin(async move { $body }) as Pin<Box<dyn Future<Output = ()>>>
        })
    };
}

#[test]
fn a_nested_run_sends_to_a_rank_around_it() {
    for before in [0, 3] {
        let mut all: Vec<Rank> = Vec::new();
        let got = Rc::new(Cell::new(0));
        let seen = Rc::clone(&got);
        all.push(rank!(|world| {
            seen.set(world.recv::<u64>(mpi::ANY_SOURCE, 1).await.unwrap().0);
        }));
        all.push(rank!(|world| {
            yield_now().await;
            let mut inner = Local::new();
            for _ in 0..before {
                inner.spawn(async {});
            }
            inner.spawn(async move {
                world.send(7u64, 0, 1).await.unwrap();
                // The inner run has its own world.
                assert_eq!(mpi::world().unwrap().size(), before + 1);
            });
            inner.run(&Options::new()).unwrap();
        }));
        ranks(all);
        assert_eq!(got.get(), 7);
    }
}

#[test]
fn a_nested_run_that_waits_for_the_one_around_it_ends() {
    let outcome = Rc::new(RefCell::new(None));
    let seen = Rc::clone(&outcome);
    ranks(vec![
        rank!(|world| {
            yield_now().await;
            let receive = world.recv::<u64>(1, 1);
            let mut inner = Local::new();
            inner.spawn(async move {
                let _ = receive.await;
            });
            seen.replace(Some(inner.run(&Options::new()).map(drop)));
        }),
        rank!(|world| {
            for _ in 0..3 {
                yield_now().await;
            }
            world.send(7u64, 0, 1).await.unwrap();
        }),
    ]);
    let outcome = outcome.take();
    assert!(
        matches!(outcome, Some(Err(RunError::Blocked(_)))),
        "{outcome:?}"
    );
}

#[test]
fn a_request_of_a_run_that_is_over_says_so() {
    let kept = Rc::new(RefCell::new(Vec::new()));
    let keeps = Rc::clone(&kept);
    ranks(vec![rank!(|world| {
        keeps.borrow_mut().push((world.recv::<u64>(0, 1), world));
    })]);
    let kept = kept.take();
    ranks(vec![rank!(|world| {
        for (receive, old) in kept {
            assert!(matches!(receive.await, Err(Error::Over)));
            assert!(matches!(old.send(1u8, 0, 0).await, Err(Error::Over)));
            assert!(matches!(old.recv::<u8>(0, 0).await, Err(Error::Over)));
        }
        world.send(1u8, 0, 1).await.unwrap();
        world.recv::<u8>(0, 1).await.unwrap();
    })]);
}

/// A waker that calls a function when it is woken and when it is dropped.
struct Doing<F: Fn() + Send + Sync>(F);

impl<F: Fn() + Send + Sync> Wake for Doing<F> {
    fn wake(self: Arc<Self>) {
        (self.0)();
    }
}

impl<F: Fn() + Send + Sync> Drop for Doing<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

thread_local! {
    static WORLD: RefCell<Option<Communicator>> = const { RefCell::new(None) };
    static DONE: Cell<u32> = const { Cell::new(0) };
}

/// Sends a message to this rank, and drops receives and a probe, with the communicator in `WORLD`.
fn disturb() {
    let Ok(world) = WORLD.try_with(|world| world.borrow().clone()) else {
        return;
    };
    let Some(world) = world else { return };
    DONE.set(DONE.get() + 1);
    let me = world.rank();
    drop(world.bsend(1u8, me, 9));
    drop(world.recv::<u8>(me, 9));
    drop(world.recv::<u8>(me, 10));
    drop(world.probe(me, 11));
}

#[test]
fn a_waker_that_sends_and_receives() {
    ranks(vec![
        rank!(|world| {
            WORLD.replace(Some(world.clone()));
            for turn in 0..20 {
                let mut receive = world.recv::<u64>(1, 1);
                let mut probe = world.probe(1, 1);
                let waker = Waker::from(Arc::new(Doing(disturb)));
                for _ in 0..3 {
                    let mut context = Context::from_waker(&waker);
                    let _ = pin!(&mut probe).poll(&mut context);
                    if let Poll::Ready(got) = pin!(&mut receive).poll(&mut context) {
                        assert_eq!(got.unwrap().0, turn);
                        receive = world.recv(0, 77);
                    }
                    drop(Waker::from(Arc::new(Doing(disturb))));
                    yield_now().await;
                }
                drop((probe, receive));
                world.send(turn, 1, 2).await.unwrap();
                // The message is not lost: either the receive above or this probe gets it.
                while world.iprobe(1, 1).await.unwrap().is_some() {
                    world.recv::<u64>(1, 1).await.unwrap();
                }
            }
            // The messages that `disturb` sent can all be received.
            while world.iprobe(0, 9).await.unwrap().is_some() {
                world.recv::<u8>(0, 9).await.unwrap();
            }
            WORLD.replace(None);
        }),
        rank!(|world| {
            for turn in 0..20u64 {
                world.send(turn, 0, 1).await.unwrap();
                assert_eq!(world.recv::<u64>(0, 2).await.unwrap().0, turn);
            }
        }),
    ]);
    assert!(DONE.get() > 20);
}

/// A value that sends messages when it is dropped. With the number 13, it also panics.
struct Sends(u32);

graphmap_runtime::payload!(Sends(number));

impl Drop for Sends {
    fn drop(&mut self) {
        disturb();
        if self.0 == 13 {
            panic!("dropped");
        }
    }
}

#[test]
fn values_that_send_when_they_are_dropped() {
    ranks(vec![rank!(|world| {
        WORLD.replace(Some(world.clone()));
        for n in 0..10 {
            world.bsend(Sends(n), 0, 1).await.unwrap();
        }
        // The receive asks for another type than was sent.
        assert!(matches!(
            world.recv::<u8>(0, 1).await,
            Err(Error::Type { .. })
        ));
        drop(world.recv::<Sends>(0, 1).await.unwrap());
        let mut kept = world.recv::<Sends>(0, 1);
        let waker = Waker::noop();
        let polled = pin!(&mut kept).poll(&mut Context::from_waker(waker));
        assert!(polled.is_ready());
        drop(kept);
        assert!(matches!(
            world.rsend(Sends(1), 0, 55).await,
            Err(Error::NotReady)
        ));
        assert!(matches!(
            world.send(Sends(1), 3, 5).await,
            Err(Error::Rank { .. })
        ));
        // The remaining values are dropped when the run ends.
    })]);
    WORLD.replace(None);
}

#[test]
fn values_that_panic_when_they_are_dropped_at_the_end() {
    ranks(vec![rank!(|world| {
        world.bsend(Sends(13), 0, 1).await.unwrap();
        world.bsend(Sends(13), 0, 1).await.unwrap();
    })]);
}

/// Drops the last handle of a communicator whose messages panic when they are dropped. The process
/// that drops the handle fails.
#[test]
fn values_that_panic_when_they_go_with_their_communicator() {
    let mut net = Local::new();
    net.spawn(async {
        let copy = mpi::world()?.dup().await?;
        copy.bsend(Sends(13), 0, 1).await?;
        copy.bsend(Sends(13), 0, 1).await?;
        drop(copy);
        Ok::<(), Error>(())
    });
    let outcome = net.run(&Options::new()).map(drop);
    let Err(RunError::Failed(failure)) = outcome else {
        panic!("{outcome:?}");
    };
    assert!(
        failure
            .message
            .contains("panicked when it was dropped: dropped"),
        "{failure:?}"
    );
}

#[test]
fn a_forgotten_request_delays_no_end() {
    // Keeps the request until the run has ended. During the run, this is the same as forgetting it;
    // without the drop at the end, the leak checker would report it.
    let forgotten = Rc::new(RefCell::new(None));
    let forgets = Rc::clone(&forgotten);
    ranks(vec![
        rank!(|world| {
            let mut receive = world.recv::<u64>(1, 1);
            poll_fn(|context| {
                let _ = pin!(&mut receive).poll(context);
                Poll::Ready(())
            })
            .await;
            forgets.replace(Some(receive));
            assert_eq!(world.recv::<u64>(1, 2).await.unwrap().0, 2);
        }),
        rank!(|world| {
            // The first message matches the kept receive, the second matches the receive of the
            // rank.
            world.send(1u64, 0, 1).await.unwrap();
            world.send(2u64, 0, 2).await.unwrap();
        }),
    ]);
}

/// Drops all handles of a communicator while requests wait in it. The wait can never end, so the
/// run must report a block.
#[test]
fn waits_in_dropped_communicators_are_reported() {
    for (kind, told) in [
        "send (a dropped communicator, to rank 1 of the world, tag 3)",
        "receive (a dropped communicator, from rank 1, tag 3)",
        "probe (a dropped communicator, from any rank, any tag)",
    ]
    .into_iter()
    .enumerate()
    {
        let mut net = Local::new();
        for rank in 0..2 {
            net.spawn(async move {
                let copy = mpi::world()?.dup().await?;
                if rank == 1 {
                    return Ok(());
                }
                let (send, receive, probe) = (
                    copy.ssend(1u8, 1, 3),
                    copy.recv::<u8>(1, 3),
                    copy.probe(mpi::ANY_SOURCE, mpi::ANY_TAG),
                );
                drop(copy);
                yield_now().await;
                match kind {
                    0 => send.await?,
                    1 => drop(receive.await?),
                    _ => drop(probe.await?),
                }
                Ok::<(), Error>(())
            });
        }
        let outcome = net.run(&Options::new()).map(drop);
        let Err(RunError::Blocked(block)) = outcome else {
            panic!("{outcome:?}");
        };
        let all = block.cycle.iter().chain(&block.others);
        let text: Vec<String> = all.map(ToString::to_string).collect();
        assert!(text.iter().any(|line| line.contains(told)), "{text:?}");
    }
}

/// Checks that unreceived messages are dropped together with their communicator.
#[test]
fn messages_go_with_their_communicator() {
    ranks(vec![rank!(|world| {
        let dropped = Rc::new(Cell::new(0));
        COUNTED.replace(Some(Rc::clone(&dropped)));
        let copy = world.dup().await.unwrap();
        copy.bsend(Counted(1), 0, 1).await.unwrap();
        world.bsend(Counted(2), 0, 1).await.unwrap();
        copy.bsend(Counted(3), 0, 1).await.unwrap();
        drop(copy.clone());
        assert_eq!(dropped.get(), 0);
        drop(copy);
        assert_eq!(dropped.get(), 2);
        // The message of the other communicator is still there.
        assert_eq!(world.recv::<Counted>(0, 1).await.unwrap().0.0, 2);
        COUNTED.replace(None);
    })]);
}

thread_local! {
    static COUNTED: RefCell<Option<Rc<Cell<u32>>>> = const { RefCell::new(None) };
}

/// A value that counts its drops.
struct Counted(u32);

graphmap_runtime::payload!(Counted(number));

impl Drop for Counted {
    fn drop(&mut self) {
        COUNTED.with_borrow(|counted| {
            if let Some(counted) = counted {
                counted.set(counted.get() + 1);
            }
        });
    }
}

thread_local! {
    /// Function that the next clone of a value calls.
    static ON_CLONE: Cell<Option<Box<dyn FnOnce()>>> = const { Cell::new(None) };
}

/// A value that calls `ON_CLONE` when it is cloned.
struct Cloned;

impl Clone for Cloned {
    fn clone(&self) -> Self {
        if let Some(act) = ON_CLONE.take() {
            act();
        }
        Cloned
    }
}

impl Payload for Cloned {
    fn size(&self) -> usize {
        0
    }

    fn encode<'a>(&'a self, _to: &mut Encoder<'a>) {}

    fn decode(_from: &mut Decoder<'_>) -> Result<Self, DecodeError> {
        Ok(Cloned)
    }
}

/// Catches the panic of a clone in one rank. The rank has not received its value and can poll
/// again, and no other rank loses its own.
#[test]
fn a_clone_that_panics_takes_no_value_from_others() {
    let had = Rc::new(Cell::new(0));
    let of_ranks = Rc::clone(&had);
    let one = move || {
        let had = Rc::clone(&of_ranks);
        rank!(|world| {
            if world.rank() == 0 {
                ON_CLONE.set(Some(Box::new(|| panic!("a clone"))));
            }
            let mut value = pin!(world.bcast((world.rank() == 0).then_some(Cloned), 0));
            let polled = poll_fn(|context| {
                let mut poll = || catch_unwind(AssertUnwindSafe(|| value.as_mut().poll(context)));
                poll().or_else(|_| poll()).unwrap()
            });
            polled.await.unwrap();
            had.set(had.get() + 1);
        })
    };
    ranks(vec![one(), one(), one()]);
    assert_eq!(had.get(), 3);
}

/// Runs a network in a clone, which waits for the collective call that is being cloned. The value
/// is not available before the clone returns, so the inner run blocks.
#[test]
fn a_clone_that_waits_for_its_own_call_is_blocked() {
    let outcome = Rc::new(RefCell::new(None));
    let seen = Rc::clone(&outcome);
    ranks(vec![
        rank!(|world| {
            world.bcast(Some(Cloned), 0).await.unwrap();
            yield_now().await;
        }),
        rank!(|world| {
            let value = world.bcast::<Cloned>(None, 0);
            yield_now().await;
            yield_now().await;
            value.await.unwrap();
        }),
        rank!(|world| {
            let value = world.bcast::<Cloned>(None, 0);
            ON_CLONE.set(Some(Box::new(move || {
                let mut inner = Local::new();
                inner.spawn(async move { drop(value.await) });
                seen.replace(Some(inner.run(&Options::new()).map(drop)));
            })));
            yield_now().await;
        }),
    ]);
    let outcome = outcome.take();
    assert!(
        matches!(outcome, Some(Err(RunError::Blocked(_)))),
        "{outcome:?}"
    );
}
