//! Expansion, joining and verification on networks declared in a few lines.

use draft::{Draft, at, bundle, joins, step};
use graphmap_kpn::codes;
use graphmap_kpn::declared::{At, BundleKind, ChannelExtra, Direction};
use graphmap_kpn::diagnostic::Severity;

mod draft;

#[test]
fn a_chain_of_modules_expands_like_the_text_written_by_hand() {
    let mut d = Draft::default();
    d.node("put");
    let farm = d.module("farm", None, Some(3));
    d.node_in("inTask", Some(farm), None);
    d.node_in("doTask", Some(farm), None);
    d.channel_with("put.out", "inTask.in", at(None, Some(At::First)));
    d.channel("inTask.work", "doTask.in");
    d.channel_with("inTask.out", "inTask.in", step(&[1], false));
    d.channel_with("inTask.out", "NULL", at(Some(At::Last), None));
    let n = d.verified();
    let names: Vec<_> = n.processes.ids().map(|p| n.process_name(p)).collect();
    assert_eq!(
        names,
        [
            "put", "inTask1", "doTask1", "inTask2", "doTask2", "inTask3", "doTask3"
        ]
    );
    assert_eq!(
        joins(&n),
        [
            "put.out inTask1.in",
            "inTask1.work doTask1.in",
            "inTask2.work doTask2.in",
            "inTask3.work doTask3.in",
            "inTask1.out inTask2.in",
            "inTask2.out inTask3.in",
        ]
    );
    let last = n.processes.ids().nth(5).unwrap();
    let out = n.port(last, n.names.get("out").unwrap()).unwrap();
    assert!(n.ports[out].is_closed());
    assert_eq!(
        n.kinds
            .values()
            .map(|k| k.members.len())
            .collect::<Vec<_>>(),
        [1, 3, 3]
    );
    let module_names: Vec<_> = n.modules.values().map(|m| n.name(m.name)).collect();
    assert_eq!(module_names, ["farm1", "farm2", "farm3"]);
}

#[test]
fn nested_repetition_makes_a_torus() {
    let mut d = Draft::default();
    let row = d.module("row", None, Some(2));
    d.node_in("cell", Some(row), Some(3));
    d.channel_with("cell.east", "cell.west", step(&[1], true));
    d.channel_with("cell.south", "cell.north", step(&[1, 0], true));
    let n = d.verified();
    let mut joins = joins(&n);
    assert_eq!(joins.len(), 12);
    assert_eq!(joins.remove(2), "cell1_3.east cell1_1.west");
    assert_eq!(joins[5], "cell1_1.south cell2_1.north");
    assert_eq!(joins[8], "cell2_1.south cell1_1.north");
}

#[test]
fn a_grid_ends_at_the_environment() {
    let mut d = Draft::default();
    let row = d.module("row", None, Some(2));
    d.node_in("cell", Some(row), Some(3));
    for (from, to, way) in [
        ("cell.east", "cell.west", [0, 1]),
        ("cell.north", "cell.south", [-1, 0]),
    ] {
        let extra = ChannelExtra {
            beyond: true,
            ..step(&way, false)
        };
        d.channel_with(from, to, extra);
    }
    let n = d.verified();
    assert_eq!(joins(&n).len(), 2 * 2 + 3);
    let ends: Vec<_> = n.ports.iter().filter(|(_, p)| p.is_closed()).collect();
    let ends: Vec<_> = ends.iter().map(|&(id, _)| n.port_name(id)).collect();
    assert_eq!(
        ends,
        [
            "cell1_1.west",
            "cell1_1.north",
            "cell1_2.north",
            "cell1_3.east",
            "cell1_3.north",
            "cell2_1.west",
            "cell2_1.south",
            "cell2_2.south",
            "cell2_3.east",
            "cell2_3.south",
        ]
    );
}

#[test]
fn ends_repeated_apart_need_a_word() {
    let make = |extra: Option<ChannelExtra>| {
        let mut d = Draft::default();
        d.node_in("a", None, Some(2));
        d.node_in("b", None, Some(3));
        let extra = extra.unwrap_or_default();
        d.channel_with("a.out", "b.in", extra);
        d
    };
    assert_eq!(make(None).codes(), [codes::AMBIGUOUS_REPETITION]);
    assert_eq!(
        make(Some(at(Some(At::Each), None))).codes(),
        [codes::EACH_COUNTS_DIFFER]
    );
    assert_eq!(
        make(Some(at(Some(At::Index(9)), None))).codes(),
        [codes::AT_OUT_OF_RANGE]
    );
    assert_eq!(
        make(Some(step(&[1], false))).codes(),
        [codes::STEP_WITHOUT_SCOPE]
    );
    let all = ChannelExtra {
        bundle: Some(BundleKind::Broadcast),
        ..at(Some(At::All), Some(At::All))
    };
    assert_eq!(joins(&make(Some(all)).verified()).len(), 6);
}

#[test]
fn a_number_of_replicas_that_cannot_be_is_refused_at_once() {
    let mut d = Draft::default();
    let mut outer = None;
    for i in 0..8 {
        outer = Some(d.module(&format!("m{i}x"), outer, Some(4_000_000_000)));
    }
    d.node_in("a", outer, None);
    assert_eq!(d.codes(), [codes::TOO_MANY_REPLICAS]);

    let mut d = Draft::default();
    d.node_in("a", None, Some(1 << 15));
    d.node_in("b", None, Some(1 << 15));
    d.channel_with("a.out", "b.in", at(Some(At::All), Some(At::All)));
    assert_eq!(d.codes(), [codes::TOO_MANY_REPLICAS]);

    let mut d = Draft::default();
    let mut outer = None;
    for i in 0..40 {
        outer = Some(d.module(&format!("m{i}x"), outer, Some(1)));
    }
    d.node_in("a", outer, None);
    assert!(d.codes().contains(&codes::TOO_MANY_REPLICAS));
}

#[test]
fn several_channels_at_an_input_are_a_select_bundle() {
    let mut d = Draft::default();
    d.channel("w1.out", "sink.in");
    d.channel("w2.out", "sink.in");
    let (n, found) = d.finish().unwrap();
    assert_eq!(n.bundles.len(), 1);
    let (id, b) = n.bundles.iter().next().unwrap();
    assert_eq!((b.kind, n.members(id).len()), (BundleKind::Select, 2));
    let notes: Vec<_> = found.iter().map(|d| (d.code, d.severity)).collect();
    assert_eq!(notes, [(codes::NOT_DETERMINISTIC, Severity::Note)]);
}

#[test]
fn several_channels_at_an_output_must_say_how_they_share() {
    let mut d = Draft::default();
    d.channel("a.out", "b1.in");
    d.channel("a.out", "b2.in");
    assert_eq!(d.codes(), [codes::BUNDLE_MISSING]);

    let mut d = Draft::default();
    d.channel_with("a.out", "b1.in", bundle(BundleKind::Scatter));
    d.channel("a.out", "b2.in");
    let n = d.verified();
    assert_eq!(
        n.bundles.values().map(|b| b.kind).collect::<Vec<_>>(),
        [BundleKind::Scatter]
    );

    let mut d = Draft::default();
    d.channel_with("a.out", "b1.in", bundle(BundleKind::Scatter));
    d.channel_with("a.out", "b2.in", bundle(BundleKind::Share));
    assert_eq!(d.codes(), [codes::BUNDLE_CONFLICT]);
}

#[test]
fn nodes_of_a_split_process_have_ports_of_their_own() {
    let mut d = Draft::default();
    for face in ["managerPut", "managerGet"] {
        let id = d.node(face);
        let process = d.declared.names.intern("manager");
        let node = d
            .declared
            .nodes
            .values_mut()
            .nth(graphmap_kpn::arena::Id::index(id))
            .unwrap();
        (node.process, node.kind) = (Some(process), process);
    }
    d.channel("managerPut.out", "w.in");
    d.channel("w.out", "managerGet.in");
    d.channel("NULL", "managerPut.in");
    let n = d.verified();
    let manager = n.processes.ids().next().unwrap();
    assert_eq!(n.processes.len(), 2);
    let ports: Vec<_> = n.ports_of(manager).map(|p| n.port_name(p)).collect();
    assert_eq!(
        ports,
        ["manager.put.out", "manager.get.in", "manager.put.in"]
    );
}

#[test]
fn members_of_a_kind_must_agree() {
    let mut d = Draft::default();
    d.channel("w1.out", "a.in");
    d.channel("w2.out", "a.back");
    d.channel("b.out", "w2.in");
    assert_eq!(d.codes(), [codes::PORT_MISSING]);

    let mut d = Draft::default();
    d.channel("w1.x", "a.in");
    d.channel("a.out", "w2.x");
    assert_eq!(d.codes(), [codes::DIRECTION_CONFLICT]);

    let mut d = Draft::default();
    for (w, kind) in [("w1", BundleKind::Share), ("w2", BundleKind::Scatter)] {
        for r in ["r1", "r2"] {
            d.channel_with(&format!("{w}.out"), &format!("{r}.{w}"), bundle(kind));
        }
    }
    assert!(d.codes().contains(&codes::KIND_BUNDLE_CONFLICT));
}

#[test]
fn types_flow_through_channels_and_kinds_and_must_not_meet() {
    let mut d = Draft::default();
    let (task, result) = (
        d.declared.names.intern("Task"),
        d.declared.names.intern("Result"),
    );
    d.channel("p.out", "w1.in").ty = Some(task);
    d.channel("w1.out", "w2.in");
    d.channel("w2.out", "NULL");
    let n = d.verified();
    let w = n.kinds.values().nth(1).unwrap();
    let types: Vec<_> = w
        .ports
        .iter()
        .map(|p| (n.name(p.name), p.ty.map(|t| n.name(t))))
        .collect();
    assert_eq!(types, [("in", Some("Task")), ("out", Some("Task"))]);

    let mut d = Draft::default();
    d.declared.names.intern("Task");
    d.declared.names.intern("Result");
    d.channel("p.out", "w1.in").ty = Some(task);
    d.channel("w1.out", "w2.in").ty = Some(result);
    d.channel("w2.out", "NULL");
    assert_eq!(d.codes(), [codes::TYPE_CONFLICT]);
}

#[test]
fn certain_errors_are_reported() {
    assert_eq!(Draft::default().codes(), [codes::NO_PROCESS]);

    let mut d = Draft::default();
    d.channel("a.out", "a.in");
    let first = d.channel("a.next", "b.in");
    (first.initial, first.capacity) = (5, std::num::NonZeroU32::new(2));
    d.node("lonely");
    let mut found = d.codes();
    found.sort();
    let expected = [
        codes::SELF_CHANNEL,
        codes::INITIAL_EXCEEDS_CAPACITY,
        codes::ISOLATED_PROCESS,
    ];
    assert_eq!(found, expected);

    let mut d = Draft::default();
    d.channel("NULL", "NULL");
    d.channel("a.x", "b.in");
    d.channel("b.y", "a.x");
    d.channel("NULL", "b.in");
    let mut found = d.codes();
    found.sort();
    let expected = [
        codes::ENVIRONMENT_TO_ITSELF,
        codes::BOTH_DIRECTIONS,
        codes::ENVIRONMENT_AND_CHANNEL,
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_bundle_kind_knows_its_end() {
    assert_eq!(BundleKind::Select.direction(), Direction::Input);
    assert_eq!(BundleKind::Share.direction(), Direction::Output);
}

#[test]
fn a_type_at_the_environment_counts() {
    let mut d = Draft::default();
    let (task, result) = (
        d.declared.names.intern("Task"),
        d.declared.names.intern("Result"),
    );
    d.channel("w.out", "NULL").ty = Some(task);
    d.channel("p.out", "w.in");
    let n = d.verified();
    let w = n.kinds.values().next().unwrap();
    assert_eq!(w.ports[0].ty.map(|t| n.name(t)), Some("Task"));

    let mut d = Draft::default();
    d.declared.names.intern("Task");
    d.declared.names.intern("Result");
    d.channel("w1.out", "p.in").ty = Some(task);
    d.channel("w2.out", "NULL").ty = Some(result);
    assert!(d.codes().contains(&codes::TYPE_CONFLICT));
}

#[test]
fn a_port_joined_to_the_environment_twice_has_one_type() {
    let found = |other: &str| {
        let mut d = Draft::default();
        for name in ["Task", other] {
            let ty = d.declared.names.intern(name);
            d.channel("w.out", "NULL").ty = Some(ty);
        }
        d.codes()
    };
    assert_eq!(found("Task"), [codes::ENVIRONMENT_TWICE]);
    let both = [codes::TYPE_CONFLICT, codes::ENVIRONMENT_TWICE];
    let mut reported = found("Result");
    reported.sort_by_key(|code| both.iter().position(|c| c == code));
    assert_eq!(reported, both);
}

#[test]
fn nodes_of_a_split_process_differ_and_an_explicit_load_wins() {
    let make = |a: &str, b: &str| {
        let mut d = Draft::default();
        for (face, load) in [(a, 0.5), (b, 1.0)] {
            let id = d.node(face);
            let process = d.declared.names.intern("manager");
            let node = &mut d.declared.nodes[id];
            (node.process, node.kind, node.load) = (Some(process), process, load);
        }
        d.channel(&format!("{a}.out"), "w.in");
        d.channel("w.out", &format!("{b}.in"));
        d
    };
    assert_eq!(
        make("managerPut", "managerGet")
            .verified()
            .processes
            .values()
            .next()
            .unwrap()
            .load,
        0.5
    );
    assert_eq!(
        make("managerPut", "manager_put").codes(),
        [codes::NAME_COLLISION]
    );
}

#[test]
fn instances_of_a_numbered_node_are_set_apart() {
    let mut d = Draft::default();
    d.node_in("stage1", None, Some(2));
    d.channel_with("stage1.out", "NULL", at(Some(At::All), None));
    let n = d.verified();
    let names: Vec<_> = n.processes.ids().map(|p| n.process_name(p)).collect();
    assert_eq!(names, ["stage1_1", "stage1_2"]);
}

#[test]
fn a_number_of_replicas_changes_no_kind_of_port() {
    let joined = |replicas: u32, extra: ChannelExtra, in_module: bool| {
        let mut d = Draft::default();
        let module = in_module.then(|| d.module("m", None, Some(replicas)));
        d.node_in("w", module, (!in_module).then_some(replicas));
        d.channel_with("w.out", "sink.in", extra);
        let n = d.verified();
        n.kinds
            .values()
            .flat_map(|kind| &kind.ports)
            .map(|port| port.bundle)
            .collect::<Vec<_>>()
    };
    for in_module in [false, true] {
        for replicas in [1, 4] {
            let all = joined(replicas, ChannelExtra::default(), in_module);
            assert_eq!(all, [None, Some(BundleKind::Select)], "{replicas}");
            let stated = bundle(BundleKind::Gather);
            let stated = joined(replicas, stated, in_module);
            assert_eq!(stated, [None, Some(BundleKind::Gather)], "{replicas}");
        }
        // `at=last` joins one instance, for any number of instances.
        let last = joined(1, at(Some(At::Last), None), in_module);
        assert_eq!(last, [None, None]);
    }
}

#[test]
fn an_end_without_instances_closes_the_port_of_the_other() {
    // The ports are the same as with one instance, or with more.
    let kinds = |replicas| {
        let mut d = Draft::default();
        d.node("a");
        d.node_in("w", None, Some(replicas));
        d.channel_with("a.out", "w.in", bundle(BundleKind::Scatter));
        d.channel("w.out", "a.in");
        d.channel("b.out", "a.more");
        d.channel("b.out", "w.more");
        d.channel_with("b.out", "c.in", bundle(BundleKind::Broadcast));
        let n = d.verified();
        let ports = |name: &str| {
            let kind = n.kinds.values().find(|k| n.name(k.name) == name).unwrap();
            let of = |p: &graphmap_kpn::network::KindPort| {
                (n.name(p.name).to_owned(), p.direction, p.bundle)
            };
            kind.ports.iter().map(of).collect::<Vec<_>>()
        };
        let closed: Vec<_> = n.closed.values().map(|c| c.bundle).collect();
        (ports("a"), ports("b"), closed)
    };
    let (a, b, closed) = kinds(0);
    let (one_a, one_b, none) = kinds(1);
    assert_eq!((&a, &b), (&one_a, &one_b));
    assert_eq!(none, []);
    assert_eq!(
        closed,
        [Some(BundleKind::Scatter), Some(BundleKind::Select)]
    );
    let (two_a, ..) = kinds(2);
    assert_eq!(a, two_a);
}
