//! Unusual but safe uses of the runtime. None may cause undefined behaviour, hang or lose a token.
//!
//! Wakers drop ports, panic or are kept forever. Payloads panic when they are dropped. Futures are
//! cancelled and forgotten, and ports are moved between runs. These tests also run under the
//! address sanitizer and Miri.
#![forbid(unsafe_code)]

use std::cell::{Cell, RefCell};
use std::future::{pending, poll_fn};
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::task::{Context, Poll, Wake};

use crate::common::{BOTH, Both, blocked};
use graphmap_runtime as rt;
use rt::{Channels, Input, Local, Names, Network, Options, RunError, Stopped, run};

/// Cancels a write and drops its channel in the poll in which deadlock detection could grow the
/// channel.
#[test]
fn a_channel_that_goes_while_it_was_to_grow() {
    let mut net = Local::new();
    let (mut out, input) = net.channel::<Box<u64>>(1);
    net.spawn(async move {
        out.write(Box::new(1)).await.unwrap();
        let mut write = pin!(out.write(Box::new(2)));
        let mut polls = 0;
        poll_fn(|context| {
            polls += 1;
            let _ = write.as_mut().poll(context);
            match polls {
                2 => Poll::Ready(()),
                _ => Poll::Pending,
            }
        })
        .await;
    });
    net.spawn(async move {
        let mut polls = 0;
        poll_fn(|_| {
            polls += 1;
            match polls {
                2 => Poll::Ready(()),
                _ => Poll::Pending,
            }
        })
        .await;
        drop(input);
        pending::<()>().await;
    });
    blocked(net.run(&Options::new()));
}

thread_local! {
    static KEPT: RefCell<Option<Input<u64>>> = const { RefCell::new(None) };
}

/// Drops a writer, which wakes a waker that drops the reader.
#[test]
fn a_waker_that_drops_the_other_end() {
    struct Dropping;
    impl Wake for Dropping {
        fn wake(self: Arc<Self>) {
            drop(KEPT.take());
        }
    }
    let mut net = Local::new();
    let (out, mut input) = net.channel::<u64>(1);
    net.spawn(async move {
        let waker = Arc::new(Dropping).into();
        assert!(
            input
                .poll_read(&mut Context::from_waker(&waker))
                .is_pending()
        );
        KEPT.set(Some(input));
        drop(out);
    });
    net.run(&Options::new()).unwrap();
    assert!(KEPT.take().is_none(), "the waker was not woken");
}

/// Writes a token between two polls of a read that waits for it.
#[test]
fn a_write_between_two_polls() {
    thread_local! {
        static OUTPUT: RefCell<Option<rt::Output<u64>>> = const { RefCell::new(None) };
    }
    struct Fine(AtomicBool);
    impl Wake for Fine {
        fn wake(self: Arc<Self>) {
            self.0.store(true, Ordering::SeqCst);
        }
    }
    // Cloning a `Waker` from an `Arc` runs no user code. Therefore, this test writes between two
    // polls.
    let mut net = Local::new();
    let (out, mut input) = net.channel::<u64>(1);
    net.spawn(async move {
        let fine = Arc::new(Fine(AtomicBool::new(false)));
        let waker = Arc::clone(&fine).into();
        let context = &mut Context::from_waker(&waker);
        assert!(input.poll_read(context).is_pending());
        OUTPUT.set(Some(out));
        OUTPUT
            .with_borrow_mut(|out| out.as_mut().unwrap().try_write(7))
            .unwrap();
        while !fine.0.load(Ordering::SeqCst) {
            rt::yield_now().await;
        }
        assert_eq!(input.poll_read(context), Poll::Ready(Some(7)));
        drop(OUTPUT.take());
    });
    net.run(&Options::new()).unwrap();
}

struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            std::panic::panic_any(Bomb2);
        }
    }
}

struct Bomb2;

impl Drop for Bomb2 {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            panic!("the payload's payload");
        }
    }
}

#[test]
fn payloads_of_panics_that_panic_when_dropped() {
    for schedulers in [1, 2, 3] {
        let mut net = Network::new("n", "n.dot");
        net.kind(
            "a",
            Names::Numbered("a", "1+1*4"),
            "0+1*4",
            &[],
            |_: ()| async {
                if rt::me().rank == 0 {
                    std::panic::panic_any(Bomb);
                }
                pending::<()>().await;
            },
        );
        let error = run(net, &Options::new().os_processes(schedulers)).unwrap_err();
        assert!(
            matches!(&error, RunError::Failed(failure) if failure.process == "a1"),
            "{error}"
        );
    }
}

#[test]
fn tokens_that_panic_when_dropped() {
    struct Token(Rc<Cell<u32>>, bool);
    impl Drop for Token {
        fn drop(&mut self) {
            self.0.set(self.0.get() + 1);
            if self.1 && !std::thread::panicking() {
                panic!("a token");
            }
        }
    }
    let dropped = Rc::new(Cell::new(0));
    let count = Rc::clone(&dropped);
    let mut net = Local::new();
    let (mut out, input) = net.channel::<Token>(8);
    for n in 0..5 {
        assert!(out.try_write(Token(Rc::clone(&count), n == 1)).is_ok());
    }
    let told = Rc::new(Cell::new(false));
    let tell = Rc::clone(&told);
    net.spawn(async move {
        let drops = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(input)));
        assert!(drops.is_err());
        rt::yield_now().await;
    });
    net.spawn(async move {
        out.stopped().await;
        tell.set(true);
    });
    net.run(&Options::new()).unwrap();
    assert!(
        told.get(),
        "the writer was not told that its reader has left"
    );
    assert_eq!(dropped.get(), 5);
}

/// Wakes a waker that panics. The run must fail, on one scheduler and on two.
#[test]
fn a_waker_that_panics() {
    struct Bad;
    impl Wake for Bad {
        fn wake(self: Arc<Self>) {
            panic!("a bad waker");
        }
    }
    for schedulers in [1, 2] {
        let mut net = Network::new("n", "n.dot");
        let p = net.kind(
            "p",
            Names::Listed(&["p"]),
            "0",
            BOTH,
            |mut p: Both<u8>| async move {
                for _ in 0..20 {
                    rt::yield_now().await;
                }
                p.outs[0].write(1).await?;
                pending::<()>().await;
                Ok::<(), Stopped>(())
            },
        );
        let q = net.kind(
            "q",
            Names::Listed(&["q"]),
            "1",
            BOTH,
            |mut q: Both<u8>| async move {
                let waker = Arc::new(Bad).into();
                poll_fn(|_| {
                    let _ = q.ins[0].poll_read(&mut Context::from_waker(&waker));
                    Poll::<()>::Pending
                })
                .await;
            },
        );
        net.channels::<u8>(Channels::new((p, 1), (q, 0), "0", "0"));
        let error = run(net, &Options::new().os_processes(schedulers)).unwrap_err();
        assert!(
            error.to_string().contains("a bad waker") || schedulers == 2,
            "{error}"
        );
    }
}

/// Cancels a write. Its token is not delivered, unless it was read before.
#[test]
fn a_cancelled_write_takes_its_token_back() {
    for read_both in [false, true] {
        let mut net = Local::new();
        let (mut out, mut input) = net.channel::<u64>(1);
        let (late, log) = (Rc::new(Cell::new(false)), Rc::new(RefCell::new(Vec::new())));
        let (is_late, seen) = (Rc::clone(&late), Rc::clone(&log));
        net.spawn(async move {
            out.write(1).await.unwrap();
            {
                let mut write = pin!(out.write(2));
                poll_fn(|context| match is_late.get() {
                    true => Poll::Ready(()),
                    false => write.as_mut().poll(context).map(|_| ()),
                })
                .await;
            }
            out.write(3).await.unwrap();
        });
        net.spawn(async move {
            let first = input.read().await;
            seen.borrow_mut().extend(first);
            if read_both {
                let second = input.read().await;
                seen.borrow_mut().extend(second);
            }
            late.set(true);
            rt::yield_now().await;
            while let Some(token) = input.read().await {
                seen.borrow_mut().push(token);
            }
        });
        net.run(&Options::new()).unwrap();
        let expected: &[u64] = if read_both { &[1, 2, 3] } else { &[1, 3] };
        assert_eq!(*log.borrow(), expected);
    }
}

/// Cancels a read. It must not count as a wait: otherwise, it would be part of a cycle, and a
/// channel would grow without bound instead of a report of the deadlock.
#[test]
fn a_cancelled_wait_is_none() {
    let mut net = Local::new();
    let (mut go, mut gone) = net.channel::<u64>(1);
    let (mut stream, mut streamed) = net.channel::<u64>(2);
    let (mut never, mut nothing) = net.channel::<u64>(1);
    // This process waits at its port, so the run knows that it holds the port. Otherwise, the
    // writer could hold it, and the growth of a channel could help.
    net.spawn_named("holder", async move { never.stopped().await });
    net.spawn_named("reader", async move {
        // Waits for the stream, and cancels that wait.
        rt::select! {
            _ = streamed => panic!("nothing was written yet"),
            one = gone => assert_eq!(one, 1),
            else => {}
        }
        let read = async {
            streamed.read().await;
        };
        let mut read = Box::pin(read);
        poll_fn(|context| Poll::Ready(read.as_mut().poll(context).is_pending())).await;
        drop(read);
        nothing.read().await;
    });
    net.spawn_named("writer", async move {
        rt::yield_now().await;
        go.write(1).await?;
        rt::yield_now().await;
        rt::yield_now().await;
        for n in 0.. {
            stream.write(n).await?;
        }
        Ok::<(), Stopped>(())
    });
    let block = blocked(net.run(&Options::new()));
    assert_eq!((block.processes, block.cycles), (3, 1), "{block}");
    assert_eq!(block.cycle_len, 2, "{block}");
}

/// Drops a reader on another scheduler that has unread tokens. All tokens are dropped, although
/// destructors of tokens panic.
#[test]
fn unread_tokens_of_another_scheduler_go_though_some_panic() {
    static DROPPED: AtomicU32 = AtomicU32::new(0);
    static ALL_WRITTEN: AtomicBool = AtomicBool::new(false);
    struct Token(bool);
    impl Drop for Token {
        fn drop(&mut self) {
            DROPPED.fetch_add(1, Ordering::SeqCst);
            assert!(!self.0 || std::thread::panicking(), "a token");
        }
    }
    struct To(rt::Output<Token>);
    impl rt::Ports for To {
        fn connect(ends: &mut rt::Ends<'_>) -> Self {
            To(ends.output())
        }
    }
    struct From(Input<Token>);
    impl rt::Ports for From {
        fn connect(ends: &mut rt::Ends<'_>) -> Self {
            From(ends.input())
        }
    }
    let mut net = Network::new("n", "n.dot");
    let to = net.kind(
        "to",
        Names::Listed(&["to"]),
        "0",
        &["out"],
        |mut to: To| async move {
            for n in 0..5 {
                assert!(to.0.try_write(Token(n % 2 == 1)).is_ok());
            }
            ALL_WRITTEN.store(true, Ordering::SeqCst);
            to.0.stopped().await;
        },
    );
    let from = net.kind(
        "from",
        Names::Listed(&["from"]),
        "1",
        &["in"],
        |mut from: From| async move {
            // Writes fail as soon as the reader has left, so the reader waits for all of them.
            while !ALL_WRITTEN.load(Ordering::SeqCst) {
                rt::yield_now().await;
            }
            let first = from.0.read().await;
            assert!(first.is_some_and(|token| !token.0));
        },
    );
    net.channels::<Token>(Channels {
        capacity: 5,
        ..Channels::new((to, 0), (from, 0), "0", "0")
    });
    let error = run(net, &Options::new().schedulers(2).threads(2)).unwrap_err();
    assert!(error.to_string().contains("panicked: a token"), "{error}");
    assert_eq!(DROPPED.load(Ordering::SeqCst), 5);
}

/// Writes from the destructor of an unread token. The write must fail, because the reader leaves
/// before its unread tokens are dropped.
#[test]
fn writes_fail_while_unread_tokens_are_dropped() {
    thread_local! {
        static OUT: RefCell<Option<rt::Output<Token>>> = const { RefCell::new(None) };
    }
    struct Token(bool);
    impl Drop for Token {
        fn drop(&mut self) {
            if !self.0 {
                return;
            }
            let mut out = OUT.take().expect("the writer is there");
            assert!(matches!(
                out.try_write(Token(false)),
                Err(rt::TryWriteError::Stopped(_))
            ));
            let mut net = Local::new();
            net.spawn(async move {
                assert_eq!(out.write(Token(false)).await, Err(Stopped));
                out.stopped().await;
            });
            net.run(&Options::new()).unwrap();
        }
    }
    let mut net = Local::new();
    let (mut out, input) = net.channel::<Token>(2);
    assert!(out.try_write(Token(false)).is_ok() && out.try_write(Token(true)).is_ok());
    OUT.set(Some(out));
    net.spawn(async move { drop(input) });
    net.run(&Options::new()).unwrap();
    assert!(OUT.take().is_none());
}

/// Panics in the fold of a row. This row is lost, and the next row must be complete.
#[test]
fn rows_are_whole_after_a_fold_that_panics() {
    let mut net = Local::new();
    let (outputs, inputs): (Vec<_>, Vec<_>) = (0..3).map(|_| net.channel::<u32>(1)).unzip();
    for (at, mut output) in outputs.into_iter().enumerate() {
        net.spawn(async move {
            for row in 1..=4 {
                output.write(row * 10 + at as u32).await?;
            }
            Ok::<(), Stopped>(())
        });
    }
    net.spawn(async move {
        let mut reduce = rt::Reduce::from(inputs);
        for panics in 1..=2 {
            let mut folds = 0;
            let mut read = pin!(reduce.read(|_, _| {
                folds += 1;
                assert!(folds < panics, "a fold");
                0
            }));
            let panicked = poll_fn(|context| {
                let polled = || read.as_mut().poll(context);
                match std::panic::catch_unwind(std::panic::AssertUnwindSafe(polled)) {
                    Ok(Poll::Pending) => Poll::Pending,
                    Ok(Poll::Ready(_)) => Poll::Ready(false),
                    Err(_) => Poll::Ready(true),
                }
            });
            assert!(panicked.await);
        }
        assert_eq!(reduce.read(|a, b| a * 100 + b).await, Some(303_132));
        assert_eq!(reduce.read(|a, b| a * 100 + b).await, Some(404_142));
        assert_eq!(reduce.read(|a, b| a * 100 + b).await, None);
    });
    net.run(&Options::new()).unwrap();
}

/// Drops a network that is not run, with processes whose destructors panic. All processes must be
/// dropped.
#[test]
fn processes_that_are_not_run_go_though_one_panics() {
    struct Held(Rc<Cell<u32>>, bool);
    impl Drop for Held {
        fn drop(&mut self) {
            self.0.set(self.0.get() + 1);
            assert!(!self.1, "a process");
        }
    }
    let dropped = Rc::new(Cell::new(0));
    let mut net = Local::new();
    for at in 0..4 {
        let held = Held(Rc::clone(&dropped), at % 2 == 0);
        net.spawn(async move { drop(held) });
    }
    let drops = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(net)));
    assert_eq!(drops.unwrap_err().downcast_ref(), Some(&"a process"));
    assert_eq!(dropped.get(), 4);
}

/// Drops a network that is not run, with processes whose destructors panic with payloads that panic
/// themselves. All payloads except the first are dropped during the first panic.
#[test]
fn processes_that_are_not_run_go_though_payloads_panic() {
    struct Held(Rc<Cell<u32>>);
    impl Drop for Held {
        fn drop(&mut self) {
            self.0.set(self.0.get() + 1);
            std::panic::panic_any(Bomb);
        }
    }
    let dropped = Rc::new(Cell::new(0));
    let mut net = Local::new();
    for _ in 0..4 {
        let held = Held(Rc::clone(&dropped));
        net.spawn(async move { drop(held) });
    }
    let drops = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(net)));
    std::mem::forget(drops.unwrap_err());
    assert_eq!(dropped.get(), 4);
}
