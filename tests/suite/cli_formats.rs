//! Front ends by name: formats of other programs, and executables on PATH.

use crate::common::Test;
use graphmap_testing::{Need, skip};

const CHAIN: &str = include_str!("../plugins/graphmap-read-chain");

const GRAPHML: &str = "\
<graphml>
<key id=\"l\" for=\"node\" attr.name=\"load\" attr.type=\"double\"/>
<graph id=\"two\" edgedefault=\"directed\">
<node id=\"a\"><data key=\"l\">3</data></node>
<node id=\"m\"><graph><node id=\"b\"/></graph></node>
<edge source=\"a\" target=\"b\"/>
</graph></graphml>
";

const NODE_LINK: &str = "\
{\"directed\": true, \"multigraph\": false, \"graph\": {\"name\": \"two\"},
\"nodes\": [{\"id\": \"a\", \"load\": 3}, {\"id\": \"b\", \"module\": \"m\"}],
\"links\": [{\"source\": \"a\", \"target\": \"b\"}]}
";

const DOT: &str = "\
digraph two {
    graphmap=1;
    a [load=3];
    subgraph cluster_m {
        module=m;
        b;
    }
    a -> b;
}
";

#[track_caller]
fn python() -> bool {
    let found = std::process::Command::new("python3")
        .arg("--version")
        .output();
    if let Err(error) = &found {
        skip(Need::Python, format!("python3 does not start: {error}"));
    }
    found.is_ok()
}

/// Returns a test with a front end that is a shell script.
fn reader(script: &str) -> Test {
    Test::new()
        .file("net.txt", "a\nb\n")
        .executable("graphmap-read-odd", &format!("#!/bin/sh\n{script}\n"))
        .args("check net.txt --format odd")
}

#[test]
fn formats_of_other_programs_are_read_and_written() {
    for (file, text) in [("net.graphml", GRAPHML), ("net.json", NODE_LINK)] {
        let mut test = Test::new().file(file, text);
        let args = format!("expand {file}");
        test = test.args(&args);
        test.run().status(0).stderr_is("").stdout_is(DOT);
    }
    let mut test = Test::new().file("net.graphml", GRAPHML);
    test = test.args("expand net.graphml -o again.graphml");
    test.run().status(0);
    test = test.args("expand again.graphml");
    test.run().status(0).stdout_is(DOT);
    test = test.args("expand net.graphml --to node-link");
    test.run().status(0).stdout_is(
        "\
{
\"directed\": true,
\"multigraph\": true,
\"graph\": {\"name\": \"two\", \"graphmap\": 1, \"modules\": [
{\"id\": \"m\", \"module\": \"m\"}
]},
\"nodes\": [
{\"id\": \"a\", \"load\": 3},
{\"id\": \"b\", \"module\": \"m\"}
],
\"edges\": [
{\"source\": \"a\", \"target\": \"b\"}
]
}
",
    );
    test = test.args("net.graphml --emit x.graphml --emit node-link=x.json");
    test.run().status(0);
    for file in ["x.graphml", "x.json"] {
        let args = format!("expand {file}");
        test = test.args(&args);
        test.run().status(0).stdout_is(DOT);
    }
    test = test.args("view net.graphml --detail nodes");
    test.run().status(0);
    let mut test = Test::new().stdin(NODE_LINK);
    test = test.args("expand - --format node-link");
    test.run().status(0).stdout_is(DOT);
    test = test.args("expand - --format json");
    test.run().status(0).stdout_is(DOT);
}

#[test]
fn errors_are_shown_in_the_file() {
    let text = GRAPHML.replace(">3<", ">heavy<");
    Test::new()
        .file("net.graphml", &text)
        .args("check net.graphml")
        .run()
        .status(1)
        .stderr_is(
            "\
error[G0231]: the size `heavy` is not defined
 --> net.graphml:4:28
  |
4 | <node id=\"a\"><data key=\"l\">heavy</data></node>
  |                            ^^^^^
  |
  = help: define it in the graph, `sizes=\"heavy=8\"`, or for this run, `-D heavy=8`
  = help: or write a finite number of at least 0

graphmap: 1 error
",
        );
    // Errors of the network, found after reading.
    let text = NODE_LINK.replace(
        "\"links\": [",
        "\"links\": [{\"source\": \"a\", \"target\": \"b\"}, ",
    );
    Test::new()
        .file("net.json", &text)
        .args("check net.json")
        .run()
        .status(1)
        .stderr_has(" --> net.json:3:");
}

#[test]
fn a_front_end_in_python_reads_a_file() {
    if !python() {
        return;
    }
    let mut test = Test::new()
        .file("work.txt", "source\n# \u{e9}\n  filter\nsink\n")
        .executable("graphmap-read-chain", CHAIN);
    test = test.args("check work.txt --format chain");
    test.run()
        .status(0)
        .stderr_is("work.txt: 3 processes of 3 kinds, 2 channels\n");
    test = test.args("expand work.txt --format chain --json");
    test.run()
        .status(0)
        .stdout_has(r#""name":"work","sources":["work.txt"]"#)
        .stdout_has(r#"{"name":"filter","kind":"filter","load":1.0,"mem":0.0,"span":[0,14,20]}"#);
    test = test.args("import");
    test.run().status(0).stdout_has("  chain        external: ");
    Test::new()
        .file("work.txt", "source\n# \u{e9}\n  source\n")
        .executable("graphmap-read-chain", CHAIN)
        .args("check work.txt --format chain")
        .run()
        .status(1)
        .stderr_is(
            "\
error[G0507]: chain: the process `source` occurs twice
 --> work.txt:3:3
  |
3 |   source
  |   ^^^^^^

graphmap: 1 error
",
        );
}

#[test]
fn only_a_name_starts_a_front_end() {
    let reply =
        r#"echo '{"protocol": 1, "network": {"graphmap": 1, "processes": [{"name": "a"}]}}'"#;
    reader(reply).run().status(0);
    // The extension of a file is not a name.
    let mut test = Test::new()
        .file("net.odd", "a")
        .executable("graphmap-read-odd", "#!/bin/sh\ntouch started\n");
    test = test.args("check net.odd");
    test.run().status(2).stderr_has("G0004");
    test = test.args("view net.odd");
    test.run().status(2).stderr_has("G0004");
    test = test.args("net.odd --emit x.json");
    test.run().status(2).stderr_has("G0004");
    assert!(!test.folder().join("started").exists());
    // A built-in front end takes precedence.
    Test::new()
        .file("net.dot", "digraph { a -> b }")
        .executable("graphmap-read-dot", "#!/bin/sh\nexit 1\n")
        .args("check net.dot --format dot")
        .run()
        .status(0);
}

#[test]
fn an_included_file_does_not_start_a_front_end() {
    let mut test = Test::new()
        .file("x.chain", "a\nb\n")
        .file("net.dot", "digraph { x [use=\"x.chain\"] }")
        .file("chain", "digraph { y [use=\"net.dot\"] }")
        .executable("graphmap-read-chain", "#!/bin/sh\ntouch started\n");
    for args in [
        "check net.dot",
        "check net.dot --format dot",
        "check chain --format dot",
        "view net.dot",
        "net.dot --emit x.json",
    ] {
        test = test.args(args);
        test.run()
            .status(1)
            .stderr_has("error[G0004]: unknown format of the included file `x.chain`")
            .stderr_has(" --> net.dot:1:18");
    }
    assert!(!test.folder().join("started").exists());
    // `--format` does not apply to included files.
    let script = "#!/bin/sh\necho run >> started\necho '{\"protocol\": 1, \"network\": \
                  {\"graphmap\": 1, \"processes\": [{\"name\": \"a\"}]}}'\n";
    test = test
        .executable("graphmap-read-chain", script)
        .args("check net.dot --format chain");
    test.run().status(0);
    assert_eq!(test.read("started"), "run\n");
    test = test.args("check net.dot --format chain -D n=2");
    test.run().status(1).stderr_has("has no size `n`");
}

#[test]
fn formats_of_other_programs_have_sizes_and_include_files() {
    let graphml = "\
<graphml>
<key id=\"s\" for=\"graph\" attr.name=\"sizes\" attr.type=\"string\"/>
<key id=\"r\" for=\"node\" attr.name=\"replicas\" attr.type=\"string\"/>
<key id=\"b\" for=\"edge\" attr.name=\"bundle\" attr.type=\"string\"/>
<graph id=\"two\" edgedefault=\"directed\">
<data key=\"s\">n=2</data>
<node id=\"a\"><data key=\"r\">n</data></node>
<node id=\"b\"/>
<edge source=\"a\" target=\"b\"><data key=\"b\">gather</data></edge>
</graph></graphml>
";
    let node_link = "\
{\"graph\": {\"name\": \"two\", \"sizes\": \"n=2\"},
\"nodes\": [{\"id\": \"a\", \"replicas\": \"n\"}, {\"id\": \"b\"}],
\"edges\": [{\"source\": \"a\", \"target\": \"b\", \"bundle\": \"gather\"}]}
";
    for (file, text) in [("net.graphml", graphml), ("net.json", node_link)] {
        let around = format!("digraph {{ sizes=\"n=1\"; part [use=\"{file}\" sizes=\"n=4\"] }}");
        let mut test = Test::new().file(file, text).file("around.dot", &around);
        for (args, processes) in [
            (format!("check {file}"), 3),
            (format!("check {file} -D n=5"), 6),
            ("check around.dot".to_owned(), 5),
        ] {
            test = test.args(&args);
            let said = format!("{processes} processes of 2 kinds");
            test.run().status(0).stderr_has(&said);
        }
    }
}

#[test]
fn the_format_in_graphmap_toml_is_that_of_its_file() {
    let reply =
        r#"echo '{"protocol": 1, "network": {"graphmap": 1, "processes": [{"name": "a"}]}}'"#;
    let mut test = reader(reply)
        .file("graphmap.toml", "file = \"net.txt\"\nformat = \"odd\"\n")
        .file("other.dot", "digraph { a -> b }");
    for args in ["check", "check net.txt", "expand ./net.txt"] {
        test = test.args(args);
        test.run().status(0);
    }
    test = test.args("check other.dot");
    test.run()
        .status(0)
        .stderr_is("other.dot: 2 processes of 2 kinds, 1 channel\n");
    test = test.args("check net.txt --format dot");
    test.run().status(1);
    Test::new()
        .file("graphmap.toml", "format = \"odd\"\n")
        .file("net.dot", "digraph { a -> b }")
        .args("check net.dot")
        .run()
        .status(1)
        .stderr_has("`format` is given without `file`");
}

#[test]
fn front_ends_that_fail_are_reported() {
    for (script, status, said) in [
        ("exit 3", 5, "G0503"),
        ("echo nonsense", 5, "G0504"),
        (r#"echo '{"protocol": 1}'"#, 5, "G0510"),
        (r#"echo '{"protocol": 2}'"#, 5, "G0008"),
        (
            r#"echo '{"protocol": 1, "network": {"graphmap": 1, "processes": [{"nam": "a", "span": [0, 2, 3]}]}}'"#,
            5,
            " --> net.txt:2:1",
        ),
        (
            r#"echo '{"protocol": 1, "network": {"graphmap": 1, "processes": [{"name": "a"}, {"name": "b"}], "channels": [{"from": "a", "to": "b", "span": [0, 0, 1]}, {"from": "a", "to": "b", "span": [0, 2, 3]}]}}'"#,
            1,
            " --> net.txt:2:1",
        ),
        (
            r#"echo '{"protocol": 1, "diagnostics": [{"severity": "error", "message": "no", "span": [7, 0, 99]}]}'"#,
            1,
            "odd: no",
        ),
    ] {
        reader(script).run().status(status).stderr_has(said);
    }
    reader("exec sleep 1000")
        .args("check net.txt --format odd --plugin-timeout 0.2")
        .run()
        .status(5)
        .stderr_has("G0502");
    reader("exit 0")
        .file("net.txt", b"a\xff")
        .run()
        .status(1)
        .stderr_has("G0002");
    reader("exit 0")
        .args("check net.txt --format oddd")
        .run()
        .status(2)
        .stderr_has("unknown graph format `oddd`");
}

#[test]
fn a_front_end_gets_the_text_the_path_and_the_options() {
    let reply = r#"cat > request.json
echo '{"protocol": 1, "network": {"graphmap": 1, "processes": [{"name": "a"}]}}'"#;
    let mut test = reader(reply);
    test = test.args("check net.txt --format odd --set comma=semicolon");
    test.run().status(0);
    let request = test.read("request.json");
    let request: serde_json::Value = serde_json::from_str(&request).unwrap();
    let expected = serde_json::json!({
        "protocol": 1,
        "action": "read",
        "name": "odd",
        "options": {"comma": "semicolon"},
        "path": "net.txt",
        "text": "a\nb\n",
    });
    assert_eq!(request, expected);
}

#[test]
fn a_process_in_two_groups_can_only_be_written_as_json() {
    let json = r#"{"graphmap": 1, "processes": [{"name": "a"}, {"name": "b"}],
        "channels": [{"from": "a", "to": "b"}],
        "constraints": [{"processes": ["a", "b"], "colocate": "x"},
            {"processes": ["a"], "colocate": "y"}]}"#;
    let expand = |to: &str| {
        let args = format!("expand a.json --to {to}");
        Test::new().file("a.json", json).args(&args).run()
    };
    for to in ["dot", "graphml", "node-link"] {
        expand(to)
            .status(2)
            .stdout_is("")
            .stderr_has("error[G0219]: `a` has two different values of `colocate`")
            .stderr_has("= help: write the network as JSON: `--to json`");
    }
    expand("json").status(0);
}
