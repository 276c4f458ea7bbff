//! The network: processes with ports, channels between them, bundles, modules, kinds.
//!
//! Made by [`crate::resolve`] from what a front end declared. A network may still be wrong;
//! [`crate::verify`] turns it into a [`Verified`] one, which alone can be mapped and emitted.
//! Iteration order is source order everywhere.

use crate::arena::{Arena, Id, define_id};
use crate::declared::{BundleKind, ConstraintDecl, Direction, Flow, ModuleId};
use crate::names::{Names, Symbol};
use crate::source::{Location, SourceMap, Span};
use rustc_hash::FxHashMap;
use std::ops::Range;
use std::sync::Arc;

define_id!(
    /// A process; its index is its rank.
    pub ProcessId, "p"
);
define_id!(
    /// A kind of processes.
    pub KindId, "k"
);
define_id!(
    /// A port of a process.
    pub PortId, "o"
);
define_id!(
    /// A channel.
    pub ChannelId, "c"
);
define_id!(
    /// A bundle.
    pub BundleId, "b"
);
define_id!(
    /// A port's joint with the environment.
    pub ClosedId, "e"
);
define_id!(
    /// Terms of channels.
    pub TermsId, "t"
);

/// The capacity of a channel that says none: one token. The writer of a second waits, as the demand
/// driven networks that graphmap grew out of need it; more is a matter of speed, not of meaning.
pub const DEFAULT_CAPACITY: u32 = 1;

/// A process of the network.
#[derive(Clone, Debug)]
pub struct Process {
    /// Its name, unique in the network.
    pub name: Symbol,
    /// Its kind.
    pub kind: KindId,
    /// The innermost module it lies in.
    pub module: Option<ModuleId>,
    /// Compute cost; finite, at least 0.
    pub load: f64,
    /// Memory in bytes; finite, at least 0.
    pub mem: f64,
    /// Where it is declared.
    pub span: Span,
    /// Its first port; the others follow up to the first port of the next process.
    pub(crate) first_port: u32,
}

/// What a port is joined to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Join {
    /// One channel.
    Channel(ChannelId),
    /// Several channels, which make a bundle.
    Bundle(BundleId),
    /// The environment: an input is at its end from the start, an output has no reader.
    Environment(ClosedId),
}

/// What stands in a source and joins a port; see [`Network::joins`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Joined {
    /// A channel between two ports.
    Channel(ChannelId),
    /// A port joined to the environment.
    Closed(PortId),
}

/// A port: where a process reads or writes. There are two for each channel, so that what they say of
/// themselves is what no channel says: see [`Network::port_span`] and [`Network::port_type`].
#[derive(Clone, Debug)]
pub struct Port {
    /// The process it belongs to.
    pub process: ProcessId,
    /// Its name, unique in the process; `face.port` where the process has several faces.
    pub name: Symbol,
    /// Reads or writes.
    pub direction: Direction,
    /// What it is joined to.
    pub join: Join,
}

/// What is given where a port is joined to the environment.
#[derive(Clone, Debug)]
pub struct Closed {
    /// Payload type; channels say their own.
    pub ty: Option<Symbol>,
    /// The kind of bundle that the port is, without any channel.
    pub bundle: Option<BundleKind>,
    /// Where it is declared.
    pub span: Span,
}

/// A channel: one way, first in first out, bounded, typed.
#[derive(Clone, Debug)]
pub struct Channel {
    /// The output port that writes it.
    pub from: PortId,
    /// The input port that reads it.
    pub to: PortId,
    /// Payload type, where given; members of one kind agree, so does each end of a bundle.
    pub ty: Option<Symbol>,
    /// Its capacity and what else is the same for many channels; see [`Network::terms`].
    pub terms: TermsId,
    /// Traffic; finite, at least 0.
    pub traffic: f64,
    /// Where it is declared.
    pub span: Span,
}

/// What channels say of their tokens; nearly all say the same, so it is kept once for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Terms {
    /// How many tokens a channel holds at the most, at least 1.
    pub capacity: u32,
    /// How many it holds at the start.
    pub initial: u32,
    /// MPI tag, where given.
    pub tag: Option<i32>,
    /// Whether it is flow-controlled, and how.
    pub flow: Option<Flow>,
}

/// Channels that share a port.
#[derive(Clone, Debug)]
pub struct Bundle {
    /// How they work together.
    pub kind: BundleKind,
    /// The port they share.
    pub port: PortId,
    /// Its name, where it was declared as a node.
    pub name: Option<Symbol>,
    /// Where it is given, else the first member.
    pub span: Span,
    pub(crate) members: Range<u32>,
}

/// A module: processes that belong together.
#[derive(Clone, Debug)]
pub struct Module {
    /// Its own name, unique in its parent; `cluster_1`, after expansion with its indices.
    pub name: Symbol,
    /// Its kind, `thefarm`.
    pub kind: Symbol,
    /// The module it lies in; comes before it.
    pub parent: Option<ModuleId>,
    /// Where it is declared.
    pub span: Span,
}

/// A port that all processes of a kind have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KindPort {
    /// Its name.
    pub name: Symbol,
    /// Reads or writes.
    pub direction: Direction,
    /// Payload type; `None` where no channel at it says one.
    pub ty: Option<Symbol>,
    /// The kind of bundle at it, in at least one process of the kind.
    pub bundle: Option<BundleKind>,
    /// Whether its channels are flow-controlled, and how.
    pub flow: Option<Flow>,
    /// The first declaration that names it.
    pub span: Span,
}

impl KindPort {
    /// Whether what passes it depends on what processes do alone, and not on when they do it.
    pub fn is_deterministic(&self) -> bool {
        self.flow.is_none() && self.bundle.is_none_or(BundleKind::is_deterministic)
    }
}

/// A kind: processes with the same ports and the same function.
#[derive(Clone, Debug)]
pub struct Kind {
    /// Its name.
    pub name: Symbol,
    /// Its processes, in the order of ranks.
    pub members: Vec<ProcessId>,
    /// Its ports in the order of first appearance. Empty until verification has filled it.
    pub ports: Vec<KindPort>,
    /// Its first process.
    pub span: Span,
}

/// A process network.
#[derive(Clone, Debug, Default)]
pub struct Network {
    /// Name of the graph.
    pub name: String,
    /// The texts that the spans point into.
    pub sources: SourceMap,
    /// The names that the symbols stand for.
    pub names: Names,
    /// Kinds, in order of their first process.
    pub kinds: Arena<KindId, Kind>,
    /// Modules; a parent comes before its children.
    pub modules: Arena<ModuleId, Module>,
    /// Processes in the order of ranks.
    pub processes: Arena<ProcessId, Process>,
    /// Ports, those of one process side by side, in the order of first appearance.
    pub ports: Arena<PortId, Port>,
    /// What ports joined to the environment say, in the order of those ports.
    pub closed: Arena<ClosedId, Closed>,
    /// Channels in source order.
    pub channels: Arena<ChannelId, Channel>,
    /// Their terms.
    pub terms: Arena<TermsId, Terms>,
    /// Bundles in the order of their ports.
    pub bundles: Arena<BundleId, Bundle>,
    /// Members of all bundles, those of one side by side.
    pub(crate) members: Vec<ChannelId>,
    /// Constraints on the mapping, in source order.
    pub constraints: Vec<NetworkConstraint>,
    /// `skeleton=` of the graph.
    pub skeleton: Option<(String, Span)>,
    /// Where the text of each payload type stands first, as far as that is known more narrowly than by
    /// the channel that says it.
    pub types: FxHashMap<Symbol, Span>,
}

/// A constraint with the processes that it speaks of.
#[derive(Clone, Debug)]
pub struct NetworkConstraint {
    /// As it was given.
    pub declared: ConstraintDecl,
    /// The processes it holds for, in the order of ranks.
    pub processes: Vec<ProcessId>,
}

impl Port {
    /// Whether it is joined to the environment.
    pub fn is_closed(&self) -> bool {
        matches!(self.join, Join::Environment(_))
    }
}

impl Network {
    /// The name of a symbol.
    pub fn name(&self, symbol: Symbol) -> &str {
        self.names.name(symbol)
    }

    /// The name of a process.
    pub fn process_name(&self, process: ProcessId) -> &str {
        self.name(self.processes[process].name)
    }

    /// The name of the kind of a process.
    pub fn kind_name(&self, process: ProcessId) -> &str {
        self.name(self.kinds[self.processes[process].kind].name)
    }

    /// A port as people write it: `inTask1.out`.
    pub fn port_name(&self, port: PortId) -> String {
        let port = &self.ports[port];
        format!(
            "{}.{}",
            self.process_name(port.process),
            self.name(port.name)
        )
    }

    /// The ports of a process, in order of first appearance.
    pub fn ports_of(&self, process: ProcessId) -> impl ExactSizeIterator<Item = PortId> + use<> {
        let first = self.processes[process].first_port as usize;
        let next = self.processes.values().as_slice().get(process.index() + 1);
        let end = next.map_or(self.ports.len(), |p| p.first_port as usize);
        (first..end).map(PortId::from_index)
    }

    /// The port of a process with a name.
    pub fn port(&self, process: ProcessId, name: Symbol) -> Option<PortId> {
        self.ports_of(process)
            .find(|&port| self.ports[port].name == name)
    }

    /// The channels of a bundle, in the order of its members.
    pub fn members(&self, bundle: BundleId) -> &[ChannelId] {
        let range = &self.bundles[bundle].members;
        &self.members[range.start as usize..range.end as usize]
    }

    /// The channels at a port: none, one, or the members of its bundle.
    pub fn channels_at(&self, port: PortId) -> &[ChannelId] {
        match &self.ports[port].join {
            Join::Channel(channel) => std::slice::from_ref(channel),
            Join::Bundle(bundle) => self.members(*bundle),
            Join::Environment(_) => &[],
        }
    }

    /// The first declaration that names a port.
    pub fn port_span(&self, port: PortId) -> Span {
        match self.ports[port].join {
            Join::Channel(channel) => self.channels[channel].span,
            // Members are in source order.
            Join::Bundle(bundle) => match self.members(bundle) {
                [first, ..] => self.channels[*first].span,
                [] => self.bundles[bundle].span,
            },
            Join::Environment(closed) => self.closed[closed].span,
        }
    }

    /// The payload type given where a port is joined to the environment; channels say their own.
    pub fn port_type(&self, port: PortId) -> Option<Symbol> {
        match self.ports[port].join {
            Join::Environment(closed) => self.closed[closed].ty,
            Join::Channel(_) | Join::Bundle(_) => None,
        }
    }

    /// The kind of bundle that a port is; `None` for one that is joined to a single channel.
    pub fn port_bundle(&self, port: PortId) -> Option<BundleKind> {
        match self.ports[port].join {
            Join::Bundle(bundle) => Some(self.bundles[bundle].kind),
            Join::Environment(closed) => self.closed[closed].bundle,
            Join::Channel(_) => None,
        }
    }

    /// The terms of a channel.
    pub fn terms(&self, channel: ChannelId) -> Terms {
        self.terms[self.channels[channel].terms]
    }

    /// The process that writes a channel.
    pub fn writer(&self, channel: ChannelId) -> ProcessId {
        self.ports[self.channels[channel].from].process
    }

    /// The process that reads a channel.
    pub fn reader(&self, channel: ChannelId) -> ProcessId {
        self.ports[self.channels[channel].to].process
    }

    /// Channels, and between them the ports joined to the environment, where they stand in the
    /// source. Who writes a network down in this order keeps the order of each process's ports.
    pub fn joins(&self) -> impl Iterator<Item = Joined> {
        let environment = self.ports.iter();
        let environment = environment.filter(|(_, port)| port.is_closed());
        let mut environment: Vec<PortId> = environment.map(|(id, _)| id).collect();
        environment.sort_by_key(|&port| self.port_span(port));
        let mut environment = environment.into_iter().peekable();
        let mut channels = self.channels.iter().peekable();
        std::iter::from_fn(move || {
            let next = channels.peek().map(|(_, channel)| channel.span);
            let sooner = |port: &PortId| next.is_none_or(|next| self.port_span(*port) < next);
            if let Some(port) = environment.next_if(sooner) {
                return Some(Joined::Closed(port));
            }
            channels.next().map(|(id, _)| Joined::Channel(id))
        })
    }

    /// File, line and column of a span.
    pub fn location(&self, span: Span) -> Option<Location> {
        self.sources.location(span)
    }
}

/// A network that verification found nothing wrong with. Cheap to clone.
///
/// Only [`crate::verify::verify`] makes one, so whoever takes one may rely on all that the
/// documentation of [`crate::verify`] lists.
#[derive(Clone, Debug)]
pub struct Verified {
    network: Arc<Network>,
}

impl Verified {
    pub(crate) fn new(network: Network) -> Verified {
        Verified {
            network: Arc::new(network),
        }
    }

    /// The network itself.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// The network back, to be changed; whoever does must verify it again.
    pub fn into_network(self) -> Network {
        Arc::try_unwrap(self.network).unwrap_or_else(|shared| (*shared).clone())
    }
}

impl std::ops::Deref for Verified {
    type Target = Network;
    fn deref(&self) -> &Network {
        &self.network
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A million processes have millions of these.
    #[test]
    fn what_there_are_millions_of_is_small() {
        assert_eq!(size_of::<Process>(), 40);
        assert_eq!(size_of::<Port>(), 20);
        assert_eq!(size_of::<Channel>(), 32);
    }
}
