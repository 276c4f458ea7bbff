//! What safe code can do to the runtime, however perverse: none of it may be undefined, hang or lose a
//! token. Wakers that drop ports, panic or are kept for ever; payloads that panic when dropped; futures
//! cancelled and forgotten; ports carried between runs. Run under the address sanitizer and Miri too.
#![forbid(unsafe_code)]

mod common;

use std::cell::{Cell, RefCell};
use std::future::{pending, poll_fn};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

use common::{BOTH, Both, size};
use graphmap_runtime as rt;
use rt::{Channels, Input, Local, Names, Network, Options, RunError, Select, Stopped, run};

fn blocked(outcome: Result<rt::Report, RunError>) -> rt::Block {
    match outcome {
        Err(RunError::Blocked(block)) => block,
        other => panic!("not blocked: {other:?}"),
    }
}

/// A combinator as other libraries have them: each child has a waker of its own, and only those that
/// were woken are polled again.
struct JoinAll<'a> {
    children: Vec<(Option<Boxed<'a>>, Arc<Child>)>,
}

type Boxed<'a> = Pin<Box<dyn Future<Output = ()> + 'a>>;

struct Child {
    woken: AtomicBool,
    parent: Mutex<Option<Waker>>,
}

impl Wake for Child {
    fn wake(self: Arc<Self>) {
        self.woken.store(true, Ordering::SeqCst);
        let parent = self.parent.lock().unwrap().clone();
        if let Some(parent) = parent {
            parent.wake();
        }
    }
}

fn join_all<'a>(futures: impl Iterator<Item = impl Future<Output = ()> + 'a>) -> JoinAll<'a> {
    let child = || {
        Arc::new(Child {
            woken: AtomicBool::new(true),
            parent: Mutex::new(None),
        })
    };
    let boxed = |future| Some(Box::pin(future) as Boxed<'a>);
    JoinAll {
        children: futures.map(|future| (boxed(future), child())).collect(),
    }
}

impl Future for JoinAll<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut pending = false;
        for (future, child) in &mut self.children {
            let Some(running) = future else { continue };
            *child.parent.lock().unwrap() = Some(context.waker().clone());
            if child.woken.swap(false, Ordering::SeqCst) {
                let waker = Waker::from(Arc::clone(child));
                if running
                    .as_mut()
                    .poll(&mut Context::from_waker(&waker))
                    .is_ready()
                {
                    *future = None;
                    continue;
                }
            }
            pending = true;
        }
        if pending {
            Poll::Pending
        } else {
            Poll::Ready(())
        }
    }
}

/// A write is given up in the very turn in which a standstill would find it, and the channel goes.
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

/// The writer's leaving wakes a waker that drops the reader.
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

/// A waker whose clone writes the token for which it is going to wait.
#[test]
fn a_waker_that_writes_when_cloned() {
    thread_local! {
        static OUTPUT: RefCell<Option<rt::Output<u64>>> = const { RefCell::new(None) };
    }
    struct Fine(AtomicBool);
    impl Wake for Fine {
        fn wake(self: Arc<Self>) {
            self.0.store(true, Ordering::SeqCst);
        }
    }
    // A waker clones by counting, so the writing is done by what polls: between two polls.
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

#[test]
fn the_end_of_all_processes_ends_the_run_whoever_has_a_waker() {
    static WAKERS: Mutex<Vec<Waker>> = Mutex::new(Vec::new());
    for schedulers in [1, 2] {
        let mut net = Network::new("n", "n.dot");
        net.kind(
            "p",
            Names::Numbered("p", "0+1*4"),
            "0+1*4",
            &[],
            |_: ()| async {
                poll_fn(|context| {
                    WAKERS.lock().unwrap().push(context.waker().clone());
                    Poll::Ready(())
                })
                .await;
            },
        );
        run(net, &Options::new().os_processes(schedulers)).unwrap();
        for waker in WAKERS.lock().unwrap().drain(..) {
            waker.wake_by_ref();
            waker.wake();
        }
    }
}

/// `n` writes of two tokens each at once; the reader wants all to be written before it reads.
fn written_at_once(n: usize) -> Local {
    let mut net = Local::new();
    let (mut outs, mut ins): (Vec<_>, Vec<_>) = (0..n).map(|_| net.channel::<usize>(1)).unzip();
    let (mut done, mut all_written) = net.channel::<()>(1);
    net.spawn_named("writer", async move {
        let both = outs.iter_mut().map(|out| async move {
            out.write(1).await.unwrap();
            out.write(2).await.unwrap();
        });
        join_all(both).await;
        done.write(()).await.unwrap();
    });
    net.spawn_named("reader", async move {
        all_written.read().await;
        for input in &mut ins {
            assert_eq!([input.read().await, input.read().await], [Some(1), Some(2)]);
        }
    });
    net
}

#[test]
fn artificial_blocks_are_resolved_under_combinators() {
    for n in [1, 4, 40] {
        let report = written_at_once(n).run(&Options::new()).unwrap();
        assert_eq!(report.growths.len(), n);
    }
}

#[test]
fn a_standstill_under_a_combinator_is_told_by_name() {
    let told: Arc<Mutex<Vec<rt::Block>>> = Arc::default();
    let list = Arc::clone(&told);
    let waker: Arc<Mutex<Option<Waker>>> = Arc::default();
    let mut net = Local::new();
    let (outs, mut ins): (Vec<_>, Vec<_>) = (0..3).map(|_| net.channel::<u64>(1)).unzip();
    net.spawn_named("reader", async move {
        join_all(
            ins.iter_mut()
                .map(|input| async move { assert_eq!(input.read().await, None) }),
        )
        .await;
    });
    net.spawn_named("idle", async move {
        pending::<()>().await;
        drop(outs);
    });
    let kept = Arc::clone(&waker);
    // Somebody has to end it: the run goes on for ever, as something may still wake a process.
    net.spawn_named(
        "timer",
        poll_fn(move |context| {
            let first = kept
                .lock()
                .unwrap()
                .replace(context.waker().clone())
                .is_none();
            if first {
                Poll::Pending
            } else {
                Poll::Ready(Err("it is late".to_string()))
            }
        }),
    );
    let options = Options::new().on_quiet(move |block| {
        list.lock().unwrap().push(block.clone());
        let waker = waker.lock().unwrap().clone();
        waker.unwrap().wake();
    });
    let Err(RunError::Failed(failure)) = net.run(&options) else {
        panic!("it did not fail");
    };
    assert_eq!(failure.process, "timer");
    let told = told.lock().unwrap();
    let names: Vec<_> = told[0]
        .others
        .iter()
        .map(|process| process.name.as_str())
        .collect();
    assert_eq!(
        (told.len(), names),
        (1, vec!["idle", "timer", "reader"]),
        "{told:?}"
    );
    assert!(told[0].waits_for_foreign());
    assert_eq!(told[0].others[2].waits.len(), 3, "{:?}", told[0]);
}

#[test]
fn a_kept_waker_hides_no_artificial_block() {
    for forget in [true, false] {
        let mut net = Local::new();
        let (mut a, mut a_in) = net.channel::<u64>(1);
        let (mut b, mut b_in) = net.channel::<u64>(1);
        let kept = Rc::new(RefCell::new(None));
        let keep = Rc::clone(&kept);
        net.spawn(async move {
            poll_fn(|context| {
                let waker = context.waker().clone();
                match forget && !cfg!(miri) {
                    true => std::mem::forget(waker),
                    false => drop(keep.replace(Some(waker))),
                }
                Poll::Ready(())
            })
            .await;
            a.write(1).await?;
            a.write(2).await?;
            b.write(1).await
        });
        net.spawn(async move {
            b_in.read().await;
            assert_eq!([a_in.read().await, a_in.read().await], [Some(1), Some(2)]);
        });
        assert_eq!(net.run(&Options::new()).unwrap().growths.len(), 1);
    }
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

/// A waker that panics is a failure of the run, on whichever scheduler.
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

#[test]
fn a_select_carried_to_another_run() {
    let mut net = Local::new();
    let (outs, ins): (Vec<_>, Vec<_>) = (0..3).map(|_| net.channel::<u64>(1)).unzip();
    let keep = Rc::new(RefCell::new(None));
    let kept = Rc::clone(&keep);
    net.spawn(async move {
        let mut select = Select::from(ins);
        poll_fn(|context| {
            assert!(select.poll_read(context).is_pending());
            Poll::Ready(())
        })
        .await;
        *kept.borrow_mut() = Some((select, outs));
    });
    net.run(&Options::new()).unwrap();
    let (mut select, mut outs) = keep.borrow_mut().take().unwrap();
    let mut net = Local::new();
    net.spawn(async move {
        assert_eq!(select.read().await, Some((1, 7)));
        assert_eq!(select.read().await, None);
    });
    net.spawn(async move {
        outs[1].write(7).await.unwrap();
    });
    net.run(&Options::new()).unwrap();
}

/// A cancelled write is not delivered, unless it was before.
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

/// A future that was cancelled does not wait: else what it waited for would count as a cycle, and a
/// channel would grow without bound instead of the block being told.
#[test]
fn a_cancelled_wait_is_none() {
    let mut net = Local::new();
    let (mut go, mut gone) = net.channel::<u64>(1);
    let (mut stream, mut streamed) = net.channel::<u64>(2);
    let (_never, mut nothing) = net.channel::<u64>(1);
    net.spawn_named("reader", async move {
        // Waits for the stream, and turns away from it.
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
    assert_eq!((block.processes, block.cycles), (2, 0), "{block}");
}

/// A run within a process of another: nobody in it can read what is written to the outside.
#[test]
fn a_writer_in_a_nested_run_whose_reader_is_outside() {
    let mut net = Local::new();
    let (mut out, mut input) = net.channel::<u64>(1);
    net.spawn(async move {
        let mut inner = Local::new();
        inner.spawn(async move {
            for n in 0.. {
                out.write(n).await?;
            }
            Ok::<(), Stopped>(())
        });
        blocked(inner.run(&Options::new()));
    });
    net.spawn(async move { while input.read().await.is_some() {} });
    assert_eq!(net.run(&Options::new()).unwrap().growths, []);
}

/// A process of an inner run writes what one of the outer run waits for.
#[test]
fn a_nested_run_wakes_the_one_around_it() {
    for before in [0, 3] {
        let mut net = Local::new();
        for _ in 0..before {
            net.spawn(async {});
        }
        let (mut out, mut input) = net.channel::<u64>(4);
        let (outs, ins): (Vec<_>, Vec<_>) = (0..2).map(|_| net.channel::<u64>(4)).unzip();
        let sum = Rc::new(Cell::new(0));
        let (plain, bundled) = (Rc::clone(&sum), Rc::clone(&sum));
        net.spawn(async move {
            while let Some(token) = input.read().await {
                plain.set(plain.get() + token);
            }
        });
        net.spawn(async move {
            let mut select = Select::from(ins);
            while let Some((_, token)) = select.read().await {
                bundled.set(bundled.get() + token);
            }
        });
        net.spawn(async move {
            rt::yield_now().await;
            let mut inner = Local::new();
            let (mut tx, mut rx) = inner.channel::<u64>(1);
            inner.spawn(async move { tx.write(1).await });
            inner.spawn(async move {
                let mut outs = outs;
                while let Some(token) = rx.read().await {
                    out.write(token).await?;
                    outs[1].write(10 * token).await?;
                }
                Ok::<(), Stopped>(())
            });
            inner.run(&Options::new()).unwrap();
        });
        net.run(&Options::new()).unwrap();
        assert_eq!(sum.get(), 11);
    }
}

/// A token that holds the next channel, and so on: as deep as memory goes.
#[test]
fn ports_within_tokens_within_ports() {
    struct Node(#[allow(dead_code)] Option<Input<Node>>);
    let mut net = Local::new();
    let mut first: Option<Input<Node>> = None;
    for _ in 0..size(1_000_000, 100) {
        let (mut out, input) = net.channel::<Node>(1);
        assert!(out.try_write(Node(first.take())).is_ok());
        first = Some(input);
    }
    net.spawn(async move { drop(first) });
    net.run(&Options::new()).unwrap();
}

#[test]
fn a_token_that_holds_the_other_end_of_its_channel() {
    struct Loop(#[allow(dead_code)] rt::Output<Loop>);
    let mut net = Local::new();
    let (mut out, input) = net.channel::<Loop>(2);
    let (mut other, keep) = net.channel::<Loop>(1);
    let _ = other.try_write(Loop(std::mem::replace(&mut out, rt::Output::unconnected())));
    net.spawn(async move {
        drop(keep);
        drop(input);
    });
    net.run(&Options::new()).unwrap();
}

/// One full channel after the other to a reader that is not known: all grow at once, and what no
/// growing resolves is told.
#[test]
fn many_full_channels_to_an_unknown_reader() {
    let n = size(4000, 10) as usize;
    let mut net = Local::new();
    let (outs, ins): (Vec<_>, Vec<_>) = (0..n).map(|_| net.channel::<u64>(1)).unzip();
    for mut out in outs {
        net.spawn(async move {
            for token in 0..3 {
                out.write(token).await?;
            }
            Ok::<(), Stopped>(())
        });
    }
    net.spawn(async move {
        pending::<()>().await;
        drop(ins);
    });
    let block = blocked(net.run(&Options::new()));
    assert_eq!((block.processes, block.others.len()), (1, 1));
    assert!(block.waits_for_foreign());
}

/// A process is told to wait, and ends with the ports that it waits at forgotten: the dead wait for
/// nothing, and nobody grows a channel for them.
#[test]
#[cfg_attr(miri, ignore = "it forgets memory, which Miri tells as a leak")]
fn a_process_that_ends_with_its_ports_forgotten() {
    for schedulers in [1, 2] {
        let mut net = Network::new("n", "n.dot");
        let p = net.kind(
            "p",
            Names::Listed(&["p"]),
            "0",
            BOTH,
            |mut p: Both<u64>| async move {
                let (mut go, mut polls) = (p.ins.remove(0), 0);
                poll_fn(|context| {
                    polls += 1;
                    let _ = p.ins[0].poll_read(context);
                    match go.poll_read(context) {
                        Poll::Ready(_) if polls > 1 => Poll::Ready(()),
                        _ => Poll::Pending,
                    }
                })
                .await;
                std::mem::forget((p, go));
            },
        );
        let q = net.kind(
            "q",
            Names::Listed(&["q"]),
            "1",
            BOTH,
            |mut q: Both<u64>| async move {
                // Two more than there is room for: a standstill in which `p` waits at both.
                for n in 0..3 {
                    q.outs[0].write(n).await?;
                }
                loop {
                    q.outs[0].write(3).await?;
                }
                #[allow(unreachable_code)]
                Ok::<(), Stopped>(())
            },
        );
        net.channels::<u64>(Channels::new((q, 1), (p, 0), "0 0", "0 0"));
        let block = blocked(run(net, &Options::new().os_processes(schedulers)));
        assert_eq!((block.processes, block.others.len()), (1, 1), "{block}");
    }
}
