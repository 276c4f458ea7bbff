//! Ports that are carried between runs and within tokens, and that are forgotten.
#![forbid(unsafe_code)]

mod common;

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::rc::Rc;
use std::task::Poll;

use common::{BOTH, Both, forget, size};
use graphmap_runtime as rt;
use rt::{Channels, Input, Local, Names, Network, Options, RunError, Select, Stopped, run};

fn blocked(outcome: Result<rt::Report, RunError>) -> rt::Block {
    match outcome {
        Err(RunError::Blocked(block)) => block,
        other => panic!("not blocked: {other:?}"),
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
                        // It waits at both once: else the writer would fill the one for ever while it
                        // waits at the other.
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
