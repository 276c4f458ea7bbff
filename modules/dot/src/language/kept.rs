//! Attributes that are kept and not interpreted, as far as they were read.

use super::keys::Key;
use crate::events::Attribute;
use crate::graph::Preset;
use graphmap_kpn::attributes::{AttributesId, MOST_NAMES};
use graphmap_kpn::names::Symbol;
use hashbrown::{HashMap, HashSet};

/// An attribute in a statement: the number of its node or scope, its key, and itself.
pub(super) type Stated = (u32, Key, Attribute);

/// The attributes of a file that are kept.
#[derive(Default)]
pub(super) struct Kept {
    /// Names that `attributes=` declares.
    pub(super) declared: Vec<String>,
    /// Names of the user's attributes that occurred, at most [`MOST_NAMES`].
    pub(super) names: HashSet<Symbol>,
    /// Attributes in statements of scopes, and in statements of nodes.
    pub(super) of_scopes: Vec<Stated>,
    pub(super) of_nodes: Vec<Stated>,
    /// Defaults of the node that was created last, and their list.
    pub(super) defaults: (Vec<Preset<Key>>, Option<AttributesId>),
    /// User's attributes of each node that is a bundle. All its channels have them.
    pub(super) of_bundles: HashMap<u32, AttributesId>,
}

/// The attributes of an edge, and which of them are defaults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct WithDefaults {
    pub(super) list: Option<AttributesId>,
    pub(super) defaults: Option<AttributesId>,
}

impl Kept {
    pub(super) fn new(declared: Vec<String>) -> Kept {
        Kept {
            declared,
            ..Kept::default()
        }
    }

    /// Records that a key occurs. Returns false for an attribute of the user if there are too many
    /// other names.
    pub(super) fn takes(&mut self, key: Key) -> bool {
        let Key::User(name) = key else {
            return true;
        };
        if self.names.len() < MOST_NAMES {
            self.names.insert(name);
        }
        self.names.contains(&name)
    }

    /// Records an attribute in a statement of a scope.
    pub(super) fn scope(&mut self, scope: u32, key: Key, attribute: &Attribute) {
        self.of_scopes.push((scope, key, *attribute));
    }

    /// Records an attribute in a statement of a node.
    pub(super) fn node(&mut self, node: u32, key: Key, attribute: &Attribute) {
        self.of_nodes.push((node, key, *attribute));
    }

    /// Returns the attributes of the channels of a bundle.
    pub(super) fn of_bundle(&self, node: u32) -> Option<AttributesId> {
        self.of_bundles.get(&node).copied()
    }
}
