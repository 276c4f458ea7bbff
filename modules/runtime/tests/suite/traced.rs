//! Traces: the file must describe the events of the run.
//!
//! The program of these tests is this file, as in `os_processes.rs`.
#![cfg(not(miri))]
#![allow(clippy::print_stdout)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::common::itself::{CASE, Itself};
use crate::common::json::Json;
use crate::common::{BOTH, Both, cases};
use graphmap_runtime as rt;
use rt::{Channels, Names, Network, Options, RunError, Stopped, run};

/// This file as a program.
const ITSELF: Itself = Itself(module_path!());

/// Numbers of tokens, filters and processes of the pipeline.
const TOKENS: u64 = 100;
const FILTERS: usize = 4;
const ALL: usize = FILTERS + 2;

#[test]
#[ignore = "run by `a_trace_of_several_os_processes` and the others"]
fn program() {
    let Ok(case) = std::env::var(CASE) else {
        return;
    };
    let code = rt::main(|| network(&case));
    println!("code {code:?}");
}

fn network(case: &str) -> Network {
    let (name, number) = case.split_once(':').unwrap_or((case, "0"));
    match name {
        "pipeline" => pipeline(number.parse().unwrap(), || {}),
        "panics" => pipeline(1, fail),
        "aborts" => pipeline(1, || std::process::abort()),
        _ => cases::network(name, number.parse().unwrap()),
    }
}

fn fail() {
    panic!("too much");
}

/// Returns a pipeline of filters, whose channels have the given capacity. The last process calls
/// `middle` after half of the tokens.
fn pipeline(capacity: u32, middle: fn()) -> Network {
    let mut net = Network::new("pipeline", "pipeline.dot");
    let source = |mut p: Both<u64>| async move {
        for n in 0..TOKENS {
            p.outs[0].write(n).await?;
        }
        Ok::<(), Stopped>(())
    };
    let source = net.kind(
        "source",
        Names::Listed(&["the \"source\""]),
        "0",
        BOTH,
        source,
    );
    let filter = |mut p: Both<u64>| async move {
        while let Some(n) = p.ins[0].read().await {
            p.outs[0].write(n).await?;
        }
        Ok::<(), Stopped>(())
    };
    let names = Names::Numbered("f", "1+1*4");
    let filters = net.kind("filter", names, "1+1*4", BOTH, filter);
    let sink = move |mut p: Both<u64>| async move {
        while let Some(n) = p.ins[0].read().await {
            if n == 50 {
                middle();
            }
            if n % 10 == 0 {
                rt::yield_now().await;
            }
        }
    };
    let sink = net.kind("sink", Names::Listed(&["sink"]), "5", BOTH, sink);
    net.payload(rt::format_of!(u64));
    let all = |from, to, from_index, to_index| Channels {
        capacity,
        ..Channels::new((from, 1), (to, 0), from_index, to_index)
    };
    net.channels::<u64>(all(source, filters, "0", "0"));
    net.channels::<u64>(all(filters, filters, "0+1*3", "1+1*3"));
    net.channels::<u64>(all(filters, sink, "3", "0"));
    net
}

fn file(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("traced");
    fs::create_dir_all(&folder).unwrap();
    folder.join(name)
}

/// A poll of a process, in nanoseconds.
#[derive(Debug, Clone)]
struct Slice {
    start: i64,
    end: i64,
    name: String,
}

/// One end of an arrow: its kind, its track, its time, and its name.
type End<'a> = (&'a str, (i64, i64), i64, &'a str);

/// Contents of a valid trace.
#[derive(Debug, Default)]
struct Trace {
    left_out: BTreeMap<String, Json>,
    /// By OS process and rank, from 0.
    tracks: BTreeMap<(i64, i64), Vec<Slice>>,
    names: BTreeMap<(i64, i64), String>,
    /// Ranks of writer and reader, by the name of the channel, in the order of the tokens.
    arrows: BTreeMap<String, Vec<(i64, i64)>>,
    read: f64,
    written: f64,
    counters: usize,
}

fn nanoseconds(json: &Json) -> i64 {
    (json.number() * 1000.0).round() as i64
}

/// Reads a trace, and checks that it is valid.
fn read(file: &Path) -> Trace {
    let json = Json::parse(&fs::read_to_string(file).unwrap());
    let mut trace = Trace::default();
    if let Json::Object(left_out) = json.get("otherData").get("left_out") {
        trace.left_out = left_out.clone();
    }
    let mut ends: BTreeMap<i64, Vec<End<'_>>> = BTreeMap::new();
    let mut tokens: BTreeMap<i64, (i64, i64)> = BTreeMap::new();
    for event in json.get("traceEvents").list() {
        let number = |name: &str| event.get(name).number() as i64;
        let track = || (number("pid") - 1, number("tid") - 1);
        let name = event.get("name").text();
        let token = || event.get("args").get("token").number() as i64;
        let channel = || event.get("args").get("channel").number() as i64;
        match event.get("ph").text() {
            "M" if name == "thread_name" => {
                let named = event.get("args").get("name").text().to_string();
                let old = trace.names.insert(track(), named);
                assert_eq!(old, None, "a track has two names");
            }
            "M" => {}
            "X" => {
                let start = nanoseconds(event.get("ts"));
                let slice = Slice {
                    start,
                    end: start + nanoseconds(event.get("dur")),
                    name: name.to_string(),
                };
                trace.read += event.get("args").get("read").number();
                trace.written += event.get("args").get("written").number();
                trace.tracks.entry(track()).or_default().push(slice);
            }
            "C" => {
                assert!(event.get("args").get("processes").number() >= 0.0);
                trace.counters += 1;
            }
            end @ ("s" | "f") => {
                let at = nanoseconds(event.get("ts"));
                if end == "s" {
                    tokens.insert(number("id"), (channel(), token()));
                }
                ends.entry(number("id"))
                    .or_default()
                    .push((end, track(), at, name));
            }
            other => panic!("what is `{other}`?"),
        }
    }
    for (track, slices) in &mut trace.tracks {
        assert!(trace.names.contains_key(track), "{track:?} has no name");
        slices.sort_by_key(|slice| slice.start);
        assert!(
            slices.iter().all(|slice| slice.start < slice.end),
            "{track:?}"
        );
        for pair in slices.windows(2) {
            assert!(pair[0].end <= pair[1].start, "{track:?}: {pair:?}");
        }
    }
    let mut times: BTreeMap<i64, Vec<(i64, i64, i64)>> = BTreeMap::new();
    for (id, ends) in &ends {
        let [("s", from, left, name), ("f", to, came, other)] = ends[..] else {
            panic!("arrow {id} has not two ends: {ends:?}");
        };
        assert_eq!(name, other);
        assert!(left <= came, "arrow {id} points backward: {ends:?}");
        for (track, at) in [(from, left), (to, came)] {
            let slices = &trace.tracks[&track];
            let behind = slices.partition_point(|slice| slice.start <= at);
            let within = behind > 0 && at < slices[behind - 1].end;
            assert!(within, "arrow {id} ends at no turn: {ends:?}");
        }
        let of = |track| trace.names[&track].split(" (rank").next().unwrap();
        let ports = format!("{} out to {} in", of(from), of(to));
        assert_eq!(name, ports);
        trace
            .arrows
            .entry(name.into())
            .or_default()
            .push((from.1, to.1));
        let (channel, token) = tokens[id];
        times.entry(channel).or_default().push((token, left, came));
    }
    // Tokens are read in the order in which they were written.
    for (channel, mut times) in times {
        times.sort_unstable();
        let in_order =
            times.is_sorted_by_key(|time| time.1) && times.is_sorted_by_key(|time| time.2);
        assert!(in_order, "channel {channel}: {times:?}");
        let all_differ = times.windows(2).all(|pair| pair[0].0 < pair[1].0);
        assert!(all_differ, "channel {channel}: {times:?}");
    }
    trace
}

/// Checks that a trace of the pipeline is complete.
fn is_whole(trace: &Trace) {
    let channels = FILTERS + 1;
    assert!(
        trace
            .left_out
            .values()
            .all(|count| *count == Json::Number(0.0)),
        "{:?}",
        trace.left_out
    );
    assert_eq!(trace.arrows.len(), channels, "{:?}", trace.arrows.keys());
    for (name, arrows) in &trace.arrows {
        assert_eq!(arrows.len(), TOKENS as usize, "{name}");
        assert!(arrows.iter().all(|(from, to)| from + 1 == *to), "{name}");
    }
    let tokens = (channels as u64 * TOKENS) as f64;
    assert_eq!((trace.read, trace.written), (tokens, tokens));
    assert_eq!(trace.tracks.len(), ALL);
    for (track, slices) in &trace.tracks {
        let last = slices.last().unwrap();
        assert_eq!(last.name, "ends", "{track:?}");
        let ends = slices.iter().filter(|slice| slice.name == "ends").count();
        assert_eq!(ends, 1, "{track:?}");
    }
    assert!(trace.counters > 0);
    let name = |rank: i64| {
        trace
            .names
            .iter()
            .find(|name| name.0.1 == rank)
            .unwrap()
            .1
            .as_str()
    };
    assert!(
        name(0).starts_with("the \"source\" (rank 0, source"),
        "{}",
        name(0)
    );
    assert!(name(2).starts_with("f2 (rank 2, filter"), "{}", name(2));
}

#[test]
fn a_trace_of_one_os_process() {
    for (schedulers, capacity) in [(1, 1), (1, 8), (3, 1), (3, 8), (6, 2)] {
        let file = file(&format!("one-{schedulers}-{capacity}.json"));
        let options = Options::new().os_processes(schedulers).threads(schedulers);
        run(pipeline(capacity, || {}), &options.trace(&file)).unwrap();
        let trace = read(&file);
        is_whole(&trace);
        assert!(trace.tracks.keys().all(|track| track.0 == 0));
    }
}

/// Checks that slices are named by the wait that ends them.
#[test]
fn polls_are_named_by_their_wait() {
    let file = file("names.json");
    run(pipeline(1, || {}), &Options::new().trace(&file)).unwrap();
    let trace = read(&file);
    let names = |rank: i64| {
        let slices = trace.tracks[&(0, rank)].iter();
        slices
            .map(|slice| slice.name.as_str())
            .collect::<BTreeSet<_>>()
    };
    assert_eq!(names(0), BTreeSet::from(["waits to write out", "ends"]));
    let sink = BTreeSet::from(["waits to read in", "yields", "ends"]);
    assert_eq!(names(5), sink);
}

/// Limits the number of events. The file must report the number of events that are missing.
#[test]
fn the_last_events_are_kept() {
    let file = file("bounded.json");
    let options = Options::new().trace(&file).trace_events(50);
    run(pipeline(1, || {}), &options).unwrap();
    let trace = read(&file);
    let slices: usize = trace.tracks.values().map(Vec::len).sum();
    assert!((1..=50).contains(&slices));
    assert!(trace.left_out["turns"].number() > 100.0);
    assert!(trace.left_out["messages"].number() > 100.0);
    // The events at the end of the run are kept.
    let last = trace.tracks.values().filter_map(|track| track.last());
    assert!(last.into_iter().any(|slice| slice.name == "ends"));
}

/// Traces a run that fails. The trace must include the poll that failed.
#[test]
fn a_run_that_fails_is_traced() {
    let file = file("fails.json");
    let error = run(pipeline(1, fail), &Options::new().trace(&file)).unwrap_err();
    assert!(matches!(error, RunError::Failed(_)));
    let trace = read(&file);
    let sink = &trace.tracks[&(0, 5)];
    assert_eq!(trace.arrows["f4 out to sink in"].len(), 51);
    assert_eq!(sink.last().unwrap().name, "ends");
}

#[test]
fn an_unwritable_trace_file_is_reported_before_the_run() {
    let folder = file("x.json").parent().unwrap().join("none");
    let mut net = Network::new("none", "none.dot");
    net.kind("p", Names::Listed(&["p"]), "0", &[], |()| async {
        assert_eq!(1, 2, "it runs all the same");
    });
    let error = run(net, &Options::new().trace(folder.join("x.json"))).unwrap_err();
    let said = error.to_string();
    assert!(said.contains("x.json: cannot write the trace: "), "{said}");
}

/// Traces a network that is built from existing ports.
#[test]
fn local_networks_have_polls() {
    let file = file("local.json");
    let mut net = rt::Local::new();
    let (mut tx, mut rx) = net.channel::<u64>(1);
    net.spawn_named("a", async move { tx.write(1).await });
    net.spawn_named("b", async move {
        assert_eq!(rx.read().await, Some(1));
    });
    net.run(&Options::new().trace(&file)).unwrap();
    let trace = read(&file);
    assert_eq!(trace.tracks.len(), 2);
    assert!(trace.names[&(0, 1)].starts_with("b (rank 1"));
}

/// Traces programs that select, cancel and retry. Each arrow must point from the writer to the
/// reader of its token.
#[test]
fn traces_of_random_networks() {
    for seed in 0..20 {
        for schedulers in [1, 3] {
            let file = file(&format!("random-{schedulers}.json"));
            let options = Options::new().os_processes(schedulers).threads(schedulers);
            run(network(&format!("random:{seed}")), &options.trace(&file)).unwrap();
            read(&file);
        }
    }
}

/// Runs a program in several OS processes, which writes its trace to `to`. Returns its standard
/// output and standard error.
fn program_of(case: &str, variables: &[(&str, &str)], to: &Path) -> (String, String) {
    let mut command = ITSELF.program();
    let output = command
        .env(CASE, case)
        .env("GRAPHMAP_LINK", "shm")
        .env("GRAPHMAP_TRACE", to)
        .envs(variables.iter().copied())
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (text(output.stdout), text(output.stderr))
}

#[test]
fn a_trace_of_several_os_processes() {
    let mapping = [2, 0, 1, 0, 2, 1];
    let placement = mapping.map(|at: i64| at.to_string()).join(" ");
    for (schedulers, capacity) in [("1", 1), ("1", 8), ("2", 1)] {
        let file = file(&format!("several-{schedulers}-{capacity}.json"));
        let variables = [
            ("GRAPHMAP_SCHEDULERS", schedulers),
            ("GRAPHMAP_PLACEMENT", &*placement),
        ];
        let case = format!("pipeline:{capacity}");
        let (out, err) = program_of(&case, &variables, &file);
        assert!(err.is_empty() && out.contains("code"), "{out}{err}");
        let trace = read(&file);
        is_whole(&trace);
        let tracks: BTreeSet<_> = trace.tracks.keys().copied().collect();
        let expected = mapping.iter().zip(0..).map(|(at, rank)| (*at, rank));
        assert_eq!(tracks, expected.collect());
    }
}

#[test]
fn traces_of_random_networks_of_several_os_processes() {
    for seed in 0..6 {
        let file = file("random-several.json");
        let variables = [("GRAPHMAP_OS_PROCESSES", "3"), ("GRAPHMAP_SCHEDULERS", "2")];
        let (out, err) = program_of(&format!("random:{seed}"), &variables, &file);
        assert!(err.is_empty() && out.contains("code"), "{out}{err}");
        read(&file);
    }
}

/// Traces runs that fail in one of several OS processes. The trace must contain all events that
/// could be collected.
#[test]
fn a_run_of_several_os_processes_that_fails_is_traced() {
    let file = file("several-fails.json");
    // The process fails in another OS process, and in the first one.
    for placement in ["0 1 1 2 2 1", "1 1 2 2 1 0"] {
        for schedulers in ["1", "2"] {
            let variables = [
                ("GRAPHMAP_PLACEMENT", placement),
                ("GRAPHMAP_SCHEDULERS", schedulers),
            ];
            let (_, err) = program_of("panics", &variables, &file);
            assert!(
                err.contains("too much") && !err.contains("lost OS process"),
                "{err}"
            );
            let trace = read(&file);
            let there: BTreeSet<_> = trace.tracks.keys().map(|track| track.0).collect();
            assert_eq!(there, BTreeSet::from([0, 1, 2]), "{placement} {schedulers}");
            assert_eq!(trace.left_out["os_processes"], Json::Number(0.0));
            // The poll that failed.
            let place = placement.split(' ').next_back().unwrap().parse().unwrap();
            assert_eq!(trace.tracks[&(place, 5)].last().unwrap().name, "ends");
        }
    }
    // An OS process that was killed leaves no events. The events of the others must be in the
    // trace.
    let (_, err) = program_of("aborts", &[("GRAPHMAP_PLACEMENT", "0 0 0 2 2 1")], &file);
    let said = "the events of one OS process are missing, because the run failed";
    assert!(err.contains("signal: 6") && err.contains(said), "{err}");
    let trace = read(&file);
    let there: BTreeSet<_> = trace.tracks.keys().map(|track| track.0).collect();
    assert_eq!(there, BTreeSet::from([0, 2]));
    assert_eq!(trace.left_out["os_processes"], Json::Number(1.0));
}

#[test]
fn missing_events_are_reported() {
    let file = file("said.json");
    let variables = [
        ("GRAPHMAP_OS_PROCESSES", "2"),
        ("GRAPHMAP_TRACE_EVENTS", "20"),
    ];
    let (_, err) = program_of("pipeline:1", &variables, &file);
    let said = "are missing: each scheduler keeps its last 20 events; GRAPHMAP_TRACE_EVENTS=N raises this number";
    assert!(
        err.contains(said) && err.contains("pipeline: trace "),
        "{err}"
    );
    read(&file);
    let nowhere = file.parent().unwrap().join("none/x.json");
    let (out, err) = program_of("pipeline:1", &variables[..1], &nowhere);
    assert!(err.contains("cannot write the trace"), "{out}{err}");
    let code = format!("code {:?}", std::process::ExitCode::from(rt::Exit::Usage));
    assert!(out.contains(&code), "{out}{err}");
}
