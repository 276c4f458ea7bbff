//! One type for all that is connected through channels and kinds.
//!
//! Ports of kinds are merged along channels (union-find, Tarjan 1975); a type said at one channel
//! is that of its whole class. Two types in one class are a conflict between two edges, both shown.

use crate::arena::Id;
use crate::codes;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::names::Symbol;
use crate::network::{ChannelId, KindId, Network, PortId};
use rustc_hash::FxHashMap;

/// Fills in the types of kinds' ports and of channels, and tells where two meet.
pub(super) fn infer(network: &mut Network, kind_of_port: &[u32], diagnostics: &mut Diagnostics) {
    // The ports of all kinds in one row.
    let mut base = Vec::with_capacity(network.kinds.len());
    let mut total = 0;
    for kind in network.kinds.values() {
        base.push(total);
        total += kind.ports.len();
    }
    let place = |network: &Network, port: PortId| {
        let kind = network.processes[network.ports[port].process].kind;
        base[kind.index()] + kind_of_port[port.index()] as usize
    };
    let mut classes = Classes {
        parent: (0..total).collect(),
    };
    for (_, channel) in network.channels.iter() {
        classes.union(place(network, channel.from), place(network, channel.to));
    }
    let mut said: FxHashMap<usize, (Symbol, ChannelId)> = FxHashMap::default();
    let mut told: FxHashMap<(usize, Symbol), ()> = FxHashMap::default();
    for (id, channel) in network.channels.iter() {
        let Some(ty) = channel.ty else { continue };
        let class = classes.find(place(network, channel.from));
        let &mut (known, first) = said.entry(class).or_insert((ty, id));
        if known != ty && told.insert((class, ty), ()).is_none() {
            diagnostics.push(conflict(network, first, id));
        }
    }
    let kinds: Vec<KindId> = network.kinds.ids().collect();
    for kind in kinds {
        for (i, port) in network.kinds[kind].ports.iter_mut().enumerate() {
            port.ty = said
                .get(&classes.find(base[kind.index()] + i))
                .map(|(ty, _)| *ty);
        }
    }
    let channels: Vec<ChannelId> = network.channels.ids().collect();
    for id in channels {
        let class = classes.find(place(network, network.channels[id].from));
        network.channels[id].ty = said.get(&class).map(|(ty, _)| *ty);
    }
}

fn conflict(network: &Network, a: ChannelId, b: ChannelId) -> Diagnostic {
    let ty = |c: ChannelId| network.channels[c].ty.map_or("", |t| network.name(t));
    let says = |c: ChannelId| {
        let (from, to) = (network.channels[c].from, network.channels[c].to);
        format!(
            "`{}` to `{}` carries `{}`",
            network.port_name(from),
            network.port_name(to),
            ty(c)
        )
    };
    let (first, second) = (&network.channels[a], &network.channels[b]);
    let shares = |x: PortId, y: PortId| {
        let (x, y) = (&network.ports[x], &network.ports[y]);
        let same = |p: &crate::network::Port| network.processes[p.process].kind;
        x.name == y.name && same(x) == same(y)
    };
    let meet = [(first.from, second.from), (first.to, second.to)]
        .into_iter()
        .find(|&(x, y)| shares(x, y));
    let finding = Diagnostic::error(
        codes::TYPE_CONFLICT,
        match meet {
            Some((port, _)) => format!(
                "port `{}` of kind `{}` would have two types, `{}` and `{}`",
                network.name(network.ports[port].name),
                network.kind_name(network.ports[port].process),
                ty(a),
                ty(b)
            ),
            None => format!(
                "channels of two types are connected, `{}` and `{}`",
                ty(a),
                ty(b)
            ),
        },
    )
    .at(second.span, says(b))
    .also(first.span, says(a));
    if meet.is_none() {
        return finding
            .with_note("a port has one type in all processes of its kind, and so have the ports that channels join to it")
            .help("say the same `type=` at both, or give one of the processes between them another `kind=`");
    }
    finding.help(
        "say the same `type=` at both, or use ports of different names with `src=` and `dst=`",
    )
}

struct Classes {
    parent: Vec<usize>,
}

impl Classes {
    fn find(&mut self, mut x: usize) -> usize {
        while self.parent[x] != x {
            self.parent[x] = self.parent[self.parent[x]];
            x = self.parent[x];
        }
        x
    }

    /// The smaller stays the root: the class is named by its first port, in source order.
    fn union(&mut self, a: usize, b: usize) {
        let (a, b) = (self.find(a), self.find(b));
        self.parent[a.max(b)] = a.min(b);
    }
}
