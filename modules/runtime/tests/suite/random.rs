//! Random networks run to the end, with all tokens accounted for; and what a deterministic one
//! computes does not depend on the order in which processes run.

use std::sync::Arc;

use crate::common::shapes::{mix, network, shape};
use crate::common::{BOTH, Both, Log, Random, everywhere, size};
use graphmap_runtime as rt;
use rt::{Channels, Names, Network, Options, Stopped, run};

/// How many cases: what `PROPTEST_CASES` says, where it does (the variable of the property tests
/// elsewhere in the project; these need no crate for theirs).
fn cases(full: u64, miri: u64) -> u64 {
    let asked = std::env::var("PROPTEST_CASES").ok();
    asked
        .and_then(|cases| cases.parse().ok())
        .unwrap_or(size(full, miri))
}

#[test]
fn random_networks_end_alike_everywhere() {
    for seed in 0..cases(150, 2) {
        let shape = shape(seed);
        let log = Log::new();
        let mut first = None;
        everywhere(
            || network(&shape, log.adder()),
            |outcome| {
                if let Err(error) = outcome {
                    panic!("{shape:?}: {error}");
                }
                let end = log.sorted();
                assert_eq!(end.len() as u64, shape.processes);
                assert_eq!(*first.get_or_insert(end.clone()), end, "{shape:?}");
            },
        );
    }
}

#[test]
fn a_hundred_schedules_give_the_same() {
    for seed in 1000..1000 + cases(10, 1) {
        let shape = shape(seed);
        let log = Log::new();
        let mut first = None;
        for schedule in 0..size(100, 3) {
            for schedulers in [1, 3] {
                let options = Options::new().shuffle(schedule).os_processes(schedulers);
                run(network(&shape, log.adder()), &options).unwrap();
                let end = log.sorted();
                assert_eq!(
                    *first.get_or_insert(end.clone()),
                    end,
                    "{shape:?} {schedule}"
                );
            }
        }
    }
}

#[test]
fn a_shuffled_run_can_be_repeated() {
    // Select sees the order in which tokens come: the same seed, the same order.
    let order = |seed| {
        let log = Log::new();
        let ours = log.clone();
        let mut net = rt::Local::new();
        let (outputs, inputs): (Vec<_>, Vec<_>) = (0..20).map(|_| net.channel::<u32>(1)).unzip();
        for (n, mut output) in outputs.into_iter().enumerate() {
            net.spawn(async move { output.write(n as u32).await });
        }
        net.spawn(async move {
            let mut select = rt::Select::from(inputs);
            while let Some((_, token)) = select.read().await {
                ours.add(token);
            }
        });
        net.run(&Options::new().shuffle(seed)).unwrap();
        log.take()
    };
    assert_eq!(order(5), order(5));
    assert!((6..20).any(|seed| order(seed) != order(5)));
}

/// A farm: a source shares tasks among workers, a sink selects their results, and tasks breed.
#[test]
fn farms_lose_no_task() {
    for seed in 0..cases(20, 1) {
        let mut random = Random(seed);
        let (workers, tasks) = (1 + random.below(12) as u32, random.below(size(400, 20)));
        let capacity = 1 + random.below(5) as u32;
        let log = Log::new();
        everywhere(
            || {
                let mut net = Network::new("farm", "farm.dot");
                let source = net.kind(
                    "source",
                    Names::Listed(&["source"]),
                    "0",
                    BOTH,
                    move |p: Both<u64>| async move {
                        let mut share = rt::Share::from(p.outs);
                        for n in 0..tasks {
                            share.write(n).await?;
                        }
                        Ok::<(), Stopped>(())
                    },
                );
                let all = format!("0+1*{workers}");
                let none = format!("0+0*{workers}");
                let worker = net.kind(
                    "w",
                    Names::Numbered("w", &all),
                    &format!("2+1*{workers}"),
                    BOTH,
                    |mut p: Both<u64>| async move {
                        while let Some(task) = p.ins[0].read().await {
                            if task % 5 == 0 {
                                rt::yield_now().await;
                            }
                            p.outs[0].write(task * task).await?;
                        }
                        Ok::<(), Stopped>(())
                    },
                );
                let log = log.clone();
                let sink = net.kind(
                    "sink",
                    Names::Listed(&["sink"]),
                    "1",
                    BOTH,
                    move |p: Both<u64>| {
                        let log = log.clone();
                        async move {
                            let mut select = rt::Select::from(p.ins);
                            while let Some((_, result)) = select.read().await {
                                log.add(result);
                            }
                        }
                    },
                );
                net.channels::<u64>(Channels {
                    capacity,
                    ..Channels::new((source, 1), (worker, 0), &none, &all)
                });
                net.channels::<u64>(Channels {
                    capacity,
                    ..Channels::new((worker, 1), (sink, 0), &all, &none)
                });
                net
            },
            |outcome| {
                outcome.unwrap();
                assert_eq!(log.sorted(), (0..tasks).map(|n| n * n).collect::<Vec<_>>());
            },
        );
    }
}

/// Clients ask a server, which answers the one that asked until all are gone. What each client
/// asks and hears is known beforehand, whatever the order in which the requests arrive.
#[test]
fn servers_answer_who_asked() {
    for seed in 0..cases(30, 1) {
        let mut random = Random(seed);
        let clients = 1 + random.below(size(8, 3));
        let capacity = 1 + random.below(3) as u32;
        let requests: Vec<u64> = (0..clients).map(|_| random.below(size(40, 5))).collect();
        // Some leave without waiting for the last answer.
        let patient: Vec<bool> = (0..clients).map(|_| random.below(3) > 0).collect();
        let log = Log::new();
        let network = || {
            let mut net = Network::new("served", "served.dot");
            let all = format!("0+1*{clients}");
            let none = format!("0+0*{clients}");
            let (asks, waits) = (requests.clone(), patient.clone());
            let client = net.kind(
                "client",
                Names::Numbered("client", &all),
                &format!("1+1*{clients}"),
                BOTH,
                move |mut p: Both<u64>| {
                    let (asks, waits) = (asks.clone(), waits.clone());
                    async move {
                        let me = rt::me().index;
                        let (asks, waits) = (asks[me], waits[me]);
                        for n in 0..asks {
                            p.outs[0].write(n).await?;
                            if waits || n + 1 < asks {
                                let answer = p.ins[0].read().await;
                                assert_eq!(answer, Some(mix(me as u64, n)));
                            }
                        }
                        Ok::<(), Stopped>(())
                    }
                },
            );
            let log = log.clone();
            let server = net.kind(
                "server",
                Names::Listed(&["server"]),
                "0",
                BOTH,
                move |p: Both<u64>| {
                    let log = log.clone();
                    async move {
                        let mut requests = rt::Select::from(p.ins);
                        let mut replies = rt::Switch::from(p.outs);
                        let mut asked = vec![0; requests.members()];
                        while let Some((client, request)) = requests.read_or_end().await {
                            let Some(request) = request else {
                                assert!(requests.ended(client));
                                log.add((client, asked[client]));
                                continue;
                            };
                            assert_eq!(request, asked[client]);
                            asked[client] += 1;
                            let answer = mix(client as u64, request);
                            let _: Result<(), Stopped> = replies.write_to(client, answer).await;
                        }
                    }
                },
            );
            net.channels::<u64>(Channels {
                capacity,
                ..Channels::new((client, 1), (server, 0), &all, &none)
            });
            net.channels::<u64>(Channels {
                capacity,
                ..Channels::new((server, 1), (client, 0), &none, &all)
            });
            net
        };
        everywhere(network, |outcome| {
            outcome.unwrap();
            let expected: Vec<(usize, u64)> = requests.iter().copied().enumerate().collect();
            assert_eq!(log.sorted(), expected, "seed {seed}");
        });
    }
}

#[test]
fn a_network_can_be_run_again() {
    let log = Log::new();
    let net = Arc::new(network(&shape(3), log.adder()));
    run(Arc::clone(&net), &Options::new()).unwrap();
    let first = log.sorted();
    run(net, &Options::new().os_processes(2)).unwrap();
    assert_eq!(log.sorted(), first);
}
