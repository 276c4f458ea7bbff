//! Runs whose output cannot be written, or whose standard output stays locked.
//!
//! The program of these tests is this file, as in `os_processes.rs`.
#![cfg(not(miri))]
#![allow(clippy::print_stdout)]

use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Output, Stdio};
use std::sync::mpsc;
use std::thread;

use crate::common::itself::{CASE, Itself, Running};
use graphmap_runtime as rt;
use rt::{Exit, Names, Network};

/// This file as a program.
const ITSELF: Itself = Itself(module_path!());

#[test]
#[ignore = "run by `locked_stdout_does_not_block_the_end` and the others"]
fn program() {
    let Ok(case) = std::env::var(CASE) else {
        return;
    };
    if case == "keeps before" {
        keep();
    }
    // By now, the test harness has printed its first lines.
    if let Ok(to) = std::env::var(OUTPUT) {
        lead(&to);
    }
    let code = rt::main(|| each(&case));
    say(&format!("code {code:?}\n"));
    // The process exits here, because the test harness would print more, which can fail.
    let is = |exit: &Exit| code == std::process::ExitCode::from(*exit);
    let all = [Exit::Ok, Exit::Failed, Exit::Usage];
    let exit = all.into_iter().find(is).expect("one of these");
    std::process::exit(exit as i32);
}

/// Variable that names the file for standard output.
const OUTPUT: &str = "GRAPHMAP_TEST_OUTPUT";

/// Redirects standard output to a file.
fn lead(to: &str) {
    use std::ffi::c_int;
    use std::os::fd::AsRawFd;
    unsafe extern "C" {
        fn dup2(from: c_int, to: c_int) -> c_int;
    }
    let file = std::fs::File::options().write(true).open(to).unwrap();
    // SAFETY: `dup2` takes two file descriptors and accesses no memory. Both are open.
    assert_eq!(unsafe { dup2(file.as_raw_fd(), 1) }, 1);
}

/// Returns a network of two processes. The first acts as the case says.
fn each(case: &str) -> Network {
    let mut net = Network::new("each", "each.dot");
    let case = case.to_string();
    net.kind(
        "p",
        Names::Numbered("p", "0+1*2"),
        "0+1*2",
        &[],
        move |()| {
            let case = case.clone();
            async move {
                if rt::me().index == 0 {
                    act(&case);
                }
            }
        },
    );
    net
}

fn act(case: &str) {
    match case {
        "keeps" => keep(),
        "forgets" => std::mem::forget(std::io::stdout().lock()),
        "fails" => panic!("it is broken"),
        "deals too few" => {
            let (out, _input) = rt::Local::new().channel::<u8>(1);
            drop(rt::Scatter::from(vec![out]).write(Vec::new()));
        }
        "forgets and fails" => {
            std::mem::forget(std::io::stdout().lock());
            panic!("it is broken");
        }
        "prints" => println!("printed"),
        "prints much" => (0..20_000).for_each(|n| println!("printed {n}")),
        "prints errors" => errors(1),
        "prints many errors" => errors(20_000),
        "prints elsewhere" => {
            // A panic affects only this thread.
            let _ = thread::spawn(|| println!("printed")).join();
        }
        "catches" => {
            let _ = std::panic::catch_unwind(|| println!("printed"));
        }
        "writes" => {
            say("begins\n");
            std::io::stdin().read_line(&mut String::new()).unwrap();
            for _ in 0..20_000 {
                let _ = writeln!(std::io::stdout(), "written");
            }
        }
        _ => {}
    }
}

#[allow(clippy::print_stderr)]
fn errors(count: usize) {
    (0..count).for_each(|n| eprintln!("printed {n}"));
}

/// Starts a thread that locks standard output forever.
fn keep() {
    let (locked, is_locked) = mpsc::channel();
    thread::spawn(move || {
        let _lock = std::io::stdout().lock();
        locked.send(()).unwrap();
        loop {
            thread::park();
        }
    });
    is_locked.recv().unwrap();
}

/// Writes to standard error without its lock, and ignores errors.
fn say(text: &str) {
    let file = std::fs::File::options().append(true).open("/dev/stderr");
    let _ = file.and_then(|mut file| file.write_all(text.as_bytes()));
}

/// Links, with the number of OS processes or threads.
const LINKS: [(&str, &str); 3] = [("threads", "1"), ("threads", "2"), ("shm", "2")];

/// Returns the command that runs a case with one of the links.
fn command(case: &str, (link, count): (&str, &str)) -> Command {
    let variables = [
        ("GRAPHMAP_LINK", link),
        ("GRAPHMAP_OS_PROCESSES", count),
        ("GRAPHMAP_THREADS", count),
    ];
    let mut command = ITSELF.command(case, 1, &variables);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    // A program that exits during a run does not free its memory. The address sanitizer would
    // report this as a leak, and change the exit code.
    command.env("ASAN_OPTIONS", "detect_leaks=0");
    command
}

/// Runs a command, and returns its standard error, which contains the exit code.
fn ends(mut command: Command) -> String {
    let Output { stderr, .. } = command.output().unwrap();
    String::from_utf8(stderr).unwrap()
}

fn code(exit: Exit) -> String {
    format!("code {:?}", std::process::ExitCode::from(exit))
}

/// Locks standard output forever, in a thread that a process started or on a scheduler. The run
/// must end nevertheless.
#[test]
fn locked_stdout_does_not_block_the_end() {
    for (case, exit) in [
        ("keeps before", Exit::Ok),
        ("keeps", Exit::Ok),
        ("forgets", Exit::Ok),
        ("forgets and fails", Exit::Failed),
    ] {
        for link in LINKS {
            let said = ends(command(case, link));
            let told = format!("{case} {link:?}: {said}");
            assert!(said.contains(&code(exit)), "{told}");
            let error = "failed: panicked: it is broken";
            assert_eq!(
                said.matches(error).count(),
                usize::from(exit == Exit::Failed),
                "{told}"
            );
        }
    }
}

#[test]
fn a_backtrace_has_the_frames_of_the_process_and_none_of_ours() {
    for (form, ours) in [("1", false), ("full", true)] {
        let mut command = command("fails", LINKS[0]);
        command.env("RUST_BACKTRACE", form);
        let said = ends(command);
        // With some symbol manglings, the full form has a hash after the name of each crate.
        let has = |a: &str, b: &str| {
            let after = said.split(a).skip(1);
            let is_number = |between: &str| {
                between.is_empty() || between.starts_with('[') && between.ends_with(']')
            };
            after
                .filter_map(|after| after.split_once(b))
                .any(|(between, _)| is_number(between))
        };
        // With line tables only, a frame has just the name of the function.
        let is_there = has("printed", "::act") || said.lines().any(|line| line.ends_with(" act"));
        assert!(is_there, "{said}");
        assert_eq!(has("graphmap_runtime", "::"), ours, "{said}");
    }
}

#[test]
fn a_row_of_another_length_is_reported_at_its_write() {
    let said = ends(command("deals too few", LINKS[0]));
    assert!(
        said.contains("panicked at modules/runtime/tests/suite/printed.rs:"),
        "{said}"
    );
}

/// Prints to a full device, from a process, its threads, and within `catch_unwind`.
#[test]
fn failed_prints_end_the_program_with_2() {
    let full = || std::fs::File::options().write(true).open("/dev/full");
    for case in [
        "prints",
        "prints much",
        "prints elsewhere",
        "catches",
        "prints errors",
        "prints many errors",
    ] {
        let errors = case.ends_with("errors");
        for link in LINKS {
            let mut command = command(case, link);
            match errors {
                true => command.stderr(full().unwrap()),
                // The test harness of each copy would report the error instead.
                false if link.0 == "shm" => continue,
                false => command.env(OUTPUT, "/dev/full"),
            };
            let output = command.output().unwrap();
            let told = format!("{case} {link:?}: {output:?}");
            assert_eq!(output.status.code(), Some(Exit::Usage as i32), "{told}");
            let said = String::from_utf8(output.stderr).unwrap();
            let why = "error: cannot write the output of the processes: No space left on device";
            assert_eq!(said.matches(why).count(), usize::from(!errors), "{told}");
            assert!(!said.contains("Broken pipe"), "{told}");
        }
    }
}

/// Writes to standard output after its reader has closed it, and ignores the error.
#[test]
fn ignoring_closed_stdout_succeeds() {
    for link in &LINKS[..2] {
        let mut child = Running::start(command("writes", *link).stdin(Stdio::piped()));
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().contains("begins")));
        drop(child.stdout.take());
        child.stdin.take().unwrap().write_all(b"go on\n").unwrap();
        let rest: Vec<String> = lines.map(Result::unwrap).collect();
        let told = format!("{link:?}: {rest:?}");
        assert_eq!(child.wait().unwrap().code(), Some(0), "{told}");
        assert!(!rest.iter().any(|line| line.contains("error: ")), "{told}");
    }
}

#[test]
fn a_table_that_cannot_be_written_is_no_success() {
    let mut command = command("", LINKS[0]);
    let full = std::fs::File::options().write(true).open("/dev/full");
    command.env("GRAPHMAP_STATS", "1").stderr(full.unwrap());
    assert_eq!(
        command.output().unwrap().status.code(),
        Some(Exit::Usage as i32)
    );
}
