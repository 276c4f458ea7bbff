//! External passes and emitters, valid and invalid.

use crate::common::{LONGEST, NET, Test, gone};
use graphmap_testing::{Need, skip};
use serde_json::json;
use std::time::Instant;

const WEIGH: &str = include_str!("../plugins/graphmap-pass-weigh");
const CSV: &str = include_str!("../plugins/graphmap-emit-csv");

/// Returns a test with a pass that is a shell script.
fn pass(script: &str) -> Test {
    Test::new()
        .file("net.json", NET)
        .executable("graphmap-pass-odd", &format!("#!/bin/sh\n{script}\n"))
        .args("check net.json --pass odd")
}

/// Returns a test with an emitter that is a shell script.
fn emit(script: &str) -> Test {
    Test::new()
        .file("net.json", NET)
        .executable("graphmap-emit-odd", &format!("#!/bin/sh\n{script}\n"))
        .args("net.json --emit odd=out/file")
}

/// Returns true if Python can be started. Otherwise the test is skipped.
#[track_caller]
pub(crate) fn python() -> bool {
    let found = std::process::Command::new("python3")
        .arg("--version")
        .output();
    if let Err(error) = &found {
        skip(Need::Python, format!("python3 does not start: {error}"));
    }
    found.is_ok()
}

#[test]
fn a_pass_in_python_changes_the_network() {
    if !python() {
        return;
    }
    Test::new()
        .file("net.json", NET)
        .executable("graphmap-pass-weigh", WEIGH)
        .args("expand net.json --json --pass weigh --set weigh=a:2.5")
        .run()
        .status(0)
        .stderr_is("")
        .stdout_has(r#""kind":"a","load":2.5"#)
        .stdout_has(r#""kind":"b","load":1.0"#);
}

#[test]
fn what_a_pass_in_python_reports_points_into_the_file() {
    if !python() {
        return;
    }
    let test = Test::new()
        .file("net.json", NET)
        .executable("graphmap-pass-weigh", WEIGH);
    test.args("check net.json --pass weigh --set weigh=b:heavy,aa:1")
        .run()
        .status(5)
        .stderr_is(
            "\
warning[G0507]: weigh: no process is of kind `aa`
  = help: did you mean `a`?

error[G0507]: weigh: `heavy` is not a load
 --> net.json:4:32
  |
4 |   \"processes\": [{\"name\": \"a\"}, {\"name\": \"b\"}],
  |                                ^^^^^^^^^^^^^ for this kind

graphmap: 1 error and 1 warning
",
        );
}

#[test]
fn an_emitter_in_python_writes_a_file() {
    if !python() {
        return;
    }
    let test = Test::new()
        .file("net.json", NET)
        .executable("graphmap-emit-csv", CSV)
        .args("net.json -n 2 --emit csv=out/channels.csv");
    test.run()
        .status(0)
        .stderr_is("graphmap: wrote out/channels.csv\n");
    let table = "from,to,type,from_os_process,to_os_process\na.out,b.in,u64,0,1\n";
    assert_eq!(test.read("out/channels.csv"), table);
    test.args("net.json -n 2 --emit csv=-")
        .run()
        .status(0)
        .stdout_is(table);
}

#[test]
fn external_passes_and_emitters_are_listed() {
    Test::new()
        .executable("graphmap-pass-weigh", WEIGH)
        .executable("graphmap-emit-csv", CSV)
        .args("passes")
        .run()
        .status(0)
        .stdout_has("  weigh              external: ")
        .stdout_has("  csv                external: ");
}

#[test]
fn a_pass_that_says_nothing_changes_nothing() {
    pass(r#"echo '{"protocol": 1}'"#)
        .run()
        .status(0)
        .stderr_lacks("error");
}

#[test]
fn a_plug_in_that_answers_before_it_reads_does_not_block() {
    // Exceeds the capacity of a pipe, in both directions.
    let processes: Vec<String> = (0..4000)
        .map(|i| format!(r#"{{"name": "p{i}"}}"#))
        .collect();
    let net = format!(
        r#"{{"graphmap": 1, "processes": [{}]}}"#,
        processes.join(",")
    );
    let script = r#"printf '{"protocol": 1, "diagnostics": ['
i=0
while [ $i -lt 3000 ]; do printf '{"severity": "note", "message": "number %d"},' $i; i=$((i+1)); done
printf '{"severity": "note", "message": "last"}]}'
cat > /dev/null"#;
    pass(script).file("net.json", net).run().status(0);
}

#[test]
fn a_hanging_plug_in_is_killed_with_its_child_processes() {
    let test = pass("sleep 1000 & echo $! > child; sleep 1000")
        .args("check net.json --pass odd --plugin-timeout 0.3");
    let start = Instant::now();
    test.run()
        .status(5)
        .stderr_has("error[G0502]")
        .stderr_has("did not end within 0.3 s and was killed")
        .stderr_has("--plugin-timeout");
    assert!(start.elapsed() < LONGEST);
    let child = test.read("child");
    assert!(gone(&child), "{child} is still there");
}

#[test]
fn a_plug_in_ends_with_us() {
    let test = pass("echo $$ > number; mv number started; exec sleep 1000");
    let mut run = test.start();
    run.wait_for(&test.folder().join("started"));
    assert_eq!(run.end_by("INT").code(), Some(130));
    assert!(test.read("said-err").contains("was interrupted"));
    assert!(gone(&test.read("started")));
}

#[test]
fn child_processes_of_a_plug_in_end_with_it() {
    let test = pass(r#"sleep 1000 & echo $! > child; echo '{"protocol": 1}'"#);
    // Its child process keeps standard output open.
    test.run().status(0);
    assert!(gone(&test.read("child")));
}

/// Commands that start a process in a session of its own, and wait until it runs. It writes its
/// number to `child`.
const LEAVE: &str = "setsid sh -c 'echo $$ > number; mv number child; exec sleep 1000' > out 2>&1 &
while [ ! -e child ]; do sleep 0.01; done
";

#[test]
fn not_even_a_session_of_its_own_outlives_a_plug_in() {
    for (end, status) in [
        (r#"echo '{"protocol": 1}'"#, 0),
        ("exit 3", 5),
        ("kill -SEGV $$", 5),
        ("sleep 1000", 5),
    ] {
        let test = pass(&format!("{LEAVE}{end}"));
        let test = test.args("check net.json --pass odd --plugin-timeout 3");
        test.run().status(status);
        assert!(gone(&test.read("child")), "{end}");
    }
}

#[test]
fn whatever_ends_us_ends_a_plug_in_and_all_that_it_started() {
    for signal in ["INT", "TERM", "HUP", "KILL"] {
        let test = pass(&format!("echo $$ > own\n{LEAVE}sleep 1000"));
        let mut run = test.start();
        run.wait_for(&test.folder().join("child"));
        run.end_by(signal);
        for file in ["own", "child"] {
            assert!(gone(&test.read(file)), "{signal}: {file}");
        }
    }
}

/// Checks that the end of a plug-in is detected even if graphmap inherits that SIGCHLD is ignored.
#[test]
fn the_end_of_a_plug_in_is_detected_if_sigchld_is_ignored() {
    let test = pass("exit 3");
    let path = std::env::var("PATH").unwrap();
    let output = std::process::Command::new("sh")
        .args(["-c", "trap '' CHLD; exec \"$0\" check net.json --pass odd"])
        .arg(env!("CARGO_BIN_EXE_graphmap"))
        .current_dir(test.folder())
        .env(
            "PATH",
            format!("{}:{path}", test.folder().join("bin").display()),
        )
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.contains("graphmap-pass-odd` exited with status 3"),
        "{said}"
    );
}

#[test]
fn a_failed_plug_in_is_reported_with_its_output() {
    pass("echo this and >&2; echo that >&2; exit 3")
        .run()
        .status(5)
        .stderr_has("error[G0503]")
        .stderr_has("exited with status 3")
        .stderr_has("end of its standard error:\n          this and\n          that\n");
}

#[test]
fn a_plug_in_killed_by_a_signal_is_an_error() {
    pass("kill -SEGV $$")
        .run()
        .status(5)
        .stderr_has("error[G0503]")
        .stderr_has("by signal 11");
}

#[test]
fn a_plug_in_that_cannot_be_started_is_an_error() {
    Test::new()
        .file("net.json", NET)
        .executable("graphmap-pass-odd", "#!/no/such/interpreter\n")
        .args("check net.json --pass odd")
        .run()
        .status(5)
        .stderr_has("error[G0501]")
        .stderr_has("graphmap-pass-odd` cannot be started: No such file or directory");
}

#[test]
fn an_invalid_reply_is_an_error() {
    for script in [
        "echo hello",
        "true",
        r"printf '\377\376\000'",
        r#"echo '{"protocol": 1, "netwrok": {}}'"#,
        r#"echo '{"protocol": 1} {"protocol": 1}'"#,
        r#"echo '{"protocol": 1, "network": {"graphmap": 1, "processes": [{"nom": "a"}]}}'"#,
        r#"echo '{"protocol": 1, "network": {"graphmap": 7}}'"#,
        "head -c 300000 /dev/zero",
    ] {
        pass(script)
            .run()
            .status(5)
            .stderr_has("error[G0504]")
            .stderr_lacks("panicked");
    }
}

/// Checks that an error in a reply is shown in the graph file, at the position that the plug-in
/// returned. Without a position, only the message is shown.
#[test]
fn an_invalid_element_is_reported_at_its_position() {
    let said = r#"{"protocol": 1, "network": {"graphmap": 1,
        "processes": [{"name": "a"}, {"name": "b", "lode": 3, "span": [0, 21, 22]}],
        "channels": [{"from": "a", "to": "c", "span": [0, 12, 18]}],
        "constraints": [{"processes": ["a"], "host": "h", "colocate": "x", "span": [0, 20, 21]},
            {"processes": ["a"], "span": [7, 20, 21]}, {"proceses": ["a"]}]}}"#;
    Test::new()
        .file("net.dot", "digraph g { a -> b; b }\n")
        .executable(
            "graphmap-pass-odd",
            &format!("#!/bin/sh\ncat > /dev/null\ncat <<'END'\n{said}\nEND\n"),
        )
        .args("check net.dot --pass odd")
        .run()
        .status(5)
        .stderr_has("error[G0504]")
        .stderr_has(
            "error[G0007]: a constraint must have exactly one rule
 --> net.dot:1:21
  |
1 | digraph g { a -> b; b }
  |                     ^
",
        )
        .stderr_has(
            "error[G0007]: a constraint must have exactly one rule\n  = note: in `constraints[1]`",
        )
        .stderr_has(" --> net.dot:1:22\n")
        .stderr_has("unknown field `lode`")
        .stderr_has("= note: unknown field `proceses`")
        .stderr_has("error[G0009]: no process is named `c`\n --> net.dot:1:13\n");
}

#[test]
fn an_answer_without_an_end() {
    pass("yes")
        .run()
        .status(5)
        .stderr_has("error[G0504]")
        .stderr_has("it is longer than 64 MiB, the limit")
        .stderr_lacks("signal");
}

#[test]
fn another_protocol() {
    for reply in [r#"{"protocol": 0}"#, r#"{"protocol": 2}"#, "{}"] {
        pass(&format!("echo '{reply}'"))
            .run()
            .status(5)
            .stderr_has("error[G0008]");
    }
}

#[test]
fn a_network_that_is_not_sound() {
    pass(r#"echo '{"protocol": 1, "network": {"graphmap": 1}}'"#)
        .run()
        .status(5)
        .stderr_has("error[G0508]: the pass `odd` produced an invalid network")
        .stderr_has("G0301");
}

#[test]
fn a_file_outside_of_the_folder_is_refused() {
    for path in ["../x", "/tmp/graphmap-x", "a/../../x", "./../x"] {
        let reply = format!(
            r#"{{"protocol": 1, "files": [{{"path": "", "content": ""}}, {{"path": "{path}", "content": "x"}}]}}"#
        );
        let test = emit(&format!("echo '{reply}'"));
        test.run()
            .status(5)
            .stderr_has("error[G0506]")
            .stderr_has(path);
        assert_eq!(
            test.files(),
            ["bin/graphmap-emit-odd", "net.json"],
            "{path}"
        );
    }
}

#[test]
fn files_beside_the_main_one() {
    let reply = r#"{"protocol": 1, "files": [{"content": "one"}, {"path": "deep/two", "content": "two", "executable": true}]}"#;
    let test = emit(&format!("echo '{reply}'"));
    test.run().status(0);
    assert_eq!(
        (test.read("out/file"), test.read("out/deep/two")),
        ("one".into(), "two".into())
    );
    test.args("net.json --emit odd=-")
        .run()
        .status(5)
        .stderr_has("error[G0506]");
}

#[test]
fn an_emitter_without_its_main_file() {
    emit(r#"echo '{"protocol": 1}'"#)
        .run()
        .status(5)
        .stderr_has("error[G0504]");
}

#[test]
fn unknown_passes_and_emitters_are_errors() {
    Test::new()
        .file("net.json", NET)
        .args("check net.json --pass nope")
        .run()
        .status(2)
        .stderr_has("error[G0010]: unknown pass `nope`");
    Test::new()
        .file("net.json", NET)
        .args("net.json --emit ../x=out")
        .run()
        .status(2)
        .stderr_has("error[G0006]");
}

/// Returns the request that the plug-in received, from the file `asked` of the test.
fn asked(test: &Test) -> serde_json::Value {
    serde_json::from_str(&test.read("asked")).unwrap()
}

const HOSTFILE: &str = "n1:2\nn2:1\nn1:1\n";

#[test]
fn a_plug_in_receives_the_platform_of_the_mapping() {
    let keep = r#"cat > asked; echo '{"protocol": 1, "files": [{"content": ""}]}'"#;
    let script = format!("#!/bin/sh\n{keep}\n");
    let mut test = pass(r#"cat > asked; echo '{"protocol": 1}'"#)
        .executable("graphmap-emit-odd", &script)
        .file("hostfile", HOSTFILE);
    let slots = |host: u32, slots: u32| json!({"host": host, "slots": slots});
    let host = |name: &str, slots: u32| json!({"name": name, "slots": slots, "speed": 1.0, "group": 0, "cores": []});
    let distances = json!({"os_process": 45.0, "cache": 1100.0, "socket": 2900.0,
        "host": 3500.0, "group": 62500.0, "platform": 125_000.0});
    let from_file = json!({
        "hosts": [host("n1", 3), host("n2", 1)],
        "order": [slots(0, 2), slots(1, 1), slots(0, 1)],
        "distances": distances,
    });
    let of_words = json!({
        "os_processes": 2,
        "hosts": [{"name": "a", "slots": 2, "speed": 2.0, "memory": 1_u64 << 30, "group": 0, "cores": [
            {"socket": 0, "cache": 0, "cpus": [0], "speed": 1.0},
            {"socket": 1, "cache": 1, "cpus": [1], "speed": 1.0},
        ]}],
        "order": [slots(0, 2)],
        "distances": {"os_process": 0.0, "cache": 3.0, "socket": 3.0, "host": 7.0, "group": 7.0, "platform": 7.0},
    });
    let words = "hosts=1:sockets=2:cores=1 distance=7:7:3 names=a speed=2 memory=1G";
    let mut of_number =
        json!({"os_processes": 3, "hosts": [host("localhost", 3)], "order": [slots(0, 3)]});
    of_number["distances"] = distances;
    for (how, told) in [
        (&["--hosts", "hostfile"][..], &from_file),
        (&["--hosts", words, "-n", "2"], &of_words),
        (&["-n", "3"], &of_number),
    ] {
        for verb in [
            &["partition", "net.json", "--pass", "odd"][..],
            &["net.json", "--pass", "odd", "--emit", "json=x.json"],
            &["net.json", "--emit", "odd=x"],
        ] {
            test = test.words(&[verb, how].concat());
            test.run().status(0);
            assert_eq!(asked(&test)["platform"], *told, "{verb:?} {how:?}");
        }
    }
    test = test.args("partition net.json -n 2 -o plan");
    test.run().status(0);
    for unsaid in [
        "check net.json --pass odd",
        "expand net.json --pass odd",
        "partition net.json --pass odd",
        "net.json --pass odd --emit odd=x --mapping plan/mapping.json",
    ] {
        test = test.args(unsaid);
        test.run().status(0);
        assert!(asked(&test).get("platform").is_none(), "{unsaid}");
    }
}

/// Checks that the hosts are read once, because `<(...)` cannot be read again. Errors in them are
/// reported together with errors in the graph.
#[test]
fn hosts_are_read_once_and_their_mistakes_told_with_those_of_the_graph() {
    let test = pass(r#"cat > asked; echo '{"protocol": 1}'"#).file("hostfile", HOSTFILE);
    let test = test.args("partition net.json --pass odd --hosts /dev/stdin");
    let test = test.stdin(HOSTFILE);
    test.run().status(0).stdout_has("pair: 2 processes");
    assert_eq!(asked(&test)["platform"]["hosts"][1]["name"], "n2");
    Test::new()
        .file("wrong.dot", "digraph g { a -> b [load=1] }\n")
        .file("hostfile", "n1:0\n")
        .args("partition wrong.dot --hosts hostfile")
        .run()
        .status(1)
        .stderr_has("error[G0205]: `load` is not allowed on an edge\n --> wrong.dot:1:21")
        .stderr_has(" --> hostfile:1:4\n")
        .stderr_has("graphmap: 2 errors\n");
}

#[test]
fn the_pass_of_the_book_goes_by_the_platform() {
    if !python() {
        return;
    }
    let book = include_str!("../../docs/src/plugins.md");
    let pass = book
        .split("```python\n")
        .find(|block| block.contains("request.get(\"platform\")"))
        .and_then(|block| block.split("```").next())
        .expect("a pass that asks for the platform");
    let test = Test::new()
        .file("net.dot", "digraph g { a -> disk -> b }\n")
        .executable("graphmap-pass-disks", pass);
    let hosts = "names=n1,n2,n3 slots=2 memory=1G,4G,2G";
    let words = [
        "partition",
        "net.dot",
        "--pass",
        "disks",
        "--json",
        "--hosts",
    ];
    let done = test.words(&[&words[..], &[hosts]].concat()).run().status(0);
    let plan: serde_json::Value = serde_json::from_str(&done.stdout()).unwrap();
    let all = plan["os_processes"].as_array().unwrap();
    let disk = all.iter().find(|o| o["kinds"].get("disk").is_some());
    assert_eq!(disk.unwrap()["host"], "n2", "{plan:#}");
}
