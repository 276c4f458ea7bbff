//! Random programs, which must have the same result at each place: on one scheduler, on several, in
//! OS processes whose frames arrive late, and in OS processes that share memory.
//!
//! `GRAPHMAP_FUZZ_RUNS=100000 cargo test --release -p graphmap-runtime --test suite random::`
//! searches for longer. A failure prints its seed, and `GRAPHMAP_FUZZ_SEED` starts there.
#![forbid(unsafe_code)]
#![allow(clippy::print_stderr)] // the seed of a failure

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Mutex};

use crate::common::places::{self, ALL, Outcome, Place, Record};
use crate::common::program::program;
use crate::common::script::Script;
use crate::common::ways::wake_ups;
use crate::common::{BOTH, Both, Log, Random, accounted, flows, mix, seeds, size};
use graphmap_runtime as rt;
use rt::{Channels, Exit, Names, Network, Options, RunError, Stopped, run};

/// Runs `one` with each seed. Prints the seed if it panics.
fn search(full: u64, miri: u64, one: impl Fn(u64)) {
    for seed in seeds(full, miri) {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| one(seed))) {
            eprintln!("GRAPHMAP_FUZZ_SEED={seed}");
            resume_unwind(panic);
        }
    }
}

/// Returns the places for a seed. Only every eighth seed includes OS processes that share memory,
/// because starting them takes longest.
fn places_of(seed: u64) -> Vec<Place> {
    let places = ALL.iter().copied();
    places
        .filter(|place| seed.is_multiple_of(8) || !place.is_shared())
        .collect()
}

/// First outcome, on one scheduler, which all others must equal.
#[derive(Default)]
struct Alike(Option<Outcome>);

impl Alike {
    /// Compares an outcome with the first one, and returns the first.
    fn check(&mut self, place: Place, outcome: Outcome) -> &Outcome {
        if self.0.is_none() {
            return self.0.insert(outcome);
        }
        let first = self.0.as_ref().expect("it is there");
        assert_eq!(outcome.exit, first.exit, "{place:?}: {}", outcome.error);
        assert_eq!(outcome.lines, first.lines, "{place:?}: {}", outcome.error);
        first
    }
}

/// Returns options under which a lost wake-up aborts the test.
///
/// No program needs the wakers that the tests keep. Therefore, a lack of progress is a failure,
/// even if a waker outside of the network could end it. The first report is not enough, because a
/// thread that wakes a process may be delayed for any time. The run reports again after a longer
/// time. If no process was woken between the two reports, a wake-up was lost.
fn never_quiet(seed: u64) -> Options {
    let last = Mutex::new(None);
    Options::new().on_quiet(move |block| {
        let now = wake_ups();
        if std::mem::replace(&mut *last.lock().unwrap(), now) == now && now.is_some() {
            eprintln!("seed {seed}: a wake-up was lost: {block}");
            std::process::abort();
        }
    })
}

/// Runs programs in which nothing may block. Reads and writes are cancelled, repeated and woken
/// from outside. Each token must arrive once, and each process must end in the same state as on one
/// scheduler.
#[test]
fn programs_lose_nothing() {
    search(40, 1, |seed| {
        let record_ends =
            |record: Record| move |(rank, state)| record(format!("{rank} {state:016x}"));
        let books = Mutex::new(None);
        let mut alike = Alike::default();
        let options = never_quiet(seed).shuffle(seed);
        places::run_all(
            &places_of(seed),
            seed,
            &options,
            |place, record| {
                let mut program = program(seed);
                if place.is_together() {
                    program = program.accounted();
                }
                let program = Arc::new(program);
                *books.lock().unwrap() = place.is_together().then(|| Arc::clone(&program));
                accounted::network(&program, record_ends(record))
            },
            |place, outcome| {
                assert_eq!(outcome.exit, Exit::Ok, "{place:?}: {}", outcome.error);
                alike.check(place, outcome);
                if let Some(program) = books.lock().unwrap().take() {
                    program.close();
                }
            },
        );
        if places::is_within() {
            return;
        }
        let mut random = Random(!seed);
        let first = alike.0.expect("there is one scheduler");
        for hand_over in [true, false] {
            for options in [never_quiet(seed), never_quiet(seed).shuffle(random.next())] {
                let log = Log::new();
                let record: Record = Arc::new(log.adder());
                accounted::run_local(program(seed), &options, hand_over, record_ends(record))
                    .unwrap();
                assert_eq!(log.sorted(), first.lines);
            }
        }
    });
}

/// Runs programs that may block. A model without processes says which processes end, and in which
/// state. Each place must report the same blocked processes, or the same number of grown channels,
/// as one scheduler.
#[test]
fn deadlocks_are_found_and_none_is_false() {
    let (mut blocked, mut grown) = (0, 0);
    let counts = Mutex::new((&mut blocked, &mut grown));
    search(200, 2, |seed| {
        let script = Arc::new(Script::new(seed));
        let mut alike = Alike::default();
        places::run_all(
            &places_of(seed),
            seed,
            &Options::new(),
            |_, record| script.network(move |(rank, state)| record(format!("{rank} {state:016x}"))),
            |place, outcome| {
                let (exit, error) = (outcome.exit, outcome.error.clone());
                let ended = outcome.ended.as_ref();
                let growths = ended.and_then(|ended| Some(ended.as_ref().ok()?.growths.len()));
                let waiting = ended.and_then(|ended| match ended {
                    Err(RunError::Blocked(block)) => Some(block.processes),
                    _ => None,
                });
                let is_first = alike.0.is_none();
                let first = alike.check(place, outcome);
                if is_first && !place.is_shared() {
                    check_by_model(&script, first);
                }
                match first.ended.as_ref() {
                    Some(Ok(report)) => {
                        assert!(growths.is_none_or(|growths| growths == report.growths.len()));
                        *counts.lock().unwrap().1 += report.growths.len();
                    }
                    Some(Err(RunError::Blocked(block))) => {
                        assert!(waiting.is_none_or(|waiting| waiting == block.processes));
                        for process in block.cycle.iter().chain(&block.others) {
                            assert!(error.contains(&process.name), "{place:?}: {error}");
                        }
                        *counts.lock().unwrap().0 += 1;
                    }
                    other => panic!("{place:?}: {exit:?} {other:?}"),
                }
            },
        );
    });
    // With the default number of programs, some block and some grow channels.
    assert!(cfg!(miri) || seeds(200, 2).count() < 200 || (blocked > 0 && grown > 0));
}

/// Compares the outcome on one scheduler with a model of the script.
fn check_by_model(script: &Script, outcome: &Outcome) {
    let model = script.ends();
    let is_whole = model.len() == script.steps.len();
    let mut ends: Vec<String> = model
        .iter()
        .map(|(rank, state)| format!("{rank} {state:016x}"))
        .collect();
    ends.sort();
    assert_eq!(outcome.exit == Exit::Ok, is_whole, "{}", outcome.error);
    // Some processes that end in the model wait here for space that never becomes free. They are
    // not on a cycle.
    assert!(outcome.lines.iter().all(|end| ends.contains(end)));
    assert!(!is_whole || outcome.lines == ends);
}

/// Opens, closes, drops and forgets ends of flow-controlled channels in any order. Ends also ask
/// for the end, leave and return. Each token that was written must be read, or dropped with its
/// reader.
#[test]
fn flow_controlled_channels_lose_nothing() {
    search(60, 2, |seed| {
        let mut alike = Alike::default();
        places::run_all(
            &places_of(seed),
            seed,
            &Options::new().shuffle(seed),
            |_, record| flows::network(seed, move |total| record(total.to_string())),
            |place, outcome| {
                assert_eq!(outcome.exit, Exit::Ok, "{place:?}: {}", outcome.error);
                assert_eq!(outcome.lines.len(), 1);
                alike.check(place, outcome);
            },
        );
    });
}

#[test]
fn a_shuffled_run_can_be_repeated() {
    // `select` depends on the order in which tokens arrive, which the seed determines.
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

/// Runs clients and a server, which answers each request until all clients have left. The requests
/// and answers of each client do not depend on the order in which requests arrive.
#[test]
fn servers_answer_who_asked() {
    for seed in seeds(10, 1) {
        let mut random = Random(seed);
        let clients = 1 + random.below(size(8, 3));
        let capacity = 1 + random.below(3) as u32;
        let requests: Vec<u64> = (0..clients).map(|_| random.below(size(40, 5))).collect();
        // Some clients leave without waiting for the last answer.
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
        places::each(network, |outcome| {
            outcome.unwrap();
            let expected: Vec<(usize, u64)> = requests.iter().copied().enumerate().collect();
            assert_eq!(log.sorted(), expected, "seed {seed}");
        });
    }
}

#[test]
fn a_network_can_be_run_again() {
    let log = Log::new();
    let program = Arc::new(program(3));
    let net = Arc::new(accounted::network(&program, log.adder()));
    run(Arc::clone(&net), &Options::new()).unwrap();
    let first = log.sorted();
    run(net, &Options::new().os_processes(2)).unwrap();
    assert_eq!(log.sorted(), first);
}
