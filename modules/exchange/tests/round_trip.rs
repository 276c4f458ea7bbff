//! Networks are the same after they are written in each format and read again.

use graphmap_dot::language::load_with;
use graphmap_exchange::{graphml, node_link};
use graphmap_kpn::declared::Declared;
use graphmap_kpn::diagnostic::Diagnostics;
use graphmap_kpn::json::{self, Positions};
use graphmap_kpn::network::{Join, Verified};
use graphmap_kpn::pipeline;
use graphmap_kpn::sizes::Given;
use graphmap_kpn::source::SourceMap;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

fn checked(declared: Declared) -> Result<Verified, Diagnostics> {
    pipeline::check(declared, &mut Vec::new()).map(|(network, _)| network)
}

fn read_graphml(text: &str) -> Verified {
    let mut sources = SourceMap::new();
    let source = sources.add("net.graphml", text).unwrap();
    let read = graphml::read(&source, &sources, &Given::default(), load_with);
    let (declared, found) = read.unwrap_or_else(|found| panic!("{found:?}\n{text}"));
    assert!(found.is_empty(), "{found:?}\n{text}");
    checked(declared).unwrap_or_else(|found| panic!("{found:?}\n{text}"))
}

fn read_node_link(text: &str) -> Verified {
    let mut sources = SourceMap::new();
    let source = sources.add("net.json", text).unwrap();
    assert!(node_link::is_node_link(text));
    let read = node_link::read(&source, &sources, &Given::default(), load_with);
    let (declared, found) = read.unwrap_or_else(|found| panic!("{found:?}\n{text}"));
    assert!(found.is_empty(), "{found:?}\n{text}");
    checked(declared).unwrap_or_else(|found| panic!("{found:?}\n{text}"))
}

/// Returns the JSON of a network without positions. The order of constraints has no meaning.
fn shown(network: &Verified) -> Value {
    let mut value: Value = serde_json::from_str(&json::write(network, None)).unwrap();
    value["sources"].take();
    for list in ["modules", "processes", "channels", "constraints"] {
        for element in value[list].as_array_mut().unwrap() {
            element.as_object_mut().unwrap().remove("span");
        }
    }
    let constraints = value["constraints"].as_array_mut().unwrap();
    constraints.sort_by_key(Value::to_string);
    value
}

#[track_caller]
fn is_the_same_again(network: &Verified, name: &str) {
    let text = graphml::write(network).unwrap();
    assert_eq!(shown(&read_graphml(&text)), shown(network), "{name}");
    let text = node_link::write(network);
    assert_eq!(shown(&read_node_link(&text)), shown(network), "{name}");
}

/// Returns all graph files of the repository, in order of path.
fn graph_files() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut todo = ["graphs", "tests", "modules", "docs"]
        .map(|folder| root.join(folder))
        .to_vec();
    let mut files = Vec::new();
    while let Some(folder) = todo.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let is_seed = folder.ends_with("fuzz/seeds");
            if path.is_dir() && !path.is_symlink() && !path.ends_with("target") {
                todo.push(path);
            } else if is_seed || path.extension().is_some_and(|e| e == "dot" || e == "gv") {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

#[test]
fn drawings_are_the_same_networks_again() {
    let mut networks = 0;
    for file in graph_files() {
        let bytes = std::fs::read(&file).unwrap();
        let (mut sources, mut found) = (SourceMap::new(), Diagnostics::new());
        let declared = load_with(
            &Given::default(),
            &mut sources,
            "drawing.dot",
            bytes,
            &mut found,
        );
        if let Some(Ok(network)) = declared.map(checked) {
            is_the_same_again(&network, &file.display().to_string());
            networks += 1;
        }
    }
    assert!(networks > 20, "only {networks} networks");
}

#[test]
fn channels_in_two_bundles_attributes_and_programs_are_the_same_again() {
    let json = json!({
        "graphmap": 1,
        "name": "net",
        "attributes": {"x_owner": "me & \"you\"", "label": "<<b>net</b>>"},
        "modules": [{"name": "m", "attributes": {"label": "\\<not html>", "est": "<4>"}}],
        "processes": [
            {"name": "a", "attributes": {"color": "red", "est": "30", "x_name": "\\"}},
            {"name": "b", "module": 0, "attributes": {"label": "<i>"}},
            {"name": "c"},
        ],
        "channels": [
            {
                "from": "a",
                "to": "b",
                "bundle": "gather",
                "bundle_name": "all",
                "other_bundle": "switch",
                "attributes": {"style": "dashed", "x_x y": "1"},
            },
            {"from": ["a", "more"], "to": "c"},
            {"from": null, "to": ["c", "x"], "attributes": {"est": "1"}},
        ],
        "constraints": [{"processes": ["a"], "program": "first"}, {"processes": ["c"], "program": "2"}],
    });
    let network = network(&json).unwrap_or_else(|found| panic!("{found:?}"));
    let first = &shown(&network)["channels"][0];
    assert_eq!(
        (&first["bundle"], &first["other_bundle"]),
        (&json!("gather"), &json!("switch"))
    );
    is_the_same_again(&network, "net");
}

#[test]
fn an_edge_at_the_environment_is_in_the_module_that_contains_it() {
    let text = r#"<graphml><key id="r" for="node" attr.name="replicas" attr.type="int"/>
        <key id="a" for="edge" attr.name="at" attr.type="string"/>
        <key id="s" for="edge" attr.name="step" attr.type="string"/>
        <graph edgedefault="directed"><node id="m"><data key="r">2</data>
        <graph edgedefault="directed"><node id="c"><data key="r">2</data></node>
        <edge source="NULL" target="c"><data key="a">first</data></edge>
        <edge source="c" target="c"><data key="s">1</data></edge></graph></node>
        <edge source="c" target="NULL"><data key="a">2</data></edge>
        <edge source="c" target="NULL"><data key="a">4</data></edge></graph></graphml>"#;
    let network = read_graphml(text);
    let closed = network
        .ports
        .values()
        .filter(|port| matches!(port.join, Join::Environment(_)));
    let closed: Vec<&str> = closed
        .map(|port| network.process_name(port.process))
        .collect();
    assert_eq!(closed, ["c1_1", "c1_2", "c2_1", "c2_2"]);
}

#[test]
fn attributes_with_names_of_the_formats_get_a_prefix() {
    let names = [
        "bundle_name",
        "name",
        "order",
        "id",
        "key",
        "memory",
        "modules",
        "parent",
        "source",
    ];
    let pairs = |prefix: &str| -> Value {
        // `id` is an attribute of Graphviz, so that DOT adds its prefix.
        names
            .iter()
            .map(|name| (format!("{prefix}{name}"), json!("v")))
            .collect()
    };
    let json = |prefix| {
        json!({
            "graphmap": 1,
            "name": "net",
            "attributes": pairs(prefix),
            "modules": [{"name": "m", "attributes": pairs(prefix)}],
            "processes": [{"name": "a", "module": 0, "attributes": pairs(prefix)}, {"name": "b"}],
            "channels": [{"from": "a", "to": "b", "attributes": pairs(prefix)}],
        })
    };
    let expected = shown(&network(&json("x_")).unwrap());
    let network = network(&json("")).unwrap();
    let again = read_graphml(&graphml::write(&network).unwrap());
    assert_eq!(shown(&again), expected);
    let again = read_node_link(&node_link::write(&network));
    assert_eq!(shown(&again), expected);
}

#[test]
fn a_process_may_have_the_name_of_a_module() {
    for place in [json!({"module": 0}), json!({"module": 1}), json!({})] {
        let mut process = place;
        process["name"] = json!(" ");
        let json = json!({
            "graphmap": 1,
            "name": "net",
            "modules": [{"name": " ", "kind": "k"}, {"name": " ", "parent": 0}],
            "processes": [process, {"name": "b", "module": 0}, {"name": "c", "module": 1}],
            "channels": [{"from": " ", "to": "b"}, {"from": "b", "to": "c"}],
        });
        is_the_same_again(&network(&json).unwrap(), &json.to_string());
    }
}

fn network(json: &Value) -> Result<Verified, Diagnostics> {
    let mut sources = SourceMap::new();
    let source = sources.add("net.json", json.to_string()).unwrap();
    checked(json::read(
        source.text(),
        &source,
        &sources,
        Positions::Here,
    )?)
}

/// Characters that one of the formats escapes or interprets.
const ODD: &str = r#"[ab1"'\\<>&/:;,=+{}\[\]_ .\t\n\u{e9}\u{1f600}\u{85}\u{202e}-]{1,6}"#;

proptest! {
    #[test]
    fn odd_names_are_the_same_again(
        names in prop::collection::hash_set(ODD, 4),
        [port, kind, ty, module, bundle] in prop::array::uniform5(ODD),
        load in 0.0..1e6,
        capacity in 1_u32..100,
    ) {
        let names: Vec<String> = names.into_iter().collect();
        let channel = |from: &str, to: &str| json!({
            "from": [from, port.clone()],
            "to": [to, "in"],
            "type": ty,
            "capacity": capacity,
            "bundle": "gather",
            "bundle_name": bundle,
        });
        let json = json!({
            "graphmap": 1,
            "name": port,
            "modules": [{"name": module, "kind": kind}, {"name": module, "parent": 0}],
            "processes": [
                {"name": names[0], "kind": kind, "module": 1, "load": load},
                {"name": names[1], "kind": kind, "module": 0, "mem": 5},
                {"name": names[2], "kind": "reader"},
                {"name": names[3], "kind": "end", "module": 1},
            ],
            "channels": [
                channel(&names[0], &names[2]),
                channel(&names[1], &names[2]),
                {"from": null, "to": [names[3], "x"]},
            ],
            "constraints": [
                {"processes": [names[0]], "host": bundle},
                {"module": 1, "whole": true},
            ],
        });
        if let Ok(network) = network(&json) {
            is_the_same_again(&network, &json.to_string());
        }
    }
}

#[test]
fn a_name_with_a_control_character_is_not_written_as_graphml() {
    let json = json!({
        "graphmap": 1,
        "name": "net",
        "processes": [{"name": "a\u{1}"}, {"name": "b"}],
        "channels": [{"from": "a\u{1}", "to": "b"}],
    });
    let network = network(&json).unwrap();
    let found = graphml::write(&network).unwrap_err();
    let codes = found.iter().map(|error| error.code.to_string());
    assert_eq!(codes.collect::<Vec<_>>(), ["G0511"]);
    let again = read_node_link(&node_link::write(&network));
    assert_eq!(shown(&again), shown(&network));
}
