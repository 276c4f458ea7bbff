//! A project on several hosts. It is created, built, mapped, and started by the command that
//! `graphmap run --dry-run` shows.
//!
//! Hosts are network namespaces that `modules/testing/hosts.sh` creates. If a machine does not
//! allow that, the same command starts all OS processes on this host, and the test reports it.

use crate::common::Started;
use crate::common::hosts::{built_for, is_there, on_first, prepare, said};
use graphmap_testing::{Hosts, Need};
use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Output};
use std::thread;
use std::time::Duration;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Creates the project `picture` from the farm of `graphs/`, so that the program and the network
/// have different names.
fn farm(folder: &Path) {
    let graphs = root().join("graphs");
    fs::copy(graphs.join("farm.dot"), folder.join("picture.dot")).unwrap();
    let new = graphmap(
        folder,
        &["new", "picture", "--from", "picture.dot", "--link", "mpi"],
    );
    assert!(new.status.success(), "{}", said(&new));
    let (from, to) = (graphs.join("farm/src"), folder.join("picture/src"));
    for file in ["mandelbrot.rs", "order.rs", "types.rs"] {
        fs::copy(from.join(file), to.join(file)).unwrap();
    }
    for entry in fs::read_dir(from.join("processes")).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), to.join("processes").join(entry.file_name())).unwrap();
    }
    let edit = |file: &str, old: &str, new: &str| {
        let path = folder.join("picture").join(file);
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(old), "{text}");
        fs::write(&path, text.replace(old, new)).unwrap();
    };
    let main = fs::read_to_string(to.join("main.rs")).unwrap();
    assert!(
        main.contains("graphmap_link_mpi::main(wiring::network)"),
        "{main}"
    );
    edit(
        "src/main.rs",
        "mod processes;",
        "mod mandelbrot;\nmod order;\nmod processes;",
    );
    edit(
        "Cargo.toml",
        "[dependencies]",
        "[dependencies]\npng = \"0.18\"",
    );
}

fn graphmap(folder: &Path, args: &[&str]) -> Output {
    let mut command = crate::common::graphmap();
    command.current_dir(folder).args(args).output().unwrap()
}

/// Returns the result lines of a run of the farm, and its picture, which must be written once.
fn result(folder: &Path, output: &Output) -> (Vec<String>, Vec<u8>) {
    let text = said(output);
    assert!(output.status.success(), "{text}");
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(stdout.matches("wrote mandelbrot.png").count(), 1, "{text}");
    let lines = stdout.lines().filter(|line| line.starts_with("checksum"));
    let lines: Vec<String> = lines.map(str::to_owned).collect();
    assert_eq!(lines.len(), 1, "{text}");
    let picture = folder.join("mandelbrot.png");
    let bytes = fs::read(&picture).unwrap();
    fs::remove_file(picture).unwrap();
    (lines, bytes)
}

fn runs_on_hosts(mpi: &str, need: Need, count: usize) {
    if !is_there(mpi, need) {
        return;
    }
    // The path is the same each time, so that builds with an older copy of the runtime do not
    // accumulate.
    let shared = built_for(mpi);
    let folder = &shared.with_file_name(format!("picture-{mpi}"));
    let _ = fs::remove_dir_all(folder);
    let _ = fs::remove_file(shared.join("debug/picture"));
    for folder in [folder, &shared] {
        fs::create_dir_all(folder).unwrap();
    }
    farm(folder);
    let built = folder.join(format!("picture/target/mpi-{mpi}"));
    fs::create_dir(built.parent().unwrap()).unwrap();
    symlink(&shared, &built).unwrap();
    let lock = root().join("modules/link-mpi/Cargo.lock");
    fs::copy(lock, folder.join("picture/Cargo.lock")).unwrap();
    let of_hosts = tempfile::tempdir().unwrap();
    let hosts = Hosts::with_own(of_hosts.path(), count, Some(&shared));
    let names: String = (1..=count).map(|i| format!("h{i} slots=1\n")).collect();
    fs::write(folder.join("hostfile"), names).unwrap();
    let launcher = format!("launcher={mpi}");
    let where_to: &[&str] = match &hosts {
        Some(_) => &["--hosts", "hostfile"],
        None => &["--link", "mpi", "-n", "3"],
    };
    let run = [
        "run",
        "picture.dot",
        "--dev",
        "--dry-run",
        "--set",
        &launcher,
    ];
    let more = ["--set", "env.UCX_TLS=tcp", "--", "300", "200"];
    let program = folder.join(format!("picture/target/mpi-{mpi}/debug/picture"));
    let unbuilt: [&[&str]; 2] = [&["--no-build"], &[]];
    for no_build in unbuilt {
        let shown = graphmap(folder, &[&run[..], no_build, where_to, &more].concat());
        assert!(shown.status.success(), "{}", said(&shown));
        let line = String::from_utf8_lossy(&shown.stdout).trim().to_owned();
        assert_eq!(line, "sh picture/target/graphmap/hosts/mpiexec.sh");
        let script = fs::read_to_string(folder.join("picture/target/graphmap/hosts/mpiexec.sh"));
        let at_once = script
            .unwrap()
            .contains("OMPI_MCA_odls_base_sigkill_timeout=0\n");
        assert_eq!(at_once, mpi == "openmpi");
        assert_eq!(program.is_file(), no_build.is_empty(), "{}", said(&shown));
        let told = said(&shown).contains("/debug/picture is not built yet");
        assert_eq!(told, !no_build.is_empty(), "{}", said(&shown));
    }

    let mut alone = Command::new(&program);
    let alone = alone.args(["300", "200"]).current_dir(folder).output();
    let alone = result(folder, &alone.unwrap());

    // Runs the command that was shown, on the first host.
    let typed = || {
        let mut command = match &hosts {
            Some(hosts) => hosts.on_first("sh"),
            None => Command::new("sh"),
        };
        prepare(&mut command).current_dir(folder);
        command.arg("picture/target/graphmap/hosts/mpiexec.sh");
        if let Some(hosts) = &hosts {
            command.args(hosts.options(mpi));
        }
        command.output().unwrap()
    };
    if let Some(hosts) = &hosts {
        let agent = format!("agent={}", hosts.agent().display());
        let fails = |hostfile: &str, code: i32, told: &[&str]| {
            let mut command = on_first(hosts);
            prepare(&mut command).current_dir(folder).args(&run[..3]);
            command.args(["--set", &launcher, "--set", &agent, "--hosts", hostfile]);
            let output = command.args(more).output().unwrap();
            let text = said(&output);
            assert_eq!(output.status.code(), Some(code), "{text}");
            for told in told {
                assert!(text.contains(told), "no `{told}` in {text}");
            }
        };
        // With MPICH, the agent reports it. With others, the start of the OS process does.
        let at = program.display();
        match mpi {
            "mpich" => fails(
                "hostfile",
                255,
                &[&format!(
                    "error: the host `h2` does not have the program {at}; `graphmap run --copy` copies it there\n"
                )],
            ),
            _ => fails(
                "hostfile",
                2,
                &[
                    "error: OS process ",
                    &format!(" cannot find the executable {at}"),
                ],
            ),
        }
        fs::write(folder.join("nobody"), "h1 slots=1\nnobody slots=1\n").unwrap();
        let told: &[&str] = match mpi {
            "mpich" => &["error: the host `nobody` cannot be reached: `"],
            _ => &[],
        };
        fails("nobody", 255, told);
        let copies = |to: Option<&str>| {
            let mut command = on_first(hosts);
            prepare(&mut command).current_dir(folder).args(run);
            command.args(["--copy", "--set", &agent]).args(where_to);
            let output = command.args(more).output().unwrap();
            let text = said(&output);
            assert!(output.status.success(), "{text}");
            let copied = |hosts: &str| {
                format!("graphmap: copied picture/target/mpi-{mpi}/debug/picture to {hosts}\n")
            };
            match to {
                Some(hosts) => assert!(text.contains(&copied(hosts)), "{text}"),
                None => assert!(!text.contains("graphmap: copied"), "{text}"),
            }
        };
        copies(Some("h2, h3"));
        copies(None);
        // Appends a byte that is never read.
        let longer = format!("printf x >>'{at}'");
        let mut on_h3 = Command::new(hosts.agent());
        let longer = on_h3.args(["h3", &longer]).status();
        assert!(longer.unwrap().success());
        let told = [
            "error: invalid wiring: the program of OS process 2 differs from that of OS process 0 (on h1): \
             all hosts must have the same file of the program",
        ];
        fails("hostfile", 1, &told);
        copies(Some("h3"));
        // All hosts that cannot be reached are reported.
        let mut command = on_first(hosts);
        prepare(&mut command).current_dir(folder).args(run);
        command.args(["--copy", "--set", "agent=false"]);
        let output = command.args(where_to).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", said(&output));
        for host in ["h2", "h3"] {
            let wrong =
                format!("error[G0710]: the program cannot be copied to `{host}`: exit status: 1");
            assert!(said(&output).contains(&wrong), "{}", said(&output));
        }
    }
    // The compiler that the environment names determines the MPI, and the existing build for it is
    // used.
    let mut command = crate::common::graphmap();
    prepare(&mut command)
        .current_dir(folder)
        .env("MPICC", format!("mpicc.{mpi}"));
    // More OS processes than some machines have cores, without an option for the launcher.
    command.args(["run", "picture.dot", "--dev", "--link", "mpi", "-n", "5"]);
    let named = result(
        folder,
        &command.args(["--", "300", "200"]).output().unwrap(),
    );
    assert!(named == alone, "{:?} {:?}", named.0, alone.0);
    let built = fs::read_dir(folder.join("picture/target")).unwrap();
    let built = built.filter(|entry| {
        let name = entry.as_ref().unwrap().file_name();
        name.to_string_lossy().starts_with("mpi-")
    });
    assert_eq!(built.count(), 1);
    let again = graphmap(folder, &[&run[..], where_to, &more].concat());
    assert!(again.status.success(), "{}", said(&again));
    let before = hosts.as_ref().map_or(0, Hosts::sent);
    let spread = result(folder, &typed());
    assert!(spread == alone, "{:?} {:?}", spread.0, alone.0);
    if let Some(hosts) = &hosts {
        let bytes = hosts.sent() - before;
        assert!(bytes > 20_000, "{bytes} bytes went over the wire");
    }

    let agent = hosts.as_ref().map(|hosts| hosts.agent());
    let agent = agent.map(|agent| format!("agent={}", agent.display()));
    let agent = agent.iter().flat_map(|agent| ["--set", agent]);
    let run = ["run", "picture.dot", "--dev", "--set", &launcher];
    let args: Vec<&str> = run.into_iter().chain(agent).collect();
    // The run would take minutes.
    let args = [&args[..], where_to, &["--", "6000", "4000"]].concat();
    for (signal, code) in [("INT", 130), ("TERM", 143), ("HUP", 129), ("KILL", -9)] {
        let command = match &hosts {
            Some(hosts) => on_first(hosts),
            None => crate::common::graphmap(),
        };
        let exe = program.canonicalize().unwrap();
        ends_all(folder, command, &args, &exe, None, (signal, code));
    }
    if mpi == "mpich" {
        let exe = program.canonicalize().unwrap();
        // A launcher that a signal ends reports success.
        for signal in ["TERM", "INT"] {
            if let Some(hosts) = &hosts {
                let command = on_first(hosts);
                ends_all(folder, command, &args, &exe, Some("mpiexec"), (signal, 7));
            }
        }
    }
    if mpi == "mpich" {
        a_silent_launcher_is_reported(folder);
    }
}

/// Checks a launcher that SIGPIPE ends. The launcher of MPICH may end so if an OS process is lost
/// while MPI starts.
fn a_silent_launcher_is_reported(folder: &Path) {
    let script = folder.join("launcher");
    fs::write(&script, "#!/bin/sh\nkill -s PIPE $$\n").unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = crate::common::graphmap();
    command.args(["run", "picture.dot", "--dev", "--set", "launcher=mpich"]);
    command.args(["--link", "mpi", "-n", "2"]);
    let command = prepare(&mut command)
        .current_dir(folder)
        .env("MPIEXEC", &script);
    let output = command.output().unwrap();
    let text = said(&output);
    assert_eq!(output.status.code(), Some(141), "{text}");
    let told = "error[G0705]: the launcher exited with status 141: signal 13 (SIGPIPE) ended it or an OS process of the run";
    assert!(text.contains(told), "{text}");
}

/// Sends a signal to `graphmap run`, or to the process with this name, while the network runs.
/// Checks that no process is left on any host.
fn ends_all(
    folder: &Path,
    mut command: Command,
    args: &[&str],
    program: &Path,
    name: Option<&str>,
    (signal, code): (&str, i32),
) {
    let whom = name;
    // Removes the files of runs that were killed, which would be mistaken for files of this run.
    let _ = fs::remove_dir_all(folder.join("picture/target/graphmap/hosts"));
    // Each process of the job has this variable in its environment.
    let mark = format!("GRAPHMAP_TEST_OF={}.", folder.display());
    let (name, value) = mark.split_once('=').unwrap();
    prepare(&mut command).current_dir(folder).args(args);
    command.env(name, value);
    let output = |name| File::create(folder.join(name)).unwrap();
    command
        .stdout(output("said-out"))
        .stderr(output("said-err"));
    let mut child = Started::of(&mut command);
    let of_job = |is_program: bool| {
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc").unwrap().flatten() {
            let environ = fs::read(entry.path().join("environ")).unwrap_or_default();
            let exe = fs::read_link(entry.path().join("exe")).unwrap_or_default();
            let is_of = environ.windows(mark.len()).any(|at| at == mark.as_bytes());
            if is_of && (!is_program || exe == program) {
                let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
                found.push(String::from_utf8_lossy(&line).replace('\0', " "));
            }
        }
        found
    };
    let told = || fs::read_to_string(folder.join("said-err")).unwrap();
    while of_job(true).len() < 3 {
        assert_eq!(child.try_wait().unwrap(), None, "{}", told());
        thread::sleep(Duration::from_millis(10));
    }
    let named = |name: &str| {
        let numbers = fs::read_dir("/proc").unwrap().flatten();
        let is_it = |path: &std::path::PathBuf| {
            let environ = fs::read(path.join("environ")).unwrap_or_default();
            let called = fs::read_to_string(path.join("comm")).unwrap_or_default();
            called.starts_with(name) && environ.windows(mark.len()).any(|at| at == mark.as_bytes())
        };
        let found = numbers.map(|entry| entry.path()).find(is_it);
        let found = found.unwrap_or_else(|| panic!("no {name}"));
        found.file_name().unwrap().to_string_lossy().into_owned()
    };
    let id = whom.map_or_else(|| child.id().to_string(), named);
    let kill = Command::new("kill").args(["-s", signal, &id]).status();
    assert!(kill.unwrap().success());
    let status = child.wait().unwrap();
    let ended = status.code().or(status.signal().map(|signal| -signal));
    // On loaded machines, a proxy of MPICH fails an assertion of its own while it ends. Then the
    // launcher ends with an error, usually with a message, and `graphmap run` passes its status on.
    let of_mpich = whom.is_some() && matches!(ended, Some(2 | 255));
    // The proxies may have ended the OS processes before the launcher ends.
    let of_processes = whom.is_some() && signal == "TERM" && ended == Some(15);
    assert!(
        of_mpich || of_processes || ended == Some(code),
        "{signal} to {whom:?}: {status} {}",
        told()
    );
    assert!(
        of_mpich || whom.is_none() || told().contains("error[G0705]: the launcher "),
        "{}",
        told()
    );
    let mut left = of_job(false);
    for _ in 0..6000 {
        if left.is_empty() {
            return;
        }
        thread::sleep(Duration::from_millis(10));
        left = of_job(false);
    }
    panic!("{signal} leaves {left:#?}");
}

#[test]
fn the_farm_runs_on_hosts_over_mpich() {
    runs_on_hosts("mpich", Need::Mpich, 3);
}

#[test]
fn the_farm_runs_on_hosts_over_open_mpi() {
    runs_on_hosts("openmpi", Need::OpenMpi, 3);
}

#[test]
fn failed_starts_on_hosts_are_reported() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    fs::write(folder.join("net.dot"), "digraph net { a -> b }").unwrap();
    let new = graphmap(folder, &["new", "net", "--from", "net.dot"]);
    assert!(new.status.success(), "{}", said(&new));
    for (args, told) in [
        (
            "--link mpi -n 2",
            "error[G0708]: the project net has no MPI link",
        ),
        (
            "--hosts hosts=2",
            "error[G0708]: the project net has no MPI link",
        ),
        ("--hosts hosts=2 --link shm", "`--link` can only be `mpi`"),
        ("--dry-run", "this run has no launcher"),
        // The old name of the option.
        ("--print", "this run has no launcher"),
    ] {
        let args: Vec<&str> = ["run", "net.dot"]
            .into_iter()
            .chain(args.split(' '))
            .collect();
        let output = graphmap(folder, &args);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", said(&output));
        assert!(said(&output).contains(told), "{args:?}: {}", said(&output));
    }
    // The script that starts it is written, because it may be for another program.
    let partition = ["partition", "net.dot", "--hosts", "hosts=2", "-o"];
    let warning = "warning[G0708]: the project net has no MPI link, so a launcher cannot join its OS processes";
    for (folder_of_plan, program, warned) in [
        ("plan", &[][..], true),
        ("other", &["--set", "program=./mine"], false),
    ] {
        let output = graphmap(
            folder,
            &[&partition[..], &[folder_of_plan], program].concat(),
        );
        assert!(output.status.success(), "{}", said(&output));
        assert_eq!(said(&output).contains(warning), warned, "{}", said(&output));
    }
    fs::write(folder.join("far.dot"), "digraph far { a -> b }").unwrap();
    let new = ["new", "far", "--from", "far.dot", "--link", "mpi"];
    let new = graphmap(folder, &new);
    assert!(new.status.success(), "{}", said(&new));
    let partition = [
        "partition",
        "far.dot",
        "--hosts",
        "names=h1,h2",
        "-o",
        "far-plan",
    ];
    let output = graphmap(folder, &partition);
    assert!(output.status.success(), "{}", said(&output));
    for (hosts, code, told) in [
        (
            "names=h1,h3",
            2,
            "maps OS process 1 to `h2`, which is not one of the hosts",
        ),
        ("names=h2,h1,h3", 0, ""),
        (
            "names=h1",
            0,
            "maps 2 OS processes to `h1`, which has 1 slot",
        ),
    ] {
        let mapping = folder.join("far-plan/mapping.json");
        if hosts == "names=h1" {
            let text = fs::read_to_string(&mapping).unwrap();
            fs::write(&mapping, text.replace("\"h2\"", "\"h1\"")).unwrap();
        }
        let args = [
            "run",
            "far.dot",
            "--mapping",
            "far-plan/mapping.json",
            "--no-build",
        ];
        let output = graphmap(folder, &[&args[..], &["--hosts", hosts]].concat());
        assert_eq!(output.status.code(), Some(code), "{}", said(&output));
        assert!(said(&output).contains(told), "{}", said(&output));
    }
}
