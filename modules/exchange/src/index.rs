//! Nodes and modules by their names.

use crate::drawing::Word;
use graphmap_kpn::diagnostic::{Code, Diagnostic};
use graphmap_kpn::source::Span;
use rustc_hash::FxHashMap;
use std::borrow::Cow;

/// An element that a name refers to.
#[derive(Clone, Debug)]
pub(crate) enum Known {
    /// The node with this number, and the ports that it declares.
    Node(usize, Vec<String>),
    /// The module with this number.
    Module(usize),
}

/// The nodes and modules of a file.
#[derive(Debug, Default)]
pub(crate) struct Index<'a>(FxHashMap<Cow<'a, str>, (Known, Span)>);

impl<'a> Index<'a> {
    /// Adds a node or a module. Returns an error if the name is in use.
    pub(crate) fn add(&mut self, name: &Word<'a>, known: Known, code: Code) -> Option<Diagnostic> {
        let (_, first) = self.0.insert(name.text.clone(), (known, name.span))?;
        let message = format!("two nodes have the id `{}`", name.text);
        let error = Diagnostic::error(code, message).at(name.span, "");
        Some(error.also(first, "the other one"))
    }

    /// Replaces each number by its entry in the list of nodes or modules.
    pub(crate) fn renumber(&mut self, nodes: &[usize], modules: &[usize]) {
        for (known, _) in self.0.values_mut() {
            match known {
                Known::Node(number, _) => *number = nodes[*number],
                Known::Module(number) => *number = modules[*number],
            }
        }
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Known> {
        self.0.get(name).map(|(known, _)| known)
    }
}
