//! The network: processes with ports, channels between them, bundles, modules, kinds.
//!
//! [`crate::resolve`] builds a network from the declarations of a front end. A network may still
//! contain errors. [`crate::verify`] turns it into a [`Verified`] network, which can be mapped and
//! emitted. Elements are in source order everywhere.

use crate::arena::{Arena, Id, define_id};
use crate::arguments::{Parameter, Value};
use crate::attributes::{AttributeLists, AttributesId, AttributesOf};
use crate::containers::Boxes;
use crate::declared::{BundleKind, ConstraintDecl, Direction, Flow, ModuleId};
use crate::glue::GlueFunction;
use crate::names::{Names, Symbol};
use crate::source::{Location, SourceMap, Span};
use rustc_hash::FxHashMap;
use std::ops::Range;
use std::sync::Arc;

define_id!(
    /// Id of a process. Its index is the rank of the process.
    pub ProcessId, "p"
);
define_id!(
    /// Id of a kind.
    pub KindId, "k"
);
define_id!(
    /// Id of a port.
    pub PortId, "o"
);
define_id!(
    /// Id of a channel.
    pub ChannelId, "c"
);
define_id!(
    /// Id of a bundle.
    pub BundleId, "b"
);
define_id!(
    /// Id of a [`Closed`] entry.
    pub ClosedId, "e"
);
define_id!(
    /// Id of the [`Terms`] of channels.
    pub TermsId, "t"
);

/// Capacity of a channel that does not state one: one token.
///
/// The writer of a second token blocks. The demand-driven networks for which graphmap was first
/// written rely on this. A larger capacity changes the speed of a network, not its results.
pub const DEFAULT_CAPACITY: u32 = 1;

/// A Kahn process, declared by a node of the graph or by several.
#[derive(Clone, Debug)]
pub struct Process {
    /// Name, unique in the network.
    pub name: Symbol,
    /// Kind of the process.
    pub kind: KindId,
    /// Innermost module that contains the process.
    pub module: Option<ModuleId>,
    /// Compute cost, finite and at least 0.
    pub load: f64,
    /// Memory in bytes, finite and at least 0.
    pub mem: f64,
    /// Position of the declaration.
    pub span: Span,
    /// Index of the first port. The last port precedes the first port of the next process.
    pub(crate) first_port: u32,
}

/// The other side of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Join {
    /// One channel.
    Channel(ChannelId),
    /// Several channels, which form a bundle.
    Bundle(BundleId),
    /// The environment. An input is closed from the start, an output has no reader.
    Environment(ClosedId),
}

/// An element that joins ports, as returned by [`Network::joins`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Joined {
    /// A channel between two ports.
    Channel(ChannelId),
    /// A port joined to the environment.
    Closed(PortId),
}

/// A port: where a process reads or writes.
///
/// Networks have about two ports for each channel. Therefore a port does not store its span or its
/// type: [`Network::port_span`] and [`Network::port_type`] find them at the other side.
#[derive(Clone, Debug)]
pub struct Port {
    /// Process that owns the port.
    pub process: ProcessId,
    /// Name, unique in the process. For a split process it is `node.port`.
    pub name: Symbol,
    /// Whether the port reads or writes.
    pub direction: Direction,
    /// Channel, bundle or environment that the port is joined to.
    pub join: Join,
}

/// Properties of a port that is joined to the environment.
#[derive(Clone, Debug)]
pub struct Closed {
    /// Payload type. A channel stores its own type.
    pub ty: Option<Symbol>,
    /// Kind of the bundle, if the port is a bundle without channels.
    pub bundle: Option<BundleKind>,
    /// Position of the declaration.
    pub span: Span,
}

/// A channel: first in first out, typed, bounded, in one direction.
#[derive(Clone, Debug)]
pub struct Channel {
    /// Output port that writes the channel.
    pub from: PortId,
    /// Input port that reads the channel.
    pub to: PortId,
    /// Payload type, if known. It is the same in all processes of a kind and in all channels of a
    /// bundle.
    pub ty: Option<Symbol>,
    /// Capacity and other properties that many channels share. See [`Network::terms`].
    pub terms: TermsId,
    /// Traffic, finite and at least 0.
    pub traffic: f64,
    /// Position of the declaration.
    pub span: Span,
}

/// Properties of a channel that concern its tokens.
///
/// Nearly all channels of a network have equal terms. Therefore equal terms are stored once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Terms {
    /// Number of tokens that the channel can hold, at least 1.
    pub capacity: u32,
    /// Number of tokens in the channel at the start.
    pub initial: u32,
    /// MPI tag, if given.
    pub tag: Option<i32>,
    /// Flow control, if the channel is flow-controlled.
    pub flow: Option<Flow>,
}

/// Channels that share a port.
#[derive(Clone, Debug)]
pub struct Bundle {
    /// Kind of the bundle.
    pub kind: BundleKind,
    /// Port that the channels share.
    pub port: PortId,
    /// Name, if the bundle was declared as a node.
    pub name: Option<Symbol>,
    /// Position of the first channel with `bundle=`, or of the first member if none has it.
    pub span: Span,
    pub(crate) members: Range<u32>,
}

/// A module: a cluster of processes. Modules nest.
#[derive(Clone, Debug)]
pub struct Module {
    /// Name, unique in the parent, such as `cluster_1`. Expansion appends the indices of instances.
    pub name: Symbol,
    /// Kind, such as `thefarm`.
    pub kind: Symbol,
    /// Module that contains this one. It has a smaller index.
    pub parent: Option<ModuleId>,
    /// Position of the declaration.
    pub span: Span,
}

/// A port that all processes of a kind have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KindPort {
    /// Name, unique in the kind.
    pub name: Symbol,
    /// Whether the port reads or writes.
    pub direction: Direction,
    /// Payload type, or `None` if no channel at the port has a type.
    pub ty: Option<Symbol>,
    /// Kind of bundle, if the port is a bundle in at least one process of the kind.
    pub bundle: Option<BundleKind>,
    /// Flow control, if the channels at the port are flow-controlled.
    pub flow: Option<Flow>,
    /// First declaration that names the port.
    pub span: Span,
}

impl KindPort {
    /// Returns true if the tokens at the port depend only on the processes, and not on timing. This
    /// is so if the port has no flow control and is not a `select` or `share` bundle.
    pub fn is_deterministic(&self) -> bool {
        self.flow.is_none() && self.bundle.is_none_or(BundleKind::is_deterministic)
    }
}

/// A kind: processes with the same ports and the same function.
#[derive(Clone, Debug)]
pub struct Kind {
    /// Name, unique in the network.
    pub name: Symbol,
    /// Processes of the kind, in the order of ranks.
    pub members: Vec<ProcessId>,
    /// Ports, in the order of first appearance. Empty until [`crate::infer`] has filled it.
    pub ports: Vec<KindPort>,
    /// Position of the first process.
    pub span: Span,
}

/// A process network.
///
/// Methods that take an id panic if the id is out of range, or if an element that it refers to has
/// an id that is out of range.
#[derive(Clone, Debug, Default)]
pub struct Network {
    /// Name of the graph.
    pub name: String,
    /// Texts that the spans refer to.
    pub sources: SourceMap,
    /// Table of the names that the symbols refer to.
    pub names: Names,
    /// Kinds, in the order of their first processes.
    pub kinds: Arena<KindId, Kind>,
    /// Modules. A parent precedes its children.
    pub modules: Arena<ModuleId, Module>,
    /// Processes, in the order of ranks.
    pub processes: Arena<ProcessId, Process>,
    /// Ports. The ports of one process are contiguous, in the order of first appearance.
    pub ports: Arena<PortId, Port>,
    /// Properties of the ports that are joined to the environment, in the order of those ports.
    pub closed: Arena<ClosedId, Closed>,
    /// Channels, in source order.
    pub channels: Arena<ChannelId, Channel>,
    /// Terms of the channels.
    pub terms: Arena<TermsId, Terms>,
    /// Bundles, in the order of their ports.
    pub bundles: Arena<BundleId, Bundle>,
    /// Members of all bundles. The members of one bundle are contiguous.
    pub(crate) members: Vec<ChannelId>,
    /// Constraints on the mapping, in source order.
    pub constraints: Vec<NetworkConstraint>,
    /// OS processes with limits on the processes in them, in the order of their numbers. Empty if
    /// the source has none.
    pub boxes: Vec<Boxes>,
    /// Functions of the project that are called around the run.
    pub glue: Vec<GlueFunction>,
    /// Environment variables of the program and their values, which others may replace.
    pub environment: Vec<(String, String)>,
    /// Parameters of the kinds that have any.
    pub parameters: FxHashMap<KindId, Arc<[Parameter]>>,
    /// Arguments of the processes of these kinds, in the order of the parameters.
    pub arguments: FxHashMap<ProcessId, Vec<Value>>,
    /// `skeleton=` of the graph.
    pub skeleton: Option<(String, Span)>,
    /// First position of the text of each payload type. A type is absent if its position is known
    /// no more precisely than by the span of a channel.
    pub types: FxHashMap<Symbol, Span>,
    /// Attributes that are kept and not interpreted.
    pub attributes: NetworkAttributes,
}

/// Attributes of the elements of a network that graphmap keeps and does not interpret.
#[derive(Clone, Debug, Default)]
pub struct NetworkAttributes {
    /// All lists of attributes.
    pub lists: AttributeLists,
    /// Attributes of the graph.
    pub graph: Option<AttributesId>,
    /// Attributes of modules.
    pub modules: AttributesOf<ModuleId>,
    /// Attributes of processes.
    pub processes: AttributesOf<ProcessId>,
    /// Attributes of channels.
    pub channels: AttributesOf<ChannelId>,
    /// Attributes of ports that are joined to the environment.
    pub closed: AttributesOf<ClosedId>,
}

/// A constraint, and the processes that it applies to.
#[derive(Clone, Debug)]
pub struct NetworkConstraint {
    /// The constraint as declared.
    pub declared: ConstraintDecl,
    /// Processes that the constraint applies to, in the order of ranks.
    pub processes: Vec<ProcessId>,
}

impl Port {
    /// Returns true if the port is joined to the environment.
    pub fn is_closed(&self) -> bool {
        matches!(self.join, Join::Environment(_))
    }
}

impl Network {
    /// Returns the name of a symbol.
    ///
    /// # Panics
    /// Panics if the symbol is not in the table of names.
    pub fn name(&self, symbol: Symbol) -> &str {
        self.names.name(symbol)
    }

    /// Returns the name of a process.
    ///
    /// # Panics
    /// Panics if the process does not exist.
    pub fn process_name(&self, process: ProcessId) -> &str {
        self.name(self.processes[process].name)
    }

    /// Returns the name of the kind of a process.
    ///
    /// # Panics
    /// Panics if the process does not exist.
    pub fn kind_name(&self, process: ProcessId) -> &str {
        self.name(self.kinds[self.processes[process].kind].name)
    }

    /// Returns the full name of a port, such as `inTask1.out`.
    ///
    /// # Panics
    /// Panics if the port does not exist.
    pub fn port_name(&self, port: PortId) -> String {
        let port = &self.ports[port];
        format!(
            "{}.{}",
            self.process_name(port.process),
            self.name(port.name)
        )
    }

    /// Returns the ports of a process, in the order of first appearance.
    ///
    /// # Panics
    /// Panics if the process does not exist.
    pub fn ports_of(&self, process: ProcessId) -> impl ExactSizeIterator<Item = PortId> + use<> {
        let first = self.processes[process].first_port as usize;
        let next = self.processes.values().as_slice().get(process.index() + 1);
        let end = next.map_or(self.ports.len(), |p| p.first_port as usize);
        (first..end).map(PortId::from_index)
    }

    /// Returns the port of a process that has the name, or `None` if the process has no such port.
    /// Searches linearly.
    ///
    /// # Panics
    /// Panics if the process does not exist.
    pub fn port(&self, process: ProcessId, name: Symbol) -> Option<PortId> {
        self.ports_of(process)
            .find(|&port| self.ports[port].name == name)
    }

    /// Returns the channels of a bundle, in source order.
    ///
    /// # Panics
    /// Panics if the bundle does not exist.
    pub fn members(&self, bundle: BundleId) -> &[ChannelId] {
        let range = &self.bundles[bundle].members;
        &self.members[range.start as usize..range.end as usize]
    }

    /// Returns the channels at a port: none, one, or the members of its bundle.
    ///
    /// # Panics
    /// Panics if the port does not exist.
    pub fn channels_at(&self, port: PortId) -> &[ChannelId] {
        match &self.ports[port].join {
            Join::Channel(channel) => std::slice::from_ref(channel),
            Join::Bundle(bundle) => self.members(*bundle),
            Join::Environment(_) => &[],
        }
    }

    /// Returns the span of the first declaration that names a port.
    ///
    /// # Panics
    /// Panics if the port does not exist.
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

    /// Returns the payload type that is given where a port is joined to the environment.
    ///
    /// Returns `None` for other ports, because their channels store the type.
    ///
    /// # Panics
    /// Panics if the port does not exist.
    pub fn port_type(&self, port: PortId) -> Option<Symbol> {
        match self.ports[port].join {
            Join::Environment(closed) => self.closed[closed].ty,
            Join::Channel(_) | Join::Bundle(_) => None,
        }
    }

    /// Returns the kind of bundle that a port is, or `None` if it is not a bundle. A port joined to
    /// the environment may be a bundle without channels.
    ///
    /// # Panics
    /// Panics if the port does not exist.
    pub fn port_bundle(&self, port: PortId) -> Option<BundleKind> {
        match self.ports[port].join {
            Join::Bundle(bundle) => Some(self.bundles[bundle].kind),
            Join::Environment(closed) => self.closed[closed].bundle,
            Join::Channel(_) => None,
        }
    }

    /// Returns the terms of a channel.
    ///
    /// # Panics
    /// Panics if the channel does not exist.
    pub fn terms(&self, channel: ChannelId) -> Terms {
        self.terms[self.channels[channel].terms]
    }

    /// Returns the process that writes a channel.
    ///
    /// # Panics
    /// Panics if the channel does not exist.
    pub fn writer(&self, channel: ChannelId) -> ProcessId {
        self.ports[self.channels[channel].from].process
    }

    /// Returns the process that reads a channel.
    ///
    /// # Panics
    /// Panics if the channel does not exist.
    pub fn reader(&self, channel: ChannelId) -> ProcessId {
        self.ports[self.channels[channel].to].process
    }

    /// Returns the channels and the ports joined to the environment, merged in source order. Of
    /// equal spans, channels come first.
    ///
    /// A text that lists the channels and ports in this order preserves the order of the ports of
    /// each process. If its position in the source would not, a port has the nearest position that
    /// does.
    ///
    /// # Panics
    /// Panics if an id in the network is out of range.
    pub fn joins(&self) -> impl Iterator<Item = Joined> {
        let mut environment = self.environment().into_iter().peekable();
        let mut channels = self.channels.ids().peekable();
        std::iter::from_fn(move || {
            let next = channels.peek().map(|id| id.index());
            let sooner = |(before, _): &(usize, PortId)| next.is_none_or(|next| *before <= next);
            if let Some((_, port)) = environment.next_if(sooner) {
                return Some(Joined::Closed(port));
            }
            channels.next().map(Joined::Channel)
        })
    }

    /// Returns the ports joined to the environment, each with the index of the channel that follows
    /// it.
    fn environment(&self) -> Vec<(usize, PortId)> {
        let ports = self.ports.iter().filter(|(_, port)| port.is_closed());
        let mut ports: Vec<PortId> = ports.map(|(id, _)| id).collect();
        if ports.is_empty() {
            return Vec::new();
        }
        ports.sort_by_key(|&port| self.port_span(port));
        let mut next: FxHashMap<PortId, usize> = FxHashMap::default();
        let mut channels = self.channels.values().enumerate().peekable();
        for &port in &ports {
            let span = self.port_span(port);
            while channels
                .next_if(|(_, channel)| channel.span <= span)
                .is_some()
            {}
            let at = channels
                .peek()
                .map_or(self.channels.len(), |(index, _)| *index);
            next.insert(port, at);
        }
        for process in self.processes.ids() {
            let of_process: Vec<PortId> = self.ports_of(process).collect();
            let first = |port: PortId| self.channels_at(port).first().map(|id| id.index());
            let mut most = usize::MAX;
            for &port in of_process.iter().rev() {
                match next.get_mut(&port) {
                    Some(at) => *at = most.min(*at),
                    None => most = first(port).unwrap_or(most).min(most),
                }
            }
            let mut least = 0;
            for &port in &of_process {
                match next.get_mut(&port) {
                    Some(at) => {
                        *at = least.max(*at);
                        least = *at;
                    }
                    None => least = first(port).map_or(least, |at| least.max(at + 1)),
                }
            }
        }
        let mut all: Vec<(usize, PortId)> = ports.iter().map(|&port| (next[&port], port)).collect();
        all.sort_by_key(|(at, _)| *at);
        all
    }

    /// Returns the list of attributes of a port that is joined to the environment, or `None` for
    /// other ports.
    ///
    /// # Panics
    /// Panics if the port does not exist.
    pub fn port_attributes(&self, port: PortId) -> Option<AttributesId> {
        match self.ports[port].join {
            Join::Environment(closed) => self.attributes.closed.get(closed),
            Join::Channel(_) | Join::Bundle(_) => None,
        }
    }

    /// Returns the names and values of a list of attributes, sorted by name. Without a list, there
    /// are none.
    ///
    /// # Panics
    /// Panics if the list does not exist.
    pub fn attribute_texts(
        &self,
        list: Option<AttributesId>,
    ) -> impl ExactSizeIterator<Item = (&str, &str)> {
        self.attributes.lists.texts(&self.names, list)
    }

    /// Returns the file, line and column where a span starts, or `None` for [`Span::NONE`] and if
    /// there are no texts.
    pub fn location(&self, span: Span) -> Option<Location> {
        self.sources.location(span)
    }
}

/// A network that passed verification. Cheap to clone.
///
/// Only [`crate::verify::verify`] creates one. Therefore a `Verified` network has all properties
/// that the documentation of [`crate::verify`] lists.
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

    /// Returns the network.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// Returns the network for changes. It must be verified again afterwards.
    ///
    /// Clones the network if it is shared.
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

    /// Large networks have millions of each.
    #[test]
    fn model_types_are_small() {
        assert_eq!(size_of::<Process>(), 40);
        assert_eq!(size_of::<Port>(), 20);
        assert_eq!(size_of::<Channel>(), 32);
    }
}
