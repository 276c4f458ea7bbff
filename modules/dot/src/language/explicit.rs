//! Attributes that are set twice on one element, to different values.
//!
//! Graphviz uses the last value of an attribute. Of two different values one is an error, and
//! graphmap cannot know which. An explicit value that overrides a default is not a contradiction.
//! Neither is the same value twice, in either spelling (`process=p, PIproc=p`).

use super::keys::{Element, Key};
use super::reading::Reading;
use super::value;
use crate::codes;
use crate::events::Attribute;
use graphmap_kpn::diagnostic::Diagnostic;
use graphmap_kpn::source::Span;
use hashbrown::HashMap;

/// Attributes of one list: the first of each key.
pub(super) type List = Vec<(Key, Attribute)>;

/// Explicit attributes of numbered elements of one sort.
///
/// Nearly no element has an attribute twice, so only a bit per key is checked while the text is
/// read. At the end one pass over all attributes finds the first of each that was repeated.
#[derive(Default)]
pub(super) struct Explicit {
    /// Keys of each element, as a set of [`Key::bit`].
    keys: Vec<u64>,
    first: Vec<(u32, Attribute)>,
    again: Vec<(u32, Attribute)>,
}

impl Explicit {
    /// Records an attribute of an element. Ignores a key without a [`Key::bit`].
    pub(super) fn note(&mut self, element: u32, key: Key, attribute: &Attribute) {
        let Some(bit) = key.bit() else {
            return;
        };
        let index = element as usize;
        if self.keys.len() <= index {
            self.keys.resize(index + 1, 0);
        }
        let list = if self.keys[index] & bit == 0 {
            &mut self.first
        } else {
            &mut self.again
        };
        self.keys[index] |= bit;
        list.push((element, *attribute));
    }

    /// Returns the first recorded attribute for each pair of element and key, with the number of
    /// the element, in the order of the calls of [`Explicit::note`].
    pub(super) fn attributes(&self) -> impl Iterator<Item = (u32, Attribute)> {
        self.first.iter().copied()
    }

    /// Reports repeated attributes of one element whose value contradicts the first one.
    pub(super) fn finish(&self, reading: &mut Reading<'_>) {
        let key = |attribute: &Attribute| Key::of(&reading.text.value(attribute.name));
        let again = self.again.iter();
        let mut first: HashMap<(u32, Key), Option<Attribute>> = again
            .filter_map(|(element, attribute)| Some(((*element, key(attribute)?), None)))
            .collect();
        if first.is_empty() {
            return;
        }
        for (element, attribute) in &self.first {
            let found = key(attribute).and_then(|key| first.get_mut(&(*element, key)));
            if let Some(found) = found {
                found.get_or_insert(*attribute);
            }
        }
        for (element, attribute) in &self.again {
            let Some(key) = Key::of(&reading.text.value(attribute.name)) else {
                continue;
            };
            if let Some(Some(earlier)) = first.get(&(*element, key)) {
                reading.contradiction(key, earlier, attribute);
            }
        }
    }
}

impl Reading<'_> {
    /// Adds an attribute to a list and returns true, if the list does not contain its key.
    /// Otherwise returns false, and reports the attribute if it contradicts the earlier one. Of the
    /// values of an attribute of Graphviz, the last one counts.
    pub(super) fn list(&mut self, list: &mut List, key: Key, attribute: &Attribute) -> bool {
        let Some((_, earlier)) = list.iter_mut().find(|(k, _)| *k == key) else {
            list.push((key, *attribute));
            return true;
        };
        if let Key::Drawn(_) = key {
            *earlier = *attribute;
            return true;
        }
        let earlier = *earlier;
        self.contradiction(key, &earlier, attribute);
        false
    }

    /// Reports contradictions in the list of one statement of defaults (`node [..]`, `edge [..]`).
    /// Ignores attributes that `element` may not have, and members of bundles.
    pub(super) fn list_of_defaults(&mut self, element: Element, attributes: &[Attribute]) {
        let mut list = List::new();
        for attribute in attributes {
            let name = self.text.value(attribute.name);
            let key = Key::of(&name).filter(|key| key.fits(element) && key.bit().is_some());
            let key = key.or_else(|| self.kept_key(element, &name));
            if let Some(key) = key.filter(|key| self.kept.takes(*key)) {
                self.list(&mut list, key, attribute);
            }
        }
    }

    /// Reports two attributes of one key on one element, unless their values mean the same. Invalid
    /// values are not compared, because they are reported when they are read.
    pub(super) fn contradiction(&mut self, key: Key, first: &Attribute, again: &Attribute) {
        let (a, b) = (self.text.value(first.value), self.text.value(again.value));
        if value::same(key, &a, &b) {
            return;
        }
        let (name, other) = (self.text.value(again.name), self.text.value(first.name));
        let message = if name == other {
            format!("`{name}` has two different values")
        } else {
            format!("`{other}` and `{name}` are the same attribute, but have different values")
        };
        self.contradict(message, first.span(), again.span());
    }

    /// Reports two positions that contradict each other. `message` says in what. `again` is the
    /// later one.
    pub(super) fn contradict(&mut self, message: String, first: Span, again: Span) {
        self.report.push(
            Diagnostic::error(codes::CONTRADICTION, message)
                .at(again, "second value")
                .also(first, "first value")
                .help("remove one of the two"),
        );
    }
}
