//! Hostile files: deep, long, huge, truncated, random. The parser must not panic or overflow, and
//! its work must be linear in the size of the file. No time is asserted, because with quadratic
//! work a test of a second would take an hour.

use graphmap_dot::language::load;
use graphmap_kpn::diagnostic::Diagnostics;
use graphmap_kpn::source::SourceMap;
use plain::generate;
use proptest::prelude::*;

mod plain;

/// Reads bytes and returns true if they are a network. Checks that diagnostics point into the text.
fn loads(bytes: Vec<u8>) -> bool {
    let mut sources = SourceMap::new();
    let mut diagnostics = Diagnostics::new();
    let declared = load(&mut sources, "t.dot", bytes, &mut diagnostics);
    assert_eq!(declared.is_none(), diagnostics.has_errors());
    for diagnostic in &diagnostics {
        for label in diagnostic.primary.iter().chain(&diagnostic.secondary) {
            let (source, _) = sources.range(label.span).expect("a place in the text");
            let end = source.base() as usize + source.text().len();
            assert!(label.span.start <= label.span.end && label.span.end as usize <= end);
            let _ = sources.location(label.span);
            let raw = sources.text(label.span);
            assert_eq!(raw.len(), (label.span.end - label.span.start) as usize);
        }
    }
    declared.is_some()
}

const MANY: usize = 200_000;

#[test]
fn depth_and_length_have_no_limit() {
    let nest = |open: &str, middle: &str, close: &str| {
        let (open, close) = (open.repeat(MANY), close.repeat(MANY));
        loads(format!("digraph {{ {open} {middle} {close} }}").into_bytes())
    };
    assert!(nest("{", "a", "}"));
    assert!(nest("subgraph cluster_x {", "a -> b", "}"));
    assert!(nest("subgraph { node [load=2] b ", "c", "}"));
    assert!(nest("subgraph cluster_x { w ", "c", " w }"));
    assert!(nest("a -> {", "b", "} -> c") || MANY > 4000);
    assert!(!nest("{", "a", ""));
    assert!(!nest("", "a", "}"));
    assert!(nest("", "a [label=<x>]", "") && !nest("", "a [label=<", ""));
    assert!(loads(
        format!(
            "digraph {{ a [label={}x{}] }}",
            "<".repeat(MANY),
            ">".repeat(MANY)
        )
        .into()
    ));
    assert!(loads(
        format!("digraph {{ a{} }}", " -> a".repeat(MANY)).into()
    ));
    assert!(loads(
        format!("digraph {{ a{} }}", ", b".repeat(MANY)).into()
    ));
    assert!(loads(
        format!("digraph {{ a {} }}", "[x=1]".repeat(MANY)).into()
    ));
    assert!(loads(
        format!("digraph {{ \"a\"{} }}", " + \"b\"".repeat(MANY)).into()
    ));
    assert!(loads(
        format!("digraph {{ {} }}", "a".repeat(MANY * 10)).into()
    ));
    assert!(!loads(
        format!("digraph {{ {} }}", "/* ".repeat(MANY)).into()
    ));
    assert!(!loads(
        format!("digraph {{ {}", "a [x=\"\n".repeat(MANY)).into()
    ));
    assert!(!loads(format!("digraph {{ {}", "<\n".repeat(MANY)).into()));
    assert!(!loads("digraph a {} ".repeat(MANY).into()));
    assert!(!loads("[".repeat(MANY).into()));
}

#[test]
fn many_members_names_and_attributes() {
    let all = |item: fn(usize) -> String| (0..MANY).map(item).collect::<String>();
    let list = all(|i| format!("src{i}=a{i} "));
    let nodes = all(|i| format!("a{i};"));
    assert!(loads(
        format!("digraph {{ {nodes} z; b [{list} dst1=z] }}").into()
    ));
    // Each unknown name is compared with all known ones.
    let unknown: String = (0..MANY / 20).map(|i| format!("q{i}=1 ")).collect();
    assert!(loads(format!("digraph {{ a [{unknown}] }}").into()));
    let defaults = all(|i| format!("node [load={i}] a{i};"));
    assert!(loads(format!("digraph {{ {defaults} }}").into()));
    let clusters = all(|i| format!("subgraph cluster_{i} {{ a{i} x }} "));
    assert!(!loads(format!("digraph {{ {clusters} }}").into()));
    let again = all(|i| format!("subgraph cluster_1 {{ node [load={i}] a{i} }} "));
    assert!(loads(format!("digraph {{ {again} }}").into()));
}

#[test]
fn products_are_counted_before_they_are_made() {
    let many = (0..50_000).map(|i| format!("a{i};")).collect::<String>();
    assert!(!loads(
        format!("digraph {{ {{ {many} }} -> {{ {many} }} }}").into()
    ));
    // These make no edges, but without a limit they would be visited repeatedly.
    let nested = format!("{}{}", "{ a ".repeat(20_000), " } -> {}".repeat(20_000));
    assert!(!loads(format!("digraph {{ {nested} }}").into()));
}

#[test]
fn every_beginning_of_a_file_is_an_answer() {
    let farm = include_str!("graphs/farm_mended.dot");
    for end in 0..farm.len() {
        let whole = farm[..end].trim_end().ends_with("\n}");
        assert_eq!(loads(farm.as_bytes()[..end].to_vec()), whole, "{end}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn random_bytes(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        loads(bytes);
    }

    #[test]
    fn random_words(words in prop::collection::vec(prop::sample::select(vec![
        "digraph", "graph", "strict", "subgraph", "node", "edge", "{", "}", "[", "]", "=", ",", ";",
        ":", "->", "--", "a", "b", "cluster_1", "\"x\"", "<y>", "+", "1", "\n", "PIin1", "src1",
        "bundle", "select", "NULL", "replicas", "module", "capacity", "\"a:b\"", "process", "at",
    ]), 0..60)) {
        let text = format!("digraph {{ {} }}", words.join(" "));
        loads(text.into_bytes());
    }

    #[test]
    fn mutated_graphs(text in generate::mutated(generate::graph())) {
        loads(text.into_bytes());
    }

    #[test]
    fn mutated_farms(text in generate::mutated(Just(include_str!("graphs/farm_mended.dot").to_owned()))) {
        loads(text.into_bytes());
    }
}
