//! Files from other sources: graph files made for other programs, and graphs in other formats.

use crate::common::Test;

#[test]
fn near_names_are_warnings_that_can_be_allowed_and_denied() {
    let drawing = "digraph { a [cost=3]; a -> b [ctype=x] }";
    let test = |args: &str| Test::new().file("g.dot", drawing).args(args).run();
    test("check g.dot")
        .status(0)
        .stderr_has("warning[G0204]: unknown attribute `cost` on a node")
        .stderr_has("did you mean `load`?")
        .stderr_has("warning[G0204]: unknown attribute `ctype` on an edge")
        .stderr_has("graphmap: 2 warnings\n");
    test("check g.dot --allow G0204")
        .status(0)
        .stderr_lacks("G0");
    test("check g.dot --deny G0204").status(1);
    let allowed = format!("{}; allow=G0204 }}", drawing.trim_end_matches(" }"));
    let test = Test::new().file("g.dot", allowed).args("check g.dot");
    test.run().status(0).stderr_lacks("G0");
}

#[test]
fn a_drawing_is_shown_whether_it_is_sound_or_not() {
    for (text, code, shown) in [
        (
            "strict digraph { a -> b; a -> b }",
            "G0202",
            "a -> b: \u{d7}2\n",
        ),
        ("graph { a -- b; b -- c }", "G0201", "a -> b\nb -> c\n"),
        ("digraph { a [type=filter]; a -> b }", "G0205", "a -> b\n"),
        (
            "digraph { subgraph cluster_1 { a } subgraph cluster_2 { a -> b } }",
            "G0209",
            "a -> b\n",
        ),
        (
            "digraph { a -> cluster_f; subgraph cluster_f { b } }",
            "G0220",
            "a -> cluster_f\n",
        ),
        (
            "digraph { d [bundle=share]; a -> d; c -> d; d -> b }",
            "G0212",
            "d -> b\n",
        ),
    ] {
        let test = Test::new().file("g.dot", text);
        let test = test.args("view g.dot --detail nodes");
        test.run()
            .status(0)
            .stdout_has(shown)
            .stderr_has(&format!("warning[{code}]"));
        let test = test.args("view g.dot --detail nodes --svg");
        test.run().status(0).stdout_has("<svg");
        let test = test.args("check g.dot");
        test.run().status(1).stderr_has(&format!("error[{code}]"));
    }
    let test = Test::new().file("g.dot", "strict digraph { a -> b; b -> c }");
    test.args("check g.dot").run().status(0).stderr_lacks("G0");
}

#[test]
fn a_module_is_drawn_by_a_cluster_in_any_case() {
    let text = "digraph { subgraph Cluster_farm { label=farm; a; b; a -> b } c; b -> c }";
    let test = Test::new().file("g.dot", text).args("expand g.dot");
    let once = test.run().status(0).stdout();
    assert!(
        once.contains("subgraph Cluster_farm {\n        module=farm;"),
        "{once}"
    );
    let again = Test::new().file("g.dot", &once).args("expand g.dot").run();
    assert_eq!(again.status(0).stdout(), once);
    // Rules use the same names for modules.
    let args = "partition g.dot -n 2 --pin module:farm=1 --pin c=0";
    Test::new().file("g.dot", text).args(args).run().status(0);
}

#[test]
fn formats_of_other_programs_are_named_whatever_the_ending() {
    let graphml = "<?xml version=\"1.0\"?>\n<graphml xmlns=\"x\"><graph/></graphml>\n";
    let dimacs = "c a comment\np edge 3 2\ne 1 2\ne 2 3\n";
    let matrix = "%%MatrixMarket matrix coordinate real general\n3 3 1\n1 2 5\n";
    for (file, text, args, status, said) in [
        ("g.xml", graphml, "check g.xml", 2, "`g.xml` is GraphML"),
        (
            "g.dot",
            graphml,
            "check g.dot",
            1,
            "this is GraphML, not DOT",
        ),
        (
            "g.col",
            dimacs,
            "partition g.col -n 2",
            2,
            "`g.col` is a DIMACS file",
        ),
        (
            "g.graph",
            dimacs,
            "partition g.graph -n 2",
            1,
            "this is a DIMACS file, not",
        ),
        (
            "g.mtx",
            matrix,
            "partition g.mtx -n 2",
            2,
            "`g.mtx` is a Matrix Market file",
        ),
        (
            "g.graph",
            matrix,
            "partition g.graph -n 2",
            1,
            "this is a Matrix Market file, not",
        ),
        (
            "g.graph",
            "2 3\n1 2\n2 3\n",
            "partition g.graph -n 2",
            1,
            "a hypergraph of hMETIS",
        ),
        (
            "g.json",
            "{\"directed\": true, \"multigraph\": false, \"nodes\": [], \"adjacency\": []}",
            "check g.json",
            1,
            "adjacency JSON, as NetworkX writes it",
        ),
    ] {
        let done = Test::new().file(file, text).args(args).run().status(status);
        let stderr = done.stderr();
        assert!(stderr.contains(said), "{args}: {stderr}");
        assert!(stderr.contains("graphmap: 1 error\n"), "{args}: {stderr}");
        assert!(!stderr.contains("\"graphmap\": 1"), "{args}: {stderr}");
    }
}

#[test]
fn endings_are_known_in_any_case_and_all_formats_are_listed() {
    let drawing = "digraph ring { a -> b }";
    let test = Test::new().file("RING.DOT", drawing).args("check RING.DOT");
    test.run().status(0);
    let mesh = "2 1\n2\n1\n";
    for name in ["mesh.metis", "MESH.METIS", "mesh.GRAPH"] {
        let test = Test::new().file(name, mesh);
        let test = test.args(&format!("partition {name} -n 2"));
        test.run().status(0).stdout_has("2 vertices and 1 edge");
    }
    for args in [
        "partition mesh.metis -n 2 --format chaco",
        "partition mesh.foo -n 2",
    ] {
        let test = Test::new().file("mesh.metis", mesh).file("mesh.foo", mesh);
        let done = test.args(args).run().status(2);
        done.stderr_has("dot, json, graphml, node-link, cpa, or with an executable `graphmap-read-FORMAT` on PATH; to partition a graph without names, with one of metis, scotch");
    }
}

#[test]
fn an_end_that_stands_no_time_leaves_an_empty_bundle() {
    let drawing = |replicas: u32| {
        format!("digraph g {{ a -> w [bundle=scatter]; w [replicas={replicas}]; b -> c; }}")
    };
    for replicas in [0, 1] {
        let test = Test::new().file("g.dot", drawing(replicas));
        let test = test.args("g.dot -n 1 --emit wiring=-");
        let wiring = test.run().status(0).stdout();
        assert!(
            wiring.contains("pub out: rt::Scatter<types::Token>"),
            "{wiring}"
        );
    }
    // `expand` keeps the bundle.
    let test = Test::new().file("g.dot", drawing(0));
    let expanded = test.args("expand g.dot").run().status(0).stdout();
    assert!(
        expanded.contains("a -> NULL [src=out bundle=scatter];"),
        "{expanded}"
    );
    let of = |name: &str, text: &str| {
        let test = Test::new().file(name, text);
        test.args(&format!("{name} -n 1 --emit wiring=-"))
            .run()
            .status(0)
            .stdout()
    };
    assert!(of("g.dot", &expanded).contains("pub out: rt::Scatter"));
    let test = Test::new().file("g.dot", drawing(0));
    let json = test.args("expand g.dot --json").run().status(0).stdout();
    assert!(
        of("g.json", &json).contains("pub out: rt::Scatter"),
        "{json}"
    );
}

#[test]
fn an_expanded_graph_names_each_process_once() {
    let text = "digraph { subgraph cluster_a { replicas=2; x } s -> x [at=all, bundle=scatter]; t -> s; t [load=3] }";
    let test = Test::new().file("g.dot", text).args("expand g.dot");
    let expanded = test.run().status(0).stdout();
    assert_eq!(expanded.matches("\n    s;\n").count(), 1, "{expanded}");
    assert_eq!(
        expanded.matches("\n    t [load=3];\n").count(),
        1,
        "{expanded}"
    );
}
