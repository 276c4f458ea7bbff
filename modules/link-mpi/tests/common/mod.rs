//! Jobs of the MPI that the example program `cases` is linked to, on this host and on others.
//!
//! Hosts are network namespaces with their own names and interfaces ([`Hosts`]). Launchers reach
//! them by a script instead of ssh. MPI has to use TCP, because it would otherwise use shared
//! memory between them. If a machine does not allow namespaces, the test reports that.
#![allow(dead_code, reason = "each test file uses its part")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use graphmap_testing::{Hosts, prepare_launcher};

/// MPI implementation.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Mpi {
    Mpich,
    Open,
}

/// Returns the path of the example program, which cargo builds beside this test.
pub(crate) fn program() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let folder = test.parent().and_then(Path::parent).unwrap();
    folder.join("examples/cases")
}

pub(crate) fn mpi() -> Mpi {
    static MPI: OnceLock<Mpi> = OnceLock::new();
    *MPI.get_or_init(|| {
        let bytes = fs::read(program()).expect("cargo builds the examples with the tests");
        let mut names = bytes.split(|&byte| byte == 0);
        // The libraries of both may be called libmpi.so. Only Open MPI has this object.
        match names.any(|name| name == b"ompi_mpi_comm_world") {
            true => Mpi::Open,
            false => Mpi::Mpich,
        }
    })
}

/// Returns the launcher of an MPI. `MPIEXEC` overrides it for the MPI that the program is linked
/// to.
pub(crate) fn mpiexec(of: Mpi) -> String {
    let own = std::env::var("MPIEXEC").ok().filter(|_| of == mpi());
    own.unwrap_or_else(|| usual(of).to_owned())
}

/// Returns the name of the launcher on Debian.
pub(crate) fn usual(of: Mpi) -> &'static str {
    match of {
        Mpi::Mpich => "mpiexec.mpich",
        Mpi::Open => "mpiexec.openmpi",
    }
}

/// Returns true if the launcher is of version 5. The launcher of Open MPI 5 is another program than
/// before, with other option names.
pub(crate) fn is_fifth() -> bool {
    static IS: OnceLock<bool> = OnceLock::new();
    *IS.get_or_init(|| {
        let output = Command::new(mpiexec(mpi())).arg("--version").output();
        let said = finish(output.expect("the launcher starts")).1;
        let words = said.split_whitespace();
        let mut versions = words.filter(|word| word.split('.').count() == 3);
        versions
            .next()
            .is_some_and(|version| version.starts_with("5."))
    })
}

/// Prepares a launcher to start more OS processes than slots, as any user.
pub(crate) fn prepare(command: &mut Command) -> &mut Command {
    prepare_launcher(command, Path::new(env!("CARGO_TARGET_TMPDIR")))
        .env("OMPI_MCA_rmaps_base_oversubscribe", "1")
        .env("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe")
        .env("RUST_BACKTRACE", "0")
}

/// Variable that selects whether OS processes of a host share memory.
pub(crate) const SHARED_MEMORY: &str = "GRAPHMAP_SHARED_MEMORY";

/// Runs a case, and returns its exit code and output. All messages use MPI unless `variables`
/// change that.
pub(crate) fn start(case: &str, count: usize, variables: &[(&str, &str)]) -> (i32, String) {
    let mut command = Command::new(mpiexec(mpi()));
    // Each variable is passed once, with its last value, because a launcher may reject duplicates.
    let mut all = BTreeMap::from([(SHARED_MEMORY, "0")]);
    all.extend(variables.iter().copied());
    prepare(&mut command)
        .envs(&all)
        .args(["-n", &count.to_string()]);
    if mpi() == Mpi::Open {
        for name in all.keys() {
            command.args(["-x", name]);
        }
    }
    finish(command.arg(program()).arg(case).output().unwrap())
}

/// Returns the exit code and all output.
pub(crate) fn finish(output: Output) -> (i32, String) {
    let said = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    // A launcher may end by the signal that ended its program.
    let code = output.status.code().unwrap_or(-1);
    (code, said(output.stdout) + &said(output.stderr))
}

#[track_caller]
pub(crate) fn assert_ends(case: &str, count: usize, code: i32, expected: &[&str]) {
    let (got, said) = start(case, count, &[]);
    check(case, code, expected, got, &said);
}

/// Checks that the processes of a case compute the same in each number of OS processes as in one.
#[track_caller]
pub(crate) fn assert_ends_alike(case: &str, counts: &[usize], variables: &[(&str, &str)]) {
    let ends = |count: usize| {
        let (code, said) = start(case, count, variables);
        assert_eq!(code, 0, "{case} {count}: {said}");
        let lines = said.lines().filter(|line| line.starts_with("end "));
        let mut lines: Vec<String> = lines.map(str::to_string).collect();
        lines.sort();
        lines
    };
    let alone = ends(1);
    assert!(!alone.is_empty());
    for &count in counts {
        assert_eq!(ends(count), alone, "{case} {count}");
    }
}

#[track_caller]
pub(crate) fn check(case: &str, code: i32, expected: &[&str], got: i32, said: &str) {
    assert_eq!(got, code, "{case}: {said}");
    for expected in expected {
        assert!(said.contains(expected), "{case}: no `{expected}` in {said}");
    }
    let errors = said.lines().filter(|line| line.starts_with("error: "));
    // There is one cause. An OS process that could not ask the others may report it, too, if the
    // launcher ends it late.
    let causes: BTreeSet<&str> = errors.collect();
    assert_eq!(causes.len(), usize::from(code != 0), "{case}: {said}");
}

/// Returns true if an OS process exists and is not a zombie.
pub(crate) fn lives(id: u32) -> bool {
    fs::read_to_string(format!("/proc/{id}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

/// Creates hosts with their own folder. Returns `None` if the machine does not allow that.
#[track_caller]
pub(crate) fn hosts(count: usize) -> Option<Hosts> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let name = format!("{:?}-{}-{number}", mpi(), std::process::id());
    Hosts::new(&Path::new(env!("CARGO_TARGET_TMPDIR")).join(name), count)
}

/// Returns a command that starts OS processes on these hosts from the first host.
pub(crate) fn launcher(hosts: &Hosts, places: &[usize]) -> Command {
    let mut command = hosts.on_first(&mpiexec(mpi()));
    prepare(&mut command).env("UCX_TLS", "tcp");
    let (agent, file) = (hosts.agent(), hosts.folder.join("places"));
    let lines = places.iter().map(|place| format!("h{}", place + 1));
    match mpi() {
        Mpi::Mpich => {
            let text: String = lines.map(|host| format!("{host}:1\n")).collect();
            fs::write(&file, text).unwrap();
            command.args(["-launcher", "ssh", "-launcher-exec"]);
            command.arg(agent).arg("-f").arg(file);
            command.args(["-n", &places.len().to_string()]);
        }
        Mpi::Open => {
            let mut slots = BTreeMap::new();
            lines
                .clone()
                .for_each(|host| *slots.entry(host).or_insert(0) += 1);
            let text: String = slots
                .iter()
                .map(|(host, n)| format!("{host} slots={n}\n"))
                .collect();
            fs::write(&file, text).unwrap();
            let ranks = hosts.folder.join("ranks");
            let text: String = lines
                .enumerate()
                .map(|(rank, host)| format!("rank {rank}={host} slot=0\n"))
                .collect();
            fs::write(&ranks, text).unwrap();
            command.args(["--mca", "btl_tcp_if_include", "net0"]);
            command.arg("--hostfile").arg(file);
            if is_fifth() {
                command.args(["--prtemca", "plm_ssh_agent"]).arg(agent);
                command.args(["--prtemca", "prte_if_include", "net0"]);
                let by = format!("rankfile:FILE={}", ranks.display());
                command.args(["--map-by", &by, "-n", &places.len().to_string()]);
            } else {
                command.args(["--mca", "plm_rsh_agent"]).arg(agent);
                command.args(["--mca", "oob_tcp_if_include", "net0"]);
                command.arg("--rankfile").arg(ranks);
            }
            command.args(["-x", "RUST_BACKTRACE"]);
        }
    }
    command
}
