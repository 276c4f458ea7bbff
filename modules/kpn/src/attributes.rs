//! Attributes that graphmap keeps and does not interpret: the user's own, and the few of Graphviz
//! that describe how an element is drawn.
//!
//! Names and values are text. Most elements have no attributes, and many elements have the same
//! ones. So each different list is stored once, and elements refer to it by an id in a separate
//! table ([`AttributesOf`]).

use crate::arena::{Id, define_id};
use crate::codes;
use crate::diagnostic::Diagnostic;
use crate::names::{Names, Symbol};
use hashbrown::{DefaultHashBuilder, HashTable};
use rustc_hash::FxHashSet;
use std::hash::BuildHasher;
use std::marker::PhantomData;

define_id!(
    /// Id of a list of attributes in [`AttributeLists`].
    pub AttributesId, "a"
);

/// An attribute: its name and its value.
pub type Attribute = (Symbol, Symbol);

/// Beginning of the names that users may choose freely.
pub const PREFIX: &str = "x_";

/// Maximum number of different names of attributes in a network. Without a limit, a small text with
/// many defaults could take quadratic time.
pub const MOST_NAMES: usize = 256;

/// Attributes of Graphviz that are kept on modules, processes and channels.
pub const OF_ELEMENTS: [&str; 4] = ["color", "fillcolor", "label", "style"];

/// Attributes of Graphviz that are kept on the graph.
pub const OF_GRAPH: [&str; 2] = ["label", "rankdir"];

/// Returns true for the name of an attribute of Graphviz that is kept on some element. All other
/// attributes are the user's own.
pub fn is_of_graphviz(name: &str) -> bool {
    OF_ELEMENTS.contains(&name) || OF_GRAPH.contains(&name)
}

/// Returns the error about more than [`MOST_NAMES`] names, without a position.
pub fn too_many_names() -> Diagnostic {
    let message = format!("attributes of the user have more than {MOST_NAMES} different names");
    Diagnostic::error(codes::TOO_MANY_ATTRIBUTES, message)
        .help("use one attribute with different values instead of many attributes")
}

/// Lists of attributes. Equal lists are stored once, and no list is empty.
#[derive(Clone, Default)]
pub struct AttributeLists {
    all: Vec<Attribute>,
    /// End of each list in `all`. A list starts at the end of the list before it.
    ends: Vec<u32>,
    table: HashTable<AttributesId>,
    /// Has a random seed in each run, so that a file cannot be constructed whose lists all collide.
    hasher: DefaultHashBuilder,
}

impl AttributeLists {
    /// Stores a list and returns its id, or `None` if the list is empty. Attributes with equal
    /// names must not be in one list.
    ///
    /// # Panics
    /// Panics if a symbol is not in `names`, or if there are more than 2^32 - 1 attributes.
    pub fn add(&mut self, names: &Names, mut list: Vec<Attribute>) -> Option<AttributesId> {
        if list.is_empty() {
            return None;
        }
        list.sort_by(|a, b| names.name(a.0).cmp(names.name(b.0)));
        let hash = self.hasher.hash_one(&list);
        let known = self.table.find(hash, |id| self.get(*id) == list);
        if let Some(id) = known {
            return Some(*id);
        }
        let id = AttributesId::from_index(self.ends.len());
        self.all.append(&mut list);
        let end = u32::try_from(self.all.len()).expect("at most 2^32 - 1 attributes");
        self.ends.push(end);
        let AttributeLists {
            all,
            ends,
            table,
            hasher,
        } = self;
        table.insert_unique(hash, id, |id| hasher.hash_one(list_of(all, ends, *id)));
        Some(id)
    }

    /// Returns a list, sorted by the names of its attributes.
    ///
    /// # Panics
    /// Panics if the list does not exist.
    pub fn get(&self, id: AttributesId) -> &[Attribute] {
        list_of(&self.all, &self.ends, id)
    }

    /// Returns the attributes of an id, or an empty list for `None`.
    ///
    /// # Panics
    /// Panics if the list does not exist.
    pub fn list(&self, id: Option<AttributesId>) -> &[Attribute] {
        id.map_or(&[], |id| self.get(id))
    }

    /// Returns the number of lists. The ids of the lists are below it.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Returns true if there are no lists.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Returns true if each symbol is one of `names`.
    pub(crate) fn fit(&self, names: &Names) -> bool {
        let is_name = |symbol: Symbol| symbol.index() < names.len();
        self.all.iter().all(|(a, b)| is_name(*a) && is_name(*b))
    }

    /// Returns true if the user's attributes have more than [`MOST_NAMES`] different names. All
    /// symbols must be in `names`.
    pub(crate) fn has_too_many(&self, names: &Names) -> bool {
        let all: FxHashSet<Symbol> = self.all.iter().map(|(name, _)| *name).collect();
        let users = all
            .iter()
            .filter(|name| !is_of_graphviz(names.name(**name)));
        users.count() > MOST_NAMES
    }

    /// Returns the names and values of a list.
    ///
    /// # Panics
    /// Panics if the list does not exist, or if a symbol is not in `names`.
    pub fn texts<'n>(
        &'n self,
        names: &'n Names,
        id: Option<AttributesId>,
    ) -> impl ExactSizeIterator<Item = (&'n str, &'n str)> {
        let list = self.list(id).iter();
        list.map(|(name, value)| (names.name(*name), names.name(*value)))
    }

    /// Stores the attributes of two lists as one list. Returns its id, and the first name for which
    /// the two have different values, unless it is an attribute of Graphviz. The value of `first`
    /// wins.
    ///
    /// # Panics
    /// Panics if a list does not exist, or if a symbol is not in `names`.
    pub fn union(
        &mut self,
        names: &Names,
        first: Option<AttributesId>,
        second: Option<AttributesId>,
    ) -> (Option<AttributesId>, Option<Symbol>) {
        if first == second || second.is_none() {
            return (first, None);
        }
        let mut list = self.list(first).to_vec();
        let mut differs = None;
        for &(name, value) in self.list(second) {
            match list.iter().find(|(known, _)| *known == name) {
                None => list.push((name, value)),
                Some((_, other)) if *other == value => {}
                Some(_) if is_of_graphviz(names.name(name)) => {}
                Some(_) => differs = differs.or(Some(name)),
            }
        }
        (self.add(names, list), differs)
    }
}

fn list_of<'a>(all: &'a [Attribute], ends: &[u32], id: AttributesId) -> &'a [Attribute] {
    let index = id.index();
    let start = index.checked_sub(1).map_or(0, |before| ends[before]);
    &all[start as usize..ends[index] as usize]
}

impl std::fmt::Debug for AttributeLists {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let lists = (0..self.len()).map(AttributesId::from_index);
        f.debug_map()
            .entries(lists.map(|id| (id, self.get(id))))
            .finish()
    }
}

/// The list of attributes of each element. Takes no memory if no element has attributes.
#[derive(Clone, Debug)]
pub struct AttributesOf<I> {
    /// List of each element, by index. Elements beyond the end have none.
    lists: Vec<Option<AttributesId>>,
    id: PhantomData<fn() -> I>,
}

impl<I> Default for AttributesOf<I> {
    fn default() -> Self {
        AttributesOf {
            lists: Vec::new(),
            id: PhantomData,
        }
    }
}

impl<I: Id> AttributesOf<I> {
    /// Returns the list of an element, or `None` if it has no attributes.
    #[inline]
    pub fn get(&self, element: I) -> Option<AttributesId> {
        self.lists.get(element.index()).copied().flatten()
    }

    /// Sets the list of an element.
    pub fn set(&mut self, element: I, list: Option<AttributesId>) {
        let index = element.index();
        if self.lists.len() <= index {
            if list.is_none() {
                return;
            }
            self.lists.resize(index + 1, None);
        }
        self.lists[index] = list;
    }

    /// Returns true if no element has attributes.
    pub fn is_empty(&self) -> bool {
        self.lists.iter().all(Option::is_none)
    }

    /// Moves the list of each element to the new id of the element, or removes the list if the
    /// element has none. `new` has an entry for each element, by its old index.
    pub fn renumber(&mut self, new: &[Option<I>]) {
        let mut moved = AttributesOf::default();
        for (list, new) in self.lists.iter().zip(new) {
            if let Some(new) = new {
                moved.set(*new, *list);
            }
        }
        *self = moved;
    }

    /// Returns true if the lists exist, and belong to elements below `elements`.
    pub(crate) fn fit(&self, lists: &AttributeLists, elements: usize) -> bool {
        let exists = |list: &Option<AttributesId>| list.is_none_or(|l| l.index() < lists.len());
        self.lists.len() <= elements && self.lists.iter().all(exists)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    define_id!(
        /// Id of an element.
        ElementId, "e"
    );

    fn names(of: &[&str]) -> (Names, Vec<Symbol>) {
        let mut names = Names::new();
        let symbols = of.iter().map(|name| names.intern(name)).collect();
        (names, symbols)
    }

    #[test]
    fn equal_lists_are_stored_once() {
        let (names, s) = names(&["x_b", "x_a", "1", "2"]);
        let mut lists = AttributeLists::default();
        assert_eq!(lists.add(&names, Vec::new()), None);
        let one = lists.add(&names, vec![(s[0], s[2]), (s[1], s[3])]);
        let same = lists.add(&names, vec![(s[1], s[3]), (s[0], s[2])]);
        let other = lists.add(&names, vec![(s[1], s[2]), (s[0], s[2])]);
        assert_eq!((one, lists.len()), (same, 2));
        assert_ne!(one, other);
        let texts: Vec<_> = lists.texts(&names, one).collect();
        assert_eq!(texts, [("x_a", "2"), ("x_b", "1")]);
        assert_eq!(lists.texts(&names, None).len(), 0);
    }

    #[test]
    fn union_reports_different_values_of_the_user() {
        let (names, s) = names(&["x_a", "label", "1", "2"]);
        let mut lists = AttributeLists::default();
        let one = lists.add(&names, vec![(s[0], s[2]), (s[1], s[2])]);
        let other = lists.add(&names, vec![(s[0], s[3]), (s[1], s[3])]);
        let label = lists.add(&names, vec![(s[1], s[3])]);
        assert_eq!(lists.union(&names, one, other), (one, Some(s[0])));
        assert_eq!(lists.union(&names, one, label), (one, None));
        assert_eq!(lists.union(&names, None, label), (label, None));
    }

    #[test]
    fn lists_follow_their_elements() {
        let (names, s) = names(&["x_a", "1"]);
        let mut lists = AttributeLists::default();
        let list = lists.add(&names, vec![(s[0], s[1])]);
        let id = ElementId::from_index;
        let mut of = AttributesOf::default();
        of.set(id(1), None);
        assert!(of.is_empty() && of.lists.is_empty());
        of.set(id(2), list);
        of.renumber(&[Some(id(0)), None, Some(id(1)), Some(id(2))]);
        assert_eq!((of.get(id(1)), of.get(id(2))), (list, None));
        assert!(of.fit(&lists, 2) && !of.fit(&lists, 1));
        assert!(!of.fit(&AttributeLists::default(), 2));
    }
}
