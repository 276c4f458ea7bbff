//! Full disks, folders that cannot be written, signals during work. The command never hangs and
//! leaves no incomplete file, and its exit code states the cause.

use crate::common::{LONGEST, NET, Started, Test, UNSHARED, gone};
use graphmap_testing::{Need, skip};
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

fn graphmap(test: &Test, args: &str) -> Command {
    let mut command = crate::common::graphmap();
    if test.folder().join("bin/cargo").exists() {
        command.env(UNSHARED.0, UNSHARED.1);
    }
    let path = std::env::var("PATH").unwrap();
    command
        .args(args.split_whitespace())
        .current_dir(test.folder())
        .env("PATH", format!("{}/bin:{path}", test.folder().display()))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command
}

/// Waits until a file exists.
#[track_caller]
fn appears(path: &Path) {
    let start = Instant::now();
    while !path.exists() {
        assert!(start.elapsed() < LONGEST, "{} never came", path.display());
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Signals that request an end, and the exit code of a program that they end.
const ENDING: [(&str, i32); 4] = [("HUP", 129), ("INT", 130), ("QUIT", 131), ("TERM", 143)];

/// Signals that end the command before it can react.
const AT_ONCE: [(&str, i32); 2] = [("KILL", 9), ("USR2", 12)];

/// File system of a few pages, which is unmounted when dropped.
struct Tiny(PathBuf);

impl Tiny {
    /// Mounts the file system. Returns `None` and reports a skipped test if that is not possible.
    fn new(test: &Test) -> Option<Tiny> {
        let folder = test.folder().join("tiny");
        fs::create_dir(&folder).unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=16k", "tmpfs"]);
        let why = match mount.arg(&folder).output() {
            Ok(done) if done.status.success() => return Some(Tiny(folder)),
            Ok(done) => String::from_utf8_lossy(&done.stderr).trim().to_owned(),
            Err(error) => format!("mount does not start: {error}"),
        };
        skip(Need::Namespaces, format!("no full disk is tried: {why}"));
        None
    }
}

impl Drop for Tiny {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn standard_output_on_a_full_disk() {
    let test = Test::new().file("net.json", NET);
    for args in [
        "expand net.json",
        "net.json --emit json=-",
        "view net.json",
        "passes",
        "explain",
        "explain G0305",
        "man",
        "man run",
        "completions bash",
        "--help",
        "-h",
        "run --help",
        "--version",
    ] {
        let mut command = graphmap(&test, args);
        let full = File::options().write(true).open("/dev/full").unwrap();
        let done = command
            .stdout(full)
            .stderr(Stdio::piped())
            .output()
            .unwrap();
        let stderr = String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.code(), Some(2), "{args}: {stderr}");
        assert!(stderr.contains("error[G0005]"), "{args}: {stderr}");
        assert!(stderr.contains("No space left"), "{args}: {stderr}");
    }
}

#[test]
fn a_full_disk_keeps_what_was_there() {
    let wide: Vec<String> = (0..2000)
        .map(|i| format!(r#"{{"name": "process{i}"}}"#))
        .collect();
    let wide = format!(r#"{{"graphmap": 1, "processes": [{}]}}"#, wide.join(","));
    let test = Test::new().file("net.json", NET).file("wide.json", wide);
    let Some(_tiny) = Tiny::new(&test) else {
        return;
    };
    let mut test = test.file("tiny/out.json", "old");
    for args in [
        "wide.json --emit json=tiny/out.json",
        "net.json --emit json=tiny/out.json --emit json=tiny/a.json -n 2 --emit svg=tiny/b.svg --emit html=tiny/c.html",
        "new tiny/project --from net.json",
    ] {
        test = test.args(args);
        let done = test.run();
        // The second command may succeed, or use an unknown emitter. It must not leave only some of
        // its files.
        let code = done.output.status.code();
        if code != Some(0) {
            done.stderr_lacks("panicked");
            assert_eq!(test.read("tiny/out.json"), "old", "{args}");
            let left = test.files();
            let left: Vec<_> = left.iter().filter(|f| f.starts_with("tiny")).collect();
            assert_eq!(left, ["tiny/out.json"], "{args}");
        }
        if args.starts_with("wide") || args.starts_with("new") {
            assert_eq!(code, Some(2), "{args}");
        }
    }
}

/// Starts a command, and stops it as soon as it has written some of its files, but not all.
fn held_in_the_middle(test: &Test, args: &str, outs: &[String]) -> Started {
    let out = test.folder().join("out");
    // If the command finishes before the check, the test tries again.
    for _ in 0..50 {
        let mut child = Started::of(&mut graphmap(test, args));
        appears(&out);
        child.signal("STOP");
        // A stopped process writes no more.
        let stat = format!("/proc/{}/stat", child.id());
        let held = |stat: &str| stat.contains(") T ") || stat.contains(") Z ");
        while !held(&fs::read_to_string(&stat).unwrap()) {
            std::thread::sleep(Duration::from_millis(1));
        }
        if !outs.iter().all(|file| test.folder().join(file).exists()) {
            return child;
        }
        child.signal("CONT");
        child.ended();
        fs::remove_dir_all(&out).unwrap();
    }
    panic!("it always wrote all before it could be held");
}

#[test]
fn writing_is_finished_after_a_signal() {
    let test = Test::new().file("net.json", NET);
    let outs: Vec<String> = (0..300).map(|i| format!("out/{i:03}.json")).collect();
    let emits: Vec<String> = outs
        .iter()
        .map(|out| format!("--emit json={out}"))
        .collect();
    let args = format!("net.json {}", emits.join(" "));
    for name in ["INT", "TERM"] {
        let mut child = held_in_the_middle(&test, &args, &outs);
        child.signal(name);
        child.signal("CONT");
        assert_eq!(child.ended().code(), Some(0), "{name}");
        let left = test.files();
        let left = left.iter().filter(|file| *file != "net.json");
        assert!(left.eq(&outs), "{name}");
        fs::remove_dir_all(test.folder().join("out")).unwrap();
    }
}

#[test]
fn folders_that_cannot_be_written() {
    // Even root cannot create a file in these folders.
    let mut test = Test::new().file("net.json", NET).file("file", "");
    for place in ["/proc/graphmap/x.json", "file/x.json", "/sys/x.json"] {
        test = test.args(&format!(
            "net.json --emit json=new/a.json --emit json={place}"
        ));
        test.run()
            .status(2)
            .stderr_has("error[G0005]")
            .stderr_lacks("panicked");
        assert_eq!(test.files(), ["file", "net.json"], "{place}");
    }
    let test = test.args("new file/project --from net.json");
    test.run().status(2);
    assert_eq!(test.files(), ["file", "net.json"]);
}

#[test]
fn a_closed_pipe_is_not_an_error() {
    let many: Vec<String> = (0..20_000)
        .map(|i| format!(r#"{{"name": "process{i}"}}"#))
        .collect();
    let many = format!(r#"{{"graphmap": 1, "processes": [{}]}}"#, many.join(","));
    let test = Test::new().file("net.json", many);
    for args in [
        "expand net.json",
        "explain",
        "man",
        "completions zsh",
        "--help",
        "--version",
    ] {
        let mut child = Started::of(
            graphmap(&test, args)
                .stdout(Stdio::piped())
                .stderr(Stdio::piped()),
        );
        drop(child.stdout.take());
        let status = child.ended();
        let done = child.output();
        let stderr = String::from_utf8_lossy(&done.stderr);
        assert!(
            !stderr.contains("panicked") && !stderr.contains("error"),
            "{args}: {stderr}"
        );
        assert_eq!(status.code(), Some(0), "{args}");
    }
}

#[test]
fn a_plug_in_that_ignores_requests_to_end() {
    let script =
        "#!/bin/sh\ntrap '' TERM INT\necho $$ > pid; mv pid started\nwhile :; do sleep 1; done\n";
    let test = Test::new()
        .file("net.json", NET)
        .executable("graphmap-pass-deaf", script);
    // The time limit ends the plug-in.
    let mut child = Started::of(&mut graphmap(
        &test,
        "check net.json --pass deaf --plugin-timeout 0.3",
    ));
    assert_eq!(child.ended().code(), Some(5));
    let pid = test.read("started");
    assert!(gone(&pid), "{pid} is still there");
    // A signal to the command ends the plug-in.
    for (name, code) in ENDING {
        fs::remove_file(test.folder().join("started")).unwrap();
        let mut child = Started::of(&mut graphmap(&test, "check net.json --pass deaf"));
        appears(&test.folder().join("started"));
        child.signal(name);
        assert_eq!(child.ended().code(), Some(code), "{name}");
        let pid = test.read("started");
        assert!(gone(&pid), "{pid} is still there after {name}");
    }
    assert_eq!(
        test.files(),
        ["bin/graphmap-pass-deaf", "net.json", "started"]
    );
}

/// Returns a project whose Cargo is a script, because ending a build needs no compiler.
fn project(cargo: &str) -> Test {
    let test = Test::new()
        .file("pair.dot", "digraph pair { a -> b; }")
        .args("new pair --from pair.dot");
    test.run().status(0);
    test.executable("cargo", &format!("#!/bin/sh\n{cargo}\n"))
}

#[test]
fn a_build_that_dies_by_a_signal() {
    let test = project("kill -KILL $$").args("run pair.dot");
    let cargo = test.folder().join("bin/cargo").display().to_string();
    let done = test.env("CARGO", &cargo).run();
    assert!(
        matches!(done.output.status.code(), Some(1 | 2)),
        "{:?}\n{}",
        done.output.status,
        done.stderr()
    );
    done.stderr_has("error[G0704]").stderr_lacks("panicked");
}

/// Build that has started another process and waits for it.
const BUILD: &str = "sleep 1000 & echo $! > other; echo $$ > pid; mv pid started; wait";

#[test]
fn a_build_ends_with_us() {
    let test = project(BUILD);
    let before = test.files();
    let all = ENDING.iter().chain(&AT_ONCE);
    for &(name, code) in all {
        let mut child = Started::of(
            graphmap(&test, "run pair.dot").env("CARGO", test.folder().join("bin/cargo")),
        );
        appears(&test.folder().join("started"));
        child.signal(name);
        let status = child.ended();
        assert_eq!(status.code().or(status.signal()), Some(code), "{name}");
        for file in ["started", "other"] {
            assert!(gone(&test.read(file)), "{file} goes on after {name}");
            fs::remove_file(test.folder().join(file)).unwrap();
        }
        assert_eq!(test.files(), before, "{name}");
    }
}

#[test]
fn what_a_build_has_left_running_ends_with_it() {
    // Cargo is killed, and its compiler does not notice.
    let test = project("sleep 1000 & echo $! > other; kill -KILL $$");
    let cargo = test.folder().join("bin/cargo").display().to_string();
    let test = test.args("run pair.dot").env("CARGO", &cargo);
    test.run().status(2).stderr_has("error[G0704]");
    assert!(gone(&test.read("other")));
}

/// Returns a project whose program is a script.
fn program(script: &str) -> Test {
    let artifact = r#"{"reason": "compiler-artifact", "executable": "bin/program"}"#;
    let test = project(&format!("echo '{artifact}'"));
    test.executable("program", &format!("#!/bin/sh\n{script}\n"))
}

#[test]
fn a_program_ends_with_us() {
    let test = program("echo $$ > pid; mv pid started; exec sleep 1000");
    let before = test.files();
    for &(name, code) in ENDING.iter().chain(&AT_ONCE) {
        let mut child = Started::of(
            graphmap(&test, "run pair.dot").env("CARGO", test.folder().join("bin/cargo")),
        );
        appears(&test.folder().join("started"));
        child.signal(name);
        let status = child.ended();
        assert_eq!(status.code().or(status.signal()), Some(code), "{name}");
        assert!(gone(&test.read("started")), "it goes on after {name}");
        fs::remove_file(test.folder().join("started")).unwrap();
        assert_eq!(test.files(), before, "{name}");
    }
}

/// Checks the supervisors that ensure that no process outlives the command. The program records the
/// signal that it receives.
#[test]
fn one_signal_asks_a_tree_and_another_ends_it() {
    for mode in ["@bound-tree", "@bound-everything"] {
        let test = Test::new();
        let script = "trap 'echo > asked' USR1; sleep 1000 & echo $! > other; echo $$ > pid
            mv pid started; while :; do wait; done";
        let own = std::process::id().to_string();
        let mut command = graphmap(&test, mode);
        let mut child = Started::of(command.args([&own, "sh", "-c", script]));
        appears(&test.folder().join("started"));
        child.signal("USR1");
        appears(&test.folder().join("asked"));
        assert!(child.try_wait().unwrap().is_none(), "{mode}");
        child.signal("USR2");
        assert_eq!(child.ended().code(), Some(140), "{mode}");
        for file in ["started", "other"] {
            assert!(gone(&test.read(file)), "{mode}: {file} goes on");
        }
    }
}

#[test]
fn a_program_hears_the_signal_that_we_do_and_may_take_its_leave() {
    let test = program(
        "trap 'echo hup > heard; exit 7' HUP; trap 'echo quit > heard; exit 7' QUIT
         echo > started; while :; do sleep 0.01; done",
    );
    for (name, code, word) in [("HUP", 129, "hup\n"), ("QUIT", 131, "quit\n")] {
        let mut child = Started::of(
            graphmap(&test, "run pair.dot").env("CARGO", test.folder().join("bin/cargo")),
        );
        appears(&test.folder().join("started"));
        child.signal(name);
        assert_eq!(child.ended().code(), Some(code), "{name}");
        assert_eq!(test.read("heard"), word);
        fs::remove_file(test.folder().join("started")).unwrap();
    }
}

#[test]
fn a_signal_that_is_ignored_at_entry_stays_so() {
    let build = "[ -e built ] || { echo > building; while [ ! -e go ]; do sleep 0.01; done; }
        echo > built; echo '{\"reason\": \"compiler-artifact\", \"executable\": \"bin/program\"}'";
    let test = project(build).executable(
        "program",
        "#!/bin/sh\necho $$ > pid; mv pid started; while [ ! -e end ]; do sleep 0.01; done; exit 9\n",
    );
    let script = format!(
        "trap '' HUP INT QUIT; exec {} run pair.dot",
        env!("CARGO_BIN_EXE_graphmap")
    );
    let start = || {
        let mut command = Command::new("sh");
        command
            .env("GRAPHMAP_DATA", crate::common::data())
            .env(UNSHARED.0, UNSHARED.1)
            .args(["-c", &script])
            .current_dir(test.folder())
            .env("CARGO", test.folder().join("bin/cargo"))
            .stderr(Stdio::null());
        Started::of(&mut command)
    };
    // During the build, and while the program runs.
    let mut child = start();
    appears(&test.folder().join("building"));
    let ignored = ["HUP", "INT", "QUIT"];
    ignored.iter().for_each(|name| child.signal(name));
    fs::write(test.folder().join("go"), "").unwrap();
    appears(&test.folder().join("started"));
    ignored.iter().for_each(|name| child.signal(name));
    fs::write(test.folder().join("end"), "").unwrap();
    assert_eq!(child.ended().code(), Some(9));
    // A signal that is not ignored ends both.
    for file in ["started", "end"] {
        fs::remove_file(test.folder().join(file)).unwrap();
    }
    let mut child = start();
    appears(&test.folder().join("started"));
    child.signal("TERM");
    assert_eq!(child.ended().code(), Some(143));
    assert!(gone(&test.read("started")));
}

#[test]
fn a_build_that_waits_for_another_says_so() {
    let test = project(
        "echo '    Blocking waiting for file lock on build directory' >&2
         while [ ! -e go ]; do sleep 0.01; done; exit 1",
    );
    let mut child = Started::of(
        graphmap(&test, "run pair.dot")
            .env("CARGO", test.folder().join("bin/cargo"))
            .stderr(Stdio::piped()),
    );
    let mut said = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    said.read_line(&mut line).unwrap();
    assert_eq!(
        line,
        "graphmap: cargo: Blocking waiting for file lock on build directory\n"
    );
    fs::write(test.folder().join("go"), "").unwrap();
    assert_eq!(child.ended().code(), Some(2));
}
