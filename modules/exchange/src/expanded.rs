//! An expanded network as the elements that a writer lists.

use crate::drawing::{Attribute, Drawing, LABEL, MODULE_NAME, Module, Node, ORDER, Word};
use crate::translation::{BUNDLE_NAME, NULL};
use graphmap_dot::events::{self, Events, Header, NodeRef, Target};
use graphmap_dot::parser::parse;
use graphmap_dot::token::{Id, Shape, Text};
use graphmap_dot::write::to_dot;
use graphmap_kpn::arena::Id as _;
use graphmap_kpn::attributes::PREFIX;
use graphmap_kpn::bundles;
use graphmap_kpn::declared::ModuleId;
use graphmap_kpn::diagnostic::Diagnostics;
use graphmap_kpn::network::{Joined, Network, Verified};
use graphmap_kpn::source::{SourceMap, Span};
use rustc_hash::{FxHashMap, FxHashSet};
use std::borrow::Cow;

/// An edge of an expanded network.
pub(crate) struct Edge<'a> {
    /// Names of the nodes, also of [`NULL`].
    pub(crate) ends: [Cow<'a, str>; 2],
    pub(crate) attributes: Vec<Attribute<'a>>,
}

/// Names that are no attributes of the graph language, but have a meaning in one of the formats. An
/// attribute of the user with such a name gets a prefix.
const RESERVED: [&str; 10] = [
    BUNDLE_NAME,
    MODULE_NAME,
    ORDER,
    "edge_default",
    "key",
    "memory",
    "modules",
    "node_default",
    "parent",
    "source",
];

/// Calls `write` with the elements of a network. Names of modules and names of bundles, which DOT
/// cannot express, become attributes.
pub(crate) fn with<T>(network: &Verified, write: impl FnOnce(&Drawing<'_>, &[Edge<'_>]) -> T) -> T {
    let mut sources = SourceMap::new();
    // A text of 4 GiB is far beyond the memory that a network of this size needs.
    let source = sources
        .add("network", to_dot(network))
        .expect("a text below 4 GiB");
    let mut reader = Reader {
        text: Text::new(source.text(), source.base()),
        drawing: Drawing::default(),
        edges: Vec::new(),
        index: FxHashMap::default(),
        open: Vec::new(),
        order: Vec::new(),
        operands: Vec::new(),
    };
    let mut found = Diagnostics::new();
    parse(&source, &mut reader, &mut found);
    debug_assert!(!found.has_errors(), "{found:?}");
    reader.name_modules(network);
    reader.sort_modules();
    reader.name_bundles(network);
    write(&reader.drawing, &reader.edges)
}

struct Reader<'a> {
    text: Text<'a>,
    drawing: Drawing<'a>,
    edges: Vec<Edge<'a>>,
    /// Index of each node.
    index: FxHashMap<Cow<'a, str>, usize>,
    /// Modules that are open, innermost last.
    open: Vec<usize>,
    /// Index in the network of each module, in the order of DOT.
    order: Vec<usize>,
    /// Nodes of the statement being read.
    operands: Vec<Id>,
}

impl<'a> Reader<'a> {
    fn word(&self, id: Id) -> Word<'a> {
        Word {
            text: self.text.value(id),
            span: Span::NONE,
        }
    }

    fn attributes(&self, list: &[events::Attribute]) -> Vec<Attribute<'a>> {
        let attribute = |attribute: &events::Attribute| {
            let mut name = self.word(attribute.name);
            let mut value = self.word(attribute.value);
            if name.text == LABEL && attribute.value.shape == Shape::Html {
                value.text = Cow::Owned(format!("<{}>", value.text));
            }
            if RESERVED.contains(&&*name.text) {
                name.text = Cow::Owned(format!("{PREFIX}{}", name.text));
            }
            Attribute { name, value }
        };
        list.iter().map(attribute).collect()
    }

    fn node(&mut self, id: Id, list: &[events::Attribute]) {
        let attributes = self.attributes(list);
        let module = self.open.last().copied();
        let name = self.word(id);
        let nodes = &mut self.drawing.nodes;
        let index = *self.index.entry(name.text.clone()).or_insert_with(|| {
            nodes.push(Node {
                name,
                module: None,
                attributes: Vec::new(),
            });
            nodes.len() - 1
        });
        // A node may be listed before its module.
        let node = &mut nodes[index];
        node.module = module.or(node.module);
        node.attributes.extend(attributes);
    }

    /// Gives each module its name in the network, and an id that no node has.
    fn name_modules(&mut self, network: &Network) {
        let mut inside: Vec<Vec<ModuleId>> = vec![Vec::new(); network.modules.len()];
        let mut todo = Vec::new();
        for (id, module) in network.modules.iter() {
            match module.parent {
                Some(parent) => inside[parent.index()].push(id),
                None => todo.push(id),
            }
        }
        todo.reverse();
        let index = &self.index;
        let mut ids: FxHashSet<String> = FxHashSet::default();
        // DOT has the modules in this order: each before the modules inside it.
        for module in &mut self.drawing.modules {
            let Some(id) = todo.pop() else {
                return;
            };
            self.order.push(id.index());
            todo.extend(inside[id.index()].iter().rev());
            let name = network.name(network.modules[id].name);
            let is_known = |new: &String, ids: &FxHashSet<String>| {
                ids.contains(new) || index.contains_key(new.as_str())
            };
            let mut unique = name.to_owned();
            let mut number = id.index();
            while unique.is_empty() || unique == NULL || is_known(&unique, &ids) {
                number += 1;
                unique = format!("{name}_{number}");
            }
            if unique != name {
                module.attributes.push(attribute(MODULE_NAME, name));
            }
            ids.insert(unique.clone());
            module.id.text = Cow::Owned(unique);
        }
    }

    /// Sorts the modules as the network does.
    fn sort_modules(&mut self) {
        let order = &self.order;
        let modules = std::mem::take(&mut self.drawing.modules);
        let mut modules: Vec<(usize, Module<'_>)> = order.iter().copied().zip(modules).collect();
        modules.sort_by_key(|(index, _)| *index);
        let modules = modules.into_iter().map(|(_, module)| Module {
            parent: module.parent.map(|parent| order[parent]),
            ..module
        });
        self.drawing.modules = modules.collect();
        for node in &mut self.drawing.nodes {
            node.module = node.module.map(|module| order[module]);
        }
    }

    fn name_bundles(&mut self, network: &Network) {
        let named = bundles::named(network);
        // DOT has the edges in this order.
        for (edge, joined) in self.edges.iter_mut().zip(network.joins()) {
            if let Joined::Channel(id) = joined
                && let Some(bundle) = named.get(id.index()).and_then(|names| names[0])
                && let Some(name) = network.bundles[bundle].name
            {
                let name = network.name(name);
                edge.attributes.push(attribute(BUNDLE_NAME, name));
            }
        }
    }
}

fn attribute<'a>(name: &'static str, value: &str) -> Attribute<'a> {
    let word = |text| Word {
        text,
        span: Span::NONE,
    };
    Attribute {
        name: word(Cow::Borrowed(name)),
        value: word(Cow::Owned(value.to_owned())),
    }
}

impl Events for Reader<'_> {
    fn open_graph(&mut self, header: &Header) {
        self.drawing.name = header.name.map(|id| self.word(id));
    }

    fn close_graph(&mut self, _: Span) {}

    fn open_subgraph(&mut self, name: Option<Id>, span: Span) {
        let id = name.map_or(
            Word {
                text: Cow::Borrowed(""),
                span,
            },
            |name| self.word(name),
        );
        self.drawing.modules.push(Module {
            id,
            parent: self.open.last().copied(),
            attributes: Vec::new(),
        });
        self.open.push(self.drawing.modules.len() - 1);
    }

    fn close_subgraph(&mut self, _: Span) {
        self.open.pop();
    }

    fn defaults(&mut self, _: Target, _: &[events::Attribute], _: Span) {}

    fn assign(&mut self, attribute: &events::Attribute) {
        let attributes = self.attributes(std::slice::from_ref(attribute));
        match self.open.last() {
            Some(&module) => self.drawing.modules[module].attributes.extend(attributes),
            None => self.drawing.attributes.extend(attributes),
        }
    }

    fn node(&mut self, node: &NodeRef) {
        self.operands.push(node.name);
    }

    fn end_operand(&mut self) {}

    fn end_chain(&mut self, _: u32, attributes: &[events::Attribute], _: Span) {
        match std::mem::take(&mut self.operands)[..] {
            [node] => self.node(node, attributes),
            [from, to] => {
                let ends = [from, to].map(|end| self.text.value(end));
                let attributes = self.attributes(attributes);
                self.edges.push(Edge { ends, attributes });
            }
            _ => {}
        }
    }

    fn abandon_chain(&mut self) {
        self.operands.clear();
    }
}
