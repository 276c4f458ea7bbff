//! Summary of a network: kinds with their ports, modules, and channels between kinds.

use super::check::plural;
use crate::visible;
use graphmap_kpn::arena::Id;
use graphmap_kpn::declared::Direction;
use graphmap_kpn::network::Network;
use serde_json::json;
use std::collections::BTreeMap;

/// Modules and channels of a network, counted by kind.
pub(crate) struct Summary<'n> {
    /// Kinds of modules in order of first appearance, with the number of modules of each.
    modules: Vec<(&'n str, usize)>,
    /// Numbers of channels and traffic between two kinds, in the order of their ids.
    flows: BTreeMap<(usize, usize), (usize, f64)>,
    /// Whether the network is deterministic, as far as the graph shows. The time at which a writer
    /// notices the end of its reader is not considered.
    deterministic: bool,
}

impl<'n> Summary<'n> {
    pub(crate) fn of(network: &'n Network) -> Summary<'n> {
        let mut modules: Vec<(&str, usize)> = Vec::new();
        let mut index = BTreeMap::new();
        for module in network.modules.values() {
            let at = *index.entry(module.kind).or_insert_with(|| {
                modules.push((network.name(module.kind), 0));
                modules.len() - 1
            });
            modules[at].1 += 1;
        }
        let mut flows = BTreeMap::new();
        for (id, channel) in network.channels.iter() {
            let kind = |process| network.processes[process].kind.index();
            let ends = (kind(network.writer(id)), kind(network.reader(id)));
            let flow: &mut (usize, f64) = flows.entry(ends).or_default();
            flow.0 += 1;
            flow.1 += channel.traffic;
        }
        for (_, traffic) in flows.values_mut() {
            *traffic = rounded(*traffic);
        }
        let mut ports = network.kinds.values().flat_map(|kind| &kind.ports);
        let deterministic = ports.all(|port| port.is_deterministic());
        Summary {
            modules,
            flows,
            deterministic,
        }
    }

    pub(crate) fn text(&self, network: &Network) -> String {
        let mut text = format!(
            "{}: {}, {}, {}{}\n",
            visible::name(&network.name),
            plural(network.processes.len(), "process"),
            plural(network.channels.len(), "channel"),
            plural(network.bundles.len(), "bundle"),
            if self.deterministic {
                "; deterministic, unless a reader ends early"
            } else {
                "; not deterministic"
            },
        );
        for (kind, count) in &self.modules {
            text += &format!("module {} x {count}\n", visible::name(kind));
        }
        for kind in network.kinds.values() {
            let name = visible::name(network.name(kind.name));
            let load = sum(kind.members.iter().map(|&m| network.processes[m].load));
            text += &format!("\nkind {name} x {}, load {load}\n", kind.members.len());
            for port in &kind.ports {
                let verb = match port.direction {
                    Direction::Input => "reads",
                    Direction::Output => "writes",
                };
                text += &format!("  {verb} {}", visible::name(network.name(port.name)));
                if let Some(ty) = port.ty {
                    text += &format!(": {}", visible::name(network.name(ty)));
                }
                if let Some(bundle) = port.bundle {
                    text += &format!(" ({})", bundle.name());
                }
                text.push('\n');
            }
        }
        text.push('\n');
        let kind =
            |index: usize| visible::name(network.name(network.kinds[Id::from_index(index)].name));
        for ((from, to), (count, traffic)) in &self.flows {
            let channels = plural(*count, "channel");
            text += &format!(
                "{} -> {}: {channels}, traffic {traffic}\n",
                kind(*from),
                kind(*to)
            );
        }
        text
    }

    pub(crate) fn json(&self, network: &Network) -> String {
        let kind = |index: usize| network.name(network.kinds[Id::from_index(index)].name);
        let modules = self.modules.iter();
        let kinds = network.kinds.values().map(|k| {
            let ports = k.ports.iter().map(|port| {
                json!({
                    "name": network.name(port.name),
                    "direction": port.direction,
                    "type": port.ty.map(|ty| network.name(ty)),
                    "bundle": port.bundle.map(|b| b.name()),
                })
            });
            json!({
                "name": network.name(k.name),
                "count": k.members.len(),
                "load": sum(k.members.iter().map(|&m| network.processes[m].load)),
                "ports": ports.collect::<Vec<_>>(),
            })
        });
        let flows = self.flows.iter().map(|((from, to), (count, traffic))| {
            json!({"from": kind(*from), "to": kind(*to), "channels": count, "traffic": traffic})
        });
        let value = json!({
            "name": network.name,
            "processes": network.processes.len(),
            "channels": network.channels.len(),
            "bundles": network.bundles.len(),
            "deterministic": self.deterministic,
            "modules": modules.map(|(k, n)| json!({"kind": k, "count": n})).collect::<Vec<_>>(),
            "kinds": kinds.collect::<Vec<_>>(),
            "flows": flows.collect::<Vec<_>>(),
        });
        visible::json(&value, true) + "\n"
    }
}

/// Returns the sum of numbers, rounded to twelve significant digits.
fn sum(numbers: impl Iterator<Item = f64>) -> f64 {
    rounded(numbers.sum::<f64>())
}

/// Rounds a number to twelve significant digits, which removes the error that sums of decimals have
/// in their last digits.
fn rounded(number: f64) -> f64 {
    // Adding 0 avoids -0, the sum of an empty iterator.
    let shown = format!("{:.11e}", number + 0.0);
    shown.parse().unwrap_or(number)
}

#[cfg(test)]
mod tests {
    use super::sum;

    #[test]
    fn sums_have_the_digits_of_what_is_added() {
        for (numbers, shown) in [
            (&[][..], "0"),
            (&[0.04; 9], "0.36"),
            (&[0.1, 0.2], "0.3"),
            (&[1e9, 0.5], "1000000000.5"),
            (&[1e300; 3], &format!("{}", 3e300)),
        ] {
            assert_eq!(sum(numbers.iter().copied()).to_string(), *shown);
        }
    }
}
