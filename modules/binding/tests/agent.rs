//! Tests of `agent.sh`, which MPICH's `mpiexec` calls instead of ssh. A shell takes the place of
//! `mpiexec`, and a script that of ssh.

mod common;

use graphmap_binding::command::{Launcher, command};
use graphmap_kpn::diagnostic::Diagnostics;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;

/// Replacement for ssh. Some hosts cannot be reached, and others end it by a signal.
const SSH: &str = "#!/bin/sh
echo \"$*\" >>\"$0.log\"
while :; do case $1 in -[lpo]) shift 2 ;; -*) shift ;; *) break ;; esac; done
host=$1; shift
case $host in
nobody | no.host) exit 255 ;;
interrupted) kill -INT $PPID; exit 255 ;;
refused) exit 1 ;;
killed) kill -KILL $$ ;;
esac
exec sh -c \"$*\"
";

fn executable(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn unreachable_hosts_are_reported_and_end_the_launcher() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let hosts = ["h1", "nobody", "refused", "killed", "no-host", "no.host"];
    let hosts = hosts.map(|host| (host, &[][..], 1));
    let mut launch = common::launch(&hosts);
    // The words in the path must not be mistaken for parts of the script's template.
    launch.program = at("LOOK-PROGRAM-TITLE").display().to_string();
    let made = command(&launch, Launcher::Mpich, &mut Diagnostics::new()).unwrap();
    for (name, text) in &made.files {
        executable(&at(name), text);
    }
    executable(&at("ssh"), SSH);
    executable(&at("A=file"), "");
    executable(&at("proxy"), "#!/bin/sh\necho proxy \"$@\"\nexit 7\n");
    let ssh = at("ssh").display().to_string();
    let proxy = format!("\"{}\"", at("proxy").display());
    let program = launch.program.clone();
    let reached = format!("cannot be reached: `{ssh}` exited with status");
    for (is_there, words, proxy, expected) in [
        (true, "-x h1", &*proxy, None),
        (true, "-x -l me h1", &proxy, None),
        // From HYDRA_LAUNCHER_EXTRA_ARGS. `A=*` must not expand to the name of a file.
        (true, "-x -p 22 -o A=* h1", &proxy, None),
        (
            false,
            "-x h1",
            &proxy,
            Some((
                2,
                format!(
                    "does not have the program {program}; `graphmap run --copy` copies it there"
                ),
            )),
        ),
        (
            true,
            "h1",
            "/nowhere/hydra_pmi_proxy",
            Some((
                2,
                "does not have hydra_pmi_proxy, the daemon of MPICH".to_owned(),
            )),
        ),
        (
            true,
            "-x nobody",
            &proxy,
            Some((3, format!("{reached} 255"))),
        ),
        (
            true,
            "-x refused",
            &proxy,
            Some((4, format!("{reached} 1"))),
        ),
        // This line's dot must not match the `-` in the line of another host.
        (
            true,
            "-x no.host",
            &proxy,
            Some((7, format!("{reached} 255"))),
        ),
        (true, "-x interrupted", &proxy, None),
        // The agent reports no error if a signal has ended ssh.
        (true, "-x killed", &proxy, None),
    ] {
        let _ = fs::remove_file(&program);
        if is_there {
            executable(Path::new(&program), "");
        }
        // Shells make background jobs ignore interrupts, and the tests may be such a job.
        let mut mpiexec = Command::new("env");
        mpiexec.args(["--default-signal=INT", "sh"]);
        // If an error is expected, the shell waits until the agent ends it.
        let waits = "\"$@\"; case $told in '') exit 42 ;; *) exec sleep 1000 ;; esac";
        mpiexec.args(["-c", waits, "mpiexec"]).arg(at("agent.sh"));
        mpiexec.args(words.split(' ')).args([proxy, "--port", "1"]);
        mpiexec.current_dir(&folder);
        mpiexec.env("told", expected.as_ref().map_or("", |_| "yes"));
        let output = mpiexec.env("GRAPHMAP_AGENT", &ssh).output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        match expected {
            None => {
                assert_eq!(output.status.code(), Some(42), "{words}: {stderr}");
                assert_eq!(stderr.matches("error").count(), 0, "{words}: {stderr}");
            }
            Some((line, expected)) => {
                let host = words.rsplit(' ').next().unwrap();
                let hostfile = at("hostfile").display().to_string();
                let expected =
                    format!("error: the host `{host}` (line {line} of {hostfile}) {expected}");
                assert!(
                    stderr.contains(&expected),
                    "{words}: no `{expected}` in {stderr}"
                );
                assert_eq!(output.status.signal(), Some(15), "{words}: {stderr}");
            }
        }
        let started = String::from_utf8_lossy(&output.stdout) == "proxy --port 1\n";
        assert_eq!(
            started,
            words.ends_with("h1") && is_there && proxy.starts_with('"')
        );
    }
    let log = fs::read_to_string(at("ssh.log")).unwrap();
    assert!(
        log.contains("-l me -x h1 ") || log.contains("-x -l me h1 "),
        "{log}"
    );
    assert!(log.contains("-x -p 22 -o A=* h1 "), "{log}");
}

/// Tests that the message is not written by `echo`, which replaces `\n` in some shells. There is no
/// hostfile beside the agent.
#[test]
fn paths_with_backslashes_are_reported_unchanged() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let launch = common::launch(&[("nobody", &[][..], 1)]);
    let made = command(&launch, Launcher::Mpich, &mut Diagnostics::new()).unwrap();
    let agent = made.files.iter().find(|(name, _)| *name == "agent.sh");
    executable(&at("agent.sh"), &agent.unwrap().1);
    executable(&at("a\\nssh"), SSH);
    let ssh = at("a\\nssh").display().to_string();
    let mut mpiexec = Command::new("sh");
    mpiexec.args(["-c", "\"$@\"; exec sleep 1000", "mpiexec"]);
    mpiexec.arg(at("agent.sh")).args(["nobody", "/bin/sh"]);
    let output = mpiexec.env("GRAPHMAP_AGENT", &ssh).output().unwrap();
    let expected =
        format!("error: the host `nobody` cannot be reached: `{ssh}` exited with status 255\n");
    assert_eq!(String::from_utf8_lossy(&output.stderr), expected);
}

/// Tests that the script keeps an agent of the user for its own agent to call, and does not replace
/// another launcher.
#[test]
fn agent_replaces_only_ssh() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("launch.sh");
    let launch = common::launch(&[("h1", &[], 1), ("h2", &[], 1)]);
    let made = command(&launch, Launcher::Mpich, &mut Diagnostics::new()).unwrap();
    executable(&script, &made.script);
    let mpiexec = folder.path().join("mpiexec");
    executable(
        &mpiexec,
        "#!/bin/sh\necho \"${HYDRA_LAUNCHER-} ${HYDRA_LAUNCHER_EXEC-} ${GRAPHMAP_AGENT-}\"\n",
    );
    let own = format!("ssh {}/agent.sh", folder.path().display());
    for (set, expected) in [
        (&[][..], format!("{own} ssh\n")),
        (&[("HYDRA_LAUNCHER", "ssh")], format!("{own} ssh\n")),
        (&[("HYDRA_LAUNCHER_EXEC", "mine")], format!("{own} mine\n")),
        // A launch within another launch uses the agent of that.
        (
            &[
                ("HYDRA_LAUNCHER", "ssh"),
                ("HYDRA_LAUNCHER_EXEC", "/around it/agent.sh"),
                ("GRAPHMAP_AGENT", "mine"),
            ],
            format!("{own} mine\n"),
        ),
        (
            &[
                ("HYDRA_LAUNCHER_EXEC", "another"),
                ("GRAPHMAP_AGENT", "mine"),
            ],
            format!("{own} another\n"),
        ),
        (&[("HYDRA_LAUNCHER", "rsh")], "rsh  \n".to_owned()),
        (&[("SLURM_JOB_ID", "7")], "  \n".to_owned()),
        (&[("PBS_JOBID", "7")], "  \n".to_owned()),
    ] {
        let mut command = Command::new(&script);
        for name in [
            "HYDRA_LAUNCHER",
            "HYDRA_LAUNCHER_EXEC",
            "GRAPHMAP_AGENT",
            "SLURM_JOB_ID",
            "PBS_JOBID",
        ] {
            command.env_remove(name);
        }
        let command = command.env("MPIEXEC", &mpiexec).envs(set.iter().copied());
        let output = command.output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), expected, "{set:?}");
    }
    let anywhere = common::launch(&[("", &[], 2)]);
    let made = command(&anywhere, Launcher::Mpich, &mut Diagnostics::new()).unwrap();
    assert!(!made.script.contains("agent.sh"), "{}", made.script);
}

#[test]
fn a_program_without_the_right_to_be_executed_is_reported_as_that() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let mut launch = common::launch(&[("h1", &[][..], 1)]);
    launch.program = at("program").display().to_string();
    let made = command(&launch, Launcher::Mpich, &mut Diagnostics::new()).unwrap();
    for (name, text) in &made.files {
        executable(&at(name), text);
    }
    executable(&at("ssh"), SSH);
    fs::write(at("program"), "").unwrap();
    let mut mpiexec = Command::new("sh");
    mpiexec.args(["-c", "\"$@\"; exec sleep 1000", "mpiexec"]);
    mpiexec.arg(at("agent.sh")).args(["h1", "/bin/sh"]);
    mpiexec.env("GRAPHMAP_AGENT", at("ssh"));
    // `graphmap run` removes its files at the end, so the message does not refer to the hostfile.
    for (run, place) in [
        ("", format!(" (line 2 of {})", at("hostfile").display())),
        ("running", String::new()),
    ] {
        let output = mpiexec.env("GRAPHMAP_RUNNING", run).output().unwrap();
        let expected = format!(
            "error: the host `h1`{place} has the program {}, but it is not executable; use `chmod +x` \
             or `graphmap run --copy`\n",
            launch.program
        );
        assert_eq!(String::from_utf8_lossy(&output.stderr), expected);
    }
}
