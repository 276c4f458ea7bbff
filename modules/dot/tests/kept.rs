//! Attributes that are kept and not interpreted.

use graphmap_dot::language::load;
use graphmap_dot::write::{to_dot, unnamed};
use graphmap_kpn::diagnostic::Diagnostics;
use graphmap_kpn::json::{self, Positions};
use graphmap_kpn::network::Verified;
use graphmap_kpn::pipeline::check;
use graphmap_kpn::source::SourceMap;
use proptest::prelude::*;
use std::collections::BTreeMap;

fn read(text: &str) -> Verified {
    let mut sources = SourceMap::new();
    let mut found = Diagnostics::new();
    let bytes = text.as_bytes().to_vec();
    let declared = load(&mut sources, "t.dot", bytes, &mut found);
    let declared = declared.unwrap_or_else(|| panic!("{found:#?}\n{text}"));
    check(declared, &mut Vec::new()).unwrap().0
}

/// Returns the attributes of a network, a line for each element that has some.
fn shown(network: &Verified) -> Vec<String> {
    let text = |of: String, list| {
        let all = network.attribute_texts(list);
        let all: Vec<String> = all.map(|(name, value)| format!("{name}={value}")).collect();
        (!all.is_empty()).then(|| format!("{of}: {}", all.join(" ")))
    };
    let attributes = &network.attributes;
    let mut lines = vec![text("graph".to_owned(), attributes.graph)];
    for (id, module) in network.modules.iter() {
        let name = network.name(module.name).to_owned();
        lines.push(text(name, attributes.modules.get(id)));
    }
    for id in network.processes.ids() {
        let name = network.process_name(id).to_owned();
        lines.push(text(name, attributes.processes.get(id)));
    }
    for (id, channel) in network.channels.iter() {
        let name = network.port_name(channel.from);
        lines.push(text(name, attributes.channels.get(id)));
    }
    for id in network.ports.ids() {
        lines.push(text(network.port_name(id), network.port_attributes(id)));
    }
    lines.into_iter().flatten().collect()
}

/// Reads a graph, and checks that `expand` and JSON keep its attributes.
fn kept(text: &str) -> Vec<String> {
    let network = read(text);
    let lines = shown(&network);
    let dot = to_dot(&network);
    assert_eq!(shown(&read(&dot)), lines, "{dot}");
    let again = of_json(&json::write(&network, None));
    assert_eq!(shown(&again), lines);
    lines
}

fn of_json(text: &str) -> Verified {
    let mut sources = SourceMap::new();
    let source = sources.add("t.json", text).unwrap();
    let declared = json::read(text_of(&source), &source, &sources, Positions::Here);
    check(declared.unwrap(), &mut Vec::new()).unwrap().0
}

fn text_of(source: &graphmap_kpn::source::Source) -> &str {
    source.text()
}

#[test]
fn defaults_are_inherited_and_overridden() {
    let text = "digraph {
        attributes=\"est\"; x_run=7; graph [x_more=8]; label=G; rankdir=LR; bgcolor=red;
        node [est=4, x_a=1, style=filled]; edge [x_b=2];
        a [est=5, label=<<b>A</b>>]; b [x_a=\"\", label=\"<b>\"];
        { node [est=6]; edge [x_b=3, color=blue]; c [shape=box]; b -> c }
        a -> b [x_b=9]; NULL -> a [dst=go];
    }";
    assert_eq!(
        kept(text),
        [
            "graph: label=G rankdir=LR x_more=8 x_run=7",
            "a: est=5 label=<<b>A</b>> style=filled x_a=1",
            "b: est=4 label=\\<b> style=filled",
            "c: est=6 style=filled x_a=1",
            "b.out: color=blue x_b=3",
            "a.out: x_b=9",
            "a.go: x_b=2",
        ]
    );
}

#[test]
fn instances_have_the_attributes_of_their_declaration() {
    let text = "digraph {
        subgraph cluster_row { replicas=2; x_rack=left; color=gray;
            cell [replicas=2, x_est=3]; cell -> cell [src=east, dst=west, step=1, wrap=true, x_b=1] }
    }";
    let cells = ["cell1_1", "cell1_2", "cell2_1", "cell2_2"];
    let mut expected = vec![
        "cluster_row1: color=gray x_rack=left".to_owned(),
        "cluster_row2: color=gray x_rack=left".to_owned(),
    ];
    expected.extend(cells.map(|cell| format!("{cell}: x_est=3")));
    expected.extend(cells.map(|cell| format!("{cell}.east: x_b=1")));
    assert_eq!(kept(text), expected);
}

#[test]
fn nodes_of_a_split_process_combine_their_attributes() {
    let text = "digraph {
        node [x_c=1, color=red];
        put [process=p, x_a=1, label=put]; get [process=p, x_b=2, x_c=3];
        put -> q -> get;
    }";
    assert_eq!(
        kept(text),
        ["p: color=red x_a=1 x_b=2 x_c=3", "q: color=red x_c=1"]
    );
}

#[test]
fn channels_of_bundles_and_module_ports_combine_their_attributes() {
    let text = "digraph {
        edge [x_d=0];
        deal [bundle=share, x_s=4, label=deal];
        a -> deal [x_t=5, x_d=1]; deal -> b1; deal -> b2 [x_u=6];
        subgraph cluster_m { c; into [port=in]; into -> c [x_i=7, color=red] }
        b1 -> into [x_o=8, color=blue]; b2 -> NULL;
    }";
    assert_eq!(
        kept(text),
        [
            "a.out: x_d=1 x_s=4 x_t=5",
            "a.out: x_d=1 x_s=4 x_t=5 x_u=6",
            "b1.out: color=blue x_d=0 x_i=7 x_o=8",
            "b2.out: x_d=0",
        ]
    );
}

#[test]
fn names_of_other_languages_get_a_prefix_in_dot() {
    let text = r#"{"graphmap": 1, "processes": [
        {"name": "a", "attributes": {"load": "1", "shape": "box", "a,b": "2", "b c": "5", "": "3", "est": "4",
         "label": "<b", "rankdir": "LR"}},
        {"name": "b"}], "channels": [{"from": "a", "to": "b"}]}"#;
    let dot = to_dot(&of_json(text));
    assert_eq!(
        shown(&read(&dot)),
        ["a: est=4 label=<b x_=3 x_a,b=2 x_b c=5 x_load=1 x_rankdir=LR x_shape=box"],
        "{dot}"
    );
}

#[test]
fn an_empty_name_is_an_error_in_dot() {
    let text = |port: &str, kind: &str, ty: &str| {
        format!(
            r#"{{"graphmap": 1, "processes": [{{"name": "a", "kind": "{kind}"}}, {{"name": "b"}}],
                "channels": [{{"from": ["a", "{port}"], "to": ["b", "in"], "type": "{ty}"}}]}}"#
        )
    };
    let message = |text: String| unnamed(&of_json(&text)).map(|error| error.message);
    assert_eq!(message(text("p", "k", "t")), None);
    let empty = message(text("", "k", "t"));
    assert_eq!(empty.as_deref(), Some("a port of `a` has an empty name"));
}

proptest! {
    #[test]
    fn expand_keeps_any_name_and_value(
        attributes in prop::collection::btree_map("x_[ -~]{0,5}|[a-z, ]{1,4}|é", "[ -!#-\\[\\]-~\n]{0,6}|<[a-z<>]{0,4}>", 0..4),
    ) {
        let free = |name: &str| {
            name.starts_with("x_") || !name.contains([',', ' ']) && !name.is_empty()
        };
        // Names with a backslash before a quote cannot be written.
        let attributes: BTreeMap<String, String> = attributes
            .into_iter()
            .filter(|(name, value)| free(name) && !name.contains('\\') && !value.is_empty())
            .collect();
        let text = serde_json::json!({"graphmap": 1, "attributes": attributes,
            "processes": [{"name": "a", "attributes": attributes}, {"name": "b"}],
            "channels": [{"from": "a", "to": "b", "attributes": attributes}]});
        let network = of_json(&text.to_string());
        let dot = to_dot(&network);
        let again = read(&dot);
        let prefixed = |lines: Vec<String>| -> Vec<String> {
            lines.iter().map(|line| line.replace(' ', "")).collect()
        };
        let taken = ["k", "at", "for", "id", "pin", "len", "dim", "dir", "dpi", "pos", "z", "bb", "lp",
            "use", "tag", "mem", "kind", "load", "host", "hold", "name", "port", "flow", "step", "wrap",
            "area", "href", "key", "mode", "pack", "pad", "page", "rank", "root", "sep", "esep", "size",
            "skew", "type", "src", "dst", "warn", "deny", "xlp"];
        prop_assume!(attributes.keys().all(|name| !taken.contains(&name.as_str())));
        prop_assert_eq!(prefixed(shown(&again)), prefixed(shown(&network)), "{}", dot);
    }
}

#[test]
fn too_many_names_are_an_error() {
    let found = |text: &str| {
        let mut found = Diagnostics::new();
        load(&mut SourceMap::new(), "t.dot", text.into(), &mut found);
        let codes: Vec<u16> = found.iter().map(|diagnostic| diagnostic.code.0).collect();
        codes
    };
    let names = |count: usize| -> Vec<String> { (0..count).map(|n| format!("x_{n}=1")).collect() };
    let graph = |count: usize| format!("digraph {{ node [{}]; a -> b }}", names(count).join(" "));
    assert_eq!(found(&graph(256)), [0u16; 0]);
    assert_eq!(found(&graph(257)), [243]);
    // Fifty thousand names on fifty thousand nodes end in time.
    let nodes: Vec<String> = (0..50_000).map(|n| format!("n{n};")).collect();
    let text = format!(
        "digraph {{ node [{}]; {} }}",
        names(50_000).join(" "),
        nodes.concat()
    );
    assert!(found(&text).contains(&243));
    let declared = names(300).join(",").replace("=1", "");
    let text = format!("digraph {{ attributes=\"{declared}\"; a -> b }}");
    assert_eq!(found(&text), [243]);
}
