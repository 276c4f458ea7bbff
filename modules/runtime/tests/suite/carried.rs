//! Ports that are moved between runs, moved within tokens, or forgotten.
#![forbid(unsafe_code)]

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use crate::common::{BOTH, Both, blocked, forget, size};
use graphmap_runtime as rt;
use rt::{Channels, Input, Local, Names, Network, Options, Select, Stopped, run};

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

/// A nested run has no process that can read the tokens written to the outside.
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

/// A process of the inner run writes tokens that processes of the outer run wait for.
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

/// A token holds a channel with the next token, and so on, to a depth that only memory limits.
#[test]
fn ports_within_tokens_within_ports() {
    struct Node(#[allow(dead_code)] Option<Input<Node>>);
    let mut net = Local::new();
    let mut first: Option<Input<Node>> = None;
    for _ in 0..size(100_000, 100) {
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

/// A process ends, and the ports at which it waits are forgotten. It then waits for nothing, and no
/// channel grows for it.
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
                        // Waits at both ports once. Otherwise, the writer would fill one channel
                        // endlessly while this process waits at the other port.
                        Poll::Ready(_) => {
                            context.waker().wake_by_ref();
                            Poll::Pending
                        }
                        Poll::Pending => Poll::Pending,
                    }
                })
                .await;
                forget((p, go));
            },
        );
        let q = net.kind(
            "q",
            Names::Listed(&["q"]),
            "1",
            BOTH,
            |mut q: Both<u64>| async move {
                // Two tokens more than there is room for. This causes quiescence while `p` waits at
                // both ports.
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

/// A waker of another library that holds no waker of the runtime.
#[derive(Default)]
struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Flag {
    fn poll<T>(this: &Arc<Self>, input: &mut Input<T>) -> Poll<Option<T>> {
        input.poll_read(&mut Context::from_waker(&Waker::from(Arc::clone(this))))
    }
}

/// Lets the runtime wake and drop foreign wakers, which it does between batches.
async fn let_wakers_wake() {
    for _ in 0..100 {
        rt::yield_now().await;
    }
}

/// Calls `carry` in a run that ends, and `then` with the result in another run. Beside it, a read
/// waits by a waker of another library, which must be woken.
fn beside_a_foreign_wait<C: 'static>(
    nested: bool,
    carry: fn() -> C,
    then: impl FnOnce(&mut C) + 'static,
) {
    let mut carried = (!nested).then(carry);
    let mut net = Local::new();
    let (mut out, mut input) = net.channel::<u64>(1);
    net.spawn(async move {
        let mut carried = carried.take().unwrap_or_else(carry);
        let flag = Arc::new(Flag::default());
        assert!(Flag::poll(&flag, &mut input).is_pending());
        then(&mut carried);
        rt::yield_now().await;
        out.write(7).await.unwrap();
        let_wakers_wake().await;
        assert!(flag.0.load(Ordering::Relaxed), "the waker is lost");
        assert_eq!(Flag::poll(&flag, &mut input), Poll::Ready(Some(7)));
    });
    net.run(&Options::new()).unwrap();
}

fn in_a_run<C: 'static>(process: impl AsyncFnOnce(&mut Local) -> C + 'static) -> C {
    let kept = Rc::new(RefCell::new(None));
    let keep = Rc::clone(&kept);
    let mut net = Local::new();
    let mut other = Local::new();
    net.spawn(async move { *keep.borrow_mut() = Some(process(&mut other).await) });
    net.run(&Options::new()).unwrap();
    kept.take().unwrap()
}

/// A wait by a foreign waker or in a bundle is identified by a number, which has another owner in
/// the next run.
#[test]
fn ports_moved_to_another_run_leave_its_wakers_alone() {
    let polled = || {
        in_a_run(async |net| {
            let (output, mut input) = net.channel::<u64>(1);
            assert!(Flag::poll(&Arc::default(), &mut input).is_pending());
            (output, Some(input))
        })
    };
    let selected = || {
        in_a_run(async |net| {
            let (mut outputs, inputs): (Vec<_>, Vec<_>) =
                (0..2).map(|_| net.channel::<u64>(1)).unzip();
            outputs[1].write(1).await.unwrap();
            let mut select = Select::from(inputs);
            assert_eq!(select.read().await, Some((1, 1)));
            (outputs, Some(select))
        })
    };
    for nested in [false, true] {
        beside_a_foreign_wait(nested, polled, |carried| drop(carried.1.take()));
        beside_a_foreign_wait(nested, polled, |carried| {
            carried.1.as_mut().unwrap().turn_away();
        });
        beside_a_foreign_wait(nested, polled, |carried| {
            let input = carried.1.as_mut().unwrap();
            assert!(Flag::poll(&Arc::default(), input).is_pending());
        });
        beside_a_foreign_wait(nested, polled, |carried| {
            carried.0.try_write(1).unwrap();
        });
        beside_a_foreign_wait(nested, selected, |carried| drop(carried.1.take()));
        beside_a_foreign_wait(nested, selected, |carried| {
            let select = carried.1.as_mut().unwrap();
            let waker = Waker::from(Arc::new(Flag::default()));
            assert!(
                select
                    .poll_read(&mut Context::from_waker(&waker))
                    .is_pending()
            );
        });
    }
}

/// A port that waits in one run and then in another drops the first waker.
#[test]
fn a_port_that_waits_here_and_there_keeps_one_waker() {
    let flag = Arc::new(Flag::default());
    let mut net = Local::new();
    let (output, mut input) = net.channel::<u64>(1);
    let known = Arc::clone(&flag);
    net.spawn(async move {
        let _output = output;
        for _ in 0..20 {
            assert!(Flag::poll(&flag, &mut input).is_pending());
            let (there, mut inner) = (Arc::clone(&flag), Local::new());
            let (back, home) = (
                Rc::new(RefCell::new(None)),
                Rc::new(RefCell::new(Some(input))),
            );
            let keep = Rc::clone(&back);
            inner.spawn(async move {
                let mut input = home.take().unwrap();
                assert!(Flag::poll(&there, &mut input).is_pending());
                keep.replace(Some(input));
            });
            inner.run(&Options::new()).unwrap();
            input = back.take().unwrap();
        }
        let_wakers_wake().await;
        assert!(Arc::strong_count(&flag) < 6, "{}", Arc::strong_count(&flag));
        drop(input);
    });
    net.run(&Options::new()).unwrap();
    assert_eq!(Arc::strong_count(&known), 1);
}

struct Link(#[allow(dead_code)] Option<Input<Link>>);

thread_local! {
    static CHAIN: RefCell<Option<Input<Link>>> = const { RefCell::new(None) };
}

/// The values of a thread are dropped at its end. One of them is a port whose token holds a port,
/// and so on.
#[test]
fn a_thread_that_ends_with_a_chain_of_ports() {
    let chain = |length: u64| {
        let (mut net, mut head) = (Local::new(), None);
        for _ in 0..length {
            let (mut output, input) = net.channel(1);
            assert!(output.try_write(Link(head.take())).is_ok());
            head = Some(input);
        }
        head
    };
    let thread = std::thread::spawn(move || {
        CHAIN.set(None);
        drop(chain(100));
        CHAIN.set(chain(size(100_000, 200)));
    });
    thread.join().unwrap();
}

/// The cost of a network does not depend on the number of other networks.
#[test]
fn many_networks_go_in_any_order() {
    let nets: Vec<Local> = (0..size(200_000, 20)).map(|_| Local::new()).collect();
    let (mut even, mut odd) = (Vec::new(), Vec::new());
    for (at, net) in nets.into_iter().enumerate() {
        match at % 2 {
            0 => even.push(net),
            _ => odd.push(net),
        }
    }
    drop(odd);
    let mut last = even.pop().unwrap();
    drop(even);
    let (mut output, mut input) = last.channel::<u64>(1);
    last.spawn(async move { output.write(1).await });
    last.spawn(async move { assert_eq!(input.read().await, Some(1)) });
    last.run(&Options::new()).unwrap();
}
