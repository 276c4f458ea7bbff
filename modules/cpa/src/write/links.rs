//! Links and intermediate ports of the compositions.
//!
//! A channel belongs to the innermost module around both ends, unless the other modules of that
//! kind lack it: then it belongs to the module around. Inner compositions are done first. Their
//! ports with channels to the outside become intermediate ports. Ports that have the same channels
//! in each module of the kind can share one.

use super::refused::{Refused, Unique};
use super::tree::{Composition, Item, Tree};
use graphmap_kpn::arena::Id;
use graphmap_kpn::declared::{Direction, ModuleId};
use graphmap_kpn::names::Symbol;
use graphmap_kpn::network::{ChannelId, KindId, Network, PortId};
use rustc_hash::{FxHashMap, FxHashSet};
use std::mem;

/// Form of the links. A form that is less short keeps the order of the channels more often.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd)]
pub(super) enum Detail {
    /// Ports with the same channels share an intermediate port.
    Short,
    /// In addition, the channels of outer compositions come before those of inner ones at each
    /// process, as in the network that the text gives.
    Ordered,
    /// In addition, each port has an intermediate port of its own.
    Each,
}

/// A port of a process, or an intermediate port of a composition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum PortOf {
    Process(Symbol),
    /// Index among the intermediate ports of the composition.
    Composition(u32),
}

/// A port of one instance of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct End {
    pub(super) part: u32,
    pub(super) index: u32,
    pub(super) port: PortOf,
}

/// A link inside of a composition.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    pub(super) from: End,
    pub(super) to: End,
    pub(super) tag: Option<i32>,
    pub(super) capacity: u32,
    /// True for flow-controlled channels.
    pub(super) is_controlled: bool,
    /// True if a loop must not contain this link and the one before it.
    pub(super) begins: bool,
    /// For the ports at both ends: true if it is a bundle, although no port has several channels.
    pub(super) is_bundle: [bool; 2],
}

/// An intermediate port.
#[derive(Debug)]
pub(super) struct Exposed {
    pub(super) name: String,
    pub(super) is_output: bool,
    pub(super) ends: Vec<End>,
}

/// The links of a composition.
#[derive(Debug, Default)]
pub(super) struct Links {
    pub(super) links: Vec<Link>,
    pub(super) exposed: Vec<Exposed>,
}

/// Ports of an instance of a composition that have the same channels.
#[derive(Debug)]
struct Open {
    end: End,
    is_output: bool,
    ports: Vec<PortId>,
    /// Channels of each of the ports.
    channels: Vec<ChannelId>,
}

/// Ends of a link, with its tag and capacity.
type Key = (End, End, Option<i32>, u32);

struct Linking<'a> {
    network: &'a Network,
    tree: &'a Tree,
    detail: Detail,
    /// Module that each channel belongs to.
    level: Vec<Option<ModuleId>>,
    /// Channels that belong to each module.
    inside: Vec<Vec<ChannelId>>,
    /// Ports of each module that have channels to the outside.
    open: Vec<Vec<Open>>,
    /// Index of each port in the list of the module that is being done.
    at: Vec<u32>,
    /// Ports of kinds that are bundles, although no process has several channels there.
    lone: FxHashSet<(KindId, Symbol)>,
    refused: &'a mut Refused,
}

/// Returns the links of each composition of the tree.
pub(super) fn links(
    network: &Network,
    tree: &Tree,
    detail: Detail,
    refused: &mut Refused,
) -> Vec<Links> {
    let mut linking = Linking {
        network,
        tree,
        detail,
        level: vec![None; network.channels.len()],
        inside: vec![Vec::new(); network.modules.len()],
        open: Vec::new(),
        at: vec![0; network.ports.len()],
        lone: lone(network),
        refused,
    };
    linking.open.resize_with(network.modules.len(), Vec::new);
    linking.levels();
    let mut all: Vec<Links> = Vec::new();
    let mut numbers: FxHashMap<Symbol, usize> = FxHashMap::default();
    for composition in &tree.compositions {
        let links = linking.composition(composition, &all, &numbers);
        numbers.insert(composition.kind, all.len());
        all.push(links);
    }
    all
}

/// Returns the ports of kinds that are bundles, although no process has several channels there.
fn lone(network: &Network) -> FxHashSet<(KindId, Symbol)> {
    let mut lone: FxHashSet<(KindId, Symbol)> = FxHashSet::default();
    for (id, kind) in network.kinds.iter() {
        let bundles = kind.ports.iter().filter(|port| port.bundle.is_some());
        lone.extend(bundles.map(|port| (id, port.name)));
    }
    for (id, port) in network.ports.iter() {
        if network.channels_at(id).len() > 1 {
            lone.remove(&(network.processes[port.process].kind, port.name));
        }
    }
    lone
}

impl Linking<'_> {
    /// Finds the module of each channel.
    fn levels(&mut self) {
        let network = self.network;
        let mut depth: Vec<u32> = Vec::with_capacity(network.modules.len());
        for module in network.modules.values() {
            depth.push(module.parent.map_or(0, |parent| depth[parent.index()] + 1));
        }
        let process = |port: PortId| network.ports[port].process;
        // Depth of the modules of the channels that follow at each process.
        let mut most = vec![u32::MAX; network.processes.len()];
        for (id, channel) in network.channels.iter().rev() {
            let ends = [channel.from, channel.to].map(process);
            let [mut a, mut b] = ends.map(|process| network.processes[process].module);
            while let (Some(one), Some(other)) = (a, b)
                && one != other
            {
                let (of_one, of_other) = (depth[one.index()], depth[other.index()]);
                if of_one >= of_other {
                    a = network.modules[one].parent;
                }
                if of_other >= of_one {
                    b = network.modules[other].parent;
                }
            }
            let (Some(mut module), Some(_)) = (a, b) else {
                let message = "a channel joins modules that no module contains";
                let help = "put these modules into a module";
                self.refused.report(message.to_owned(), channel.span, help);
                continue;
            };
            let least = ends.map(|process| most[process.index()]);
            while self.detail >= Detail::Ordered
                && depth[module.index()] > least[0].min(least[1])
                && let Some(parent) = network.modules[module].parent
            {
                module = parent;
            }
            for process in ends {
                most[process.index()] = depth[module.index()];
            }
            self.level[id.index()] = Some(module);
            self.inside[module.index()].push(id);
        }
    }

    fn composition(
        &mut self,
        composition: &Composition,
        done: &[Links],
        numbers: &FxHashMap<Symbol, usize>,
    ) -> Links {
        let instances = &composition.instances;
        let mut opens: Vec<Vec<Open>> = Vec::with_capacity(instances.len());
        let mut keys: Vec<Vec<(ChannelId, Key)>> = Vec::with_capacity(instances.len());
        let mut counts: FxHashMap<Key, usize> = FxHashMap::default();
        for &module in instances {
            let open = self.ports(module);
            for (number, one) in open.iter().enumerate() {
                for port in &one.ports {
                    self.at[port.index()] = number as u32;
                }
            }
            let mut channels = mem::take(&mut self.inside[module.index()]);
            channels.sort_unstable();
            let mut known: FxHashSet<Key> = FxHashSet::default();
            let mut list = Vec::with_capacity(channels.len());
            for id in channels {
                let channel = &self.network.channels[id];
                let end = |port: PortId| open[self.at[port.index()] as usize].end;
                let terms = self.network.terms(id);
                let key = (
                    end(channel.from),
                    end(channel.to),
                    terms.tag,
                    terms.capacity,
                );
                list.push((id, key));
                if known.insert(key) {
                    *counts.entry(key).or_default() += 1;
                }
            }
            keys.push(list);
            opens.push(open);
        }
        let is_everywhere = |key: &Key| counts[key] == instances.len();
        for (module, list) in instances.iter().zip(&keys) {
            for (id, _) in list.iter().filter(|(_, key)| !is_everywhere(key)) {
                let Some(parent) = self.network.modules[*module].parent else {
                    let name = self.network.name(composition.kind);
                    let message =
                        format!("another module of the kind `{name}` does not have this channel");
                    let span = self.network.channels[*id].span;
                    self.refused
                        .report(message, span, "give one of the modules another kind");
                    continue;
                };
                self.level[id.index()] = Some(parent);
                self.inside[parent.index()].push(*id);
            }
        }
        let mut links = Links::default();
        let mut known: FxHashSet<Key> = FxHashSet::default();
        let mut last: Option<ChannelId> = None;
        for (id, key) in keys.first().into_iter().flatten() {
            let follows = last.is_none_or(|last| last.index() + 1 == id.index());
            last = Some(*id);
            if !is_everywhere(key) || !known.insert(*key) {
                continue;
            }
            let channel = &self.network.channels[*id];
            let is_bundle = [channel.from, channel.to].map(|port| self.take_lone(port));
            let (from, to, tag, capacity) = *key;
            links.links.push(Link {
                from,
                to,
                tag,
                capacity,
                is_controlled: self.network.terms(*id).flow.is_some(),
                begins: instances.len() > 1 && !follows,
                is_bundle,
            });
        }
        links.exposed = self.expose(composition, opens, done, numbers);
        links
    }

    fn take_lone(&mut self, port: PortId) -> bool {
        let port = &self.network.ports[port];
        let kind = self.network.processes[port.process].kind;
        self.lone.remove(&(kind, port.name))
    }

    /// Returns the ports with channels of the processes and inner modules directly in a module.
    fn ports(&mut self, module: ModuleId) -> Vec<Open> {
        let network = self.network;
        let mut all = Vec::new();
        for item in &self.tree.items[module.index()] {
            match *item {
                Item::Process(process) => {
                    let place = self.tree.of_processes[process.index()];
                    for port in network.ports_of(process) {
                        let channels = network.channels_at(port);
                        if channels.is_empty() {
                            continue;
                        }
                        let of = &network.ports[port];
                        all.push(Open {
                            end: End {
                                part: place.part,
                                index: place.index,
                                port: PortOf::Process(of.name),
                            },
                            is_output: of.direction == Direction::Output,
                            ports: vec![port],
                            channels: channels.to_vec(),
                        });
                    }
                }
                Item::Module(inner) => {
                    let place = self.tree.of_modules[inner.index()];
                    for mut open in mem::take(&mut self.open[inner.index()]) {
                        (open.end.part, open.end.index) = (place.part, place.index);
                        all.push(open);
                    }
                }
            }
        }
        all
    }

    /// Finds the intermediate ports of a composition, from the ports of each of its modules.
    fn expose(
        &mut self,
        composition: &Composition,
        opens: Vec<Vec<Open>>,
        done: &[Links],
        numbers: &FxHashMap<Symbol, usize>,
    ) -> Vec<Exposed> {
        let network = self.network;
        let other = |id: ChannelId, is_output: bool| match is_output {
            true => network.channels[id].to,
            false => network.channels[id].from,
        };
        // For each end, the channels in each module.
        type Signature = Vec<(usize, PortId, Option<i32>, u32)>;
        let mut ends: Vec<(ChannelId, End, bool, Signature)> = Vec::new();
        let mut by_end: FxHashMap<End, usize> = FxHashMap::default();
        let mut outside: Vec<Vec<Open>> = Vec::with_capacity(opens.len());
        for (number, (module, list)) in composition.instances.iter().zip(opens).enumerate() {
            let mut kept = Vec::new();
            for mut open in list {
                let level = &self.level;
                open.channels
                    .retain(|id| level[id.index()] != Some(*module));
                let Some(&first) = open.channels.first() else {
                    continue;
                };
                let at = *by_end.entry(open.end).or_insert_with(|| {
                    ends.push((first, open.end, open.is_output, Vec::new()));
                    ends.len() - 1
                });
                for &id in &open.channels {
                    let terms = network.terms(id);
                    let entry = (number, other(id, open.is_output), terms.tag, terms.capacity);
                    ends[at].3.push(entry);
                }
                kept.push(open);
            }
            outside.push(kept);
        }
        ends.sort_by_key(|(first, ..)| *first);
        let mut exposed: Vec<Exposed> = Vec::new();
        let mut known: FxHashMap<(bool, Signature), usize> = FxHashMap::default();
        let mut number_of: FxHashMap<End, usize> = FxHashMap::default();
        let mut names = Unique::default();
        for (_, end, is_output, signature) in ends {
            let found = match self.detail {
                Detail::Short | Detail::Ordered => {
                    known.get(&(is_output, signature.clone())).copied()
                }
                Detail::Each => None,
            };
            let number = found.unwrap_or_else(|| {
                let base = match end.port {
                    PortOf::Process(port) => network.name(port).to_owned(),
                    PortOf::Composition(port) => {
                        let inner = numbers[&composition.parts[end.part as usize].kind];
                        done[inner].exposed[port as usize].name.clone()
                    }
                };
                exposed.push(Exposed {
                    name: names.name(&base),
                    is_output,
                    ends: Vec::new(),
                });
                exposed.len() - 1
            });
            known.insert((is_output, signature), number);
            exposed[number].ends.push(end);
            number_of.insert(end, number);
        }
        for (module, list) in composition.instances.iter().zip(outside) {
            let mut merged: Vec<Option<Open>> = Vec::new();
            merged.resize_with(exposed.len(), || None);
            for open in list {
                let number = number_of[&open.end];
                match &mut merged[number] {
                    Some(known) => known.ports.extend(open.ports),
                    none => {
                        *none = Some(Open {
                            end: End {
                                port: PortOf::Composition(number as u32),
                                ..open.end
                            },
                            ..open
                        });
                    }
                }
            }
            self.open[module.index()] = merged.into_iter().flatten().collect();
        }
        exposed
    }
}
