//! Inference: what follows from a network without being said in it.
//!
//! The ports of each kind are those of its processes, in the order of first appearance; a port of a
//! kind has one direction, one kind of bundle and one type in all processes, and a type said anywhere
//! holds for all that is connected with it through channels and kinds. Where that contradicts itself,
//! it is told (`G0311`, `G0312`, `G0313`), and the first that was said stands. So is flow control that
//! channels at one port do not share (`G0321`), or that is not for them (`G0320`).
//!
//! [`infer`] checks the [`crate::integrity`] of a network first, since it follows all ids, and gives
//! an [`Inferred`]: nobody can change that, and [`crate::verify`] takes nothing else.

use crate::arena::Id;
use crate::codes;
use crate::declared::{BundleKind, Direction};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::integrity;
use crate::names::Symbol;
use crate::network::{KindId, KindPort, Network, PortId};
use rustc_hash::{FxHashMap, FxHashSet};

mod flow;
mod types;

/// A network whose parts fit together, with the ports of its kinds and the types of its channels.
#[derive(Clone, Debug)]
pub struct Inferred {
    pub(crate) network: Network,
    /// The processes that have a port of a kind, for the ports of all kinds in one row.
    pub(crate) members: Vec<Members>,
    /// What contradicts.
    pub(crate) findings: Diagnostics,
}

impl Inferred {
    /// The network.
    pub fn network(&self) -> &Network {
        &self.network
    }
}

/// In which processes of its kind a port is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Members {
    /// A process that has it; one that has it as a bundle, if one does.
    pub(crate) example: PortId,
    /// How many have it.
    pub(crate) count: u32,
}

/// Fills in what follows from a network: the ports of each kind, and the types of channels that say
/// none. What was inferred of an earlier state of it is made anew, but for types.
///
/// # Errors
/// What is wrong with its parts, if they do not fit together. What contradicts in what they say is
/// told by [`crate::verify::verify`], with all else.
pub fn infer(mut network: Network) -> Result<Inferred, Diagnostics> {
    let broken = integrity::check(&network);
    if broken.has_errors() {
        return Err(broken);
    }
    let mut findings = Diagnostics::new();
    let (members, place, typed) = ports_of_kinds(&mut network, &mut findings);
    types::infer(&mut network, &place, &typed, &mut findings);
    flow::infer(&mut network, &place, &mut findings);
    Ok(Inferred {
        network,
        members,
        findings,
    })
}

/// Fills the ports of each kind. Gives who has them, and for each port its place in the row of the
/// ports of all kinds; and the ports that say a type themselves.
///
/// Where each process is of a kind of its own, there are as many kinds as processes: what is kept of
/// a kind lies in rows of all kinds, not in memory of its own.
fn ports_of_kinds(
    network: &mut Network,
    diagnostics: &mut Diagnostics,
) -> (Vec<Members>, Vec<u32>, Vec<PortId>) {
    let mut members: Vec<Members> = Vec::new();
    let mut place = vec![0; network.ports.len()];
    let mut typed = Vec::new();
    // One finding about a port of a kind is enough: its processes may be a million.
    let mut told: FxHashSet<usize> = FxHashSet::default();
    // By name; made where a process has its ports in another order than the first.
    let mut found: FxHashMap<Symbol, usize> = FxHashMap::default();
    let kinds: Vec<KindId> = network.kinds.ids().collect();
    for id in kinds {
        let kind = &network.kinds[id];
        let base = members.len();
        let first = kind.members.first().map(|&p| network.ports_of(p).len());
        let mut ports: Vec<KindPort> = Vec::with_capacity(first.unwrap_or(0));
        found.clear();
        for &process in &kind.members {
            let is_first = ports.is_empty();
            for (i, port) in network.ports_of(process).enumerate() {
                let p = &network.ports[port];
                let bundle = network.port_bundle(port);
                let in_place = ports.get(i).is_some_and(|known| known.name == p.name);
                if !is_first && !in_place && found.is_empty() {
                    let named = ports.iter().enumerate();
                    found.extend(named.map(|(i, known)| (known.name, i)));
                }
                let known = if in_place {
                    Some(i)
                } else {
                    found.get(&p.name).copied()
                };
                let index = known.unwrap_or_else(|| {
                    let (name, direction) = (p.name, p.direction);
                    let span = network.port_span(port);
                    ports.push(KindPort {
                        name,
                        direction,
                        ty: None,
                        bundle,
                        flow: None,
                        span,
                    });
                    let (example, count) = (port, 0);
                    members.push(Members { example, count });
                    if !is_first {
                        found.insert(p.name, ports.len() - 1);
                    }
                    ports.len() - 1
                });
                let at = base + index;
                place[port.index()] = at as u32;
                if network.port_type(port).is_some() {
                    typed.push(port);
                }
                members[at].count += 1;
                let (known, example) = (&mut ports[index], &mut members[at].example);
                if known.direction != p.direction && told.insert(at) {
                    diagnostics.push(direction_conflict(network, *example, port));
                }
                match (known.bundle, bundle) {
                    (None, Some(_)) => {
                        known.bundle = bundle;
                        *example = port;
                    }
                    (Some(a), Some(b)) if a != b && told.insert(at) => {
                        diagnostics.push(bundle_conflict(network, *example, port, a, b));
                    }
                    _ => {}
                }
            }
        }
        network.kinds[id].ports = ports;
    }
    typed.sort_unstable();
    (members, place, typed)
}

fn direction_conflict(network: &Network, a: PortId, b: PortId) -> Diagnostic {
    let says = |port: PortId| match network.ports[port].direction {
        Direction::Input => format!("`{}` reads here", network.port_name(port)),
        Direction::Output => format!("`{}` writes here", network.port_name(port)),
    };
    Diagnostic::error(
        codes::DIRECTION_CONFLICT,
        format!(
            "port `{}` of kind `{}` reads in one process and writes in another",
            network.name(network.ports[b].name),
            network.kind_name(network.ports[b].process)
        ),
    )
    .at(network.port_span(b), says(b))
    .also(network.port_span(a), says(a))
    .help("reverse one of the edges, or set another `kind=` on one of the processes")
    .with_note("all processes of a kind run the same function")
}

fn bundle_conflict(
    network: &Network,
    a: PortId,
    b: PortId,
    was: BundleKind,
    is: BundleKind,
) -> Diagnostic {
    Diagnostic::error(
        codes::KIND_BUNDLE_CONFLICT,
        format!(
            "port `{}` of kind `{}` is a `{}` bundle in one process and a `{}` bundle in another",
            network.name(network.ports[b].name),
            network.kind_name(network.ports[b].process),
            was.name(),
            is.name()
        ),
    )
    .at(
        network.port_span(b),
        format!("`{}` is `{}`", network.port_name(b), is.name()),
    )
    .also(
        network.port_span(a),
        format!("`{}` is `{}`", network.port_name(a), was.name()),
    )
    .help("set the same `bundle=` for both, or set another `kind=` on one of the processes")
}
