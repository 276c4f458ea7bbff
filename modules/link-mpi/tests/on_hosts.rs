//! Real jobs on several hosts: the hosts of OS processes, reports about them, and the loss of a
//! host.

mod common;

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use common::{Mpi, check, finish, hosts, launcher, lives, mpi, program};
use graphmap_testing::Hosts;

#[test]
fn networks_end_the_same_on_several_hosts() {
    let Some(hosts) = hosts(3) else { return };
    let before = hosts.sent_by_each();
    for (places, case, code, expected) in [
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
        // All ranks fail, each by itself.
        (
            &[0, 1, 2],
            "ranks that do not go together",
            1,
            "collective calls do not match",
        ),
        (&[0, 1, 2], "exit", 7, "on h2 ended before the run did"),
    ] {
        let mut command = launcher(&hosts, places);
        let (got, said) = finish(command.arg(program()).arg(case).output().unwrap());
        check(case, code, &[expected], got, &said);
        // The error is printed once, even if the launcher ends the others late.
        let causes = said.lines().filter(|line| line.starts_with("error: "));
        assert_eq!(causes.count(), usize::from(code != 0), "{case}: {said}");
    }
    let after = hosts.sent_by_each();
    let sent: Vec<u64> = before.iter().zip(&after).map(|(b, a)| a - b).collect();
    // The tokens went over the network interfaces.
    assert!(sent[0] > 3_496_568, "{sent:?}");
    assert!(sent.iter().all(|&bytes| bytes > 10_000), "{sent:?}");
}

/// Cuts off a host, which ends the run. An OS process that computes for longer than the limit does
/// not end the run.
#[test]
fn a_host_that_is_cut_off_ends_the_run() {
    let Some(hosts) = hosts(3) else { return };
    let places = [0, 1, 2];
    let limited = |case: &str| {
        let mut command = launcher(&hosts, &places);
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
    let ids = pids_of(&mut child);
    assert!(hosts.script("down", &["h2"]).status.success());
    let (code, said) = finish(child.wait_with_output().unwrap());
    assert_ne!(code, 0, "{said}");
    let expected = "h2 has not answered h";
    assert!(
        said.contains(expected) && said.contains(" for 2 s: "),
        "{said}"
    );
    while ids.iter().any(|&id| lives(id)) {
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn os_processes_are_on_the_hosts_they_are_sent_to() {
    let Some(hosts) = hosts(3) else { return };
    let places = [2, 0, 1, 2];
    let mut command = launcher(&hosts, &places);
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

/// Starts a case whose three OS processes print `pid` and their ids and run until they are killed.
/// Returns the launcher and the ids, in any order.
fn started(hosts: &Hosts, case: &str, variables: &[(&str, &str)]) -> (Child, Vec<u32>) {
    let mut command = launcher(hosts, &[0, 1, 2]);
    command.envs(variables.iter().copied());
    if mpi() == Mpi::Open {
        for (name, _) in variables {
            command.args(["-x", name]);
        }
    }
    command.arg(program()).arg(case);
    let command = command.stderr(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let ids = pids_of(&mut child);
    (child, ids)
}

/// Reads the ids of three OS processes, which print `pid` and the id.
fn pids_of(child: &mut Child) -> Vec<u32> {
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let lines = lines.map_while(Result::ok);
    let ids = lines.filter_map(|line| line.split_once("pid ")?.1.trim().parse().ok());
    let ids: Vec<u32> = ids.take(3).collect();
    assert_eq!(ids.len(), 3);
    ids
}

/// Returns a value of `/proc/ID/status`, such as the name or the parent.
fn status(id: u32, what: &str) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/{id}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(what))?;
    Some(line.trim().to_string())
}

fn signal(id: u32, signal: &str) {
    let kill = Command::new("kill")
        .args(["-s", signal, &id.to_string()])
        .status();
    assert!(kill.unwrap().success());
}

/// Returns the host of an OS process of this job.
fn host_of(id: u32) -> String {
    let shown = Command::new("nsenter")
        .args(["--target", &id.to_string(), "--uts", "hostname"])
        .output()
        .unwrap();
    String::from_utf8(shown.stdout).unwrap().trim().to_string()
}

/// Kills the parent of an OS process, on each of the hosts. All OS processes must end, and the
/// cause must be reported.
#[test]
fn an_os_process_that_has_lost_its_launcher_ends_the_run() {
    let Some(hosts) = hosts(3) else { return };
    let mut by_us = 0;
    for host in ["h2", "h1", "h3"] {
        let (child, ids) = started(&hosts, "where_forever", &[]);
        let on_host = ids.iter().find(|&&id| host_of(id) == host).unwrap();
        let parent = status(*on_host, "PPid:").unwrap().parse().unwrap();
        let name = status(parent, "Name:").unwrap();
        signal(parent, "KILL");
        let output = child.wait_with_output().unwrap();
        let (code, said) = finish(output);
        assert_ne!(code, 0, "{host}: {said}");
        let ours = format!("the MPI launcher on {host} has ended: {name}, process {parent}, ");
        by_us += usize::from(said.contains(&ours));
        // The launcher may report the loss first. MPICH's does not say on which host. Open MPI's
        // does, except on the first host, where `mpiexec` itself was killed and its output is lost.
        let is_printed = match mpi() {
            Mpi::Mpich => said.contains(&ours) || said.contains("error waiting for event"),
            Mpi::Open => {
                host == "h1" || said.contains(&ours) || said.contains(&format!(" on node {host}\n"))
            }
        };
        assert!(is_printed, "{host}: no `{ours}` in {said}");
        while ids.iter().any(|&id| lives(id)) {
            thread::sleep(Duration::from_millis(5));
        }
    }
    assert!(by_us > 0 || mpi() == Mpi::Open);
}

/// Sends `SIGUSR1` to each OS process, which prints its state and host.
#[test]
fn os_processes_report_their_host() {
    let Some(hosts) = hosts(3) else { return };
    let (mut child, ids) = started(&hosts, "where_forever", &[]);
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    for (os_process, host) in ["h1", "h2", "h3"].into_iter().enumerate() {
        let id = ids.iter().find(|&&id| host_of(id) == host).unwrap();
        signal(*id, "USR1");
        let start = format!("forever: OS process {os_process} of 3 on {host}: ");
        let line = lines.by_ref().map_while(Result::ok);
        let mut found = line.filter_map(|line| Some(line.split_once(&start)?.1.to_string()));
        assert_eq!(found.next().as_deref(), Some("0 ready, 1 waiting"));
    }
    signal(ids[0], "KILL");
    drop(lines);
    child.wait().unwrap();
}

/// Writes a trace with the tracks of all hosts, and a profile with the sums over all hosts.
#[test]
fn traces_and_profiles_are_of_all_hosts() {
    let Some(hosts) = hosts(3) else { return };
    let (trace, profile) = (
        hosts.folder.join("trace.json"),
        hosts.folder.join("profile.json"),
    );
    let mut command = launcher(&hosts, &[0, 1, 2]);
    let variables = [("GRAPHMAP_TRACE", &trace), ("GRAPHMAP_PROFILE", &profile)];
    command.envs(variables);
    if mpi() == Mpi::Open {
        command.args(["-x", "GRAPHMAP_TRACE", "-x", "GRAPHMAP_PROFILE"]);
    }
    let (code, said) = finish(command.arg(program()).arg("bundles").output().unwrap());
    check("bundles", 0, &["sum 1001000"], code, &said);
    let text = fs::read_to_string(&trace).unwrap();
    for (os_process, host) in ["h1", "h2", "h3"].into_iter().enumerate() {
        let track = format!("\"name\":\"OS process {os_process} on {host} (");
        assert_eq!(
            text.matches(&track).count(),
            1,
            "no `{track}`: {text:.2000}"
        );
    }
    // Arrows lead from one OS process to another.
    let arrows = |phase: &str| {
        let start = format!("\"ph\":\"{phase}\"");
        let lines = text.lines().filter(|line| line.contains(&start));
        let field = |line: &str, name: &str| {
            let (_, rest) = line.split_once(&format!("\"{name}\":")).unwrap();
            rest.split([',', '}']).next().unwrap().to_string()
        };
        let of_line = |line: &str| (field(line, "id"), field(line, "pid"));
        lines.map(of_line).collect::<BTreeMap<_, _>>()
    };
    let (starts, ends) = (arrows("s"), arrows("f"));
    let between = ends
        .iter()
        .filter(|(id, to)| starts.get(*id).is_some_and(|from| from != *to));
    assert!(between.count() > 0, "{text:.2000}");

    // A thousand numbers go to four processes, and from there to the last.
    let text = fs::read_to_string(&profile).unwrap();
    let sum = |name: &str| -> u64 {
        let start = format!("\"{name}\":");
        let values = text.split(&start).skip(1);
        let values = values.map(|rest| rest.split([',', '}']).next().unwrap());
        values.map(|value| value.parse::<u64>().unwrap()).sum()
    };
    assert_eq!((sum("messages"), sum("bytes")), (2000, 16_000), "{text}");
    assert!(!text.contains("\"load\":0.000000000"), "{text}");
}
