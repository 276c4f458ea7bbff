//! Infers one type for all ports that are connected through channels and kinds.
//!
//! Ports of kinds are merged along channels (union-find, Tarjan 1975). A type given at one channel
//! holds for its whole class. If a class has two types, the conflict is reported with both edges.

use crate::arena::Id;
use crate::codes;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::names::Symbol;
use crate::network::{ChannelId, Network, PortId};
use crate::source::Span;
use rustc_hash::FxHashMap;

/// Sets the types of the ports of kinds and of channels. Without a stated type, the type is `None`.
///
/// The first type stated in a class of connected ports is used, channels first. Each further type
/// in a class is reported once. `port_index` is the index of each port among the ports of all
/// kinds. `typed` contains the ports that state a type themselves.
pub(super) fn infer(
    network: &mut Network,
    port_index: &[u32],
    typed: &[PortId],
    diagnostics: &mut Diagnostics,
) {
    let total: u32 = network.kinds.values().map(|k| k.ports.len() as u32).sum();
    let mut classes = Classes {
        parent: (0..total).collect(),
    };
    for channel in network.channels.values() {
        classes.union(
            port_index[channel.from.index()],
            port_index[channel.to.index()],
        );
    }
    let mut stated: FxHashMap<u32, (Symbol, TypeSource)> = FxHashMap::default();
    let mut reported: FxHashMap<(u32, Symbol), ()> = FxHashMap::default();
    let channels = network
        .channels
        .iter()
        .map(|(id, c)| (c.ty, c.from, TypeSource::Channel(id)));
    let closed = typed
        .iter()
        .map(|&id| (network.port_type(id), id, TypeSource::Closed(id)));
    for (ty, port, at) in channels.chain(closed) {
        let Some(ty) = ty else { continue };
        let class = classes.find(port_index[port.index()]);
        let &mut (known, first) = stated.entry(class).or_insert((ty, at));
        if known != ty && reported.insert((class, ty), ()).is_none() {
            diagnostics.push(conflict(network, first, at));
        }
    }
    let mut types = Vec::with_capacity(total as usize);
    for at in 0..total {
        types.push(stated.get(&classes.find(at)).map(|(ty, _)| *ty));
    }
    let mut rest = types.iter();
    for kind in network.kinds.values_mut() {
        for (port, ty) in kind.ports.iter_mut().zip(&mut rest) {
            port.ty = *ty;
        }
    }
    for channel in network.channels.values_mut() {
        channel.ty = types[port_index[channel.from.index()] as usize];
    }
}

/// Source of a type: a channel, or a port joined to the environment.
#[derive(Clone, Copy)]
enum TypeSource {
    Channel(ChannelId),
    Closed(PortId),
}

impl TypeSource {
    fn ports(self, network: &Network) -> Vec<PortId> {
        match self {
            TypeSource::Channel(c) => vec![network.channels[c].from, network.channels[c].to],
            TypeSource::Closed(p) => vec![p],
        }
    }

    fn ty(self, network: &Network) -> &str {
        let ty = match self {
            TypeSource::Channel(c) => network.channels[c].ty,
            TypeSource::Closed(p) => network.port_type(p),
        };
        ty.map_or("", |t| network.name(t))
    }

    fn span(self, network: &Network) -> Span {
        match self {
            TypeSource::Channel(c) => network.channels[c].span,
            TypeSource::Closed(p) => network.port_span(p),
        }
    }

    fn says(self, network: &Network) -> String {
        let names: Vec<_> = self
            .ports(network)
            .into_iter()
            .map(|p| network.port_name(p))
            .collect();
        let ty = self.ty(network);
        match &names[..] {
            [from, to] => format!("`{from}` to `{to}` has type `{ty}`"),
            _ => format!("`{}` has type `{ty}`", names.concat()),
        }
    }
}

fn conflict(network: &Network, a: TypeSource, b: TypeSource) -> Diagnostic {
    // The port of a kind that both sources share, if any.
    let kind = |port: PortId| {
        let port = &network.ports[port];
        (network.processes[port.process].kind, port.name)
    };
    let of_b = b.ports(network);
    let meet = a
        .ports(network)
        .into_iter()
        .find(|&x| of_b.iter().any(|&y| kind(x) == kind(y)));
    let (first, second) = (a.ty(network), b.ty(network));
    let diagnostic = Diagnostic::error(
        codes::TYPE_CONFLICT,
        match meet {
            Some(port) => format!(
                "port `{}` of kind `{}` has two types, `{first}` and `{second}`",
                network.name(network.ports[port].name),
                network.kind_name(network.ports[port].process),
            ),
            None => format!("connected channels have two types, `{first}` and `{second}`"),
        },
    )
    .at(b.span(network), b.says(network))
    .also(a.span(network), a.says(network));
    if meet.is_none() {
        return diagnostic
            .with_note(
                "a port has the same type in all processes of its kind, and so do the ports that \
                 channels join to it",
            )
            .help(
                "set the same `type=` on both, or set another `kind=` on one of the processes \
                 between them",
            );
    }
    diagnostic.help(
        "set the same `type=` on both, or use ports of different names with `src=` and `dst=`",
    )
}

struct Classes {
    parent: Vec<u32>,
}

impl Classes {
    fn find(&mut self, x: u32) -> u32 {
        let mut x = x as usize;
        while self.parent[x] != x as u32 {
            self.parent[x] = self.parent[self.parent[x] as usize];
            x = self.parent[x] as usize;
        }
        x as u32
    }

    /// Merges the classes of two ports. The smaller root remains, so that the first port of the
    /// class represents it.
    fn union(&mut self, a: u32, b: u32) {
        let (a, b) = (self.find(a), self.find(b));
        if a != b {
            self.parent[a.max(b) as usize] = a.min(b);
        }
    }
}
