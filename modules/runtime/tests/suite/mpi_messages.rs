//! Messages between ranks of one scheduler: matching, blocking and errors.

use std::cell::{Cell, RefCell};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

use graphmap_runtime::mpi::{self, ANY_SOURCE, ANY_TAG, Communicator, Error, Request, Status};
use graphmap_runtime::{self as rt, Local, Options, RunError, yield_now};

/// Runs a number of ranks that all execute `rank`.
fn ranks<F: Future<Output = Result<(), Error>> + 'static>(
    count: usize,
    rank: impl Fn(Communicator) -> F + 'static,
) -> Result<rt::Report, RunError> {
    run(count, &Options::new(), rank)
}

fn run<F: Future<Output = Result<(), Error>> + 'static>(
    count: usize,
    options: &Options,
    rank: impl Fn(Communicator) -> F + 'static,
) -> Result<rt::Report, RunError> {
    let mut net = Local::new();
    let rank = Rc::new(rank);
    for _ in 0..count {
        let rank = Rc::clone(&rank);
        net.spawn(async move { rank(mpi::world()?).await });
    }
    net.run(options)
}

fn status(source: usize, tag: i32, count: usize) -> Status {
    Status { source, tag, count }
}

#[test]
fn values_are_moved() {
    ranks(2, |world| async move {
        assert_eq!((world.size(), world.name()), (2, "world"));
        if world.rank() == 0 {
            let text = vec![1u64; 1000];
            let address = text.as_ptr().addr();
            world.send(text, 1, 3).await?;
            world.send(address as u64, 1, 4).await?;
            world.send([7u8; 100], 1, 5).await
        } else {
            let (text, of) = world.recv::<Vec<u64>>(0, 3).await?;
            assert_eq!(of, status(0, 3, 1));
            let (address, _) = world.recv::<u64>(0, 4).await?;
            assert_eq!(text.as_ptr().addr() as u64, address);
            assert_eq!(world.recv::<[u8; 100]>(0, 5).await?.0, [7; 100]);
            Ok(())
        }
    })
    .unwrap();
}

#[test]
fn messages_of_a_rank_do_not_overtake_each_other() {
    for shuffle in 0..if cfg!(miri) { 1 } else { 20 } {
        let options = Options::new().shuffle(shuffle);
        run(4, &options, |world| async move {
            const EACH: u32 = if cfg!(miri) { 40 } else { 200 };
            if world.rank() > 0 {
                for n in 0..EACH {
                    // Half of them are received by tag while more than 64 messages wait.
                    world.bsend(n, 0, (n % 3) as i32).await?;
                }
                return Ok(());
            }
            let mut next = [0; 4];
            for _ in 0..2 * EACH {
                let (n, of) = world.recv::<u32>(ANY_SOURCE, ANY_TAG).await?;
                assert_eq!((n, of.tag), (next[of.source], (n % 3) as i32));
                next[of.source] += 1;
            }
            // Receives the remaining messages by tag, starting with the last rank. Each of these
            // lists is in order too.
            for source in [3, 2, 1] {
                for tag in [2, 0, 1] {
                    let left = (next[source]..EACH).filter(|n| (n % 3) as i32 == tag);
                    for n in left {
                        assert_eq!(world.recv::<u32>(source, tag).await?.0, n);
                    }
                }
            }
            Ok(())
        })
        .unwrap();
    }
}

#[test]
fn slices_are_received_into_slices_and_as_vectors() {
    ranks(2, |world| async move {
        if world.rank() == 0 {
            world.send_slice(&[1u16, 2, 3], 1, 0).await?;
            world.send_slice(&[1u16, 2, 3], 1, 0).await?;
            world.send_slice(&[1u16, 2, 3], 1, 0).await?;
            world.send(9u16, 1, 0).await?;
            return world.send(9u8, 1, 0).await;
        }
        let mut room = [0u16; 4];
        assert_eq!(world.recv_into(&mut room, 0, 0).await?, status(0, 0, 3));
        assert_eq!(room, [1, 2, 3, 0]);
        assert_eq!(world.recv::<Vec<u16>>(0, 0).await?.0, [1, 2, 3]);
        let mut short = [0u16; 2];
        let truncated = Error::Truncated { sent: 3, room: 2 };
        assert_eq!(world.recv_into(&mut short, 0, 0).await, Err(truncated));
        assert_eq!(short, [1, 2]);
        assert_eq!(world.recv_into(&mut room, 0, 0).await?, status(0, 0, 1));
        assert_eq!(room, [9, 2, 3, 0]);
        let (sent, asked) = ("u8".into(), "u16".into());
        let wrong = Error::Type { sent, asked };
        assert_eq!(world.recv_into(&mut room, 0, 0).await, Err(wrong));
        Ok(())
    })
    .unwrap();
}

#[test]
fn what_does_not_fit_is_an_error() {
    ranks(2, |world| async move {
        let none = |rank| Error::Rank { rank, size: 2 };
        assert_eq!(world.send(0u8, 2, 0).await, Err(none(2)));
        assert_eq!(world.recv::<u8>(7, 0).await, Err(none(7)));
        assert!(matches!(
            world.recv::<u8>(-1, 0).await,
            Err(Error::Rank { .. })
        ));
        assert_eq!(world.send(0u8, 1, -1).await, Err(Error::Tag(-1)));
        assert_eq!(world.recv::<u8>(1, -2).await, Err(Error::Tag(-2)));
        assert_eq!(world.probe(2, 0).await, Err(none(2)));
        assert_eq!(world.iprobe(0, -1).await, Err(Error::Tag(-1)));
        let me = world.rank();
        assert_eq!(world.rsend(0u8, me, 0).await, Err(Error::NotReady));
        world.send(1u8, me, 0).await?;
        let wrong = world.recv::<i8>(me, 0).await.unwrap_err();
        assert_eq!(
            wrong.to_string(),
            "a message of type `u8` was received as `i8`"
        );
        let mut receive = world.recv::<u8>(me, 0);
        world.rsend(5u8, me, 0).await?;
        assert_eq!((&mut receive).await?.0, 5);
        assert_eq!(receive.await, Err(Error::Inactive));
        Ok(())
    })
    .unwrap();
    assert_eq!(mpi::world().unwrap_err(), Error::NoProcess);
}

#[test]
fn a_synchronous_send_waits_and_a_standard_one_for_room() {
    let done = Rc::new(Cell::new(0));
    let seen = Rc::clone(&done);
    ranks(2, move |world| {
        let done = Rc::clone(&seen);
        async move {
            if world.rank() == 0 {
                for n in 0..100 {
                    world.send(n, 1, 0).await?;
                    done.set(n + 1);
                }
                world.ssend(100, 1, 0).await?;
                done.set(101);
                world.send_slice(&[0u8; 70_000], 1, 0).await?;
                done.set(102);
                return Ok(());
            }
            for n in 0..=100 {
                for _ in 0..3 {
                    yield_now().await;
                }
                // A send beyond the limit of buffered messages completes when its message is
                // received.
                assert_eq!(done.get(), if n <= 64 { 64 } else { 100 });
                assert_eq!(world.recv::<i32>(0, 0).await?.0, n);
            }
            yield_now().await;
            assert_eq!(done.get(), 101);
            assert_eq!(world.recv::<Vec<u8>>(0, 0).await?.1.count, 70_000);
            Ok(())
        }
    })
    .unwrap();
    assert_eq!(done.get(), 102);
}

#[test]
fn dropped_receives_requeue_messages_in_order() {
    ranks(1, |world| async move {
        let first = world.recv::<u32>(ANY_SOURCE, 0);
        let second = world.recv::<u32>(ANY_SOURCE, 0);
        for n in 0..3u32 {
            world.send(n, 0, 0).await?;
        }
        drop(first);
        assert_eq!(second.await?.0, 1);
        let message = world.mprobe(0, 0).await?;
        assert_eq!(message.status(), status(0, 0, 1));
        drop(message);
        assert_eq!(world.recv::<u32>(0, 0).await?.0, 0);
        let message = world.improbe(0, ANY_TAG).await?.unwrap();
        assert_eq!(message.recv::<u32>()?.0, 2);
        assert!(world.improbe(0, ANY_TAG).await?.is_none());
        // A message that is given back goes to a receive that waits for it.
        let first = world.recv::<u32>(0, 0);
        let second = world.recv::<u32>(ANY_SOURCE, ANY_TAG);
        world.send(7u32, 0, 0).await?;
        assert!(first.is_done() && !second.is_done());
        assert!(first.cancel());
        assert_eq!(second.await?.0, 7);
        // A send can be cancelled while its sender waits. If its request is dropped, the message is
        // sent.
        assert!(world.ssend(8u32, 0, 0).cancel());
        drop(world.ssend(9u32, 0, 0));
        assert!(!world.send(10u32, 0, 0).cancel());
        assert_eq!(world.recv::<u32>(0, 0).await?.0, 9);
        assert_eq!(world.recv::<u32>(0, 0).await?.0, 10);
        assert!(world.iprobe(0, ANY_TAG).await?.is_none());
        Ok(())
    })
    .unwrap();
}

#[test]
fn probes_find_and_leave() {
    ranks(3, |world| async move {
        if world.rank() > 0 {
            yield_now().await;
            return world
                .ssend(vec![0u8; world.rank()], 0, world.rank() as i32)
                .await;
        }
        assert_eq!(world.iprobe(ANY_SOURCE, ANY_TAG).await?, None);
        let of = world.probe(ANY_SOURCE, 2).await?;
        assert_eq!(of, status(2, 2, 1));
        assert_eq!(world.iprobe(2, 2).await?, Some(of));
        assert_eq!(world.recv::<Vec<u8>>(of.source, of.tag).await?.0.len(), 2);
        assert_eq!(world.probe(1, ANY_TAG).await?, status(1, 1, 1));
        assert_eq!(world.recv::<Vec<u8>>(1, 1).await?.0.len(), 1);
        Ok(())
    })
    .unwrap();
}

#[test]
fn several_requests_at_a_time() {
    ranks(5, |world| async move {
        let me = world.rank();
        if me > 0 {
            for _ in 0..me {
                yield_now().await;
            }
            return world.send(me, 0, me as i32).await;
        }
        let all = || {
            (1..5)
                .map(|rank| world.recv::<usize>(rank, ANY_TAG))
                .collect::<Vec<_>>()
        };
        let mut requests = all();
        assert!(mpi::test_any(&mut requests).await.is_none());
        assert!(mpi::test_all(&mut requests).await.is_none());
        let (at, got) = mpi::wait_any(&mut requests).await.unwrap();
        assert_eq!((at, got?.0), (0, 1));
        let mut seen = vec![1];
        while seen.len() < 4 {
            let some = mpi::wait_some(&mut requests).await;
            assert!(!some.is_empty());
            for (at, got) in some {
                assert_eq!(got?.0, at + 1);
                seen.push(at + 1);
            }
        }
        assert!(mpi::wait_any(&mut requests).await.is_none());
        assert!(mpi::test_some(&mut requests).await.is_empty());
        assert_eq!(mpi::test_all(&mut requests).await.unwrap().len(), 0);
        let mut one = world.recv::<u8>(0, 9);
        assert_eq!(one.test().await?, None);
        world.send(1u8, 0, 9).await?;
        assert_eq!(one.test().await?.map(|got| got.0), Some(1));
        assert!(!one.is_active());
        Ok(())
    })
    .unwrap();
}

#[test]
fn to_exchange_is_no_deadlock() {
    ranks(6, |world| async move {
        let (me, size) = (world.rank(), world.size());
        let (left, right) = ((me + size - 1) % size, (me + 1) % size);
        let (got, of) = world
            .sendrecv::<_, usize>(me, right, 1, left, ANY_TAG)
            .await?;
        assert_eq!((got, of.source), (left, left));
        Ok(())
    })
    .unwrap();
}

/// A future that is polled with its own waker, as combinators of other libraries do.
struct Foreign<F>(Pin<Box<F>>);

struct Forward(Waker);

impl Wake for Forward {
    fn wake(self: Arc<Self>) {
        self.0.wake_by_ref();
    }
}

impl<F: Future> Future for Foreign<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let waker = Waker::from(Arc::new(Forward(context.waker().clone())));
        self.0.as_mut().poll(&mut Context::from_waker(&waker))
    }
}

#[test]
fn foreign_wakers_are_woken() {
    for shuffle in 0..if cfg!(miri) { 1 } else { 10 } {
        run(3, &Options::new().shuffle(shuffle), |world| async move {
            let me = world.rank();
            for n in 0..if cfg!(miri) { 5 } else { 50 } {
                if me == 0 {
                    let one = Foreign(Box::pin(world.recv::<u32>(1, 0)));
                    let two = Foreign(Box::pin(async { world.probe(2, ANY_TAG).await }));
                    let (one, two) = rt::join(one, two).await;
                    assert_eq!(one?.0, n);
                    world.recv::<u32>(two?.source, 0).await?;
                    // A receive that was polled and is then dropped.
                    let mut gone = pin!(Foreign(Box::pin(world.recv::<u32>(1, 99))));
                    std::future::poll_fn(|context| {
                        assert!(gone.as_mut().poll(context).is_pending());
                        Poll::Ready(())
                    })
                    .await;
                } else {
                    Foreign(Box::pin(world.ssend(n, 0, 0))).await?;
                }
            }
            Ok(())
        })
        .unwrap();
    }
}

#[test]
fn values_that_nobody_received_are_dropped_with_the_run() {
    thread_local!(static LIVE: Cell<i32> = const { Cell::new(0) });
    struct Counted;
    impl Counted {
        fn new() -> Self {
            LIVE.set(LIVE.get() + 1);
            Counted
        }
    }
    impl Drop for Counted {
        fn drop(&mut self) {
            LIVE.set(LIVE.get() - 1);
        }
    }
    impl rt::Payload for Counted {
        fn size(&self) -> usize {
            0
        }
        fn encode<'a>(&'a self, _: &mut rt::Encoder<'a>) {}
        fn decode(_: &mut rt::Decoder<'_>) -> Result<Self, rt::DecodeError> {
            Ok(Counted::new())
        }
    }
    let kept = Rc::new(RefCell::new(None));
    let keep = Rc::clone(&kept);
    ranks(1, move |world| {
        let keep = Rc::clone(&keep);
        async move {
            world.send(Counted::new(), 0, 0).await?;
            world.send(Counted::new(), 0, 1).await?;
            drop(world.ssend(Counted::new(), 0, 2));
            let taken = world.recv::<Counted>(0, 1);
            assert_eq!(LIVE.get(), 3);
            *keep.borrow_mut() = Some((taken, world.ssend(Counted::new(), 0, 3), world));
            Ok(())
        }
    })
    .unwrap();
    assert_eq!(LIVE.get(), 0);
    // Requests and communicators that outlive the run return `Error::Over`.
    let (taken, sent, world) = kept.take().unwrap();
    let mut net = Local::new();
    net.spawn(async move {
        assert!(matches!(taken.await, Err(Error::Over)));
        assert!(matches!(sent.await, Err(Error::Over)));
        assert_eq!(world.send(1u8, 0, 0).await, Err(Error::Over));
        assert!(matches!(world.recv::<u8>(0, 0).await, Err(Error::Over)));
        assert_eq!(world.probe(0, 0).await, Err(Error::Over));
        assert_eq!(world.iprobe(0, 0).await, Err(Error::Over));
        assert_ne!(mpi::world().unwrap().size(), 0);
    });
    net.run(&Options::new()).unwrap();
}

#[test]
fn unreceived_messages_are_counted() {
    let mut net = Local::new();
    for _ in 0..3 {
        net.spawn(async {
            let world = mpi::world()?;
            let next = (world.rank() + 1) % 3;
            let copy = world.dup().await?;
            copy.send(1u8, next, 5).await?;
            world.send(2u8, next, 6).await?;
            world.send(3u8, next, 7).await?;
            world.recv::<u8>(ANY_SOURCE, 7).await?;
            if world.rank() == 2 {
                copy.recv::<u8>(ANY_SOURCE, ANY_TAG).await?;
            }
            Ok::<(), Error>(())
        });
    }
    let report = net.run(&Options::new().stats(true)).unwrap();
    let unreceived = report.unreceived.clone().unwrap();
    assert_eq!(unreceived.messages, 5);
    // The report may name any of the senders.
    let told = " (world.dup, tag 5), sent at ";
    assert!(unreceived.first.contains(told), "{unreceived:?}");
    assert!(unreceived.first.contains(file!()), "{unreceived:?}");
    let text = report.to_string();
    let line = format!(
        "5 messages were never received, such as {}\n",
        unreceived.first
    );
    assert!(text.contains(&line), "{text}");
    assert!(
        report
            .json_lines()
            .contains("{\"what\":\"unreceived\",\"messages\":5,\"first\":\"from rank "),
        "{}",
        report.json_lines()
    );

    let mut net = Local::new();
    net.spawn(async {
        let world = mpi::world()?;
        world.send(1u8, 0, 0).await?;
        world.recv::<u8>(0, 0).await.map(drop)
    });
    assert_eq!(net.run(&Options::new()).unwrap().unreceived, None);
}
