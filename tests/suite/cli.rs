//! Every verb, with valid and invalid input.

use crate::common::{NET, Test};
use std::fs;

fn net() -> Test {
    Test::new().file("net.json", NET)
}

#[test]
fn check_reports_counts_of_a_valid_graph() {
    net()
        .args("check net.json")
        .run()
        .status(0)
        .stdout_is("")
        .stderr_is("net.json: 2 processes of 2 kinds, 1 channel\n");
    net()
        .args("check net.json --quiet")
        .run()
        .status(0)
        .stderr_is("");
    Test::new()
        .stdin(NET)
        .args("check - --format json")
        .run()
        .status(0)
        .stderr_has("<stdin>: 2 processes");
}

#[test]
fn all_errors_are_reported_in_one_run() {
    let text = r#"{
  "graphmap": 1,
  "processes": [{"name": "source"}, {"name": "sink", "lode": 3}],
  "channels": [
    {"from": "sourc", "to": "source"},
    {"from": "source", "to": "source", "capacity": 0}
  ]
}
"#;
    Test::new().file("bad.json", text).args("check bad.json").run().status(1).stderr_is(
        r#"error[G0007]: this is not a network in JSON
 --> bad.json:3:59
  |
3 |   "processes": [{"name": "source"}, {"name": "sink", "lode": 3}],
  |                                                           ^ unknown field `lode`, expected one of `name`, `kind`, `module`, `load`, `mem`, `attributes`, `parameters`, `arguments`, `span`
  |
  = help: see docs/src/plugins.md for the format

error[G0009]: no process is named `sourc`
 --> bad.json:5:14
  |
5 |     {"from": "sourc", "to": "source"},
  |              ^^^^^^^
  |
  = help: did you mean `source`?

error[G0007]: this is not a network in JSON
 --> bad.json:6:52
  |
6 |     {"from": "source", "to": "source", "capacity": 0}
  |                                                    ^ invalid value: integer `0`, expected a nonzero u32

graphmap: 3 errors
"#,
    );
}

#[test]
fn json_diagnostics_have_codes_and_positions() {
    let done = Test::new()
        .file(
            "bad.json",
            "{\"graphmap\": 1,\n \"processes\": [{\"name\": 1}]}",
        )
        .args("check bad.json --message-format json")
        .run()
        .status(1);
    let lines: Vec<serde_json::Value> = done
        .stderr()
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 2);
    assert_eq!(lines[0]["type"], "diagnostic");
    assert_eq!(lines[0]["code"], "G0007");
    assert_eq!(lines[0]["severity"], "error");
    let primary = &lines[0]["primary"];
    let place = ["file", "line", "column", "start", "end"].map(|f| primary[f].to_string());
    assert_eq!(place, ["\"bad.json\"", "2", "25", "40", "41"]);
    assert_eq!(lines[1]["type"], "summary");
    assert_eq!(lines[1]["errors"], 1);
}

#[test]
fn colours_only_when_asked_for() {
    let bad = || Test::new().file("bad.json", "{").env("CLICOLOR_FORCE", "0");
    bad()
        .args("check bad.json")
        .run()
        .status(1)
        .stderr_lacks("\u{1b}[");
    bad()
        .args("check bad.json --color always")
        .run()
        .status(1)
        .stderr_has("\u{1b}[");
    bad()
        .args("check bad.json --color never")
        .run()
        .status(1)
        .stderr_lacks("\u{1b}[");
}

#[test]
fn the_number_of_shown_diagnostics_is_limited() {
    let processes: Vec<String> = (0..500).map(|i| format!(r#"{{"nam": "p{i}"}}"#)).collect();
    let text = format!(
        r#"{{"graphmap": 1, "processes": [{}]}}"#,
        processes.join(",\n")
    );
    let done = Test::new()
        .file("bad.json", text)
        .args("check bad.json")
        .run()
        .status(1);
    assert_eq!(done.stderr().matches("error[").count(), 20);
    done.stderr_has("graphmap: 500 errors (480 more not shown; see --limit)");
}

#[test]
fn files_that_cannot_be_read() {
    net().args("check nett.json").run().status(2).stderr_is(
        "\
error[G0001]: `nett.json` cannot be read: No such file or directory (os error 2)
  = help: did you mean `net.json`?

graphmap: 1 error
",
    );
    let test = net();
    fs::create_dir(test.folder().join("deep")).unwrap();
    test.args("check deep")
        .run()
        .status(2)
        .stderr_has("`deep` is a folder, not a file");
    net()
        .args("check net.txt")
        .run()
        .status(2)
        .stderr_has("error[G0001]");
    let unknown = Test::new().file("net.txt", NET).args("check net.txt");
    unknown
        .run()
        .status(2)
        .stderr_has("error[G0004]")
        .stderr_has("--format");
}

#[test]
fn a_file_without_an_end() {
    let test = Test::new().args("check endless.dot");
    let file = fs::File::create(test.folder().join("endless.dot")).unwrap();
    // A sparse file occupies no space on the disk.
    if file.set_len(6 << 30).is_ok() {
        test.run()
            .status(2)
            .stderr_has("error[G0003]")
            .stderr_has("larger than 4 GiB");
    }
}

#[test]
fn hostile_json() {
    let deep = "[".repeat(200_000);
    let unclosed = &NET[..NET.len() / 2];
    let cases: [(&str, Vec<u8>); 6] = [
        ("empty", Vec::new()),
        ("truncated", unclosed.into()),
        ("binary", (0..=255).cycle().take(5000).collect()),
        ("nested", deep.clone().into()),
        (
            "nested inside",
            format!(r#"{{"graphmap": 1, "kinds": {deep}"#).into(),
        ),
        (
            "one long line",
            format!(
                r#"{{"graphmap": 1, "name": "{}", "x": 1}}"#,
                "é".repeat(99_999)
            )
            .into(),
        ),
    ];
    for (name, bytes) in cases {
        let done = Test::new()
            .file("x.json", bytes)
            .args("check x.json")
            .run()
            .status(1);
        let error = done.stderr();
        assert!(error.starts_with("error[G00"), "{name}: {error}");
        assert!(error.len() < 3000, "{name}: {} bytes", error.len());
    }
}

#[test]
fn names_from_a_file_do_not_reach_the_terminal_as_they_are() {
    let text =
        r#"{"graphmap": 1, "processes": [], "channels": [{"from": "\u001b[2Jx", "to": null}]}"#;
    Test::new()
        .file("x.json", text)
        .args("check x.json")
        .run()
        .status(1)
        .stderr_lacks("\u{1b}")
        .stderr_has(r"\u{1b}[2Jx");
}

#[test]
fn a_file_that_is_not_there_has_near_names() {
    let test = || net().file("farm.dot", "").file("hosts/hostfile", "");
    for (args, near) in [
        ("check fram.dot", "farm.dot"),
        ("check farm", "farm.dot"),
        ("run net", "net.json"),
        ("check frm", "farm.dot"),
        ("new x --from nte.json", "net.json"),
        ("check graphs/farm.dot", "farm.dot"),
        ("partition net.json --hosts hosts/hostfil", "hosts/hostfile"),
        ("partition net.json --hosts fram.dot", "farm.dot"),
    ] {
        let hint = format!("did you mean `{near}`?");
        test().args(args).run().status(2).stderr_has(&hint);
    }
    let far = test().args("check nothing-like-it.dot").run();
    far.status(2).stderr_lacks("did you mean");
}

#[test]
fn a_misspelt_graphviz_attribute_gets_a_suggestion() {
    let text = "digraph { a [colour=red]; a -> b [labl=x]; graph [fontcolour=red]; }";
    let test = Test::new().file("g.dot", text).args("check g.dot");
    test.run()
        .status(0)
        .stderr_has("^^^^^^ did you mean Graphviz's `color`?\n")
        .stderr_has("^^^^ did you mean Graphviz's `label`?\n")
        .stderr_has("^^^^^^^^^^ did you mean Graphviz's `fontcolor`?\n")
        .stderr_has("graphmap: 3 warnings");
}

#[test]
fn a_misspelt_verb_gets_a_suggestion() {
    for args in ["chekc", "chekc net.json", "chekc net.json --quiet"] {
        net()
            .args(args)
            .run()
            .status(2)
            .stderr_has("error[G0011]: unknown verb `chekc`")
            .stderr_has("did you mean `graphmap check`?");
    }
    net()
        .args("net.json")
        .run()
        .status(2)
        .stderr_has("graphmap check net.json");
    net()
        .args("net.json check net.json")
        .run()
        .status(2)
        .stderr_has("the file `net.json` is before the verb");
    net()
        .args("check")
        .run()
        .status(2)
        .stderr_has("no graph file is named");
    net()
        .args("check net.json --nope")
        .run()
        .status(2)
        .stderr_has("--nope");
}

#[test]
fn a_link_that_every_project_has_is_not_made() {
    for link in ["shm", "threads"] {
        net()
            .args(&format!("new x --from net.json --link {link}"))
            .run()
            .status(2)
            .stderr_is(&format!(
                "error[G0011]: every project has the link `{link}`, so `--link {link}` has no use\n  = help: \
                 omit `--link`; `graphmap run FILE -n 4 --link {link}` uses this link\n\ngraphmap: 1 error\n"
            ));
    }
}

#[test]
fn emitting_with_another_verb_is_pointed_at_emit() {
    for args in [
        "partition net.dot --emit hostfile=-",
        "check net.dot -e hostfile=-",
        "view net.dot --emit=hostfile=-",
    ] {
        net()
            .args(args)
            .run()
            .status(2)
            .stderr_has("tip: this verb has no `--emit`: use `graphmap emit FILE --emit KIND=PATH`")
            .stderr_lacks("--weights'");
    }
}

#[test]
fn explain_prints_pages_by_code_or_word() {
    net()
        .args("explain G0009")
        .run()
        .status(0)
        .stdout_has("G0009: ");
    net()
        .args("explain g9")
        .run()
        .status(0)
        .stdout_has("G0009: ");
    // The output to a terminal has no Markdown.
    net()
        .args("explain 708")
        .run()
        .status(0)
        .stdout_has("see\nlaunching (chapter `launching` of the book):\n")
        .stdout_has("    $ graphmap run net.dot -n 2 --link mpi\n");
    net()
        .args("explain")
        .run()
        .status(0)
        .stdout_has("G0501: ")
        .stdout_has("G0001: ");
    net()
        .args("explain G0099")
        .run()
        .status(2)
        .stderr_has("the codes near it are G0001");
    // Codes as messages print them, and several codes.
    for args in ["explain error[G0009]:", "explain G0009: g8", "explain 9, 8"] {
        net().args(args).run().status(0).stdout_has("G0009: ");
    }
    net()
        .args("explain G0009 error[G0008]")
        .run()
        .status(0)
        .stdout_has("\nG0008: ");
    // Words: prints the only page that contains them, or lists the pages. Pages with the words in
    // the title come first.
    net()
        .args("explain legal deadlock")
        .run()
        .status(0)
        .stdout_has("G0315: A channel joins a process to itself\n\nThis is a warning.");
    let done = net().args("explain Flow CONTROL channels").run().status(0);
    let list = done.stdout();
    let firsts: Vec<&str> = list.lines().take(2).collect();
    assert!(
        firsts[0].starts_with("G0320: Flow control of channels"),
        "{list}"
    );
    assert!(firsts.len() > 1 && firsts[1].starts_with("G0"), "{list}");
    net()
        .args("explain such gibberish")
        .run()
        .status(2)
        .stderr_has("error[G0011]: no page contains `such gibberish`");
}

#[test]
fn every_verb_has_help_with_an_example() {
    let verbs =
        "check expand fmt emit new partition run view passes explain import doctor completions man";
    for verb in verbs.split(' ') {
        net()
            .args(&format!("{verb} --help"))
            .run()
            .status(0)
            .stdout_has("Example")
            .stderr_is("");
        net()
            .args(&format!("man {verb}"))
            .run()
            .status(0)
            .stdout_has(".TH");
    }
    net()
        .args("--help")
        .run()
        .status(0)
        .stdout_has("Examples:")
        .stdout_has("Exit status:");
    let brief = net().args("").run().status(2);
    brief.stdout_is("").stderr_has("graphmap help VERB");
    net()
        .args("help check")
        .run()
        .status(0)
        .stdout_has("Usage: graphmap check [OPTIONS] [FILE]...")
        .stderr_is("");
    net()
        .args("help nope")
        .run()
        .status(2)
        .stderr_has("unrecognized subcommand 'nope'");
    net()
        .args("--version")
        .run()
        .status(0)
        .stdout_has("graphmap ");
    net()
        .args("man nope")
        .run()
        .status(2)
        .stderr_has("unknown verb `nope`");
}

#[test]
fn completions_exist_for_each_shell() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        net()
            .args(&format!("completions {shell}"))
            .run()
            .status(0)
            .stdout_has("graphmap");
    }
    net().args("completions nosh").run().status(2);
}

#[test]
fn the_doctor_looks_for_what_is_needed() {
    net()
        .args("doctor")
        .run()
        .status(0)
        .stdout_has("cargo ")
        .stdout_has("Graphviz");
    net()
        .args("doctor")
        .env("PATH", "")
        .run()
        .status(2)
        .stdout_has("MISSING (required)");
    net().args("import").run().status(0).stdout_has("json");
    net().args("passes").run().status(0).stdout_has("Emitters:");
}

#[test]
fn warnings_can_be_errors() {
    let text = r#"{"graphmap": 1, "processes": [{"name": "a"}, {"name": "b"}, {"name": "alone"}],
        "channels": [{"from": "a", "to": "b"}]}"#;
    let test = || Test::new().file("x.json", text);
    test()
        .args("check x.json")
        .run()
        .status(0)
        .stderr_has("warning[G0317]");
    test().args("check x.json --deny warnings").run().status(1);
}

#[test]
fn a_number_with_an_exponent_is_to_be_quoted() {
    for number in ["1e308", "1.5e-3", "1e+5x", "2nd"] {
        let text = format!("digraph g {{ a -> b [traffic={number}]; }}");
        let test = Test::new().file("g.dot", text).args("check g.dot");
        test.run()
            .status(1)
            .stderr_has(&format!("error[G0108]: the value `{number}` needs quotes"))
            .stderr_has(&format!("help: write `\"{number}\"`"));
        let text = format!("digraph g {{ a -> b [traffic=\"{number}\"]; }}");
        let test = Test::new().file("g.dot", text).args("check g.dot");
        test.run().status(i32::from(number.ends_with(['d', 'x'])));
    }
}
