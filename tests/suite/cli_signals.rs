//! Whatever the command waits for or works at, INT and TERM end it within half a second.
//!
//! Nothing here ends by itself, or it would end otherwise: that a signal ended it is told by how it ended. How soon
//! is a matter of the machine, too, so what counts is the soonest of several tries: a wait in the code is in all.

use crate::common::{NET, Started, Test, gone};
use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Command, ExitStatus};
use std::time::Duration;

const WITHIN: Duration = Duration::from_millis(500);
/// So many tries are for a machine that does ten other things.
const TRIES: usize = 20;
const SIGNALS: [(&str, i32); 2] = [("INT", 2), ("TERM", 15)];

/// Starts something, sends it a signal once it is `there`, and looks at how it ended; again until that took no
/// longer than it may.
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

/// One of each kind of input, and pipes that nobody has written to.
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

/// Verbs that read from a pipe, and which.
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

/// Waits until a thread of it sleeps in the kernel, and not for another thread.
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
fn who_waits_for_a_pipe_that_nobody_writes_to() {
    let pipes = ["pipe.dot", "pipe", "sk/go/pipe.hbs"];
    for (i, (args, _)) in READING.into_iter().enumerate() {
        let (signal, number) = SIGNALS[i % 2];
        let test = inputs(&pipes).args(args);
        let ended = |status: ExitStatus| assert_eq!(status.signal(), Some(number), "{args}");
        ends_soon(args, signal, &test, waits_for_pipe, ended);
    }
}

/// Half of it has come, and the writer is there, but writes no more.
#[test]
fn who_waits_for_the_rest_of_a_pipe() {
    for (i, (args, pipe)) in READING.into_iter().enumerate() {
        let (signal, number) = SIGNALS[(i + 1) % 2];
        let test = inputs(&[pipe]).args(args);
        // Reading and writing: it waits for nobody, and keeps the pipe open.
        let path = test.folder().join(pipe);
        let mut kept = File::options().read(true).write(true).open(path).unwrap();
        std::io::Write::write_all(&mut kept, b"digraph half { a -> ").unwrap();
        let ended = |status: ExitStatus| assert_eq!(status.signal(), Some(number), "{args}");
        ends_soon(args, signal, &test, waits_for_pipe, ended);
    }
}

/// Plug-ins that are deaf, flood, or leave what they are handed unread; what they started goes with them.
#[test]
fn who_waits_for_a_plug_in() {
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

/// Partials that include each other, each the next one four times: seconds until the budget is spent, and told as
/// an error then.
#[test]
fn who_renders() {
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
        // All is read in a few milliseconds of its own: what works for longer renders.
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

/// To ask a run what it is doing is no reason to end, also when it is still being built.
#[test]
fn who_asks_while_it_builds_ends_nothing() {
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
    // As cargo says nothing of the code.
    assert_eq!(status.code(), Some(2), "{status}");
}
