//! Pictures of a small mapped network: their contents, and whether they are valid files.

use graphmap_dot::language::load;
use graphmap_kpn::diagnostic::Diagnostics;
use graphmap_kpn::mapping::{Binding, Mapped, Mapping};
use graphmap_kpn::source::SourceMap;
use graphmap_kpn::{expand::expand, infer::infer, resolve::resolve, verify::verify};
use graphmap_testing::{Need, skip};
use graphmap_view::{Detail, Scene, dot, svg};
use std::io::Write;
use std::process::{Command, Stdio};

/// Returns a network on two hosts: six workers between two processes, and a process whose name has
/// special characters. DOT keeps both backslashes of the name.
fn farm() -> Mapped {
    let text = br#"digraph farm {
        put -> work [at=all, bundle=share]; work -> get [at=all, traffic=3];
        work [replicas=6, load=2];
        "od\"d <&> \\name" -> get [dst=other];
    }"#;
    let mut found = Diagnostics::new();
    let declared = load(&mut SourceMap::new(), "farm.dot", text.to_vec(), &mut found);
    let declared = declared.unwrap_or_else(|| panic!("{found:#?}"));
    let network = resolve(expand(declared).unwrap().0).unwrap().0;
    let network = infer(network)
        .and_then(verify)
        .unwrap_or_else(|d| panic!("{d:#?}"))
        .0;
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
        let text = dot::draw("farm", &Scene::of(&farm(), detail));
        assert!(
            text.contains("cluster_host_1") && text.contains("OS process 2 on core 4"),
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
