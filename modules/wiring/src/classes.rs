//! Classes of similar channels, which describe them together.
//!
//! Channels of a class join the same two ports of the same two kinds. They have the same type,
//! capacity, initial tokens, tag and flow control. The processes that they join, and their
//! positions in the graph, are sequences of integers.

use crate::attributes::{AttributeModel, attributes};
use crate::positions::positions;
use crate::sequence::encode;
use graphmap_kpn::arena::Id;
use graphmap_kpn::declared::Flow;
use graphmap_kpn::names::Symbol;
use graphmap_kpn::network::{ChannelId, Join, KindId, Network, PortId};
use graphmap_kpn::source::Span;
use rustc_hash::FxHashMap;

/// One end of a class: a port of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ClassEnd {
    pub(crate) kind: KindId,
    /// Index in the ports of the kind.
    pub(crate) port: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    from: ClassEnd,
    to: ClassEnd,
    ty: Option<Symbol>,
    capacity: u32,
    initial: u32,
    tag: Option<i32>,
    flow: Option<Flow>,
}

/// Class of channels, in the order of the source.
#[derive(Clone, Debug)]
pub(crate) struct Class {
    pub(crate) from: ClassEnd,
    pub(crate) to: ClassEnd,
    pub(crate) ty: Option<Symbol>,
    pub(crate) capacity: u32,
    pub(crate) initial: u32,
    pub(crate) tag: Option<i32>,
    pub(crate) flow: Option<Flow>,
    pub(crate) count: usize,
    /// Number of the writing process within its kind, for each channel.
    pub(crate) from_index: String,
    pub(crate) to_index: String,
    /// Number of the member in the bundle of the writing end, for each channel. Empty if that port
    /// is not a bundle.
    pub(crate) from_slot: String,
    pub(crate) to_slot: String,
    pub(crate) line: String,
    pub(crate) column: String,
    pub(crate) attributes: Vec<AttributeModel>,
}

/// Returns all classes, in the order of their first channels. Linear in the size of the network.
pub(crate) fn classes(network: &Network) -> Vec<Class> {
    let index_in_kind = indices_in_kinds(network);
    let port_in_kind = ports_in_kinds(network);
    let slots = slots(network);
    let spans: Vec<Span> = network.channels.values().map(|c| c.span).collect();
    let positions = positions(&network.sources, &spans);

    let end = |port: PortId| ClassEnd {
        kind: network.processes[network.ports[port].process].kind,
        port: port_in_kind[port.index()],
    };
    let mut class_of: FxHashMap<Key, usize> = FxHashMap::default();
    let mut members: Vec<(Key, Vec<ChannelId>)> = Vec::new();
    for (id, channel) in network.channels.iter() {
        let terms = network.terms(id);
        let key = Key {
            from: end(channel.from),
            to: end(channel.to),
            ty: channel.ty,
            capacity: terms.capacity,
            initial: terms.initial,
            tag: terms.tag,
            flow: terms.flow,
        };
        let class = *class_of.entry(key).or_insert_with(|| {
            members.push((key, Vec::new()));
            members.len() - 1
        });
        members[class].1.push(id);
    }

    let process = |port: PortId| index_in_kind[network.ports[port].process.index()];
    let mut values = Vec::new();
    let mut sequence = |channels: &[ChannelId], value: &dyn Fn(ChannelId) -> u32| {
        values.clear();
        values.extend(channels.iter().map(|&channel| value(channel)));
        encode(&values)
    };
    let bundled = |end: ClassEnd| {
        network.kinds[end.kind].ports[end.port as usize]
            .bundle
            .is_some()
    };
    members
        .into_iter()
        .map(|(key, channels)| Class {
            from: key.from,
            to: key.to,
            ty: key.ty,
            capacity: key.capacity,
            initial: key.initial,
            tag: key.tag,
            flow: key.flow,
            count: channels.len(),
            from_index: sequence(&channels, &|c| process(network.channels[c].from)),
            to_index: sequence(&channels, &|c| process(network.channels[c].to)),
            from_slot: match bundled(key.from) {
                true => sequence(&channels, &|c| slots[c.index()].0),
                false => String::new(),
            },
            to_slot: match bundled(key.to) {
                true => sequence(&channels, &|c| slots[c.index()].1),
                false => String::new(),
            },
            line: sequence(&channels, &|c| positions[c.index()].0),
            column: sequence(&channels, &|c| positions[c.index()].1),
            attributes: attributes(network, || {
                let lists = &network.attributes.channels;
                channels.iter().map(|&channel| lists.get(channel))
            }),
        })
        .collect()
}

/// Returns the number of each process within its kind, from 0, by the index of the process.
fn indices_in_kinds(network: &Network) -> Vec<u32> {
    let mut index = vec![0; network.processes.len()];
    for kind in network.kinds.values() {
        for (i, process) in kind.members.iter().enumerate() {
            index[process.index()] = i as u32;
        }
    }
    index
}

/// Returns the number of each port among the ports of its kind, from 0, by the index of the port.
fn ports_in_kinds(network: &Network) -> Vec<u32> {
    let mut index = vec![0; network.ports.len()];
    for kind in network.kinds.values() {
        let by_name: FxHashMap<Symbol, u32> = kind.ports.iter().map(|p| p.name).zip(0..).collect();
        for &process in &kind.members {
            for port in network.ports_of(process) {
                // Verification guarantees that the kind has every port of its processes.
                index[port.index()] = by_name[&network.ports[port].name];
            }
        }
    }
    index
}

/// Returns the number of each channel in the bundles at its writing and at its reading end, from 0.
/// The number is 0 without a bundle.
fn slots(network: &Network) -> Vec<(u32, u32)> {
    let mut slots = vec![(0, 0); network.channels.len()];
    for (id, bundle) in network.bundles.iter() {
        debug_assert!(matches!(network.ports[bundle.port].join, Join::Bundle(b) if b == id));
        for (slot, channel) in (0..).zip(network.members(id)) {
            let both = &mut slots[channel.index()];
            if network.channels[*channel].from == bundle.port {
                both.0 = slot;
            } else {
                both.1 = slot;
            }
        }
    }
    slots
}
