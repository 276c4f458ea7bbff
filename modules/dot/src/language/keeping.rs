//! Reads attributes that graphmap keeps and does not interpret: the user's own, and the few of
//! Graphviz that [`graphmap_kpn::attributes`] lists.
//!
//! A name is the user's if it begins with `x_`, or if the graph declares it by `attributes=`. Two
//! different values of a user's attribute on one element are an error, as for other attributes. Of
//! the values of an attribute of Graphviz, the last one counts, as in Graphviz.

use super::attributes::elements;
use super::kept::{Stated, WithDefaults};
use super::keys::{Element, Key};
use super::reading::{BUNDLE, PORT, Reading, node_id, place};
use crate::codes;
use crate::events::Attribute;
use crate::graph::Preset;
use crate::token::{Shape, Text};
use graphmap_kpn::attributes::{
    self, AttributesId, MOST_NAMES, OF_ELEMENTS, OF_GRAPH, PREFIX, is_of_graphviz, too_many_names,
};
use graphmap_kpn::declared::{Declared, ModuleId, NodeId};
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::names::Symbol;
use graphmap_kpn::sizes::entries;
use hashbrown::HashMap;
use std::borrow::Cow;

/// Returns the names in a list such as `attributes="est, bytes"`. Reports names that are missing,
/// and names that graphmap or Graphviz use.
pub(super) fn declared_names(
    text: Text<'_>,
    attribute: &Attribute,
    diagnostics: &mut Diagnostics,
) -> Vec<String> {
    let list = text.value(attribute.value);
    let place = place(attribute);
    let mut names = Vec::new();
    for (number, entry) in entries(&list).into_iter().enumerate() {
        if number == MOST_NAMES {
            diagnostics.push(too_many_names().at(place.part(&entry), "one name too many"));
            break;
        }
        let name = &list[entry.clone()];
        let owner = match name {
            "" => {
                let message = "`attributes=` has an entry without a name";
                diagnostics.push(
                    Diagnostic::error(codes::BAD_VALUE, message)
                        .at(place.part(&entry), "expected a name")
                        .help("separate names by commas: `attributes=\"est, bytes\"`"),
                );
                continue;
            }
            name if name.contains(char::is_whitespace) => {
                let message = format!("`{name}` is not the name of an attribute");
                diagnostics.push(
                    Diagnostic::error(codes::BAD_VALUE, message)
                        .at(place.part(&entry), "expected a name without spaces")
                        .help("separate names by commas: `attributes=\"est, bytes\"`"),
                );
                continue;
            }
            name if Key::of(name).is_some() => "graphmap",
            name if !elements(name).is_empty() => "Graphviz",
            name => {
                names.push(name.to_owned());
                continue;
            }
        };
        diagnostics.push(
            Diagnostic::error(
                codes::ATTRIBUTE_TAKEN,
                format!("`{name}` is already an attribute of {owner}"),
            )
            .at(place.part(&entry), "cannot be declared")
            .help(format!("use another name, for example `{PREFIX}{name}`")),
        );
    }
    names
}

/// Returns true if `attributes=` can declare a name.
pub(crate) fn can_be_declared(name: &str) -> bool {
    let is_entry = !name.is_empty() && !name.contains(|c: char| c == ',' || c.is_whitespace());
    is_entry && Key::of(name).is_none() && elements(name).is_empty()
}

/// Returns the attributes of each element, in the order of the elements and of the text.
fn by_element(stated: &mut [Stated]) -> impl Iterator<Item = (u32, &[Stated])> {
    stated.sort_by_key(|(element, ..)| *element);
    let groups = stated.chunk_by(|a, b| a.0 == b.0);
    groups.map(|group| (group[0].0, group))
}

impl Reading<'_> {
    /// Returns the key of an attribute that is kept on an element, or `None` for other names.
    pub(super) fn kept_key(&mut self, element: Element, name: &str) -> Option<Key> {
        if name.starts_with(PREFIX) || self.kept.declared.iter().any(|known| known == name) {
            return Some(Key::User(self.out.names.intern(name)));
        }
        let drawn: &[&str] = match element {
            Element::Graph => &OF_GRAPH,
            _ => &OF_ELEMENTS,
        };
        drawn
            .contains(&name)
            .then(|| Key::Drawn(self.out.names.intern(name)))
    }

    /// Returns the value of an attribute that is kept. An HTML label keeps its `<` and `>`, and a
    /// label in quotes that looks the same gets a backslash, which Graphviz does not show.
    fn kept_value(&mut self, key: Key, attribute: &Attribute) -> Symbol {
        let value = self.text.value(attribute.value);
        let is_label = matches!(key, Key::Drawn(name) if self.out.names.name(name) == "label");
        let value = match attribute.value.shape {
            Shape::Html if is_label => Cow::Owned(format!("<{value}>")),
            _ if is_label && is_html(&value) => Cow::Owned(format!("\\{value}")),
            _ => value,
        };
        self.out.names.intern(&value)
    }

    /// Returns a list of attributes. Later ones override earlier ones and the attributes of `base`.
    /// An empty value of a user's attribute removes it.
    pub(super) fn kept_list<'k>(
        &mut self,
        base: Option<AttributesId>,
        stated: impl Iterator<Item = (Key, &'k Attribute)>,
    ) -> Option<AttributesId> {
        let mut list = None;
        for (key, attribute) in stated {
            let (Key::User(name) | Key::Drawn(name)) = key else {
                continue;
            };
            let list: &mut Vec<attributes::Attribute> =
                list.get_or_insert_with(|| self.out.attributes.lists.list(base).to_vec());
            list.retain(|(known, _)| *known != name);
            let is_empty = self.text.value(attribute.value).is_empty();
            if !is_empty || matches!(key, Key::Drawn(_)) {
                let value = self.kept_value(key, attribute);
                list.push((name, value));
            }
        }
        match list {
            Some(list) => {
                let Declared {
                    names, attributes, ..
                } = &mut self.out;
                attributes.lists.add(names, list)
            }
            None => base,
        }
    }

    /// Sets the attributes that a new node has from defaults.
    #[inline]
    pub(super) fn kept_defaults(&mut self, node: u32, defaults: &[Preset<Key>]) {
        if defaults.iter().all(|preset| !preset.key.is_kept()) {
            return;
        }
        if self.kept.defaults.0 != defaults {
            let stated = defaults
                .iter()
                .map(|preset| (preset.key, &preset.attribute));
            let list = self.kept_list(None, stated);
            self.kept.defaults = (defaults.to_vec(), list);
        }
        let list = self.kept.defaults.1;
        self.out.attributes.nodes.set(node_id(node), list);
    }

    /// Returns the attributes of two edges of one channel, or of an edge and of its bundle, and the
    /// name of a user's attribute with two different values. A value that is not a default has
    /// priority over a default.
    pub(super) fn kept_union(
        &mut self,
        first: WithDefaults,
        second: WithDefaults,
    ) -> (Option<AttributesId>, Option<Symbol>) {
        let Declared {
            names, attributes, ..
        } = &mut self.out;
        let lists = &mut attributes.lists;
        let mut list = lists.list(first.list).to_vec();
        let mut differs = None;
        for &(name, value) in lists.list(second.list) {
            let known = list.iter().position(|(known, _)| *known == name);
            let Some(known) = known else {
                list.push((name, value));
                continue;
            };
            if list[known].1 == value || lists.list(second.defaults).contains(&(name, value)) {
                continue;
            }
            if lists.list(first.defaults).contains(&list[known]) {
                list[known].1 = value;
            } else if !is_of_graphviz(names.name(name)) {
                differs = differs.or(Some(name));
            }
        }
        (lists.add(names, list), differs)
    }

    /// Sets the attributes of the graph, of modules and of nodes, and reports contradictions.
    /// `module_of` returns the module that a scope is.
    pub(super) fn finish_kept(&mut self, module_of: impl Fn(u32) -> Option<ModuleId>) {
        let mut of_scopes = std::mem::take(&mut self.kept.of_scopes);
        for (scope, stated) in by_element(&mut of_scopes) {
            let module = module_of(scope);
            if scope != 0 && module.is_none() {
                for (_, key, attribute) in stated.iter().filter(|s| matches!(s.1, Key::User(_))) {
                    let name = self.text.value(attribute.name);
                    self.report
                        .misplaced(Element::Subgraph, *key, &name, attribute);
                }
                continue;
            }
            self.report_repeated(stated);
            let list = self.kept_list(None, stated.iter().map(|(_, key, a)| (*key, a)));
            match module {
                Some(module) => self.out.attributes.modules.set(module, list),
                None => self.out.attributes.graph = list,
            }
        }
        let mut of_nodes = std::mem::take(&mut self.kept.of_nodes);
        for (number, stated) in by_element(&mut of_nodes) {
            let node = node_id(number);
            let flags = self.flags[number as usize];
            let mut users = stated.iter().filter(|s| matches!(s.1, Key::User(_)));
            if flags & PORT != 0 {
                let ports = &self.out.ports;
                let port = ports.binary_search_by_key(&node, |port| port.node);
                if let (Ok(port), Some((.., attribute))) = (port, users.next()) {
                    self.of_module_port(attribute, ports[port].span);
                }
                continue;
            }
            self.report_repeated(stated);
            if flags & BUNDLE != 0 {
                let list = self.kept_list(None, users.map(|(_, key, a)| (*key, a)));
                self.kept.of_bundles.extend(list.map(|list| (number, list)));
                continue;
            }
            let base = self.out.attributes.nodes.get(node);
            let list = self.kept_list(base, stated.iter().map(|(_, key, a)| (*key, a)));
            self.out.attributes.nodes.set(node, list);
        }
        if !self.out.attributes.nodes.is_empty() {
            self.join_kept(&of_nodes);
        }
    }

    /// Reports user's attributes of one element with different values.
    fn report_repeated(&mut self, stated: &[Stated]) {
        for (index, (_, key, attribute)) in stated.iter().enumerate() {
            let mut before = stated[..index].iter();
            if matches!(key, Key::User(_))
                && let Some((.., first)) = before.find(|(_, known, _)| known == key)
            {
                self.contradiction(*key, first, attribute);
            }
        }
    }

    /// Gives all nodes of a split process the same attributes, and reports contradictions. Those in
    /// statements have priority over defaults. `stated` is sorted by node. Attributes of Graphviz
    /// stay if all nodes have the same.
    fn join_kept(&mut self, stated: &[Stated]) {
        let mut processes: Vec<Vec<NodeId>> = Vec::new();
        let mut known: HashMap<Symbol, usize> = HashMap::new();
        for (id, node) in self.out.nodes.iter() {
            if let Some(process) = node.process {
                let index = *known.entry(process).or_insert(processes.len());
                if index == processes.len() {
                    processes.push(Vec::new());
                }
                processes[index].push(id);
            }
        }
        for nodes in processes.iter().filter(|nodes| nodes.len() > 1) {
            let mut list = self.stated_of_process(nodes, stated);
            let explicit = list.len();
            let mut drawn = None;
            for &node in nodes {
                let of_node = self.out.attributes.nodes.get(node);
                let of_node = self.out.attributes.lists.list(of_node).to_vec();
                let is_drawn =
                    |pair: &attributes::Attribute| is_of_graphviz(self.out.names.name(pair.0));
                let (of_graphviz, of_user): (Vec<_>, Vec<_>) =
                    of_node.into_iter().partition(is_drawn);
                let common = drawn.get_or_insert_with(|| of_graphviz.clone());
                common.retain(|pair| of_graphviz.contains(pair));
                for pair in of_user {
                    match list.iter().position(|(name, _)| *name == pair.0) {
                        None => list.push(pair),
                        Some(other) if other < explicit || list[other] == pair => {}
                        Some(_) => self.report_defaults(nodes[0], node, pair.0),
                    }
                }
            }
            list.extend(drawn.unwrap_or_default());
            let Declared {
                names, attributes, ..
            } = &mut self.out;
            let list = attributes.lists.add(names, list);
            for &node in nodes {
                attributes.nodes.set(node, list);
            }
        }
    }

    /// Returns the user's attributes in the statements of the nodes of a process. Reports
    /// contradictions between the nodes.
    fn stated_of_process(
        &mut self,
        nodes: &[NodeId],
        stated: &[Stated],
    ) -> Vec<attributes::Attribute> {
        let mut found: Vec<Stated> = Vec::new();
        for &node in nodes {
            let first = stated.partition_point(|(number, ..)| node_id(*number) < node);
            let of_node = stated[first..].iter();
            for entry in of_node.take_while(|(number, ..)| node_id(*number) == node) {
                let (number, key, attribute) = *entry;
                if !matches!(key, Key::User(_)) || self.text.value(attribute.value).is_empty() {
                    continue;
                }
                match found.iter().find(|(_, known, _)| *known == key) {
                    None => found.push(*entry),
                    Some(&(other, _, first)) if other != number => {
                        self.report_split_process(key, (other, first), (number, attribute));
                    }
                    Some(_) => {}
                }
            }
        }
        let mut list = Vec::with_capacity(found.len());
        for (_, key, attribute) in found {
            if let Key::User(name) = key {
                list.push((name, self.kept_value(key, &attribute)));
            }
        }
        list
    }

    /// Reports different defaults of an attribute on two nodes of one process.
    fn report_defaults(&mut self, first: NodeId, again: NodeId, name: Symbol) {
        let names = &self.out.names;
        let [one, other] = [first, again].map(|node| &self.out.nodes[node]);
        let message = format!(
            "nodes `{}` and `{}` of process `{}` have different values of `{}`",
            names.name(one.name),
            names.name(other.name),
            names.name(other.process.unwrap_or(other.name)),
            names.name(name),
        );
        self.report.push(
            Diagnostic::error(codes::CONTRADICTION, message)
                .at(other.span, "this node has another default")
                .also(one.span, "the other node")
                .help("set it on one node of the process"),
        );
    }
}

/// Returns true if a value has the form of an HTML string: it begins with the `<` that matches the
/// `>` at its end.
pub fn is_html(value: &str) -> bool {
    let mut depth = 0u32;
    for (at, c) in value.char_indices() {
        match c {
            '<' => depth += 1,
            '>' if depth == 1 => return at + 1 == value.len(),
            '>' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return false;
        }
    }
    false
}
