//! Contents of the pictures of a mapped network: hosts, OS processes, nodes, and flows between
//! nodes.

use crate::shown::{Detail, total};
use graphmap_kpn::arena::Id;
use graphmap_kpn::mapping::{Mapped, OsProcessId};
use graphmap_kpn::network::{ChannelId, KindId, ProcessId};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Contents of a picture of a mapped network.
#[derive(Clone, Debug)]
pub struct Scene {
    /// Hosts in the order of their first OS process. The name is empty if the launcher chooses the
    /// host.
    pub hosts: Vec<Host>,
    /// OS processes by their number.
    pub os_processes: Vec<OsProcess>,
    /// Nodes in the order of ranks.
    pub nodes: Vec<SceneNode>,
    /// Flows between nodes, in the order of their first channel.
    pub flows: Vec<Flow>,
}

/// A host of the picture.
#[derive(Clone, Debug)]
pub struct Host {
    /// Its name.
    pub name: String,
    /// Numbers of its OS processes, ascending.
    pub os_processes: Vec<usize>,
}

/// An OS process of the picture.
#[derive(Clone, Debug, Default)]
pub struct OsProcess {
    /// Sum of the loads of its processes.
    pub load: f64,
    /// Number of processes in it.
    pub processes: usize,
    /// Its nodes, by index in [`Scene::nodes`].
    pub nodes: Vec<usize>,
    /// Cores to which it is bound.
    pub cores: Vec<u32>,
}

/// A node of the picture: a process, or all processes of a kind in one OS process.
#[derive(Clone, Debug)]
pub struct SceneNode {
    /// Its text.
    pub label: String,
    /// Name of the kind.
    pub kind: String,
    /// Number of the OS process.
    pub os_process: usize,
    /// Number of processes that it represents.
    pub processes: usize,
    /// Sum of their loads.
    pub load: f64,
}

/// All channels from one node of the picture to another.
#[derive(Clone, Copy, Debug)]
pub struct Flow {
    /// Index of the writing node.
    pub from: usize,
    /// Index of the reading node.
    pub to: usize,
    /// Number of channels that it represents.
    pub channels: usize,
    /// Sum of their traffic.
    pub traffic: f64,
    /// Whether any of them is flow-controlled.
    pub controlled: bool,
}

impl Scene {
    /// Returns the contents of a picture of a mapped network. Linear in the size of the network.
    pub fn of(mapped: &Mapped, detail: Detail) -> Scene {
        let (network, mapping) = (mapped.network(), mapped.mapping());
        let mut scene = Scene {
            hosts: Vec::new(),
            os_processes: vec![OsProcess::default(); mapping.bindings.len()],
            nodes: Vec::new(),
            flows: Vec::new(),
        };
        let mut known: FxHashMap<&str, usize> = FxHashMap::default();
        for (i, binding) in mapping.bindings.values().enumerate() {
            scene.os_processes[i].cores.clone_from(&binding.cores);
            let name = binding.host.as_deref().unwrap_or_default();
            let host = *known.entry(name).or_insert(scene.hosts.len());
            if host == scene.hosts.len() {
                scene.hosts.push(Host {
                    name: name.to_owned(),
                    os_processes: Vec::new(),
                });
            }
            scene.hosts[host].os_processes.push(i);
        }
        let mut node_of: Vec<usize> = Vec::with_capacity(network.processes.len());
        let mut group: FxHashMap<(OsProcessId, KindId), usize> = FxHashMap::default();
        for (id, process) in network.processes.iter() {
            let os_process = mapping.of(id);
            let made = scene.nodes.len();
            let node = match detail {
                Detail::Processes => made,
                Detail::Kinds => *group.entry((os_process, process.kind)).or_insert(made),
            };
            if node == made {
                scene.nodes.push(SceneNode {
                    label: label(mapped, id, detail),
                    kind: network.kind_name(id).to_owned(),
                    os_process: os_process.index(),
                    processes: 0,
                    load: 0.0,
                });
                scene.os_processes[os_process.index()].nodes.push(node);
            }
            scene.nodes[node].processes += 1;
            add(&mut scene.nodes[node].load, process.load);
            let home = &mut scene.os_processes[os_process.index()];
            home.processes += 1;
            add(&mut home.load, process.load);
            node_of.push(node);
        }
        scene.add_flows(mapped, &node_of);
        scene
    }

    fn add_flows(&mut self, mapped: &Mapped, node_of: &[usize]) {
        let network = mapped.network();
        let ends = |c: ChannelId| {
            (
                node_of[network.writer(c).index()],
                node_of[network.reader(c).index()],
            )
        };
        let mut known: FxHashMap<(usize, usize), usize> = FxHashMap::default();
        for (id, channel) in network.channels.iter() {
            let (from, to) = ends(id);
            let made = self.flows.len();
            let flow = *known.entry((from, to)).or_insert(made);
            if flow == made {
                self.flows.push(Flow {
                    from,
                    to,
                    channels: 0,
                    traffic: 0.0,
                    controlled: false,
                });
            }
            self.flows[flow].channels += 1;
            add(&mut self.flows[flow].traffic, channel.traffic);
            self.flows[flow].controlled |= network.terms(id).flow.is_some();
        }
    }

    /// Returns the sum of the traffic from one OS process to another, by their numbers (writer,
    /// reader). Pairs without a channel and traffic within an OS process are not included.
    pub fn cut(&self) -> BTreeMap<(usize, usize), f64> {
        let mut cut = BTreeMap::new();
        for flow in &self.flows {
            let (a, b) = (
                self.nodes[flow.from].os_process,
                self.nodes[flow.to].os_process,
            );
            if a != b {
                add(cut.entry((a, b)).or_default(), flow.traffic);
            }
        }
        cut
    }
}

fn add(sum: &mut f64, value: f64) {
    *sum = total([*sum, value].into_iter());
}

fn label(mapped: &Mapped, process: ProcessId, detail: Detail) -> String {
    match detail {
        Detail::Processes => mapped.network().process_name(process).to_owned(),
        Detail::Kinds => mapped.network().kind_name(process).to_owned(),
    }
}
