//! Drawings of mapped networks: reading one gives the same network with the same mapping, and
//! Graphviz draws it in a ratio of at most 4 to 1.

use graphmap_dot::language::load;
use graphmap_kpn::arena::Id;
use graphmap_kpn::declared::Constraint;
use graphmap_kpn::diagnostic::Diagnostics;
use graphmap_kpn::mapping::{Binding, Mapped, Mapping, OsProcessId};
use graphmap_kpn::network::{Join, Joined, Network, Verified};
use graphmap_kpn::source::SourceMap;
use graphmap_kpn::{expand::expand, infer::infer, resolve::resolve, verify::verify};
use graphmap_testing::{Need, skip};
use graphmap_view::{Detail, dot};
use proptest::prelude::*;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn network(text: &str) -> Verified {
    let mut found = Diagnostics::new();
    let declared = load(&mut SourceMap::new(), "g.dot", text.into(), &mut found);
    let declared = declared.unwrap_or_else(|| panic!("{found:#?}\n{text}"));
    let resolved = expand(declared).and_then(|expanded| resolve(expanded.0));
    let verified = resolved
        .and_then(|resolved| infer(resolved.0))
        .and_then(verify);
    verified
        .unwrap_or_else(|found| panic!("{found:#?}\n{text}"))
        .0
}

/// Returns the example networks with their names.
fn examples() -> Vec<(String, Verified)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut files: Vec<PathBuf> = Vec::new();
    for folder in ["graphs", "skeletons/networks"] {
        let entries = std::fs::read_dir(root.join(folder)).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        files.extend(paths.filter(|path| path.extension().is_some_and(|e| e == "dot")));
    }
    files.sort();
    assert!(files.len() > 20);
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).unwrap();
        (path.display().to_string(), network(&text))
    };
    files.into_iter().map(read).collect()
}

/// Returns a network mapped to OS processes on two hosts. Module parts are many if `in_turn` is
/// true.
fn mapped(network: Verified, os_processes: usize, in_turn: bool) -> Mapped {
    let count = network.processes.len();
    let mut mapping = Mapping::stack(count, os_processes);
    if in_turn {
        let numbers = (0..count).map(|rank| OsProcessId::from_index(rank % os_processes));
        mapping.os_process = numbers.collect();
    }
    let bindings = (0..os_processes).map(|o| Binding {
        host: Some(["a", "b"][o * 2 / os_processes].to_owned()),
        cores: vec![o as u32],
    });
    mapping.bindings = bindings.collect();
    Mapped::new(network, mapping).unwrap()
}

/// Returns all that a network is, apart from its drawing, its name, the names of bundles, the order
/// of modules, and the constraint `osprocess`.
fn facts(network: &Network) -> Vec<String> {
    let mut facts = Vec::new();
    for (id, process) in network.processes.iter() {
        let mut modules = Vec::new();
        let mut module = process.module;
        while let Some(id) = module {
            let known = &network.modules[id];
            modules.push((network.name(known.name), network.name(known.kind)));
            module = known.parent;
        }
        let arguments = network.arguments.get(&id);
        facts.push(format!(
            "{} {} {modules:?} {} {} {arguments:?}",
            network.process_name(id),
            network.kind_name(id),
            process.load,
            process.mem
        ));
        for port in network.ports_of(id) {
            let join = match network.ports[port].join {
                Join::Channel(_) => "channel".to_owned(),
                Join::Bundle(bundle) => {
                    let bundle = &network.bundles[bundle];
                    format!("{:?} {:?}", bundle.kind, network.channels_at(port))
                }
                Join::Environment(_) => format!("closed {:?}", network.port_bundle(port)),
            };
            let ty = network.port_type(port).map(|ty| network.name(ty));
            let name = network.port_name(port);
            let direction = network.ports[port].direction;
            facts.push(format!("  {name} {direction:?} {join} {ty:?}"));
        }
    }
    for joined in network.joins() {
        facts.push(match joined {
            Joined::Closed(port) => format!("{} closed", network.port_name(port)),
            Joined::Channel(id) => {
                let channel = &network.channels[id];
                let [from, to] = [channel.from, channel.to].map(|port| network.port_name(port));
                format!("{from} -> {to} {:?} {}", network.terms(id), channel.traffic)
            }
        });
    }
    for constraint in &network.constraints {
        if !matches!(constraint.declared.constraint, Constraint::OsProcess(_)) {
            let declared = &constraint.declared.constraint;
            facts.push(format!("{declared:?} {:?}", constraint.processes));
        }
    }
    facts
}

/// Returns the OS process to which the network confines each process.
fn confined(network: &Network) -> Vec<Option<u32>> {
    let mut confined = vec![None; network.processes.len()];
    for constraint in &network.constraints {
        if let Constraint::OsProcess(number) = constraint.declared.constraint {
            for process in &constraint.processes {
                confined[process.index()] = Some(number);
            }
        }
    }
    confined
}

fn check_round_trip(name: &str, mapped: &Mapped) -> String {
    let text = dot::draw(mapped, Detail::Processes);
    let again = network(&text);
    assert_eq!(facts(mapped.network()), facts(&again), "{name}\n{text}");
    let expected: Vec<_> = mapped.mapping().numbers().map(Some).collect();
    assert_eq!(confined(&again), expected, "{name}\n{text}");
    text
}

#[test]
fn examples_are_read_back_with_their_mapping() {
    for (name, network) in examples() {
        for in_turn in [false, true] {
            let mapped = mapped(network.clone(), 3, in_turn);
            let text = check_round_trip(&name, &mapped);
            let again = Mapped::new(self::network(&text), mapped.mapping().clone()).unwrap();
            check_round_trip(&name, &again);
        }
    }
}

/// Returns what `dot -Tsvg` draws, or `None` without Graphviz.
fn drawn(text: &str) -> Option<String> {
    let started = Command::new("dot")
        .arg("-Tsvg")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let Ok(mut child) = started else {
        skip(Need::Graphviz, "nothing tells whether it draws this");
        return None;
    };
    // Graphviz reads all before it writes.
    child
        .stdin
        .take()
        .unwrap()
        .write_all(text.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && errors.is_empty(),
        "{errors}\n{text}"
    );
    Some(String::from_utf8(output.stdout).unwrap())
}

/// Returns the width of what `dot -Tsvg` draws, divided by the height, or `None` without Graphviz.
fn ratio(network: Verified, os_processes: usize, in_turn: bool) -> Option<f64> {
    let mapped = mapped(network, os_processes, in_turn);
    let svg = drawn(&dot::draw(&mapped, Detail::Processes))?;
    let document = svg.split("viewBox=\"").nth(1).unwrap();
    let sizes = document.split('"').next().unwrap().split(' ');
    let sizes: Vec<f64> = sizes.map(|size| size.parse().unwrap()).collect();
    Some(sizes[2] / sizes[3])
}

#[test]
fn graphviz_draws_examples_at_most_four_to_one() {
    for (name, network) in examples() {
        for os_processes in [2, 4, 6, 8, 16] {
            for in_turn in [false, true] {
                let Some(ratio) = ratio(network.clone(), os_processes, in_turn) else {
                    return;
                };
                assert!(
                    (0.25..=4.0).contains(&ratio),
                    "{name}, {os_processes} OS processes, in turn: {in_turn}: {ratio}"
                );
            }
        }
    }
}

#[test]
fn graphviz_draws_wide_layers_at_most_four_to_one() {
    // Two layers with all channels between them.
    let all = (0..144).map(|i| (i / 12, i % 12));
    let channel = |(a, b)| format!("a{a} -> b{b} [src=o{b}, dst=i{a}]; ");
    let dense: String = all.map(channel).collect();
    // A tree of which each process is an OS process.
    let up = |i: usize| format!("n{i} -> n{} [src=up, dst=c{}]; ", (i - 1) / 2, i % 2);
    let kinds = "n0 [kind=root]; ".to_owned();
    let leaves = (31..63).map(|i| format!("n{i} [kind=leaf]; "));
    let tree: String = leaves.chain((1..63).map(up)).fold(kinds, |all, e| all + &e);
    for (edges, os_processes) in [(dense, 8), (tree, 63)] {
        let network = network(&format!("digraph {{ {edges} }}"));
        let Some(ratio) = ratio(network, os_processes, false) else {
            return;
        };
        assert!((0.25..=4.0).contains(&ratio), "{os_processes}: {ratio}");
    }
}

#[test]
fn frames_are_hosts_os_processes_and_parts_of_modules() {
    let network = network(
        "digraph g {
            subgraph cluster_farm { label=\"the farm\"; a -> b [label=own]; }
            b -> c [bundle=scatter]; b -> d; c -> NULL; d -> NULL; NULL1 -> a; NULL1 [color=red];
            rankdir=LR
        }",
    );
    let text = dot::draw(&mapped(network, 2, true), Detail::Processes);
    for (part, times) in [
        ("label=\"host a\"; style=dashed", 1),
        ("label=\"OS process 1, core 1\\nload 2\"", 1),
        ("label=\"the farm\"", 3),
        ("label=own", 1),
        ("color=\"#ff0000\"", 1),
        ("rankdir=LR", 1),
        ("shape=point", 2),
        ("\"scatter\"", 1),
        // `NULL1` is the name of a process.
        ("NULL2 [port=out", 1),
        ("NULL3 [port=out", 1),
    ] {
        assert_eq!(text.matches(part).count(), times, "{part}\n{text}");
    }
    let text = dot::draw(&mapped(self::network(&text), 2, true), Detail::Kinds);
    assert!(text.contains("// Only a picture"), "{text}");
}

#[test]
fn processes_with_channels_both_ways_are_in_different_rows() {
    // Graphviz 2.43 does not end with such channels within a row.
    let all = "digraph g { subgraph cluster_row { replicas=3; cell [replicas=3]; edge [wrap=true];
        cell -> cell [src=e, dst=w, step=1]; cell -> cell [src=s, dst=n, step=\"1,0\"];
        cell -> cell [src=w2, dst=e2, step=-1]; cell -> cell [src=n2, dst=s2, step=\"-1,0\"] } }";
    for os_processes in 1..=9 {
        for in_turn in [false, true] {
            let mapped = mapped(network(all), os_processes, in_turn);
            let _ = drawn(&check_round_trip("torus", &mapped));
        }
    }
}

#[test]
fn foreign_labels_colours_and_styles_are_drawn_without_a_warning() {
    let text = "digraph g {
        subgraph cluster_m { module=m; label=<<i>x</i>>; color=nonsense; style=zork; a; }
        a [label=<<b>x</b><br/>&alpha;>, color=foo, style=\"wiggly,dashed\"];
        b [label=<<table><tr><td>b</td></tr></table>>, style=wiggly, color=\"#abc\"];
        c [label=<<foo>bad</foo>>, color=\"red:blue\"]; d [label=<<br/>>, color=\"red;0.5:blue\"];
        a -> b [label=<<u>k</u>>, color=\"red:nope\", style=\"rounded\"];
        b -> c [label=<<b>unclosed<b>>, color=\"0.5 1 1\"];
        c -> d [label=\"\\N \\q &bad; <b>\", style=\"\"]; d -> NULL [color=x, label=<<b>y<i>>];
        label=<<b>title</b>>; rankdir=XX }";
    let text = check_round_trip("foreign", &mapped(network(text), 2, true));
    for part in [
        "label=\"title\"",
        "label=\"x\\n&alpha;\" style=\"dashed\"",
        "color=\"#aabbcc\" label=\"b\"",
        "color=\"#ff0000:#0000ff\" label=\"bad\"",
        "label=\"unclosed\"",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    let _ = drawn(&text);
}

#[test]
fn a_picture_of_kinds_is_refused_with_advice() {
    let mapped = mapped(network("digraph g { a -> b; b -> c }"), 2, true);
    let text = dot::draw(&mapped, Detail::Kinds);
    let mut found = Diagnostics::new();
    assert!(load(&mut SourceMap::new(), "g.dot", text.into(), &mut found).is_none());
    let [error] = &Vec::from_iter(found)[..] else {
        panic!("one error");
    };
    assert_eq!(error.code, graphmap_kpn::codes::OTHER_VERSION);
    assert_eq!(
        error.help,
        ["write it again with all processes: `--set detail=processes`"]
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_names_are_read_back_and_drawn(
        names in prop::collection::hash_set("[a-c\"\\\\<>&{}|\\n\\r\\t #;:=\u{e9}\u{4e2d}/*'-]{1,6}", 4),
        label in "[a-c\"\\\\<>&\\n N]{0,6}",
        html in "<(<b>|</b>|<br/>|<x y='1'>|&amp;|&zz;|a| ){0,4}>",
        color in "red|#[0-9a-f]{3,8}|0?[.][0-9] 1 1|[a-z]{0,4}(:blue)?|/blues9/3|red;0[.]5:blue|none",
        style in "(dashed|bold|rounded|filled|invis|wedged|[a-z]{1,3}|,| ){0,3}",
    ) {
        let mut names: Vec<String> = names.into_iter().collect();
        names.sort();
        let words: Vec<String> = names.iter().map(|n| graphmap_dot::write::word(n)).collect();
        let [a, b, c, d] = &words[..] else { unreachable!() };
        let label = graphmap_dot::write::word(&format!("x{label}"));
        let html = if graphmap_dot::language::is_html(&html) { html } else { label.clone() };
        let foreign = format!("color=\"{color}\", style=\"{style}\"");
        let text = format!(
            "digraph {a} {{ subgraph \"cluster_1\" {{ module={c}; label={label}; color=\"{color}\"; {a} }}
                subgraph \"cluster_2\" {{ module={b}; label={html}; {b} }}
                {a} [kind={b}, label={label}, {foreign}]; {b} [kind={c}, label={html}]; {c} [kind={d}];
                {d} [kind={a}]; {a} -> {b} [src={c}, dst={d}, type={b}, label={label}];
                {b} -> {{ {c} {d} }} [src={a}, bundle=scatter, label={html}, {foreign}];
                {d} -> NULL [src={a}, label={html}, {foreign}] }}"
        );
        let mut network = network(&text).into_network();
        network.name.clone_from(&names[0]);
        let network = infer(network).and_then(verify).unwrap().0;
        let mut mapped = mapped(network, 2, true);
        let host = Binding { host: Some(names[1].clone()), cores: Vec::new() };
        let (network, mut mapping) = (mapped.network().clone(), mapped.mapping().clone());
        mapping.bindings = [host.clone(), host].into_iter().collect();
        mapped = Mapped::new(network, mapping).unwrap();
        let text = check_round_trip("names", &mapped);
        let _ = drawn(&text);
        let _ = drawn(&dot::draw(&mapped, Detail::Kinds));
    }
}
