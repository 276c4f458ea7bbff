//! Invalid declarations of an external front end: each missing part is reported, and not accessed.

use graphmap_kpn::arena::Id;
use graphmap_kpn::codes::BROKEN_NETWORK;
use graphmap_kpn::declared::{
    ChannelDecl, Constraint, ConstraintDecl, ConstraintTarget, Declared, EndDecl, ModuleDecl,
    ModuleId, NodeDecl, NodeId,
};
use graphmap_kpn::names::Symbol;
use graphmap_kpn::pipeline;
use graphmap_kpn::resolve::resolve;
use graphmap_kpn::source::Span;

/// Returns two processes (one in a nested module), a channel with extras, and a constraint.
fn sound(replicas: Option<u32>) -> Declared {
    let mut declared = Declared::default();
    let mut name = |text: &str| declared.names.intern(text);
    let (outer, inner, a, b, out, ty) = (
        name("outer"),
        name("inner"),
        name("a"),
        name("b"),
        name("out"),
        name("u8"),
    );
    let module = |name, parent| ModuleDecl {
        name,
        kind: name,
        parent,
        replicas,
        closed: false,
        span: Span::NONE,
    };
    let first = declared.modules.push(module(outer, None));
    let second = declared.modules.push(module(inner, Some(first)));
    let node = |name, module| NodeDecl {
        name,
        process: None,
        port_prefix: None,
        kind: name,
        module,
        replicas: None,
        load: 1.0,
        mem: 0.0,
        span: Span::NONE,
    };
    let from = declared.nodes.push(node(a, Some(second)));
    let to = declared.nodes.push(node(b, Some(second)));
    let end = |node| EndDecl {
        node: Some(node),
        port: out,
    };
    let extra = declared.add_extra(graphmap_kpn::declared::ChannelExtra {
        tag: Some(1),
        ..Default::default()
    });
    declared.channels.push(ChannelDecl {
        from: end(from),
        to: end(to),
        ty: Some(ty),
        capacity: None,
        initial: 0,
        extra,
        traffic: 1.0,
        within: None,
        span: Span::NONE,
    });
    declared.constraints.push(ConstraintDecl {
        target: ConstraintTarget::Module(first),
        constraint: Constraint::Whole,
        span: Span::NONE,
    });
    declared
}

type Break = (&'static str, fn(&mut Declared));

/// Returns the start of the expected message, and the change that causes it.
fn breaks() -> Vec<Break> {
    fn nowhere<I: Id>() -> I {
        I::from_index(999)
    }
    fn node(d: &mut Declared) -> &mut NodeDecl {
        &mut d.nodes[NodeId::from_index(1)]
    }
    fn module(d: &mut Declared) -> &mut ModuleDecl {
        &mut d.modules[ModuleId::from_index(1)]
    }
    vec![
        ("channel 0 ends", |d| {
            d.channels[0].from.node = Some(nowhere());
        }),
        ("channel 0 ends", |d| {
            d.channels[0].to.node = Some(nowhere());
        }),
        ("channel 0 has a port", |d| {
            d.channels[0].to.port = nowhere();
        }),
        ("channel 0 has a port", |d| {
            d.channels[0].ty = Some(nowhere());
        }),
        ("channel 0 refers", |d| {
            d.channels[0].extra = std::num::NonZeroU32::new(77);
        }),
        ("a bundle has a name", |d| {
            d.extras[1].bundle_name = Some(nowhere());
        }),
        ("node 1 has a name", |d| node(d).name = nowhere()),
        ("node 1 has a name", |d| node(d).kind = nowhere()),
        ("node 1 has a name", |d| node(d).process = Some(nowhere())),
        ("node 1 is in", |d| node(d).module = Some(nowhere())),
        ("module 1 has a name", |d| module(d).name = nowhere()),
        ("module 1 has a name", |d| module(d).kind = nowhere()),
        ("module 1 does not", |d| module(d).parent = Some(nowhere())),
        ("module 1 does not", |d| {
            module(d).parent = Some(ModuleId::from_index(1));
        }),
        ("a constraint names", |d| {
            d.constraints[0].target = ConstraintTarget::Node(nowhere());
        }),
        ("a constraint names", |d| {
            d.constraints[0].target = ConstraintTarget::Module(nowhere());
        }),
    ]
}

#[test]
fn missing_parts_are_reported() {
    for replicas in [None, Some(2)] {
        let sound = sound(replicas);
        assert!(pipeline::check(sound.clone(), &mut Vec::new()).is_ok());
        for (start, break_it) in breaks() {
            let mut broken = sound.clone();
            break_it(&mut broken);
            let expanded = pipeline::check(broken.clone(), &mut Vec::new()).map(drop);
            for result in [expanded, resolve(broken).map(drop)] {
                let found = result.expect_err(start);
                let all: Vec<_> = found.iter().map(|d| (d.code, &*d.message)).collect();
                assert!(
                    matches!(&all[..], [(BROKEN_NETWORK, message)] if message.starts_with(start)),
                    "{start}: {all:?}"
                );
            }
        }
    }
}

#[test]
fn only_the_first_missing_parts_are_reported() {
    let mut declared = sound(None);
    let channel = ChannelDecl {
        ty: Some(Symbol::from_index(999)),
        ..declared.channels[0].clone()
    };
    declared.channels = vec![channel; 1000];
    let found = pipeline::check(declared, &mut Vec::new()).unwrap_err();
    let last = found.iter().last().unwrap();
    assert_eq!(last.code, BROKEN_NETWORK);
    assert_eq!(
        (found.len(), &*last.notes[0]),
        (10, "not shown: 990 more of this kind")
    );
}
