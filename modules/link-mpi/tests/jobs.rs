//! Real jobs on this host, started by `mpiexec` of the MPI that the example program `cases` is
//! linked to.

#[path = "../../runtime/tests/suite/common/bad_variables.rs"]
mod bad_variables;
mod common;

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use bad_variables::{BAD, Bad};
use common::{
    Mpi, assert_ends, assert_ends_alike, check, finish, is_fifth, lives, mpi, mpiexec, prepare,
    program, start, usual,
};
use graphmap_testing::{Need, skip};

#[test]
fn random_networks_compute_the_same() {
    for case in ["random", "flows"] {
        for seed in 0..4 {
            assert_ends_alike(&format!("{case}:{seed}"), &[2, 5], &[]);
        }
    }
}

#[test]
fn networks_end_as_between_schedulers() {
    assert_ends("bundles", 6, 0, &["sum 1001000"]);
    let bytes = 1 + 65_519 + 65_520 + 65_521 + 300_000 + 3_000_000 + 7;
    assert_ends("large", 2, 0, &[&format!("read {bytes} bytes")]);
    assert_ends("stop", 2, 0, &["read five", "stopped"]);
    // Each of 50 tokens is encoded once for each of two other OS processes, which have three
    // readers each. The five large ones are encoded a second time, because the link inspects them
    // before it leaves their slices in place.
    assert_ends("together", 3, 0, &["encoded 110"]);
    assert_ends("artificial:3", 3, 0, &[]);
    assert_ends("artificial:100", 4, 0, &[]);
    assert_ends("thread", 2, 0, &["read Some([1])"]);
}

/// Runs too many OS processes to post receives for each, so the link probes for messages.
#[test]
fn many_send_to_each_other() {
    assert_ends("bundles", 34, 0, &["sum 1001000"]);
    assert_ends("artificial:100", 34, 0, &[]);
    assert_ends_alike("of all shapes:4", &[34], &[]);
}

/// Sends large values of all kinds, whose slices MPI sends. See `os_large.rs` of the runtime.
#[test]
fn large_tokens_of_all_kinds_arrive_and_are_dropped() {
    assert_ends("inconstant", 2, 0, &["read all"]);
    assert_ends("ends", 2, 0, &["all have ended"]);
    assert_ends("ends in a nested run", 2, 0, &["all have ended"]);
    assert_ends("dropped", 2, 0, &["all have run"]);
    for seed in 0..4 {
        assert_ends_alike(&format!("of all shapes:{seed}"), &[3], &[]);
    }
}

/// Sends large tokens from their place in memory. The writer drops them after they have been sent.
#[test]
fn large_tokens_are_kept_until_they_are_sent() {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("exposed.read");
    let _gone = fs::remove_file(&file);
    let variables = [("GRAPHMAP_TEST_FILE", file.to_str().unwrap())];
    let (code, said) = start("exposed", 2, &variables);
    check("exposed", 0, &["dropped 40 of 40", "read 20"], code, &said);
    assert_ends("unread", 2, 0, &["stopped"]);
    let expected = [
        "process alice (rank 0",
        "alice.out -> bob.in",
        "it is fragile",
    ];
    assert_ends("fragile", 2, 1, &expected);
}

/// Computes without a poll in one OS process. Only processes that wait for it are delayed.
#[test]
fn computing_processes_delay_only_their_readers() {
    let read = Path::new(env!("CARGO_TARGET_TMPDIR")).join("held_up.read");
    let _gone = fs::remove_file(&read);
    let variables = [("GRAPHMAP_TEST_FILE", read.to_str().unwrap())];
    let (code, said) = start("held up", 3, &variables);
    let expected = ["read 1000, then Some(1048576)"];
    check("held up", 0, &expected, code, &said);
}

/// Runs ranks that exchange messages and make collective calls between OS processes.
#[test]
fn ranks_talk_to_each_other() {
    assert_ends("messages:3", 2, 0, &[]);
    assert_ends("collectives:5", 3, 0, &[]);
    assert_ends("accesses:4", 3, 0, &[]);
    assert_ends("communicators:6", 3, 0, &[]);
    assert_ends("persistent:20", 2, 0, &[]);
    assert_ends("endpoints:5", 3, 0, &[]);
    assert_ends("threads:1", 3, 0, &[]);
    let expected = "waits in receive (world, from rank 1, tag 5): ";
    assert_ends("ranks in a cycle", 2, 6, &[expected]);
    let expected = "receive (world.endpoints, from rank 1, tag 5): ";
    assert_ends("threads in a cycle", 2, 6, &[expected]);
    let expected = [
        "the thread of rank 2 of world.endpoints (",
        "panicked: in the middle of its work",
    ];
    assert_ends("a thread that panics", 2, 1, &expected);
    let expected = ["collective calls do not match", "allreduce of `u8`"];
    assert_ends("ranks that do not go together", 3, 1, &expected);
    let expected = ["rank3", "in the middle of a collective call"];
    assert_ends("a rank that panics", 2, 1, &expected);
}

/// Runs processes that sleep while all others wait. When none sleeps any more, this is a deadlock.
#[test]
fn sleeping_processes_are_not_deadlocked_until_they_wake_up() {
    let expected = ["3 processes remain", "rank 2 has passed on 4"];
    assert_ends("sleepers:4", 2, 6, &expected);
    assert_ends("sleepers:4", 3, 6, &expected);
}

/// Packs frames into messages, and counts both in the statistics.
#[test]
fn frames_and_messages_are_counted() {
    let (code, said) = start("bundles", 6, &[("GRAPHMAP_STATS", "1")]);
    assert_eq!(code, 0, "{said}");
    let mut rows = said
        .lines()
        .skip_while(|line| !line.starts_with("scheduler"));
    let head = rows
        .next()
        .unwrap_or_else(|| panic!("no schedulers in {said}"));
    assert!(head.contains("sleeps  frames sent MPI messages"), "{said}");
    let numbers = |row: &str| -> Vec<u64> {
        row.split_whitespace()
            .map_while(|n| n.parse().ok())
            .collect()
    };
    let rows: Vec<Vec<u64>> = rows.take(6).map(numbers).collect();
    let column = |at: usize| -> Vec<u64> { rows.iter().map(|row| row[at]).collect() };
    let (frames, messages) = (column(6), column(7));
    assert_eq!((frames.len(), messages.len()), (6, 6), "{said}");
    assert!(messages.iter().all(|&messages| messages > 0), "{said}");
    assert!(frames.iter().sum::<u64>() >= 2000, "{said}");
}

#[test]
fn deadlocks_are_reported() {
    let expected = ["m0 (rank 0)", "m2 (rank 2)", "3 processes"];
    assert_ends("deadlock:3", 3, 6, &expected);
    assert_ends("deadlock:500", 4, 6, &["500 processes"]);
}

#[test]
fn a_failure_is_reported_once() {
    assert_ends("error", 2, 1, &["alice (rank 0", "it is broken"]);
    let expected = ["bob (rank 1, pair.dot:4:2)", "no more", "OS process 1"];
    assert_ends("panic", 2, 1, &expected);
    let expected = ["Opaque is not a payload", "from OS process 0 to 1"];
    assert_ends("opaque", 2, 1, &expected);
    // The error is reported before other OS processes see that channels have closed, which would
    // make them fail, too.
    for case in ["fails before its reader:0", "fails before its reader:1"] {
        for _ in 0..4 {
            assert_ends(case, 2, 1, &["p1 (rank 1", "it is broken"]);
        }
    }
    let expected = ["differs from that of OS process"];
    assert_ends("differs", 2, 1, &expected);
}

/// Reports that code of an OS process has called `exit`, because launchers treat the code 0 as
/// success.
#[test]
fn an_early_exit_is_reported() {
    assert_ends("exit", 2, 7, &["its code called `exit`"]);
}

#[test]
fn options_that_contradict_the_launcher_are_refused() {
    for (name, value, expected) in [
        ("GRAPHMAP_OS_PROCESSES", "3", "the launcher started 2"),
        ("GRAPHMAP_LINK", "shm", "which MPI connects"),
        (
            "GRAPHMAP_MAPPING",
            "/nowhere/at all",
            "cannot read the mapping",
        ),
    ] {
        let (code, said) = start("stop", 2, &[(name, value)]);
        check(name, 2, &[expected], code, &said);
    }
    // Without a launcher.
    let mut command = Command::new(program());
    let output = command.arg("stop").env("GRAPHMAP_LINK", "mpi").output();
    let (code, said) = finish(output.unwrap());
    check("alone", 2, &["no MPI launcher has started"], code, &said);
    let output = Command::new(program()).arg("stop").output();
    let (code, said) = finish(output.unwrap());
    check("alone", 0, &["read five"], code, &said);
    // With variables that remain from a launcher that has ended.
    for (name, value) in [("PMI_SIZE", "3"), ("OMPI_COMM_WORLD_SIZE", "2")] {
        let mut command = Command::new(program());
        let output = command.arg("stop").env(name, value).output();
        let (code, said) = finish(output.unwrap());
        let unset = format!("`unset {name}`");
        check("left behind", 2, &[&unset], code, &said);
    }
}

/// Checks each variable of a run, including those without effect here. One OS process reports the
/// error for all.
#[test]
fn a_wrong_value_is_reported_once() {
    for Bad(name, values) in BAD {
        let value = values[0];
        let (code, said) = start("stop", 3, &[(name, value)]);
        check(name, 2, &[name], code, &said);
        assert_eq!(said.matches("error: ").count(), 1, "{said}");
    }
}

/// Ignores the variables of another launcher if the launcher of the run has set its own.
#[test]
fn variables_of_another_launcher_are_left_behind() {
    let stale: &[(&str, &str)] = match mpi() {
        Mpi::Mpich => &[
            ("OMPI_COMM_WORLD_SIZE", "3"),
            ("OMPI_COMM_WORLD_RANK", "1"),
            ("PMIX_RANK", "1"),
        ],
        Mpi::Open => &[("MV2_COMM_WORLD_SIZE", "3"), ("MV2_COMM_WORLD_RANK", "1")],
    };
    let (code, said) = start("stop", 2, stale);
    check("several", 0, &["read five"], code, &said);
    let one: Vec<_> = stale.iter().map(|&(name, _)| (name, "1")).collect();
    let (code, said) = start("stop", 2, &one);
    check("one", 0, &["read five"], code, &said);
    assert_eq!(said.matches("read five").count(), 1, "{said}");
}

#[test]
fn the_launcher_of_another_mpi_is_reported() {
    let (other, need) = match mpi() {
        Mpi::Mpich => (Mpi::Open, Need::OpenMpi),
        Mpi::Open => (Mpi::Mpich, Need::Mpich),
    };
    let launcher = mpiexec(other);
    if let Err(error) = Command::new(&launcher).arg("--version").output() {
        return skip(need, format!("{launcher} does not start: {error}"));
    }
    let mut command = Command::new(launcher);
    let output = prepare(&mut command)
        .args(["-n", "3"])
        .arg(program())
        .arg("stop")
        .output();
    let (code, said) = finish(output.unwrap());
    // MPICH 5 does not start under a launcher that uses PMIx.
    if mpi() == Mpi::Mpich && is_fifth() {
        assert_ne!(code, 0, "{said}");
        assert!(said.contains("unsupported PMI version PMIx"), "{said}");
        assert!(!said.contains("read five"), "{said}");
        return;
    }
    let expected = [
        "the launcher started 3 copies",
        "each copy is alone",
        usual(mpi()),
    ];
    check("wrong launcher", 2, &expected, code, &said);
    assert!(!said.contains("read five"), "{said}");
}

/// Kills one of the OS processes at different times.
#[test]
fn no_os_process_is_left_when_one_is_killed() {
    for (which, wait) in [(0, 0), (1, 30), (2, 3), (1, 0)] {
        let mut command = Command::new(mpiexec(mpi()));
        let command = prepare(&mut command).args(["-n", "3"]).arg(program());
        let command = command.arg("where_forever").stderr(Stdio::piped());
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut lines = lines.map_while(Result::ok);
        let ids = lines.by_ref().filter_map(|line| {
            let (_, id) = line.split_once("pid ")?;
            id.trim().parse::<u32>().ok()
        });
        let ids: Vec<u32> = ids.take(3).collect();
        thread::sleep(Duration::from_millis(wait));
        let kill = Command::new("kill")
            .args(["-s", "KILL", &ids[which].to_string()])
            .status();
        assert!(kill.unwrap().success());
        let rest: Vec<String> = lines.collect();
        let (code, said) = finish(child.wait_with_output().unwrap());
        assert_ne!(code, 0, "{said}");
        // The launcher reports the signal. MPICH's writes to standard output.
        let expected = format!("{said}{}", rest.join("\n"));
        assert!(expected.contains("ignal 9"), "{expected}");
        while ids.iter().any(|&id| lives(id)) {
            thread::sleep(Duration::from_millis(5));
        }
    }
}
