//! Declarations that are unlikely in practice: each is reported clearly, quickly and once.

use draft::{Draft, at, bundle, step};
use graphmap_kpn::arena::Id;
use graphmap_kpn::codes;
use graphmap_kpn::declared::{
    At, BundleKind, ChannelExtra, Constraint, ConstraintDecl, ConstraintTarget, NodeId,
};
use graphmap_kpn::resolve::resolve;
use graphmap_kpn::source::Span;

mod draft;

fn face(d: &mut Draft, node: NodeId, process: &str) {
    let process = d.declared.names.intern(process);
    let decl = &mut d.declared.nodes[node];
    (decl.process, decl.kind) = (Some(process), process);
}

#[test]
fn split_processes_in_a_repeated_module_keep_their_ports() {
    let mut d = Draft::default();
    let module = d.module("m", None, Some(2));
    let put = d.node_in("managerPut", Some(module), None);
    let get = d.node_in("managerGet", Some(module), None);
    for node in [put, get] {
        face(&mut d, node, "manager");
    }
    d.node_in("w", Some(module), None);
    d.channel("managerPut.out", "w.in");
    d.channel("w.out", "managerGet.in");
    let n = d.verified();
    let ports: Vec<_> = n.ports.ids().map(|p| n.port_name(p)).collect();
    assert_eq!(ports[..2], ["manager1.put.out", "manager1.get.in"]);
    assert_eq!(ports[4..6], ["manager2.put.out", "manager2.get.in"]);
}

#[test]
fn node_with_the_name_of_a_split_process_is_a_collision() {
    let mut d = Draft::default();
    let put = d.node("managerPut");
    face(&mut d, put, "manager");
    d.channel("managerPut.out", "manager.in");
    assert_eq!(d.codes(), [codes::NAME_COLLISION]);
}

#[test]
fn modules_with_equal_names_are_reported_once() {
    let mut d = Draft::default();
    d.module("m", None, Some(1000));
    let again = d.module("m", None, Some(1000));
    d.node_in("a", Some(again), None);
    assert_eq!(d.codes(), [codes::NAME_COLLISION]);
}

#[test]
fn modules_without_instances_are_empty() {
    let mut d = Draft::default();
    let none = d.module("none", None, Some(0));
    let mut from = none;
    for i in 0..4 {
        from = d.module(&format!("m{i}x"), Some(from), Some(u32::MAX));
    }
    d.node_in("a", Some(from), None);
    d.node_in("b", Some(none), None);
    d.channel_with("a.out", "b.in", at(Some(At::All), None));
    d.channel_with("b.out", "a.in", step(&[-1], true));
    assert_eq!(d.codes(), [codes::NO_PROCESS]);
}

#[test]
fn names_that_would_fill_the_memory_are_refused() {
    let mut d = Draft::default();
    d.node_in(&"a".repeat(100), None, Some(100_000_000));
    assert_eq!(d.codes(), [codes::TOO_MANY_REPLICAS]);
}

#[test]
fn one_error_in_a_repeated_module_is_reported_once() {
    let mut d = Draft::default();
    let m = d.module("m", None, Some(1000));
    for (node, replicas) in [("a", None), ("b", Some(3)), ("c", None)] {
        d.node_in(node, Some(m), replicas);
    }
    d.channel_with("a.out", "b.in", at(None, Some(At::All)));
    d.channel_with("a.cast", "b.x", bundle(BundleKind::Share));
    d.channel_with("a.cast", "c.x", bundle(BundleKind::Scatter));
    d.channel("c.out", "NULL");
    d.channel("c.out", "a.in");
    d.channel("NULL", "a.end");
    d.channel("NULL", "a.end");
    d.channel("a.y", "c.y");
    d.channel("c.z", "a.y");
    let mut found = d.codes();
    found.sort();
    let expected = [
        codes::BOTH_DIRECTIONS,
        codes::BUNDLE_MISSING,
        codes::BUNDLE_CONFLICT,
        codes::ENVIRONMENT_AND_CHANNEL,
        codes::ENVIRONMENT_TWICE,
    ];
    assert_eq!(found, expected);
}

#[test]
fn many_missing_ports_get_few_diagnostics() {
    // Quadratic work would take hours.
    let mut d = Draft::default();
    let sink = d.node("sink");
    let port = d.declared.names.intern("in");
    for i in 0..100_000 {
        let w = d.node_in(&format!("w{i}"), None, None);
        let end = |node, port| graphmap_kpn::declared::EndDecl {
            node: Some(node),
            port,
        };
        let out = d.declared.names.intern(&format!("p{i}"));
        d.channel("NULL", "sink.in");
        let channel = d.declared.channels.last_mut().unwrap();
        (channel.from, channel.to) = (end(w, out), end(sink, port));
    }
    let found = d.codes();
    let missing = found.iter().filter(|&&c| c == codes::PORT_MISSING).count();
    assert_eq!((missing, found.len()), (10, 11));
}

#[test]
fn many_isolated_processes_get_few_diagnostics() {
    let mut d = Draft::default();
    for i in 0..100_000 {
        d.node_in(&format!("lonely{i}x"), None, None);
    }
    d.channel("a.out", "lonly.in");
    let (_, found) = d.finish().unwrap();
    assert_eq!(found.len(), 10);
    let last = found.iter().last().unwrap();
    assert_eq!(
        last.notes,
        ["not shown: 99990 more processes without a channel"]
    );
}

#[test]
fn a_hint_for_a_lonely_process_names_what_is_joined() {
    let mut d = Draft::default();
    for name in ["collector", "w1", "w2", "worker1", "worker2"] {
        d.node(name);
    }
    d.channel("producer.out", "colector.in");
    d.channel("worker1.out", "colector.x");
    let found = d.finish().unwrap_err();
    let alone = found.iter().filter(|f| f.code == codes::ISOLATED_PROCESS);
    let help: Vec<_> = alone.map(|f| f.help[0].as_str()).collect();
    let take_away = "join it to other processes, or remove it";
    assert_eq!(
        help,
        ["did you mean `colector`?", take_away, take_away, take_away]
    );
}

#[test]
fn constraints_on_deeply_nested_modules_cost_what_they_say() {
    let mut d = Draft::default();
    let mut module = None;
    for i in 0..50_000 {
        module = Some(d.module(&format!("m{i}"), module, None));
        d.node_in(&format!("p{i}"), module, None);
    }
    for target in [
        ConstraintTarget::Module(Id::from_index(0)),
        ConstraintTarget::Module(Id::from_index(49_990)),
    ] {
        d.declared.constraints.push(ConstraintDecl {
            target,
            constraint: Constraint::OsProcess(0),
            span: Span::NONE,
        });
    }
    let (network, _) = resolve(d.declared).unwrap();
    let sizes: Vec<_> = network
        .constraints
        .iter()
        .map(|c| c.processes.len())
        .collect();
    assert_eq!(sizes, [50_000, 10]);
}

#[test]
fn without_repetition_words_about_it_are_checked_and_dropped() {
    let mut d = Draft::default();
    let both = ChannelExtra {
        tag: Some(7),
        ..at(Some(At::First), Some(At::First))
    };
    d.channel_with("a.out", "b.in", both);
    let (n, found) = d.finish().unwrap();
    assert_eq!(
        n.channels.ids().map(|c| n.terms(c).tag).collect::<Vec<_>>(),
        [Some(7)]
    );
    assert_eq!(
        found.iter().map(|f| f.code).collect::<Vec<_>>(),
        [codes::AT_WITHOUT_EFFECT]
    );

    let mut d = Draft::default();
    d.channel_with("a.out", "b.in", step(&[1], false));
    assert_eq!(d.codes(), [codes::STEP_WITHOUT_SCOPE]);
}

#[test]
fn many_outputs_without_bundle_get_few_diagnostics() {
    let mut d = Draft::default();
    for i in 0..2000 {
        d.channel(&format!("w{i}x.out"), &format!("r{i}x.in"));
        d.channel(&format!("w{i}x.out"), &format!("s{i}x.in"));
    }
    let found = d.finish().unwrap_err();
    let all: Vec<_> = found
        .iter()
        .filter(|f| f.code == codes::BUNDLE_MISSING)
        .collect();
    assert_eq!(all.len(), 10);
    let notes: Vec<&String> = all.iter().flat_map(|f| &f.notes).collect();
    assert_eq!(notes, ["not shown: 1990 more of this kind"]);
    assert!(
        all[0]
            .help
            .iter()
            .any(|h| h.contains("`edge [bundle=broadcast];`"))
    );
}
