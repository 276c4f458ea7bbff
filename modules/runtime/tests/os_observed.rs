//! What is seen of a run from outside: what its processes do, whose its output is, where it runs.
//!
//! As in `os_processes.rs`, a program is this very file.
#![cfg(target_os = "linux")]
#![cfg(not(miri))]
#![allow(clippy::print_stdout)]

mod common;

use std::future::pending;
use std::io::{BufRead, BufReader, Lines};
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use common::{BOTH, Both};
use graphmap_runtime as rt;
use rt::{Channels, Names, Network, Stopped};

const CASE: &str = "GRAPHMAP_TEST_CASE";

#[test]
#[ignore = "run by the others"]
fn program() {
    let Ok(case) = std::env::var(CASE) else {
        return;
    };
    let code = rt::main(|| match case.as_str() {
        "waiting" => farm(false),
        "computing" => farm(true),
        "circle" => circle(),
        other => panic!("no case {other}"),
    });
    println!("code {code:?}");
}

/// Workers who wait for tasks that do not come, and one who waits for all of them; the source computes, or waits.
fn farm(computes: bool) -> Network {
    let mut net = Network::new("farm", "farm.dot");
    let source = move |p: Both<u64>| async move {
        println!("pid {}", std::process::id());
        let end = Instant::now() + Duration::from_secs(600);
        while computes && Instant::now() < end {
            std::hint::spin_loop();
        }
        // What holds no waker is told as a block.
        std::thread::spawn({
            let waker =
                std::future::poll_fn(|context| std::task::Poll::Ready(context.waker().clone()))
                    .await;
            move || {
                std::thread::sleep(Duration::from_secs(600));
                drop(waker);
            }
        });
        let _ports = p;
        pending::<()>().await;
    };
    let source = net.kind("source", Names::Listed(&["s"]), "0", BOTH, source);
    let worker = |mut p: Both<u64>| async move {
        while let Some(n) = p.ins[0].read().await {
            p.outs[0].write(2 * n).await?;
        }
        Ok::<(), Stopped>(())
    };
    let names = Names::Numbered("w", "1+1*4");
    let workers = net.kind("worker", names, "1+1*4", BOTH, worker);
    let sink = |p: Both<u64>| async move {
        println!("pid {}", std::process::id());
        let mut select = rt::Select::from(p.ins);
        while select.read().await.is_some() {}
    };
    let sink = net.kind("sink", Names::Listed(&["t"]), "5", BOTH, sink);
    net.place(source, "2", "1");
    net.payload(rt::format_of!(u64));
    net.channels::<u64>(Channels {
        line: "3+0*4",
        column: "1+0*4",
        ..Channels::new((source, 1), (workers, 0), "0+0*4", "0+1*4")
    });
    net.channels::<u64>(Channels {
        line: "4+0*4",
        column: "1+0*4",
        ..Channels::new((workers, 1), (sink, 0), "0+1*4", "0+0*4")
    });
    net
}

const ROUNDS: u64 = 39_999;

/// Tokens that go round, and are counted.
fn circle() -> Network {
    let mut net = Network::new("circle", "circle.dot");
    let member = |mut p: Both<u64>| async move {
        let first = rt::me().rank == 0;
        if first {
            println!("pid {}", std::process::id());
            p.outs[0].write(0).await?;
        }
        while let Some(n) = p.ins[0].read().await {
            if first && n >= ROUNDS {
                println!("counted {n}");
                break;
            }
            if p.outs[0].write(n + 1).await.is_err() {
                break;
            }
        }
        Ok::<(), Stopped>(())
    };
    let names = Names::Numbered("m", "0+1*4");
    let kind = net.kind("member", names, "0+1*4", BOTH, member);
    net.payload(rt::format_of!(u64));
    net.channels::<u64>(Channels::new((kind, 1), (kind, 0), "0+1*4", "1+1*3 0"));
    net
}

fn command(case: &str, os_processes: usize, variables: &[(&str, &str)]) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", "program", "--ignored", "--nocapture"])
        .env(CASE, case)
        .env("GRAPHMAP_LINK", "shm")
        .env("GRAPHMAP_OS_PROCESSES", os_processes.to_string())
        .envs(variables.iter().copied())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// A program that is running, and is killed in the end.
struct Run {
    child: Child,
    out: Lines<BufReader<ChildStdout>>,
    err: Lines<BufReader<ChildStderr>>,
}

impl Run {
    fn new(case: &str, os_processes: usize, variables: &[(&str, &str)]) -> Run {
        let mut child = command(case, os_processes, variables).spawn().unwrap();
        let out = BufReader::new(child.stdout.take().unwrap()).lines();
        let err = BufReader::new(child.stderr.take().unwrap()).lines();
        Run { child, out, err }
    }

    /// The next OS process that says its number.
    fn pid(&mut self) -> u32 {
        let said = |line: std::io::Result<String>| {
            line.unwrap()
                .split("pid ")
                .nth(1)
                .map(|id| id.parse().unwrap())
        };
        self.out.by_ref().find_map(said).expect("a number")
    }

    /// What is said on standard error until all of these were, while an OS process is asked again and again: it may have
    /// been asked too early.
    #[track_caller]
    fn tells(&mut self, asked: u32, expected: &[&str]) {
        let (done, is_done) = std::sync::mpsc::channel::<()>();
        let ask = std::thread::spawn(move || {
            let kill = || {
                let id = asked.to_string();
                Command::new("kill").args(["-s", "USR1", &id]).status()
            };
            while kill().unwrap().success()
                && is_done.recv_timeout(Duration::from_millis(400))
                    == Err(RecvTimeoutError::Timeout)
            {}
        });
        let mut missing = expected.to_vec();
        let mut seen = String::new();
        while !missing.is_empty() {
            let line = self.err.next();
            let line = line
                .unwrap_or_else(|| panic!("{missing:?}: {seen}"))
                .unwrap();
            missing.retain(|told| !line.contains(told));
            seen += &(line + "\n");
        }
        drop(done);
        ask.join().unwrap();
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn who_waits_for_what_is_told_on_a_signal() {
    let mut run = Run::new("waiting", 2, &[]);
    let ids = [run.pid(), run.pid()];
    // Whichever is asked, all tell, and go on.
    for id in ids {
        run.tells(id, &[
            "farm: OS process 0 of 2: 0 ready, 3 wait",
            "s (rank 0) waits for something outside of the network",
            "w1 (rank 1) waits to read `in` from s `out`: farm.dot:3:1; another of its kind waits alike",
            "farm: OS process 1 of 2: 0 ready, 3 wait",
            "w3 (rank 3) waits to read `in` from s `out`: farm.dot:3:1; another of its kind waits alike",
            "t (rank 5) waits to read `in` from w1 `out`: farm.dot:4:1, or waits to read `in` from w2 `out`: farm.dot:4:1, or",
        ]);
    }
}

#[test]
fn who_computes_is_told_as_running() {
    let mut run = Run::new("computing", 2, &[]);
    let (first, second) = (run.pid(), run.pid());
    assert_ne!(first, second);
    run.tells(
        second,
        &[
            "farm: OS process 0 of 2: running s (rank 0, farm.dot:2:1), for longer than 300 ms",
            "farm: OS process 1 of 2: 0 ready, 3 wait",
        ],
    );
}

#[test]
fn schedulers_of_one_os_process_tell_too() {
    let threads = [("GRAPHMAP_LINK", "threads"), ("GRAPHMAP_THREADS", "2")];
    let mut run = Run::new("waiting", 2, &threads);
    let id = run.pid();
    assert_eq!(run.pid(), id);
    run.tells(id, &[
        "farm: scheduler 0: 0 ready, 3 wait",
        "scheduler 1: 0 ready, 3 wait",
        "w1 (rank 1) waits to read `in` from s `out`: farm.dot:3:1; 3 more of its kind wait alike",
        "t (rank 5) waits to read `in` from w1 `out`",
    ]);
    let mut run = Run::new("computing", 2, &threads);
    let id = run.pid();
    assert_eq!(run.pid(), id);
    run.tells(
        id,
        &[
            "running s (rank 0, farm.dot:2:1)",
            "scheduler 1: 0 ready, 3 wait",
        ],
    );
}

/// Who is asked again and again computes what it would have.
#[test]
fn to_be_asked_changes_nothing() {
    for link in ["shm", "threads"] {
        let variables = [("GRAPHMAP_LINK", link), ("GRAPHMAP_THREADS", "2")];
        let mut command = command("circle", 2, &variables);
        let mut child = command.stderr(Stdio::null()).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap()).lines();
        let pid = out.find_map(|line| line.unwrap().split("pid ").nth(1).map(str::to_string));
        let pid = pid.unwrap();
        while child.try_wait().unwrap().is_none() {
            // It may have ended in this moment.
            let kill = Command::new("kill")
                .args(["-s", "USR1", &pid])
                .stderr(Stdio::null())
                .status();
            assert!(kill.is_ok());
        }
        let rest: Vec<String> = out.map(Result::unwrap).collect();
        assert!(rest.contains(&format!("counted {ROUNDS}")), "{rest:?}");
        let ended = format!("code {:?}", std::process::ExitCode::SUCCESS);
        assert!(rest.contains(&ended), "{rest:?}");
    }
}
