//! A network for Pilot on hosts. The program that graphmap writes uses a substitute for Pilot
//! (`pilot/pilot.c`) that assigns ranks as Pilot does. The files of `graphmap partition -o` start
//! it, and each process runs where `mapping.json` says.

use crate::common::hosts::{is_there, prepare, said};
use graphmap_testing::{Hosts, Need, skip};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// Graph whose kinds alternate, so that the order of kinds is not the order of ranks.
const DRAWING: &str = "digraph relay {
    foreman;
    cutter1 [params=\"factor: i32\", args=\"10\"]; packer1;
    cutter2 [params=\"factor: i32\", args=\"20\"]; packer2;
    cutter3 [params=\"factor: i32\", args=\"30\"]; packer3;
    foreman -> cutter1 [src=orders, bundle=scatter];
    foreman -> cutter2 [src=orders, bundle=scatter];
    foreman -> cutter3 [src=orders, bundle=scatter];
    cutter1 -> packer1; cutter2 -> packer2; cutter3 -> packer3;
    packer1 -> foreman [src=done, dst=done, bundle=select];
    packer2 -> foreman [src=done, dst=done, bundle=select];
    packer3 -> foreman [src=done, dst=done, bundle=select];
    packer1 -> foreman [src=count, dst=counts, bundle=gather];
    packer2 -> foreman [src=count, dst=counts, bundle=gather];
    packer3 -> foreman [src=count, dst=counts, bundle=gather];
}
";

/// Bodies of the functions of the kinds.
const FUNCTIONS: [(&str, &str); 3] = [
    (
        "foreman",
        "int orders[] = {1, 2, 3}, counts[3], sum = 0, done, i;
    PI_Scatter(ports->orders, \"%d\", orders);
    for (i = 0; i < 3; i++) {
        PI_Read(PI_GetBundleChannel(ports->done, PI_Select(ports->done)), \"%d\", &done);
        sum += done;
    }
    PI_Gather(ports->counts, \"%d\", counts);
    printf(\"the sum is %d, the packers are %d %d %d\\n\", sum, counts[0], counts[1], counts[2]);",
    ),
    (
        "cutter",
        "int order;
    PI_Read(ports->in, \"%d\", &order);
    PI_Write(ports->out, \"%d\", ports->args.factor * order);",
    ),
    (
        "packer",
        "int cut;
    PI_Read(ports->in, \"%d\", &cut);
    PI_Write(ports->done, \"%d\", cut + 1);
    PI_Write(ports->count, \"%d\", index);",
    ),
];
const RESULT: &str = "the sum is 143, the packers are 2 4 6";
/// Number of processes.
const COUNT: usize = 7;

fn graphmap(folder: &Path, args: &[&str]) -> Output {
    let mut command = crate::common::graphmap();
    command.current_dir(folder).args(args).output().unwrap()
}

/// Runs a command that must succeed.
fn must(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {}", said(&output));
}

/// Builds the program in the folder `relay`, with the Makefile that graphmap wrote and
/// `pilot/pilot.c`.
fn build(folder: &Path, mpi: &str) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    fs::write(folder.join("relay.dot"), DRAWING).unwrap();
    let new = ["new", "relay", "--from", "relay.dot", "--family", "pilot"];
    let new = graphmap(folder, &new);
    assert!(new.status.success(), "{}", said(&new));
    for (kind, body) in FUNCTIONS {
        let text = format!(
            "#include \"wiring.h\"\n#include <stdio.h>\n\nint {kind}_process(int index, void *argument)\n{{\n    \
             struct {kind}_ports *ports = argument;\n    {body}\n    (void)index;\n    return 0;\n}}\n"
        );
        let file = folder.join(format!("relay/{kind}_process.c"));
        assert!(file.is_file());
        fs::write(file, text).unwrap();
    }
    let prefix = folder.join("pilot");
    for part in ["include", "lib"] {
        fs::create_dir_all(prefix.join(part)).unwrap();
    }
    let header = root.join("modules/wiring/tests/pilot/pilot.h");
    fs::copy(header, prefix.join("include/pilot.h")).unwrap();
    let compiler = format!("mpicc.{mpi}");
    must(
        Command::new(&compiler)
            .args([
                "-std=c99",
                "-D_DEFAULT_SOURCE",
                "-Wall",
                "-Wextra",
                "-Werror",
                "-c",
                "-I",
            ])
            .arg(prefix.join("include"))
            .arg(root.join("tests/pilot/pilot.c"))
            .args(["-o", "pilot.o"])
            .current_dir(&prefix),
    );
    must(
        Command::new("ar")
            .args(["rcs", "lib/libpilot.a", "pilot.o"])
            .current_dir(&prefix),
    );
    let mut make = Command::new("make");
    make.arg("CFLAGS=-Werror -std=c99 -Wall -I../pilot/include");
    // By default, the compiler is that of the MPI that the script starts.
    if mpi != "mpich" {
        make.arg(format!("CC={compiler}"));
    }
    must(make.arg("PILOT=../pilot").current_dir(folder.join("relay")));
}

/// Returns the rank of MPI and the host of each process, by its rank in the graph. The key of
/// `PI_MAIN` is `None`.
fn places(output: &Output) -> BTreeMap<Option<usize>, (usize, String)> {
    let text = said(output);
    assert!(output.status.success(), "{text}");
    assert!(text.contains(RESULT), "{text}");
    let mut places = BTreeMap::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let (process, rank, host) = match words[..] {
            ["process", process, "is", rank, "on", host] => (Some(process), rank, host),
            ["PI_MAIN", "is", rank, "of", _, "on", host] => (None, rank, host),
            _ => continue,
        };
        let process = process.map(|process| process.parse().unwrap());
        let place = (rank.parse().unwrap(), host.to_owned());
        assert_eq!(places.insert(process, place), None, "{text}");
    }
    places
}

/// Returns the host of each process in a mapping.
fn planned(mapping: &Path) -> Vec<String> {
    let text = fs::read_to_string(mapping).unwrap();
    let mapping: serde_json::Value = serde_json::from_str(&text).unwrap();
    let processes = mapping["processes"].as_array().unwrap().iter();
    let host = |process: &serde_json::Value| {
        let os_process = process["os_process"].as_u64().unwrap() as usize;
        let host = mapping["os_processes"][os_process]["host"].as_str();
        host.unwrap().to_owned()
    };
    processes.map(host).collect()
}

fn runs_on_hosts(mpi: &str, need: Need) {
    if !is_there(mpi, need) {
        return;
    }
    if let Err(error) = Command::new("make").arg("--version").output() {
        return skip(Need::C, format!("make does not start: {error}"));
    }
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let Some(hosts) = Hosts::new(folder, 3) else {
        return;
    };
    build(folder, mpi);
    let partition = |hostfile: &str, more: &[&str]| {
        fs::write(folder.join("hostfile"), hostfile).unwrap();
        let launcher = format!("launcher={mpi}");
        let args = [
            "partition",
            "relay.dot",
            "--hosts",
            "hostfile",
            "-o",
            "plan",
        ];
        let output = graphmap(folder, &[&args, &["--set", &launcher][..], more].concat());
        assert!(output.status.success(), "{}", said(&output));
        let told = "graphmap: the family of the program of relay is `pilot`: each process is a rank, the first is rank 1\n";
        let given = more.iter().any(|word| word.starts_with("first_rank="));
        assert_eq!(said(&output).contains(told), !given, "{}", said(&output));
        said(&output)
    };
    let start = || {
        let mut command = hosts.on_first("sh");
        prepare(&mut command).current_dir(folder);
        command.arg("plan/mpiexec.sh").args(hosts.options(mpi));
        command.output().unwrap()
    };
    let plenty = "h1 slots=4\nh2 slots=4\nh3 slots=4\n";
    // The last three values: whether a host exceeds its slots, the first rank, and the host of
    // `PI_MAIN` if it is given.
    for (hostfile, more, beyond, first, main) in [
        ("h1 slots=2\nh2 slots=2\n", "--strategy auto", true, 1, None),
        ("h3\nh1\nh2\n", "--strategy round-robin", true, 1, None),
        (
            plenty,
            "--strategy stack --set main=h3",
            false,
            1,
            Some("h3"),
        ),
        // With a service process of Pilot between PI_MAIN and the first process.
        (
            plenty,
            "--pin packer2=h2 --set main=h2 --set first_rank=2 --set args=-pisvc=d",
            true,
            2,
            Some("h2"),
        ),
    ] {
        let words: Vec<&str> = more.split(' ').collect();
        let told = partition(hostfile, &words);
        assert_eq!(told.contains("warning[G0440]"), beyond, "{more}: {told}");
        let (before, output) = (hosts.sent(), start());
        let places = places(&output);
        let planned = planned(&folder.join("plan/mapping.json"));
        assert_eq!(planned.len(), COUNT);
        let mut expected: BTreeMap<_, _> = (planned.iter().enumerate())
            .map(|(rank, host)| (Some(rank), (rank + first, host.clone())))
            .collect();
        let main = main.map_or(planned[0].clone(), str::to_owned);
        expected.insert(None, (0, main));
        assert_eq!(places, expected, "{hostfile} {more}");
        assert!(hosts.sent() > before, "nothing went over the wire");
        assert_eq!(
            String::from_utf8_lossy(&output.stdout)
                .matches(RESULT)
                .count(),
            1
        );
    }
    // A command of the user that starts too few OS processes.
    let refused = |mut command: Command, why: &str| {
        let output = prepare(&mut command).current_dir(folder).output().unwrap();
        let text = said(&output);
        assert_eq!(output.status.code(), Some(255), "{text}");
        assert_eq!(text.matches(why).count(), 1, "{text}");
        assert!(!text.contains(RESULT), "{text}");
    };
    let mut few = Command::new(format!("mpiexec.{mpi}"));
    few.args(["-n", &COUNT.to_string(), "relay/program"]);
    // Permits more OS processes than this host has slots, if it has few cores.
    few.env("OMPI_MCA_rmaps_base_oversubscribe", "1");
    refused(
        few,
        "too few MPI processes: the program needs 7 + 1, PI_MAIN included",
    );
    // Launch files of another graph than the program's.
    let changed = DRAWING.replace("cutter2", "carver2");
    fs::write(folder.join("relay.dot"), changed).unwrap();
    partition(plenty, &[]);
    let mut other = hosts.on_first("sh");
    other.arg("plan/mpiexec.sh").args(hosts.options(mpi));
    refused(other, "made for another graph file than relay.dot");
}

#[test]
fn over_mpich() {
    runs_on_hosts("mpich", Need::Mpich);
}

#[test]
fn over_open_mpi() {
    runs_on_hosts("openmpi", Need::OpenMpi);
}
