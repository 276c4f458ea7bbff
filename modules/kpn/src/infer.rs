//! Inference: the ports of kinds, and the types and flow control of ports and channels.
//!
//! The ports of a kind are the ports of its processes, in the order of first appearance. A port of
//! a kind has one direction, one kind of bundle and one type in all processes. A type given
//! anywhere holds for everything that is connected through channels and kinds. Contradictions are
//! reported (`G0311`, `G0312`, `G0313`), and the first value is used. Flow control is reported if
//! channels at one port differ in it (`G0321`), or cannot have it (`G0320`).
//!
//! [`infer`] first checks the [`crate::integrity`] of a network, because it follows all ids. It
//! returns an [`Inferred`], which cannot be changed and is the only input of [`crate::verify`].

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

/// A network with integrity, with the ports of its kinds and the types of its channels.
#[derive(Clone, Debug)]
pub struct Inferred {
    pub(crate) network: Network,
    /// For the ports of all kinds, in order: the processes that have the port.
    pub(crate) members: Vec<Members>,
    /// Contradictions.
    pub(crate) diagnostics: Diagnostics,
}

impl Inferred {
    /// Returns the network.
    pub fn network(&self) -> &Network {
        &self.network
    }
}

/// The processes of a kind that have a port.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Members {
    /// The port in one of them, preferably in one where it is a bundle.
    pub(crate) example: PortId,
    /// Number of processes that have the port.
    pub(crate) count: u32,
}

/// Infers the ports of each kind with their types and flow control, and the types of channels that
/// do not state one. If types contradict each other, the first one is used.
///
/// Ports from an earlier inference are replaced. Types from an earlier inference remain.
///
/// # Errors
/// Returns the violations of integrity, if there are any. Contradictions are not returned here:
/// [`crate::verify::verify`] reports them.
pub fn infer(mut network: Network) -> Result<Inferred, Diagnostics> {
    let broken = integrity::check(&network);
    if broken.has_errors() {
        return Err(broken);
    }
    let mut diagnostics = Diagnostics::new();
    let (members, port_index, typed) = ports_of_kinds(&mut network, &mut diagnostics);
    types::infer(&mut network, &port_index, &typed, &mut diagnostics);
    flow::infer(&mut network, &port_index, &mut diagnostics);
    Ok(Inferred {
        network,
        members,
        diagnostics,
    })
}

/// Sets the ports of each kind, without types and flow control. Reports ports that differ in
/// direction (`G0311`) or bundle (`G0313`), at most once for each port of a kind.
///
/// Returns the members of each port of a kind, for all kinds in order. Returns the index of each
/// port of a process among the ports of all kinds. Returns the ports that state a type themselves,
/// in ascending order.
///
/// There may be as many kinds as processes. Therefore the data of kinds is in vectors for all
/// kinds, without an allocation for each.
fn ports_of_kinds(
    network: &mut Network,
    diagnostics: &mut Diagnostics,
) -> (Vec<Members>, Vec<u32>, Vec<PortId>) {
    let mut members: Vec<Members> = Vec::new();
    let mut port_index = vec![0; network.ports.len()];
    let mut typed = Vec::new();
    // A kind may have a million processes. One diagnostic for each of its ports is enough.
    let mut reported: FxHashSet<usize> = FxHashSet::default();
    // Index by name. Filled only if a process has its ports in another order than the first one.
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
                port_index[port.index()] = at as u32;
                if network.port_type(port).is_some() {
                    typed.push(port);
                }
                members[at].count += 1;
                let (known, example) = (&mut ports[index], &mut members[at].example);
                if known.direction != p.direction && reported.insert(at) {
                    diagnostics.push(direction_conflict(network, *example, port));
                }
                match (known.bundle, bundle) {
                    (None, Some(_)) => {
                        known.bundle = bundle;
                        *example = port;
                    }
                    (Some(a), Some(b)) if a != b && reported.insert(at) => {
                        diagnostics.push(bundle_conflict(network, *example, port, a, b));
                    }
                    _ => {}
                }
            }
        }
        network.kinds[id].ports = ports;
    }
    typed.sort_unstable();
    (members, port_index, typed)
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
