//! Labels and other attributes of the user, as a picture shows them.

use crate::picture::Picture;
use graphmap_kpn::attributes::{AttributeLists, AttributesId, is_of_graphviz};
use graphmap_kpn::declared::Declared;
use graphmap_kpn::names::{Names, Symbol};
use graphmap_kpn::network::Network;
use rustc_hash::FxHashMap;

/// Names and attributes of the elements of a network or graph.
#[derive(Clone, Copy)]
pub(crate) struct Texts<'a> {
    graph: &'a str,
    names: &'a Names,
    lists: &'a AttributeLists,
}

impl<'a> Texts<'a> {
    pub(crate) fn of_network(network: &'a Network) -> Texts<'a> {
        Texts {
            graph: &network.name,
            names: &network.names,
            lists: &network.attributes.lists,
        }
    }

    pub(crate) fn of_graph(declared: &'a Declared) -> Texts<'a> {
        Texts {
            graph: &declared.name,
            names: &declared.names,
            lists: &declared.attributes.lists,
        }
    }

    pub(crate) fn name(self, symbol: Symbol) -> &'a str {
        self.names.name(symbol)
    }

    /// Returns the value of an attribute.
    fn value(self, list: Option<AttributesId>, name: &str) -> Option<&'a str> {
        let mut all = self.lists.texts(self.names, list);
        all.find(|(known, _)| *known == name)
            .map(|(_, value)| value)
    }

    /// Returns the `color` of an element.
    pub(crate) fn color(self, list: Option<AttributesId>) -> Option<String> {
        self.value(list, "color").map(str::to_owned)
    }

    /// Returns the colours of the fill and of the outline of a node. As in Graphviz, it is filled
    /// only with `style=filled`: with its `fillcolor`, or otherwise with its `color`.
    pub(crate) fn fill_and_outline(
        self,
        list: Option<AttributesId>,
    ) -> (Option<String>, Option<String>) {
        let color = self.color(list);
        let styles = self.value(list, "style").unwrap_or_default();
        if !styles.split(',').any(|style| style.trim() == "filled") {
            return (None, color);
        }
        match self.value(list, "fillcolor") {
            Some(fill) => (Some(fill.to_owned()), color),
            None => (color, None),
        }
    }

    /// Returns the text of the `label` of an element with this name.
    pub(crate) fn label(self, list: Option<AttributesId>, name: &str) -> Option<String> {
        Some(shown_label(self.value(list, "label")?, name, self.graph))
    }

    /// Returns the attributes of the user as text: `, x_est=4` for each.
    pub(crate) fn users(self, list: Option<AttributesId>) -> String {
        let all = self.lists.texts(self.names, list);
        let users = all.filter(|(name, _)| !is_of_graphviz(name));
        users
            .map(|(name, value)| format!(", {name}={value}"))
            .collect()
    }

    /// Returns a picture without nodes, with its name, title and direction.
    pub(crate) fn picture(self, graph: Option<AttributesId>) -> Picture {
        let title = self.label(graph, self.graph);
        let rankdir = self.value(graph, "rankdir");
        Picture {
            name: self.graph.to_owned(),
            title: title.map_or_else(|| self.graph.to_owned(), |title| in_one_line(&title)),
            downwards: matches!(rankdir, Some("TB" | "BT")),
            reversed: matches!(rankdir, Some("BT" | "RL")),
            ..Picture::default()
        }
    }
}

/// Returns the text that Graphviz shows for a label. `\N` and `\G` are the names of the element and
/// of the graph, and `\n`, `\l` and `\r` end a line. Of a label in HTML, only the text is left.
pub(crate) fn shown_label(value: &str, name: &str, graph: &str) -> String {
    let html = value
        .strip_prefix('<')
        .and_then(|rest| rest.strip_suffix('>'));
    let mut text = String::new();
    match html {
        Some(html) => {
            let mut parts = html.split('<');
            text += parts.next().unwrap_or_default();
            for part in parts {
                let (tag, rest) = part.split_once('>').unwrap_or((part, ""));
                let is_break = tag
                    .get(..2)
                    .is_some_and(|tag| tag.eq_ignore_ascii_case("br"));
                text += if is_break { "\n" } else { "" };
                text += rest;
            }
            for (entity, shown) in [
                ("&lt;", "<"),
                ("&gt;", ">"),
                ("&quot;", "\""),
                ("&amp;", "&"),
            ] {
                text = text.replace(entity, shown);
            }
        }
        None => {
            let mut letters = value.chars();
            while let Some(letter) = letters.next() {
                let escaped = if letter == '\\' { letters.next() } else { None };
                match escaped {
                    Some('N') => text += name,
                    Some('G') => text += graph,
                    Some('n' | 'l' | 'r') => text.push('\n'),
                    Some(other) => text.push(other),
                    None => text.push(letter),
                }
            }
        }
    }
    text.trim().to_owned()
}

/// Replaces line breaks and repeated spaces by one space.
pub(crate) fn in_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns, for each element in order, whether it has a `label` that no other element of its kind
/// has. The instances of a declaration share its label, which does not name any of them.
pub(crate) fn have_own_labels(
    texts: Texts<'_>,
    elements: impl Iterator<Item = (Symbol, Option<AttributesId>)>,
) -> Vec<bool> {
    let labels = elements.map(|(kind, list)| Some((kind, texts.value(list, "label")?)));
    let labels: Vec<Option<(Symbol, &str)>> = labels.collect();
    let mut all: FxHashMap<(Symbol, &str), usize> = FxHashMap::default();
    for label in labels.iter().flatten() {
        *all.entry(*label).or_default() += 1;
    }
    let is_own = |label: &Option<(Symbol, &str)>| label.is_some_and(|label| all[&label] == 1);
    labels.iter().map(is_own).collect()
}
