//! Real jobs of the MPI that the example program `cases` is linked to, started by its `mpiexec`.
//!
//! Hosts are network namespaces with names and interfaces of their own (`hosts.sh`), which launchers reach by a script
//! instead of ssh; MPI is told to use TCP, as it would find shared memory between them. Where a machine does not
//! allow that, the jobs run on this host alone, and the test says so.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use graphmap_testing::{Need, skip};

/// The two MPIs.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Mpi {
    Mpich,
    Open,
}

/// The example program beside this test.
fn program() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let folder = test.parent().and_then(Path::parent).unwrap();
    folder.join("examples/cases")
}

fn mpi() -> Mpi {
    let bytes = fs::read(program()).expect("cargo builds the examples with the tests");
    let linked = |name: &[u8]| bytes.windows(name.len()).any(|at| at == name);
    match linked(b"libmpi.so") {
        true => Mpi::Open,
        false => Mpi::Mpich,
    }
}

/// `mpiexec` of the MPI that the program is linked to, or of the other.
fn mpiexec(of: Mpi) -> &'static str {
    match of {
        Mpi::Mpich => "mpiexec.mpich",
        Mpi::Open => "mpiexec.openmpi",
    }
}

/// What either launcher needs to start more than there is room for, as whoever.
fn prepare(command: &mut Command) -> &mut Command {
    for name in [
        "OMPI_ALLOW_RUN_AS_ROOT",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM",
        "OMPI_MCA_rmaps_base_oversubscribe",
    ] {
        command.env(name, "1");
    }
    command
        .env("OMPI_MCA_btl", "tcp,self")
        .env("RUST_BACKTRACE", "0")
        .stdin(Stdio::null())
}

fn start(case: &str, count: usize, variables: &[(&str, &str)]) -> (i32, String) {
    let mut command = Command::new(mpiexec(mpi()));
    prepare(&mut command)
        .envs(variables.iter().copied())
        .args(["-n", &count.to_string()]);
    if mpi() == Mpi::Open {
        for (name, _) in variables {
            command.args(["-x", name]);
        }
    }
    finish(command.arg(program()).arg(case).output().unwrap())
}

/// The code and all that was said.
fn finish(output: Output) -> (i32, String) {
    let said = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    // A launcher may end by the signal that ended what it started.
    let code = output.status.code().unwrap_or(-1);
    (code, said(output.stdout) + &said(output.stderr))
}

#[track_caller]
fn assert_ends(case: &str, count: usize, code: i32, told: &[&str]) {
    let (got, said) = start(case, count, &[]);
    check(case, code, told, got, &said);
}

#[track_caller]
fn check(case: &str, code: i32, told: &[&str], got: i32, said: &str) {
    assert_eq!(got, code, "{case}: {said}");
    for told in told {
        assert!(said.contains(told), "{case}: no `{told}` in {said}");
    }
    let errors = said.lines().filter(|line| line.starts_with("error: "));
    // One cause. Who found it tells it too, where the launcher ends it late.
    let causes: BTreeSet<&str> = errors.collect();
    assert_eq!(causes.len(), usize::from(code != 0), "{case}: {said}");
}

#[test]
fn random_networks_compute_the_same() {
    let cases = ["random", "flows"].map(|name| (0..4).map(move |seed| format!("{name}:{seed}")));
    for case in cases.into_iter().flatten() {
        let ends = |count: usize| {
            let (code, said) = start(&case, count, &[]);
            assert_eq!(code, 0, "{case} {count}: {said}");
            let lines = said.lines().filter(|line| line.starts_with("end "));
            let mut lines: Vec<String> = lines.map(str::to_string).collect();
            lines.sort();
            lines
        };
        let alone = ends(1);
        assert!(!alone.is_empty());
        for count in [2, 5] {
            assert_eq!(ends(count), alone, "{case} {count}");
        }
    }
}

#[test]
fn networks_end_as_between_schedulers() {
    assert_ends("bundles", 6, 0, &["sum 1001000"]);
    let bytes = 1 + 65_519 + 65_520 + 65_521 + 300_000 + 3_000_000 + 7;
    assert_ends("large", 2, 0, &[&format!("read {bytes} bytes")]);
    assert_ends("stop", 2, 0, &["read five", "stopped"]);
    // 50 tokens, each once for the three readers in each of two other OS processes.
    assert_ends("together", 3, 0, &["encoded 100"]);
    assert_ends("artificial:3", 3, 0, &[]);
    assert_ends("artificial:100", 4, 0, &[]);
    assert_ends("thread", 2, 0, &["read Some([1])"]);
}

/// Who does not look up holds up nobody but those that wait for it.
#[test]
fn who_computes_holds_up_nobody_else() {
    let read = Path::new(env!("CARGO_TARGET_TMPDIR")).join("held_up.read");
    let _gone = fs::remove_file(&read);
    let variables = [("GRAPHMAP_TEST_FILE", read.to_str().unwrap())];
    let (code, said) = start("held up", 3, &variables);
    let told = ["read 1000, then Some(1048576)"];
    check("held up", 0, &told, code, &said);
}

/// Processes send each other messages and make collective calls as ranks, wherever they are.
#[test]
fn ranks_talk_to_each_other() {
    assert_ends("messages:3", 2, 0, &[]);
    assert_ends("collectives:5", 3, 0, &[]);
    assert_ends("accesses:4", 3, 0, &[]);
    assert_ends("communicators:6", 3, 0, &[]);
    assert_ends("persistent:20", 2, 0, &[]);
    assert_ends("endpoints:5", 3, 0, &[]);
    assert_ends("threads:1", 3, 0, &[]);
    let told = "waits in receive (world, from rank 1, tag 5): ";
    assert_ends("ranks in a cycle", 2, 6, &[told]);
    let told = "receive (world.endpoints, from rank 1, tag 5): ";
    assert_ends("threads in a cycle", 2, 6, &[told]);
    let told = [
        "the thread that was rank 2 of world.endpoints (",
        "panicked: in the middle of its work",
    ];
    assert_ends("a thread that panics", 2, 1, &told);
    let told = [
        "collective calls that do not go together",
        "allreduce of `u8`",
    ];
    assert_ends("ranks that do not go together", 3, 1, &told);
    let told = ["rank3", "in the middle of a collective call"];
    assert_ends("a rank that panics", 2, 1, &told);
}

/// Frames are packed into messages, and the statistics tell how many.
#[test]
fn what_was_sent_is_counted() {
    let (code, said) = start("bundles", 6, &[("GRAPHMAP_STATS", "1")]);
    assert_eq!(code, 0, "{said}");
    let numbers = |what: &str| -> Vec<u64> {
        let line = said.lines().find_map(|line| line.strip_prefix(what));
        let line = line.unwrap_or_else(|| panic!("no `{what}` in {said}"));
        line.split_whitespace()
            .map(|n| n.parse().unwrap())
            .collect()
    };
    let (frames, messages) = (numbers("frames over the link"), numbers("in messages"));
    assert_eq!((frames.len(), messages.len()), (6, 6), "{said}");
    assert!(messages.iter().all(|&messages| messages > 0), "{said}");
    assert!(frames.iter().sum::<u64>() >= 2000, "{said}");
}

#[test]
fn true_blocks_are_told() {
    let told = ["m0 (rank 0)", "m2 (rank 2)", "3 processes"];
    assert_ends("deadlock:3", 3, 6, &told);
    assert_ends("deadlock:500", 4, 6, &["500 processes"]);
}

#[test]
fn who_fails_is_told_once() {
    assert_ends("error", 2, 1, &["alice (rank 0", "it is broken"]);
    let told = ["bob (rank 1, pair.dot:4:2)", "no more", "OS process 1"];
    assert_ends("panic", 2, 1, &told);
    let told = ["Opaque is no payload", "from OS process 0 to 1"];
    assert_ends("opaque", 2, 1, &told);
    let told = ["has another network than OS process"];
    assert_ends("differs", 2, 1, &told);
}

/// Launchers take an end with the code 0 for a good one.
#[test]
fn who_exits_in_the_middle_is_told() {
    assert_ends("exit", 2, 7, &["something in it has called `exit`"]);
}

#[test]
fn options_that_contradict_the_launcher_are_refused() {
    for (name, value, told) in [
        ("GRAPHMAP_OS_PROCESSES", "3", "a launcher has started 2"),
        ("GRAPHMAP_LINK", "shm", "which MPI joins"),
        (
            "GRAPHMAP_MAPPING",
            "/nowhere/at all",
            "cannot read the mapping",
        ),
        (
            "GRAPHMAP_UNREACHABLE",
            "1",
            "is no number of seconds from 2 to 86400",
        ),
    ] {
        let (code, said) = start("stop", 2, &[(name, value)]);
        check(name, 2, &[told], code, &said);
    }
    // Without a launcher.
    let mut command = Command::new(program());
    let output = command.arg("stop").env("GRAPHMAP_LINK", "mpi").output();
    let (code, said) = finish(output.unwrap());
    check("alone", 2, &["no launcher of MPI has started"], code, &said);
    let output = Command::new(program()).arg("stop").output();
    let (code, said) = finish(output.unwrap());
    check("alone", 0, &["read five"], code, &said);
}

#[test]
fn the_launcher_of_another_mpi_is_told() {
    let (other, need) = match mpi() {
        Mpi::Mpich => (Mpi::Open, Need::OpenMpi),
        Mpi::Open => (Mpi::Mpich, Need::Mpich),
    };
    let launcher = mpiexec(other);
    if let Err(error) = Command::new(launcher).arg("--version").output() {
        return skip(need, format!("{launcher} does not start: {error}"));
    }
    let mut command = Command::new(launcher);
    let output = prepare(&mut command)
        .args(["-n", "3"])
        .arg(program())
        .arg("stop")
        .output();
    let (code, said) = finish(output.unwrap());
    let told = [
        "a launcher has started this program 3 times",
        "each is alone",
        mpiexec(mpi()),
    ];
    check("wrong launcher", 2, &told, code, &said);
    assert!(!said.contains("read five"), "{said}");
}

/// Whether an OS process is there, and is more than an entry of a table.
fn lives(id: u32) -> bool {
    fs::read_to_string(format!("/proc/{id}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

/// Any of them, at any moment.
#[test]
fn nothing_is_left_when_one_is_killed() {
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
        // The launcher says why: MPICH's on standard output.
        let told = format!("{said}{}", rest.join("\n"));
        assert!(told.contains("ignal 9"), "{told}");
        while ids.iter().any(|&id| lives(id)) {
            thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Hosts, as long as it lives.
struct Hosts(PathBuf);

impl Hosts {
    fn new(count: usize) -> Option<Hosts> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("{:?}-{}-{number}", mpi(), std::process::id());
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir_all(&folder).unwrap();
        let hosts = Hosts(folder);
        let made = hosts.script("start", &[&count.to_string()]);
        if !made.status.success() {
            let why = String::from_utf8_lossy(&made.stderr).into_owned();
            skip(
                Need::Namespaces,
                format!("there are no hosts to tell apart: {why}"),
            );
            return None;
        }
        Some(hosts)
    }

    fn script(&self, verb: &str, more: &[&str]) -> Output {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hosts.sh");
        let mut command = Command::new("sh");
        command.arg(script).arg(verb).arg(&self.0).args(more);
        command.output().unwrap()
    }

    /// Bytes that each host has sent.
    fn bytes(&self) -> Vec<u64> {
        let output = self.script("bytes", &[]);
        let text = String::from_utf8(output.stdout).unwrap();
        text.lines().map(|line| line.parse().unwrap()).collect()
    }

    /// The launcher, on the first host, for OS processes on these hosts.
    fn launcher(&self, places: &[usize]) -> Command {
        let mut command = Command::new(self.0.join("on-first"));
        prepare(&mut command).env("UCX_TLS", "tcp");
        command.arg(mpiexec(mpi()));
        let (agent, file) = (self.0.join("agent"), self.0.join("places"));
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
                let ranks = self.0.join("ranks");
                let text: String = lines
                    .enumerate()
                    .map(|(rank, host)| format!("rank {rank}={host} slot=0\n"))
                    .collect();
                fs::write(&ranks, text).unwrap();
                command.args(["--mca", "plm_rsh_agent"]).arg(agent);
                command.args(["--mca", "btl_tcp_if_include", "net0"]);
                command.args(["--mca", "oob_tcp_if_include", "net0"]);
                command.arg("--hostfile").arg(file);
                command.arg("--rankfile").arg(ranks);
                command.args(["-x", "RUST_BACKTRACE"]);
            }
        }
        command
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        self.script("stop", &[]);
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn networks_end_the_same_on_several_hosts() {
    let Some(hosts) = Hosts::new(3) else { return };
    let before = hosts.bytes();
    for (places, case, code, told) in [
        (&[0, 1][..], "large", 0, "read 3496568 bytes"),
        (&[0, 1, 2], "bundles", 0, "sum 1001000"),
        (&[2, 1, 0, 1], "artificial:20", 0, ""),
        (&[0, 1, 2], "messages:7", 0, ""),
        (&[2, 0, 1], "collectives:8", 0, ""),
        (&[1, 2, 0], "accesses:6", 0, ""),
        (&[0, 1, 2], "endpoints:7", 0, ""),
        (&[1, 0, 2], "threads:3", 0, ""),
        (
            &[0, 2, 1],
            "deadlock:5",
            6,
            " in OS process 1 on h3 waits to ",
        ),
        (&[1, 0, 2], "panic", 1, " (in OS process 1 on h1)"),
        (&[0, 1, 2], "exit", 7, "on h2 ended before the run did"),
    ] {
        let mut command = hosts.launcher(places);
        let (got, said) = finish(command.arg(program()).arg(case).output().unwrap());
        check(case, code, &[told], got, &said);
    }
    let after = hosts.bytes();
    let sent: Vec<u64> = before.iter().zip(&after).map(|(b, a)| a - b).collect();
    // It went over the wire.
    assert!(sent[0] > 3_496_568, "{sent:?}");
    assert!(sent.iter().all(|&bytes| bytes > 10_000), "{sent:?}");
}

/// And who computes for longer than a host may not answer is not taken for one that does not.
#[test]
fn a_host_that_is_cut_off_ends_the_run() {
    let Some(hosts) = Hosts::new(3) else { return };
    let places = [0, 1, 2];
    let limited = |case: &str| {
        let mut command = hosts.launcher(&places);
        command.env("GRAPHMAP_UNREACHABLE", "2");
        if mpi() == Mpi::Open {
            command.args(["-x", "GRAPHMAP_UNREACHABLE"]);
        }
        command.arg(program()).arg(case);
        command
    };
    let (code, said) = finish(limited("long").output().unwrap());
    check("long", 0, &["computed"], code, &said);

    let mut command = limited("where_forever");
    let command = command.stderr(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let lines = lines.map_while(Result::ok);
    let ids = lines.filter_map(|line| line.split_once("pid ")?.1.trim().parse::<u32>().ok());
    let ids: Vec<u32> = ids.take(3).collect();
    assert_eq!(ids.len(), 3);
    assert!(hosts.script("down", &["h2"]).status.success());
    let (code, said) = finish(child.wait_with_output().unwrap());
    assert_ne!(code, 0, "{said}");
    let told = "h2 has not answered h";
    assert!(said.contains(told) && said.contains(" for 2 s: "), "{said}");
    while ids.iter().any(|&id| lives(id)) {
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn os_processes_are_on_the_hosts_they_are_sent_to() {
    let Some(hosts) = Hosts::new(3) else { return };
    let places = [2, 0, 1, 2];
    let mut command = hosts.launcher(&places);
    let (code, said) = finish(command.arg(program()).arg("where").output().unwrap());
    assert_eq!(code, 0, "{said}");
    for rank in 0..12 {
        let start = format!("rank {rank} is in ");
        let line = said.lines().find_map(|line| line.split(&start).nth(1));
        let line = line.unwrap_or_else(|| panic!("no `{start}`: {said}"));
        let os_process: usize = line.split(' ').next().unwrap().parse().unwrap();
        let host = format!(" on h{}", places[os_process] + 1);
        assert!(line.ends_with(&host), "{said}");
        assert_eq!(os_process, rank * places.len() / 12, "{said}");
        let hosts = places.iter().map(|place| format!("h{}", place + 1));
        let knows = format!(
            "rank {rank} knows {}\n",
            hosts.collect::<Vec<_>>().join(" ")
        );
        assert!(said.contains(&knows), "no `{knows}`: {said}");
    }
}
