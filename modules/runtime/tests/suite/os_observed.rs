//! Observation of a run from outside: the states of its processes, its output streams, and its
//! cores.
//!
//! The program of these tests is this file, as in `os_processes.rs`.
#![cfg(not(miri))]
#![allow(clippy::print_stdout)]

use std::future::pending;
use std::io::{BufRead, BufReader, Lines, Read};
use std::process::{ChildStderr, ChildStdout, Command, Stdio};
use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use crate::common::itself::{CASE, Itself, Running};
use crate::common::{BOTH, Both};
use graphmap_runtime as rt;
use rt::{Channels, Names, Network, Stopped};

/// This file as a program.
const ITSELF: Itself = Itself(module_path!());

#[test]
#[ignore = "run by `computing_processes_are_reported_as_running` and the others"]
fn program() {
    let Ok(case) = std::env::var(CASE) else {
        return;
    };
    let of = case.clone();
    let code = rt::main(|| match of.as_str() {
        "computing alone" => alone(),
        "joining" => joining(),
        "waiting" => farm(false),
        "computing" => farm(true),
        "circle" => circle(),
        "sleeping" => each_async(|| async {
            println!("pid {}", std::process::id());
            rt::sleep(Duration::from_secs(600)).await;
        }),
        "prints" => each(|rank| {
            for line in 0..LINES {
                println!("out {rank} {line} {}", "x".repeat(line % 300));
                write_stderr(&format!("err {rank} {line} {}\n", "y".repeat(line % 300)));
            }
            print!("the end of {rank}");
        }),
        "endless" => each(|rank| {
            loop {
                println!("line of {rank}");
            }
        }),
        "cores" => each(|rank| {
            println!("rank {rank} is on {:?}", rt::me().core);
        }),
        other => panic!("no case {other}"),
    });
    match case.as_str() {
        // Standard output was closed by its reader.
        "endless" => write_stderr(&format!("code {code:?}\n")),
        _ => println!("code {code:?}"),
    }
}

/// Returns a farm whose workers wait for tasks that never arrive, and whose sink waits for the
/// workers. The source waits, or keeps its scheduler busy. It sleeps instead of computing, because
/// computing would slow other tests down.
fn farm(computes: bool) -> Network {
    let mut net = Network::new("farm", "farm.dot");
    let source = move |p: Both<u64>| async move {
        println!("pid {}", std::process::id());
        let end = Instant::now() + Duration::from_secs(600);
        while computes && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(5));
        }
        // Keeps a waker in another thread. Otherwise, the run would report a deadlock.
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

/// Returns a network whose first process keeps its scheduler busy while the second waits for its
/// token and the third has ended.
fn alone() -> Network {
    let mut net = Network::new("alone", "alone.dot");
    let process = |mut p: Both<u64>| async move {
        match rt::me().rank {
            0 => {
                for _ in 0..9 {
                    rt::yield_now().await;
                }
                std::thread::sleep(Duration::from_secs(15));
                p.outs[0].write(1).await?;
            }
            1 => println!("read {:?}", p.ins[0].read().await.unwrap()),
            _ => {}
        }
        Ok::<(), Stopped>(())
    };
    let names = Names::Numbered("p", "0+1*3");
    let kind = net.kind("p", names, "0+1*3", BOTH, process);
    net.channels::<u64>(Channels::new((kind, 1), (kind, 0), "0", "1"));
    net
}

/// Returns a network whose only process joins a thread that waits for it.
fn joining() -> Network {
    let mut net = Network::new("joining", "joining.dot");
    let process = |_: Both<u64>| async move {
        let rank = rt::mpi::world()?.endpoints(1).await?.remove(0);
        let rank = rank.into_thread();
        let joined = std::thread::spawn(move || rank.barrier()).join();
        println!("joined {joined:?}");
        Ok::<(), rt::mpi::Error>(())
    };
    net.kind("p", Names::Numbered("p", "0"), "0", BOTH, process);
    net
}

const LINES: usize = 2000;

/// Writes to standard error, without the capture of the test harness.
fn write_stderr(text: &str) {
    use std::io::Write;
    std::fs::File::options()
        .append(true)
        .open("/dev/stderr")
        .unwrap()
        .write_all(text.as_bytes())
        .unwrap();
}

/// Returns a network of four unconnected processes that each call `f`.
fn each(f: impl Fn(usize) + Send + Sync + 'static) -> Network {
    let mut net = Network::new("each", "each.dot");
    let all = "0+1*4";
    let f = std::sync::Arc::new(f);
    net.kind("p", Names::Numbered("p", all), all, &[], move |()| {
        let f = std::sync::Arc::clone(&f);
        async move { f(rt::me().rank) }
    });
    net
}

/// Returns a network of four unconnected processes that each run the future that `f` returns.
fn each_async<F: Future<Output = ()> + 'static>(
    f: impl Fn() -> F + Send + Sync + 'static,
) -> Network {
    let mut net = Network::new("each", "each.dot");
    let all = "0+1*4";
    net.kind("p", Names::Numbered("p", all), all, &[], move |()| f());
    net
}

const ROUNDS: u64 = 39_999;

/// Returns a ring in which one token circulates and counts its steps.
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

/// Returns the command that runs a case, with both output streams piped.
fn command(case: &str, os_processes: usize, variables: &[(&str, &str)]) -> Command {
    let mut command = ITSELF.command(case, os_processes, variables);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// A running program, which is killed on drop.
struct Run {
    _child: Running,
    out: Lines<BufReader<ChildStdout>>,
    err: Lines<BufReader<ChildStderr>>,
}

impl Run {
    fn new(case: &str, os_processes: usize, variables: &[(&str, &str)]) -> Run {
        let mut child = Running::start(&mut command(case, os_processes, variables));
        let out = BufReader::new(child.stdout.take().unwrap()).lines();
        let err = BufReader::new(child.stderr.take().unwrap()).lines();
        Run {
            _child: child,
            out,
            err,
        }
    }

    /// Returns the id that the next OS process prints.
    fn pid(&mut self) -> u32 {
        let said = |line: std::io::Result<String>| {
            line.unwrap()
                .split("pid ")
                .nth(1)
                .map(|id| id.parse().unwrap())
        };
        self.out.by_ref().find_map(said).expect("a number")
    }

    /// Sends `SIGUSR1` to an OS process repeatedly until standard error contains all expected
    /// texts. One signal is not enough, because it may arrive too early.
    #[track_caller]
    fn expect_report(&mut self, asked: u32, expected: &[&str]) {
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

#[test]
fn waits_are_reported_on_a_signal() {
    let mut run = Run::new("waiting", 2, &[]);
    let ids = [run.pid(), run.pid()];
    // A signal to either OS process makes both print their report, and the run continues.
    for id in ids {
        run.expect_report(id, &[
            "farm: OS process 0 of 2: 0 ready, 3 waiting",
            "s (rank 0) waits for an event outside the network",
            "w1 (rank 1) waits to read `in` from s `out`: farm.dot:3:1; another process of its \
             kind waits in the same way",
            "farm: OS process 1 of 2: 0 ready, 3 waiting",
            "w3 (rank 3) waits to read `in` from s `out`: farm.dot:3:1; another process of its \
             kind waits in the same way",
            "t (rank 5) waits to read `in` from w1 `out`: farm.dot:4:1, or waits to read `in` from w2 `out`: farm.dot:4:1, or",
        ]);
    }
}

#[test]
fn sleeping_processes_are_reported_with_the_call() {
    let mut run = Run::new("sleeping", 2, &[]);
    let id = run.pid();
    let waits = format!("p0 (rank 0) waits in sleep: {}", file!());
    run.expect_report(
        id,
        &[
            "each: OS process 0 of 2: 0 ready, 2 waiting",
            &waits,
            "each: OS process 1 of 2: 0 ready, 2 waiting",
        ],
    );
}

#[test]
fn computing_processes_are_reported_as_running() {
    let mut run = Run::new("computing", 2, &[]);
    let (first, second) = (run.pid(), run.pid());
    assert_ne!(first, second);
    run.expect_report(
        second,
        &[
            "farm: OS process 0 of 2: long poll of s (rank 0, farm.dot:2:1)",
            "farm: OS process 1 of 2: 0 ready, 3 waiting",
        ],
    );
}

/// Checks that the report appears without a signal.
#[test]
fn busy_schedulers_are_reported() {
    let mut run = Run::new("computing", 2, &[]);
    let told = "farm: s (rank 0, farm.dot:2:1) has kept its scheduler busy for 1";
    let line = run
        .err
        .find_map(|line| line.ok().filter(|line| line.contains("has kept")));
    let line = line.expect("it is told");
    assert!(
        line.starts_with(told) && line.contains("`yield_now().await`"),
        "{line}"
    );
}

/// Joins a thread that calls the process, so that both wait forever. The report must suggest
/// `OnThread`.
#[test]
fn joins_of_calling_threads_are_reported() {
    let mut run = Run::new("joining", 1, &[]);
    let line = run
        .err
        .find_map(|line| line.ok().filter(|line| line.contains("has kept")));
    let line = line.expect("it is told");
    assert!(
        line.starts_with("joining: p0 (rank 0) has kept its scheduler busy for 1")
            && line.contains("await `OnThread`"),
        "{line}"
    );
}

/// Checks that there is no report if no process is ready to run: one has ended, and the others wait
/// for a token of the busy one.
#[test]
fn busy_schedulers_without_ready_processes_are_not_reported() {
    let mut run = Run::new("computing alone", 1, &[]);
    let told: Vec<String> = run.err.by_ref().map(Result::unwrap).collect();
    assert!(
        !told.iter().any(|line| line.contains("has kept")),
        "{told:?}"
    );
    assert!(run.out.any(|line| line.unwrap().contains("read 1")));
}

#[test]
fn schedulers_of_one_os_process_report_too() {
    let threads = [("GRAPHMAP_LINK", "threads"), ("GRAPHMAP_THREADS", "2")];
    let mut run = Run::new("waiting", 2, &threads);
    let id = run.pid();
    assert_eq!(run.pid(), id);
    run.expect_report(id, &[
        "farm: scheduler 0: 0 ready, 3 waiting",
        "scheduler 1: 0 ready, 3 waiting",
        "w1 (rank 1) waits to read `in` from s `out`: farm.dot:3:1; 3 more processes of its kind wait in the same way",
        "t (rank 5) waits to read `in` from w1 `out`",
    ]);
    let mut run = Run::new("computing", 2, &threads);
    let id = run.pid();
    assert_eq!(run.pid(), id);
    run.expect_report(
        id,
        &[
            "long poll of s (rank 0, farm.dot:2:1)",
            "scheduler 1: 0 ready, 3 waiting",
        ],
    );
}

/// Checks that a lack of progress is reported by several OS processes, although they exchange
/// messages at any time.
#[test]
fn lack_of_progress_is_reported() {
    for schedulers in ["1", "2"] {
        let mut run = Run::new("waiting", 3, &[("GRAPHMAP_SCHEDULERS", schedulers)]);
        let told = |line: std::io::Result<String>| line.unwrap().contains("no progress");
        let mut lines = run.err.by_ref().take(20);
        assert!(lines.any(told), "{schedulers}");
    }
}

/// Requests reports repeatedly, and checks that the result of the network is unchanged.
#[test]
fn reports_do_not_change_results() {
    for link in ["shm", "threads"] {
        let variables = [("GRAPHMAP_LINK", link), ("GRAPHMAP_THREADS", "2")];
        let mut command = command("circle", 2, &variables);
        let mut child = Running::start(command.stderr(Stdio::null()));
        let mut out = BufReader::new(child.stdout.take().unwrap()).lines();
        let pid = out.find_map(|line| line.unwrap().split("pid ").nth(1).map(str::to_string));
        let pid = pid.unwrap();
        while child.try_wait().unwrap().is_none() {
            // The program may have ended already, so `kill` may fail.
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

/// Runs a case with standard error redirected to standard output. Returns the lines, which are read
/// after `wait`, and the exit code.
fn printed(case: &str, variables: &[(&str, &str)], wait: Duration) -> (Vec<String>, Option<i32>) {
    let (reader, writer) = std::io::pipe().unwrap();
    let mut command = command(case, 4, variables);
    command.stderr(writer.try_clone().unwrap()).stdout(writer);
    let mut child = Running::start(&mut command);
    drop(command);
    std::thread::sleep(wait);
    let lines = BufReader::new(reader).lines().map(Result::unwrap).collect();
    (lines, child.wait().unwrap().code())
}

/// Checks that each OS process after the first writes to its own two files.
#[test]
fn streams_are_those_that_a_variable_names() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("streams");
    std::fs::create_dir_all(&folder).unwrap();
    let names: Vec<_> = (1..4)
        .flat_map(|me| [format!("out{me}"), format!("err{me}")])
        .map(|name| folder.join(name).to_str().unwrap().to_string())
        .collect();
    let streams = |count: usize| {
        for name in &names {
            std::fs::write(name, "").unwrap();
        }
        printed(
            "prints",
            &[(STREAMS, &names[..count].join(" "))],
            Duration::ZERO,
        )
    };
    let (lines, _) = streams(6);
    for (at, name) in names.iter().enumerate() {
        let start = format!("{} {} ", ["out", "err"][at % 2], at / 2 + 1);
        assert!(!lines.iter().any(|line| line.starts_with(&start)));
        let text = std::fs::read_to_string(name).unwrap();
        let printed = text.lines().filter(|line| line.starts_with(&start));
        assert_eq!(printed.count(), LINES, "{name}");
    }
    for (count, told) in [
        (
            4,
            "GRAPHMAP_STREAMS names the streams of 3 OS processes, but the run has 4",
        ),
        (5, "expected two files for each OS process after the first"),
    ] {
        let (lines, _) = streams(count);
        assert!(lines.iter().any(|line| line.ends_with(told)), "{lines:?}");
    }
}

const STREAMS: &str = "GRAPHMAP_STREAMS";

/// Closes standard output early, like `| head`.
#[test]
fn closed_stdout_ends_the_run() {
    let mut child = Running::start(&mut command("endless", 4, &[]));
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    // Waits until all four have printed. The first lines are from the test harness.
    let mut silent: Vec<_> = (0..4).map(|rank| format!("line of {rank}")).collect();
    while !silent.is_empty() {
        let line = lines.next().expect("it goes on").unwrap();
        silent.retain(|said| !line.contains(said));
    }
    drop(lines);
    let mut told = String::new();
    let mut err = child.stderr.take().unwrap();
    err.read_to_string(&mut told).unwrap();
    // Other Unix programs also end without a message and with the code of SIGPIPE.
    assert!(
        told.contains("code ExitCode(unix_exit_status(141))"),
        "{told}"
    );
    assert!(
        !told.contains("cannot be written") && !told.contains("panicked"),
        "{told}"
    );
}

/// Returns the cores on which this program may run.
fn allowed() -> Vec<u32> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let mut lines = status.lines();
    let list = lines
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"))
        .unwrap();
    let ranges = list.trim().split(',').flat_map(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        first.parse::<u32>().unwrap()..=last.parse().unwrap()
    });
    ranges.collect()
}

#[test]
fn os_processes_have_cores_of_their_own() {
    let allowed = allowed();
    let [first, .., last] = *allowed else {
        // With one core, all OS processes are on it.
        let (lines, _) = printed("cores", &[], Duration::ZERO);
        let on = lines
            .iter()
            .filter(|line| line.ends_with(&format!("is on {:?}", Some(allowed[0]))));
        assert_eq!(on.count(), 4, "{lines:?}");
        return;
    };
    let cores = |variables: &[(&str, &str)]| {
        let both = [("GRAPHMAP_OS_PROCESSES", "2"), ("GRAPHMAP_STATS", "1")];
        let (lines, _) = printed("cores", &[&both, variables].concat(), Duration::ZERO);
        let of = |rank: usize| {
            let said = format!("rank {rank} is on ");
            let found = lines.iter().find_map(|line| line.split_once(&said));
            found.unwrap_or_else(|| panic!("{lines:?}")).1.to_string()
        };
        assert_eq!((of(0), of(2)), (of(1), of(3)));
        let mut lines = lines
            .iter()
            .skip_while(|line| !line.starts_with("scheduler"));
        let is_told = lines.next().is_some_and(|head| head.ends_with(" core"));
        let last = |row: &String| row.split_whitespace().last().unwrap().to_owned();
        let told: Option<Vec<String>> = is_told.then(|| lines.take(2).map(last).collect());
        (of(0), of(2), told)
    };
    let (one, other, told) = cores(&[]);
    assert_ne!(one, other);
    let number = |core: &str| {
        core.trim_matches(|c: char| !c.is_ascii_digit())
            .parse()
            .unwrap()
    };
    let numbers: [u32; 2] = [number(&one), number(&other)];
    assert!(numbers.iter().all(|core| allowed.contains(core)));
    assert_eq!(told, Some(numbers.map(|core| core.to_string()).to_vec()));
    let (one, other, _) = cores(&[("GRAPHMAP_CORES", &format!("{last} {first}"))]);
    assert_eq!((number(&one), number(&other)), (last, first));
    // Cores that this machine does not have.
    let (one, other, _) = cores(&[("GRAPHMAP_CORES", "0 8000")]);
    assert_ne!(one, other);
    let none = "None".to_string();
    assert_eq!(cores(&[("GRAPHMAP_PIN", "0")]), (none.clone(), none, None));
}
