//! Pictures of a small mapped network: their contents, and whether they are valid files.

use graphmap_dot::language::load;
use graphmap_kpn::arena::Id;
use graphmap_kpn::diagnostic::Diagnostics;
use graphmap_kpn::mapping::{Binding, Mapped, Mapping, OsProcessId};
use graphmap_kpn::network::Verified;
use graphmap_kpn::source::SourceMap;
use graphmap_kpn::{expand::expand, infer::infer, resolve::resolve, verify::verify};
use graphmap_testing::{Need, cases, skip};
use graphmap_view::{Detail, Scene, dot, svg};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::io::Write;
use std::process::{Command, Stdio};

/// Returns the verified network of a graph.
fn verified(text: &[u8]) -> Verified {
    let mut found = Diagnostics::new();
    let declared = load(&mut SourceMap::new(), "farm.dot", text.to_vec(), &mut found);
    let declared = declared.unwrap_or_else(|| panic!("{found:#?}"));
    let network = resolve(expand(declared).unwrap().0).unwrap().0;
    let checked = infer(network).and_then(verify);
    checked.unwrap_or_else(|d| panic!("{d:#?}")).0
}

/// Returns a network on two hosts: six workers between two processes, and a process whose name has
/// special characters. DOT keeps both backslashes of the name.
fn farm() -> Mapped {
    let text = br#"digraph farm {
        put -> work [at=all, bundle=share]; work -> get [at=all, traffic=3];
        work [replicas=6, load=2];
        "od\"d <&> \\name" -> get [dst=other];
    }"#;
    let network = verified(text);
    let mut mapping = Mapping::stack(network.processes.len(), 3);
    let binding = |host: &str, cores: &[u32]| Binding {
        host: Some(host.into()),
        cores: cores.to_vec(),
    };
    let all = [
        binding("a", &[0, 1, 2]),
        binding("b", &[]),
        binding("a", &[4]),
    ];
    mapping.bindings = all.into_iter().collect();
    Mapped::new(network, mapping).unwrap()
}

#[test]
fn a_scene_sums_up_what_runs_where() {
    let mapped = farm();
    let scene = Scene::of(&mapped, Detail::Kinds);
    let hosts: Vec<_> = scene
        .hosts
        .iter()
        .map(|h| (h.name.as_str(), &h.os_processes[..]))
        .collect();
    assert_eq!(hosts, [("a", &[0, 2][..]), ("b", &[1])]);
    assert_eq!(
        scene
            .os_processes
            .iter()
            .map(|o| o.processes)
            .sum::<usize>(),
        9
    );
    assert_eq!(scene.os_processes.iter().map(|o| o.load).sum::<f64>(), 15.0);
    assert_eq!(scene.flows.iter().map(|f| f.channels).sum::<usize>(), 13);
    // Counted by hand. The OS processes are put, work1, work2 | work3, work4, work5 | work6, get,
    // and the special process. Three results of traffic 3 go from the second OS process to `get`.
    // `put` sends three tasks there.
    assert_eq!(scene.cut()[&(1, 2)], 9.0);
    assert_eq!(scene.cut()[&(0, 1)], 3.0);
    assert_eq!(Scene::of(&mapped, Detail::Processes).nodes.len(), 9);
}

#[test]
fn the_svg_is_xml_and_shows_every_os_process() {
    let text = svg::draw(
        "a <farm> & \"more\"",
        &Scene::of(&farm(), Detail::Kinds),
        None,
    );
    let document = roxmltree::Document::parse(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    let texts: Vec<_> = document.descendants().filter_map(|n| n.text()).collect();
    for expected in [
        "a <farm> & \"more\"",
        "OS process 0",
        "cores 0-2",
        "OS process 1",
        "work ×3",
    ] {
        assert!(texts.contains(&expected), "no {expected:?} in {texts:?}");
    }
}

#[test]
fn graphviz_draws_the_annotated_graph_without_a_warning() {
    for detail in [Detail::Kinds, Detail::Processes] {
        let text = dot::draw(&farm(), detail);
        assert!(
            text.contains("cluster_host_1") && text.contains("OS process 2, core 4"),
            "{text}"
        );
        let started = Command::new("dot")
            .arg("-Tsvg")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let Ok(mut child) = started else {
            skip(Need::Graphviz, "nothing tells whether it draws this");
            return;
        };
        child
            .stdin
            .take()
            .unwrap()
            .write_all(text.as_bytes())
            .unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(
            output.status.success() && output.stderr.is_empty(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let drawn = String::from_utf8(output.stdout).unwrap();
        if detail == Detail::Processes {
            assert!(
                drawn.contains("od&quot;d &lt;&amp;&gt; \\\\name"),
                "{drawn}"
            );
        }
    }
}

/// Returns the number in an attribute.
fn value(element: &roxmltree::Node<'_, '_>, name: &str) -> f64 {
    let text = element.attribute(name);
    let text = text.unwrap_or_else(|| panic!("no {name} in {element:?}"));
    text.parse().unwrap_or_else(|e| panic!("{name}: {e}"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(24) as u32))]

    #[test]
    fn numbers_in_the_picture_are_sums_over_the_network(
        homes in proptest::collection::vec(0..12usize, 42),
        hosts in proptest::collection::vec(0..3usize, 12),
    ) {
        let text = b"digraph farm {
            put -> work [at=all, bundle=share, traffic=5]; work -> get [at=all, traffic=3];
            work [replicas=40, load=2];
        }";
        let network = verified(text);
        let mut mapping = Mapping::stack(network.processes.len(), 12);
        mapping.os_process = homes.iter().map(|&o| OsProcessId::from_index(o)).collect();
        let names = [None, Some("a"), Some("b")];
        let bound = hosts.iter().map(|&h| Binding {
            host: names[h].map(str::to_owned),
            cores: Vec::new(),
        });
        mapping.bindings = bound.collect();
        let mapped = Mapped::new(network, mapping).unwrap();
        let (network, mapping) = (mapped.network(), mapped.mapping());
        let mut loads = vec![0.0; 12];
        for (id, process) in network.processes.iter() {
            loads[mapping.of(id).index()] += process.load;
        }
        let mut cells: BTreeMap<(String, String), f64> = BTreeMap::new();
        let mut classes: BTreeMap<&str, f64> = BTreeMap::new();
        for (id, channel) in network.channels.iter() {
            let ends = [network.writer(id), network.reader(id)].map(|p| mapping.of(p).index());
            let [from, to] = ends.map(|o| format!("OS process {o}"));
            *cells.entry((from, to)).or_default() += channel.traffic;
            let class = match ends.map(|o| hosts[o]) {
                _ if ends[0] == ends[1] => continue,
                [0, _] | [_, 0] => "unknown",
                [a, b] if a == b => "host",
                _ => "group",
            };
            *classes.entry(class).or_default() += channel.traffic;
        }
        let text = svg::draw("farm", &Scene::of(&mapped, Detail::Kinds), None);
        let document = roxmltree::Document::parse(&text).unwrap();
        let of_class = |class: &str| -> Vec<roxmltree::Node<'_, '_>> {
            let elements = document.descendants();
            let has = |n: &roxmltree::Node<'_, '_>| {
                let classes = n.attribute("class").unwrap_or_default();
                classes.split(' ').any(|c| c == class)
            };
            elements.filter(has).collect()
        };
        let boxes = of_class("os-process");
        let drawn: BTreeMap<usize, f64> = boxes
            .iter()
            .filter(|b| b.has_attribute("data-load"))
            .map(|b| (value(b, "data-os-process") as usize, value(b, "data-load")))
            .collect();
        prop_assert_eq!(drawn, loads.into_iter().enumerate().collect());
        let drawn: BTreeMap<(String, String), f64> = of_class("cell")
            .iter()
            .map(|c| {
                let end = |name| c.attribute(name).unwrap().to_owned();
                ((end("data-from"), end("data-to")), value(c, "data-traffic"))
            })
            .collect();
        for arc in of_class("arc") {
            let end = |name| format!("OS process {}", arc.attribute(name).unwrap());
            let pair = (end("data-from"), end("data-to"));
            prop_assert_eq!(drawn[&pair], value(&arc, "data-traffic"));
        }
        prop_assert_eq!(drawn, cells);
        let legend = of_class("class");
        let drawn: BTreeMap<&str, f64> = legend
            .iter()
            .map(|c| (c.attribute("data-class").unwrap(), value(c, "data-traffic")))
            .collect();
        prop_assert_eq!(drawn, classes);
    }
}
