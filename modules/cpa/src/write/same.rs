//! Compares the network of a text with the network that was written.

use super::refused::Refused;
use graphmap_kpn::containers::{Boxes, Limit};
use graphmap_kpn::declared::{Direction, ModuleId};
use graphmap_kpn::network::{ChannelId, KindPort, Network, PortId, ProcessId, Terms};
use graphmap_kpn::source::Span;
use rustc_hash::FxHashMap;

const HELP: &str = "write the network as JSON: `--to json`";

/// Reports the differences of `read` to `network`.
pub(super) fn compare(network: &Network, read: &Network, refused: &mut Refused) {
    if !processes(network, read, refused) {
        return;
    }
    let mut comparing = Comparing {
        network,
        read,
        refused,
    };
    comparing.modules();
    comparing.kinds();
    for process in network.processes.ids() {
        comparing.arguments(process);
        for port in network.ports_of(process) {
            comparing.port(process, port);
        }
    }
    if network.channels.len() != read.channels.len() {
        let message = "the text would have other channels".to_owned();
        comparing.refused.report(message, Span::NONE, HELP);
    }
    comparing.boxes();
    if network.glue != read.glue {
        comparing.differ("glue functions", Span::NONE);
    }
    if network.environment != read.environment {
        comparing.differ("environment variables", Span::NONE);
    }
}

/// Compares the names of the processes. Returns false if they differ.
fn processes(network: &Network, read: &Network, refused: &mut Refused) -> bool {
    if network.processes.len() != read.processes.len() {
        let message = "the text would have other processes".to_owned();
        refused.report(message, Span::NONE, HELP);
        return false;
    }
    let name = |id: &ProcessId| network.process_name(*id) != read.process_name(*id);
    let Some(first) = network.processes.ids().find(name) else {
        return true;
    };
    let other = read.process_name(first);
    let message = format!(
        "the process `{}` would come after `{other}`",
        network.process_name(first)
    );
    let help = "list the processes of each module one after the other, or write the network as \
                JSON: `--to json`";
    refused.report(message, network.processes[first].span, help);
    false
}

struct Comparing<'a> {
    network: &'a Network,
    read: &'a Network,
    refused: &'a mut Refused,
}

impl Comparing<'_> {
    /// Compares the modules around each process.
    fn modules(&mut self) {
        let mut known: FxHashMap<ModuleId, ModuleId> = FxHashMap::default();
        for (id, process) in self.network.processes.iter() {
            let mut own = process.module;
            let mut other = self.read.processes[id].module;
            loop {
                let (Some(one), Some(two)) = (own, other) else {
                    if own != other {
                        self.differ("modules", process.span);
                    }
                    break;
                };
                let (module, of_read) = (&self.network.modules[one], &self.read.modules[two]);
                if let Some(known) = known.insert(one, two) {
                    if known != two {
                        self.differ("modules", module.span);
                    }
                    break;
                }
                if self.network.name(module.kind) != self.read.name(of_read.kind) {
                    self.differ("modules", module.span);
                }
                (own, other) = (module.parent, of_read.parent);
            }
        }
        if self.network.modules.len() != self.read.modules.len() {
            self.differ("modules", Span::NONE);
        }
    }

    fn differ(&mut self, what: &str, span: Span) {
        let message = format!("the text would have other {what}");
        self.refused.report(message, span, HELP);
    }

    fn kinds(&mut self) {
        let (network, read) = (self.network, self.read);
        for (kind, other) in network.kinds.values().zip(read.kinds.values()) {
            let name = network.name(kind.name);
            let port =
                |of: &Network, port: &KindPort| (of.name(port.name).to_owned(), port.direction);
            let own: Vec<(String, Direction)> =
                kind.ports.iter().map(|p| port(network, p)).collect();
            let given: Vec<(String, Direction)> =
                other.ports.iter().map(|p| port(read, p)).collect();
            if own != given {
                let names = |ports: Vec<(String, Direction)>| {
                    let names: Vec<String> = ports.into_iter().map(|(name, _)| name).collect();
                    names.join(", ")
                };
                let message = format!(
                    "the ports of the kind `{name}` would be in the order {}",
                    names(given)
                );
                let help = "declare the channels of the environment last, or write the network as \
                            JSON: `--to json`";
                self.refused.report(message, kind.span, help);
                continue;
            }
            for (one, two) in kind.ports.iter().zip(&other.ports) {
                let port = network.name(one.name);
                if one.bundle != two.bundle {
                    let of = |kind: &KindPort| match kind.bundle {
                        None => "no bundle".to_owned(),
                        Some(bundle) => format!("a `{}` bundle", bundle.name()),
                    };
                    let message = format!(
                        "the port `{port}` of the kind `{name}` would be {}",
                        of(two)
                    );
                    self.refused.report(message, one.span, HELP);
                }
                if one.flow != two.flow {
                    let flow = two.flow.map_or("no flow control".to_owned(), |flow| {
                        format!("the flow control `{}`", flow.name())
                    });
                    let message = format!(
                        "the channels at the port `{port}` of the kind `{name}` would have {flow}"
                    );
                    let help = match two.flow {
                        Some(_) => {
                            "add `flow=credits` to the channels at this port and at the ports that \
                             they lead to, or remove `capacity=`"
                        }
                        None => {
                            "remove `flow=credits`: a channel has it only if it leads to a port \
                             with several channels, at one of its ends"
                        }
                    };
                    self.refused.report(message, one.span, help);
                }
            }
        }
    }

    fn arguments(&mut self, process: ProcessId) {
        let (network, read) = (self.network, self.read);
        let span = network.processes[process].span;
        if network.kind_name(process) != read.kind_name(process) {
            self.differ("kinds", span);
        }
        let list = |of: &Network| of.attributes.processes.get(process);
        if !network
            .attribute_texts(list(network))
            .eq(read.attribute_texts(list(read)))
        {
            self.differ("functions", span);
        }
        if network.arguments.get(&process) != read.arguments.get(&process) {
            self.differ("arguments", span);
        }
    }

    /// Compares the channels at a port, in their order.
    fn port(&mut self, process: ProcessId, port: PortId) {
        let (network, read) = (self.network, self.read);
        let name = network.name(network.ports[port].name);
        let span = network.port_span(port);
        let known = read
            .names
            .get(name)
            .and_then(|name| read.port(process, name));
        let Some(other) = known else {
            return self.differ("ports", span);
        };
        let (own, given) = (network.channels_at(port), read.channels_at(other));
        let differs = own.len() != given.len()
            || own
                .iter()
                .zip(given)
                .any(|(a, b)| other_end(network, port, *a) != other_end(read, other, *b));
        let bundles = network.port_bundle(port) != read.port_bundle(other);
        if differs || bundles {
            let kind = network.kind_name(process);
            let message = format!(
                "the channels at the port `{name}` of the kind `{kind}` would have another order \
                 or other properties"
            );
            self.refused.report(message, span, HELP);
        }
    }

    fn boxes(&mut self) {
        let limits = |a: &Limit, b: &Limit| (&a.of, a.least, a.most) == (&b.of, b.least, b.most);
        let same = |a: &Boxes, b: &Boxes| {
            let all = a.limits.len() == b.limits.len()
                && a.limits.iter().zip(&b.limits).all(|(a, b)| limits(a, b));
            all && (a.count, &a.name) == (b.count, &b.name)
        };
        let (own, given) = (&self.network.boxes, &self.read.boxes);
        let both = own.iter().zip(given);
        let spans: Vec<Span> = both
            .filter(|(a, b)| !same(a, b))
            .map(|(boxes, _)| boxes.span)
            .collect();
        for span in spans {
            self.differ("limits of boxes", span);
        }
        if own.len() != given.len() {
            self.differ("boxes", Span::NONE);
        }
    }
}

/// Returns process and name of the other port of a channel, and its terms without flow control.
fn other_end(network: &Network, port: PortId, id: ChannelId) -> (ProcessId, &str, Terms) {
    let channel = &network.channels[id];
    let other = if channel.from == port {
        channel.to
    } else {
        channel.from
    };
    let other = &network.ports[other];
    let terms = Terms {
        flow: None,
        ..network.terms(id)
    };
    (other.process, network.name(other.name), terms)
}
