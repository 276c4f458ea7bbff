//! Each kind of bundle, with several numbers of schedulers.

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::common::{BOTH, Both, Log, Random, places, size};
use graphmap_runtime as rt;
use rt::{Channels, Names, Network, Options, Select, Stopped, select};

/// Returns a network of `writers` processes called w1.., joined to one process that `read` runs.
fn many_to_one<F, O>(writers: u32, capacity: u32, each: u64, read: F) -> Network
where
    F: Fn(Both<u64>) -> O + Send + Sync + 'static,
    O: Future<Output = Result<(), Stopped>> + 'static,
{
    let mut net = Network::new("many", "many.dot");
    let write = move |mut p: Both<u64>| async move {
        let me = rt::me().index as u64;
        for n in 0..each {
            p.outs[0].write(me * 1000 + n).await?;
        }
        Ok::<(), Stopped>(())
    };
    let w = net.kind(
        "w",
        Names::Numbered("w", &format!("1+1*{writers}")),
        &format!("1+1*{writers}"),
        BOTH,
        write,
    );
    let r = net.kind("r", Names::Listed(&["r"]), "0", BOTH, read);
    // The order is reversed, so that the slots matter.
    let back = format!("{}-1*{writers}", writers - 1);
    net.channels::<u64>(Channels {
        capacity,
        to_slot: &back,
        ..Channels::new((w, 1), (r, 0), &back, &format!("0+0*{writers}"))
    });
    net
}

fn one_to_many<F, O>(
    readers: u32,
    capacity: u32,
    log: &Log<(usize, u64)>,
    limit: usize,
    write: F,
) -> Network
where
    F: Fn(Both<u64>) -> O + Send + Sync + 'static,
    O: Future<Output = Result<(), Stopped>> + 'static,
{
    let mut net = Network::new("one", "one.dot");
    let w = net.kind("w", Names::Listed(&["w"]), "0", BOTH, write);
    let log = log.clone();
    let read = move |mut p: Both<u64>| {
        let log = log.clone();
        async move {
            for _ in 0..limit {
                let Some(token) = p.ins[0].read().await else {
                    return;
                };
                log.add((rt::me().index, token));
            }
        }
    };
    let all = format!("0+1*{readers}");
    let r = net.kind(
        "r",
        Names::Numbered("r", &all),
        &format!("1+1*{readers}"),
        BOTH,
        read,
    );
    net.channels::<u64>(Channels {
        capacity,
        ..Channels::new((w, 1), (r, 0), &format!("0+0*{readers}"), &all)
    });
    net
}

#[test]
fn select_reads_all_and_returns_the_member() {
    let each = size(50, 5);
    let log = Log::new();
    let network = || {
        let log = log.clone();
        many_to_one(7, 2, each, move |p| {
            let log = log.clone();
            async move {
                let mut select = rt::Select::from(p.ins);
                assert_eq!(select.members(), 7);
                while let Some((member, token)) = select.read().await {
                    assert_eq!(member as u64, token / 1000);
                    log.add(token);
                }
                assert!(select.read().await.is_none());
                Ok(())
            }
        })
    };
    let expected: Vec<u64> = (0..7)
        .flat_map(|w| (0..each).map(move |n| w * 1000 + n))
        .collect();
    places::each(network, |outcome| {
        outcome.unwrap();
        assert_eq!(log.sorted(), expected);
    });
}

#[test]
fn select_is_fair() {
    let mut net = rt::Local::new();
    let (outputs, inputs): (Vec<_>, Vec<_>) = (0..3).map(|_| net.channel::<u32>(100)).unzip();
    for mut output in outputs {
        net.spawn(async move {
            for n in 0..100 {
                output.write(n).await?;
            }
            Ok::<(), Stopped>(())
        });
    }
    net.spawn(async move {
        let mut select = rt::Select::from(inputs);
        let mut seen = [0; 3];
        while let Some((member, _)) = select.read().await {
            seen[member] += 1;
            assert!(
                seen.iter().max().unwrap() - seen.iter().min().unwrap() <= 1,
                "{seen:?}"
            );
        }
    });
    net.run(&rt::Options::new()).unwrap();
}

#[test]
fn select_can_wait_for_one_member() {
    // Even, because tokens are read in pairs.
    let each = size(20, 4);
    places::each(
        || {
            many_to_one(4, 1, each, move |p| async move {
                let mut select = rt::Select::from(p.ins);
                let mut seen = 0;
                while let Some((member, token)) = select.read().await {
                    seen += 1;
                    // After each token, reads one more from the same member, like a request and its
                    // data.
                    if token % 2 == 0 {
                        assert_eq!(select.read_from(member).await, Some(token + 1));
                        seen += 1;
                    }
                }
                assert_eq!(seen, 4 * each);
                Ok(())
            })
        },
        |outcome| {
            outcome.unwrap();
        },
    );
}

#[test]
fn gather_and_reduce_read_rows_in_member_order() {
    let each = size(30, 4);
    places::each(
        || {
            many_to_one(5, 1, each, move |p| async move {
                let mut gather = rt::Gather::from(p.ins);
                for n in 0..each {
                    let row: Vec<u64> = (0..5).map(|w| w * 1000 + n).collect();
                    assert_eq!(gather.read().await, Some(row));
                }
                assert_eq!(gather.read().await, None);
                Ok(())
            })
        },
        |outcome| {
            outcome.unwrap();
        },
    );
    places::each(
        || {
            many_to_one(5, 3, each, move |p| async move {
                let mut reduce = rt::Reduce::from(p.ins);
                for n in 0..each {
                    // The operation is neither commutative nor associative.
                    let folded = reduce.read(|a, b| a * 2 + b).await;
                    let expected = (1..5).map(|w| w * 1000 + n).fold(n, |a, b| a * 2 + b);
                    assert_eq!(folded, Some(expected));
                }
                assert_eq!(reduce.read(|a, _| a).await, None);
                Ok(())
            })
        },
        |outcome| {
            outcome.unwrap();
        },
    );
}

#[test]
fn share_gives_each_token_to_one() {
    let tokens = size(200, 20);
    let log = Log::new();
    let network = || {
        one_to_many(4, 1, &log, usize::MAX, move |p| async move {
            let mut share = rt::Share::from(p.outs);
            for n in 0..tokens {
                assert!(share.write(n).await? < 4);
            }
            Ok(())
        })
    };
    places::each(network, |outcome| {
        outcome.unwrap();
        let mut seen: Vec<u64> = log.take().into_iter().map(|(_, token)| token).collect();
        seen.sort_unstable();
        assert_eq!(seen, (0..tokens).collect::<Vec<_>>());
    });
}

#[test]
fn share_stops_when_all_have_left() {
    let log = Log::new();
    let network = || {
        one_to_many(3, 1, &log, 5, |p| async move {
            let mut share = rt::Share::from(p.outs);
            for n in 0.. {
                share.write(n).await?;
            }
            unreachable!()
        })
    };
    places::each(network, |outcome| {
        outcome.unwrap();
        assert_eq!(log.take().len(), 15);
    });
}

#[test]
fn broadcast_gives_all_to_all() {
    let tokens = size(40, 6);
    let log = Log::new();
    let network = || {
        one_to_many(3, 2, &log, usize::MAX, move |p| async move {
            let mut broadcast = rt::Broadcast::from(p.outs);
            for n in 0..tokens {
                broadcast.write(n).await?;
            }
            Ok(())
        })
    };
    let expected: Vec<_> = (0..3)
        .flat_map(|r| (0..tokens).map(move |n| (r, n)))
        .collect();
    places::each(network, |outcome| {
        outcome.unwrap();
        assert_eq!(log.sorted(), expected);
    });
}

#[test]
fn broadcast_goes_on_until_the_last_has_left() {
    let mut net = rt::Local::new();
    let (outputs, inputs): (Vec<_>, Vec<_>) = (0..3).map(|_| net.channel::<u32>(1)).unzip();
    for (n, mut input) in inputs.into_iter().enumerate() {
        net.spawn(async move {
            for expected in 0..10 * (n as u32 + 1) {
                assert_eq!(input.read().await, Some(expected));
            }
        });
    }
    net.spawn(async move {
        let mut broadcast = rt::Broadcast::from(outputs);
        let mut written = 0;
        while broadcast.write(written).await.is_ok() {
            written += 1;
        }
        assert!((30..=31).contains(&written), "{written}");
    });
    net.run(&rt::Options::new()).unwrap();
}

#[test]
fn scatter_deals_rows_out() {
    let tokens = size(40, 6);
    let log = Log::new();
    let network = || {
        one_to_many(3, 1, &log, usize::MAX, move |p| async move {
            let mut scatter = rt::Scatter::from(p.outs);
            for n in 0..tokens {
                scatter.write(vec![n, n + 100, n + 200]).await?;
            }
            Ok(())
        })
    };
    let expected: Vec<_> = (0..3)
        .flat_map(|r| (0..tokens).map(move |n| (r, n + 100 * r as u64)))
        .collect();
    places::each(network, |outcome| {
        outcome.unwrap();
        assert_eq!(log.sorted(), expected);
    });
}

#[test]
fn switch_writes_to_the_member_that_is_named() {
    let tokens = size(60, 6);
    let log = Log::new();
    let network = || {
        one_to_many(4, 1, &log, usize::MAX, move |p| async move {
            let mut switch = rt::Switch::from(p.outs);
            assert_eq!(switch.members(), 4);
            assert!(switch.is_connected());
            for n in 0..tokens {
                // Member 3 gets no token.
                switch.write_to(n as usize * n as usize % 3, n).await?;
            }
            Ok(())
        })
    };
    let expected: Vec<_> = {
        let mut all: Vec<_> = (0..tokens)
            .map(|n| (n as usize * n as usize % 3, n))
            .collect();
        all.sort_unstable();
        all
    };
    places::each(network, |outcome| {
        outcome.unwrap();
        assert_eq!(log.sorted(), expected);
    });
}

#[test]
fn a_switch_goes_on_without_the_member_that_left() {
    let mut net = rt::Local::new();
    let (outputs, inputs): (Vec<_>, Vec<_>) = (0..3).map(|_| net.channel::<u32>(1)).unzip();
    let mut inputs = inputs.into_iter();
    let (mut first, left, mut last) = (
        inputs.next().unwrap(),
        inputs.next().unwrap(),
        inputs.next().unwrap(),
    );
    drop(left);
    net.spawn(async move {
        let mut switch = rt::Switch::from(outputs);
        switch.member_stopped(1).await;
        for n in 0..10 {
            assert_eq!(switch.write_to(1, n).await, Err(Stopped));
            assert_eq!(
                switch.try_write_to(1, n),
                Err(rt::TryWriteError::Stopped(n))
            );
            assert_eq!(switch.write_to(0, n).await, Ok(()));
            assert_eq!(switch.write_to(2, n).await, Ok(()));
        }
        assert!(switch.is_connected(), "it is joined, whoever has left");
        assert_eq!(switch.members(), 3);
        switch.stopped().await;
        assert_eq!(switch.write_to(0, 10).await, Err(Stopped));
    });
    net.spawn(async move {
        for n in 0..10 {
            assert_eq!(first.read().await, Some(n));
        }
    });
    net.spawn(async move {
        for n in 0..10 {
            assert_eq!(last.read().await, Some(n));
        }
    });
    net.run(&rt::Options::new()).unwrap();
}

#[test]
fn a_switch_tries_one_member() {
    let mut net = rt::Local::new();
    let (output, mut input) = net.channel::<u32>(1);
    net.spawn(async move {
        let mut switch = rt::Switch::from(vec![output]);
        assert_eq!(switch.try_write_to(0, 1), Ok(()));
        assert_eq!(switch.try_write_to(0, 2), Err(rt::TryWriteError::Full(2)));
    });
    net.spawn(async move {
        assert_eq!(input.read().await, Some(1));
        assert_eq!(input.read().await, None);
    });
    net.run(&rt::Options::new()).unwrap();
}

#[test]
fn a_switch_reports_a_missing_member() {
    let failure = |write: fn(rt::Switch<u32>)| {
        let mut net = rt::Local::new();
        net.spawn(async move { write(rt::Switch::from(vec![rt::Output::unconnected()])) });
        net.run(&rt::Options::new()).unwrap_err().to_string()
    };
    for write in [
        (|mut switch| drop(switch.write_to(1, 5))) as fn(rt::Switch<u32>),
        |mut switch| drop(switch.try_write_to(1, 5)),
        |mut switch| drop(switch.member_stopped(1)),
    ] {
        let error = failure(write);
        let said = "switch: member 1 does not exist: there are 1, numbered from 0";
        assert!(error.contains(said), "{error}");
    }
}

#[test]
fn a_reader_learns_once_of_each_end_after_the_tokens() {
    let each = size(20, 4);
    places::each(
        || {
            many_to_one(5, 2, each, move |p| async move {
                let mut select = rt::Select::from(p.ins);
                let mut seen = [0; 5];
                let mut ends = 0;
                while let Some((member, token)) = select.read_or_end().await {
                    assert!(seen[member] <= each, "told twice: {member}");
                    match token {
                        Some(_) => {
                            assert!(!select.ended(member));
                            seen[member] += 1;
                        }
                        None => {
                            assert!(select.ended(member));
                            assert_eq!(seen[member], each, "the end came before the tokens");
                            seen[member] = each + 1;
                            ends += 1;
                        }
                    }
                }
                assert_eq!(ends, 5);
                assert_eq!(select.read_or_end().await, None);
                Ok(())
            })
        },
        |outcome| {
            outcome.unwrap();
        },
    );
}

#[test]
fn each_end_is_reported_once_with_mixed_reads() {
    for seed in 0..size(60, 5) {
        let mut random = Random(seed);
        let members = 1 + random.below(5) as usize;
        let mut net = rt::Local::new();
        let (outputs, inputs): (Vec<_>, Vec<_>) =
            (0..members).map(|_| net.channel::<u64>(2)).unzip();
        for mut output in outputs {
            let tokens = random.below(6);
            net.spawn(async move {
                for n in 0..tokens {
                    output.write(n).await?;
                    rt::yield_now().await;
                }
                Ok::<(), Stopped>(())
            });
        }
        net.spawn(async move {
            let mut select = rt::Select::from(inputs);
            let mut told = vec![0; members];
            loop {
                match random.below(3) {
                    0 => {
                        let next = select.read().await;
                        assert!(next.is_none_or(|(member, _)| !select.ended(member)));
                    }
                    1 => {
                        let member = random.below(members as u64) as usize;
                        if select.read_from(member).await.is_none() {
                            told[member] = 1;
                        }
                    }
                    _ => {
                        let change = rt::select! {
                            change = select.read_or_end() => change,
                            else => break,
                        };
                        if let (member, None) = change {
                            told[member] += 1;
                            assert_eq!(told[member], 1, "told twice");
                        }
                    }
                }
            }
            assert!(told.iter().all(|&told| told == 1), "{told:?}");
        });
        net.run(&rt::Options::new().shuffle(seed)).unwrap();
    }
}

/// An end that a read has passed over is found at once, even if there are many.
#[test]
fn many_ends_that_were_passed_by() {
    let mut net = rt::Local::new();
    let inputs = (0..size(200_000, 20)).map(|_| net.channel::<u64>(1).1);
    let mut select = rt::Select::from(inputs.collect::<Vec<_>>());
    net.spawn(async move {
        assert_eq!(select.read().await, None);
        for member in 1..select.members() {
            assert_eq!(select.read_from(member).await, None);
        }
        assert_eq!(select.read_or_end().await, Some((0, None)));
        assert_eq!(select.read_or_end().await, None);
    });
    net.run(&rt::Options::new()).unwrap();
}

#[test]
fn one_of_several_ports() {
    let each = size(25, 4);
    places::each(
        || {
            many_to_one(4, 1, each, move |mut p| async move {
                let mut d = p.ins.pop().unwrap();
                let mut c = p.ins.pop().unwrap();
                let mut rest = rt::Select::from(p.ins);
                let mut seen = [0; 4];
                loop {
                    select! {
                        (member, _) = rest => seen[member] += 1,
                        token = c => seen[token as usize / 1000] += 1,
                        _ = d, if seen[2] == each => seen[3] += 1,
                        else => {
                            if seen[2] == each && seen[3] == each { break; }
                        },
                    }
                }
                assert_eq!(seen, [each; 4]);
                Ok(())
            })
        },
        |outcome| {
            outcome.unwrap();
        },
    );
}

/// A port may be read alone, and its token found before its scheduler checks for it. This must
/// leave no entry that replaces the wait in a bundle when the scheduler goes to sleep.
#[test]
fn a_port_that_was_read_by_itself_waits_in_a_bundle() {
    let begun = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&begun);
    let write = move |mut p: Both<u64>| {
        let begun = Arc::clone(&seen);
        async move {
            while !begun.load(Ordering::SeqCst) {
                std::thread::yield_now();
            }
            p.outs[0].write(1).await?;
            rt::yield_now().await;
            // The reader sleeps by then.
            std::thread::sleep(Duration::from_millis(200));
            p.outs[0].write(2).await
        }
    };
    let read = move |mut p: Both<u64>| {
        let begun = Arc::clone(&begun);
        async move {
            let mut input = p.ins.remove(0);
            let first = poll_fn(|context| {
                loop {
                    let polled = input.poll_read(context);
                    if polled.is_ready() {
                        return polled;
                    }
                    begun.store(true, Ordering::SeqCst);
                    std::thread::yield_now();
                }
            });
            assert_eq!(first.await, Some(1));
            let mut select = Select::from(vec![input]);
            assert_eq!(select.read().await, Some((0, 2)));
            assert_eq!(select.read().await, None);
        }
    };
    let mut net = Network::new("one", "one.dot");
    let w = net.kind("w", Names::Listed(&["w"]), "0", BOTH, write);
    let r = net.kind("r", Names::Listed(&["r"]), "1", BOTH, read);
    net.channels::<u64>(Channels::new((w, 1), (r, 0), "0", "0"));
    rt::run(net, &Options::new().os_processes(2).threads(2)).unwrap();
}
