//! Networks as JSON survive writing and reading, and invalid texts are reported.

use graphmap_kpn::declared::Flow;
use graphmap_kpn::diagnostic::Diagnostics;
use graphmap_kpn::json::{self, Positions};
use graphmap_kpn::network::Verified;
use graphmap_kpn::source::SourceMap;
use graphmap_kpn::{expand, infer, resolve, verify};
use proptest::prelude::*;

/// Reads a text and joins the network.
fn network(text: &str) -> Result<Verified, Diagnostics> {
    let mut sources = SourceMap::new();
    let source = sources.add("net.json", text).unwrap();
    let declared = json::read(source.text(), &source, &sources, Positions::Here)?;
    let (declared, _) = expand::expand(declared)?;
    let (network, _) = resolve::resolve(declared)?;
    Ok(verify::verify(infer::infer(network)?)?.0)
}

/// Reads the reply of a plug-in, with given spans.
fn given(text: &str, before: &Verified) -> Verified {
    let mut reply = SourceMap::new();
    let source = reply.add("reply", text).unwrap();
    let declared = json::read(source.text(), &source, &before.sources, Positions::Given);
    let (declared, _) = expand::expand(declared.unwrap()).unwrap();
    let (network, _) = resolve::resolve(declared).unwrap();
    infer::infer(network).and_then(verify::verify).unwrap().0
}

const ALL: &str = r#"{
  "graphmap": 1,
  "name": "all of it",
  "skeleton": "farm",
  "attributes": {"x_run": "7", "label": "all"},
  "modules": [{"name": "m"}, {"name": "inner2", "parent": 0, "attributes": {"x_rack": "left"}}],
  "processes": [
    {"name": "manager", "module": 0, "load": 2.5, "mem": 1e6, "attributes": {"x_est": "4", "": "a\"b"}},
    {"name": "worker1", "module": 1}, {"name": "worker2", "module": 1},
    {"name": "sink", "kind": "draïn"}
  ],
  "channels": [
    {"from": null, "to": ["manager", "before"]},
    {"from": ["manager", "work"], "to": "worker1", "type": "Task", "bundle": "scatter", "tag": 7},
    {"from": ["manager", "work"], "to": "worker2", "type": "Task", "bundle": "scatter"},
    {"from": "worker1", "to": "sink", "bundle": "gather", "bundle_name": "all", "traffic": 8},
    {"from": "worker2", "to": "sink", "bundle": "gather", "bundle_name": "all", "capacity": 9},
    {"from": ["sink", "done"], "to": ["manager", "done"], "initial": 1, "attributes": {"x_bytes": "64"}},
    {"from": ["sink", "after"], "to": null, "attributes": {"x_end": ""}}
  ],
  "constraints": [
    {"processes": ["worker1", "worker2"], "separate": "apart"},
    {"processes": ["manager"], "host": "node1"},
    {"processes": ["manager"], "osprocess": 0},
    {"processes": ["manager", "sink"], "colocate": "together"},
    {"processes": ["worker1"], "hold": [1, 4]},
    {"module": 1, "whole": true},
    {"module": 0, "prefer": 2.5}
  ]
}"#;

#[test]
fn everything_survives_the_way_through_a_plug_in() {
    let first = network(ALL).unwrap();
    let text = json::write(&first, None);
    let again = given(&text, &first);
    // A constraint on several processes is read as one for each, which is equivalent for a mapping.
    let cut = |text: &str| {
        let at = text.find("\"constraints\"").unwrap();
        let end = text.find("\"kinds\"").unwrap();
        (text[..at].to_owned(), text[end..].to_owned())
    };
    assert_eq!(cut(&json::write(&again, None)), cut(&text));
    assert_eq!(again.constraints.len(), 9);
    let manager = first.processes.ids().next().unwrap();
    let ports: Vec<&str> = first
        .ports_of(manager)
        .map(|p| first.name(first.ports[p].name))
        .collect();
    assert_eq!(ports, ["before", "work", "done"]);
    assert_eq!(
        again
            .location(again.processes[manager].span)
            .unwrap()
            .to_string(),
        "net.json:8:5"
    );
}

/// The ports of kinds get the flow control of their channels again.
#[test]
fn flow_control_survives_the_way_through_a_plug_in() {
    let text = r#"{"graphmap": 1, "name": "g", "processes": [
      {"name": "a"}, {"name": "b1"}, {"name": "b2"}, {"name": "c"}],
      "channels": [
        {"from": "a", "to": "b1", "bundle": "share", "flow": "round-robin"},
        {"from": "a", "to": "b2", "bundle": "share", "flow": "round-robin"},
        {"from": "b1", "to": "c", "flow": "credits", "bundle": "select"},
        {"from": "b2", "to": "c", "flow": "credits", "bundle": "select"},
        {"from": ["c", "more"], "to": ["a", "more"]}]}"#;
    let first = network(text).unwrap();
    let again = given(&json::write(&first, None), &first);
    for network in [&*first, &again] {
        let flow = |id| network.terms(id).flow.map(Flow::name);
        let flows: Vec<_> = network.channels.ids().map(flow).collect();
        let (turns, credits) = (Some("round-robin"), Some("credits"));
        assert_eq!(flows, [turns, turns, credits, credits, None]);
    }
    let ports = first.kinds.values().flat_map(|kind| &kind.ports);
    let flows: Vec<_> = ports
        .map(|port| (first.name(port.name), port.flow))
        .collect();
    let (turns, credits) = (Some(Flow::RoundRobin), Some(Flow::Credits));
    let expected = [
        ("out", turns),
        ("more", None),
        ("in", turns),
        ("out", credits),
        ("in", credits),
        ("more", None),
    ];
    assert_eq!(flows, expected);
}

#[test]
fn a_byte_order_mark_is_passed_over() {
    let marked = network(&format!("\u{feff}{ALL}")).unwrap();
    assert_eq!(
        marked.processes.len(),
        network(ALL).unwrap().processes.len()
    );
    let broken = network("\u{feff}{\"graphmap\": 1, \"x\": 2}").unwrap_err();
    let place = broken.iter().next().unwrap().primary.as_ref().unwrap().span;
    let before = "\u{feff}{\"graphmap\": 1, \"x".len();
    assert!(place.start as usize >= before, "{place:?}");
}

#[test]
fn spans_point_into_the_text_itself() {
    let first = network(ALL).unwrap();
    let channel = first.channels.values().nth(2).unwrap();
    assert!(
        first
            .sources
            .text(channel.span)
            .starts_with(r#"{"from": "worker1""#)
    );
}

/// Returns the JSON text of a network with a layer of `a`s, each joined to each `b`.
fn layered() -> impl Strategy<Value = String> {
    let name = "[a-z\\\\\"\u{e9} .:]{1,6}";
    let ty = proptest::option::of("[A-Z][a-z]{0,3}");
    (1..5usize, 1..5usize, name, ty, 1..9u32, 0..100u32).prop_map(
        |(a, b, name, ty, capacity, t)| {
            let name = |layer: &str, i: usize| format!("{layer}{name}|{i}");
            let mut processes = Vec::new();
            let mut channels = Vec::new();
            for i in 0..a {
                processes.push(serde_json::json!({"name": name("a", i), "kind": "a", "load": t}));
            }
            for j in 0..b {
                processes.push(serde_json::json!({"name": name("b", j), "kind": "b"}));
                for i in 0..a {
                    channels.push(serde_json::json!({
                        "from": [name("a", i), format!("out{j}")],
                        "to": [name("b", j), format!("in{i}")],
                        "type": ty, "capacity": capacity, "traffic": t,
                    }));
                }
            }
            serde_json::json!({"graphmap": 1, "processes": processes, "channels": channels})
                .to_string()
        },
    )
}

proptest! {
    #[test]
    fn what_is_written_is_read_to_the_same(text in layered()) {
        let first = network(&text).unwrap();
        let written = json::write(&first, None);
        prop_assert_eq!(json::write(&given(&written, &first), None), written);
    }

    #[test]
    fn no_text_does_harm(cut in 0..ALL.len(), at in 0..ALL.len(), put in "[\\[\\]{}\",:a0-9-]{0,3}") {
        let between = |i: usize| (0..=i).rev().find(|&i| ALL.is_char_boundary(i)).unwrap_or(0);
        let (cut, at) = (between(cut), between(at));
        let (start, end) = (cut.min(at), cut.max(at));
        let changed = format!("{}{put}{}", &ALL[..start], &ALL[end..]);
        for (text, positions) in [
            (&ALL[..cut], Positions::Here),
            (&changed, Positions::Here),
            (&changed, Positions::Given),
        ] {
            let mut sources = SourceMap::new();
            let source = sources.add("net.json", text).unwrap();
            if let Err(found) = json::read(source.text(), &source, &sources, positions) {
                prop_assert!(found.has_errors());
                for diagnostic in &found {
                    let Some(label) = &diagnostic.primary else {
                        // Elements without a span have no position.
                        prop_assert_eq!(positions, Positions::Given);
                        continue;
                    };
                    // Every position is inside its text.
                    prop_assert!(sources.range(label.span).is_some_and(|(_, r)| text.get(r).is_some()));
                }
            }
        }
    }
}

/// Returns the diagnostics of a text, one per line: message, help, notes.
fn messages(text: &str, positions: Positions) -> Vec<String> {
    let (mut reply, known) = (SourceMap::new(), SourceMap::new());
    let source = reply.add("reply", text).unwrap();
    let found = json::read(source.text(), &source, &known, positions).unwrap_err();
    let line = |f: &graphmap_kpn::diagnostic::Diagnostic| {
        format!(
            "{}: {}: {}",
            f.message,
            f.help.join("; "),
            f.notes.join("; ")
        )
    };
    found.iter().map(line).collect()
}

#[test]
fn diagnostics_without_position_name_the_element() {
    let ranks = r#"{"graphmap": 1, "processes": [{"name": "a"}, {"name": "b"}],
        "constraints": [{"processes": [0, 1, 2], "host": "h"}, {"processes": ["a", "z"], "host": "h"}]}"#;
    let found = messages(ranks, Positions::Given);
    assert_eq!(found.len(), 2, "{found:#?}");
    assert!(
        found[0].contains("in `constraints[0].processes[0]`"),
        "{found:#?}"
    );
    assert!(found[0].contains("invalid type: integer `0`"), "{found:#?}");
    assert!(
        found[1].contains("in `constraints[1].processes[1]`"),
        "{found:#?}"
    );
    let channel = r#"{"graphmap": 1, "processes": [{"name": "a"}],
        "channels": [{"from": "a", "to": null}, {"from": "x", "to": null}]}"#;
    let found = messages(channel, Positions::Given);
    assert!(found[0].contains("in `channels[1]`"), "{found:#?}");
    // In a file, the position identifies the element.
    assert!(!messages(ranks, Positions::Here)[0].contains("in `"));
}

#[test]
fn a_process_that_cannot_be_read_is_still_there() {
    let text = r#"{"graphmap": 1,
        "modules": [{"name": "m", "colour": 1}, {"name": "inner", "parent": 0}],
        "processes": [{"name": "a", "flavour": 1, "module": 1}, {"name": "b", "module": 1}],
        "channels": [{"from": "a", "to": "b"}],
        "constraints": [{"processes": ["a"], "host": "h"}]}"#;
    let found = messages(text, Positions::Here);
    assert_eq!(found.len(), 2, "{found:#?}");
}

#[test]
fn a_negative_preference_is_named() {
    let text = r#"{"graphmap": 1, "modules": [{"name": "m"}], "processes": [{"name": "a"}],
        "constraints": [{"module": 0, "prefer": -3}]}"#;
    let found = messages(text, Positions::Here);
    assert_eq!(found.len(), 1, "{found:#?}");
    assert!(found[0].contains("`prefer` is -3"), "{found:#?}");
}

#[test]
fn json_of_other_programs_is_named() {
    for (text, name) in [
        (
            r#"{"directed": true, "multigraph": false, "graph": {}, "nodes": [{"id": 0}], "links": []}"#,
            "node-link",
        ),
        (
            r#"{"directed": true, "graph": {}, "nodes": [], "edges": []}"#,
            "node-link",
        ),
        (
            r#"{"name": "g", "directed": true, "strict": false, "_subgraph_cnt": 0, "objects": []}"#,
            "dot -Tjson",
        ),
    ] {
        let found = messages(text, Positions::Here);
        assert_eq!(found.len(), 1);
        assert!(
            found[0].contains(name) && !found[0].contains("graphmap\": 1"),
            "{found:?}"
        );
    }
    let found = messages(r#"{"processes": []}"#, Positions::Here);
    assert!(found[0].contains("does not state the version"), "{found:?}");
}
