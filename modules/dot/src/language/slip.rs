//! Nodes that occur only in edges, with nearly the name of a node that has a statement.
//!
//! Graphviz makes a node of every name, so a misspelt name is an additional process. It is reported
//! if other processes are declared. Only differences that rarely make another intended name count:
//! a letter that is missing, doubled, or swapped with the next. If the intended node has no
//! channel, `verify` reports that node, and this module reports nothing.

use super::reading::{BUNDLE, ENVIRONMENT, Reading, STATED};
use crate::codes;
use graphmap_kpn::arena::Id as _;
use graphmap_kpn::declared::{ChannelDecl, NodeId};
use graphmap_kpn::diagnostic::Diagnostic;
use hashbrown::{HashMap, HashSet};

/// Maximum number of undeclared nodes. If there are more, the graph is written like that on
/// purpose.
const MOST: usize = 20;

/// Number of letters of the shortest name that is checked.
const SHORTEST: usize = 4;

impl Reading<'_> {
    pub(super) fn report_slips(&mut self) {
        let stated = |flags: &u8| flags & STATED != 0;
        let unstated = |flags: &u8| flags & (STATED | ENVIRONMENT | BUNDLE) == 0;
        let count = self.flags.iter().filter(|flags| unstated(flags)).count();
        if count == 0 || count > MOST || count >= self.flags.iter().filter(|f| stated(f)).count() {
            return;
        }
        let name = |number: usize| {
            let node = &self.out.nodes[NodeId::from_index(number)];
            self.out.names.name(node.name)
        };
        let of = |wanted: &dyn Fn(&u8) -> bool| {
            let numbers = self.flags.iter().enumerate();
            let numbers: Vec<usize> = numbers.filter(|(_, f)| wanted(f)).map(|(n, _)| n).collect();
            numbers
        };
        // Maps each name that may be intended to the number of the declared node with that name, or
        // to `usize::MAX` if there is no such node.
        let mut known: HashMap<String, usize> = HashMap::new();
        let slips: Vec<(usize, Vec<String>)> = of(&unstated)
            .into_iter()
            .map(|number| (number, neighbours(name(number))))
            .collect();
        for (_, names) in &slips {
            known.extend(names.iter().map(|name| (name.clone(), usize::MAX)));
        }
        for number in of(&stated) {
            if let Some(found) = known.get_mut(name(number)) {
                *found = number;
            }
        }
        let meant = |names: &[String]| {
            let found = names.iter().filter_map(|name| known.get(name));
            found.copied().filter(|&meant| meant != usize::MAX).min()
        };
        let mut pairs: Vec<(usize, usize)> = slips
            .iter()
            .filter_map(|(slip, names)| Some((*slip, meant(names)?)))
            .collect();
        if pairs.is_empty() {
            return;
        }
        let ends = |channel: &ChannelDecl| [channel.from.node, channel.to.node];
        let ends = self.out.channels.iter().flat_map(ends).flatten();
        let wanted: HashSet<usize> = pairs.iter().map(|&(_, meant)| meant).collect();
        let connected: HashSet<usize> = ends
            .map(|node| node.index())
            .filter(|node| wanted.contains(node))
            .collect();
        pairs.retain(|(_, meant)| connected.contains(meant));
        let mut diagnostics = Vec::new();
        for (slip, meant) in pairs {
            let node = &self.out.nodes[NodeId::from_index(slip)];
            let other = &self.out.nodes[NodeId::from_index(meant)];
            let (slip, meant) = (name(slip), name(meant));
            diagnostics.push(
                Diagnostic::warning(
                    codes::SLIP,
                    format!("`{slip}` is a separate process with a name similar to `{meant}`"),
                )
                .at(node.span, "only edges name it")
                .also(other.span, "declared here")
                .help(format!("did you mean `{meant}`?"))
                .help(format!(
                    "if not, declare it with a separate statement: `{slip};`"
                )),
            );
        }
        diagnostics
            .into_iter()
            .for_each(|diagnostic| self.report.push(diagnostic));
    }
}

/// Returns the names that may be intended by a name, of which some may occur twice. In each, two
/// different adjacent letters are swapped, one letter of a double one is removed, or one letter
/// from `a` to `z` is inserted.
///
/// A letter is inserted only before a letter or at the end. An `s` at the end is not inserted,
/// because it makes a plural. The result is empty for a name of fewer than [`SHORTEST`] or more
/// than 40 characters.
fn neighbours(name: &str) -> Vec<String> {
    let letters: Vec<char> = name.chars().collect();
    let mut all = Vec::new();
    if letters.len() < SHORTEST || letters.len() > 40 {
        return all;
    }
    let text = |letters: &[char]| letters.iter().collect::<String>();
    for at in 1..letters.len() {
        let (before, this) = (letters[at - 1], letters[at]);
        if !before.is_alphabetic() || !this.is_alphabetic() {
            continue;
        }
        if before != this {
            let mut other = letters.clone();
            other.swap(at - 1, at);
            all.push(text(&other));
        } else {
            let mut other = letters.clone();
            other.remove(at);
            all.push(text(&other));
        }
    }
    for at in 0..=letters.len() {
        for letter in 'a'..='z' {
            let last = at == letters.len();
            let beside_digits = !last && !letters[at].is_alphabetic();
            if (last && letter == 's') || beside_digits {
                continue;
            }
            let mut other = letters.clone();
            other.insert(at, letter);
            all.push(text(&other));
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::neighbours;

    #[test]
    fn neighbours_contain_misspelt_names() {
        let meant = |slip: &str, name: &str| neighbours(slip).iter().any(|near| near == name);
        for slip in ["sorce", "soruce", "sourcce", "ource", "sourc"] {
            assert!(meant(slip, "source"), "{slip}");
        }
        for (slip, name) in [
            ("reader", "header"),
            ("worker", "workers"),
            ("workers", "worker"),
            ("worker1", "worker11"),
            ("worker12", "worker21"),
            ("abc", "acb"),
            ("source", "source"),
        ] {
            assert!(!meant(slip, name), "{slip} {name}");
        }
    }
}
