//! INT and TERM end the command within half a second, in every wait and computation.
//!
//! No command here ends by itself, or it would end with another status. Therefore the status shows
//! that the signal ended it. The time also depends on the machine, so the shortest of several tries
//! counts: a wait in the code would delay each of them.

use crate::common::{NET, Started, Test, gone};
use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, ExitStatus};
use std::time::Duration;

const WITHIN: Duration = Duration::from_millis(500);
/// Number of tries, for a machine that runs ten other jobs.
const TRIES: usize = 20;
const SIGNALS: [(&str, i32); 2] = [("INT", 2), ("TERM", 15)];

/// Starts a command, sends it a signal after `there` returns, and checks its status with `ended`.
/// Repeats this until the command ends within [`WITHIN`].
#[track_caller]
fn ends_soon(
    what: &str,
    signal: &str,
    test: &Test,
    there: impl Fn(&mut Started),
    ended: impl Fn(ExitStatus),
) {
    let mut soonest = Duration::MAX;
    for _ in 0..TRIES {
        let mut run = test.start();
        there(&mut run);
        let (status, took) = run.end_after(signal);
        ended(status);
        soonest = soonest.min(took);
        if soonest <= WITHIN {
            return;
        }
    }
    panic!("{what}: {signal} ends it after {soonest:?} at the soonest of {TRIES} tries");
}

/// Returns a test with one input of each kind, and with pipes that no process writes to.
fn inputs(pipes: &[&str]) -> Test {
    let test = Test::new()
        .file("pair.dot", "digraph pair { a -> b [type=u64]; }\n")
        .file("sk/families.toml", "[go]\nabout = \"Go\"\n")
        .file("sk/go/explicit.hbs", "{{graph.name}}\n");
    for pipe in pipes {
        let path = test.folder().join(pipe);
        assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
    }
    test
}

/// Verbs that read from a pipe, each with the name of the pipe.
const READING: [(&str, &str); 12] = [
    ("check pipe.dot", "pipe.dot"),
    ("fmt pipe.dot", "pipe.dot"),
    ("view pipe.dot", "pipe.dot"),
    ("new project --from pipe.dot", "pipe.dot"),
    ("run pipe.dot", "pipe.dot"),
    ("pipe.dot --emit wiring.rs", "pipe.dot"),
    ("check pair.dot --weights pipe", "pipe"),
    ("partition pair.dot -n 2 --hosts pipe", "pipe"),
    ("partition pair.dot -n 2 --rules pipe", "pipe"),
    ("partition pair.dot -n 2 --previous pipe", "pipe"),
    ("pair.dot --mapping pipe --emit json=-", "pipe"),
    (
        "pair.dot --emit go=wiring.go --skeletons sk",
        "sk/go/pipe.hbs",
    ),
];

/// Waits until a thread of the command sleeps in the kernel, but not for another thread.
fn waits_for_pipe(run: &mut Started) {
    let tasks = format!("/proc/{}/task", run.id());
    let waits = |task: PathBuf| {
        let read = |file| fs::read_to_string(task.join(file)).unwrap_or_default();
        read("stat").contains(") S ") && !read("wchan").contains("futex")
    };
    let any = || {
        let mut tasks = fs::read_dir(&tasks).into_iter().flatten();
        tasks.any(|task| task.is_ok_and(|task| waits(task.path())))
    };
    run.wait_until(any, "wait for the pipe");
}

#[test]
fn signals_end_reading_of_a_silent_pipe() {
    let pipes = ["pipe.dot", "pipe", "sk/go/pipe.hbs"];
    for (i, (args, _)) in READING.into_iter().enumerate() {
        let (signal, number) = SIGNALS[i % 2];
        let test = inputs(&pipes).args(args);
        let ended = |status: ExitStatus| assert_eq!(status.signal(), Some(number), "{args}");
        ends_soon(args, signal, &test, waits_for_pipe, ended);
    }
}

/// Checks pipes that contain half of the input, and whose writer writes no more.
#[test]
fn signals_end_reading_of_a_half_written_pipe() {
    for (i, (args, pipe)) in READING.into_iter().enumerate() {
        let (signal, number) = SIGNALS[(i + 1) % 2];
        let test = inputs(&[pipe]).args(args);
        // Opened for reading and writing, the file does not block, and keeps the pipe open.
        let path = test.folder().join(pipe);
        let mut kept = File::options().read(true).write(true).open(path).unwrap();
        std::io::Write::write_all(&mut kept, b"digraph half { a -> ").unwrap();
        let ended = |status: ExitStatus| assert_eq!(status.signal(), Some(number), "{args}");
        ends_soon(args, signal, &test, waits_for_pipe, ended);
    }
}

/// Checks plug-ins that ignore signals, flood a stream, or do not read their input. Their child
/// processes end, too.
#[test]
fn signals_end_plug_ins() {
    let deaf =
        "trap '' INT TERM; echo $$ > number; mv number started; while :; do sleep 1000; done";
    let floods = "echo $$ > number; mv number started; exec yes >&2";
    for (i, (args, script)) in [
        ("check net.json --pass odd", deaf),
        ("check net.json --pass odd", floods),
        ("net.json --emit odd=x", deaf),
        (
            "net.json --emit odd=x",
            "sleep 1000 & echo $! > number; mv number started; wait",
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let script = format!("#!/bin/sh\n{script}\n");
        let test = Test::new()
            .file("net.json", NET)
            .executable("graphmap-pass-odd", &script)
            .executable("graphmap-emit-odd", &script)
            .args(args);
        let (signal, number) = SIGNALS[i % 2];
        let started = test.folder().join("started");
        let there = |run: &mut Started| {
            let _ = fs::remove_file(&started);
            run.wait_for(&started);
        };
        let ended = |status: ExitStatus| {
            assert_eq!(status.code(), Some(128 + number), "{args}");
            assert!(gone(&test.read("started")), "{args}");
        };
        ends_soon(args, signal, &test, there, ended);
    }
}

/// Checks partials that include the next one four times each. Rendering takes seconds until the
/// budget is spent, which is an error.
#[test]
fn signals_end_rendering() {
    let mut test = inputs(&[]);
    let last = 12;
    for i in 0..last {
        let next = format!("{{{{> go/_p{}}}}}", i + 1).repeat(4);
        test = test.file(&format!("sk/go/_p{i}.hbs"), next);
    }
    test = test
        .file(&format!("sk/go/_p{last}.hbs"), "x")
        .file("sk/go/explicit.hbs", "{{> go/_p0}}")
        .file("sk/go/chain.hbs", "{{> go/_p0}}")
        .args("pair.dot --emit go=wiring.go --skeletons sk");
    test.run().status(5).stderr_has("it takes too many steps");
    for (signal, number) in SIGNALS {
        // Reading takes a few milliseconds of CPU time. A command that works longer is rendering.
        let renders = |run: &mut Started| {
            let stat = format!("/proc/{}/stat", run.id());
            let worked = || {
                let stat = fs::read_to_string(&stat).unwrap_or_default();
                let fields = stat
                    .rsplit_once(')')
                    .map(|(_, rest)| rest.split_whitespace());
                let ticks = fields.and_then(|mut fields| fields.nth(11)?.parse().ok());
                ticks.unwrap_or(0) >= 20
            };
            run.wait_until(worked, "a fifth of a second of work");
        };
        let ended = |status: ExitStatus| assert_eq!(status.signal(), Some(number));
        ends_soon("rendering", signal, &test, renders, ended);
    }
}

/// Checks that SIGUSR1, which asks a run for its state, does not end it, not even during the build.
#[test]
fn a_report_request_does_not_end_the_build() {
    let cargo = "#!/bin/sh\n: > building\nwhile [ ! -e asked ]; do sleep 0.01; done\nexit 101\n";
    let test = inputs(&[]).args("new pair --from pair.dot");
    test.run().status(0);
    let cargo_file = test.folder().join("bin/cargo");
    let test = test
        .executable("cargo", cargo)
        .env("CARGO", cargo_file.to_str().unwrap())
        .args("run pair.dot");
    let mut run = test.start();
    run.wait_for(&test.folder().join("building"));
    let asked = Command::new("kill")
        .args(["-USR1", &run.id().to_string()])
        .status();
    assert!(asked.unwrap().success());
    fs::write(test.folder().join("asked"), "").unwrap();
    let (status, _) = run.end_after("CONT");
    // Cargo failed without an error in the code.
    assert_eq!(status.code(), Some(2), "{status}");
}
