//! Output files of a run: their paths, links and special files, and errors while they are written.
//!
//! The program of these tests is this file, as in `os_processes.rs`.
#![cfg(not(miri))]
#![allow(clippy::print_stdout)]

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::common::itself::{CASE, Itself, Running};
use crate::common::json::Json;
use crate::common::{BOTH, Both};
use graphmap_runtime as rt;
use rt::{Channels, Exit, Names, Network, Stopped};

/// This file as a program.
const ITSELF: Itself = Itself(module_path!());

#[test]
#[ignore = "run by `files_below_dev_are_files` and the others"]
fn program() {
    let Ok(case) = std::env::var(CASE) else {
        return;
    };
    let code = rt::main(|| pipe(&case));
    println!("code {code:?}");
}

/// Number of tokens.
const TOKENS: u64 = 2000;

/// Returns a network in which a writer sends tokens to a reader. The reader acts as the case says
/// after the last token.
fn pipe(case: &str) -> Network {
    let mut net = Network::new("pipe", "pipe.dot");
    let writer = |mut p: Both<u64>| async move {
        for n in 0..TOKENS {
            p.outs[0].write(n).await?;
        }
        Ok::<(), Stopped>(())
    };
    let case = case.to_string();
    let reader = move |mut p: Both<u64>| {
        let case = case.clone();
        async move {
            while p.ins[0].read().await.is_some() {}
            println!("read all");
            match &*case {
                "fails" => panic!("it is broken"),
                "goes elsewhere" => std::env::set_current_dir("/").unwrap(),
                _ => {}
            }
        }
    };
    let writer = net.kind("writer", Names::Listed(&["w"]), "0", BOTH, writer);
    let reader = net.kind("reader", Names::Listed(&["r"]), "1", BOTH, reader);
    net.payload(rt::format_of!(u64));
    net.channels::<u64>(Channels::new((writer, 1), (reader, 0), "0", "0"));
    net
}

const STATS: &str = "GRAPHMAP_STATS";
const PROFILE: &str = "GRAPHMAP_PROFILE";
const TRACE: &str = "GRAPHMAP_TRACE";

/// Returns an empty folder.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("outputs")
        .join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn command(case: &str, folder: &Path, variables: &[(&str, &str)]) -> Command {
    let mut command = ITSELF.command(case, 1, variables);
    command.current_dir(folder);
    command
}

/// Returns the standard output of a program, followed by its standard error.
fn says(case: &str, folder: &Path, variables: &[(&str, &str)]) -> String {
    let output = command(case, folder, variables).output().unwrap();
    String::from_utf8([output.stdout, output.stderr].concat()).unwrap()
}

fn code(exit: Exit) -> String {
    format!("code {:?}", std::process::ExitCode::from(exit))
}

/// Checks that a file contains a complete trace.
#[track_caller]
fn is_trace(file: &Path) {
    let json = Json::parse(&fs::read_to_string(file).unwrap());
    assert!(json.get("traceEvents").list().len() > 10);
}

/// Writes outputs to files in `/dev/shm`. The kind of the file decides how it is written, not its
/// path.
#[test]
fn files_below_dev_are_files() {
    let memory = Path::new("/dev/shm");
    if !memory.is_dir() {
        return;
    }
    let folder = memory.join(format!("graphmap-outputs-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let name = folder.join("trace.json").to_str().unwrap().to_string();
    let around = format!("/dev/../{name}");
    for name in [&name, &name, &around, &"trace.json".to_string()] {
        let said = says("", &folder, &[(TRACE, name)]);
        assert!(said.contains(&code(Exit::Ok)), "{said}");
        is_trace(&folder.join("trace.json"));
    }
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    fs::remove_dir_all(folder).unwrap();
}

/// Writes a trace to standard output, under several names. Neither the trace nor the other output
/// may be lost.
#[test]
fn traces_to_standard_output_are_complete() {
    let folder = folder("own");
    symlink("/dev/stdout", folder.join("link")).unwrap();
    symlink("link", folder.join("chain")).unwrap();
    symlink("/proc/self/fd/1", folder.join("shown")).unwrap();
    let file = folder.join("printed");
    for name in [
        "link",
        "chain",
        "shown",
        "/dev/stdout",
        "/dev/fd/1",
        "printed",
    ] {
        let mut command = command("", &folder, &[(TRACE, name)]);
        let out = fs::File::create(&file).unwrap();
        assert!(command.stdout(out).status().unwrap().success());
        let printed = fs::read_to_string(&file).unwrap();
        let code = code(Exit::Ok);
        let lines: Vec<_> = printed.lines().collect();
        assert!(lines.contains(&"read all"), "{name}: {printed}");
        // The trace must be complete.
        let from = lines.iter().position(|line| line.starts_with('{')).unwrap();
        let to = lines.iter().position(|line| line.contains(&code)).unwrap();
        Json::parse(&lines[from..to].join("\n"));
    }
}

#[test]
fn a_link_that_leads_nowhere_yet_is_followed() {
    let folder = folder("dangling");
    symlink("target", folder.join("link")).unwrap();
    for _ in 0..2 {
        let said = says("", &folder, &[(TRACE, "link")]);
        assert!(said.contains(&code(Exit::Ok)), "{said}");
        assert!(folder.join("link").is_symlink());
        is_trace(&folder.join("target"));
    }
}

/// Checks that relative paths refer to the folder in which the run started, even if a process
/// changes the current folder.
#[test]
fn a_path_is_as_seen_from_where_the_run_begins() {
    let folder = folder("elsewhere");
    let said = says(
        "goes elsewhere",
        &folder,
        &[(TRACE, "t"), (STATS, "json:s")],
    );
    assert!(said.contains(&code(Exit::Ok)), "{said}");
    is_trace(&folder.join("t"));
    assert!(folder.join("s").is_file());
}

#[test]
fn an_unwritable_output_does_not_affect_the_others() {
    let folder = folder("full");
    let (all, full) = (
        [(STATS, "json:s"), (PROFILE, "p"), (TRACE, "t")],
        "/dev/full",
    );
    for (at, what) in ["the statistics", "the profile", "the trace"]
        .iter()
        .enumerate()
    {
        let mut variables = all;
        variables[at].1 = if at == 0 { "json:/dev/full" } else { full };
        for name in ["s", "p", "t"] {
            let _ = fs::remove_file(folder.join(name));
        }
        let said = says("", &folder, &variables);
        assert!(said.contains(&code(Exit::Usage)), "{said}");
        let told = format!("error: {full}: cannot write {what}: No space left on device");
        assert_eq!(said.matches(&told).count(), 1, "{said}");
        let there: Vec<bool> = ["s", "p", "t"]
            .map(|name| folder.join(name).is_file())
            .to_vec();
        let expected: Vec<bool> = (0..3).map(|other| other != at).collect();
        assert_eq!(there, expected, "{what}: {said}");
    }
    let full = [(STATS, "json:/dev/full"), (PROFILE, full), (TRACE, full)];
    let said = says("", &folder, &full);
    assert_eq!(said.matches("error: ").count(), 3, "{said}");
}

/// Checks that the error of the run is printed before the trace is written. The trace waits for a
/// reader of the FIFO.
#[test]
fn the_error_of_a_run_is_reported_first() {
    let folder = folder("fails");
    let fifo = folder.join("fifo");
    assert!(
        Command::new("mkfifo")
            .arg(&fifo)
            .status()
            .unwrap()
            .success()
    );
    for (link, count) in [("threads", "1"), ("shm", "2")] {
        let variables = [
            (TRACE, "fifo"),
            ("GRAPHMAP_LINK", link),
            ("GRAPHMAP_OS_PROCESSES", count),
        ];
        let mut command = command("fails", &folder, &variables);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = Running::start(&mut command);
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let told = lines.find(|line| line.as_ref().unwrap().contains("error: process r (rank 1"));
        assert!(told.is_some());
        let mut trace = String::new();
        fs::File::open(&fifo)
            .unwrap()
            .read_to_string(&mut trace)
            .unwrap();
        assert!(Json::parse(&trace).get("traceEvents").list().len() > 10);
        let rest: Vec<String> = lines.map(Result::unwrap).collect();
        assert!(
            !rest.iter().any(|line| line.contains("error: ")),
            "{rest:?}"
        );
        let mut out = String::new();
        child
            .stdout
            .take()
            .unwrap()
            .read_to_string(&mut out)
            .unwrap();
        assert!(out.contains(&code(Exit::Failed)), "{out}");
        child.wait().unwrap();
    }
}

/// Limits the size of files. The error is reported, and the incomplete file is removed.
#[test]
fn files_above_the_size_limit_are_reported() {
    let folder = folder("large");
    let program = command("", &folder, &[(TRACE, "t"), (STATS, "json:s")]);
    let mut command = Command::new("sh");
    command
        .args(["-c", "ulimit -f 20; exec \"$0\" \"$@\""])
        .arg(program.get_program())
        .args(program.get_args())
        .envs(
            program
                .get_envs()
                .filter_map(|(name, value)| Some((name, value?))),
        )
        .current_dir(&folder);
    let output = command.output().unwrap();
    let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
    assert!(
        said.contains("error: t: cannot write the trace: File too large"),
        "{said}"
    );
    assert!(said.contains(&code(Exit::Usage)), "{said}");
    let there = fs::read_dir(&folder)
        .unwrap()
        .map(|file| file.unwrap().file_name());
    assert_eq!(there.collect::<Vec<_>>(), ["s"]);
}
