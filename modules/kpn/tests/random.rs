//! Random declarations: expansion agrees with a naive model, and joining and verification do not
//! panic.

use draft::Draft;
use graphmap_kpn::arena::Id;
use graphmap_kpn::codes;
use graphmap_kpn::declared::{
    At, BundleKind, ChannelDecl, ChannelExtra, Declared, Direction, EndDecl, ModuleId, NodeId,
};
use graphmap_kpn::diagnostic::{Code, Severity};
use graphmap_kpn::expand::expand;
use graphmap_kpn::infer::infer;
use graphmap_kpn::network::{Join, Verified};
use graphmap_kpn::resolve::resolve;
use graphmap_kpn::verify::verify;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use std::num::NonZeroU32;

mod draft;

/// A random graph. Its numbers are reduced modulo the number of elements.
#[derive(Clone, Debug)]
struct Plan {
    modules: Vec<(usize, Option<u32>)>,
    nodes: Vec<NodePlan>,
    channels: Vec<ChannelPlan>,
}

#[derive(Clone, Debug)]
struct NodePlan {
    module: usize,
    replicas: Option<u32>,
    kind: usize,
    process: Option<usize>,
}

#[derive(Clone, Debug)]
struct ChannelPlan {
    ends: (usize, usize),
    ports: (usize, usize),
    at: (Option<At>, Option<At>),
    step: Vec<i32>,
    wrap: bool,
    beyond: bool,
    ty: Option<usize>,
    bundle: Option<BundleKind>,
    capacity: Option<u32>,
    initial: u32,
}

fn replicas() -> impl Strategy<Value = Option<u32>> {
    prop_oneof![9 => Just(None), 10 => (1u32..4).prop_map(Some), 1 => Just(Some(0))]
}

fn at() -> impl Strategy<Value = Option<At>> {
    option::weighted(
        0.7,
        prop_oneof![
            Just(At::First),
            Just(At::Last),
            Just(At::All),
            Just(At::Each),
            (0u32..4).prop_map(At::Index),
        ],
    )
}

fn node() -> impl Strategy<Value = NodePlan> {
    let fields = (
        0..8usize,
        replicas(),
        0..4usize,
        option::weighted(0.2, 0..2usize),
    );
    fields.prop_map(|(module, replicas, kind, process)| NodePlan {
        module,
        replicas,
        kind,
        process,
    })
}

fn channel() -> impl Strategy<Value = ChannelPlan> {
    let shape = (
        (0..9usize, 0..9usize),
        (0..12usize, 0..12usize),
        (at(), at()),
        prop_oneof![3 => Just(Vec::new()), 1 => vec(-2i32..3, 1..3)],
        (any::<bool>(), any::<bool>()),
    );
    let more = (
        option::weighted(0.2, 0..2usize),
        option::weighted(
            0.5,
            (0..BundleKind::ALL.len()).prop_map(|i| BundleKind::ALL[i]),
        ),
        option::of(1u32..4),
        prop_oneof![5 => Just(0u32), 1 => 0u32..3],
    );
    (shape, more).prop_map(
        |((ends, ports, at, step, (wrap, beyond)), (ty, bundle, capacity, initial))| ChannelPlan {
            ends,
            ports,
            at,
            step,
            wrap,
            beyond,
            ty,
            bundle,
            capacity,
            initial,
        },
    )
}

fn plan() -> impl Strategy<Value = Plan> {
    let parts = (
        vec((0..8usize, replicas()), 0..4),
        vec(node(), 1..6),
        vec(channel(), 0..6),
    );
    parts.prop_map(|(modules, nodes, channels)| Plan {
        modules,
        nodes,
        channels,
    })
}

/// Declares the plan. If `rich`, also sets attributes that do not affect expansion.
fn declare(plan: &Plan, rich: bool) -> Declared {
    let mut d = Draft::default();
    let mut modules: Vec<ModuleId> = Vec::new();
    for (i, &(parent, replicas)) in plan.modules.iter().enumerate() {
        let parent = modules.get(parent % (i + 1)).copied();
        modules.push(d.module(&format!("m{}", letter(i)), parent, replicas));
    }
    let mut nodes: Vec<NodeId> = Vec::new();
    for (i, node) in plan.nodes.iter().enumerate() {
        let module = modules.get(node.module % (modules.len() + 1)).copied();
        let id = d.node_in(&format!("n{}", letter(i)), module, node.replicas);
        if rich {
            let kind = d.declared.names.intern(&format!("k{}", letter(node.kind)));
            let process = node
                .process
                .map(|p| d.declared.names.intern(&format!("p{p}")));
            let decl = &mut d.declared.nodes[id];
            (decl.kind, decl.process) = (kind, process);
        }
        nodes.push(id);
    }
    for channel in &plan.channels {
        let mut extra = ChannelExtra {
            from_at: channel.at.0,
            to_at: channel.at.1,
            step: channel.step.clone(),
            wrap: channel.wrap,
            beyond: channel.beyond,
            ..ChannelExtra::default()
        };
        if rich {
            extra.bundle = channel.bundle;
        }
        d.channel_with("NULL", "NULL", extra);
        // Most ports have their own names, so that some networks are valid. A few collide.
        let mut port = |i: usize, prefix: &str| match i {
            0 => d.declared.names.intern("x"),
            i => d.declared.names.intern(&format!("{prefix}{}", i / 2)),
        };
        let ports = (port(channel.ports.0, "out"), port(channel.ports.1, "in"));
        let ty = channel
            .ty
            .map(|t| d.declared.names.intern(["Task", "Result"][t]));
        let end = |node: usize, port| EndDecl {
            node: nodes.get(node % (nodes.len() + 1)).copied(),
            port,
        };
        let decl = d.declared.channels.last_mut().unwrap();
        decl.from = end(channel.ends.0, ports.0);
        decl.to = end(channel.ends.1, ports.1);
        if rich {
            decl.ty = ty;
            decl.capacity = channel.capacity.and_then(NonZeroU32::new);
            decl.initial = channel.initial;
        }
    }
    d.declared
}

fn letter(i: usize) -> char {
    (b'a' + i as u8) as char
}

/// The scopes around a node: the number of a repeated module or of the node, and the number of
/// instances.
type Path = Vec<(usize, u64)>;

fn paths(declared: &Declared) -> Vec<Path> {
    let of_node = |(id, node): (NodeId, &graphmap_kpn::declared::NodeDecl)| {
        let mut path: Path = Vec::new();
        if let Some(n) = node.replicas {
            path.push((1000 + id.index(), n.into()));
        }
        let mut module = node.module;
        while let Some(m) = module {
            if let Some(n) = declared.modules[m].replicas {
                path.push((m.index(), n.into()));
            }
            module = declared.modules[m].parent;
        }
        path.reverse();
        path
    };
    declared.nodes.iter().map(of_node).collect()
}

/// Returns all instances at the end of a path, in order.
fn instances(path: &[(usize, u64)]) -> Vec<Vec<u64>> {
    let Some((&(_, n), inner)) = path.split_first() else {
        return vec![Vec::new()];
    };
    let rest = instances(inner);
    let of_first = |i| rest.iter().map(move |r| [&[i], &r[..]].concat());
    (0..n).flat_map(of_first).collect()
}

fn instance_name(name: &str, digits: &[u64]) -> String {
    let numbers: Vec<_> = digits.iter().map(|d| (d + 1).to_string()).collect();
    let numbered = name.ends_with(|c: char| c.is_ascii_digit());
    let apart = if numbered && !digits.is_empty() {
        "_"
    } else {
        ""
    };
    format!("{name}{apart}{}", numbers.join("_"))
}

/// Returns the names of all nodes, in the order of an equivalent text written by hand.
///
/// `nodes` are the nodes in the scopes whose instance numbers are `digits`.
fn naive_nodes(
    declared: &Declared,
    paths: &[Path],
    nodes: &[usize],
    digits: &[u64],
) -> Vec<String> {
    let mut names = Vec::new();
    let mut done = Vec::new();
    for &node in nodes {
        match paths[node].get(digits.len()) {
            None => {
                let decl = &declared.nodes[NodeId::from_index(node)];
                names.push(instance_name(declared.name(decl.name), digits));
            }
            Some(scope) if done.contains(scope) => {}
            Some(&scope) => {
                done.push(scope);
                let inside = nodes.iter().copied();
                let inside: Vec<usize> = inside
                    .filter(|&n| paths[n].get(digits.len()) == Some(&scope))
                    .collect();
                for i in 0..scope.1 {
                    let digits = [digits, &[i]].concat();
                    names.extend(naive_nodes(declared, paths, &inside, &digits));
                }
            }
        }
    }
    names
}

/// Returns the channels of a declaration, or the code of its error. Compares every instance with
/// every other.
fn naive_channel(
    declared: &Declared,
    paths: &[Path],
    channel: &ChannelDecl,
    warnings: &mut Vec<Code>,
) -> Result<Vec<(String, String)>, Code> {
    let extra = declared.extra(channel).unwrap();
    let none = Path::new();
    let path = |end: EndDecl| end.node.map_or(&none, |n| &paths[n.index()]);
    let (from, to) = (path(channel.from), path(channel.to));
    let depth = from.iter().zip(to).take_while(|(a, b)| a == b).count();
    if extra.step.len() > depth {
        return Err(codes::STEP_WITHOUT_SCOPE);
    }
    let (from_own, to_own) = (&from[depth..], &to[depth..]);
    let stated = extra.from_at.is_some() || extra.to_at.is_some();
    let both = !from_own.is_empty() && !to_own.is_empty();
    if stated && from_own.is_empty() && to_own.is_empty() {
        warnings.push(codes::AT_WITHOUT_EFFECT);
    }
    if both && !stated {
        return Err(codes::AMBIGUOUS_REPETITION);
    }
    let (from_all, to_all) = (instances(from_own), instances(to_own));
    let each = extra.from_at == Some(At::Each) || extra.to_at == Some(At::Each);
    if both && each && from_all.len() != to_all.len() {
        return Err(codes::EACH_COUNTS_DIFFER);
    }
    for (at, own, all) in [
        (extra.from_at, from_own, &from_all),
        (extra.to_at, to_own, &to_all),
    ] {
        match at {
            Some(At::Index(i)) if !own.is_empty() && !(1..=all.len()).contains(&(i as usize)) => {
                return Err(codes::AT_OUT_OF_RANGE);
            }
            _ => {}
        }
    }
    let picked = |at: Option<At>, own: &[(usize, u64)], all: &[Vec<u64>], digits: &[u64]| match at {
        _ if own.is_empty() => true,
        None | Some(At::All | At::Each) => true,
        Some(At::First) => all.first().is_some_and(|d| d == digits),
        Some(At::Last) => all.last().is_some_and(|d| d == digits),
        Some(At::Index(i)) => all[i as usize - 1] == digits,
    };
    let steps = [vec![0; depth - extra.step.len()], extra.step.clone()].concat();
    let leads_nowhere = |i: usize| {
        let n = from[i].1 as i64;
        n > 1 && (0..n).all(|digit| !(0..n).contains(&(digit + i64::from(steps[i]))))
    };
    if !extra.wrap && !extra.beyond && (0..depth).any(leads_nowhere) {
        warnings.push(codes::AT_WITHOUT_EFFECT);
    }
    // The instance of the reader in the shared scopes (way 1), or of the writer (way -1).
    let shifted = |digits: &[u64], way: i64| -> Option<Vec<u64>> {
        let moved = (0..depth).map(|i| {
            let (n, there) = (
                from[i].1 as i64,
                digits[i] as i64 + way * i64::from(steps[i]),
            );
            let there = if extra.wrap {
                there.rem_euclid(n)
            } else {
                there
            };
            (0..n).contains(&there).then_some(there as u64)
        });
        moved.collect()
    };
    let takes_from = |a: &[u64]| picked(extra.from_at, from_own, &from_all, &a[depth..]);
    let takes_to = |b: &[u64]| picked(extra.to_at, to_own, &to_all, &b[depth..]);
    let position = |all: &[Vec<u64>], d: &[u64]| all.iter().position(|x| x == d);
    let paired = both && each;
    let mut channels = Vec::new();
    for a in instances(from) {
        for b in instances(to) {
            let partners =
                !paired || position(&from_all, &a[depth..]) == position(&to_all, &b[depth..]);
            let reached = shifted(&a, 1).is_some_and(|there| there == b[..depth]);
            if reached && partners && takes_from(&a) && takes_to(&b) {
                let from = end_name(declared, channel.from, &a);
                channels.push((from, end_name(declared, channel.to, &b)));
            }
        }
    }
    // In a pair, a selection at one end applies to both.
    let partner_taken = |all: &[Vec<u64>], own: &[u64], others: &[Vec<u64>], at, own_at| {
        !paired || position(all, own).is_some_and(|i| picked(at, own_at, others, &others[i]))
    };
    for shared in instances(&from[..depth]).iter().filter(|_| extra.beyond) {
        for own in from_all.iter().filter(|_| shifted(shared, 1).is_none()) {
            let a = [&shared[..], own].concat();
            if takes_from(&a) && partner_taken(&from_all, own, &to_all, extra.to_at, to_own) {
                channels.push((end_name(declared, channel.from, &a), "NULL".into()));
            }
        }
        for own in to_all.iter().filter(|_| shifted(shared, -1).is_none()) {
            let b = [&shared[..], own].concat();
            if takes_to(&b) && partner_taken(&to_all, own, &from_all, extra.from_at, from_own) {
                channels.push(("NULL".into(), end_name(declared, channel.to, &b)));
            }
        }
    }
    // If one end has no instances, the ports of the other end are closed.
    let inside = channel.from.node.is_some() && channel.to.node.is_some();
    if inside && from_all.is_empty() != to_all.is_empty() {
        for shared in instances(&from[..depth]) {
            for own in from_all.iter().filter(|_| shifted(&shared, 1).is_some()) {
                let a = [&shared[..], own].concat();
                if takes_from(&a) {
                    channels.push((end_name(declared, channel.from, &a), "NULL".into()));
                }
            }
            for own in to_all.iter().filter(|_| shifted(&shared, -1).is_some()) {
                let b = [&shared[..], own].concat();
                if takes_to(&b) {
                    channels.push(("NULL".into(), end_name(declared, channel.to, &b)));
                }
            }
        }
    }
    Ok(channels)
}

fn end_name(declared: &Declared, end: EndDecl, digits: &[u64]) -> String {
    end.node.map_or("NULL".into(), |n| {
        instance_name(declared.name(declared.nodes[n].name), digits)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn expansion_is_that_of_a_naive_model(plan in plan()) {
        let declared = declare(&plan, false);
        let paths = paths(&declared);
        let all: Vec<usize> = (0..declared.nodes.len()).collect();
        let nodes = naive_nodes(&declared, &paths, &all, &[]);
        let (mut channels, mut expected, mut fails) = (Vec::new(), Vec::new(), false);
        for channel in &declared.channels {
            match naive_channel(&declared, &paths, channel, &mut expected) {
                Ok(made) => channels.extend(made),
                Err(code) => {
                    expected.push(code);
                    fails = true;
                }
            }
        }
        match expand(declared) {
            Err(found) => {
                prop_assert!(fails, "{found:?}");
                let found: Vec<_> = found.iter().map(|f| f.code).collect();
                prop_assert_eq!(found, expected);
            }
            Ok((expanded, found)) => {
                prop_assert!(!fails, "{expected:?}");
                let found: Vec<_> = found.iter().map(|f| f.code).collect();
                prop_assert_eq!(found, expected);
                let made = expanded.nodes.values().map(|n| expanded.name(n.name).to_owned());
                prop_assert_eq!(made.collect::<Vec<_>>(), nodes);
                let ends = |c: &ChannelDecl| {
                    (end_name(&expanded, c.from, &[]), end_name(&expanded, c.to, &[]))
                };
                let made: Vec<_> = expanded.channels.iter().map(ends).collect();
                prop_assert_eq!(made, channels);
            }
        }
    }

    #[test]
    fn declarations_are_verified_or_reported(plan in plan()) {
        let Ok((expanded, _)) = expand(declare(&plan, true)) else { return Ok(()) };
        let Ok((network, _)) = resolve(expanded) else { return Ok(()) };
        match infer(network).and_then(verify) {
            Err(found) => prop_assert!(found.has_errors()),
            Ok((network, found)) => {
                prop_assert_eq!(found.count(Severity::Error), 0);
                holds(&network);
            }
        }
    }
}

/// Asserts the properties that the documentation of verification states.
fn holds(n: &Verified) {
    for (id, port) in n.ports.iter() {
        assert!(n.ports_of(port.process).any(|p| p == id));
        for &channel in n.channels_at(id) {
            let channel = &n.channels[channel];
            let end = match port.direction {
                Direction::Output => channel.from,
                Direction::Input => channel.to,
            };
            assert_eq!(end, id);
        }
        if let Join::Bundle(bundle) = port.join {
            assert_eq!(n.bundles[bundle].port, id);
            assert_eq!(n.bundles[bundle].kind.direction(), port.direction);
        }
        let kind = &n.kinds[n.processes[port.process].kind];
        let of_kind: Vec<_> = kind.ports.iter().filter(|p| p.name == port.name).collect();
        assert_eq!(of_kind.len(), 1);
        assert_eq!(of_kind[0].direction, port.direction);
        for &channel in n.channels_at(id) {
            assert_eq!(n.channels[channel].ty, of_kind[0].ty);
        }
    }
    for kind in n.kinds.values() {
        for &process in &kind.members {
            assert_eq!(n.ports_of(process).len(), kind.ports.len());
        }
    }
    for (id, channel) in n.channels.iter() {
        assert!(n.channels_at(channel.from).contains(&id));
        assert!(n.channels_at(channel.to).contains(&id));
        let terms = n.terms(id);
        assert!(terms.initial <= terms.capacity);
    }
}
