//! Formatting: layout, spelling and comments. The graph must not change, and the result is stable.

use graphmap_dot::fmt::format;
use graphmap_dot::language::declare;
use graphmap_kpn::diagnostic::Diagnostics;
use graphmap_kpn::source::SourceMap;
use plain::{generate, graphviz, graphviz::comparable};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use std::path::{Path, PathBuf};

mod plain;

#[track_caller]
fn formatted(text: &str) -> String {
    let mut sources = SourceMap::new();
    sources.add("before", "xyz").unwrap();
    let source = sources.add("t.dot", text).unwrap();
    format(&source).unwrap_or_else(|diagnostics| panic!("{diagnostics:#?}\n{text}"))
}

fn declared(text: &str) -> String {
    let mut sources = SourceMap::new();
    let source = sources.add("t.dot", text).unwrap();
    let mut diagnostics = Diagnostics::new();
    let declared = declare(&sources, &source, &mut diagnostics).expect("a network");
    let name = |s| declared.name(s).to_owned();
    let nodes = declared.nodes.values();
    let nodes: Vec<_> = nodes
        .map(|n| (name(n.name), n.process.map(name), n.module))
        .collect();
    let ends = declared.channels.iter();
    let ends: Vec<_> = ends
        .map(|c| (c.from.node, name(c.from.port), c.to.node, name(c.to.port)))
        .collect();
    format!("{nodes:?} {ends:?}")
}

#[test]
fn layout_and_spelling() {
    let text = "// A farm\n\n\nDigraph  farm{rankdir=LR;a->b->c[PIout=x,PIin=y]\n\n\n\n{a;b}->{c d}\n\
        subgraph cluster_1{PIname=m // the module\n/* first */ a [PIproc=p;shape=box][];\n# last\n}\n\
        bu[PIbundlein1=a,PIin1=r,PIbundleout1=\"b\",PIbundleout2=c,PIout2=s] } // end";
    let expected = "\
// A farm

digraph farm {
    rankdir=LR;
    a -> b -> c [src=x, dst=y];

    { a; b; } -> { c; d; };
    subgraph cluster_1 {
        module=m; // the module
        /* first */
        a [process=p, shape=box];
        # last
    }
    bu [dst1=\"a:r\", src1=\"b\", src2=\"c:s\"];
} // end
";
    assert_eq!(formatted(text), expected);
    assert_eq!(formatted(expected), expected);
}

#[test]
fn long_lists_and_comments_inside() {
    let text = "digraph { a [x=1, // one\n y=2 /* two */]; b [u=\"0123456789012345678901234567890123456789\", \
        v=\"0123456789012345678901234567890123456789\", w=\"01234567890123456789\"]; }";
    let expected = "\
digraph {
    a [
        x=1, // one
        y=2, /* two */
    ];
    b [
        u=\"0123456789012345678901234567890123456789\",
        v=\"0123456789012345678901234567890123456789\",
        w=\"01234567890123456789\",
    ];
}
";
    assert_eq!(formatted(text), expected);
    assert_eq!(formatted(expected), expected);
}

#[test]
fn the_printed_farm_means_the_same_in_new_clothes() {
    let farm = include_str!("graphs/farm_mended.dot");
    let new = formatted(farm);
    assert!(
        !new.contains("PI") || new.matches("PI").count() == 1,
        "{new}"
    );
    assert_eq!(declared(&new), declared(farm));
    assert_eq!(formatted(&new), new);
}

#[test]
fn broken_text_is_not_formatted() {
    let mut sources = SourceMap::new();
    let source = sources.add("t.dot", "digraph { a -> }").unwrap();
    assert!(format(&source).is_err());
}

#[test]
fn deep_nesting_does_not_blow_up() {
    let text = format!(
        "digraph {{ {} a {} }}",
        "{b ".repeat(5_000),
        "}".repeat(5_000)
    );
    assert!(formatted(&text).len() < 200 * text.len());
}

#[test]
fn pieces_stay_pieces_and_their_comments_follow() {
    for (text, expected) in [
        (
            "digraph g { a [label=\"x\" /*c*/ + \"y\"]; }",
            "digraph g {\n    a [\n        label=\"x\" + \"y\", /*c*/\n    ];\n}\n",
        ),
        (
            "digraph{\"a\"+\"\n\"->c}",
            "digraph {\n    \"a\" + \"\n\" -> c;\n}\n",
        ),
        (
            "digraph { \"a\" // one\n + # two\n \"b\" -> c }",
            "digraph {\n    \"a\" + \"b\" -> c; // one\n    # two\n}\n",
        ),
        (
            "graph { node [ /* c */\n ]; }",
            "graph {\n    node []; /* c */\n}\n",
        ),
        (
            "graph { a [\n\n// c\n\n]; b }",
            "graph {\n    a;\n\n    // c\n\n    b;\n}\n",
        ),
        (
            "digraph { <> -> a; \"\" -> b }",
            "digraph {\n    <> -> a;\n    \"\" -> b;\n}\n",
        ),
    ] {
        let once = formatted(text);
        assert_eq!(once, expected, "{text}");
        assert_eq!(formatted(&once), once, "{text}");
    }
}

/// Returns all files below a folder of the repository.
fn files(folder: &str) -> Vec<PathBuf> {
    let mut todo = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join(folder)];
    let mut found = Vec::new();
    while let Some(path) = todo.pop() {
        if path.is_dir() && !path.ends_with("target") {
            let entries = std::fs::read_dir(&path).unwrap();
            todo.extend(entries.map(|entry| entry.unwrap().path()));
        } else if path.is_file() {
            found.push(path);
        }
    }
    found
}

#[test]
fn formatted_text_does_not_change() {
    let mut laid_out = 0;
    for path in [
        "tests",
        "../../graphs",
        "../../tests/checks",
        "../../tests/fuzz/seeds",
        "../../docs",
    ]
    .into_iter()
    .flat_map(files)
    {
        let Ok(text) = std::fs::read_to_string(&path) else {
            continue;
        };
        // Texts in another language, or with errors, are not formatted.
        let mut sources = SourceMap::new();
        let source = sources.add("t.dot", text.as_str()).unwrap();
        let Ok(once) = format(&source) else {
            continue;
        };
        laid_out += 1;
        assert_eq!(formatted(&once), once, "{}", path.display());
        // The same with line ends of two characters.
        let windows = formatted(&text.replace("\r\n", "\n").replace('\n', "\r\n"));
        assert_eq!(formatted(&windows), windows, "{}", path.display());
    }
    assert!(laid_out > 60, "only {laid_out} files");
}

/// Returns the graphs that Graphviz reads from a text.
fn by_graphviz(name: &str, text: &str) -> Vec<plain::Plain> {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, text).unwrap();
    let read = graphviz::read(&path);
    read.unwrap_or_else(|why| panic!("{why}\n{text}"))
}

#[test]
fn graphviz_reads_the_same_before_and_after() {
    if graphviz::version().is_none() {
        return;
    }
    let mut runner = TestRunner::deterministic();
    for _ in 0..30 {
        let graphs: Vec<String> = (0..20)
            .map(|_| generate::graph().new_tree(&mut runner).unwrap().current())
            .collect();
        let laid_out: Vec<String> = graphs.iter().map(|text| formatted(text)).collect();
        let before = by_graphviz("before.dot", &graphs.concat());
        let after = by_graphviz("after.dot", &laid_out.concat());
        assert_eq!(before.len(), graphs.len());
        assert_eq!(after.len(), graphs.len());
        for (i, text) in graphs.iter().enumerate() {
            assert_eq!(before[i], after[i], "{text}\n{}", laid_out[i]);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn the_graph_stays_and_a_second_time_changes_nothing(text in generate::graph()) {
        let once = formatted(&text);
        let twice = formatted(&once);
        prop_assert_eq!(&once, &twice, "{}", text);
        let (mut before, mut after) = (plain::read(&text).0, plain::read(&once).0);
        before.iter_mut().for_each(comparable);
        after.iter_mut().for_each(comparable);
        prop_assert_eq!(before, after, "{}", once);
        for comment in ["/* c -> d */", "// e [", "# f {", "/* two\n  lines */"] {
            let count = |t: &str| t.matches(comment).count();
            prop_assert_eq!(count(&text), count(&once), "{}\n{}", text, once);
        }
    }

    #[test]
    fn lines_that_end_in_two_characters(text in generate::graph()) {
        let once = formatted(&text.replace("\r\n", "\n").replace('\n', "\r\n"));
        prop_assert_eq!(&once, &formatted(&once), "{}", text);
    }

    #[test]
    fn whatever_is_accepted_is_settled_at_once(text in generate::mutated(generate::graph())) {
        let mut sources = SourceMap::new();
        let source = sources.add("t.dot", text.as_str()).unwrap();
        if let Ok(once) = format(&source) {
            prop_assert_eq!(&once, &formatted(&once), "{}", text);
        }
    }
}
