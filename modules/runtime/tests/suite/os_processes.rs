//! One network in several OS processes that share memory.
//!
//! The program of these tests is this file. The test `program` runs the network that a variable
//! names, and starts copies of itself. The other tests check the output of all copies and the exit
//! code.
#![cfg(not(miri))]

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::common::cases::network;
use crate::common::itself::{Itself, Running, code, run, variables};
use graphmap_runtime as rt;
use rt::Exit;

/// This file as a program.
const ITSELF: Itself = Itself(module_path!());

const SCHEDULERS: &str = "GRAPHMAP_SCHEDULERS";

/// Variable that makes the program call `main` in two threads.
const TWICE: &str = "GRAPHMAP_TEST_TWICE";

#[test]
#[ignore = "run by `true_deadlocks_are_reported` and the others"]
fn program() {
    if std::env::var_os(TWICE).is_none() {
        return run(network);
    }
    thread::scope(|scope| {
        scope.spawn(|| run(network));
        run(network);
    });
}

/// Calls `main` in two threads of a copy. The copy must join its run only once: two readers of the
/// same byte ring would each take half of its frames.
#[test]
fn a_copy_joins_its_run_once() {
    let (out, err) = ITSELF.start("large", 2, &[(TWICE, "yes")]);
    assert_eq!(out.matches(&code(Exit::Ok)).count(), 2, "{out}{err}");
    let told = "OS process 1 has already joined its run";
    assert_eq!(err.matches(told).count(), 2, "{out}{err}");
}

/// Runs a case with one and two schedulers in each OS process. Checks the exit code, the printed
/// texts, and the number of errors.
#[track_caller]
fn assert_ends(case: &str, os_processes: usize, exit: Exit, told: &[&str]) {
    for schedulers in ["1", "2"] {
        let (out, err) = ITSELF.start(case, os_processes, &[(SCHEDULERS, schedulers)]);
        assert!(out.contains(&code(exit)), "{schedulers}: {out}{err}");
        for told in told {
            assert!(
                out.contains(told) || err.contains(told),
                "{schedulers}: {told}: {out}{err}"
            );
        }
        let errors = err.matches("error: ").count();
        assert_eq!(errors, usize::from(exit != Exit::Ok), "{schedulers}: {err}");
    }
}

#[test]
fn the_first_failure_is_reported_and_not_its_consequence() {
    for number in 0..4 {
        let panicked = if number & 2 > 0 { "panicked: " } else { "" };
        let told = format!("error: process p0 (rank 0) failed: {panicked}it is broken (in OS");
        // Each OS process has one scheduler. Both run on their own threads, and neither delays the
        // other.
        let (out, err) = ITSELF.start(&format!("fails beside another:{number}"), 2, &[]);
        assert!(out.contains(&code(Exit::Failed)), "{out}{err}");
        assert!(err.contains(&told), "{told}: {err}");
    }
}

/// Writes a token before the next process computes for long. The token must be sent before.
#[test]
fn written_tokens_do_not_wait_for_computing_processes() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (mapping, read) = (folder.join("before.mapping"), folder.join("before.read"));
    let _gone = std::fs::remove_file(&read);
    std::fs::write(&mapping, "0 1 0").unwrap();
    let variables = [
        ("GRAPHMAP_MAPPING", mapping.to_str().unwrap()),
        ("GRAPHMAP_TEST_FILE", read.to_str().unwrap()),
    ];
    let (out, err) = ITSELF.start("before", 2, &variables);
    assert!(out.contains(&code(Exit::Ok)), "{out}{err}");
}

/// Lets a process compute for long. Only processes that wait for it may be delayed.
#[test]
fn computing_processes_delay_only_their_readers() {
    let read = Path::new(env!("CARGO_TARGET_TMPDIR")).join("held_up.read");
    let _gone = std::fs::remove_file(&read);
    let variables = [("GRAPHMAP_TEST_FILE", read.to_str().unwrap())];
    let (out, err) = ITSELF.start("held up", 3, &variables);
    assert!(out.contains(&code(Exit::Ok)), "{out}{err}");
    assert!(out.contains("read 1000, then Some(1048576)"), "{out}{err}");
}

/// Writes to the outer network from a nested run. The token must be sent although the nested run
/// goes on.
#[test]
fn tokens_from_nested_runs_to_the_outer_run_are_sent() {
    let read = Path::new(env!("CARGO_TARGET_TMPDIR")).join("around.read");
    let _gone = std::fs::remove_file(&read);
    let (out, err) = ITSELF.start(
        "around",
        2,
        &[("GRAPHMAP_TEST_FILE", read.to_str().unwrap())],
    );
    assert!(out.contains(&code(Exit::Ok)), "{out}{err}");
}

/// Runs nested networks while a ring is full. A nested run exchanges messages for the outer run.
/// Otherwise, both OS processes would wait forever.
#[test]
fn nested_runs_receive_while_rings_are_full() {
    let (out, err) = ITSELF.start("full rings", 2, &[]);
    assert!(out.contains(&code(Exit::Ok)), "{out}{err}");
    assert_eq!(out.matches("end 200").count(), 2, "{out}{err}");
}

/// Runs networks in decoders while a ring is full. The inner run must end, although no message is
/// received before the decoder returns.
#[test]
fn nested_runs_of_decoders_end_while_rings_are_full() {
    let (out, err) = ITSELF.start("runs in decoders", 2, &[]);
    assert!(out.contains(&code(Exit::Ok)), "{out}{err}");
}

#[test]
fn bundles_across() {
    assert_ends("bundles", 6, Exit::Ok, &["sum 1001000"]);
    assert_ends("bundles", 3, Exit::Ok, &["sum 1001000"]);
}

/// Checks that each process runs in the OS process of the mapping, and that it knows this OS
/// process.
#[test]
fn processes_are_where_they_are_mapped() {
    let mapping = [2, 0, 1, 2, 2, 1, 0, 0, 2, 1, 1, 0];
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("os_processes.mapping");
    let text = mapping
        .map(|os_process: u32| os_process.to_string())
        .join(" ");
    std::fs::write(&file, text).unwrap();
    for schedulers in ["1", "2"] {
        let variables = [
            ("GRAPHMAP_MAPPING", file.to_str().unwrap()),
            (SCHEDULERS, schedulers),
        ];
        let (out, err) = ITSELF.start("where", 3, &variables);
        assert!(out.contains(&code(Exit::Ok)), "{out}{err}");
        are_mapped(&out, &mapping);
    }
}

fn are_mapped(out: &str, mapping: &[u32]) {
    let mut ids = std::collections::BTreeMap::new();
    for (rank, os_process) in mapping.iter().enumerate() {
        let start = format!("rank {rank} is in {os_process} of 3: ");
        let line = out.lines().find_map(|line| line.split(&start).nth(1));
        let id = line
            .unwrap_or_else(|| panic!("no `{start}`: {out}"))
            .to_string();
        assert_eq!(*ids.entry(os_process).or_insert(id.clone()), id, "{out}");
    }
    assert_eq!(
        ids.values()
            .collect::<std::collections::BTreeSet<_>>()
            .len(),
        3
    );
}

#[test]
fn tokens_larger_than_a_byte_ring() {
    let bytes = 1 + 65_519 + 65_520 + 65_521 + 300_000 + 3_000_000 + 7;
    assert_ends("large", 2, Exit::Ok, &[&format!("read {bytes} bytes")]);
}

/// Checks when large tokens are dropped. Single copy needs a permission of the kernel, which a
/// sandbox may deny.
#[test]
fn large_tokens_stay_with_their_writer_until_they_are_read_or_sent() {
    for (single_copy, schedulers) in [("1", "1"), ("1", "2"), ("0", "1"), ("0", "2")] {
        let name = format!(
            "graphmap-exposed-{}-{single_copy}-{schedulers}",
            std::process::id()
        );
        let file = std::env::temp_dir().join(name);
        let variables = [
            ("GRAPHMAP_SINGLE_COPY", single_copy),
            (SCHEDULERS, schedulers),
            ("GRAPHMAP_TEST_FILE", file.to_str().unwrap()),
        ];
        let (out, err) = ITSELF.start("exposed", 2, &variables);
        std::fs::remove_file(file).unwrap();
        for told in ["kept", "dropped 40 of 40", "read 20", &code(Exit::Ok)] {
            assert!(out.contains(told), "{told}: {out}{err}");
        }
    }
}

#[test]
fn a_large_token_that_panics_when_it_is_dropped_is_reported_with_its_channel() {
    let told = [
        "process alice (rank 0",
        "alice.out -> bob.in",
        "it is fragile",
    ];
    for single_copy in ["0", "1"] {
        let (out, err) = ITSELF.start("fragile", 2, &[("GRAPHMAP_SINGLE_COPY", single_copy)]);
        for told in told {
            assert!(err.contains(told), "{single_copy}: {told}: {out}{err}");
        }
        assert!(out.contains(&code(Exit::Failed)), "{out}{err}");
    }
}

#[test]
fn the_same_for_several_in_an_os_process_crosses_once() {
    // 50 tokens, five of them large, for eight readers, of which two other OS processes have three
    // each. A large token is encoded twice, because it is examined before its slices are left in
    // place.
    for (os_processes, schedulers, single_copy, least, most) in [
        (1, "1", "1", 0, 0),
        (3, "1", "0", 2 * (50 + 5), 2 * (50 + 5)),
        (3, "1", "1", 2 * (50 + 5), 2 * (50 + 5)),
        // The readers of an OS process are on several schedulers.
        (3, "2", "0", 2 * (50 + 5), 4 * (50 + 5)),
        // Some readers leave and receive no more tokens.
        (9, "1", "0", 4 * 50, 8 * (50 + 5)),
    ] {
        let variables = [
            (SCHEDULERS, schedulers),
            ("GRAPHMAP_SINGLE_COPY", single_copy),
        ];
        let (out, err) = ITSELF.start("together", os_processes, &variables);
        let told = format!("{os_processes} {schedulers}: {out}{err}");
        assert!(out.contains(&code(Exit::Ok)), "{told}");
        assert_eq!(out.matches("end ").count(), 8, "{told}");
        let encoded = out.split("encoded ").nth(1).expect(&told);
        let encoded: usize = encoded.lines().next().unwrap().parse().unwrap();
        assert!((least..=most).contains(&encoded), "{told}");
    }
}

#[test]
fn unread_large_tokens_do_not_delay_the_end() {
    assert_ends("unread", 2, Exit::Ok, &["stopped"]);
}

#[test]
fn a_reader_that_leaves_stops_its_writer() {
    assert_ends("stop", 2, Exit::Ok, &["read five", "stopped"]);
}

#[test]
fn artificial_blocks_are_resolved() {
    for os_processes in [2, 3] {
        assert_ends("artificial:3", os_processes, Exit::Ok, &[]);
    }
    assert_ends("artificial:300", 4, Exit::Ok, &[]);
}

/// While a process sleeps, all others wait. When none sleeps any more, this is a deadlock.
#[test]
fn sleeping_processes_are_not_deadlocked_until_they_wake_up() {
    let told = ["3 processes remain", "rank 2 has passed on 4"];
    for os_processes in [2, 3] {
        assert_ends("sleepers:4", os_processes, Exit::Blocked, &told);
    }
}

#[test]
fn channels_grow_up_to_the_ceiling() {
    // Three channels with tokens of eight bytes grow from capacity 1 to 8.
    let (out, err) = ITSELF.start("artificial:3", 3, &[("GRAPHMAP_MEMORY", "168")]);
    assert!(out.contains(&code(Exit::Ok)), "{out}{err}");
    let (out, err) = ITSELF.start("artificial:3", 3, &[("GRAPHMAP_MEMORY", "167")]);
    assert!(out.contains(&code(Exit::Memory)), "{out}{err}");
    assert_eq!(err.matches("error: ").count(), 1, "{err}");
    for told in [
        "error: channels would grow by more than the limit of 167 bytes: m2.out -> m0.in",
        "8 tokens of 8 bytes instead of 4; channels have already grown by 72 bytes",
        "m1 (rank 1) in OS process 1 waits to write `out` to m2 `in`, which is full with 4",
        "GRAPHMAP_MEMORY=SIZE",
    ] {
        assert!(err.contains(told), "{told}: {err}");
    }
}

#[test]
fn large_profiles_do_not_delay_a_deadlocked_run() {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("blocked.profile");
    let profile = [("GRAPHMAP_PROFILE", file.to_str().unwrap())];
    // The profile is larger than a byte ring.
    let (out, err) = ITSELF.start("deadlock:60000", 3, &profile);
    assert!(out.contains(&code(Exit::Blocked)), "{out}{err}");
}

/// Blocks with neighbours in other OS processes. Between two OS processes there are more channel
/// ends than a byte ring can hold, and all must be closed when the run ends.
#[test]
fn deadlocks_with_many_remote_channels_end() {
    for (schedulers, channels) in [("1", 60_000), ("2", 6_000)] {
        let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("in-turn-{channels}.map"));
        std::fs::write(&file, "0 1 2 ".repeat(channels / 3)).unwrap();
        let mapping = ("GRAPHMAP_MAPPING", file.to_str().unwrap());
        let case = format!("deadlock:{channels}");
        let (out, err) = ITSELF.start(&case, 3, &[mapping, (SCHEDULERS, schedulers)]);
        assert!(out.contains(&code(Exit::Blocked)), "{out}{err}");
    }
}

/// Checks that credit is returned by a scheduler that never sleeps.
#[test]
fn schedulers_that_never_sleep_return_credit() {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("never-asleep.map");
    std::fs::write(&file, "0 1 1").unwrap();
    let mapping = ("GRAPHMAP_MAPPING", file.to_str().unwrap());
    let (out, err) = ITSELF.start("never asleep", 2, &[mapping]);
    assert!(
        out.contains("read all") && out.contains(&code(Exit::Ok)),
        "{out}{err}"
    );
}

#[test]
fn true_deadlocks_are_reported() {
    let told = ["m0 (rank 0)", "m2 (rank 2)", "3 processes"];
    assert_ends("deadlock:3", 3, Exit::Blocked, &told);
    assert_ends("deadlock:500", 4, Exit::Blocked, &["500 processes"]);
}

#[test]
fn a_failure_is_reported_once() {
    assert_ends("error", 2, Exit::Failed, &["alice (rank 0", "it is broken"]);
    let told = ["bob (rank 1, pair.dot:4:2)", "no more", "OS process 1"];
    assert_ends("panic", 2, Exit::Failed, &told);
}

#[test]
fn a_lost_os_process_ends_all() {
    let told = "OS process 1 ended before the run did: signal: 6";
    assert_ends("abort", 2, Exit::Lost, &[told]);
    assert_ends(
        "exit",
        2,
        Exit::Lost,
        &["OS process 1 ended before the run did: exit status: 0"],
    );
    // If `SIGCHLD` stayed ignored, the kernel would discard the exit status of the child.
    let output = Command::new("sh")
        .args(["-c", "trap '' CHLD; exec \"$0\" \"$@\""])
        .arg(std::env::current_exe().unwrap())
        .args(ITSELF.arguments())
        .envs(variables("abort", 2))
        .output()
        .unwrap();
    let err = String::from_utf8_lossy(&output.stderr).to_string();
    assert!(err.contains(told), "{err}");
}

/// Lets OS process 0 compute without checking for messages while OS process 1 is lost. The run must
/// end, whichever stream is locked, and even if standard error is full.
#[test]
fn a_lost_os_process_ends_one_that_computes() {
    let told = "OS process 1 ended before the run did: signal: 6";
    let cases = ["busy", "busy with errors", "busy with output"];
    let runs = cases.map(|case| {
        let told = ITSELF
            .command(case, 2, &[])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let full = std::fs::File::options().write(true).open("/dev/full");
        let untold = ITSELF
            .command(case, 2, &[])
            .stdout(Stdio::null())
            .stderr(full.unwrap())
            .spawn();
        (case, told.unwrap(), untold.unwrap())
    });
    for (case, run, mut untold) in runs {
        let output = run.wait_with_output().unwrap();
        let err = String::from_utf8_lossy(&output.stderr).to_string();
        assert_eq!(
            output.status.code(),
            Some(Exit::Lost as i32),
            "{case}: {err}"
        );
        assert!(err.contains(told), "{case}: {err}");
        let status = untold.wait().unwrap();
        assert_eq!(status.code(), Some(Exit::Lost as i32), "{case}");
    }
}

#[test]
fn an_exit_in_the_first_ends_all() {
    let output = ITSELF.command("exit first", 2, &[]).output().unwrap();
    let err = String::from_utf8_lossy(&output.stderr).to_string();
    assert_eq!(output.status.code(), Some(Exit::Lost as i32), "{err}");
    let told = "error: OS process 0 ended before the run did";
    assert_eq!(err.matches(told).count(), 1, "{err}");
}

#[test]
fn unwritable_errors_change_no_exit_code() {
    let full = || {
        std::fs::File::options()
            .write(true)
            .open("/dev/full")
            .unwrap()
    };
    for (case, exit) in [("deadlock:3", Exit::Blocked), ("panic", Exit::Failed)] {
        let mut command = ITSELF.command(case, 2, &[]);
        let child = command.stdout(Stdio::piped()).stderr(full()).spawn();
        let output = child.unwrap().wait_with_output().unwrap();
        let out = String::from_utf8(output.stdout).unwrap();
        assert!(out.contains(&code(exit)), "{case}: {out}");
    }
}

#[test]
fn a_long_cause_is_reported() {
    for len in [17_000, 1_000_000, 3_000_000] {
        for schedulers in ["1", "2"] {
            let case = format!("long panic:{len}");
            let (out, err) = ITSELF.start(&case, 2, &[(SCHEDULERS, schedulers)]);
            assert!(out.contains(&code(Exit::Failed)), "{len}: {out}");
            // Compares only the start of the text, because the whole is long.
            assert!(err.contains("error: process bob (rank 1"), "{len}");
        }
    }
}

#[test]
fn undecodable_tokens_are_reported_with_their_reader() {
    for (case, why) in [
        ("garbled", "expected a better token"),
        ("unreadable", "panicked: not again"),
    ] {
        let told = [
            "process b (rank 1, unreadable.dot:2:1) failed: a token of type ",
            "Token from a.out -> b.in (unreadable.dot:3:5) cannot be decoded: ",
            why,
        ];
        assert_ends(case, 2, Exit::Failed, &told);
    }
}

#[test]
fn tokens_without_payload_are_reported_with_their_position() {
    let told = [
        "a.out -> b.in (opaque.dot:3:5)",
        "from OS process 0 to 1",
        "Opaque is not a payload",
    ];
    assert_ends("opaque", 2, Exit::Failed, &told);
    assert_ends("opaque", 1, Exit::Ok, &[]);
}

/// Sets the internal variable of copies to invalid values.
#[test]
fn invalid_copy_variables_are_refused() {
    let me = std::process::id();
    let file = std::fs::File::open(std::env::current_exe().unwrap()).unwrap();
    let fd = std::os::fd::AsRawFd::as_raw_fd(&file);
    for (told, said) in [
        ("one".to_string(), "this variable is internal; unset it"),
        (
            format!("{me} {fd} 2 2 1 77"),
            "this variable is internal; unset it",
        ),
        (format!("{me} 4000 1 2 1 77"), "cannot share memory"),
        (format!("{me} {fd} 1 1024 1 77"), "cannot share memory"),
        (
            format!("{me} {fd} 1 512 3 77"),
            "this variable is internal; unset it",
        ),
    ] {
        let (out, err) = ITSELF.start("stop", 2, &[("GRAPHMAP_OS_PROCESS", &told)]);
        assert!(
            out.contains("code") && err.contains(said),
            "{told}: {out}{err}"
        );
    }
    // The variable was inherited from a copy that has started another program. This program is not
    // a copy.
    let (out, err) = ITSELF.start("stop", 2, &[("GRAPHMAP_OS_PROCESS", "1 3 1 2 1 77")]);
    assert!(out.contains(&code(Exit::Ok)), "{out}{err}");
}

#[test]
fn another_network_is_refused() {
    assert_ends(
        "differs",
        2,
        Exit::Failed,
        &["the network of OS process 1 differs"],
    );
}

#[test]
fn a_waker_of_another_thread_continues_a_quiescent_run() {
    assert_ends("thread", 2, Exit::Ok, &["read Some([1])"]);
}

#[test]
fn statistics_of_all_os_processes_are_merged() {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("os_processes.json");
    let variables = [
        ("GRAPHMAP_STATS", "1"),
        ("GRAPHMAP_PROFILE", file.to_str().unwrap()),
    ];
    let (out, err) = ITSELF.start("bundles", 6, &variables);
    assert!(out.contains(&code(Exit::Ok)), "{out}{err}");
    let line = |kind: &str| {
        let line = err.lines().find(|line| line.starts_with(kind)).unwrap();
        line.split_whitespace()
            .map(str::to_string)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        (&*line("worker")[1], &*line("worker")[3]),
        ("4", "1000"),
        "{err}"
    );
    assert_eq!(
        (&*line("sink")[3], &*line("source")[4]),
        ("1000", "1000"),
        "{err}"
    );
    // Every token crosses OS processes twice: to a worker, and from the worker.
    let schedulers = err
        .lines()
        .skip_while(|line| !line.starts_with("scheduler"));
    let (head, rows) = {
        let mut lines = schedulers;
        (lines.next().unwrap(), lines)
    };
    assert!(head.contains("sleeps  frames sent"), "{err}");
    let frames: Vec<u64> = rows
        .take(6)
        .map(|row| row.split_whitespace().nth(6).unwrap().parse().unwrap())
        .collect();
    assert_eq!(frames.len(), 6, "{err}");
    assert!(frames.iter().sum::<u64>() >= 2000, "{err}");
    assert!(!err.contains("MPI messages"), "{err}");
    let profile = std::fs::read_to_string(&file).unwrap();
    let messages = profile.split("\"messages\":").skip(1);
    let messages = messages.map(|rest| rest.split(',').next().unwrap().parse::<u64>().unwrap());
    assert_eq!(messages.sum::<u64>(), 2000, "{profile}");
    assert!(profile.contains("\"unmeasured\":[]"), "{profile}");
}

/// Returns true if the OS process exists and is not a zombie.
fn lives(id: u32) -> bool {
    std::fs::read_to_string(format!("/proc/{id}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

#[test]
fn nothing_is_left_of_a_run_that_is_killed() {
    for signal in ["KILL", "TERM", "HUP", "INT"] {
        // `env` resets the signals, because a signal that is ignored at the start of a program
        // stays ignored, as under `nohup`.
        let program = ITSELF.command("forever", 2, &[]);
        let mut command = Command::new("env");
        command
            .arg("--default-signal=TERM,HUP,INT")
            .arg(program.get_program())
            .args(program.get_args())
            .envs(
                program
                    .get_envs()
                    .filter_map(|(name, value)| Some((name, value?))),
            )
            .stdout(Stdio::piped());
        let mut child = Running::start(&mut command);
        let ids = pids(&mut child, 2);
        assert!(ids.iter().all(|&id| lives(id)), "{ids:?}");
        let kill = Command::new("kill")
            .args(["-s", signal, &child.id().to_string()])
            .status();
        assert!(kill.unwrap().success());
        child.wait().unwrap();
        while ids.iter().any(|&id| lives(id)) {
            thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Returns the ids that `count` OS processes print.
fn pids(child: &mut Child, count: usize) -> Vec<u32> {
    use std::io::{BufRead, BufReader};
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let ids = lines.filter_map(|line| {
        let line = line.unwrap();
        let at = line.find("pid ")?;
        line[at + 4..].parse().ok()
    });
    ids.take(count).collect()
}
