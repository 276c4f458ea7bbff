//! Formatting: layout, spelling, comments; the same graph, and nothing left to do.

use graphmap_dot::dialect::declare;
use graphmap_dot::fmt::format;
use graphmap_kpn::diagnostic::Diagnostics;
use graphmap_kpn::source::SourceMap;
use plain::{generate, graphviz::comparable};
use proptest::prelude::*;

mod plain;

#[track_caller]
fn formatted(text: &str) -> String {
    let mut sources = SourceMap::new();
    sources.add("before", "xyz").unwrap();
    let source = sources.add("t.dot", text).unwrap();
    format(&source).unwrap_or_else(|findings| panic!("{findings:#?}\n{text}"))
}

fn declared(text: &str) -> String {
    let mut sources = SourceMap::new();
    let source = sources.add("t.dot", text).unwrap();
    let mut findings = Diagnostics::new();
    let declared = declare(&sources, &source, &mut findings).expect("a network");
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
        for comment in ["/* c -> d */", "// e [", "# f {"] {
            let count = |t: &str| t.matches(comment).count();
            prop_assert_eq!(count(&text), count(&once), "{}\n{}", text, once);
        }
    }
}
