//! Communicators that graphmap creates itself: those of modules, kinds, OS processes and hosts.

use crate::common::known_cases;
use crate::common::places::{Place, RANKS};
use crate::common::ranks::NoPorts;
use crate::common::{seeds, size};
use graphmap_runtime as rt;
use rt::mpi::{self, Error};
use rt::{Names, Network, Options, RunError};

/// Compares these communicators with lists of ranks at each place. Calls and messages work in them
/// as in any other communicator.
#[test]
fn known_communicators_are_as_lists_say() {
    let steps = size(20, 4);
    for seed in seeds(20, 2) {
        for place in RANKS {
            let make = || known_cases::network(seed, steps);
            if let Err(error) = place.run(seed, &Options::new().shuffle(seed), make) {
                panic!("{place:?}, seed {seed}: {error}");
            }
        }
    }
}

/// Returns a network of `count` rows with `cells` cells each. Each row is a module.
fn rows(count: usize, cells: usize) -> Network {
    let mut net = Network::new("rows", "rows.dot");
    let all = format!("0+1*{}", count * cells);
    let cell = net.kind(
        "cell",
        Names::Numbered("c", &all),
        &all,
        &[],
        move |_: NoPorts| async move {
            let me = rt::me().rank;
            let row = mpi::of_module("row")?.ok_or(Error::Inactive)?;
            assert_eq!((row.size(), row.rank()), (cells, me % cells));
            assert_eq!(row.name(), format!("all.row{}", me / cells));
            let sum = row.allreduce(me, |a, b| a + b).await?;
            assert_eq!(sum, cells * (me / cells * cells) + cells * (cells - 1) / 2);
            assert_eq!(
                mpi::of_level(1)?.ok_or(Error::Inactive)?.size(),
                count * cells
            );
            Ok::<(), Error>(())
        },
    );
    net.modules("grid", Names::Listed(&["all"]), "0");
    net.modules(
        "row",
        Names::Numbered("row", &format!("0+1*{count}")),
        &format!("1+0*{count}"),
    );
    net.inside(cell, &format!("2+0*{cells}+1*{count}"));
    net
}

/// Looks up the communicator of each of many modules. A lookup must not visit all modules, because
/// this test would then take far too long.
#[test]
fn many_modules() {
    let cells = 3;
    for place in RANKS {
        let count = match place {
            Place::One => size(5_000, 20) as usize,
            Place::LateInTurn(3) => size(1_000, 20) as usize,
            _ => size(200, 20) as usize,
        };
        if let Err(error) = place.run(1, &Options::new(), || rows(count, cells)) {
            panic!("{place:?}: {error}");
        }
    }
}

/// Checks that the report of a blocked call names the communicator.
#[test]
fn waits_are_reported_by_name() {
    let mut net = Network::new("rows", "rows.dot");
    let cell = net.kind(
        "cell",
        Names::Numbered("c", "0+1*4"),
        "0+1*4",
        &[],
        |_: NoPorts| async {
            let row = mpi::of_level(1)?.ok_or(Error::Inactive)?;
            match rt::me().rank {
                3 => mpi::of_kind()?.barrier().await,
                _ => row.barrier().await,
            }
        },
    );
    net.modules("row", Names::Listed(&["up", "down"]), "0 0");
    net.inside(cell, "1 1 2 2");
    let Err(RunError::Blocked(block)) = rt::run(net, &Options::new()) else {
        panic!("it is not blocked");
    };
    let told = block.to_string();
    assert!(
        told.contains("waits in barrier (down, 1 of 2 ranks have called): "),
        "{told}"
    );
    assert!(
        told.contains("waits in barrier (kind cell, 1 of 4 ranks have called): "),
        "{told}"
    );
}

/// Checks that an unreceived message is reported with the name of its communicator, although the
/// receiver never looked it up, and possibly no other rank did.
#[test]
fn unreceived_messages_are_reported_by_name() {
    for place in RANKS {
        for what in 0..4 {
            let make = || {
                let process = move |_: NoPorts| async move {
                    if rt::me().rank == 1 {
                        let found = match what {
                            0 => mpi::of_level(2)?,
                            1 => mpi::of_level(1)?,
                            2 => mpi::of_prefix("all.row.cell")?,
                            _ => Some(mpi::of_kind()?),
                        };
                        let found = found.ok_or(Error::Inactive)?;
                        found.bsend(0u8, found.size() - 1, 7).await?;
                    }
                    Ok::<(), Error>(())
                };
                let mut net = Network::new("rows", "rows.dot");
                let names = Names::Numbered("c", "0+1*4");
                let cell = net.kind("cell", names, "0+1*4", &[], process);
                net.modules("all", Names::Listed(&["a", "b"]), "0 0");
                net.modules("row", Names::Listed(&["up", "down"]), "1 1");
                net.inside(cell, "1 3 4 3");
                net
            };
            let report = place
                .run(1, &Options::new().shuffle(1), make)
                .unwrap()
                .to_string();
            let (from, to, name) = [
                (0, 1, "a.up"),
                (1, 3, "a"),
                (0, 2, "name all.row.cell"),
                (1, 3, "kind cell"),
            ][what];
            let told = format!("from rank {from} to rank {to} ({name}, tag 7)");
            assert!(report.contains(&told), "{place:?}, {told}: {report}");
        }
    }
}

/// Checks that inconsistent tables of modules are wiring errors.
#[test]
fn inconsistent_tables_are_errors() {
    let wrong = |table: &dyn Fn(&mut Network, rt::Kind)| {
        let mut net = Network::new("wrong", "wrong.dot");
        let kind = net.kind(
            "a",
            Names::Numbered("a", "0+1*3"),
            "0+1*3",
            &[],
            |_: NoPorts| async {},
        );
        table(&mut net, kind);
        match rt::run(net, &Options::new()) {
            Err(RunError::Wiring(mistakes)) => mistakes.join("\n"),
            other => panic!("{other:?}"),
        }
    };
    let of = |names: &'static [&'static str], within: &'static str| {
        wrong(&move |net, _| net.modules("row", Names::Listed(names), within))
    };
    assert_eq!(
        of(&["x"], "0 0"),
        "modules of kind row: 1 names for 2 modules"
    );
    assert_eq!(
        of(&["x"], "1"),
        "modules of kind row: module 1 does not exist: 0 are declared before"
    );
    assert_eq!(
        of(&["x", "y"], "0 1"),
        "modules of kind row: module 1 does not exist: 0 are declared before"
    );
    assert_eq!(
        wrong(&|net, _| net.modules("row", Names::Numbered("r", ""), "0+0*4294967295")),
        "modules of kind row: more than 268435453 modules"
    );
    let inside = |modules: &'static str| wrong(&move |net, kind| net.inside(kind, modules));
    assert_eq!(
        inside("0 0"),
        "the modules of kind a: 2 numbers for 3 members"
    );
    assert_eq!(
        inside("0 1 0"),
        "the modules of kind a: module 1 does not exist: there are 0"
    );
}

#[test]
fn communicators_need_a_process() {
    assert_eq!(mpi::of_level(1).err(), Some(Error::NoProcess));
    assert_eq!(mpi::of_module("row").err(), Some(Error::NoProcess));
    assert_eq!(mpi::of_prefix("row").err(), Some(Error::NoProcess));
    assert_eq!(mpi::of_host().err(), Some(Error::NoProcess));
}
