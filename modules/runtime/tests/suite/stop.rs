//! Tests of waiting for readers to leave: `Output::stopped` and the same method of bundles.

use std::cell::Cell;
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::common::{BOTH, Both, Log, places, size};
use graphmap_runtime as rt;
use rt::{
    Broadcast, Channels, Local, Names, Network, Options, RunError, Scatter, Share, Stopped, TaskSet,
};

/// Returns a chain without tokens. Each process except the last waits with `stopped` until its
/// reader leaves.
fn silent_chain(members: u32, ended: &Arc<AtomicU32>) -> Network {
    let ended = Arc::clone(ended);
    let each = move |mut p: Both<u64>| {
        let ended = Arc::clone(&ended);
        async move {
            match (p.ins.pop(), p.outs.pop()) {
                (_, Some(mut out)) => out.stopped().await,
                (Some(_), None) => {
                    for _ in 0..10 {
                        rt::yield_now().await;
                    }
                }
                (None, None) => {}
            }
            ended.fetch_add(1, Ordering::Relaxed);
        }
    };
    let mut net = Network::new("chain", "chain.dot");
    let all = format!("0+1*{members}");
    let kind = net.kind("p", Names::Numbered("p", &all), &all, BOTH, each);
    let (from, to) = (
        format!("0+1*{}", members - 1),
        format!("1+1*{}", members - 1),
    );
    net.channels::<u64>(Channels::new((kind, 1), (kind, 0), &from, &to));
    net
}

#[test]
fn the_last_ones_leaving_goes_up_a_silent_chain() {
    let members = size(20, 5) as u32;
    let ended = Arc::new(AtomicU32::new(0));
    places::each(
        || silent_chain(members, &ended),
        |outcome| {
            outcome.unwrap();
            assert_eq!(ended.swap(0, Ordering::Relaxed), members);
        },
    );
}

#[test]
fn select_hears_of_the_stop_while_its_input_is_silent() {
    let mut net = Local::new();
    let (mut tx, mut rx) = net.channel::<u64>(2);
    let (mut out, mut last) = net.channel::<u64>(2);
    let log = Log::new();
    net.spawn(async move {
        tx.write(1).await?;
        tx.write(2).await?;
        tx.stopped().await;
        Ok::<(), Stopped>(())
    });
    let seen = log.clone();
    net.spawn(async move {
        loop {
            rt::select! {
                n = rx => out.write(n).await?,
                () = out.stopped() => break,
                else => unreachable!("the writer waits"),
            }
        }
        seen.add(0);
        Ok::<(), Stopped>(())
    });
    let seen = log.clone();
    net.spawn(async move {
        for _ in 0..2 {
            seen.add(last.read().await.unwrap());
        }
    });
    net.run(&Options::new()).unwrap();
    assert_eq!(log.take(), [1, 2, 0]);
}

#[test]
fn the_end_of_the_inputs_is_not_held_up() {
    let mut net = Local::new();
    let (mut tx, mut rx) = net.channel::<u64>(1);
    let (mut out, mut last) = net.channel::<u64>(1);
    net.spawn(async move { tx.write(7).await });
    net.spawn(async move {
        loop {
            rt::select! {
                n = rx => out.write(n).await?,
                () = out.stopped() => panic!("the reader is there"),
                else => return Ok::<(), Stopped>(()),
            }
        }
    });
    net.spawn(async move {
        assert_eq!(last.read().await, Some(7));
        assert_eq!(last.read().await, None);
    });
    net.run(&Options::new()).unwrap();
}

#[test]
fn a_write_after_a_wait_for_the_stop_is_woken() {
    // Waiting for `stopped` registers the writer without arming its wake-up. A write to the full
    // channel must arm it again.
    for shuffle in 0..size(20, 3) {
        let mut net = Local::new();
        let (mut tx, mut rx) = net.channel::<u64>(1);
        net.spawn(async move {
            for n in 0..20 {
                {
                    let mut stop = pin!(tx.stopped());
                    poll_fn(|context| {
                        assert!(stop.as_mut().poll(context).is_pending());
                        std::task::Poll::Ready(())
                    })
                    .await;
                }
                tx.write(n).await?;
            }
            tx.stopped().await;
            Ok::<(), Stopped>(())
        });
        net.spawn(async move {
            for n in 0..20 {
                assert_eq!(rx.read().await, Some(n));
            }
        });
        net.run(&Options::new().shuffle(shuffle)).unwrap();
    }
}

#[test]
fn bundles_stop_when_all_have_left() {
    let log = Log::new();
    let mut net = Local::new();
    let mut ends = || -> (Vec<_>, Vec<_>) { (0..3).map(|_| net.channel::<u64>(1)).unzip() };
    let (shared, a) = ends();
    let (broad, b) = ends();
    let (dealt, c) = ends();
    let readers: Vec<_> = a.into_iter().chain(b).chain(c).collect();
    let mut shared: Share<u64> = shared.into();
    let mut broad: Broadcast<u64> = broad.into();
    let mut dealt: Scatter<u64> = dealt.into();
    let seen = log.clone();
    net.spawn(async move {
        shared.stopped().await;
        assert_eq!(shared.write(1).await, Err(Stopped));
        seen.add(1);
    });
    let seen = log.clone();
    net.spawn(async move {
        broad.stopped().await;
        seen.add(2);
    });
    let seen = log.clone();
    net.spawn(async move {
        dealt.stopped().await;
        seen.add(3);
    });
    for (n, reader) in readers.into_iter().enumerate() {
        net.spawn(async move {
            for _ in 0..n * 5 % 7 {
                rt::yield_now().await;
            }
            drop(reader);
        });
    }
    net.run(&Options::new()).unwrap();
    assert_eq!(log.sorted(), [1, 2, 3]);
}

#[test]
fn a_share_can_wait_for_the_stop_and_go_on() {
    // Waiting for `stopped` replaces the waiter of a full member. The share must not forget this
    // member.
    let mut net = Local::new();
    let (outs, inputs): (Vec<_>, Vec<_>) = (0..2).map(|_| net.channel::<u64>(1)).unzip();
    let (mut go, mut wait) = net.channel::<()>(1);
    let mut share: Share<u64> = outs.into();
    net.spawn(async move {
        for n in 0..20 {
            rt::select! {
                _ = wait => {},
                () = share.stopped() => panic!("both are there"),
                else => {},
            }
            share.write(n).await?;
        }
        Ok::<(), Stopped>(())
    });
    net.spawn(async move {
        for _ in 0..3 {
            rt::yield_now().await;
            go.write(()).await?;
        }
        Ok::<(), Stopped>(())
    });
    let log = Log::new();
    for mut input in inputs {
        let log = log.clone();
        net.spawn(async move {
            while let Some(n) = input.read().await {
                log.add(n);
                rt::yield_now().await;
            }
        });
    }
    net.run(&Options::new()).unwrap();
    assert_eq!(log.sorted(), (0..20).collect::<Vec<_>>());
}

#[test]
fn an_output_joined_to_nothing_is_stopped() {
    let mut net = Local::new();
    net.spawn(async { rt::Output::<u64>::unconnected().stopped().await });
    net.run(&Options::new()).unwrap();
}

#[test]
fn waiting_for_a_stop_hides_no_block() {
    // The first process waits until the second leaves, and the second waits for a token of the
    // first.
    let make = || {
        let each = |mut p: Both<u64>| async move {
            if let Some(input) = p.ins.first_mut() {
                input.read().await;
            } else {
                p.outs[0].stopped().await;
            }
        };
        let mut net = Network::new("pair", "pair.dot");
        let kind = net.kind("p", Names::Numbered("p", "0+1*2"), "0+1*2", BOTH, each);
        net.channels::<u64>(Channels::new((kind, 1), (kind, 0), "0", "1"));
        net
    };
    places::each(make, |outcome| {
        let Err(RunError::Blocked(block)) = outcome else {
            panic!("not seen: {outcome:?}");
        };
        assert_eq!(block.cycle.len(), 2);
        let text = block.to_string();
        assert!(
            text.contains("waits for the reader to leave `out` to p1"),
            "{text}"
        );
    });
}

#[test]
fn a_filter_reads_for_its_reader() {
    for (reads, in_task) in [0, 1, 5]
        .map(|reads| [(reads, false), (reads, true)])
        .concat()
    {
        let mut net = Local::new();
        let (mut tx, mut rx) = net.channel::<u64>(2);
        let (mut out, mut last) = net.channel::<u64>(2);
        net.spawn(async move {
            for n in 0..5 {
                tx.write(n).await?;
            }
            if reads < 5 {
                tx.stopped().await;
            }
            Ok::<(), Stopped>(())
        });
        let filter = async move {
            while let Some(n) = rx.read_for(&mut out).await {
                out.write(n).await?;
            }
            Ok::<(), Stopped>(())
        };
        net.spawn(async move {
            match in_task {
                true => TaskSet::from_iter([filter]).join_next().await.unwrap(),
                false => filter.await,
            }
        });
        net.spawn(async move {
            for n in 0..reads {
                assert_eq!(last.read().await, Some(n));
            }
            if reads == 5 {
                assert_eq!(last.read().await, None);
            }
        });
        net.run(&Options::new()).unwrap();
    }
}

/// Ends a chain of filters that were woken but not polled yet when the reader of the last one
/// leaves. They must end directly one after the other, without a poll of all other ready processes
/// in between.
#[test]
fn a_chain_that_can_run_ends_before_others_go_on() {
    fn ends<T: 'static>(token: fn(u64) -> T, options: &Options) {
        const MEMBERS: usize = 20;
        let mut net = Local::new();
        let (turns, left, ended) = (
            Rc::new(Cell::new(0)),
            Rc::new(Cell::new(None)),
            Rc::new(Cell::new(None)),
        );
        let (first, mut input) = net.channel::<T>(2);
        net.spawn({
            let (turns, ended) = (Rc::clone(&turns), Rc::clone(&ended));
            async move {
                let mut first = first;
                for n in 0.. {
                    if first.write(token(n)).await.is_err() {
                        break;
                    }
                }
                ended.set(Some(turns.get()));
            }
        });
        for _ in 0..MEMBERS {
            let (mut output, next) = net.channel::<T>(2);
            let mut from = std::mem::replace(&mut input, next);
            net.spawn(async move {
                while let Some(token) = from.read_for(&mut output).await {
                    output.write(token).await?;
                }
                Ok::<(), Stopped>(())
            });
        }
        net.spawn({
            let (turns, left) = (Rc::clone(&turns), Rc::clone(&left));
            async move {
                // By then, all filters wait for space.
                for _ in 0..10 * MEMBERS {
                    rt::yield_now().await;
                }
                // The read wakes the last filter, which then wakes the one before it.
                assert!(input.read().await.is_some());
                left.set(Some(turns.get()));
            }
        });
        for _ in 0..2 {
            let (turns, ended) = (Rc::clone(&turns), Rc::clone(&ended));
            net.spawn(async move {
                while ended.get().is_none() {
                    turns.set(turns.get() + 1);
                    rt::yield_now().await;
                }
            });
        }
        net.run(options).unwrap();
        let (left, ended): (u64, u64) = (left.get().unwrap(), ended.get().unwrap());
        assert!(ended - left <= 4, "{} turns of others", ended - left);
    }
    // Statistics must not change the order of polls. Otherwise, a profile would describe a
    // different run.
    for options in [Options::new(), Options::new().stats(true)] {
        ends(|n| n, &options);
        ends(Box::new, &options);
    }
}

/// Drops many readers one by one. The cost of each must not grow with the number that have left
/// before.
#[test]
fn many_readers_leave_one_after_the_other() {
    let mut net = Local::new();
    let (outputs, inputs): (Vec<_>, Vec<_>) = (0..size(200_000, 20))
        .map(|_| net.channel::<u64>(1))
        .unzip();
    net.spawn(async move { rt::Switch::from(outputs).stopped().await });
    net.spawn(async move {
        for input in inputs {
            drop(input);
            rt::yield_now().await;
        }
    });
    net.run(&Options::new()).unwrap();
}

/// Drops a reader on another scheduler whose unread tokens take long to drop. The reader has left
/// at once. Otherwise, a faster writer would never be stopped.
#[test]
fn a_reader_that_drops_unread_tokens_has_left() {
    struct Slow;
    impl Drop for Slow {
        fn drop(&mut self) {
            std::thread::sleep(std::time::Duration::from_micros(100));
        }
    }
    let mut net = Network::new("slow", "slow.dot");
    let writer = |mut p: Both<Slow>| async move {
        while !matches!(
            p.outs[0].try_write(Slow),
            Err(rt::TryWriteError::Stopped(_))
        ) {
            rt::yield_now().await;
        }
    };
    let reader = |mut p: Both<Slow>| async move {
        p.ins[0].read().await;
    };
    let w = net.kind("w", Names::Listed(&["w"]), "0", BOTH, writer);
    let r = net.kind("r", Names::Listed(&["r"]), "1", BOTH, reader);
    net.channels::<Slow>(Channels {
        capacity: size(1000, 5) as u32,
        ..Channels::new((w, 1), (r, 0), "0", "0")
    });
    rt::run(net, &Options::new().os_processes(2).threads(2)).unwrap();
}

/// Returns a network with three readers. One reads everything and leaves long before its writer,
/// one leaves tokens unread, and one leaves while its writer continues and discards.
fn leavers() -> Network {
    let mut net = Network::new("leavers", "leavers.dot");
    let member = |mut p: Both<u64>| async move {
        let rank = rt::me().rank;
        if let Some(mut out) = p.outs.pop() {
            let tokens = [3, 5, 100][rank];
            for n in 0..tokens {
                out.write_or_discard(n).await;
            }
            for _ in 0..100 {
                rt::yield_now().await;
            }
        }
        if let Some(mut input) = p.ins.pop() {
            for n in 0..3 {
                assert_eq!(input.read().await, Some(n));
            }
        }
    };
    let kind = net.kind("p", Names::Numbered("p", "0+1*6"), "0+1*6", BOTH, member);
    let mut channels = Channels::new((kind, 1), (kind, 0), "0+1*3", "3+1*3");
    channels.capacity = 8;
    net.channels::<u64>(channels);
    net
}

#[test]
fn readers_that_leave_early_are_reported() {
    places::each(leavers, |outcome| {
        let report = outcome.unwrap();
        let left = report.left_early.as_ref().expect("two leave early");
        assert_eq!(left.channels, 2);
        assert_eq!(left.first, "p1.out -> p4.in");
        let line = "{\"what\":\"left_early\",\"channels\":2,\"first\":";
        assert_eq!(report.json_lines().matches(line).count(), 1);
        let told = "2 readers left before reading all tokens, such as that of ";
        assert_eq!(report.to_string().matches(told).count(), 1);
    });
}
