//! Inference: what follows from a network without being said in it.
//!
//! The ports of each kind are those of its processes, in the order of first appearance; a port of a
//! kind has one direction, one kind of bundle and one type in all processes, and a type said anywhere
//! holds for all that is connected with it through channels and kinds. Where that contradicts itself,
//! it is told (`G0311`, `G0312`, `G0313`), and the first that was said stands.
//!
//! [`infer`] checks the [`crate::integrity`] of a network first, since it follows all ids, and gives
//! an [`Inferred`]: nobody can change that, and [`crate::verify`] takes nothing else.

use crate::arena::Id;
use crate::codes;
use crate::declared::{BundleKind, Direction};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::integrity;
use crate::names::Symbol;
use crate::network::{Join, KindId, KindPort, Network, PortId};
use rustc_hash::FxHashMap;

mod types;

/// A network whose parts fit together, with the ports of its kinds and the types of its channels.
#[derive(Clone, Debug)]
pub struct Inferred {
    pub(crate) network: Network,
    pub(crate) kinds: Vec<Members>,
    /// What contradicts.
    pub(crate) findings: Diagnostics,
}

impl Inferred {
    /// The network.
    pub fn network(&self) -> &Network {
        &self.network
    }
}

/// For each port of a kind, in which of its processes it is.
#[derive(Clone, Debug, Default)]
pub(crate) struct Members {
    /// A process that has it; one that has it as a bundle, if one does.
    pub(crate) example: Vec<PortId>,
    /// How many have it.
    pub(crate) count: Vec<u32>,
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
    let (kinds, place, typed) = ports_of_kinds(&mut network, &mut findings);
    types::infer(&mut network, &place, &typed, &mut findings);
    Ok(Inferred {
        network,
        kinds,
        findings,
    })
}

/// Fills the ports of each kind. Gives who has them, and for each port its place in the row of the
/// ports of all kinds; and the ports that say a type themselves.
fn ports_of_kinds(
    network: &mut Network,
    diagnostics: &mut Diagnostics,
) -> (Vec<Members>, Vec<u32>, Vec<PortId>) {
    let mut all = Vec::with_capacity(network.kinds.len());
    let mut place = vec![0; network.ports.len()];
    let mut base = 0;
    let mut typed = Vec::new();
    let kinds: Vec<KindId> = network.kinds.ids().collect();
    for id in kinds {
        let kind = &network.kinds[id];
        let mut ports: Vec<KindPort> = Vec::new();
        // By name; made where a process has its ports in another order than the first.
        let mut found: FxHashMap<Symbol, usize> = FxHashMap::default();
        let mut members = Members::default();
        // One finding about a port of a kind is enough: its processes may be a million.
        let mut told: Vec<bool> = Vec::new();
        for &process in &kind.members {
            let is_first = ports.is_empty();
            for (i, port) in network.ports_of(process).enumerate() {
                let p = &network.ports[port];
                let bundle = match p.join {
                    Join::Bundle(b) => Some(network.bundles[b].kind),
                    Join::Channel(_) | Join::Environment => None,
                };
                let in_place = ports.get(i).is_some_and(|known| known.name == p.name);
                if !is_first && !in_place && found.is_empty() {
                    let named = ports.iter().enumerate();
                    found = named.map(|(i, known)| (known.name, i)).collect();
                }
                let known = if in_place {
                    Some(i)
                } else {
                    found.get(&p.name).copied()
                };
                let index = known.unwrap_or_else(|| {
                    let (name, direction, span) = (p.name, p.direction, p.span);
                    ports.push(KindPort {
                        name,
                        direction,
                        ty: None,
                        bundle,
                        span,
                    });
                    members.example.push(port);
                    members.count.push(0);
                    told.push(false);
                    if !is_first {
                        found.insert(p.name, ports.len() - 1);
                    }
                    ports.len() - 1
                });
                place[port.index()] = base + index as u32;
                if p.ty.is_some() {
                    typed.push(port);
                }
                members.count[index] += 1;
                let known = &mut ports[index];
                if known.direction != p.direction && !std::mem::replace(&mut told[index], true) {
                    diagnostics.push(direction_conflict(network, members.example[index], port));
                }
                match (known.bundle, bundle) {
                    (None, Some(_)) => {
                        known.bundle = bundle;
                        members.example[index] = port;
                    }
                    (Some(a), Some(b)) if a != b && !std::mem::replace(&mut told[index], true) => {
                        diagnostics.push(bundle_conflict(
                            network,
                            members.example[index],
                            port,
                            a,
                            b,
                        ));
                    }
                    _ => {}
                }
            }
        }
        all.push(members);
        base += ports.len() as u32;
        network.kinds[id].ports = ports;
    }
    typed.sort_unstable();
    (all, place, typed)
}

fn direction_conflict(network: &Network, a: PortId, b: PortId) -> Diagnostic {
    let says = |port: PortId| match network.ports[port].direction {
        Direction::Input => format!("`{}` reads", network.port_name(port)),
        Direction::Output => format!("`{}` writes", network.port_name(port)),
    };
    Diagnostic::error(
        codes::DIRECTION_CONFLICT,
        format!(
            "port `{}` of kind `{}` reads in one process and writes in another",
            network.name(network.ports[b].name),
            network.kind_name(network.ports[b].process)
        ),
    )
    .at(network.ports[b].span, says(b))
    .also(network.ports[a].span, says(a))
    .help("all processes of a kind run one function: turn the channel round, or give one of them another `kind=`")
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
        network.ports[b].span,
        format!("`{}` is of `{}`", network.port_name(b), is.name()),
    )
    .also(
        network.ports[a].span,
        format!("`{}` is of `{}`", network.port_name(a), was.name()),
    )
    .help("say the same `bundle=` for both, or give one of the processes another `kind=`")
}
