//! The networks in `graphs/` on hosts. The files that `graphmap partition -o` writes start them,
//! each process runs where `mapping.json` says, and the results are those of one OS process.

use crate::common::hosts::{built_for, is_there, prepare, said};
use crate::common::networks::{CASES, Case};
use graphmap_testing::{Hosts, Need, build_cheaply};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Programs of the networks with the MPI link. Each process prints its position. They are in one
/// workspace, because all have the same dependencies.
struct Programs {
    folder: PathBuf,
    built: PathBuf,
}

impl Programs {
    fn build(folder: &Path, mpi: &str) -> Programs {
        let members: Vec<&str> = CASES.iter().map(|case| case.name).collect();
        fs::write(
            folder.join("Cargo.toml"),
            format!("[workspace]\nresolver = \"3\"\nmembers = {members:?}\n"),
        )
        .unwrap();
        for case in CASES {
            write_project(&folder.join(case.name), case);
        }
        let lock = root().join("modules/link-mpi/Cargo.lock");
        fs::copy(lock, folder.join("Cargo.lock")).unwrap();
        let target = built_for(mpi);
        let mut cargo = Command::new(env!("CARGO"));
        build_cheaply(&mut cargo).current_dir(folder);
        cargo.args(["build", "--quiet"]);
        cargo.env("MPICC", format!("mpicc.{mpi}"));
        cargo.arg("--target-dir").arg(&target);
        let output = cargo.output().unwrap();
        assert!(output.status.success(), "{}", said(&output));
        Programs {
            folder: folder.to_owned(),
            built: target.join("debug"),
        }
    }
}

fn write_project(project: &Path, case: &Case) {
    let from = root().join("graphs").join(case.name);
    let drawing = from.with_extension("dot");
    fs::copy(drawing, project.with_extension("dot")).unwrap();
    let mut manifest = format!(
        "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n\
         [package.metadata.graphmap]\ngraph = \"../{name}.dot\"\n\n\
         [dependencies]\ngraphmap-runtime = {{ path = {runtime:?}, features = [\"derive\"] }}\n\
         graphmap-link-mpi = {{ path = {link:?} }}\n",
        name = case.name,
        runtime = root().join("modules/runtime"),
        link = root().join("modules/link-mpi"),
    );
    // Other dependencies, in the versions of the workspace.
    let own = fs::read_to_string(from.join("Cargo.toml")).unwrap();
    let all = fs::read_to_string(root().join("Cargo.toml")).unwrap();
    let (_, own) = own.split_once("[dependencies]").unwrap();
    for name in own
        .lines()
        .filter_map(|line| line.strip_suffix(".workspace = true"))
    {
        let start = format!("{name} = ");
        let line = all.lines().find(|line| line.starts_with(&start));
        if let Some(line) = line.filter(|line| !line.contains("path = ")) {
            writeln!(manifest, "{line}").unwrap();
        }
    }
    copy(&from.join("src"), &project.join("src"), &|path, text| {
        if path.ends_with("main.rs") {
            let old = "graphmap_runtime::main(";
            assert!(text.contains(old), "{text}");
            return text.replace(old, "graphmap_link_mpi::main(");
        }
        if path.ends_with("processes/mod.rs") || !path.parent().unwrap().ends_with("processes") {
            return text;
        }
        let mut lines = String::new();
        for line in text.lines() {
            writeln!(lines, "{line}").unwrap();
            if line.starts_with("pub async fn ") {
                assert!(line.ends_with('{'), "{path:?}: {line}");
                writeln!(lines, "{SAYS_WHERE}").unwrap();
            }
        }
        lines
    });
    fs::write(project.join("Cargo.toml"), manifest).unwrap();
}

/// First statement of each process, which prints its position.
const SAYS_WHERE: &str = r#"    {
        let me = graphmap_runtime::me();
        let host = &graphmap_runtime::os_processes()[me.os_process].host;
        let here = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
        assert_eq!(host.as_deref(), Some(here.trim()));
        println!("process {} is in {} on {}", me.name, me.os_process, here.trim());
    }"#;

/// Copies a folder, and changes each text in it.
fn copy(from: &Path, to: &Path, change: &dyn Fn(&Path, String) -> String) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to, change);
        } else {
            let text = fs::read_to_string(entry.path()).unwrap();
            fs::write(to, change(&entry.path(), text)).unwrap();
        }
    }
}

/// Returns the printed positions of the processes, and the other lines that do not vary, sorted.
/// Lines of several OS processes come in any order.
fn told(case: &Case, output: &Output) -> (BTreeMap<String, (usize, String)>, Vec<String>) {
    let text = said(output);
    assert!(output.status.success(), "{}: {text}", case.name);
    let (mut places, mut lines) = (BTreeMap::new(), Vec::new());
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let words: Vec<&str> = line.split(' ').collect();
        if let ["process", name, "is", "in", os_process, "on", host] = words[..] {
            let place = (os_process.parse().unwrap(), host.to_owned());
            assert_eq!(places.insert(name.to_owned(), place), None, "{text}");
        } else if !case.varies(line) {
            lines.push(line.to_owned());
        }
    }
    lines.sort();
    (places, lines)
}

/// Returns the planned OS process and host of each process.
fn planned(mapping: &Path) -> BTreeMap<String, (usize, String)> {
    let text = fs::read_to_string(mapping).unwrap();
    let mapping: serde_json::Value = serde_json::from_str(&text).unwrap();
    let processes = mapping["processes"].as_array().unwrap().iter();
    let place = |process: &serde_json::Value| {
        let os_process = process["os_process"].as_u64().unwrap() as usize;
        let host = mapping["os_processes"][os_process]["host"].as_str();
        let name = process["name"].as_str().unwrap().to_owned();
        (name, (os_process, host.unwrap_or_default().to_owned()))
    };
    processes.map(place).collect()
}

fn run_everywhere(mpi: &str, need: Need) {
    if !is_there(mpi, need) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let Some(hosts) = Hosts::new(folder.path(), 3) else {
        return;
    };
    let programs = Programs::build(folder.path(), mpi);
    for case in CASES {
        let program = programs.built.join(case.name);
        let mut alone = Command::new(&program);
        let alone = alone.args(case.args).current_dir(folder.path());
        let (_, alone) = told(case, &alone.output().unwrap());
        for line in case.lines {
            assert!(alone.iter().any(|l| l == line), "no `{line}` in {alone:#?}");
        }
        for (hostfile, strategy) in [
            ("h1 slots=2\nh2 slots=2\n", "auto"),
            ("h1\nh2\nh3\n", "round-robin"),
        ] {
            fs::write(programs.folder.join("hostfile"), hostfile).unwrap();
            let output = partition(&programs, case, mpi, strategy);
            assert!(output.status.success(), "{}", said(&output));

            let mut command = hosts.on_first("sh");
            prepare(&mut command).current_dir(&programs.folder);
            command.arg("plan/mpiexec.sh").args(hosts.options(mpi));
            let before = hosts.sent();
            let (places, lines) = told(case, &command.output().unwrap());
            let planned = planned(&programs.folder.join("plan/mapping.json"));
            assert_eq!(places, planned, "{} by {strategy}", case.name);
            assert_eq!(lines, alone, "{} by {strategy}", case.name);
            assert!(hosts.sent() > before, "nothing went over the wire");
        }
    }
    older_files_are_refused(mpi, &hosts, &programs);
}

/// Runs `graphmap partition` of a network onto the hosts of the hostfile.
fn partition(programs: &Programs, case: &Case, mpi: &str, strategy: &str) -> Output {
    let program = programs.built.join(case.name);
    let set = [
        format!("launcher={mpi}"),
        format!("program={}", program.display()),
        format!("args={}", case.args.join(" ")),
    ];
    let mut graphmap = crate::common::graphmap();
    graphmap.current_dir(&programs.folder).arg("partition");
    graphmap.arg(format!("{}.dot", case.name));
    graphmap.args(["--hosts", "hostfile", "--strategy", strategy]);
    graphmap.args(["-o", "plan"]);
    graphmap.args(set.iter().flat_map(|set| ["--set", set]));
    graphmap.output().unwrap()
}

/// Checks that launch files of an older graph are refused, because a rank may be another process
/// now.
fn older_files_are_refused(mpi: &str, hosts: &Hosts, programs: &Programs) {
    let crew = CASES.iter().find(|case| case.name == "crew").unwrap();
    let drawing = programs.folder.join("crew.dot");
    let text = fs::read_to_string(&drawing).unwrap();
    assert!(text.contains("foreman"), "{text}");
    fs::write(&drawing, text.replace("foreman", "chief")).unwrap();
    let output = partition(programs, crew, mpi, "fast");
    assert!(output.status.success(), "{}", said(&output));
    let mut command = hosts.on_first("sh");
    prepare(&mut command).current_dir(&programs.folder);
    command.arg("plan/mpiexec.sh").args(hosts.options(mpi));
    let output = command.output().unwrap();
    let text = said(&output);
    assert_eq!(output.status.code(), Some(2), "{text}");
    let wrong = "the mapping was made for another graph file than crew.dot";
    assert!(text.contains(wrong), "{text}");
    let began = |line: &str| line.starts_with("process ") && line.contains(" is in ");
    assert!(!text.lines().any(began), "{text}");
}

#[test]
fn over_mpich() {
    run_everywhere("mpich", Need::Mpich);
}

#[test]
fn over_open_mpi() {
    run_everywhere("openmpi", Need::OpenMpi);
}
