//! Runs of one built program with other sizes (`-D`): no file of the project changes, and nothing
//! is compiled again.

use crate::common::Test;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the graph and the code of the example `sieve`. The number of primes is a size.
fn sieve() -> Test {
    let graph = fs::read_to_string(root().join("graphs/sieve.dot")).unwrap();
    let sized = graph
        .replace("replicas=100", "replicas=\"primes\"")
        .replace("rankdir=LR;", "sizes=\"primes=100, room=100\";")
        .replace("capacity=100", "capacity=\"room\"");
    assert!(sized != graph);
    let runtime = root().join("modules/runtime");
    let runtime = runtime.to_str().unwrap();
    let test = Test::new().file("sieve.dot", sized).words(&[
        "new",
        "sieve",
        "--from",
        "sieve.dot",
        "--quiet",
        "--runtime",
        runtime,
    ]);
    test.run().status(0);
    let processes = root().join("graphs/sieve/src/processes");
    for entry in fs::read_dir(processes).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap();
        fs::copy(&path, test.folder().join("sieve/src/processes").join(name)).unwrap();
    }
    // The structure of the network that runs has that length.
    let collect = test.folder().join("sieve/src/processes/collect.rs");
    let code = fs::read_to_string(&collect).unwrap();
    let asked = code.replace("primes.len()", "crate::wiring::length()");
    assert!(asked != code);
    fs::write(&collect, asked).unwrap();
    let own = test.folder().join("sieve/src/types.rs");
    fs::copy(root().join("graphs/sieve/src/types.rs"), own).unwrap();
    test
}

/// Returns the content and the time of change of each file. A compilation would change files in the
/// folder `target`.
fn state(test: &Test) -> BTreeMap<PathBuf, (Vec<u8>, SystemTime)> {
    // Cargo always writes the list of the sources.
    let files = test
        .files()
        .into_iter()
        .filter(|name| !name.ends_with(".d"));
    files
        .map(|name| {
            let path = test.folder().join(name);
            let changed = fs::metadata(&path).unwrap().modified().unwrap();
            (path.clone(), (fs::read(&path).unwrap(), changed))
        })
        .collect()
}

#[test]
fn one_program_runs_with_other_sizes() {
    let test = sieve().args("run sieve.dot --dev --quiet");
    let target = test.folder().join("target");
    let mut test = test.env("CARGO_TARGET_DIR", target.to_str().unwrap());
    let done = test.run().status(0);
    let last = "100 primes, their sum is 24133\n";
    assert!(done.stdout().ends_with(last), "{}", done.stdout());
    let before = state(&test);
    assert!(
        before
            .keys()
            .any(|path| path.ends_with("target/debug/sieve"))
    );
    for (args, last) in [
        ("-D primes=1", "1 primes, their sum is 2\n"),
        ("-D primes=7 -n 3", "7 primes, their sum is 58\n"),
        (
            "-D primes=7 -D room=1 -n 3 --link shm",
            "7 primes, their sum is 58\n",
        ),
        (
            "-D primes=300 -n 2 --link shm --strategy auto",
            "300 primes, their sum is 271061\n",
        ),
        ("", "100 primes, their sum is 24133\n"),
    ] {
        test = test.args(&format!("run sieve.dot --dev --quiet {args}"));
        let done = test.run().status(0);
        assert_eq!(done.stderr(), "", "{args}");
        assert!(done.stdout().ends_with(last), "{args}: {}", done.stdout());
        let after = state(&test);
        let changed = after
            .iter()
            .filter(|(path, now)| before.get(*path) != Some(now));
        let changed: Vec<&PathBuf> = changed.map(|(path, _)| path).collect();
        assert!(changed.is_empty(), "{args}: {changed:?}");
    }
}

#[test]
fn a_program_without_a_kind_or_port_does_not_run() {
    let graph = "digraph g {
    sizes=\"n=0\";
    a -> b [type=u8];
    c [replicas=n];
    a -> c [src=more, type=u8, bundle=share];
    d -> b [src=more, dst=more, type=u8, for=\"i=1..n\", at=\"i, 1\"];
    d [replicas=1];
    d -> a [dst=from, type=u8, bundle=select];
}
";
    let test = Test::new().file("g.dot", graph);
    let test = test.args("new g --from g.dot --quiet");
    test.run().status(0);
    let test = test.args("run g.dot --no-build -D n=1");
    let expected = r#"error[G0717]: the program has no code for the kind `c`
 --> g.dot:4:5
  |
4 |     c [replicas=n];
  |     ^ a process of this kind exists with the given sizes
  |
  = note: the sizes in the graph make no process of this kind
  = help: set sizes in the graph that make at least one, and build the program with `graphmap run GRAPH --no-run`

error[G0718]: with the given sizes, `more` of the kind `d` is a new output
 --> g.dot:6:5
  |
6 |     d -> b [src=more, dst=more, type=u8, for="i=1..n", at="i, 1"];
  |     ^^^^^^ the program has another port or none
  |
  = help: set these sizes in the graph, and build the program with `graphmap run GRAPH --no-run`

graphmap: 2 errors
"#;
    test.run().status(1).stderr_is(expected);
}

#[test]
fn sizes_are_not_those_of_ranks() {
    let test = Test::new().args("new ring --family mpi --quiet");
    test.run().status(0);
    let test = test.args("run ring --no-build -D n=2");
    test.run().status(2).stderr_is(
        "error[G0011]: `-D` and `-A` change a graph, but a project of ranks has no graph\n\
         \x20 = help: omit them\n\ngraphmap: 1 error\n",
    );
}

#[test]
fn launch_files_pass_the_tables() {
    let graph = "digraph g { sizes=\"n=3\"; a -> b [type=u8, bundle=share]; b [replicas=n]; }";
    let test = Test::new()
        .file("g.dot", graph)
        .args("new g --from g.dot --link mpi --quiet");
    test.run().status(0);
    let test = test.args("partition g.dot --hosts names=h1,h2 -o plan --quiet");
    test.run().status(0);
    assert!(!test.read("plan/mpiexec.sh").contains("GRAPHMAP_TABLES"));
    let test = test.args("partition g.dot --hosts names=h1,h2 -o plan --quiet -D n=5");
    test.run().status(0);
    let script = test.read("plan/mpiexec.sh");
    let passed = "graphmap-tables 1; network g g.dot; size WORKERS 5; kind a 0; names listed a; ";
    assert!(
        script.contains("GRAPHMAP_TABLES") && script.contains(passed),
        "{script}"
    );
    let test = test.args("partition g.dot --hosts names=h1,h2 -o plan --quiet -D n=0");
    test.run().status(0);
}

#[test]
fn tables_are_emitted() {
    let test = Test::new()
        .file(
            "g.dot",
            "digraph g { sizes=\"n=3\"; a -> b [type=Task, capacity=5, at=first]; b [replicas=n]; \
             b -> b [step=1, type=Task, initial=1]; b -> NULL [at=last]; b -> a [src=\"a b\", type=\"Vec<u8>\", bundle=select, flow=credits]; }",
        )
        .args("g.dot -D n=4 --emit g.tables");
    test.run().status(0);
    let tables = r#"graphmap-tables 1;
network g g.dot;
size LENGTH 4;
kind a 0;
names listed a;
place 1 26;
kind b 1+1*4;
names pattern b 1+1*4;
place 1+0*4 31+0*4;
channels a out b in types::Task 5 0 plain 0 0 "" "" 1 26;
channels b out b in types::Task 1 1 plain 0+1*3 1+1*3 "" "" 1+0*3 84+0*3;
channels b "a b" a in "Vec<u8>" 1 0 flow 0+1*4 0+0*4 "" 0+1*4 1+0*4 144+0*4;
"#;
    assert_eq!(test.read("g.tables"), tables);
}
