//! `-D`, `-I`, sizes in `graphmap.toml`, included graphs and the library of networks.

use crate::common::Test;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

const FARM: &str = r#"digraph farm {
    sizes="n=4, jobs=2*n";
    source -> worker [bundle=scatter, capacity="jobs"];
    worker [replicas="n"];
    worker -> sink [bundle=gather];
}
"#;

fn farm(args: &str) -> Test {
    Test::new().file("farm.dot", FARM).args(args)
}

#[test]
fn a_size_is_set_for_one_run_and_changes_no_file() {
    let test = farm("check farm.dot -D n=6");
    test.run()
        .status(0)
        .stderr_is("farm.dot: 8 processes of 3 kinds, 12 channels\n");
    assert_eq!(test.files(), ["farm.dot"]);
    assert_eq!(test.read("farm.dot"), FARM);
    farm("expand farm.dot -D n=2 --size jobs=3")
        .run()
        .status(0)
        .stdout_has("source -> worker2 [capacity=3 bundle=scatter];");
    farm("partition farm.dot -D n=6 -n 2 --json")
        .run()
        .status(0)
        .stdout_has("\"processes\": 8,");
}

#[test]
fn the_value_of_a_size_must_be_a_number() {
    farm("check farm.dot -D n=m").run().status(2).stderr_is(
        "error: invalid value 'n=m' for '--size <NAME=VALUE>': \
         expected a whole number, but `m` is a name\n\n\
         For more information, try '--help'.\n",
    );
    for (text, reason) in [
        ("n", "expected NAME=VALUE, such as n=8"),
        ("2n=3", "`2n` is not the name of a size"),
        ("n=7/2", "7 / 2 is not a whole number"),
    ] {
        let done = farm(&format!("check farm.dot -D {text}")).run();
        done.status(2).stderr_has(reason);
    }
}

#[test]
fn a_size_that_the_graph_does_not_have_is_an_error() {
    farm("check farm.dot -D job=2 -D k=1")
        .run()
        .status(1)
        .stderr_is(
            "error[G0241]: the graph `farm` has no size `job`\n  \
             = help: did you mean `jobs`?\n\n\
             error[G0241]: the graph `farm` has no size `k`\n  \
             = help: its sizes are `jobs`, `n`\n\n\
             graphmap: 2 errors\n",
        );
}

#[test]
fn a_project_sets_sizes_and_folders() {
    let text = "include = \"parts\"\n[sizes]\nn = 3\nother = 1\n";
    let drawing = FARM.replace(
        "digraph farm {",
        "digraph farm { P [use=\"p.dot\"]; x -> P;",
    );
    let test = Test::new()
        .file("farm.dot", drawing)
        .file("parts/p.dot", "digraph p { in [port=in]; in -> y; }")
        .file("graphmap.toml", text);
    test.args("check farm.dot").run().status(0).stderr_is(
        "warning[G0241]: the graph `farm` has no size `other`\n \
         --> graphmap.toml:4:1\n  |\n4 | other = 1\n  | ^^^^^\n\n\
         graphmap: 1 warning\n\
         farm.dot: 7 processes of 5 kinds, 7 channels\n",
    );
    let test = Test::new()
        .file("farm.dot", FARM)
        .file("graphmap.toml", text);
    // The command line has precedence.
    test.args("check farm.dot -D n=5 --allow G0241")
        .run()
        .status(0)
        .stderr_is("farm.dot: 7 processes of 3 kinds, 10 channels\n");
    for (text, message) in [
        ("sizes = 3\n", "`sizes` must be a table"),
        ("[sizes]\nn = \"3\"\n", "invalid value of the size `n`"),
        ("[sizes]\na.n = \"3\"\n", "invalid value of the size `a.n`"),
        (
            "[sizes]\na.n = 3\n\"a.n\" = 4\n",
            "the size `a.n` is set twice",
        ),
    ] {
        let test = Test::new()
            .file("farm.dot", FARM)
            .file("graphmap.toml", text);
        test.args("check farm.dot")
            .run()
            .status(1)
            .stderr_has(message);
    }
}

/// A graph with a module of one worker.
const ONE: &str =
    "digraph one {\n    in [port=in];\n    out [port=out];\n    in -> worker -> out;\n}\n";

#[test]
fn a_project_sets_sizes_of_included_graphs() {
    for key in [
        "a.b.workers = 3",
        "\"a.b.workers\" = 3",
        "[sizes.a]\nb.workers = 3",
    ] {
        Test::new()
            .file("main.dot", "digraph { x -> a -> y; a [use=\"mid.dot\"]; }")
            .file(
                "mid.dot",
                "digraph m { in [port=in]; out [port=out]; in -> b -> out; b [use=farm]; }",
            )
            .file("graphmap.toml", format!("[sizes]\n{key}\n"))
            .args("check main.dot")
            .run()
            .status(0)
            .stderr_has("main.dot: 5 processes of 3 kinds, 6 channels\n");
    }
}

#[test]
fn edges_to_instances_of_an_included_graph_are_advised() {
    let chain = |edges: &str| {
        let text = format!("digraph {{\n    S [use=\"one.dot\", replicas=3];\n    {edges}\n}}\n");
        Test::new()
            .file("one.dot", ONE)
            .file("main.dot", text)
            .args("check main.dot")
    };
    chain("a -> S1; S1 -> S2; S -> b;")
        .run()
        .status(1)
        .stderr_is(
            "error[G0234]: module port `S.in` is not joined outside its module\n \
         --> main.dot:2:5\n  |\n\
         2 |     S [use=\"one.dot\", replicas=3];\n  |     ^ no edge at this node joins it\n\
         3 |     a -> S1; S1 -> S2; S -> b;\n  |          -- this is another process, not an \
         instance of `S`\n  |\n ::: one.dot:2:9\n  |\n\
         2 |     in [port=in];\n  |         ------- the port\n  |\n  \
         = help: add an edge `... -> S`\n  \
         = help: or join it to `NULL`, the environment\n  \
         = help: an edge at `S` selects instances: `at=1`, `at=first`, `at=last`\n  \
         = help: an edge `S -> S [step=1]` joins each instance to the next\n\n\
         graphmap: 1 error\n",
        );
    chain("a -> S [at=first]; S -> b [at=last];")
        .run()
        .status(1)
        .stderr_has(
            "= help: `at=` selects instances, and `step=1` joins each instance to the next\n",
        );
    chain("a -> S; S -> S; S -> b;").run().status(1).stderr_has(
        "= help: to join each instance of a repeated `S` to the next, write `S -> S [step=1]`, \
         and `at=first` or `at=last` at its other edges\n",
    );
    chain("S -> S;")
        .run()
        .status(0)
        .stderr_has("= help: or write `S -> S [step=1]` to join each instance to the next\n");
    chain("a -> S [at=first]; S -> S [step=1]; S -> b [at=last];")
        .run()
        .status(0)
        .stderr_is("main.dot: 5 processes of 3 kinds, 4 channels\n");
}

#[test]
fn a_kind_of_two_graphs_is_one_diagnostic() {
    let text =
        "digraph {\n    a -> S -> b; S [use=\"one.dot\"];\n    c -> F -> d; F [use=farm];\n}\n";
    let test = |text: &str| {
        Test::new()
            .file("one.dot", ONE)
            .file("main.dot", text)
            .args("check main.dot --allow G0314")
    };
    test(text).run().status(1).stderr_is(
        "error[G0310]: `F.worker1` has no port `in`, but `S.worker` of another graph, which is of \
         the same kind `worker`, has it\n --> library:farm.dot:7:5\n  |\n\
         7 |     worker [replicas=\"workers + 0/workers\"];\n  |     ^^^^^^ no edge joins the port\n  \
         |\n ::: main.dot:2:5\n  |\n\
         2 |     a -> S -> b; S [use=\"one.dot\"];\n  |     ------ `S.worker` has it\n  |\n  \
         = note: not shown: 3 more ports in which they differ\n  \
         = help: if they run different functions, rename the kind where a graph is included: \
         `kinds=\"worker=...\"` at the node with `use=`\n  \
         = help: otherwise give the processes of both graphs the same ports\n\n\
         graphmap: 1 error\n",
    );
    test(&text.replace("use=farm", "use=farm, kinds=\"worker=other\""))
        .run()
        .status(0);
}

#[test]
fn default_capacities_do_not_contradict() {
    let test = |sizes: &str| {
        Test::new()
            .file(
                "main.dot",
                "digraph { a -> F -> P -> b; F [use=farm]; P [use=pipeline]; }\n",
            )
            .args(&format!("expand main.dot {sizes}"))
    };
    test("-D F.capacity=10")
        .run()
        .status(0)
        .stdout_has("\"F.worker1\" -> \"P.stage1\" [src=results capacity=10 bundle=select];")
        .stdout_has("\"P.stage1\" -> \"P.stage2\";");
    test("-D F.capacity=10 -D P.capacity=3")
        .run()
        .status(1)
        .stderr_has("error[G0236]: `capacity=` differs on the two sides of a module port\n")
        .stderr_has("= help: use the same value of `capacity=` in both graphs\n");
}

#[test]
fn networks_of_the_library_need_a_process() {
    for (name, size) in [("farm", "workers"), ("pipeline", "stages")] {
        Test::new()
            .file(
                "main.dot",
                format!("digraph {{ a -> X -> b; X [use={name}]; }}\n"),
            )
            .args(&format!("check main.dot -D X.{size}=0"))
            .run()
            .status(1)
            .stderr_has(&format!("error[G0230]: `{size} + 0/{size}` has no value\n"))
            .stderr_has("division by zero")
            .stderr_has("graphmap: 1 error\n");
    }
}

#[test]
fn errors_in_an_included_file_point_into_it() {
    Test::new()
        .file("main.dot", "digraph { a -> P; P [use=\"lib/p.dot\"]; }\n")
        .file(
            "lib/p.dot",
            "digraph p {\n    in [port=in];\n    in -> x [capacity=none];\n}\n",
        )
        .args("check main.dot")
        .run()
        .status(1)
        .stderr_is(
            "error[G0231]: the size `none` is not defined\n \
             --> lib/p.dot:3:23\n  |\n\
             3 |     in -> x [capacity=none];\n  |                       ^^^^\n  |\n  \
             = help: define it in the graph or at the node that includes it, `sizes=\"none=8\"`, \
             or for this run, `-D P.none=8`\n  \
             = help: or write a whole number from 1 to 4294967295\n\n\
             graphmap: 1 error\n",
        );
}

#[test]
fn sizes_of_included_graphs_have_the_names_of_their_nodes() {
    let ports = "in [port=in]; out [port=out];";
    let main = |sizes: &str| {
        let main = format!("digraph {{ a -> \"m-1\" -> b; \"m-1\" [use=\"p.dot\"{sizes}]; }}\n");
        let part = format!("digraph p {{ {ports} in -> Q -> out; Q [use=\"q.dot\"]; }}");
        let inner = format!("digraph q {{ {ports} in -> w -> out; w [mem=n]; }}");
        Test::new()
            .file("main.dot", main)
            .file("p.dot", part)
            .file("q.dot", inner)
    };
    let done = main("").args("check main.dot").run();
    done.status(1).stderr_has("`-D m-1.Q.n=8`");
    let done = main("").args("check main.dot -D m-1.Q.n=3").run();
    done.status(0);
    // The error points to the entry.
    let test = main(", sizes=\"k=2\"").args("check main.dot -D m-1.Q.n=3");
    let done = test.run();
    done.status(1)
        .stderr_has("error[G0231]: `p.dot` has no size `k`\n --> main.dot:1:55\n");
    for wrong in [".n=3", "n.=3", "a.2=3"] {
        let done = farm(&format!("check farm.dot -D {wrong}")).run();
        done.status(2).stderr_has("is not the name of a size");
    }
}

#[test]
fn a_network_in_json_has_no_sizes() {
    let json = r#"{"graphmap": 1, "processes": [{"name": "a"}]}"#;
    Test::new()
        .file("a.json", json)
        .args("check a.json -D n=3")
        .run()
        .status(1)
        .stderr_has("has no size `n`")
        .stderr_has("= help: a network in the format `json` has no sizes; define them in a graph");
}

#[test]
fn a_module_alone_has_no_warning_about_its_processes() {
    let text = "digraph m {\n    in [port=in];\n    in -> w;\n    w [replicas=2];\n    lone;\n}\n";
    let test = Test::new().file("m.dot", text).args("check m.dot");
    let done = test.run();
    done.status(0)
        .stderr_has("note[G0237]")
        .stderr_has("no channel reaches process `lone`")
        .stderr_has("graphmap: 1 warning\n");
}

#[test]
fn a_missing_file_is_reported_with_the_folders() {
    Test::new()
        .file("main.dot", "digraph { a -> P; P [use=\"p.dot\"]; }\n")
        .args("check main.dot -I parts -I more")
        .run()
        .status(1)
        .stderr_is(
            "error[G0239]: the included file `p.dot` does not exist\n \
             --> main.dot:1:26\n  |\n\
             1 | digraph { a -> P; P [use=\"p.dot\"]; }\n  |                          ^^^^^^^\n  |\n  \
             = note: nor in `parts`, `more`\n  \
             = help: name a folder to search in: `-I DIR`\n\n\
             graphmap: 1 error\n",
        );
}

#[test]
fn an_included_file_is_not_overwritten() {
    let test = Test::new()
        .file("main.dot", "digraph { a -> P; P [use=\"p.dot\"]; }\n")
        .file("p.dot", "digraph p { in [port=in]; in -> x; }\n")
        .args("main.dot --emit mapped=p.dot");
    test.run().status(2).stderr_has("p.dot");
    assert_eq!(test.read("p.dot"), "digraph p { in [port=in]; in -> x; }\n");
}

#[test]
fn graphs_that_include_each_other_end() {
    Test::new()
        .file("a.dot", "digraph a { B [use=\"b.dot\"]; }\n")
        .file("b.dot", "digraph b { A [use=\"a.dot\"]; }\n")
        .args("check a.dot")
        .run()
        .status(1)
        .stderr_has("error[G0239]: `a.dot` includes itself")
        .stderr_has("= note: through `a.dot`, `b.dot`");
    // The same file by another path.
    Test::new()
        .file("a.dot", "digraph a { B [use=\"sub/../a.dot\"]; }\n")
        .file("sub/b.dot", "digraph b { a; }\n")
        .args("check a.dot")
        .run()
        .status(1)
        .stderr_has("error[G0239]: `a.dot` includes itself");
    // Each file includes the next one twice.
    let mut test = Test::new();
    for i in 0..30 {
        let next = i + 1;
        let text = format!("digraph {{ a [use=\"{next}.dot\"]; b [use=\"{next}.dot\"]; }}");
        test = test.file(&format!("{i}.dot"), text);
    }
    test.file("30.dot", "digraph { x; }")
        .args("check 0.dot")
        .run()
        .status(1)
        .stderr_has("error[G0239]: more than 10000 graphs are included");
}

/// The library, as `src/library_networks.rs` embeds it.
pub(crate) fn library() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("skeletons/networks");
    let entries = std::fs::read_dir(folder).unwrap();
    let names = entries.map(|entry| {
        let name = entry.unwrap().file_name().into_string().unwrap();
        name.strip_suffix(".dot").expect("a graph").to_owned()
    });
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

#[test]
fn every_network_of_the_library_has_a_name_and_a_page() {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/src");
    let index = std::fs::read_to_string(docs.join("library-networks.md")).unwrap();
    for name in library() {
        assert!(index.contains(&format!("(library/{name}.md)")), "{name}");
        Test::new()
            .file("a.dot", format!("digraph {{ X [use=\"{name}\"]; }}"))
            .args("check a.dot --format dot")
            .run()
            .stderr_lacks("G0239");
    }
    Test::new()
        .file("a.dot", "digraph { X [use=tours]; }")
        .args("check a.dot")
        .run()
        .status(1)
        .stderr_has("error[G0239]: the library has no network `tours`")
        .stderr_has("= help: did you mean `torus`?");
}

#[test]
fn networks_of_the_library_have_the_size_that_their_pages_state() {
    let cases = [
        ("farm", "workers=3", "3 processes of 1 kind, 0 channels"),
        ("pipeline", "stages=5", "5 processes of 1 kind, 4 channels"),
        ("ring", "members=6", "6 processes of 1 kind, 6 channels"),
        ("tree", "arity=3", "40 processes of 2 kinds, 39 channels"),
        ("mesh", "rows=3", "12 processes of 1 kind, 34 channels"),
        ("torus", "rows=3", "12 processes of 1 kind, 48 channels"),
        (
            "hypercube",
            "dimension=4",
            "16 processes of 1 kind, 64 channels",
        ),
        (
            "butterfly",
            "order=4",
            "80 processes of 1 kind, 128 channels",
        ),
        (
            "map-reduce",
            "mappers=5",
            "7 processes of 2 kinds, 10 channels",
        ),
        (
            "request-reply",
            "clients=3",
            "4 processes of 2 kinds, 6 channels",
        ),
    ];
    let names: Vec<&str> = cases.iter().map(|case| case.0).collect();
    let mut sorted = names.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, library());
    for (name, size, counts) in cases {
        let file = format!(
            "{}/skeletons/networks/{name}.dot",
            env!("CARGO_MANIFEST_DIR")
        );
        Test::new()
            .args(&format!("check {file} -D {size}"))
            .run()
            .status(0)
            .stderr_has(counts);
    }
}

/// Cells of a hypercube whose numbers differ in one bit, and no others, are joined.
#[test]
fn a_hypercube_joins_numbers_that_differ_in_one_bit() {
    let file = format!(
        "{}/skeletons/networks/hypercube.dot",
        env!("CARGO_MANIFEST_DIR")
    );
    let test = Test::new().args(&format!("expand {file} -D dimension=5"));
    let done = test.run().status(0);
    let text = done.stdout();
    let number = |cell: &str| cell.trim().strip_prefix("cell")?.parse::<u32>().ok();
    let edges: BTreeSet<(u32, u32)> = text
        .lines()
        .filter_map(|line| {
            let (from, rest) = line.split_once(" -> ")?;
            let to = rest.split([' ', ';']).next()?;
            Some((number(from)? - 1, number(to)? - 1))
        })
        .collect();
    let expected: BTreeSet<(u32, u32)> = (0..32u32)
        .flat_map(|cell| (0..5).map(move |bit| (cell, cell ^ (1 << bit))))
        .collect();
    assert_eq!(edges, expected);
}

/// `dot` draws no node that graphmap does not know: an edge to the name of a cluster, for example,
/// would draw one.
#[test]
fn graphviz_draws_only_nodes_of_the_model() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    if let Err(error) = Command::new("dot").arg("-V").output() {
        let need = graphmap_testing::Need::Graphviz;
        graphmap_testing::skip(need, format!("dot does not start: {error}"));
        return;
    }
    let mut files = Vec::new();
    for folder in ["graphs", "skeletons/networks"] {
        let entries = std::fs::read_dir(root.join(folder)).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        files.extend(paths.filter(|path| path.extension().is_some_and(|e| e == "dot")));
    }
    assert!(files.len() > 15);
    for file in files {
        let drawn = Command::new("dot")
            .arg("-Tplain")
            .arg(&file)
            .output()
            .unwrap();
        let drawn = String::from_utf8(drawn.stdout).unwrap();
        let drawn: BTreeSet<&str> = drawn
            .lines()
            .filter_map(|line| line.strip_prefix("node ")?.split(' ').next())
            .map(|name| name.trim_matches('"'))
            .collect();
        let mut sources = graphmap::kpn::source::SourceMap::new();
        let mut found = graphmap::Diagnostics::new();
        let bytes = std::fs::read(&file).unwrap();
        let name = file.display().to_string();
        let declared = graphmap_dot::language::load(&mut sources, &name, bytes, &mut found);
        let declared = declared.unwrap();
        let nodes = declared.nodes.values().map(|node| declared.name(node.name));
        let extras = declared.extras.iter();
        let bundles = extras.filter_map(|e| Some(declared.name(e.bundle_name?)));
        let known: BTreeSet<&str> = nodes.chain(bundles).chain(["NULL"]).collect();
        let stray: Vec<&&str> = drawn.difference(&known).collect();
        assert!(stray.is_empty(), "{name}: {stray:?}");
    }
}
