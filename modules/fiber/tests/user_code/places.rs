//! Places where the runtime calls user code.

use std::fmt;
use std::future::{pending, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind, panic_any};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use graphmap_fiber::{Fiber, on_fiber, try_wait};
use graphmap_runtime as rt;
use rt::mpi;
use rt::{Broadcast, Local, Options, Reduce, Share, TaskSet, sleep, sleep_until, yield_now};

use super::hostile::{
    CLONE, DROP, Mode, SIZE, Token, Value, full, misbehave, ranks, scene, set_again, set_other,
    spawn,
};

/// Drops a reader that has not read all tokens.
fn reader_leaves(net: &mut Local, mode: Mode) {
    let (output, input) = full(net, 3);
    let (mut output2, input2) = full(net, 2);
    set_other(output);
    set_again(move || {
        drop(input2);
        assert!(output2.try_write(Token::new(DROP)).is_err());
    });
    spawn(net, mode, async move { drop(input) });
}

/// Drops a reader that has not read all tokens, while its writer continues.
fn reader_leaves_a_writer(net: &mut Local, mode: Mode) {
    let (mut output, input) = full(net, 1);
    set_again(move || {
        let mut inner = Local::new();
        let (mut out, rest) = full(&mut inner, 1);
        inner.spawn(async move {
            drop(rest);
            assert!(out.write(Token::new(0)).await.is_err());
        });
        inner.run(&Options::new()).unwrap();
    });
    let (go, mut goes) = net.channel::<()>(1);
    spawn(net, mode, async move {
        drop(go);
        drop(input);
    });
    // Never on a fiber, so that a token without space goes to the rendezvous slot.
    net.spawn(async move {
        assert_eq!(goes.read().await, None);
        let mut written = 0;
        while output.write(Token::new(0)).await.is_ok() {
            written += 1;
            assert!(written < 10, "its reader has left");
        }
    });
}

/// Drops tokens that contain ports, whose tokens contain ports.
fn ports_within_ports(net: &mut Local, mode: Mode) {
    let mut inner = None;
    for _ in 0..100 {
        let (mut output, input) = net.channel(2);
        assert!(output.try_write(Token::new(DROP)).is_ok());
        let token = inner
            .take()
            .map_or(Token::new(DROP), |inner| Token::with(DROP, inner));
        assert!(output.try_write(token).is_ok());
        inner = Some(input);
    }
    let (output, input) = full(net, 2);
    set_again(|| drop(input));
    set_other(output);
    spawn(net, mode, async move { drop(inner) });
}

/// Waits in destructors on more fibers than the run allows at once.
fn many_leave_at_once(net: &mut Local, mode: Mode) {
    for _ in 0..70 {
        let (mut output, input) = full(net, 2);
        spawn(net, mode, async move { drop(input) });
        spawn(net, mode, async move { output.stopped().await });
    }
    let (output, input) = full(net, 2);
    set_again(|| drop(input));
    set_other(output);
}

/// Cancels a write whose token is in the rendezvous slot, and makes writes that are refused.
fn writes_that_are_not_done(net: &mut Local, mode: Mode) {
    let (mut output, input) = full(net, 1);
    let (again, input2) = full(net, 1);
    set_other(again);
    set_again(|| drop(input2));
    let (done, mut is_done) = net.channel::<()>(1);
    spawn(net, mode, async move {
        {
            let mut write = pin!(output.write(Token::new(DROP)));
            poll_fn(|context| {
                assert!(write.as_mut().poll(context).is_pending());
                Poll::Ready(())
            })
            .await;
        }
        drop(done);
        output.stopped().await;
        assert!(output.write(Token::new(DROP)).await.is_err());
        output.write_or_discard(Token::new(DROP)).await;
    });
    spawn(net, mode, async move {
        assert!(is_done.read().await.is_none());
        drop(input);
    });
}

/// Clones the token of a broadcast, of which one reader has left. Drops the token of a share that
/// has no reader.
fn bundles_of_writers(net: &mut Local, mode: Mode) {
    let (outputs, mut inputs): (Vec<_>, Vec<_>) = (0..4).map(|_| net.channel::<Token>(3)).unzip();
    let left = inputs.remove(1);
    set_other(left);
    let (shared, unread): (Vec<_>, Vec<_>) = (0..2).map(|_| net.channel::<Token>(1)).unzip();
    set_again(move || drop(unread));
    spawn(net, mode, async move {
        let mut broadcast = Broadcast::from(outputs);
        for _ in 0..3 {
            let _ = broadcast.write(Token::new(CLONE | DROP)).await;
        }
        drop(broadcast);
        scene(|scene| drop((scene.again.take(), scene.other.take())));
        let mut share = Share::from(shared);
        assert!(share.write(Token::new(DROP)).await.is_err());
    });
    for mut input in inputs {
        spawn(
            net,
            mode,
            async move { while input.read().await.is_some() {} },
        );
    }
}

/// Folds tokens. Rows that are read after a panic are complete.
fn a_fold(net: &mut Local, mode: Mode) {
    let (outputs, inputs): (Vec<_>, Vec<_>) = (0..3).map(|_| net.channel::<u32>(2)).unzip();
    for (at, mut output) in outputs.into_iter().enumerate() {
        spawn(net, mode, async move {
            for row in 0..4 {
                let _ = output.write(row * 10 + at as u32).await;
            }
        });
    }
    let (output, input) = full(net, 1);
    set_other(output);
    set_again(|| drop(input));
    spawn(net, mode, async move {
        let mut reduce = Reduce::from(inputs);
        loop {
            let mut read = pin!(reduce.read(|a, b| {
                assert_eq!(a % 1000 / 10, b / 10, "tokens of two rows");
                misbehave();
                a + b % 10 + 1000
            }));
            let read = poll_fn(|context| {
                let polled = catch_unwind(AssertUnwindSafe(|| read.as_mut().poll(context)));
                polled.map_or(Poll::Ready(Err(())), |polled| polled.map(Ok))
            });
            match read.await {
                Ok(Some(row)) => assert_eq!((row / 1000, row % 10), (2, 3)),
                Ok(None) => break,
                Err(()) => {}
            }
        }
    });
}

/// Sends messages that are never received, and drops requests.
fn messages(net: &mut Local, mode: Mode) {
    set_again(|| {
        let world = mpi::world().ok();
        drop(world.map(|world| world.recv::<Value>(mpi::ANY_SOURCE, 9)));
    });
    ranks(net, mode, |world| async move {
        let next = (world.rank() + 1) % world.size();
        let own = world.dup().await?;
        let sent = own.send(Value::new(DROP), next, 0);
        let held = own.ssend(Value::new(DROP), next, 1);
        world.barrier().await?;
        if world.rank() == 0 {
            let (value, _) = own.recv::<Value>(2, 0).await?;
            drop(value);
        }
        drop((sent, held));
        drop(own);
        Ok(())
    });
}

/// Clones the value that one rank broadcasts.
fn clones_for_all(net: &mut Local, mode: Mode) {
    set_again(|| drop(mpi::world().map(|world| world.rank())));
    ranks(net, mode, |world| async move {
        let value = (world.rank() == 1).then(|| Value::new(CLONE | DROP | SIZE));
        let value = world.bcast(value, 1).await?;
        assert_eq!(value.0, CLONE | DROP | SIZE);
        Ok(())
    });
}

/// Combines the values of all ranks by an operation.
fn operations(net: &mut Local, mode: Mode) {
    set_again(|| {
        let mut inner = Local::new();
        ranks(&mut inner, Mode::Async, |world| async move {
            assert_eq!(world.allreduce(1, |a, b| a + b).await?, 3);
            Ok(())
        });
        inner.run(&Options::new()).unwrap();
    });
    ranks(net, mode, |world| async move {
        let sum = world.allreduce(1u32, |a, b| {
            misbehave();
            a + b
        });
        assert_eq!(sum.await?, 3);
        let first = world.reduce(Value::new(DROP), |a, _| a, 0).await?;
        assert_eq!(first.is_some(), world.rank() == 0);
        let _ = world.scan(Value::new(DROP), |_, b| b).await?;
        Ok(())
    });
}

/// Accesses the memory of a rank while user code is using it.
fn windows(net: &mut Local, mode: Mode) {
    ranks(net, mode, |world| async move {
        let window = Rc::new(world.window(vec![0u32; 1]).await?);
        let same = Rc::clone(&window);
        if world.rank() == 0 {
            set_again(move || assert!(same.with(|_| ()).is_err()));
        }
        let next = (world.rank() + 1) % world.size();
        window.put([1], next, 0).await?;
        window.fence().await?;
        let with = || {
            window.with(|memory| {
                misbehave();
                memory[0]
            })
        };
        let with = catch_unwind(AssertUnwindSafe(with));
        assert!(with.is_err() || with.is_ok_and(|read| read == Ok(1)));
        assert_eq!(window.get(next, 0..1).await?, [1]);
        drop(scene(|scene| scene.again.take()));
        window.fence().await
    });
}

/// Polls, wakes and drops the tasks of a set.
fn tasks(net: &mut Local, mode: Mode) {
    let (mut output, mut input) = net.channel::<u32>(1);
    let (rest, unread) = full(net, 2);
    set_other(rest);
    set_again(|| drop(unread));
    spawn(net, mode, async move {
        let mut set = TaskSet::new();
        set.push(async move {
            let token = Token::new(DROP);
            let read = input.read().await;
            drop(token);
            read
        });
        set.push(async {
            misbehave();
            None
        });
        set.push(async {
            let _token = Token::new(DROP);
            pending().await
        });
        let mut ended = 0;
        while ended < 2 {
            let join = set.join_next().await;
            ended += u32::from(join.is_some());
        }
    });
    spawn(net, mode, async move {
        yield_now().await;
        let _ = output.write(7).await;
    });
}

/// Waker of another library that misbehaves when it is woken and when it is dropped.
struct Hostile;

impl Wake for Hostile {
    fn wake(self: Arc<Self>) {
        misbehave();
    }
}

impl Drop for Hostile {
    fn drop(&mut self) {
        misbehave();
    }
}

/// Waits at ports with wakers of another library.
fn wakers(net: &mut Local, mode: Mode) {
    let (mut output, mut input) = net.channel::<u32>(1);
    let (rest, unread) = full(net, 2);
    set_other(rest);
    set_again(|| drop(unread));
    spawn(net, mode, async move {
        for polls in [1, 3] {
            for _ in 0..polls {
                let waker = Waker::from(Arc::new(Hostile));
                assert!(
                    input
                        .poll_read(&mut Context::from_waker(&waker))
                        .is_pending()
                );
            }
            input.turn_away();
        }
        let waker = Waker::from(Arc::new(Hostile));
        let context = &mut Context::from_waker(&waker);
        assert!(input.poll_read(context).is_pending());
        assert!(output.try_write(1).is_ok());
        yield_now().await;
        assert_eq!(input.poll_read(context), Poll::Ready(Some(1)));
        assert!(input.poll_read(context).is_pending());
        drop(input);
        assert!(output.try_write(1).is_err());
    });
}

/// Sleeps with wakers of another library.
fn timers(net: &mut Local, mode: Mode) {
    let (rest, unread) = full(net, 2);
    set_other(rest);
    set_again(|| drop(unread));
    spawn(net, mode, async move {
        let poll = |sleep: &mut rt::Sleep| {
            let waker = Waker::from(Arc::new(Hostile));
            Pin::new(sleep).poll(&mut Context::from_waker(&waker))
        };
        let mut dropped = sleep(Duration::from_secs(3600));
        for _ in 0..3 {
            assert!(poll(&mut dropped).is_pending());
        }
        drop(dropped);
        let mut short = sleep(Duration::from_millis(1));
        if poll(&mut short).is_pending() {
            // The hostile waker is woken meanwhile.
            sleep_until(short.until() + Duration::from_millis(1)).await;
        }
        assert!(poll(&mut short).is_ready());
    });
}

/// Fails the run, which drops processes that wait.
fn processes_that_wait(net: &mut Local, mode: Mode) {
    let (rest, unread) = full(net, 2);
    set_other(rest);
    set_again(|| drop(unread));
    for _ in 0..3 {
        let (output, mut input) = full(net, 1);
        let (mut never, mut comes) = net.channel::<Token>(1);
        spawn(net, mode, async move {
            let _token = Token::new(DROP);
            assert!(input.read().await.is_some());
            let _ = comes.read().await;
            drop((output, input));
        });
        spawn(net, mode, async move {
            yield_now().await;
            let _ = never.write(Token::new(DROP)).await;
            panic!("hostile");
        });
    }
}

/// Reports an error of the user.
fn errors_and_payloads(net: &mut Local, _mode: Mode) {
    #[derive(Debug)]
    struct Told;
    impl fmt::Display for Told {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            misbehave();
            f.write_str("hostile")
        }
    }
    impl std::error::Error for Told {}
    let (rest, unread) = full(net, 2);
    set_other(rest);
    set_again(|| drop(unread));
    net.spawn(async { Err::<(), Told>(Told) });
    net.spawn(Fiber::new(|| Err::<(), Told>(Told)));
}

fn payloads_of_panics(net: &mut Local, mode: Mode) {
    struct Tells;
    impl Drop for Tells {
        fn drop(&mut self) {
            misbehave();
        }
    }
    let (rest, unread) = full(net, 2);
    set_other(rest);
    set_again(|| drop(unread));
    spawn(net, mode, async { panic_any(Tells) });
}

/// Drops a network that never runs.
fn not_run(net: &mut Local, mode: Mode) {
    let (rest, unread) = full(net, 2);
    set_other(rest);
    set_again(|| drop(unread));
    let mut other = Local::new();
    for _ in 0..3 {
        let (output, input) = full(&mut other, 2);
        let token = Token::new(DROP);
        spawn(
            &mut other,
            mode,
            async move { drop((token, output, input)) },
        );
    }
    spawn(net, mode, async move { drop(other) });
}

/// Runs a network in a process. One of the inner processes is hostile.
fn runs_within(net: &mut Local, mode: Mode) {
    let (rest, unread) = full(net, 2);
    set_other(rest);
    set_again(|| drop(unread));
    let (mut out, mut input) = net.channel::<u32>(1);
    spawn(net, mode, async move {
        let mut inner = Local::new();
        let (_keep, tokens) = full(&mut inner, 2);
        spawn(&mut inner, mode, async move {
            misbehave();
            drop(tokens);
        });
        inner.spawn(async move {
            let refused = on_fiber().then(|| try_wait(input.read()).is_err());
            assert_ne!(refused, Some(false), "a wait in the process of a run");
            // The process itself can await the read.
            let _ = input.read().await;
        });
        if let Err(error) = inner.run(&Options::new()) {
            assert!(error.to_string().contains("hostile"), "{error}");
        }
    });
    let _ = out.try_write(1);
    let _ = out.try_write(2);
}

pub(crate) type Place = (&'static str, fn(&mut Local, Mode));

pub(crate) const PLACES: &[Place] = &[
    ("reader_leaves", reader_leaves),
    ("reader_leaves_a_writer", reader_leaves_a_writer),
    ("ports_within_ports", ports_within_ports),
    ("many_leave_at_once", many_leave_at_once),
    ("writes_that_are_not_done", writes_that_are_not_done),
    ("bundles_of_writers", bundles_of_writers),
    ("a_fold", a_fold),
    ("messages", messages),
    ("clones_for_all", clones_for_all),
    ("operations", operations),
    ("windows", windows),
    ("tasks", tasks),
    ("wakers", wakers),
    ("timers", timers),
    ("processes_that_wait", processes_that_wait),
    ("errors_and_payloads", errors_and_payloads),
    ("payloads_of_panics", payloads_of_panics),
    ("not_run", not_run),
    ("runs_within", runs_within),
];
