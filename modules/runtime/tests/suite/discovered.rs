//! Look-up of other processes, OS processes and connections, at all places.
//!
//! As in `os_processes.rs`, this file is also a program.
#![cfg(not(miri))]
#![allow(clippy::print_stdout)]

use crate::common::itself::Itself;
use crate::common::{BOTH, Both, Log, places};
use graphmap_runtime as rt;
use rt::{Channels, Direction, Names, Network};

/// This file as a program.
const ITSELF: Itself = Itself(module_path!());

const WORKERS: usize = 6;
const ALL: usize = WORKERS + 2;

#[test]
#[ignore = "run by `in_several_os_processes`"]
fn program() {
    if std::env::var_os("GRAPHMAP_TEST_CASE").is_some() {
        let code = rt::main(|| farm(|line| println!("{line}")));
        println!("code {code:?}");
    }
}

/// Returns a network of a source, workers in a grid of 2 by 3, and a sink. Each process passes what
/// it finds to `record`.
fn farm(record: impl Fn(String) + Clone + Send + Sync + 'static) -> Network {
    let mut net = Network::new("farm", "farm.dot");
    let look = move |p: Both<u64>| {
        let record = record.clone();
        async move {
            check_processes();
            let me = rt::me();
            let collocated: Vec<_> = rt::collocated().map(|one| one.rank).collect();
            record(format!(
                "rank {} is in {} with {collocated:?}",
                me.rank, me.os_process
            ));
            // Checks again when other processes have ended.
            rt::yield_now().await;
            check_processes();
            drop(p);
        }
    };
    let source = net.kind("source", Names::Listed(&["s"]), "7", BOTH, look.clone());
    let names = Names::Pattern(&[("w", "1+0*3+1*2"), ("_", "1+1*3+0*2")]);
    let workers = net.kind("worker", names, "0+1*6", BOTH, look.clone());
    let sink = net.kind("sink", Names::Listed(&["t"]), "6", BOTH, look);
    net.place(workers, "3+1*6", "1+0*6");
    net.payload(rt::format_of!(u64));
    net.channels::<u64>(Channels {
        capacity: 4,
        line: "10+1*6",
        // The slots of the workers are in reverse order.
        from_slot: "5-1*6",
        ..Channels::new((source, 1), (workers, 0), "0+0*6", "0+1*6")
    });
    net.channels::<u64>(Channels::new((workers, 1), (sink, 0), "0+1*6", "0+0*6"));
    net
}

fn check_processes() {
    let me = rt::me();
    let mine = rt::process_of_rank(me.rank).unwrap();
    assert_eq!(
        (mine.rank, &mine.name, &mine.kind),
        (me.rank, &me.name, &me.kind)
    );
    assert_eq!(
        (mine.index, mine.scheduler, mine.os_process),
        (me.index, me.scheduler, me.os_process)
    );
    let all: Vec<_> = rt::processes().collect();
    assert_eq!(all.len(), ALL);
    for (rank, one) in all.iter().enumerate() {
        assert_eq!(one.rank, rank);
        assert_eq!(rt::process(&one.name).as_ref(), Some(one));
        assert_eq!(rt::process_of_rank(rank).as_ref(), Some(one));
        assert_eq!(rt::of_kind(&one.kind).nth(one.index).as_ref(), Some(one));
        assert_eq!(rt::processes().nth(rank).as_ref(), Some(one));
        assert!(one.scheduler < me.schedulers && one.os_process < me.os_processes);
    }
    assert_eq!(rt::process("w2_1").unwrap().place.unwrap().line, 6);
    for nobody in ["w", "w3_1", "w1_4", "w01_1", "S", ""] {
        assert_eq!(rt::process(nobody), None, "{nobody}");
    }
    assert_eq!(rt::process_of_rank(ALL), None);
    assert_eq!(rt::of_kind("worker").count(), WORKERS);
    assert_eq!(rt::of_kind("worker").size_hint(), (WORKERS, Some(WORKERS)));
    assert_eq!(rt::of_kind("nobody").count(), 0);
    assert_eq!(rt::processes().nth(ALL), None);

    let os_processes = rt::os_processes();
    assert_eq!(os_processes.len(), me.os_processes);
    let mut seen = 0;
    for (number, one) in os_processes.iter().enumerate() {
        assert_eq!(one.number, number);
        assert_eq!(one.host, os_processes[0].host);
        let there: Vec<_> = rt::in_os_process(number).collect();
        let expected: Vec<_> = all
            .iter()
            .filter(|one| one.os_process == number)
            .cloned()
            .collect();
        assert_eq!(there, expected);
        assert_eq!(rt::in_os_process(number).count(), there.len());
        for (n, one) in there.iter().enumerate() {
            assert_eq!(rt::in_os_process(number).nth(n).as_ref(), Some(one));
        }
        assert_eq!(rt::in_os_process(number).nth(there.len()), None);
        seen += there.len();
    }
    assert_eq!(seen, ALL);
    assert!(rt::collocated().eq(rt::in_os_process(me.os_process)));

    let connections = rt::connections();
    let told: Vec<_> = connections
        .map(|c| {
            (
                c.direction,
                c.port,
                c.member,
                c.peer.name,
                c.peer_port,
                c.capacity,
            )
        })
        .collect();
    let one = |direction, port: &str, member, peer: &str, peer_port: &str, capacity| {
        (
            direction,
            port.to_string(),
            member,
            peer.to_string(),
            peer_port.to_string(),
            capacity,
        )
    };
    let workers = || rt::of_kind("worker").map(|worker| worker.name);
    match &*me.kind {
        "source" => {
            let expected = workers().collect::<Vec<_>>().into_iter().rev().enumerate();
            let expected = expected.map(|(n, peer)| one(Direction::Out, "out", n, &peer, "in", 4));
            assert_eq!(told, expected.collect::<Vec<_>>());
            let line = rt::connections().next().unwrap().place.unwrap().line;
            assert_eq!(line, 15);
        }
        "sink" => {
            let expected = workers().enumerate();
            let expected = expected.map(|(n, peer)| one(Direction::In, "in", n, &peer, "out", 1));
            assert_eq!(told, expected.collect::<Vec<_>>());
        }
        _ => assert_eq!(
            told,
            [
                one(Direction::In, "in", 0, "s", "out", 4),
                one(Direction::Out, "out", 0, "t", "in", 1)
            ]
        ),
    }
}

#[test]
fn in_one_os_process() {
    let all: Vec<usize> = (0..ALL).collect();
    let log = Log::new();
    let record = log.adder();
    places::each(
        || farm(record.clone()),
        |report| {
            report.unwrap();
            let expected = (0..ALL).map(|rank| format!("rank {rank} is in 0 with {all:?}"));
            assert_eq!(log.sorted(), expected.collect::<Vec<_>>());
        },
    );
}

#[test]
fn in_several_os_processes() {
    let mapping = [2, 0, 1, 2, 2, 1, 0, 0];
    let placement = mapping.map(|at: usize| at.to_string()).join(" ");
    for (schedulers, placed) in [("1", true), ("2", true), ("1", false), ("2", false)] {
        let mut command = ITSELF.program();
        command
            .env("GRAPHMAP_TEST_CASE", "farm")
            .env("GRAPHMAP_LINK", "shm")
            .env("GRAPHMAP_OS_PROCESSES", "3")
            .env("GRAPHMAP_SCHEDULERS", schedulers);
        if placed {
            command.env("GRAPHMAP_PLACEMENT", &placement);
        }
        let output = command.output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        let code = format!("code {:?}", std::process::ExitCode::from(rt::Exit::Ok));
        assert!(out.contains(&code) && err.is_empty(), "{out}{err}");
        if placed {
            for (rank, at) in mapping.iter().enumerate() {
                let with: Vec<_> = (0..ALL).filter(|&other| mapping[other] == *at).collect();
                let said = format!("rank {rank} is in {at} with {with:?}");
                assert!(out.contains(&said), "{said}: {out}");
            }
        }
    }
}

/// Each of many processes can be looked up.
#[test]
fn among_many() {
    const MANY: usize = 100_000;
    let mut net = Network::new("line", "line.dot");
    let names = Names::Numbered("p", "0+1*100000");
    let kind = net.kind("p", names, "0+1*100000", BOTH, |_p: Both<u8>| async {
        let me = rt::me();
        if !me.rank.is_multiple_of(1000) {
            return;
        }
        let next = (me.rank + 7) % MANY;
        assert_eq!(rt::process(&format!("p{next}")).unwrap().rank, next);
        assert_eq!(rt::of_kind("p").nth(next).unwrap().rank, next);
        let peers: Vec<_> = rt::connections().map(|one| one.peer.rank).collect();
        let expected = [
            me.rank.checked_sub(1),
            Some(me.rank + 1).filter(|&n| n < MANY),
        ];
        assert_eq!(peers, expected.into_iter().flatten().collect::<Vec<_>>());
        if me.rank == 0 {
            assert_eq!(rt::collocated().count(), MANY);
        }
    });
    net.channels::<u8>(Channels::new(
        (kind, 1),
        (kind, 0),
        "0+1*99999",
        "1+1*99999",
    ));
    rt::run(net, &rt::Options::new()).unwrap();
}

#[test]
#[should_panic(expected = "this function was called outside a process of a run")]
fn lookups_outside_a_process_panic() {
    let _all = rt::processes();
}
