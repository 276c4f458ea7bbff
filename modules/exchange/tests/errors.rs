//! Errors in files have positions there, and hostile files end in errors.

use graphmap_dot::language::load_with;
use graphmap_exchange::{graphml, node_link};
use graphmap_kpn::declared::Declared;
use graphmap_kpn::diagnostic::{Diagnostics, Severity};
use graphmap_kpn::sizes::Given;
use graphmap_kpn::source::SourceMap;

fn read(name: &str, text: &str) -> (SourceMap, Result<(Declared, Diagnostics), Diagnostics>) {
    let mut sources = SourceMap::new();
    // Positions must not depend on other texts.
    sources.add("other", "text").unwrap();
    let source = sources.add(name, text).unwrap();
    let given = Given::default();
    let read = match name {
        "net.json" => node_link::read(&source, &sources, &given, load_with),
        _ => graphml::read(&source, &sources, &given, load_with),
    };
    (sources, read)
}

/// Reads a text in which `«` and `»` enclose each part that is reported, once per diagnostic.
#[track_caller]
fn reports(name: &str, marked: &str, expected: &[&str]) {
    let text = marked.replace(['«', '»'], "");
    let (sources, read) = read(name, &text);
    let found = match read {
        Ok((_, found)) | Err(found) => found,
    };
    let messages: Vec<String> = found
        .iter()
        .map(|d| format!("{}: {}", d.code, d.message))
        .collect();
    assert_eq!(messages, expected, "{text}");
    let mut parts = Vec::new();
    let (mut at, mut start) = (0, 0);
    for c in marked.chars() {
        match c {
            '«' => start = at,
            '»' => parts.push(start..at),
            c => at += c.len_utf8(),
        }
    }
    let places = found.iter().map(|d| {
        let span = d.primary.as_ref().expect("a position").span;
        let (source, range) = sources.range(span).expect("a position in the text");
        assert_eq!(source.name(), name);
        range
    });
    assert_eq!(places.collect::<Vec<_>>(), parts, "{found:?}");
}

const KEYS: &str = r#"<key id="l" for="node" attr.name="load" attr.type="double"/>
<key id="c" for="edge" attr.name="capacity" attr.type="int"/>
<key id="s" for="edge" attr.name="src" attr.type="string"/>
<key id="x" for="edge" attr.name="capcity" attr.type="int"/>
<key id="g" for="node" yfiles.type="nodegraphics"/>"#;

#[track_caller]
fn graph_reports(inside: &str, expected: &[&str]) {
    let text = format!("<graphml>{KEYS}<graph edgedefault=\"directed\">{inside}</graph></graphml>");
    reports("net.graphml", &text, expected);
}

#[test]
fn attributes_in_graphml_are_reported_as_in_a_drawing() {
    graph_reports(
        r#"<node id="é &amp; b"><data key="l">«heavy»</data><data key="g"><y:S xmlns:y="y"/></data></node>
        <node id="c"/><edge source="é &amp; b" target="c"><data key="c">
            «no»  </data><data key="«x»">3</data><data key="s">a"b\</data></edge>"#,
        &[
            "G0231: the size `heavy` is not defined",
            "G0231: the size `no` is not defined",
            "G0204: unknown attribute `capcity` on an edge",
        ],
    );
}

#[test]
fn errors_of_structure_in_graphml_are_reported() {
    for (inside, expected) in [
        (
            r#"<node id="a"/><node id="«a»"/>"#,
            "two nodes have the id `a`",
        ),
        (r#"«<node»/>"#, "a `<node>` has no `id`"),
        (
            r#"<node id="a"/><edge source="a" target="«b»"/>"#,
            "no node has the id `b`",
        ),
        (
            r#"<node id="a"/>«<edge» source="a"/>"#,
            "an `<edge>` has no `target`",
        ),
        (
            r#"<node id="a"/>«<edge» source="a" target="a" directed="false"/>"#,
            "an undirected edge cannot describe a channel",
        ),
        (
            r#"<node id="a"><data key="«z»">1</data></node>"#,
            "no `<key>` has the id `z`",
        ),
        (
            r#"<node id="a"/><node id="m"><graph/></node><edge source="«m»" target="a"/>"#,
            "an edge cannot end at the module `m`",
        ),
        (
            r#"<node id="a"/><node id="m"><graph><node id="b"/><edge source="«a»" target="b"/></graph></node>"#,
            "`a` is outside of the graph of the edge",
        ),
        (
            r#"<node id="a"><port name="p"/></node><node id="b"/><edge source="a" target="b" sourceport="«q»"/>"#,
            "`a` has no port `q`",
        ),
        (
            r#"<node id="m"><graph/>«<graph»/></node>"#,
            "a node contains several graphs",
        ),
        ("«<hyperedge»/>", "`<hyperedge>` is not supported"),
        (
            "«<locator» xlink:href=\"x\" xmlns:xlink=\"y\"/>",
            "`<locator>` is not supported",
        ),
    ] {
        graph_reports(inside, &[&format!("G0018: {expected}")]);
    }
    reports(
        "net.graphml",
        "«<x»/>",
        &["G0018: this is not GraphML, but `x`"],
    );
    reports(
        "net.graphml",
        "«<graphml»/>",
        &["G0018: the file contains no graph"],
    );
    reports(
        "net.graphml",
        "<graphml><graph><node id=\"a\"/></graph>«<graph»/></graphml>",
        &["G0018: only the first graph of a file is read"],
    );
}

#[test]
fn attributes_in_node_link_json_are_reported_as_in_a_drawing() {
    reports(
        "net.json",
        r#"{"directed": true, "multigraph": false, "graph": {},
 "nodes": [{"id": 1, "load": "«he\u0061vy»", "pos": [1, 2]}, {"id": "b\n"}],
 "links": [{"source": 1, "target": "b\n", "capacity": «true», "«capcity»": 3, "key": 0}]}"#,
        &[
            "G0231: the size `heavy` is not defined",
            "G0231: the size `true` is not defined",
            "G0204: unknown attribute `capcity` on an edge",
        ],
    );
}

#[test]
fn errors_of_structure_in_node_link_json_are_reported() {
    for (text, expected) in [
        ("«{»}", "this is not node-link JSON"),
        (r#"{"nodes": [«1»], "edges": []}"#, "expected an object"),
        (r#"{"nodes": «3», "edges": []}"#, "expected a list"),
        (r#"{"nodes": [«{}»], "edges": []}"#, "a node has no `id`"),
        (
            r#"{"nodes": [{"id": «[1]»}], "edges": []}"#,
            "`id` must be a string or a number",
        ),
        (
            r#"{"nodes": [{"id": "a"}, {"id": "«a»"}], "edges": []}"#,
            "two nodes have the id `a`",
        ),
        (
            r#"{"nodes": [{"id": 1}], "edges": [«{"source": 1}»]}"#,
            "an edge has no `target`",
        ),
        (
            r#"{"nodes": [{"id": 1}], "edges": [{"source": 1, "target": «2»}]}"#,
            "no node has the id `2`",
        ),
        (
            r#"{"directed": «false», "nodes": [], "edges": []}"#,
            "an undirected edge cannot describe a channel",
        ),
        (
            r#"{"graph": {"modules": [«{}»]}, "nodes": [], "edges": []}"#,
            "a module has no `id`",
        ),
        (
            r#"{"graph": {"modules": [{"id": "m", "parent": "«n»"}]}, "nodes": [], "edges": []}"#,
            "no module before this one has the id `n`",
        ),
        (
            r#"{"graph": {"modules": [{"id": "m"}, {"id": "«m»"}]}, "nodes": [], "edges": []}"#,
            "two modules have the id `m`",
        ),
    ] {
        reports("net.json", text, &[&format!("G0019: {expected}")]);
    }
}

#[test]
fn modules_of_nodes_are_ids_or_paths() {
    let text = r#"{"graph": {"modules": [{"id": "x", "name": "a", "module": "k"}]},
        "nodes": [{"id": 1, "module": "x"}, {"id": 2, "module": "a/b"}, {"id": 3, "module": "/a//b/"}],
        "edges": []}"#;
    let (_, read) = read("net.json", text);
    let (declared, found) = read.unwrap();
    assert!(found.is_empty(), "{found:?}");
    let names = declared
        .modules
        .values()
        .map(|m| (declared.name(m.name), declared.name(m.kind)));
    assert_eq!(names.collect::<Vec<_>>(), [("a", "k"), ("b", "b")]);
    let modules = declared
        .nodes
        .values()
        .map(|n| n.module.map(|m| declared.name(declared.modules[m].name)));
    assert_eq!(
        modules.collect::<Vec<_>>(),
        [Some("a"), Some("b"), Some("b")]
    );
}

#[test]
fn defaults_of_keys_apply_to_all_elements() {
    let text = r#"<graphml><key id="l" for="node" attr.name="load" attr.type="double"><default> 3 </default></key>
        <key id="t" for="all" attr.name="traffic"><default>7</default></key>
        <graph id="g" edgedefault="directed"><edge source="a" target="b"/>
        <node id="b"/><node id="a"><data key="l">4</data></node></graph></graphml>"#;
    // `traffic` is no attribute of a process, but of a bundle.
    let (_, read) = read("net.graphml", &text.replace("\"all\"", "\"edge\""));
    let (declared, found) = read.unwrap();
    assert!(found.is_empty(), "{found:?}");
    let nodes = declared
        .nodes
        .values()
        .map(|n| (declared.name(n.name), n.load));
    assert_eq!(nodes.collect::<Vec<_>>(), [("b", 3.0), ("a", 4.0)]);
    assert_eq!(declared.channels[0].traffic, 7.0);
    assert_eq!(declared.name, "g");
}

#[test]
fn hostile_files_are_errors() {
    const MANY: usize = 100_000;
    let laughs = "<!DOCTYPE l [<!ENTITY a \"ha\"><!ENTITY b \"&a;&a;\">]><graphml>&b;</graphml>";
    let deep = format!("<graphml><graph>{}", "<node id=\"a\"><graph>".repeat(MANY));
    let closed = format!("{deep}{}</graph></graphml>", "</graph></node>".repeat(MANY));
    let attributes: String = (0..MANY).map(|i| format!(" a{i}=\"\"")).collect();
    let crowded = format!("<graphml{attributes}/>");
    let path = "m/".repeat(MANY);
    let long = format!("{{\"nodes\": [{{\"id\": 1, \"module\": \"{path}\"}}], \"edges\": []}}");
    let lists = format!(
        "{{\"nodes\": {}, \"edges\": []}}",
        "[".repeat(MANY) + &"]".repeat(MANY)
    );
    let half = &lists[..MANY];
    for (name, text) in [
        ("net.graphml", laughs),
        ("net.graphml", "<graphml><graph id=\"&b;\"/></graphml>"),
        ("net.graphml", &deep),
        ("net.graphml", &closed),
        ("net.graphml", &crowded),
        ("net.graphml", ""),
        ("net.json", &long),
        ("net.json", &lists),
        ("net.json", half),
        ("net.json", ""),
    ] {
        let (sources, read) = read(name, text);
        let found = read.expect_err("an error");
        let first = found.iter().next().unwrap();
        assert_eq!(first.severity, Severity::Error);
        assert!(matches!(first.code.0, 18 | 19), "{}", first.code);
        assert!(
            sources
                .location(first.primary.as_ref().unwrap().span)
                .is_some()
        );
    }
}
