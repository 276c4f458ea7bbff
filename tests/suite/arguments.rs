//! Arguments of processes: from the graph to the function, and back to a graph.

use crate::common::Test;
use std::path::Path;

const GRAPH: &str = r#"digraph g {
    sizes="n=3";
    master -> worker [type=u64, bundle=scatter];
    worker -> master [dst=back, type=u64, bundle=gather];
    worker [
        replicas=n,
        params="seed: u64, name: String, rate: f64, on: bool, low: i8",
        args="n*i+4, 'it''s', 0.5, true, -i",
    ];
    master [params="title: String", args="'a, \"b\"'"];
}
"#;

fn graph() -> Test {
    Test::new().file("g.dot", GRAPH)
}

#[test]
fn expand_and_json_keep_arguments() {
    let test = graph().args("expand g.dot");
    let done = test.run().status(0);
    let expanded = done.stdout();
    let types = r#"params="seed: u64, name: String, rate: f64, on: bool, low: i8""#;
    for line in [
        r#"    master [params="title: String" args="'a, \"b\"'"];"#.to_owned(),
        format!(r#"    worker1 [{types} args="7, 'it''s', 0.5, true, -1"];"#),
        format!(r#"    worker3 [{types} args="13, 'it''s', 0.5, true, -3"];"#),
    ] {
        assert!(expanded.lines().any(|l| l == line), "{line}\n{expanded}");
    }
    let test = test.file("expanded.dot", &expanded);
    test.args("expand expanded.dot")
        .run()
        .status(0)
        .stdout_is(&expanded);
    let test = graph().args("g.dot --emit g.json --quiet");
    test.run().status(0);
    let json = test.read("g.json");
    assert!(
        json.contains(r#""arguments":[7,"it's",0.5,true,-1]"#),
        "{json}"
    );
    test.args("expand g.json")
        .run()
        .status(0)
        .stdout_is(&expanded);
}

#[test]
fn fmt_keeps_arguments() {
    let test = graph().args("fmt g.dot --quiet");
    test.run().status(0);
    assert_eq!(test.read("g.dot"), GRAPH);
}

#[test]
fn a_number_beyond_64_bits_is_a_text_in_json() {
    let graph = "digraph g { a -> b; a [params=\"k: i128\", args=\"-170141183460469231731687303715884105728\"]; }";
    let test = Test::new()
        .file("g.dot", graph)
        .args("g.dot --emit g.json --quiet");
    test.run().status(0);
    let done = test.args("expand g.json").run().status(0);
    done.stdout_has("args=\"-170141183460469231731687303715884105728\"");
}

#[test]
fn wrong_arguments_of_json_are_reported() {
    for (fields, message) in [
        (
            r#""parameters": "k: u8", "arguments": [256]"#,
            "error[G0245]: 256 is not a value of the parameter `k`",
        ),
        (
            r#""parameters": "k: u8", "arguments": [null]"#,
            "error[G0245]: an argument is neither a number nor a text",
        ),
        (
            r#""parameters": "k: int", "arguments": [1]"#,
            "error[G0245]: unknown type `int` of the parameter `k`",
        ),
        (
            r#""parameters": "k: String", "arguments": ["a\u0000"]"#,
            "error[G0245]: 'a\\u{0}' is not a value of the parameter `k`",
        ),
        (
            r#""arguments": [1]"#,
            "error[G0244]: 1 argument for 0 parameters",
        ),
    ] {
        let json = format!(
            r#"{{"graphmap": 1, "processes": [{{"name": "a", {fields}}}, {{"name": "b"}}], "channels": [{{"from": "a", "to": "b"}}]}}"#
        );
        let test = Test::new().file("g.json", json).args("check g.json");
        test.run().status(1).stderr_has(message);
    }
}

#[test]
fn wrong_values_of_the_command_line_are_reported() {
    for (value, message) in [
        ("worker.sed=1", "`worker` has no parameter `sed`"),
        ("wrker.seed=1", "`wrker` is neither a kind nor a process"),
        ("wrker.seed=1", "help: did you mean `worker`?"),
        (
            "a.seed=1",
            "help: the kinds with parameters are `master`, `worker`",
        ),
        (
            "worker2.low=300",
            "300 is not a value of the parameter `low`",
        ),
        (
            "worker.seed=x",
            "'x' is not a value of the parameter `seed`",
        ),
    ] {
        let test = graph().args(&format!("check g.dot -A {value}"));
        test.run().status(1).stderr_has(message);
    }
    graph()
        .args("check g.dot -A seed=1")
        .run()
        .status(2)
        .stderr_has("expected NAME.PARAMETER=VALUE");
}

#[test]
fn an_argument_of_one_process_has_priority() {
    for options in [
        "-A worker1.seed=5 -A worker.seed=6",
        "-A worker.seed=6 -A worker1.seed=5",
    ] {
        let done = graph().args(&format!("expand g.dot {options}")).run();
        let done = done.status(0);
        for line in [
            "args=\"5, 'it''s', 0.5, true, -1\"",
            "args=\"6, 'it''s', 0.5, true, -2\"",
        ] {
            assert!(done.stdout().contains(line), "{options}");
        }
    }
}

const MASTER: &str = r#"
pub async fn master(mut ports: crate::wiring::Master) {
    let ones = vec![1; crate::wiring::workers()];
    ports.out.write(ones).await.unwrap();
    let all = ports.back.read().await.unwrap();
    println!("{} {all:?}", ports.args.title);
}
"#;

const WORKER: &str = r#"
pub async fn worker(mut ports: crate::wiring::Worker) {
    let args = ports.args.clone();
    assert!(args.on && args.name == "it's");
    while let Some(n) = ports.in_.read().await {
        let scaled = args.seed as f64 * args.rate - f64::from(args.low);
        ports.out.write(n * (scaled * 10.0) as u64).await.unwrap();
    }
}
"#;

#[test]
fn functions_get_arguments_that_the_command_line_can_replace() {
    let runtime = Path::new(env!("CARGO_MANIFEST_DIR")).join("modules/runtime");
    let test = graph().words(&[
        "new",
        "g",
        "--from",
        "g.dot",
        "--quiet",
        "--runtime",
        runtime.to_str().unwrap(),
    ]);
    test.run().status(0);
    let test = test
        .file("g/src/processes/master.rs", MASTER)
        .file("g/src/processes/worker.rs", WORKER);
    let mut test = test;
    for (args, output) in [
        ("", "a, \"b\" [45, 70, 95]\n"),
        (
            "-n 2 --link shm -A worker.seed=2",
            "a, \"b\" [20, 30, 40]\n",
        ),
        ("-A worker2.seed=2 -A master.title=x -D n=2", "x [40, 30]\n"),
    ] {
        test = test.args(&format!("run g.dot --dev --quiet {args}"));
        test.run().status(0).stderr_is("").stdout_is(output);
    }
}

#[test]
fn code_in_c_contains_arguments() {
    let emitted = |kind: &str| {
        let args = format!("g.dot --emit {kind}=- -A worker2.seed=9 -A worker.name=a\"b");
        graph().args(&args).run().status(0).stdout()
    };
    let pilot = emitted("pilot");
    for line in [
        "struct worker_args {\n    uint64_t seed;\n    const char *name;\n    double rate;\n    bool on;\n    \
         int8_t low;\n};\n",
        "    struct worker_args args;\n",
        "static uint64_t const values[] = { 7, 9, 13 };\n        for (i = 0; i < 3; i++)\n            \
         worker_ports[i].args.seed = values[i];\n",
        "static const char * const values[] = { \"a\\\"b\" };\n        for (i = 0; i < 3; i++)\n            \
         worker_ports[i].args.name = values[0];\n",
        "static int8_t const values[] = { -1, -2, -3 };\n",
    ] {
        assert!(pilot.contains(line), "{line}\n{pilot}");
    }
    let fgmpi = emitted("fgmpi");
    for line in [
        "words[] = {\"master\", \"a, \\\"b\\\"\", NULL};\n",
        "words[] = {\"worker\", \"9\", \"a\\\"b\", \"0.5\", \"true\", \"-2\", NULL};\n",
        "    {2, 2, 1, 0, 0, 0, graphmap_start_1_1},\n",
    ] {
        assert!(fgmpi.contains(line), "{line}\n{fgmpi}");
    }
}

#[test]
fn pilot_has_no_integers_of_128_bits() {
    let graph = "digraph g { a -> b; a [params=\"k: i128\", args=\"1\"]; }";
    let test = Test::new()
        .file("g.dot", graph)
        .args("g.dot --emit pilot.c");
    test.run().status(5).stderr_is(
        "\
error[G0612]: `pilot` does not support `i128`, the type of `k` of `a`
 --> g.dot:1:13
  |
1 | digraph g { a -> b; a [params=\"k: i128\", args=\"1\"]; }
  |             ^ a process of this kind
  |
  = help: use `i64` or `u64`, or pass the digits as a `String`

graphmap: 1 error
",
    );
    test.args("g.dot --emit fgmpi").run().status(0);
}

#[test]
fn arguments_that_no_program_would_get_are_refused() {
    let refused = "error[G0011]: `-A` has no effect, because launch files do not pass arguments to \
                   this program\n\x20 = help: write the code or the tables of the program with it: \
                   `graphmap GRAPH -A NAME.PARAMETER=VALUE --emit PATH`\n\ngraphmap: 1 error\n";
    let a = "-n 2 --set program=./p -A worker.seed=2";
    let mut test = graph();
    for args in [
        format!("g.dot {a} hostfile=- --hosts names=h"),
        format!("g.dot {a} mpiexec mapping.json"),
        "partition g.dot --hosts names=h -o plan -A worker.seed=2".to_owned(),
    ] {
        test = test.args(&args);
        test.run().status(2).stderr_is(refused);
        assert_eq!(test.files(), ["g.dot"]);
    }
    // These files contain the arguments.
    for args in [
        format!("g.dot {a} launch.sh g.tables"),
        format!("g.dot {a} launch.sh --set launcher=fgmpi"),
        "partition g.dot --hosts names=h -o plan --set launcher=fgmpi -A worker.seed=2".to_owned(),
    ] {
        test = test.args(&args);
        test.run().status(0);
    }
    assert!(test.read("plan/fgmpi.c").contains("{\"worker\", \"2\","));
    let programs = GRAPH.replace("sizes=", "node [program=\"./p\"]; sizes=");
    Test::new()
        .file("g.dot", programs)
        .args("run g.dot --link mpi -n 2 -A worker.seed=2")
        .run()
        .status(2)
        .stderr_has("error[G0011]: `-A` has no effect");
}
