//! Defaults: the graph file, `graphmap.toml`, and the levels of diagnostics.

use crate::common::Test;

const FARM: &str = "\
digraph farm {
    put -> work [type=u64, bundle=share, at=all];
    work -> get [type=u64, at=all];
    work [replicas=4];
}
";

/// Returns a network with two notes of non-determinism (G0314).
fn farm() -> Test {
    Test::new().file("farm.dot", FARM)
}

const TAKEN: &str = "graphmap: using farm.dot, the only graph file here\n";

#[test]
fn the_only_graph_file_is_used_and_named() {
    let sound = format!("{TAKEN}farm.dot: 6 processes of 3 kinds, 8 channels\n");
    let test = farm().file(".hidden.dot", "").file("plan.json", "{}");
    let mut test = test.args("check --allow G0314");
    test.run().status(0).stderr_is(&sound);
    for args in [
        "partition --hosts hostfile",
        "view",
        "expand",
        "--emit json=-",
        "emit --emit json=-",
        "new work",
    ] {
        test = test.file("hostfile", "node1:2\nnode2:2\n").args(args);
        test.run().status(0).stderr_has(TAKEN);
    }
    // The name of the project differs from that of the graph file, so the project contains a copy.
    assert_eq!(test.read("work/farm.dot"), FARM);
    let test = test.args("run");
    test.run()
        .status(2)
        .stderr_has(TAKEN)
        .stderr_has("`farm.dot` has no project to run");
    // The line is not printed with JSON output or `--quiet`.
    let test = test.args("check --message-format json --allow G0314");
    test.run().status(0).stderr_is("");
    let test = test.args("check --quiet");
    test.run().status(0).stderr_lacks("graphmap: using");
}

#[test]
fn none_or_several_graph_files_are_an_error() {
    let none = Test::new().args("check");
    none.run().status(2).stderr_is(
        "\
error[G0011]: no graph file is named
  = help: this folder has no graph file: name one
  = help: or write `file = \"PATH\"` to graphmap.toml

graphmap: 1 error
",
    );
    let two = farm().file("a.gv", FARM).args("partition -n 2");
    two.run()
        .status(2)
        .stdout_is("")
        .stderr_has("  = help: name one of `a.gv`, `farm.dot`\n");
    // A new project needs no graph file.
    let two = two.args("new hello --timings");
    let made = two.run().status(0);
    made.stderr_has(" s  wiring\n")
        .stderr_has(" s  write files\n");
    assert!(two.read("hello/hello.dot").contains("worker"));
    // Without a verb, a graph file is needed.
    let two = two.args("--timings");
    two.run().status(2).stderr_has("no graph file is named");
}

#[test]
fn a_project_fixes_what_is_not_typed() {
    let config = "\
file = \"graphs/farm.dot\"
hosts = \"hosts\"
os-processes = 3
strategy = \"round-robin\"
imbalance = 50
time = \"20ms\"
";
    let test = || {
        Test::new()
            .file("graphs/farm.dot", FARM)
            .file("hosts", "node1:2\nnode2:2\n")
            .file("graphmap.toml", config)
    };
    test()
        .args("partition")
        .run()
        .status(0)
        .stderr_has("graphmap: using graphs/farm.dot, from graphmap.toml\n")
        .stdout_has("farm: 6 processes in 3 OS processes on 2 hosts, strategy round-robin\n");
    // Options override the configuration.
    test()
        .args("partition -n 2 --strategy stack --hosts names=a,b")
        .run()
        .status(0)
        .stdout_has("6 processes in 2 OS processes on 2 hosts, strategy stack\n")
        .stdout_has("  a ");
    // `graphmap.toml` is found in the folders above the graph file, from any current folder.
    let below = test().file("graphs/deep/x", "").args("check ../farm.dot");
    let below = below.within("graphs/deep");
    below.run().status(0).stderr_has("../farm.dot: 6 processes");
    let below = below.args("partition ../farm.dot");
    below.run().status(0).stdout_has("strategy round-robin");
    let below = below.args("partition");
    below
        .run()
        .status(0)
        .stderr_has("graphmap: using ../farm.dot, from ../../graphmap.toml\n");
    // The key `hosts` also accepts values that are not paths. `--mapping` does not conflict with
    // it.
    let words = config.replace("\"hosts\"", "\"hosts=2:cores=2\"");
    let test = test()
        .file("graphmap.toml", words)
        .args("partition -o plan");
    test.run().status(0).stdout_has("host1");
    let test = test.args("--mapping plan/mapping.json --emit mapping.json -o again");
    test.run().status(0);
    let again = test.read("again/mapping.json");
    let again = again.replace("\"file\"", "\"round-robin\"");
    assert_eq!(again, test.read("plan/mapping.json"));
}

#[test]
fn invalid_keys_of_a_config_are_reported_with_positions() {
    let config = "\
strateg = \"auto\"
n = 3
allow = [\"G0314\"]
os-processes = \"x\"
file = \"\"
[lints]
G9999 = \"allow\"
warnings = \"alow\"
";
    let test = farm().file("graphmap.toml", config).args("check");
    let done = test.run().status(1).stdout_is("");
    for (line, message, help) in [
        (
            "1:1",
            "graphmap.toml has no key `strateg`",
            "did you mean `strategy`?",
        ),
        (
            "2:1",
            "graphmap.toml has no key `n`",
            "did you mean `os-processes`?",
        ),
        (
            "3:1",
            "graphmap.toml has no key `allow`",
            "write levels in a table",
        ),
        (
            "4:16",
            "invalid value of `os-processes`",
            "expected a number",
        ),
        ("5:8", "invalid value of `file`", "expected a path"),
        (
            "7:1",
            "unknown diagnostic code `G9999`",
            "`graphmap explain` lists",
        ),
        (
            "8:12",
            "unknown level of `warnings`",
            "did you mean `\"allow\"`?",
        ),
    ] {
        let at = format!(": {message}");
        let stderr = done.stderr();
        let (_, told) = stderr
            .split_once(&at)
            .unwrap_or_else(|| panic!("{at}\n{stderr}"));
        let told = told.split("error[").next().unwrap();
        assert!(told.contains(&format!("graphmap.toml:{line}\n")), "{told}");
        assert!(told.contains(help), "{told}");
    }
    done.stderr_has("graphmap: 7 errors\n");
    // Values are checked in the same run, even if other keys are wrong.
    let config = "seed = -1\nG0314 = \"deny\"\ntime = \"long\"\n";
    let test = test.file("graphmap.toml", config).args("partition -n 2");
    test.run()
        .status(1)
        .stderr_has("graphmap.toml:1:8")
        .stderr_has("write codes in a table: `[lints]`, then `G0314 = \"allow\"`")
        .stderr_has("graphmap.toml:3:8")
        .stderr_has("graphmap: 3 errors\n");
    // A value must be valid for the option, if the verb has the option.
    let config = "os-processes = -1\nobjective = \"cots\"\ntime = true\n";
    let test = test.file("graphmap.toml", config).args("partition");
    test.run()
        .status(1)
        .stderr_has("graphmap.toml:3:8")
        .stderr_lacks("farm.dot");
    let test = test.file("graphmap.toml", config.replace("time = true\n", ""));
    test.run()
        .status(1)
        .stderr_has("invalid value of `os-processes`: expected a whole number from 1 to")
        .stderr_has("invalid value of `objective`: expected one of cost, bottleneck,")
        .stderr_has("graphmap.toml:2:13");
    let test = test.args("check farm.dot");
    test.run().status(0);
    // Errors that are found later have a position in `graphmap.toml`, too.
    for (line, args, at) in [
        (
            "strategy = \"atuo\"",
            "partition -n 2",
            "graphmap.toml:1:12",
        ),
        ("hosts = \"nofile\"", "partition", "graphmap.toml:1:9"),
        ("weights = \"w.json\"", "check", "graphmap.toml:1:11"),
        ("file = \"no.dot\"", "check", "graphmap.toml:1:8"),
        ("file = \".\"", "view", "graphmap.toml:1:8"),
        (
            "skeletons = \"sk\"",
            "--emit wiring.rs",
            "graphmap.toml:1:13",
        ),
    ] {
        let test = farm().file("graphmap.toml", line).args(args);
        let at = format!("{at}\n");
        test.run()
            .stdout_is("")
            .stderr_has(&at)
            .stderr_has("set here");
    }
    let test = test.args("partition farm.dot --strategy atuo");
    let test = test.file("graphmap.toml", "strategy = \"atuo\"");
    test.run().status(2).stderr_lacks("graphmap.toml");
    let test = test.args("check farm.dot");
    let test = test.file("graphmap.toml", "file = \n[lints\n");
    test.run()
        .status(1)
        .stderr_has("error[G0015]: graphmap.toml is not TOML: ")
        .stderr_has(" --> graphmap.toml:1:8");
}

#[test]
fn options_set_the_level_of_diagnostics() {
    let test = farm().args("check farm.dot");
    test.run().status(0).stderr_has("note[G0314]");
    let sound = "farm.dot: 6 processes of 3 kinds, 8 channels\n";
    let test = test.args("check farm.dot --allow G0314");
    test.run().status(0).stderr_is(sound);
    let test = test.args("check farm.dot --warn G0314");
    test.run().status(0).stderr_has("graphmap: 2 warnings\n");
    let test = test.args("check farm.dot --warn G0314 --deny warnings");
    test.run().status(1).stderr_has("graphmap: 2 errors\n");
    let test = test.args("check farm.dot --deny G0305,G0314 --message-format json");
    test.run()
        .status(1)
        .stderr_has("this is an error because of `--deny G0314`")
        .stderr_has("{\"errors\":2,\"notes\":0,\"type\":\"summary\",\"warnings\":0}\n");
    // A denied diagnostic stops every verb, and no file is written.
    let test = test.args("farm.dot --emit wiring.rs --deny G0314");
    test.run().status(1).stderr_has("graphmap: 2 errors\n");
    assert_eq!(test.files(), ["farm.dot"]);
    let test = test.args("check farm.dot --allow G0391");
    test.run()
        .status(2)
        .stderr_has("unknown diagnostic code `G0391`: did you mean `G03");
}

#[test]
fn command_line_precedes_graph_precedes_config() {
    let drawn = FARM.replace("{\n", "{\n    allow=\"G0305, G0314\";\n");
    let test = Test::new()
        .file("farm.dot", &drawn)
        .file("graphmap.toml", "[lints]\nG0314 = \"deny\"\n")
        .args("check farm.dot");
    let sound = "farm.dot: 6 processes of 3 kinds, 8 channels\n";
    test.run().status(0).stderr_is(sound);
    let test = test.args("check farm.dot --warn G0314");
    test.run().status(0).stderr_has("graphmap: 2 warnings\n");
    // The levels of one graph do not apply to the next.
    let test = test
        .file("other.dot", FARM)
        .args("check farm.dot other.dot");
    test.run()
        .status(1)
        .stderr_has("`G0314 = \"deny\"` in graphmap.toml")
        .stderr_has("graphmap: 2 errors\n");
    // Diagnostics of the front end can be allowed, too.
    let odd = "digraph { allow=\"G0203\"; a -> b [type=u64, flavour=sweet]; }";
    let test = test.file("odd.dot", odd).args("check odd.dot");
    test.run()
        .status(0)
        .stderr_is("odd.dot: 2 processes of 2 kinds, 1 channel\n");
    // Errors cannot be allowed.
    let wrong = "digraph { allow=\"G0305\"; a -> b; a -> c; }";
    let test = test
        .file("wrong.dot", wrong)
        .args("check wrong.dot --allow G0305,warnings");
    test.run()
        .status(1)
        .stderr_has("error[G0305]")
        .stderr_has("`--allow G0305` has no effect on errors");
    // An unknown code is reported at its position.
    let test = test
        .file(
            "odd.dot",
            "digraph {\n    allow=\"G0314,G0391\"; a -> b;\n}\n",
        )
        .args("check odd.dot");
    test.run()
        .status(0)
        .stderr_has("warning[G0016]: unknown diagnostic code `G0391`: did you mean `G03")
        .stderr_has(" --> odd.dot:2:18");
    let test = test.file("odd.dot", "digraph { deny=\"\"; a -> b; }");
    test.run()
        .status(1)
        .stderr_has("codes of diagnostics, such as `G0314`");
}

#[test]
fn usage_errors_obey_the_message_format() {
    for (args, message) in [
        (
            "check --nonsense --message-format json",
            "unexpected argument '--nonsense' found",
        ),
        (
            "run x.dot -n 0 --message-format=json",
            "expected a whole number from 1 to 4294967295",
        ),
        ("chekc --message-format json", "unknown verb `chekc`"),
        (
            "run --message-format json x.dot --dev --release",
            "cannot be used with",
        ),
    ] {
        let done = Test::new().args(args).run().status(2).stdout_is("");
        let lines: Vec<String> = done.stderr().lines().map(str::to_owned).collect();
        let finding: serde_json::Value = serde_json::from_str(&lines[0]).unwrap();
        assert_eq!(finding["code"], "G0011", "{args}");
        let said = finding["message"].as_str().unwrap();
        assert!(said.contains(message), "{args}: {said}");
        assert!(lines[1].contains("\"errors\":1"), "{args}");
    }
    // Options after `--` belong to the program.
    let done = Test::new()
        .args("run --nonsense -- --message-format json")
        .run();
    done.status(2).stderr_has("error: unexpected argument");
}

#[test]
fn a_run_on_hosts_reports_what_is_missing() {
    // A run needs a project, both on hosts and locally.
    let test = farm().args("run farm.dot --hosts hostfile");
    test.run()
        .status(2)
        .stderr_has("error[G0001]: the file `hostfile` does not exist");
    let test = test.file("hostfile", "n1\nn2\n");
    test.run().status(2).stderr_has("error[G0701]");
    // `run` does not use the `hosts` of `graphmap.toml`.
    let mut test = test.file("graphmap.toml", "hosts = \"x\"\n");
    for args in ["run farm.dot", "run farm.dot --link shm"] {
        test = test.args(args);
        test.run()
            .status(2)
            .stderr_has("error[G0701]")
            .stderr_lacks("`x`");
    }
}

#[test]
fn printed_commands_can_be_typed() {
    let test = Test::new().file("my farm \u{fc}.dot", FARM).words(&[
        "new",
        "my farm \u{fc}",
        "--from",
        "my farm \u{fc}.dot",
    ]);
    test.run()
        .status(0)
        .stderr_has("run it with    graphmap run 'my farm \u{fc}.dot'\n");
    let test = test.file("it's.dot", FARM).words(&["run", "it's.dot"]);
    test.run()
        .status(2)
        .stderr_has(r"`graphmap new 'it'\''s' --from 'it'\''s.dot'`");
}

/// Checks that an unreadable `graphmap.toml` is reported and not ignored.
#[test]
fn an_unreadable_graphmap_toml_is_an_error() {
    let folder = farm().file("graphmap.toml/inside", "");
    folder
        .args("check farm.dot")
        .run()
        .status(2)
        .stderr_has("`graphmap.toml` is a folder, not a file");
    let link = farm().args("check farm.dot");
    std::os::unix::fs::symlink("nowhere", link.folder().join("graphmap.toml")).unwrap();
    link.run()
        .status(2)
        .stderr_has("error[G0001]: `graphmap.toml` cannot be read: No such file")
        .stderr_lacks("did you mean");
    let circle = farm().args("check farm.dot");
    std::os::unix::fs::symlink("graphmap.toml", circle.folder().join("graphmap.toml")).unwrap();
    circle
        .run()
        .status(2)
        .stderr_has("`graphmap.toml` cannot be read: Too many levels");
    // A pipe without a writer: reading it would block.
    let pipe = farm().args("check farm.dot");
    let made = std::process::Command::new("mkfifo")
        .arg(pipe.folder().join("graphmap.toml"))
        .status();
    assert!(made.unwrap().success());
    pipe.run()
        .status(2)
        .stderr_has("error[G0001]: `graphmap.toml` cannot be read: it is not a regular file");
}

/// Checks that any content of a file in a parent folder is reported with its name, and without a
/// stack overflow.
#[test]
fn any_content_of_graphmap_toml_is_reported() {
    for (content, said) in [
        (b"\xff\xfe".to_vec(), "it is UTF-16; save it as UTF-8"),
        (b"file = \"\0\"".to_vec(), "byte 8 is zero"),
        (vec![b'#'; (4 << 20) + 1], "it is larger than 4 MiB"),
        (
            format!("x = {}", "[".repeat(100_000)).into_bytes(),
            "graphmap.toml is not TOML: cannot recurse further",
        ),
        (
            format!("{}a = 1", "a.".repeat(100_000)).into_bytes(),
            "graphmap.toml is not TOML: recursion limit",
        ),
        (
            b"seed = 1\nseed = 2\n".to_vec(),
            "is not TOML: duplicate key",
        ),
        (b"\"\\u001b[31m\" = 3\n".to_vec(), "no key `\\u{1b}[31m`"),
        (
            b"file = \"\\u001b[31m.dot\"\n".to_vec(),
            "`../\\u{1b}[31m.dot` cannot be read",
        ),
    ] {
        let test = farm().file("graphmap.toml", content).file("in/x", "");
        let done = test.within("in").args("check").run();
        assert!(matches!(done.output.status.code(), Some(1 | 2)));
        done.stderr_has("../graphmap.toml")
            .stderr_has(said)
            .stderr_lacks("panicked")
            .stderr_lacks("\u{1b}");
    }
}

/// Checks the precedence for all combinations: command line, then graph, then `graphmap.toml`.
#[test]
fn all_combinations_of_levels_follow_the_precedence() {
    const LEVELS: [&str; 4] = ["", "allow", "warn", "deny"];
    let said = |level: &str, text: String| match level {
        "" => String::new(),
        _ => text,
    };
    for i in 0..LEVELS.len().pow(3) {
        let [typed, drawn, fixed] = [i % 4, i / 4 % 4, i / 16].map(|i| LEVELS[i]);
        let drawing = said(drawn, format!("{drawn}=\"G0314\";"));
        let lints = said(fixed, format!("[lints]\nG0314 = \"{fixed}\"\n"));
        let option = said(typed, format!("--{typed} G0314"));
        let done = Test::new()
            .file("farm.dot", FARM.replacen('{', &format!("{{ {drawing}"), 1))
            .file("graphmap.toml", lints)
            .args(&format!("check farm.dot {option}"))
            .run();
        let (level, how) = match (typed, drawn, fixed) {
            ("", "", level) => (level, format!("`G0314 = \"{level}\"` in graphmap.toml")),
            ("", level, _) => (level, format!("`{level}=\"G0314\"` in the graph")),
            (level, ..) => (level, format!("`--{level} G0314`")),
        };
        match level {
            "" => done.status(0).stderr_has("note[G0314]"),
            "allow" => done.status(0).stderr_lacks("G0314"),
            "warn" => done.status(0).stderr_has("warning[G0314]"),
            _ => done
                .status(1)
                .stderr_has("error[G0314]")
                .stderr_has(&format!("this is an error because of {how}\n")),
        };
    }
}

#[test]
fn an_invalid_seed_is_an_error() {
    for seed in ["1.5", "-1"] {
        farm()
            .file("graphmap.toml", format!("seed = {seed}\n"))
            .args("partition")
            .run()
            .status(1)
            .stderr_has(
                "invalid value of `seed`: expected a whole number from 0 to 18446744073709551615",
            )
            .stderr_has(" --> graphmap.toml:1:8\n");
    }
}

/// Reproduces an error: with several graph files, `new` ignored all of them and wrote the sample.
#[test]
fn a_new_project_uses_the_graph_file_of_its_name() {
    let graph = "digraph { a -> b [type=u8] }";
    let test = Test::new().file("f.dot", graph).file("g.dot", graph);
    let test = test.args("new f");
    test.run().status(0).stderr_has("graphmap: using f.dot\n");
    assert_eq!(test.read("f.dot"), graph);
}

#[test]
fn ranks_are_brought_up_to_date_where_there_are_ranks() {
    let test = Test::new().file("f.dot", "digraph { a -> b [type=u8] }");
    let test = test.args("new f");
    test.run().status(0);
    let test = test.args("new f --family mpi --update");
    test.run()
        .status(2)
        .stderr_has("error[G0011]: `f` is not a project of the family `mpi`")
        .stderr_has("update it with `graphmap new f --update`");
    let test = test.args("new none --family mpi --update");
    test.run()
        .status(2)
        .stderr_has("error[G0011]: `none` contains no project to update")
        .stderr_has("omit `--update` to make a project");
    assert!(!test.files().iter().any(|file| file.starts_with("none")));
}

/// Checks that `graphmap.toml` and the command line accept the old name of `hosts-format`, but not
/// both names.
#[test]
fn the_old_name_of_hosts_format_is_accepted() {
    let partition = "partition farm.dot --hosts hosts";
    let farm = || farm().file("hosts", "node1:2\n");
    for option in ["--hosts-format", "--dialect"] {
        for (format, status) in [("mpich", 0), ("openmpi", 1)] {
            let args = format!("{partition} {option} {format}");
            farm().args(&args).run().status(status);
        }
    }
    for key in ["hosts-format", "dialect"] {
        for (format, status) in [("mpich", 0), ("openmpi", 1)] {
            let toml = format!("hosts = \"hosts\"\n{key} = \"{format}\"\n");
            let test = farm().file("graphmap.toml", toml);
            test.args("partition farm.dot").run().status(status);
        }
    }
    let toml = "hosts-format = \"mpich\"\ndialect = \"mpich\"\n";
    let test = farm().file("graphmap.toml", toml);
    let done = test.args("check farm.dot").run().status(1);
    done.stderr_has("error[G0015]: `dialect` and `hosts-format` are the same key\n")
        .stderr_has(" --> graphmap.toml:2:1\n")
        .stderr_has("= help: remove `dialect`, its old name\n");
    let help = farm().args("partition --help").run().status(0).stdout();
    assert!(help.contains("--hosts-format <FORMAT>"), "{help}");
    assert!(!help.contains("dialect"), "{help}");
}

/// Checks that a code that is no longer used leads to the code that replaces it.
#[test]
fn a_replaced_code_is_refused_with_its_successor() {
    let said = "the diagnostic code `G0435` is no longer used: it is now G0008";
    farm()
        .args("check farm.dot --allow G0435")
        .run()
        .status(2)
        .stderr_has(said);
    let toml = farm().file("graphmap.toml", "[lints]\nG0435 = \"allow\"\n");
    let done = toml.args("check farm.dot").run().status(1);
    done.stderr_has(&format!("error[G0015]: {said}\n"));
    let graph = farm().file("old.dot", "digraph { allow=\"G0505\"; a -> b }");
    let done = graph.args("check old.dot").run().status(0);
    done.stderr_has(
        "warning[G0016]: the diagnostic code `G0505` is no longer used: it is now G0008",
    );
    let done = farm().args("explain G0505").run().status(2);
    done.stderr_has("= help: it is now G0008\n");
}
