//! What several faces of one process say of it.
//!
//! Nodes with the same `process=` are one process, so what they say of it must agree. Kinds and
//! modules of faces are compared by the model; what only the drawing knows is whether a value was
//! said or is a default.

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

/// What a process has one of. (It may be in several `colocate` and `separate` groups.)
fn is_single(key: Key) -> bool {
    use Key::{Hold, Host, Load, Mem, OsProcess};
    matches!(key, Load | Mem | Host | OsProcess | Hold)
}

impl Explicit {
    /// Reports faces of one process that contradict each other, and gives a cost that one face says
    /// to the others, so that it wins over their defaults.
    pub(super) fn join_faces(&self, reading: &mut Reading<'_>) {
        if reading.out.nodes.values().all(|n| n.process.is_none()) {
            return;
        }
        let mut said: HashMap<(Symbol, Key), (u32, Attribute)> = HashMap::new();
        for (number, attribute) in self.attributes() {
            let Some(process) = reading.out.nodes[node_id(number)].process else {
                continue;
            };
            let Some(key) = Key::of(&reading.text.value(attribute.name)).filter(|k| is_single(*k))
            else {
                continue;
            };
            match said.entry((process, key)) {
                Entry::Vacant(entry) => drop(entry.insert((number, attribute))),
                Entry::Occupied(entry) => {
                    let (earlier, first) = *entry.get();
                    if earlier != number {
                        reading.report_faces(key, (earlier, first), (number, attribute));
                    }
                }
            }
        }
        let costs = said.iter().filter_map(|(of, (number, _))| {
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
    /// Reports two faces of one process, unless they say the same.
    fn report_faces(&mut self, key: Key, first: (u32, Attribute), again: (u32, Attribute)) {
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
        let finding = Diagnostic::error(codes::CONTRADICTION, message)
            .at(again.1.span(), "second value")
            .also(first.1.span(), "first value")
            .help("set it on one node of the process only, or to the same value on each");
        self.report.push(finding);
    }
}
