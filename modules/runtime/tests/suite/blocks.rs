//! Deadlocks: artificial ones are resolved, true ones are reported.

use crate::common::{BOTH, Both, places, size};
use graphmap_runtime as rt;
use rt::{Channels, Exit, Local, Names, Network, Options, RunError, SchedulerStats, Stopped, run};

/// Returns a network in which `a` writes `ahead` tokens to one channel before it writes the token
/// that `b` waits for to another one.
fn reconvergent(ahead: u64, capacity: u32) -> Network {
    let mut net = Network::new("re", "re.dot");
    let a = net.kind(
        "a",
        Names::Listed(&["a"]),
        "0",
        BOTH,
        move |mut p: Both<u64>| async move {
            for n in 0..ahead {
                p.outs[0].write(n).await?;
            }
            p.outs[1].write(7).await
        },
    );
    let b = net.kind(
        "b",
        Names::Listed(&["b"]),
        "1",
        BOTH,
        move |mut p: Both<u64>| async move {
            assert_eq!(p.ins[1].read().await, Some(7));
            for n in 0..ahead {
                assert_eq!(p.ins[0].read().await, Some(n));
            }
        },
    );
    net.channels::<u64>(Channels {
        capacity,
        line: "14 15",
        column: "3 4",
        ..Channels::new((a, 1), (b, 0), "0 0", "0 0")
    });
    net
}

/// Growth from 1 to 64 tokens of eight bytes takes 504 bytes.
#[test]
fn channels_grow_up_to_the_ceiling() {
    for schedulers in [1, 2] {
        let options = Options::new().os_processes(schedulers).threads(schedulers);
        let outcome = run(reconvergent(37, 1), &options.clone().memory(504));
        assert_eq!(outcome.unwrap().growths.len(), 6);
        let outcome = run(reconvergent(37, 1), &options.memory(503));
        let error = outcome.unwrap_err();
        assert_eq!(error.exit(), Exit::Memory);
        let RunError::Memory(overgrown) = &error else {
            panic!("{error}")
        };
        assert_eq!(
            (overgrown.capacity, overgrown.wanted, overgrown.token),
            (32, 64, 8)
        );
        assert_eq!((overgrown.grown, overgrown.ceiling), (248, 503));
        assert_eq!(
            error.to_string(),
            "channels would grow by more than the limit of 503 bytes: a.out -> b.in (re.dot:14:3) \
             would have to hold 64 tokens of 8 bytes instead of 32; channels have already grown by \
             248 bytes\n\
             each process in this cycle waits for the next:\n  \
             a (rank 0) waits to write `out` to b `in`, which is full with 32: re.dot:14:3\n  \
             b (rank 1) waits to read `in` from a `out`: re.dot:15:4\n\
             to raise the limit, use `graphmap run --memory SIZE` or GRAPHMAP_MEMORY=SIZE; the \
             capacity in the graph (`capacity=`) does not count"
        );
    }
}

/// Growth in a local network counts the size of the tokens. Tokens of size zero count, too.
#[test]
fn local_channels_grow_up_to_the_ceiling() {
    fn grow<T: Default + 'static>(memory: u64) -> Result<rt::Report, RunError> {
        let mut net = Local::new();
        let (mut first, mut second) = net.channel::<u8>(1);
        let (mut out, mut input) = net.channel::<T>(1);
        net.spawn(async move {
            for _ in 0..4 {
                out.write(T::default()).await?;
            }
            first.write(0).await
        });
        net.spawn(async move {
            second.read().await;
            while input.read().await.is_some() {}
        });
        net.run(&Options::new().memory(memory))
    }
    for (error, token) in [
        (grow::<[u64; 4]>(95).unwrap_err(), 32),
        (grow::<()>(2).unwrap_err(), 1),
    ] {
        let RunError::Memory(overgrown) = error else {
            panic!("{error}")
        };
        assert_eq!((overgrown.token, overgrown.wanted), (token, 4));
    }
    assert_eq!(grow::<[u64; 4]>(96).unwrap().growths.len(), 2);
    assert_eq!(grow::<()>(3).unwrap().growths.len(), 2);
}

#[test]
fn a_channel_that_is_too_small_grows() {
    let grown: &[usize] = if cfg!(miri) {
        &[2, 4]
    } else {
        &[2, 4, 8, 16, 32, 64]
    };
    let ahead = size(37, 4);
    places::each(
        || reconvergent(ahead, 1),
        |outcome| {
            let growths = outcome.unwrap().growths;
            let capacities: Vec<_> = growths.iter().map(|growth| growth.capacity).collect();
            assert_eq!(capacities, grown);
            assert!(
                growths
                    .iter()
                    .all(|g| g.channel == "a.out -> b.in (re.dot:14:3)"),
                "{growths:?}"
            );
        },
    );
    places::each(
        || reconvergent(ahead, ahead as u32),
        |outcome| {
            assert_eq!(outcome.unwrap().growths, []);
        },
    );
}

/// Returns a ring in which each member reads first, with a source that feeds it and a sink behind
/// it.
fn ring(n: u32) -> Network {
    let mut net = Network::new("ring", "ring.dot");
    let members = net.kind(
        "p",
        Names::Numbered("p", &format!("1+1*{n}")),
        &format!("0+1*{n}"),
        BOTH,
        |mut p: Both<u8>| async move {
            // The channel at slot 0 is part of the ring.
            let token = p.ins[0].read().await;
            for out in &mut p.outs {
                out.write(token.unwrap_or(0)).await?;
            }
            Ok::<(), Stopped>(())
        },
    );
    let source = net.kind(
        "source",
        Names::Listed(&["source"]),
        &n.to_string(),
        BOTH,
        |mut p: Both<u8>| async move {
            loop {
                p.outs[0].write(1).await?;
            }
            #[allow(unreachable_code)]
            Ok::<(), Stopped>(())
        },
    );
    let sink = net.kind(
        "sink",
        Names::Listed(&["sink"]),
        &(n + 1).to_string(),
        BOTH,
        |mut p: Both<u8>| async move {
            p.ins[0].read().await;
        },
    );
    net.channels::<u8>(Channels {
        line: &format!("14+1*{n}"),
        column: &format!("3+0*{n}"),
        to_slot: &format!("0+0*{n}"),
        ..Channels::new(
            (members, 1),
            (members, 0),
            &format!("0+1*{n}"),
            &format!("1+1*{} 0", n - 1),
        )
    });
    net.channels::<u8>(Channels {
        to_slot: "1",
        capacity: 3,
        ..Channels::new((source, 1), (members, 0), "0", "0")
    });
    net.channels::<u8>(Channels::new(
        (members, 1),
        (sink, 0),
        &(n - 1).to_string(),
        "0",
    ));
    net
}

#[test]
fn a_true_block_is_reported() {
    places::each(
        || ring(4),
        |outcome| {
            let error = outcome.unwrap_err();
            assert_eq!(error.exit(), Exit::Blocked);
            let RunError::Blocked(block) = &error else {
                panic!("{error}")
            };
            assert_eq!(block.processes, 6);
            let names = |list: &[rt::BlockedProcess]| {
                list.iter().map(|p| p.name.clone()).collect::<Vec<_>>()
            };
            let mut cycle = names(&block.cycle);
            cycle.sort();
            assert_eq!(cycle, ["p1", "p2", "p3", "p4"]);
            assert_eq!(names(&block.others), ["source", "sink"]);
            let first = &block.cycle[0];
            assert_eq!((first.name.as_str(), first.rank), ("p1", 0));
            let text = error.to_string();
            assert!(
                text.contains("p1 (rank 0) waits to read `in` from p4 `out`: ring.dot:17:3\n"),
                "{text}"
            );
            assert!(
                text.contains(
                    "source (rank 4) waits to write `out` to p1 `in`, which is full with 3"
                ),
                "{text}"
            );
            assert!(text.contains("in this cycle"), "{text}");
        },
    );
}

#[test]
fn long_reports_are_cut() {
    let members = size(1000, 30) as usize;
    let error = run(ring(members as u32), &Options::new()).unwrap_err();
    let RunError::Blocked(block) = &error else {
        panic!("{error}")
    };
    assert_eq!(
        (block.processes, block.cycle.len(), block.others.len()),
        (members + 2, 20, 0)
    );
    let more = format!(
        "\n  \
         and {} more\n\
         other processes that wait:\n  \
         and 2 more\n\
         if no token has been sent in this cycle yet, put one in at the start: `initial=1` on one \
         of its channels",
        members - 20
    );
    assert!(error.to_string().ends_with(&more), "{error}");
}

/// Returns `rings` rings of `n` members. Each member has one input and one output, and runs `act`.
fn rings<O>(
    rings: u32,
    n: u32,
    act: impl Fn(Both<u8>) -> O + Copy + Send + Sync + 'static,
) -> Network
where
    O: Future + 'static,
    O::Output: rt::Outcome,
{
    let all = rings * n;
    let mut net = Network::new("rings", "rings.dot");
    let members = net.kind(
        "p",
        Names::Numbered("p", &format!("0+1*{all}")),
        &format!("0+1*{all}"),
        BOTH,
        act,
    );
    let to: Vec<String> = (0..all)
        .map(|member| (member / n * n + (member + 1) % n).to_string())
        .collect();
    net.channels::<u8>(Channels::new(
        (members, 1),
        (members, 0),
        &format!("0+1*{all}"),
        &to.join(" "),
    ));
    net
}

#[test]
fn a_cycle_of_full_channels_grows_at_once() {
    // If one channel grew at a time, each growth would need quiescence, and the time would be
    // quadratic.
    let n = size(3000, 10) as u32;
    places::each(
        || {
            rings(1, n, |mut p: Both<u8>| async move {
                for token in 0..8 {
                    p.outs[0].write(token).await?;
                }
                for token in 0..8 {
                    assert_eq!(p.ins[0].read().await, Some(token));
                }
                Ok::<(), Stopped>(())
            })
        },
        |outcome| {
            let report = outcome.unwrap();
            let growths = report.growths;
            assert_eq!(growths.len(), 3 * n as usize);
            assert!(growths.iter().all(|growth| growth.capacity <= 8));
            let standstills = |one: &SchedulerStats| one.standstills;
            let standstills = report.schedulers.iter().map(standstills).max();
            assert!(standstills <= Some(20), "{standstills:?}");
        },
    );
}

#[test]
fn equal_cycles_are_counted_and_not_listed() {
    places::each(
        || {
            rings(10, 3, |mut p: Both<u8>| async move {
                p.ins[0].read().await;
                // Keeps all ports until here, including the output that is never written to.
                drop(p);
            })
        },
        |outcome| {
            let RunError::Blocked(block) = outcome.unwrap_err() else {
                panic!("it is blocked");
            };
            let found = (
                block.processes,
                block.cycle_len,
                block.cycles,
                block.cycles_alike,
            );
            assert_eq!(found, (30, 3, 10, 10));
            assert_eq!((block.others_len, block.others.len()), (0, 0));
            let text = block.to_string();
            assert!(text.contains("(one of 10 similar cycles)"), "{text}");
            assert!(!text.contains("more"), "{text}");
        },
    );
}

#[test]
fn a_ring_with_an_initial_token_goes_round() {
    let rounds = size(100, 5);
    places::each(
        || {
            let mut net = Network::new("ring", "ring.dot");
            let kind = net.kind(
                "p",
                Names::Numbered("p", "0+1*9"),
                "0+1*9",
                BOTH,
                move |mut p: Both<u64>| async move {
                    for round in 0..rounds {
                        let token = p.ins[0].read().await.unwrap();
                        assert_eq!(token, round * 9 + rt::me().rank as u64);
                        if p.outs[0].write(token + 1).await.is_err() {
                            assert_eq!(round, rounds - 1);
                        }
                    }
                },
            );
            net.channels::<u64>(Channels::new((kind, 1), (kind, 0), "0+1*8", "1+1*8"));
            net.channels_filled::<u64>(Channels::new((kind, 1), (kind, 0), "8", "0"), 1, |_, _| 0);
            net
        },
        |outcome| {
            outcome.unwrap();
        },
    );
}

#[test]
fn blocks_of_select_and_share() {
    places::each(
        || {
            let mut net = Network::new("s", "s.dot");
            let select = net.kind(
                "select",
                Names::Listed(&["select"]),
                "0",
                BOTH,
                |p: Both<u8>| async move {
                    let mut outs = p.outs;
                    let mut select = rt::Select::from(p.ins);
                    while let Some((member, token)) = select.read().await {
                        outs[member].write(token).await?;
                    }
                    Ok::<(), Stopped>(())
                },
            );
            let echo = net.kind(
                "echo",
                Names::Numbered("echo", "0+1*6"),
                "1+1*6",
                BOTH,
                |mut p: Both<u8>| async move {
                    while let Some(token) = p.ins[0].read().await {
                        p.outs[0].write(token).await?;
                    }
                    Ok::<(), Stopped>(())
                },
            );
            net.channels::<u8>(Channels {
                line: "1+1*6",
                ..Channels::new((echo, 1), (select, 0), "0+1*6", "0+0*6")
            });
            net.channels::<u8>(Channels {
                line: "7+1*6",
                ..Channels::new((select, 1), (echo, 0), "0+0*6", "0+1*6")
            });
            net
        },
        |outcome| {
            let text = outcome.unwrap_err().to_string();
            assert!(
                text.contains("select (rank 0) waits to read `in` from echo0 `out`: s.dot:1, or"),
                "{text}"
            );
            assert!(text.contains(", or one of 2 more"), "{text}");
        },
    );
}

#[test]
fn local_networks_have_blocks_too() {
    let mut net = Local::new();
    let (mut a_tx, mut a_rx) = net.channel::<u8>(1);
    let (mut b_tx, mut b_rx) = net.channel::<u8>(1);
    net.spawn_named("left", async move {
        b_rx.read().await;
        a_tx.write(1).await
    });
    net.spawn_named("right", async move {
        a_rx.read().await;
        b_tx.write(1).await
    });
    let error = net.run(&Options::new()).unwrap_err();
    let RunError::Blocked(block) = &error else {
        panic!("{error}")
    };
    assert_eq!(block.processes, 2);
    assert!(
        error.to_string().contains("left (rank 0) waits to read"),
        "{error}"
    );

    let mut net = Local::new();
    let (mut a_tx, mut a_rx) = net.channel::<u8>(1);
    let (mut b_tx, mut b_rx) = net.channel::<u8>(1);
    net.spawn(async move {
        for n in 0..10 {
            a_tx.write(n).await?;
        }
        b_tx.write(1).await
    });
    net.spawn(async move {
        assert_eq!(b_rx.read().await, Some(1));
        for n in 0..10 {
            assert_eq!(a_rx.read().await, Some(n));
        }
    });
    assert_eq!(net.run(&Options::new()).unwrap().growths.len(), 4);
}

#[test]
fn a_future_that_is_never_woken_is_a_block() {
    let mut net = Local::new();
    net.spawn(std::future::pending::<()>());
    let error = net.run(&Options::new()).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("process 0 (rank 0) waits for no channel or call"),
        "{error}"
    );
}

#[test]
fn dropping_the_last_foreign_waker_lets_a_block_be_seen() {
    use std::time::Duration;
    for schedulers in [1, 2] {
        let mut net = Network::new("foreign", "foreign.dot");
        net.kind(
            "p",
            Names::Numbered("p", "0+1*2"),
            "0+1*2",
            &[],
            |_: ()| async {
                let mut first = true;
                std::future::poll_fn(|context| {
                    if std::mem::replace(&mut first, false) {
                        let waker = context.waker().clone();
                        std::thread::spawn(move || {
                            std::thread::sleep(Duration::from_millis(20));
                            drop(waker);
                        });
                    }
                    std::task::Poll::<()>::Pending
                })
                .await;
            },
        );
        let error = run(net, &Options::new().os_processes(schedulers)).unwrap_err();
        assert!(matches!(error, RunError::Blocked(block) if block.processes == 2));
    }
}

/// Channels of a local network are in no table. The reader of the full channel is known from an
/// earlier wait, but the writer of the other one has never waited for it.
#[test]
fn a_cycle_through_a_writer_that_is_not_known() {
    let mut net = Local::new();
    let (mut full, mut first) = net.channel::<u64>(1);
    let (mut last, mut second) = net.channel::<u64>(1);
    net.spawn(async move {
        assert_eq!(first.read().await, Some(0));
        assert_eq!(second.read().await, Some(9));
        for n in 1..4 {
            assert_eq!(first.read().await, Some(n));
        }
    });
    net.spawn(async move {
        for n in 0..4 {
            full.write(n).await?;
        }
        last.write(9).await
    });
    let report = net.run(&Options::new()).unwrap();
    let grown: Vec<_> = report.growths.iter().map(|one| one.capacity).collect();
    assert_eq!(grown, [2, 4]);
}
