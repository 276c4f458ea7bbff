//! Compositions that repeat: full names and their communicators, and communicators and tags of
//! channels.

use crate::common::places::{ALL, Record, run_all};
use crate::common::ranks::NoPorts;
use crate::common::{BOTH, Both};
use graphmap_runtime as rt;
use rt::mpi::{self, Error};
use rt::{Channels, Direction, Ends, Exit, FlowInput, FlowOutput, Input, Names, Network, Options};
use rt::{Ports, RunError};

/// Ports of the boss, which reads from all sinks.
struct Boss {
    _sinks: Vec<Input<u64>>,
    _out: FlowOutput<u64>,
}

impl Ports for Boss {
    fn connect(ends: &mut Ends<'_>) -> Self {
        Boss {
            _sinks: ends.inputs(),
            _out: ends.flow_output(),
        }
    }
}

struct Observer(#[allow(dead_code)] FlowInput<u64>);

impl Ports for Observer {
    fn connect(ends: &mut Ends<'_>) -> Self {
        Observer(ends.flow_input())
    }
}

/// Returns an application of two farms with a source, three workers and a sink each, and a boss. An
/// observer is outside. `record` takes a line from each process.
fn farms(record: &Record) -> Network {
    let mut net = Network::new("farms", "farms.dot");
    let record = record.clone();
    let process = move || {
        let record = record.clone();
        async move {
            check_names()?;
            let lines = along_channels().await?;
            record(format!("{}: {}", rt::me().name, lines.join(", ")));
            Ok::<(), Error>(())
        }
    };
    let plain = {
        let process = process.clone();
        move |_: Both<u64>| process()
    };
    let mut kind = |name, count, ranks: &str| {
        let names = Names::Numbered(name, count);
        net.kind(name, names, ranks, BOTH, plain.clone())
    };
    let source = kind("source", "1 2", "0 5");
    let worker = kind("worker", "1+1*6", "1+1*3 6+1*3");
    let sink = kind("sink", "1 2", "4 9");
    let names = Names::Listed(&["boss"]);
    let of_boss = process.clone();
    let boss = net.kind("boss", names, "10", BOTH, move |_: Boss| of_boss());
    let names = Names::Listed(&["observer"]);
    let observer = net.kind("observer", names, "11", &["in"], move |_: Observer| {
        process()
    });
    net.modules("app", Names::Listed(&["all"]), "0");
    net.modules("farm", Names::Listed(&["left", "right"]), "1 1");
    net.inside(source, "2 3");
    net.inside(worker, "2+0*3 3+0*3");
    net.inside(sink, "2 3");
    net.inside(boss, "1");
    net.payload(rt::format_of!(u64));
    net.channels::<u64>(Channels::new(
        (source, 1),
        (worker, 0),
        "0+0*3+1*2",
        "0+1*6",
    ));
    net.tag(3);
    net.channels::<u64>(Channels::new((worker, 1), (sink, 0), "0+1*6", "0+0*3+1*2"));
    net.channels::<u64>(Channels::new((sink, 1), (boss, 0), "0 1", "0 0"));
    net.tag(0);
    net.flow_channels::<u64>(Channels::new((boss, 1), (observer, 0), "0", "0"));
    net.tag(9);
    net
}

fn check_names() -> Result<(), Error> {
    let me = rt::me();
    let own = rt::full_name();
    let (name, levels) = match &*me.kind {
        "boss" => ("app.boss".to_string(), 1),
        "observer" => ("observer".to_string(), 0),
        kind => (format!("app.farm.{kind}"), 2),
    };
    assert_eq!((&own.name, own.index), (&name, me.index));
    assert_eq!(own.members, me.members);
    assert_eq!(rt::full_name_of_rank(me.rank).as_ref(), Some(&own));
    let same = rt::of_full_name(&name);
    assert_eq!(same.size_hint(), (own.members, Some(own.members)));
    assert_eq!(same.count(), own.members);
    assert_eq!(
        rt::of_full_name(&name).nth(own.index).map(|one| one.rank),
        Some(me.rank)
    );
    assert_eq!(rt::of_full_name(&name).nth(own.members), None);
    assert_eq!(
        rt::of_full_name("app.farm.worker")
            .nth(4)
            .map(|one| one.name),
        Some("worker5".into())
    );
    assert_eq!(rt::of_full_name("app.farm").count(), 0);

    // The sizes of the communicators of all levels, the last of which is that of the full name.
    let sizes: Vec<usize> = (0..)
        .map_while(|level| mpi::of_level(level).transpose())
        .map(|found| Ok(found?.size()))
        .collect::<Result<_, Error>>()?;
    let mut expected = vec![12, 11, 5];
    expected.truncate(levels + 1);
    expected.push(own.members);
    assert_eq!(sizes, expected);
    let last = mpi::of_level(levels + 1)?.ok_or(Error::Inactive)?;
    assert_eq!(
        (last.rank(), last.name()),
        (own.index, &*format!("name {name}"))
    );

    let size = |found: Option<mpi::Communicator>| found.map(|found| found.size());
    let is_in = |depth: usize| levels >= depth;
    assert_eq!(size(mpi::of_prefix("app")?), is_in(1).then_some(11));
    assert_eq!(size(mpi::of_prefix("app.farm")?), is_in(2).then_some(10));
    assert_eq!(size(mpi::of_module("app.farm")?), is_in(2).then_some(5));
    assert_eq!(
        size(mpi::of_module("all.right")?),
        (is_in(2) && me.rank >= 5).then_some(5)
    );
    assert_eq!(size(mpi::of_prefix(&name)?), Some(own.members));
    assert_eq!(size(mpi::of_prefix("farm")?), None);
    Ok(())
}

/// Sends the own name along each channel, and receives the name of each peer. Returns a line for
/// each channel.
async fn along_channels() -> Result<Vec<String>, Error> {
    let mut lines = Vec::new();
    for connection in rt::connections() {
        let (inner, peer) = mpi::of_connection(&connection)?.ok_or(Error::Inactive)?;
        let level = mpi::of_level(connection.level)?.ok_or(Error::Inactive)?;
        assert_eq!(level.compare(&inner), mpi::Comparison::Identical);
        let tag = connection.tag.unwrap_or(7);
        match connection.direction {
            Direction::Out => inner.bsend(rt::me().name, peer, tag).await?,
            Direction::In => {
                let (name, _) = inner.recv::<String>(peer, tag).await?;
                assert_eq!(name, connection.peer.name);
            }
        }
        lines.push(format!("{} {:?} {peer}", inner.name(), connection.tag));
    }
    // The communicator of all workers works as any other.
    if let Some(workers) = mpi::of_prefix("app.farm.worker")? {
        let sum = workers
            .allreduce(rt::full_name().index, |a, b| a + b)
            .await?;
        assert_eq!(sum, 15);
    }
    Ok(lines)
}

#[test]
fn compositions_have_names_and_communicators_everywhere() {
    let expected = [
        "boss: all Some(0) 4, all Some(0) 9, world Some(9) 11",
        "observer: world Some(9) 10",
        "sink1: all.left None 1, all.left None 2, all.left None 3, all Some(0) 10",
        "sink2: all.right None 1, all.right None 2, all.right None 3, all Some(0) 10",
        "source1: all.left Some(3) 1, all.left Some(3) 2, all.left Some(3) 3",
        "source2: all.right Some(3) 1, all.right Some(3) 2, all.right Some(3) 3",
        "worker1: all.left Some(3) 0, all.left None 4",
        "worker2: all.left Some(3) 0, all.left None 4",
        "worker3: all.left Some(3) 0, all.left None 4",
        "worker4: all.right Some(3) 0, all.right None 4",
        "worker5: all.right Some(3) 0, all.right None 4",
        "worker6: all.right Some(3) 0, all.right None 4",
    ];
    let options = Options::new().shuffle(5);
    run_all(
        ALL,
        5,
        &options,
        |_, record| farms(&record),
        |place, outcome| {
            assert_eq!(outcome.exit, Exit::Ok, "{place:?}: {}", outcome.error);
            assert_eq!(outcome.lines, expected, "{place:?}");
        },
    );
}

/// A connection of another process has no communicator here.
#[test]
fn connections_of_another_process_have_no_communicator() {
    let mut net = Network::new("pair", "pair.dot");
    let process = |_: Both<u64>| async {
        let world = mpi::world()?;
        let Some(mut connection) = rt::connections().next() else {
            return Ok(());
        };
        connection.level = 2;
        assert!(mpi::of_connection(&connection)?.is_none());
        connection.level = 0;
        connection.peer.rank = world.size();
        assert!(mpi::of_connection(&connection)?.is_none());
        Ok::<(), Error>(())
    };
    let stage = net.kind("stage", Names::Numbered("s", "1 2"), "0 1", BOTH, process);
    net.modules("row", Names::Listed(&["row"]), "0");
    net.inside(stage, "1 1");
    net.channels::<u64>(Channels::new((stage, 1), (stage, 0), "0", "1"));
    rt::run(net, &Options::new()).unwrap();
}

#[test]
fn tags_of_no_channels_and_negative_tags_are_errors() {
    let mut net = Network::new("wrong", "wrong.dot");
    net.tag(2);
    let stage = net.kind(
        "stage",
        Names::Listed(&["s"]),
        "0",
        BOTH,
        |_: Both<u64>| async {},
    );
    net.channels::<u64>(Channels::new((stage, 1), (stage, 0), "0", "0"));
    net.tag(-1);
    match rt::run(net, &Options::new()) {
        Err(RunError::Wiring(errors)) => assert_eq!(
            errors,
            [
                "tag 2 without channels",
                "invalid tag -1: expected 0 to 2^31 - 1"
            ]
        ),
        other => panic!("{other:?}"),
    }
}

/// Full names among many processes: each look-up is fast after the first.
#[test]
fn among_many_processes() {
    const ROWS: usize = if cfg!(miri) { 10 } else { 1_000 };
    const CELLS: usize = 100;
    let mut net = Network::new("grid", "grid.dot");
    let all = format!("0+1*{}", ROWS * CELLS);
    let names = Names::Numbered("c", &all);
    let cell = net.kind("cell", names, &all, &[], |_: NoPorts| async {
        let own = rt::full_name();
        let me = rt::me();
        assert_eq!((own.index, own.members), (me.index, ROWS * CELLS));
        let next = (me.index + 7) % own.members;
        assert_eq!(rt::of_full_name(&own.name).nth(next).unwrap().rank, next);
        let same = mpi::of_prefix("grid.row.cell")?.ok_or(Error::Inactive)?;
        assert_eq!((same.rank(), same.size()), (own.index, own.members));
        Ok::<(), Error>(())
    });
    net.modules("grid", Names::Listed(&["grid"]), "0");
    let rows = format!("1+1*{ROWS}");
    net.modules("row", Names::Numbered("row", &rows), &format!("1+0*{ROWS}"));
    net.inside(cell, &format!("2+0*{CELLS}+1*{ROWS}"));
    rt::run(net, &Options::new().schedulers(2)).unwrap();
}
