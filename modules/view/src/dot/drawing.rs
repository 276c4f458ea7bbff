//! A mapped network as a graph file with a picture: every process and every channel.
//!
//! The file states the network as `graphmap expand` does, with `osprocess=` on every process. The
//! frames of hosts, OS processes and modules are clusters that are not modules (`module=""`). A
//! module may be in several OS processes, and then has a frame in each.

use super::frames::{Around, Frames, Sizes};
use super::rows::rows;
use super::style::{
    BETWEEN_HOSTS, MARK, ON_ONE_HOST, OUTLINE, open_host, open_os_process, own_color, own_label,
    own_style, quoted,
};
use crate::shown::number;
use crate::text::width;
use crate::{Detail, Scene};
use graphmap_dot::write::{self, word};
use graphmap_kpn::arena::Id;
use graphmap_kpn::attributes::AttributesId;
use graphmap_kpn::declared::{Constraint, Direction, ModuleId, kind_of_name, without_cluster};
use graphmap_kpn::mapping::{Mapped, OsProcessId};
use graphmap_kpn::network::{ChannelId, Join, Network, PortId, ProcessId};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write;

/// Largest number of channels of which each has the names of its ports at its ends.
const MOST_PORT_NAMES: usize = 24;
/// Largest number of channels of a network in which bundles have their kinds at their ports.
const MOST_BUNDLE_KINDS: usize = 48;
const FONT_SIZE: f64 = 11.0;
const INCH: f64 = 72.0;
/// Least distance between rows in inches.
const ROW_GAP: f64 = 0.35;

/// Returns the graph file of a mapped network with all processes.
pub(super) fn draw(mapped: &Mapped) -> String {
    write::to_drawing(mapped.network(), &Drawing::new(mapped))
}

struct Drawing<'m> {
    mapped: &'m Mapped,
    scene: Scene,
    frames: Frames,
    rows: Vec<usize>,
    /// Distance between rows in inches.
    apart: f64,
    /// Names of the nodes for the environment, by port.
    environment: HashMap<PortId, String>,
    /// Bundle kinds and port names at the ends of channels: of the writer, of the reader.
    ends: HashMap<ChannelId, [String; 2]>,
    /// Processes that the network itself confines to an OS process.
    confined: HashSet<ProcessId>,
    /// Labels that several modules have, because they are repeated.
    repeated: HashSet<&'m str>,
    most_traffic: f64,
}

impl<'m> Drawing<'m> {
    fn new(mapped: &'m Mapped) -> Drawing<'m> {
        let network: &Network = mapped.network();
        let turned = value(network, network.attributes.graph, "rankdir")
            .is_some_and(|to| matches!(to, "LR" | "RL"));
        let widths = network.processes.ids().map(|id| process_width(network, id));
        let widest = widths.fold(0.0, f64::max);
        let scene = Scene::of(mapped, Detail::Processes);
        let frames = Frames::of(mapped, &scene);
        let hosts: Vec<Vec<usize>> = scene.hosts.iter().map(|h| h.os_processes.clone()).collect();
        let sizes = Sizes {
            along: if turned { 0.5 } else { widest + 0.3 },
            across: if turned { widest + 0.5 } else { 0.65 },
            lane: 0.12,
            margin: if turned { 0.5 } else { 0.25 },
            label: if turned { 0.2 } else { 0.3 },
            turned,
        };
        let processes = network.processes.ids();
        let taken: HashSet<&str> = processes.map(|id| network.process_name(id)).collect();
        let mut fresh = (1..).map(|n| format!("NULL{n}"));
        let mut environment = HashMap::new();
        for (id, port) in network.ports.iter() {
            if port.is_closed() {
                let name = fresh.by_ref().find(|name| !taken.contains(name.as_str()));
                environment.extend(name.map(|name| (id, name)));
            }
        }
        let confined = network.constraints.iter().filter(|constraint| {
            matches!(constraint.declared.constraint, Constraint::OsProcess(_))
        });
        let traffic = network.channels.values().map(|channel| channel.traffic);
        let (rows, more) = rows(mapped, &frames, &hosts, sizes);
        Drawing {
            mapped,
            rows,
            apart: ROW_GAP + more,
            scene,
            frames,
            environment,
            ends: ends(network),
            confined: confined.flat_map(|c| c.processes.iter().copied()).collect(),
            repeated: repeated(network),
            most_traffic: traffic.fold(0.0, f64::max),
        }
    }

    /// Returns true if channels differ in their traffic.
    fn uneven(&self) -> bool {
        let traffic = self.mapped.network().channels.values().map(|c| c.traffic);
        traffic.fold(self.most_traffic, f64::min) < self.most_traffic
    }

    /// Returns the class of the distance between the ends of a channel as a colour, or `None` if
    /// both are in one OS process.
    fn distance(&self, id: ChannelId) -> Option<&'static str> {
        let network = self.mapped.network();
        let mapping = self.mapped.mapping();
        let [from, to] = [network.writer(id), network.reader(id)].map(|end| mapping.of(end));
        let host = |os_process: OsProcessId| &mapping.bindings[os_process].host;
        match from == to {
            true => None,
            false if host(from) == host(to) => Some(ON_ONE_HOST),
            false => Some(BETWEEN_HOSTS),
        }
    }

    /// Opens the frame of a part of a module.
    fn open_module(&self, out: &mut String, id: ModuleId, index: usize) {
        let network = self.mapped.network();
        let module = &network.modules[id];
        let list = network.attributes.modules.get(id);
        let name = network.name(module.name);
        let bare = without_cluster(name).map_or(name, |rest| rest.trim_start_matches('_'));
        let own = value(network, list, "label").filter(|label| !self.repeated.contains(label));
        let label = match own.and_then(own_label) {
            Some(label) => label,
            // A number is not a name.
            None if bare.starts_with(|c: char| c.is_ascii_digit()) => {
                quoted(&format!("{} {bare}", network.name(module.kind)))
            }
            None => quoted(if bare.is_empty() { name } else { bare }),
        };
        let color = value(network, list, "color").and_then(own_color);
        let color = color.unwrap_or_else(|| quoted(OUTLINE));
        let _ = writeln!(
            out,
            "            subgraph cluster_module_{index} {{ module=\"\";"
        );
        let _ = writeln!(
            out,
            "            label={label}; style=solid; bgcolor=\"#ffffff80\"; pencolor={color};"
        );
    }

    /// Writes a process and the nodes for the environment at its ports.
    fn nodes(&self, out: &mut String, id: ProcessId) {
        let network = self.mapped.network();
        let _ = write!(out, "            {};", word(network.process_name(id)));
        for port in network.ports_of(id) {
            if let Some(name) = self.environment.get(&port) {
                let direction = match network.ports[port].direction {
                    Direction::Input => "in",
                    Direction::Output => "out",
                };
                let _ = write!(out, " {name} [port={direction}, shape=point, width=0.08];");
            }
        }
        out.push('\n');
    }
}

impl write::Drawing for Drawing<'_> {
    fn head(&self) -> String {
        let mut out = format!("    {MARK}\n");
        out += "    // A drawing with its mapping: graphmap reads it again. Clusters with `module=\"\"` are\n";
        out += "    // frames of the picture. `osprocess=` maps a process.\n";
        out += "    allow=\"G0237\";\n";
        let _ = writeln!(
            out,
            "    graph [newrank=true, nslimit=2, fontname=\"Helvetica\", fontsize=12, nodesep=0.2, ranksep={:.2}];",
            self.apart
        );
        let _ = writeln!(
            out,
            "    node [shape=box, style=\"rounded,filled\", fillcolor=white, fontname=\"Helvetica\", fontsize={FONT_SIZE}, height=0.3, width=0.5, margin=\"0.08,0.04\"];"
        );
        out += "    edge [fontname=\"Helvetica\", fontsize=9, arrowsize=0.7, labelfontsize=8, labelfontcolor=\"#444444\"];\n";
        out
    }

    fn frames(&self) -> String {
        let mut out = String::new();
        enum Step {
            Open(usize),
            Close,
        }
        let inner = |frame: usize| self.frames.0[frame].frames.iter().rev();
        let mut steps: Vec<Step> = inner(0).map(|&frame| Step::Open(frame)).collect();
        while let Some(step) = steps.pop() {
            let Step::Open(index) = step else {
                out.push_str("    }\n");
                continue;
            };
            let frame = &self.frames.0[index];
            match frame.around {
                Around::Picture => {}
                Around::Host(h) => open_host(&mut out, h, &self.scene.hosts[h]),
                Around::OsProcess(o) => {
                    open_os_process(&mut out, o, &self.scene.os_processes[o]);
                }
                Around::Module(id) => self.open_module(&mut out, id, index),
            }
            for &process in &frame.processes {
                self.nodes(&mut out, Id::from_index(process));
            }
            steps.push(Step::Close);
            steps.extend(inner(index).map(|&frame| Step::Open(frame)));
        }
        let network = self.mapped.network();
        let mut same: BTreeMap<usize, Vec<String>> = BTreeMap::new();
        for (process, &row) in self.rows.iter().enumerate() {
            let id = ProcessId::from_index(process);
            let name = word(network.process_name(id));
            same.entry(row).or_default().push(name);
            for port in network.ports_of(id) {
                let Some(name) = self.environment.get(&port) else {
                    continue;
                };
                let beside = match network.ports[port].direction {
                    Direction::Input => row.checked_sub(1),
                    Direction::Output => Some(row + 1),
                };
                if let Some(beside) = beside {
                    same.entry(beside).or_default().push(name.clone());
                }
            }
        }
        for names in same.into_values().filter(|names| names.len() > 1) {
            let _ = writeln!(out, "    {{ rank=same; {}; }}", names.join("; "));
        }
        out
    }

    fn process(&self, id: ProcessId) -> String {
        let network = self.mapped.network();
        let mut out = String::new();
        if !self.confined.contains(&id) {
            let _ = write!(out, " osprocess={}", self.mapped.mapping().of(id));
        }
        let list = network.attributes.processes.get(id);
        let (name, kind) = (network.process_name(id), network.kind_name(id));
        let differs = kind_of_name(name) != kind;
        let own = value(network, list, "label").and_then(own_label);
        if own.is_none() && (differs || name.contains('\\')) {
            let label = if differs {
                format!("{name}\n{kind}")
            } else {
                name.to_owned()
            };
            let _ = write!(out, " label={}", quoted(&label));
        }
        out
    }

    fn channel(&self, id: ChannelId) -> String {
        let network = self.mapped.network();
        let list = network.attributes.channels.get(id);
        let channel = &network.channels[id];
        let distance = self.distance(id);
        let mut out = String::new();
        let share = match self.most_traffic > 0.0 {
            true => channel.traffic / self.most_traffic,
            false => 0.0,
        };
        // All channels of the same traffic are thin.
        let wide = if self.uneven() { share * 3.0 } else { 0.0 };
        let bold = if distance.is_some() { 1.0 } else { 0.0 };
        let penwidth = number(1.0 + wide + bold);
        let _ = write!(out, " penwidth={penwidth}");
        if let Some(colour) = distance {
            let _ = write!(out, " color=\"{colour}\"");
        }
        let style = value(network, list, "style").and_then(|style| own_style(style, true));
        if network.terms(id).flow.is_some() && style.is_none() {
            out += " style=dashed";
        }
        let [from, to] = [network.writer(id), network.reader(id)].map(|p| self.rows[p.index()]);
        match to.checked_sub(from) {
            Some(0) | None => out += " constraint=false",
            Some(1) => {}
            Some(rows) => {
                let _ = write!(out, " minlen={rows}");
            }
        }
        if let Some(ends) = self.ends.get(&id) {
            for (place, text) in [("tail", &ends[0]), ("head", &ends[1])] {
                if !text.is_empty() {
                    let _ = write!(out, " {place}label={}", quoted(text));
                }
            }
        }
        let _ = write!(out, " tooltip={}", quoted(&tooltip(network, id)));
        out
    }

    fn drawn(&self, name: &str, value: &str, of_edge: bool) -> Option<String> {
        match name {
            "label" => own_label(value),
            "color" | "fillcolor" => own_color(value),
            "style" => own_style(value, of_edge),
            _ => Some(word(value)),
        }
    }

    fn closed(&self, id: PortId) -> (String, String) {
        let name = self.environment.get(&id).cloned();
        (name.unwrap_or_default(), String::new())
    }
}

/// Returns the value of an attribute of a list.
fn value<'n>(network: &'n Network, list: Option<AttributesId>, name: &str) -> Option<&'n str> {
    let found = list.map(|list| network.attribute_texts(Some(list)));
    found?
        .find(|(known, _)| *known == name)
        .map(|(_, value)| value)
}

/// Returns the labels that several modules have.
fn repeated(network: &Network) -> HashSet<&str> {
    let lists = network
        .modules
        .ids()
        .map(|id| network.attributes.modules.get(id));
    let labels = lists.filter_map(|list| value(network, list, "label"));
    let mut known = HashSet::new();
    labels.filter(|label| !known.insert(*label)).collect()
}

/// Returns the width of the box of a process in inches.
fn process_width(network: &Network, id: ProcessId) -> f64 {
    let name = width(network.process_name(id), FONT_SIZE);
    let kind = width(network.kind_name(id), FONT_SIZE);
    (name.max(kind) / INCH + 0.16).max(0.5)
}

/// Returns the texts at the ends of channels. A bundle has the name of its kind at its first
/// channel, unless there are many channels. If there are few, ports whose names are not the default
/// have their names.
fn ends(network: &Network) -> HashMap<ChannelId, [String; 2]> {
    let mut ends: HashMap<ChannelId, [String; 2]> = HashMap::new();
    if network.channels.len() <= MOST_PORT_NAMES {
        for (id, channel) in network.channels.iter() {
            let texts = [(channel.from, "out"), (channel.to, "in")].map(|(port, usual)| {
                let port = &network.ports[port];
                let name = network.name(port.name);
                let shown = name != usual && matches!(port.join, Join::Channel(_));
                if shown {
                    name.to_owned()
                } else {
                    String::new()
                }
            });
            ends.insert(id, texts);
        }
    }
    if network.channels.len() > MOST_BUNDLE_KINDS {
        return ends;
    }
    for (id, bundle) in network.bundles.iter() {
        let Some(&first) = network.members(id).first() else {
            continue;
        };
        let port = &network.ports[bundle.port];
        let name = network.name(port.name);
        let text = match name {
            "in" | "out" => bundle.kind.name().to_owned(),
            name => format!("{name}: {}", bundle.kind.name()),
        };
        let end = usize::from(port.direction == Direction::Input);
        ends.entry(first).or_default()[end] = text;
    }
    ends
}

/// Returns the text that appears when the pointer is on a channel.
fn tooltip(network: &Network, id: ChannelId) -> String {
    let channel = &network.channels[id];
    let [from, to] = [channel.from, channel.to].map(|port| network.port_name(port));
    let mut text = format!("{from} to {to}");
    if let Some(ty) = channel.ty {
        let _ = write!(text, ", {}", network.name(ty));
    }
    for port in [channel.from, channel.to] {
        if let Some(kind) = network.port_bundle(port) {
            let _ = write!(text, ", {}", kind.name());
        }
    }
    let terms = network.terms(id);
    if terms.flow.is_some() {
        text.push_str(", flow-controlled");
    }
    let _ = write!(text, ", traffic {}", number(channel.traffic));
    text
}
