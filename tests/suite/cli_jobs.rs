//! Runs under a launcher: checks against this host before the start, and the meaning of the
//! launcher's exit status. Cargo and the launchers are shell scripts.

use crate::common::{Started, Test};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};

/// Launcher whose program ends normally.
const DONE: &str = "rm \"$GRAPHMAP_RUNNING\"; exit 0";

/// Returns a project with the MPI link. Its stub of Cargo creates the file `built`, and this
/// launcher starts the program.
fn net(launcher: &str) -> Test {
    let test = Test::new()
        .file("net.dot", "digraph net { a -> b [type=u64]; }")
        .args("new net --from net.dot --link mpi");
    test.run().status(0);
    let artifact = serde_json::json!({
        "reason": "compiler-artifact",
        "target": {"name": "net"},
        "executable": test.folder().join("bin/net"),
    });
    test.executable("mpicc.mpich", "#!/bin/sh\n")
        .executable("mpicc.openmpi", "#!/bin/sh\n")
        .executable("net", "#!/bin/sh\necho net\n")
        .executable(
            "cargo",
            &format!("#!/bin/sh\ntouch built\necho '{artifact}'\n"),
        )
        // graphmap does not ask a launcher of this name for its version.
        .executable("starts", &format!("#!/bin/sh\n{launcher}\n"))
        .env("CARGO", "cargo")
        .env("MPIEXEC", "starts")
        .args("run net.dot --link mpi -n 2")
}

/// Checks that concurrent runs have separate files, and remove them at their end.
#[test]
fn runs_at_the_same_time_have_files_of_their_own() {
    let test = net(
        "case \"$*\" in *'-n 1 '*) touch done; rm \"$GRAPHMAP_RUNNING\"; exit 0 ;; esac\n\
         touch begun; while [ ! -f done ]; do sleep 0.01; done\n\
         cat \"${GRAPHMAP_RUNNING%/*}/mpiexec.sh\" >told; rm \"$GRAPHMAP_RUNNING\"",
    );
    let mut two = test.start();
    two.wait_for(&test.folder().join("begun"));
    let other = test.args("run net.dot --link mpi -n 1");
    other.run().status(0);
    assert!(two.ended().success());
    assert!(
        other.read("told").contains(" -n 2 "),
        "{}",
        other.read("told")
    );
    let left = fs::read_dir(other.folder().join("net/target/graphmap/hosts")).unwrap();
    let left: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["mapping.json"]);
}

/// Checks that the launcher's status 0 or 255 is an error if the program is still marked as
/// running.
#[test]
fn an_end_that_is_not_the_programs_is_an_error() {
    let began = "printf 1 >>\"$GRAPHMAP_RUNNING\"";
    let joined = format!("{began}; {began}");
    let ended = format!("{began}; rm \"$GRAPHMAP_RUNNING\"");
    for (launcher, code, told) in [
        (
            format!("{began}; exit 0"),
            7,
            "the launcher exited with status 0 while the program was running",
        ),
        (
            format!("{joined}; exit 255"),
            7,
            "the launcher failed while the program was running",
        ),
        (
            "kill -s KILL $$".to_owned(),
            137,
            "the launcher exited with status 137: signal 9 (SIGKILL) ended it or an OS process of the run",
        ),
        (
            "exit 143".to_owned(),
            143,
            "the launcher exited with status 143: signal 15 (SIGTERM) ended it or an OS process of the run",
        ),
        (format!("{ended}; exit 0"), 0, ""),
        (format!("{ended}; exit 255"), 255, ""),
        (
            "exit 0".to_owned(),
            7,
            "the launcher exited with status 0 before the program started",
        ),
        ("exit 255".to_owned(), 255, ""),
        (format!("{joined}; exit 8"), 8, ""),
        (format!("{began}; exit 255"), 255, ""),
    ] {
        let done = net(&launcher).run().status(code);
        let said = done.stderr();
        match told {
            "" => assert!(!said.contains("G0705"), "{launcher}: {said}"),
            told => assert!(
                said.contains(&format!("error[G0705]: {told}\n")),
                "{launcher}: {said}"
            ),
        }
    }
}

/// Checks the end of `graphmap run … | head -1`: no message, and the exit code of other programs.
#[test]
fn a_closed_pipe_is_not_an_error() {
    use std::io::{BufRead, BufReader, Read};
    let test = net("exec yes");
    let mut command = test.command();
    command.stdout(std::process::Stdio::piped());
    command.stderr(std::process::Stdio::piped());
    let mut child = Started::of(&mut command);
    let mut line = String::new();
    let mut reader = BufReader::new(child.stdout.take().unwrap());
    reader.read_line(&mut line).unwrap();
    assert_eq!(line, "y\n");
    drop(reader);
    let mut said = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut said)
        .unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(141), "{said}");
    assert!(!said.contains("error"), "{said}");
}

#[test]
fn cores_that_this_host_lacks_are_reported_before_the_build() {
    let test = net(DONE).args("partition net.dot -n 2 -o plan --quiet");
    test.run().status(0);
    let plan = test.read("plan/mapping.json");
    let plan = plan.replace("\"host\": null", "\"host\": \"localhost\"");
    assert!(plan.contains("\"cores\": []"), "{plan}");
    for (cores, code, told) in [
        (
            "[0, 999]",
            0,
            "warning[G0713]: OS process 0 is bound to core 999 of `localhost`",
        ),
        (
            "[998, 999]",
            2,
            "error[G0713]: OS process 0 is bound to core 998 of `localhost`, which does not exist",
        ),
    ] {
        let test = net(DONE).file("mapping.json", plan.replacen("[]", cores, 1));
        let test = test.args("run net.dot --link mpi --mapping mapping.json --set agent=none");
        test.run().status(code).stderr_has(told);
        assert_eq!(test.folder().join("built").exists(), code == 0);
        // The cores of other hosts are unknown.
        let other = plan.replacen("[]", cores, 1).replace("localhost", "other");
        let test = test.file("mapping.json", other);
        let done = test.run().status(0);
        assert!(!done.stderr().contains("G0713"), "{}", done.stderr());
    }
}

/// Checks that this is reported before the build, because `mpiexec` would refuse only after
/// minutes.
#[test]
fn open_mpi_that_starts_nothing_for_root_is_reported_before_the_build() {
    let is_root = fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0);
    let (one, other) = ("OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM");
    let set = format!("--set env.{one}=1 --set env.{other}=1");
    for (values, more, allowed) in [
        (["0", "1"], "", false),
        (["1", ""], "", false),
        (["1", "1"], "", true),
        (["", ""], &*set, true),
    ] {
        let test = net("")
            .executable(
                "mpiexec.here",
                "#!/bin/sh\necho 'mpirun (Open MPI) 5.0.3'\nrm -f \"$GRAPHMAP_RUNNING\"\n",
            )
            .env("MPIEXEC", "mpiexec.here")
            .env(one, values[0])
            .env(other, values[1])
            .args(&format!(
                "run net.dot --link mpi -n 2 --set launcher=openmpi {more}"
            ));
        let is_refused = is_root && !allowed;
        let done = test.run().status(if is_refused { 2 } else { 0 });
        let told =
            "error[G0714]: `MPIEXEC=mpiexec.here` of Open MPI does not start programs for root";
        assert_eq!(
            done.stderr().contains(told),
            is_refused,
            "{}",
            done.stderr()
        );
        assert_eq!(test.folder().join("built").exists(), !is_refused);
    }
}

/// Checks that a program without the permission to execute is copied again. A failed copy leaves no
/// file behind.
#[test]
fn a_copy_is_whole_and_executable_or_not_there() {
    // Stand-in for ssh: on the other host, the folder `far` replaces `bin`.
    let agent = |limit: &str| {
        format!(
            "#!/bin/sh\nhere=$(dirname \"$0\")\nscript=$(printf '%s' \"$2\" | sed \"s|$here/net|$here/../far/net|g\")\n{limit}\nexec sh -c \"$script\"\n"
        )
    };
    let test = net(DONE)
        .executable("agent", &agent(":"))
        .file("far/net", "#!/bin/sh\necho net\n")
        .args("run net.dot --hosts names=far --copy --set agent=agent");
    let far = test.folder().join("far/net");
    let mode = || fs::metadata(&far).unwrap().permissions().mode() & 0o777;
    fs::set_permissions(&far, fs::Permissions::from_mode(0o644)).unwrap();
    test.run()
        .status(0)
        .stderr_has("graphmap: copied bin/net to far\n");
    assert_eq!(mode(), 0o755);
    let done = test.run().status(0);
    assert!(!done.stderr().contains("copied"), "{}", done.stderr());
    // A full disk, and a connection that ends too early.
    let large = format!("#!/bin/sh\n# {}\n", "x".repeat(100_000));
    let before = fs::read(&far).unwrap();
    let test = test.executable("net", &large);
    for (limit, why) in [
        ("ulimit -f 8; trap '' XFSZ", "File too large"),
        (
            "case $script in *mkdir*) exec <bin/agent ;; esac",
            "the copy is incomplete",
        ),
    ] {
        let test = test_with(&test, "agent", &agent(limit));
        let done = test.run().status(2);
        let told = "error[G0710]: the program cannot be copied to `far`: ";
        let said = done.stderr();
        assert!(said.contains(told) && said.contains(why), "{said}");
        assert!(
            said.contains("of `far` writable, with space for the program"),
            "{said}"
        );
        assert_eq!(fs::read(&far).unwrap(), before);
        assert!(!test.folder().join("far/net.new").exists());
    }
}

/// Replaces the text of an executable of the test.
fn test_with<'a>(test: &'a Test, name: &str, text: &str) -> &'a Test {
    fs::write(test.folder().join("bin").join(name), text).unwrap();
    test
}
