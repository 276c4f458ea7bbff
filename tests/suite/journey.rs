//! A complete session of a user with only the binary. The binary is copied elsewhere, the sources
//! that it was built from are hidden, and there is no network. The session goes from a graph to a
//! program, through changes of the graph, to runs that are ended from outside. It uses one project,
//! so that the runtime is compiled once.
//!
//! `cli_run.rs` and the crate `wiring` test the diagnostics of such changes. This test checks that
//! the steps work in sequence, and that no other file changes.

use crate::common::{LONGEST, Started, Test};
use graphmap_testing::{Need, build_cheaply, skip};
use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

const GRAPH: &str = "\
digraph squares {
    numbers -> worker [type=u64, bundle=share];
    worker [replicas=4];
    worker -> sum [type=u64];
}
";

/// Graph with another name of the port of `sum`, and with an additional kind.
const LONGER: &str = "\
digraph squares {
    numbers -> worker [type=u64, bundle=share];
    worker [replicas=4];
    worker -> check [type=u64, at=each];
    check [replicas=4];
    check -> sum [dst=found, type=u64];
}
";

const NUMBERS: &str = "\
use crate::wiring::Numbers;

/// Stops in the middle when it is told to.
pub async fn numbers(mut ports: Numbers) {
    for n in 1..=10 {
        if ports.out.write(n).await.is_err() {
            return;
        }
    }
    if std::env::args().any(|a| a == \"wait\") {
        println!(\"{}\", std::process::id());
        std::thread::sleep(std::time::Duration::from_secs(1000));
    }
}
";

const WORKER: &str = "\
use crate::wiring::Worker;

pub async fn worker(mut ports: Worker) {
    while let Some(n) = ports.in_.read().await {
        ports.out.write(n * n).await.unwrap();
    }
}
";

const SUM: &str = "\
use crate::wiring::Sum;

pub async fn sum(mut ports: Sum) {
    let mut sum = 0;
    while let Some((_, n)) = ports.in_.read().await {
        sum += n;
    }
    println!(\"{sum}\");
}
";

/// Binary alone in a folder of its own.
struct Lone {
    test: Test,
    /// Whether the sources can be hidden.
    hidden: bool,
}

/// Exit status and output of a command.
struct Said {
    status: ExitStatus,
    stdout: String,
    stderr: String,
}

impl Said {
    #[track_caller]
    fn ends(self, code: i32) -> Said {
        let Said { stdout, stderr, .. } = &self;
        assert_eq!(self.status.code(), Some(code), "{stdout}\n{stderr}");
        assert!(!stderr.contains("panicked"), "{stderr}");
        self
    }

    #[track_caller]
    fn says(self, text: &str) -> Said {
        assert!(self.stderr.contains(text), "no `{text}`:\n{}", self.stderr);
        self
    }

    #[track_caller]
    fn gives(self, text: &str) -> Said {
        assert_eq!(self.stdout, text, "{}", self.stderr);
        self
    }
}

impl Lone {
    fn new() -> Lone {
        let test = Test::new();
        fs::create_dir(test.folder().join("bin")).unwrap();
        fs::create_dir(test.folder().join("tmp")).unwrap();
        fs::copy(
            env!("CARGO_BIN_EXE_graphmap"),
            test.folder().join("bin/graphmap"),
        )
        .unwrap();
        let mut unshare = Command::new("unshare");
        let may = unshare.args(["-mn", "sh", "-c", "mount -t tmpfs none /mnt"]);
        let hidden = may.output().is_ok_and(|done| done.status.success());
        if !hidden {
            let why = "`unshare -mn` is not allowed: the sources are not hidden";
            skip(Need::Namespaces, why);
        }
        Lone { test, hidden }
    }

    fn folder(&self) -> &Path {
        self.test.folder()
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.folder().join(name), text).unwrap();
    }

    fn command(&self, args: &str) -> Command {
        let binary = self.folder().join("bin/graphmap");
        let mut command;
        if self.hidden {
            let hide = "for folder in modules docs src; do
                mount -t tmpfs none \"$SOURCES/$folder\" || exit 99
            done
            exec \"$@\"";
            command = Command::new("unshare");
            command.args(["-mn", "sh", "-c", hide, "sh"]);
            command.arg(binary);
            command.env("SOURCES", env!("CARGO_MANIFEST_DIR"));
        } else {
            command = Command::new(binary);
        }
        build_cheaply(&mut command)
            .args(args.split_whitespace())
            .current_dir(self.folder())
            .env_remove("CARGO_TARGET_DIR")
            .env("CARGO_NET_OFFLINE", "true")
            .env("GRAPHMAP_DATA", self.folder().join("data"))
            .env("TMPDIR", self.folder().join("tmp"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    #[track_caller]
    fn run(&self, args: &str) -> Said {
        finish(Started::of(&mut self.command(args)))
    }

    /// Returns the files that concern the user, with their content.
    fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let names = self.test.files().into_iter().map(PathBuf::from);
        let seen = names.filter(|name| !name.starts_with("squares/target"));
        let seen = seen.filter(|name| !name.starts_with("bin") && !name.starts_with("data"));
        seen.map(|name| {
            let content = fs::read(self.folder().join(&name)).unwrap();
            (name, content)
        })
        .collect()
    }
}

/// Waits until a command ends, and returns its output. Fails if the command hangs.
#[track_caller]
fn finish(mut child: Started) -> Said {
    let start = Instant::now();
    let mut pipes: Vec<Box<dyn Read + Send>> = Vec::new();
    let stdout = child
        .stdout
        .take()
        .map(|p| Box::new(p) as Box<dyn Read + Send>);
    pipes.push(stdout.unwrap_or_else(|| Box::new(std::io::empty())));
    pipes.push(Box::new(child.stderr.take().unwrap()));
    let readers: Vec<_> = pipes
        .into_iter()
        .map(|mut pipe| {
            std::thread::spawn(move || {
                let mut text = String::new();
                let _ = pipe.read_to_string(&mut text);
                text
            })
        })
        .collect();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if start.elapsed() > LONGEST {
            let _ = child.kill();
            panic!("it hangs");
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    let mut texts = readers.into_iter().map(|reader| reader.join().unwrap());
    Said {
        status,
        stdout: texts.next().unwrap(),
        stderr: texts.next().unwrap(),
    }
}

/// Returns the names of the files that differ.
fn changed(before: &BTreeMap<PathBuf, Vec<u8>>, after: &BTreeMap<PathBuf, Vec<u8>>) -> Vec<String> {
    let names = before.keys().chain(after.keys());
    let differ = names.filter(|name| before.get(*name) != after.get(*name));
    let mut names: Vec<String> = differ.map(|name| name.display().to_string()).collect();
    names.sort();
    names.dedup();
    names
}

#[test]
fn from_a_graph_to_a_program_and_on() {
    let user = Lone::new();
    user.write("squares.dot", GRAPH);

    // A new project builds, and does nothing.
    user.run("new squares --from squares.dot").ends(0);
    user.run("run squares.dot --dev").ends(0).gives("").says("");
    let begun = user.files();

    // The user's functions.
    for (kind, text) in [("numbers", NUMBERS), ("worker", WORKER), ("sum", SUM)] {
        user.write(&format!("squares/src/processes/{kind}.rs"), text);
    }
    for n in [1, 2, 5] {
        let args = format!("run squares.dot --dev -n {n}");
        user.run(&args).ends(0).gives("385\n");
    }
    let written = user.files();
    let functions = ["numbers", "sum", "worker"];
    let functions = functions.map(|kind| format!("squares/src/processes/{kind}.rs"));
    assert_eq!(changed(&begun, &written), functions);

    // A port gets another name: the function that uses the old name is reported by file and line.
    let renamed = GRAPH.replace("worker -> sum [", "worker -> sum [dst=found, ");
    user.write("squares.dot", &renamed);
    let before = user.files();
    user.run("run squares.dot --dev")
        .ends(1)
        .gives("")
        .says("warning[G0607]: the function `sum` does not match its kind: the port `found` was added")
        .says("--> squares/src/processes/sum.rs:5:36");
    assert_eq!(changed(&before, &user.files()), ["squares/src/wiring.rs"]);
    user.write("squares/src/processes/sum.rs", &SUM.replace("in_", "found"));
    user.run("run squares.dot --dev").ends(0).gives("385\n");

    // A new kind gets a stub, and the network runs with it.
    user.write("squares.dot", LONGER);
    let before = user.files();
    user.run("run squares.dot --dev")
        .ends(0)
        .gives("0\n")
        .says("graphmap: wrote squares/src/processes/check.rs");
    let now = changed(&before, &user.files());
    let check = "squares/src/processes/check.rs";
    assert_eq!(
        now,
        [
            check,
            "squares/src/processes/mod.rs",
            "squares/src/wiring.rs"
        ]
    );
    let mine = user.test.read(check).replace("A stub", "Mine, a stub");
    user.write(check, &mine);

    // The kind is removed. Its file belongs to the user, and stays.
    user.write("squares.dot", &renamed);
    user.run("run squares.dot --dev")
        .ends(0)
        .gives("385\n")
        .says("warning[G0608]: squares/src/processes/check.rs is not part of the program");
    assert_eq!(user.test.read(check), mine);

    ended_from_outside(&user);
}

/// Checks runs that do not end by themselves: none hangs, each is reported, and no file is
/// incomplete.
fn ended_from_outside(user: &Lone) {
    user.run("partition squares.dot -n 2 --emit mapping.json -o plan");
    let before = user.files();
    for (signal, to_program, code, told) in [
        (
            "-KILL",
            true,
            137,
            "error[G0705]: signal 9 (SIGKILL) ended the program",
        ),
        ("-ABRT", true, 134, "signal 6 (SIGABRT) ended the program"),
        ("-INT", false, 130, ""),
        ("-HUP", false, 129, ""),
        ("-QUIT", false, 131, ""),
        ("-TERM", false, 143, ""),
    ] {
        let args =
            "run squares.dot --dev --strategy stack -n 2 --profile profile.json --stats -- wait";
        let mut child = Started::of(&mut user.command(args));
        let mut line = String::new();
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        stdout.read_line(&mut line).unwrap();
        let program = line.trim().to_owned();
        assert!(!program.is_empty(), "{}", finish(child).stderr);
        let target = if to_program {
            program.clone()
        } else {
            child.id().to_string()
        };
        let kill = Command::new("kill").args([signal, &target]).status();
        assert!(kill.unwrap().success());
        finish(child).ends(code).says(told);
        // The program holds the other end of the pipe until it ends.
        let mut rest = String::new();
        stdout.read_to_string(&mut rest).unwrap();
        assert_eq!(rest, "", "{signal}");
        // There is no profile of an incomplete run, and no temporary mapping is left.
        let none: Vec<String> = Vec::new();
        assert_eq!(changed(&before, &user.files()), none, "{signal}");
    }
    user.run("run squares.dot --dev -n 2 --profile profile.json")
        .ends(0)
        .gives("385\n");
    let profile = user.test.read("profile.json");
    assert!(profile.contains("worker4") && profile.contains("\"graphmap\":1,"));
}
