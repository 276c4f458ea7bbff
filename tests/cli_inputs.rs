//! Inputs that somebody else made: none is written over, none is waited for or read without end.

#![cfg(target_os = "linux")]

mod common;

use common::Test;
use std::fs;
use std::os::unix::fs::symlink;
use std::process::{Command, Stdio};

const DRAWING: &str = "digraph pair { a -> b [type=u64]; }\n";

/// A drawing and one of each other kind of input, all of them sound.
fn inputs() -> Test {
    let test = Test::new()
        .file("pair.dot", DRAWING)
        .file("hosts", "n1\nn2\n")
        .file("rules", "pin a = 0\n")
        .file("sk/families.toml", "[go]\nabout = \"Go\"\n")
        .file("sk/go/explicit.hbs", "{{graph.name}}\n")
        .file(
            "weights.json",
            r#"{"processes": [{"name": "a", "load": 2}, {"name": "b", "load": 1}], "channels": []}"#,
        )
        .args("pair.dot --emit mapping=mapping.json -n 2");
    test.run().status(0);
    test
}

fn content(test: &Test) -> Vec<(String, String)> {
    let files = test.files().into_iter();
    files.map(|name| (name.clone(), test.read(&name))).collect()
}

#[test]
fn no_input_is_written_over_whatever_its_path_looks_like() {
    let mut test = inputs();
    let folder = test.folder().to_owned();
    symlink("pair.dot", folder.join("link.rs")).unwrap();
    symlink("mapping.json", folder.join("link.json")).unwrap();
    symlink(".", folder.join("here")).unwrap();
    fs::hard_link(folder.join("pair.dot"), folder.join("hard.svg")).unwrap();
    fs::hard_link(folder.join("weights.json"), folder.join("hard.json")).unwrap();
    let before = {
        fs::remove_file(folder.join("here")).unwrap();
        let before = content(&test);
        symlink(".", folder.join("here")).unwrap();
        before
    };
    for (args, path) in [
        ("pair.dot --emit wiring=pair.dot", "pair.dot"),
        ("pair.dot --emit wiring=./pair.dot", "./pair.dot"),
        ("pair.dot --emit wiring=here/pair.dot", "here/pair.dot"),
        ("pair.dot --emit link.rs", "link.rs"),
        ("pair.dot --emit hard.svg", "hard.svg"),
        ("pair.dot --emit new.rs --emit json=pair.dot", "pair.dot"),
        ("pair.dot --emit wiring=pair.dot --check", "pair.dot"),
        ("view pair.dot -o hard.svg", "hard.svg"),
        ("expand here/pair.dot -o pair.dot", "pair.dot"),
        ("pair.dot -n 2 --hosts hosts --emit hostfile=hosts", "hosts"),
        ("pair.dot -n 2 --rules rules --emit json=rules", "rules"),
        (
            "pair.dot --mapping mapping.json --emit json=link.json",
            "link.json",
        ),
        (
            "partition pair.dot -n 2 --previous mapping.json -o .",
            "./mapping.json",
        ),
        (
            "pair.dot --weights weights.json --emit hard.json",
            "hard.json",
        ),
        (
            "pair.dot --pass weights --set weights=weights.json --emit weights.json",
            "weights.json",
        ),
        (
            "pair.dot --skeletons sk --emit go=here/sk/go/explicit.hbs",
            "here/sk/go/explicit.hbs",
        ),
        (
            "pair.dot --skeletons sk --emit go=sk/families.toml",
            "sk/families.toml",
        ),
        ("run pair.dot --profile pair.dot", "pair.dot"),
        ("run pair.dot --trace pair.dot", "pair.dot"),
        (
            "run pair.dot --mapping mapping.json --profile link.json",
            "link.json",
        ),
    ] {
        test = test.args(args);
        let said = format!("error[G0011]: `{path}` is read in this run, and would be written over");
        test.run().status(2).stdout_is("").stderr_has(&said);
        fs::remove_file(folder.join("here")).unwrap();
        assert_eq!(content(&test), before, "{args}");
        symlink(".", folder.join("here")).unwrap();
    }
}

#[test]
fn standard_input_and_output_may_be_files() {
    let test = inputs();
    let path = test.folder().join("pair.dot");
    let run = |args: &[&str], out: Stdio| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_graphmap"));
        let command = command.args(args).current_dir(test.folder());
        let input = fs::File::open(&path).unwrap();
        command.stdin(input).stdout(out).output().unwrap()
    };
    let done = run(&["-", "--emit", "json=pair.dot"], Stdio::piped());
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(said.contains("`pair.dot` is read in this run"), "{said}");
    assert!(said.contains("it was read as `<stdin>`"), "{said}");
    let append = fs::File::options().append(true).open(&path).unwrap();
    let done = run(&["expand", "pair.dot"], append.into());
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(
        said.contains("standard output is read in this run"),
        "{said}"
    );
    assert_eq!(test.read("pair.dot"), DRAWING);
    // Its own input is what `fmt` is there to write.
    let done = run(&["fmt", "./pair.dot", "pair.dot"], Stdio::piped());
    assert!(done.status.success(), "{done:?}");
}

#[test]
fn nothing_is_written_twice_whatever_its_path_looks_like() {
    let test = inputs();
    let folder = test.folder().to_owned();
    fs::create_dir(folder.join("out")).unwrap();
    symlink("out", folder.join("to")).unwrap();
    let mut test = test;
    let before = test.files();
    for (args, path) in [
        ("pair.dot --emit wiring=./a.rs --emit json=a.rs", "a.rs"),
        (
            "pair.dot --emit wiring=to/a.rs --emit json=out/a.rs",
            "out/a.rs",
        ),
        (
            "pair.dot --emit wiring=n/a.rs --emit json=n/x/../a.rs",
            "n/x/../a.rs",
        ),
        // A file that comes along with another.
        (
            "pair.dot -n 2 --hosts hosts --emit mpiexec=out/m --emit json=to/hostfile",
            "out/hostfile",
        ),
    ] {
        test = test.args(args);
        let done = test.run().status(2).stdout_is("");
        let said = done.stderr();
        assert!(
            said.contains("is to be written twice"),
            "{args}: {path}: {said}"
        );
        assert_eq!(test.files(), before, "{args}");
    }
}

#[test]
fn what_has_no_end_is_refused() {
    let test = inputs();
    let folder = test.folder().to_owned();
    symlink("/dev/zero", folder.join("zero.dot")).unwrap();
    symlink("/dev/zero", folder.join("zero.json")).unwrap();
    symlink("/dev/zero", folder.join("sk/go/zero.hbs")).unwrap();
    fs::create_dir(folder.join("zero")).unwrap();
    symlink("/dev/zero", folder.join("zero/families.toml")).unwrap();
    fs::create_dir(folder.join("circle")).unwrap();
    symlink(".", folder.join("circle/again")).unwrap();
    symlink("..", folder.join("circle/up")).unwrap();
    let mut test = test;
    for (args, said) in [
        ("check zero.dot", "byte 0 is zero"),
        ("check zero.json", "byte 0 is zero"),
        ("fmt zero.dot", "byte 0 is zero"),
        ("check pair.dot --weights /dev/zero", "byte 0 is zero"),
        (
            "partition pair.dot -n 2 --hosts /dev/zero",
            "byte 0 is zero",
        ),
        (
            "partition pair.dot -n 2 --rules /dev/zero",
            "byte 0 is zero",
        ),
        (
            "partition pair.dot -n 2 --previous /dev/zero",
            "byte 0 is zero",
        ),
        (
            "pair.dot --mapping /dev/zero --emit json=-",
            "byte 0 is zero",
        ),
        (
            "pair.dot --emit go=a.go --skeletons sk",
            "zero.hbs cannot be read: it is not text",
        ),
        ("passes --skeletons zero", "byte 0 is zero"),
        (
            "pair.dot --emit a.rs --skeletons circle",
            "a link to a folder that it lies in",
        ),
    ] {
        test = test.args(args);
        let done = test.run();
        assert_ne!(done.output.status.code(), Some(0), "{args}");
        done.stderr_has(said).stderr_lacks("panicked");
    }
}

#[test]
fn standard_input_without_end_is_refused() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_graphmap"))
        .args(["check", "-"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let line = b"a -> b;\n".repeat(8192);
    let writer = std::thread::spawn(move || {
        let mut written = 0;
        while std::io::Write::write_all(&mut stdin, &line).is_ok() {
            written += line.len();
        }
        written
    });
    let done = child.wait_with_output().unwrap();
    let written = writer.join().unwrap();
    assert!(written < 300 << 20, "{written} bytes were read");
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert_eq!(done.status.code(), Some(2), "{said}");
    assert!(said.contains("error[G0003]"), "{said}");
    assert!(said.contains("more than 256 MiB"), "{said}");
}
