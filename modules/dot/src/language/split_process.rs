//! Attributes on several nodes of one split process.
//!
//! Nodes with the same `process=` are one process, so their attributes must agree. The model
//! compares their kinds and modules. It cannot compare the other attributes, because only the graph
//! shows whether a value is explicit or a default.

use super::explicit::Explicit;
use super::keys::Key;
use super::reading::{Reading, node_id};
use super::value;
use crate::codes;
use crate::events::Attribute;
use graphmap_kpn::diagnostic::Diagnostic;
use graphmap_kpn::names::Symbol;
use hashbrown::HashMap;
use hashbrown::hash_map::Entry;

/// Returns true for the keys that are compared between the nodes of a process, and of which a
/// process has at most one value. Returns false for all others: a process may be in several
/// `colocate` and `separate` groups.
fn is_single(key: Key) -> bool {
    use Key::{Hold, Host, Load, Mem, OsProcess};
    matches!(key, Load | Mem | Host | OsProcess | Hold)
}

impl Explicit {
    /// Reports contradicting values on nodes of one process. Copies an explicit load or memory size
    /// to all nodes of the process, so that it overrides their defaults. Of several, the first one
    /// counts.
    pub(super) fn join_split_processes(&self, reading: &mut Reading<'_>) {
        if reading.out.nodes.values().all(|n| n.process.is_none()) {
            return;
        }
        let mut explicit: HashMap<(Symbol, Key), (u32, Attribute)> = HashMap::new();
        for (number, attribute) in self.attributes() {
            let Some(process) = reading.out.nodes[node_id(number)].process else {
                continue;
            };
            let Some(key) = Key::of(&reading.text.value(attribute.name)).filter(|k| is_single(*k))
            else {
                continue;
            };
            match explicit.entry((process, key)) {
                Entry::Vacant(entry) => drop(entry.insert((number, attribute))),
                Entry::Occupied(entry) => {
                    let (earlier, first) = *entry.get();
                    if earlier != number {
                        reading.report_split_process(key, (earlier, first), (number, attribute));
                    }
                }
            }
        }
        let costs = explicit.iter().filter_map(|(of, (number, _))| {
            let node = &reading.out.nodes[node_id(*number)];
            match of.1 {
                Key::Load => Some((*of, node.load)),
                Key::Mem => Some((*of, node.mem)),
                _ => None,
            }
        });
        let costs: HashMap<(Symbol, Key), f64> = costs.collect();
        for node in reading.out.nodes.values_mut() {
            let Some(process) = node.process else {
                continue;
            };
            if let Some(load) = costs.get(&(process, Key::Load)) {
                node.load = *load;
            }
            if let Some(mem) = costs.get(&(process, Key::Mem)) {
                node.mem = *mem;
            }
        }
    }
}

impl Reading<'_> {
    /// Reports an attribute on two nodes of one process, unless the values mean the same or one is
    /// invalid. `first` and `again` are the numbers of the nodes and their attributes.
    pub(super) fn report_split_process(
        &mut self,
        key: Key,
        first: (u32, Attribute),
        again: (u32, Attribute),
    ) {
        let [a, b] = [first.1.value, again.1.value].map(|value| self.text.value(value));
        if value::same(key, &a, &b) {
            return;
        }
        let name = |symbol| self.out.names.name(symbol);
        let [one, other] = [first.0, again.0].map(|number| &self.out.nodes[node_id(number)]);
        let message = format!(
            "nodes `{}` and `{}` of process `{}` have different values of `{}`",
            name(one.name),
            name(other.name),
            name(other.process.unwrap_or(other.name)),
            self.text.value(again.1.name),
        );
        let diagnostic = Diagnostic::error(codes::CONTRADICTION, message)
            .at(again.1.span(), "second value")
            .also(first.1.span(), "first value")
            .help("set it on one node of the process only, or to the same value on each");
        self.report.push(diagnostic);
    }
}
