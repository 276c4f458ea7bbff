//! Ends of streams, requests to stop, ports joined to nothing, and names.

use std::time::Duration;

use crate::common::{BOTH, Both, Log, Random, places, size};
use graphmap_runtime as rt;
use rt::{Channels, Local, Names, Network, Options, Stopped, TryWriteError, run};

fn sieve(primes: u32, capacity: u32, log: &Log<u64>) -> Network {
    let mut net = Network::new("sieve", "sieve.dot");
    let source = net.kind(
        "source",
        Names::Listed(&["source"]),
        "0",
        BOTH,
        |mut p: Both<u64>| async move {
            for n in 2.. {
                p.outs[0].write(n).await?;
            }
            Ok::<(), Stopped>(())
        },
    );
    let log = log.clone();
    let filter = move |mut p: Both<u64>| {
        let log = log.clone();
        async move {
            let prime = p.ins[0].read().await.expect("the source goes on for ever");
            log.add(prime);
            let Some(out) = p.outs.first_mut() else {
                return Ok(());
            };
            while let Some(n) = p.ins[0].read().await {
                if n % prime != 0 {
                    out.write(n).await?;
                }
            }
            Ok::<(), Stopped>(())
        }
    };
    let ranks = format!("1+1*{primes}");
    let filters = net.kind(
        "filter",
        Names::Numbered("filter", &ranks),
        &ranks,
        BOTH,
        filter,
    );
    net.channels::<u64>(Channels {
        capacity,
        ..Channels::new((source, 1), (filters, 0), "0", "0")
    });
    let (from, to) = (format!("0+1*{}", primes - 1), format!("1+1*{}", primes - 1));
    net.channels::<u64>(Channels {
        capacity,
        ..Channels::new((filters, 1), (filters, 0), &from, &to)
    });
    net
}

#[test]
fn the_last_of_a_sieve_stops_all() {
    let count = size(100, 6) as usize;
    let last = if cfg!(miri) { 13 } else { 541 };
    for capacity in [1, 7] {
        let log = Log::new();
        places::each(
            || sieve(count as u32, capacity, &log),
            |outcome| {
                outcome.unwrap();
                let primes = log.sorted();
                assert_eq!((primes.len(), primes[count - 1]), (count, last));
            },
        );
    }
}

#[test]
fn a_sieve_under_a_hundred_schedules() {
    let (schedules, primes) = (size(100, 6), size(30, 4) as u32);
    let last = if cfg!(miri) { 7 } else { 113 };
    for seed in 0..schedules {
        let log = Log::new();
        let schedulers = 1 + seed as usize % 3;
        run(
            sieve(primes, 2, &log),
            &Options::new().shuffle(seed).os_processes(schedulers),
        )
        .unwrap();
        assert_eq!(log.sorted().last(), Some(&last));
    }
}

#[test]
fn a_chain_passes_everything_on_and_ends() {
    let (members, tokens) = (size(20, 5), size(500, 12));
    let all = format!("0+1*{members}");
    let (from, to) = (
        format!("0+1*{}", members - 1),
        format!("1+1*{}", members - 1),
    );
    let log = Log::new();
    places::each(
        || {
            let mut net = Network::new("chain", "chain.dot");
            let log = log.clone();
            let kind = net.kind(
                "p",
                Names::Numbered("p", &all),
                &all,
                BOTH,
                move |mut p: Both<Box<u64>>| {
                    let log = log.clone();
                    async move {
                        if p.ins.is_empty() {
                            for n in 0..tokens {
                                p.outs[0].write(Box::new(n)).await?;
                            }
                            return Ok(());
                        }
                        while let Some(n) = p.ins[0].read().await {
                            match p.outs.first_mut() {
                                Some(out) => out.write(n).await?,
                                None => log.add(*n),
                            }
                        }
                        Ok::<(), Stopped>(())
                    }
                },
            );
            net.channels::<Box<u64>>(Channels {
                capacity: 3,
                ..Channels::new((kind, 1), (kind, 0), &from, &to)
            });
            net
        },
        |outcome| {
            outcome.unwrap();
            assert_eq!(log.take(), (0..tokens).collect::<Vec<_>>());
        },
    );
}

#[test]
fn ports_joined_to_nothing() {
    struct P {
        input: rt::Input<String>,
        output: rt::Output<String>,
        select: rt::Select<u8>,
        share: rt::Share<u8>,
    }
    impl rt::Ports for P {
        fn connect(ends: &mut rt::Ends<'_>) -> Self {
            P {
                input: ends.input(),
                output: ends.output(),
                select: ends.select(),
                share: ends.share(),
            }
        }
    }
    let mut net = Network::new("alone", "alone.dot");
    net.kind(
        "p",
        Names::Listed(&["p"]),
        "0",
        &["a", "b", "c", "d"],
        |mut p: P| async move {
            assert!(!p.input.is_connected() && !p.output.is_connected());
            assert!(!p.select.is_connected() && !p.share.is_connected());
            assert_eq!(p.input.read().await, None);
            assert_eq!(p.output.write("x".into()).await, Err(Stopped));
            assert_eq!(
                p.output.try_write("x".into()),
                Err(TryWriteError::Stopped("x".into()))
            );
            assert_eq!(p.select.read().await, None);
            assert_eq!(p.share.write(1).await, Err(Stopped));
        },
    );
    run(net, &Options::new()).unwrap();
}

#[test]
fn trying_gives_the_token_back() {
    let mut net = Local::new();
    let (mut tx, mut rx) = net.channel::<u8>(2);
    net.spawn(async move {
        assert_eq!(rx.try_read(), Err(rt::Empty));
        assert_eq!(tx.try_write(1), Ok(()));
        assert_eq!(tx.try_write(2), Ok(()));
        assert_eq!(tx.try_write(3), Err(TryWriteError::Full(3)));
        assert_eq!(rx.try_read(), Ok(Some(1)));
        drop(tx);
        assert_eq!(rx.try_read(), Ok(Some(2)));
        assert_eq!(rx.try_read(), Ok(None));
        assert_eq!(rx.read().await, None);
    });
    net.run(&Options::new()).unwrap();
}

#[test]
fn me_returns_name_and_position() {
    places::each(
        || {
            let mut net = Network::new("names", "names.dot");
            let check = |_: ()| async {
                let me = rt::me();
                let name = match me.kind.as_str() {
                    "cell" => format!("cell{}_{}", me.index / 3, me.index % 3),
                    _ => format!("odd{}", me.index + 1),
                };
                assert_eq!(me.name, name);
                assert_eq!(
                    (me.processes, me.members),
                    (14, if me.kind == "cell" { 6 } else { 4 })
                );
                let rank = if me.kind == "cell" {
                    me.index + me.index.min(3)
                } else {
                    1 + 2 * me.index
                };
                assert!(me.rank == rank || me.kind == "cell", "{me:?}");
                assert!(me.scheduler < me.schedulers);
                rt::yield_now().await;
                assert_eq!(rt::me(), me);
            };
            let names = Names::Pattern(&[("cell", "0+0*3+1*2"), ("_", "0+1*3+0*2")]);
            net.kind("cell", names, "0+2*4 8 9", &[], check);
            net.kind("odd", Names::Numbered("odd", "1+1*4"), "1+2*4", &[], check);
            let named = |_: ()| async {
                let me = rt::me();
                let names = ["left1_7", "right1_7", "left2_7", "right2_7"];
                assert_eq!(me.name, names[me.index]);
            };
            let names = &[("", "1 1 2 2"), ("_", "7+0*4")];
            let names = Names::Mixed(&["left", "right"], "0 1 0 1", names);
            net.kind("mixed", names, "10+1*4", &[], named);
            net
        },
        |outcome| {
            assert_eq!(outcome.unwrap().processes, 14);
        },
    );
}

#[test]
fn ports_can_be_tokens() {
    let mut net = Local::new();
    let (mut tx, mut rx) = net.channel::<rt::Input<u32>>(1);
    let (mut numbers, input) = net.channel::<u32>(1);
    net.spawn(async move { numbers.write(7).await });
    net.spawn(async move { tx.write(input).await });
    net.spawn(async move {
        let mut input = rx.read().await.unwrap();
        assert_eq!(input.read().await, Some(7));
        assert_eq!(input.read().await, None);
    });
    net.run(&Options::new()).unwrap();
}

#[test]
fn a_channel_can_hold_its_own_end() {
    use std::cell::RefCell;
    use std::rc::Rc;
    struct Own(#[allow(dead_code)] Rc<RefCell<Option<rt::Output<Own>>>>);
    let mut net = Local::new();
    let (tx, rx) = net.channel::<Own>(1);
    net.spawn(async move {
        let end = Rc::new(RefCell::new(Some(tx)));
        let token = Own(Rc::clone(&end));
        assert!(end.borrow_mut().as_mut().unwrap().try_write(token).is_ok());
        drop(end);
        // Drops the token, which holds the writing end: both ends leave in one call.
        drop(rx);
    });
    net.run(&Options::new()).unwrap();
}

#[test]
fn unread_tokens_are_dropped() {
    use std::sync::Arc;
    let token = Arc::new(());
    for capacity in [1, 8] {
        let network = || {
            let token = Arc::clone(&token);
            let mut net = Network::new("drop", "drop.dot");
            let write = move |mut p: Both<Arc<()>>| {
                let token = Arc::clone(&token);
                async move {
                    for _ in 0..capacity {
                        if p.outs[0].write(Arc::clone(&token)).await.is_err() {
                            break;
                        }
                    }
                }
            };
            let read = |p: Both<Arc<()>>| async move {
                rt::yield_now().await;
                drop(p);
            };
            let w = net.kind("w", Names::Listed(&["w"]), "0", BOTH, write);
            let r = net.kind("r", Names::Listed(&["r"]), "1", BOTH, read);
            net.channels::<Arc<()>>(Channels {
                capacity,
                ..Channels::new((w, 1), (r, 0), "0", "0")
            });
            net
        };
        places::each(network, |outcome| {
            outcome.unwrap();
        });
    }
    assert_eq!(Arc::strong_count(&token), 1);
}

#[test]
fn foreign_futures_wake_from_another_thread() {
    use std::sync::{Arc, Mutex};
    use std::task::{Poll, Waker};
    // A timer as in other libraries: a thread and a shared waker.
    fn timer(after: Duration) -> impl Future<Output = ()> {
        let state: Arc<Mutex<(bool, Option<Waker>)>> = Arc::default();
        let theirs = Arc::clone(&state);
        std::thread::spawn(move || {
            std::thread::sleep(after);
            let mut state = theirs.lock().unwrap();
            state.0 = true;
            if let Some(waker) = state.1.take() {
                waker.wake();
            }
        });
        std::future::poll_fn(move |context| {
            let mut state = state.lock().unwrap();
            if state.0 {
                return Poll::Ready(());
            }
            state.1 = Some(context.waker().clone());
            Poll::Pending
        })
    }
    let log = Log::new();
    places::each(
        || {
            let mut net = Network::new("timer", "timer.dot");
            let log = log.clone();
            let kind = net.kind(
                "p",
                Names::Numbered("p", "0+1*6"),
                "0+1*6",
                BOTH,
                move |mut p: Both<u32>| {
                    let log = log.clone();
                    async move {
                        match p.ins.first_mut() {
                            Some(input) => log.add(input.read().await.unwrap()),
                            None => timer(Duration::from_millis(30)).await,
                        }
                        if let Some(output) = p.outs.first_mut() {
                            output.write(rt::me().rank as u32).await.unwrap();
                        }
                    }
                },
            );
            net.channels::<u32>(Channels::new((kind, 1), (kind, 0), "0+1*5", "1+1*5"));
            net
        },
        |outcome| {
            outcome.unwrap();
            assert_eq!(log.sorted(), [0, 1, 2, 3, 4]);
        },
    );
}

#[test]
fn combinators_with_wakers_of_their_own() {
    use std::pin::{Pin, pin};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::task::{Context, Poll, Wake, Waker};

    // Polls each child only when the child's own waker was called, as `FuturesUnordered` does.
    struct Child(AtomicBool, std::sync::Mutex<Option<Waker>>);
    impl Wake for Child {
        fn wake(self: Arc<Self>) {
            self.0.store(true, Ordering::SeqCst);
            if let Some(waker) = self.1.lock().unwrap().take() {
                waker.wake();
            }
        }
    }
    async fn both(
        mut a: Pin<&mut impl Future<Output = ()>>,
        mut b: Pin<&mut impl Future<Output = ()>>,
    ) {
        let flags = [0, 1].map(|_| Arc::new(Child(AtomicBool::new(true), Default::default())));
        let mut done = [false; 2];
        std::future::poll_fn(move |context: &mut Context<'_>| {
            for n in 0..2 {
                *flags[n].1.lock().unwrap() = Some(context.waker().clone());
                if !done[n] && flags[n].0.swap(false, Ordering::SeqCst) {
                    let waker = Waker::from(Arc::clone(&flags[n]));
                    let mut inner = Context::from_waker(&waker);
                    let poll = if n == 0 {
                        a.as_mut().poll(&mut inner)
                    } else {
                        b.as_mut().poll(&mut inner)
                    };
                    done[n] = poll.is_ready();
                }
            }
            if done == [true; 2] {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        })
        .await;
    }
    let each = size(50, 10) as u32;
    places::each(
        || {
            let mut net = Network::new("both", "both.dot");
            let w = net.kind(
                "w",
                Names::Numbered("w", "0+1*2"),
                "1+1*2",
                BOTH,
                move |mut p: Both<u32>| async move {
                    for n in 0..each {
                        if n % 7 == rt::me().index as u32 {
                            rt::yield_now().await;
                        }
                        p.outs[0].write(n).await?;
                    }
                    Ok::<(), Stopped>(())
                },
            );
            let r = net.kind(
                "r",
                Names::Listed(&["r"]),
                "0",
                BOTH,
                move |mut p: Both<u32>| async move {
                    let mut b = p.ins.pop().unwrap();
                    let mut a = p.ins.pop().unwrap();
                    let read_a = pin!(async move {
                        for n in 0..each {
                            assert_eq!(a.read().await, Some(n));
                        }
                    });
                    let read_b = pin!(async move {
                        for n in 0..each {
                            assert_eq!(b.read().await, Some(n));
                        }
                    });
                    both(read_a, read_b).await;
                },
            );
            net.channels::<u32>(Channels::new((w, 1), (r, 0), "0 1", "0 0"));
            net
        },
        |outcome| {
            outcome.unwrap();
        },
    );
}

/// A combinator polls a read and a write with a waker of its own, and then cancels them. This waker
/// holds the waker of the process, and must be dropped, because the run would not end otherwise.
#[test]
fn cancelled_foreign_waits_are_forgotten() {
    use std::pin::pin;
    use std::sync::Arc;
    use std::task::{Context, Poll, Wake, Waker};
    struct Theirs(Waker);
    impl Wake for Theirs {
        fn wake(self: Arc<Self>) {
            self.0.wake_by_ref();
        }
    }
    /// Polls a future once. Returns whether it was ready.
    async fn once(future: impl Future) -> bool {
        let mut future = pin!(future);
        std::future::poll_fn(|context| {
            let waker = Waker::from(Arc::new(Theirs(context.waker().clone())));
            let poll = future.as_mut().poll(&mut Context::from_waker(&waker));
            Poll::Ready(poll.is_ready())
        })
        .await
    }
    let rounds = size(50, 5);
    places::each(
        || {
            let mut net = Network::new("pair", "pair.dot");
            let each = move |mut p: Both<u64>| async move {
                if rt::me().rank == 0 {
                    for n in 0..rounds {
                        // The write is meant to be cancelled, but if it was ready, the token was
                        // written.
                        if once(p.outs[0].write(n)).await {
                            continue;
                        }
                        once(p.outs[0].stopped()).await;
                        p.outs[0].write(n).await?;
                    }
                } else {
                    for _ in 0..rounds {
                        if !once(p.ins[0].read()).await {
                            p.ins[0].read().await;
                        }
                    }
                    once(p.ins[0].read()).await;
                }
                Ok::<(), Stopped>(())
            };
            let kind = net.kind("p", Names::Numbered("p", "0+1*2"), "0+1*2", BOTH, each);
            net.channels::<u64>(Channels::new((kind, 1), (kind, 0), "0", "1"));
            net
        },
        |outcome| {
            outcome.unwrap();
        },
    );
}

#[test]
fn cancelled_reads_lose_nothing() {
    use std::task::{Context, Waker};
    let mut net = Local::new();
    let (mut tx, mut rx) = net.channel::<u64>(2);
    net.spawn(async move {
        let mut random = Random(3);
        for n in 0..size(200, 40) {
            tx.write(n).await?;
            if random.below(3) == 0 {
                rt::yield_now().await;
            }
        }
        Ok::<(), Stopped>(())
    });
    net.spawn(async move {
        for n in 0..size(200, 40) {
            // Polls the read with the context of the process, and drops it.
            let mut early = None;
            std::future::poll_fn(|context| {
                let mut read = rx.read();
                if let std::task::Poll::Ready(token) = std::pin::Pin::new(&mut read).poll(context) {
                    early = token;
                }
                std::task::Poll::Ready(())
            })
            .await;
            let token = match early {
                Some(token) => token,
                None => rx.read().await.unwrap(),
            };
            assert_eq!(token, n);
            let _ = Context::from_waker(Waker::noop());
        }
    });
    net.run(&Options::new()).unwrap();
}

#[test]
fn a_write_that_was_read_is_done_though_the_reader_has_left() {
    for seed in 0..size(20, 4) {
        for reads in 0..size(4, 3) {
            let mut net = Local::new();
            let (mut tx, mut rx) = net.channel::<u64>(1);
            net.spawn(async move {
                for n in 0..reads {
                    // Yields twice, so that the writer has written as much as it can.
                    rt::yield_now().await;
                    rt::yield_now().await;
                    assert_eq!(rx.read().await, Some(n));
                }
            });
            net.spawn(async move {
                let mut written = 0;
                while tx.write(written).await.is_ok() {
                    written += 1;
                }
                // One more token may have been in the channel when the reader left.
                assert!(
                    (reads..=reads + 1).contains(&written),
                    "{written} of {reads}"
                );
            });
            net.run(&Options::new().shuffle(seed)).unwrap();
        }
    }
}
