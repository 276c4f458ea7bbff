//! Processes that sleep: the order of wake-ups, dropped sleeps, and deadlocks beside timers.
//!
//! No test depends on how soon a sleeping process continues. A sleep of an hour must be dropped, or
//! the test would not end.
#![forbid(unsafe_code)]

use std::cell::{Cell, RefCell};
use std::future::{pending, poll_fn};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use crate::combinators::join_all;
use crate::common::{BOTH, Both, Log, blocked, forget, size};
use graphmap_runtime as rt;
use rt::{Channels, Local, Names, Network, Options, Stopped, TaskSet, run};
use rt::{interval, join, select, sleep, sleep_until};

const HOUR: Duration = Duration::from_secs(3600);

fn ms(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// Polls a sleep once. Returns true if it is pending.
async fn is_pending(sleep: &mut rt::Sleep) -> bool {
    let mut sleep = Pin::new(sleep);
    poll_fn(|context| Poll::Ready(sleep.as_mut().poll(context).is_pending())).await
}

/// Returns the order in which processes wake up that sleep for `delays`, in units of `unit`.
/// Returns `None` if a process began to sleep too late.
fn wake_ups(delays: &[u32], unit: Duration) -> Option<Vec<usize>> {
    let (order, late) = (
        Rc::<RefCell<Vec<usize>>>::default(),
        Rc::new(Cell::new(false)),
    );
    let mut net = Local::new();
    let start = Instant::now() + unit;
    for (index, delay) in delays.iter().enumerate() {
        let (order, late, until) = (Rc::clone(&order), Rc::clone(&late), start + unit * *delay);
        net.spawn(async move {
            let mut sleep = sleep_until(until);
            late.set(late.get() | !is_pending(&mut sleep).await);
            sleep.await;
            assert!(Instant::now() >= until);
            order.borrow_mut().push(index);
        });
    }
    net.run(&Options::new()).unwrap();
    let order = order.take();
    (!late.get()).then_some(order)
}

#[test]
fn processes_wake_up_in_the_order_of_their_times() {
    // Two of the same time wake up in the order in which they began to sleep.
    let delays = [5, 3, 0, 4, 3, 1, 5];
    let mut units = (0..).map(|doubled| ms(5) * (1 << doubled));
    let order = units.find_map(|unit| wake_ups(&delays, unit));
    assert_eq!(order.unwrap(), [2, 5, 1, 4, 3, 0, 6]);
}

#[test]
fn thousands_sleep_at_a_time() {
    let count = size(5000, 50);
    for schedulers in [1, 2] {
        let ended = Arc::new(AtomicUsize::new(0));
        let mut net = Network::new("n", "n.dot");
        let all = format!("0+1*{count}");
        net.kind("p", Names::Numbered("p", &all), &all, &[], {
            let ended = Arc::clone(&ended);
            move |()| {
                let ended = Arc::clone(&ended);
                async move {
                    for round in 0..3 {
                        let (start, time) =
                            (Instant::now(), ms((rt::me().rank as u64 + round) % 7));
                        sleep(time).await;
                        assert!(start.elapsed() >= time);
                    }
                    ended.fetch_add(1, Ordering::Relaxed);
                }
            }
        });
        run(net, &Options::new().os_processes(schedulers)).unwrap();
        assert_eq!(ended.load(Ordering::Relaxed), count as usize);
    }
}

#[test]
fn a_sleep_that_has_passed_is_ready_at_once() {
    let mut net = Local::new();
    net.spawn(async {
        sleep(Duration::ZERO).await;
        let mut now = sleep_until(Instant::now());
        assert!(!is_pending(&mut now).await);
        // Also when it is polled again.
        now.await;
    });
    net.run(&Options::new()).unwrap();
}

#[test]
fn a_duration_may_be_too_long_for_an_instant() {
    let mut net = Local::new();
    let (mut output, mut input) = net.channel::<u8>(1);
    net.spawn(async move {
        let mut long = sleep(Duration::MAX);
        assert!(is_pending(&mut long).await && long.until() > Instant::now() + HOUR);
        sleep(ms(2)).await;
        output.write(1).await
    });
    net.spawn(async move {
        let mut ticks = interval(Duration::MAX);
        select! {
            n = input => assert_eq!(n, 1),
            _due = ticks => panic!("too early"),
            else => panic!("no token"),
        }
    });
    net.run(&Options::new()).unwrap();
}

#[test]
#[should_panic(expected = "a sleep was awaited outside a process of a run")]
fn a_sleep_needs_a_run() {
    let _pending = pin!(sleep(HOUR)).poll(&mut Context::from_waker(Waker::noop()));
}

/// Returns a network of two processes. `first` sleeps. Each returns when the other one has written
/// a token, or has left.
fn two<F: Future<Output = ()> + 'static>(
    first: impl Fn() -> F + Clone + Send + Sync + 'static,
    writes: bool,
) -> Network {
    let mut net = Network::new("two", "two.dot");
    let process = move |mut p: Both<u8>| {
        let first = first.clone();
        async move {
            if rt::me().rank == 0 {
                first().await;
                if writes {
                    p.outs[0].write(1).await?;
                }
                p.ins[0].read().await;
            } else {
                assert_eq!(p.ins[0].read().await, Some(1));
            }
            Ok::<(), Stopped>(())
        }
    };
    let kind = net.kind("p", Names::Numbered("p", "0 1"), "0 1", BOTH, process);
    net.payload(rt::format_of!(u8));
    net.channels::<u8>(Channels::new((kind, 1), (kind, 0), "0 1", "1 0"));
    net
}

#[test]
fn quiescence_with_a_timer_is_not_a_deadlock() {
    for schedulers in [1, 2] {
        let options = Options::new().os_processes(schedulers);
        let twice = || async {
            sleep(ms(20)).await;
            sleep(ms(5)).await;
        };
        run(two(twice, true), &options).unwrap();
    }
}

#[test]
fn a_network_whose_timers_have_fired_may_be_in_a_deadlock() {
    for schedulers in [1, 2] {
        let options = Options::new().os_processes(schedulers);
        let block = blocked(run(two(|| sleep(ms(20)), false), &options));
        assert_eq!((block.processes, block.cycle_len), (2, 2));
    }
}

#[test]
fn a_dropped_sleep_hides_no_deadlock() {
    for schedulers in [1, 2] {
        let options = Options::new().os_processes(schedulers);
        let dropped = || async {
            let mut long = sleep(HOUR);
            assert!(is_pending(&mut long).await);
            // The deadlock detection finds the timer first.
            sleep(ms(10)).await;
        };
        assert_eq!(blocked(run(two(dropped, false), &options)).cycle_len, 2);
        let in_combinators = || async {
            let all = join_all((0..9).map(|_| sleep(HOUR)));
            let mut both = pin!(join(all, sleep(HOUR)));
            poll_fn(|context| {
                assert!(both.as_mut().poll(context).is_pending());
                Poll::Ready(())
            })
            .await;
            sleep(ms(10)).await;
        };
        let block = blocked(run(two(in_combinators, false), &options));
        assert_eq!(block.cycle_len, 2);
    }
}

/// Forgets a sleep of a process that ends, so that its timer wakes no process.
#[test]
fn a_timer_that_wakes_no_process_delays_a_deadlock_only_until_it_fires() {
    let mut net = Local::new();
    net.spawn(async {
        let mut sleep = sleep(ms(20));
        if is_pending(&mut sleep).await {
            forget(sleep);
        }
    });
    let (output, mut input) = net.channel::<u8>(1);
    net.spawn(async move {
        let _output = output;
        input.read().await;
    });
    assert_eq!(blocked(net.run(&Options::new())).processes, 1);
}

#[test]
fn channels_grow_while_a_process_sleeps() {
    for schedulers in [1, 2] {
        let mut net = Network::new("n", "n.dot");
        let process = |mut p: Both<u8>| async move {
            let [first, second] = &mut p.outs[..] else {
                let [first, second] = &mut p.ins[..] else {
                    unreachable!()
                };
                // Reads in the other order than the tokens are written.
                let mut long = sleep(HOUR);
                for _ in 0..20 {
                    select! {
                        _token = *second => {},
                        () = long => panic!("too early"),
                        else => break,
                    }
                }
                while first.read().await.is_some() {}
                return Ok(());
            };
            for n in 0..20 {
                first.write(n).await?;
            }
            for n in 0..20 {
                second.write(n).await?;
            }
            Ok::<(), Stopped>(())
        };
        let kind = net.kind("p", Names::Numbered("p", "0 1"), "0 1", BOTH, process);
        net.channels::<u8>(Channels::new((kind, 1), (kind, 0), "0 0", "1 1"));
        let report = run(net, &Options::new().os_processes(schedulers)).unwrap();
        assert!(!report.growths.is_empty());
    }
}

/// A timer is due, so the network is not reported as quiet. The quiet period is two seconds.
#[test]
#[cfg(not(miri))]
fn a_sleeping_network_is_not_quiet() {
    let quiet = Log::new();
    let add = quiet.adder();
    let mut net = Local::new();
    net.spawn(async {
        // A foreign waker without an event. It is kept in this process.
        let waker = poll_fn(|context| Poll::Ready(context.waker().clone())).await;
        sleep(ms(3000)).await;
        drop(waker);
    });
    let options = Options::new().on_quiet(move |block| add(block.to_string()));
    net.run(&options).unwrap();
    assert_eq!(quiet.take(), Vec::<String>::new());
}

#[test]
fn select_waits_for_a_token_or_a_time() {
    let mut net = Local::new();
    let (mut output, mut input) = net.channel::<u32>(1);
    let (mut go, mut gone) = net.channel::<()>(1);
    net.spawn(async move {
        gone.read().await;
        for n in 1..=3 {
            output.write(n).await?;
            sleep(ms(1)).await;
        }
        Ok::<(), Stopped>(())
    });
    net.spawn(async move {
        // The time comes first, and only once.
        let (mut pause, mut paused) = (sleep(ms(5)), 0);
        let mut sum = 0;
        loop {
            select! {
                n = input => sum += n,
                () = pause => {
                    paused += 1;
                    go.write(()).await?;
                }
                () = sleep(HOUR) => panic!("too early"),
                else => break,
            }
        }
        assert_eq!((sum, paused), (6, 1));
        Ok::<(), Stopped>(())
    });
    net.run(&Options::new()).unwrap();
}

#[test]
fn ticks_are_at_multiples_of_the_period() {
    let mut net = Local::new();
    net.spawn(async {
        let before = Instant::now();
        let period = ms(3);
        let mut ticks = interval(period);
        assert_eq!(ticks.period(), period);
        let first = ticks.tick().await;
        assert!(first >= before + period);
        let mut last = first;
        for round in 0..6 {
            if round == 2 {
                std::thread::sleep(period * 3);
            }
            // The next call waits for the time of a call that was dropped.
            let mut dropped = Box::pin(ticks.tick());
            let early = poll_fn(|context| Poll::Ready(dropped.as_mut().poll(context))).await;
            drop(dropped);
            let due = match early {
                Poll::Ready(due) => due,
                Poll::Pending => ticks.tick().await,
            };
            assert!(due > last && Instant::now() >= due);
            let since = due - first;
            assert_eq!(since.as_nanos() % period.as_nanos(), 0, "{since:?}");
            last = due;
        }
    });
    net.run(&Options::new()).unwrap();
}

#[test]
fn a_dropped_tick_leaves_no_timer() {
    let ticking = || async {
        let mut ticks = interval(HOUR);
        let mut tick = Box::pin(ticks.tick());
        poll_fn(|context| {
            assert!(tick.as_mut().poll(context).is_pending());
            Poll::Ready(())
        })
        .await;
        drop(tick);
        // The interval lives on.
        sleep(ms(5)).await;
        forget(ticks);
    };
    assert_eq!(
        blocked(run(two(ticking, false), &Options::new())).cycle_len,
        2
    );
}

#[test]
#[should_panic(expected = "the period of an interval is zero")]
fn a_period_is_not_zero() {
    drop(interval(Duration::ZERO));
}

#[test]
fn tasks_sleep_at_the_same_time() {
    let mut net = Local::new();
    let count = size(1000, 20);
    net.spawn(async move {
        let mut tasks = TaskSet::new();
        for n in 0..count {
            tasks.push(async move {
                sleep(ms(n % 5)).await;
                n
            });
        }
        let mut sum = 0;
        while let Some(n) = tasks.join_next().await {
            sum += n;
        }
        assert_eq!(sum, count * (count - 1) / 2);
        join_all((0..count).map(|n| sleep(ms(n % 5)))).await;
    });
    net.run(&Options::new()).unwrap();
}

/// Polls a sleep in one run and then in another one, or drops it outside of all runs.
#[test]
fn a_sleep_moves_between_runs() {
    for again in [true, false] {
        let kept: Rc<RefCell<Option<rt::Sleep>>> = Rc::default();
        let mut net = Local::new();
        net.spawn({
            let kept = Rc::clone(&kept);
            async move {
                let mut outer = sleep(ms(10));
                is_pending(&mut outer).await;
                let mut inner = Local::new();
                inner.spawn(async move {
                    outer.await;
                    let mut sleep = sleep(ms(20));
                    is_pending(&mut sleep).await;
                    *kept.borrow_mut() = Some(sleep);
                });
                inner.run(&Options::new()).unwrap();
            }
        });
        net.run(&Options::new()).unwrap();
        let sleep = kept.take().unwrap();
        if again {
            let mut net = Local::new();
            net.spawn(sleep);
            net.run(&Options::new()).unwrap();
        }
    }
}

/// Runs a network that ends, or fails, while a process sleeps.
#[test]
fn sleeping_processes_do_not_delay_the_end_of_a_run() {
    for schedulers in [1, 2] {
        let mut net = Network::new("n", "n.dot");
        net.kind("p", Names::Numbered("p", "0 1"), "0 1", &[], |()| async {
            match rt::me().rank {
                0 => sleep(HOUR).await,
                _ => {
                    sleep(ms(10)).await;
                    return Err("it is broken".to_string());
                }
            }
            Ok(())
        });
        let error = run(net, &Options::new().os_processes(schedulers)).unwrap_err();
        assert!(error.to_string().contains("it is broken"), "{error}");
    }
}

#[test]
fn ranks_wait_for_one_that_sleeps() {
    for schedulers in [1, 2] {
        let mut net = Network::new("ranks", "ranks.dot");
        net.kind(
            "p",
            Names::Numbered("p", "0+1*4"),
            "0+1*4",
            &[],
            |()| async {
                let world = rt::mpi::world()?;
                if world.rank() == 1 {
                    sleep(ms(20)).await;
                }
                world.barrier().await?;
                if world.rank() == 1 {
                    // All others wait for this rank, which waits for an event that never comes.
                    sleep(ms(20)).await;
                    pending::<()>().await;
                }
                world.barrier().await
            },
        );
        let block = blocked(run(net, &Options::new().os_processes(schedulers)));
        assert_eq!(block.processes, 4);
    }
}
