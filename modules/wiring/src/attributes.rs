//! Attributes of the user in the model of skeletons.

use crate::sequence;
use graphmap_kpn::attributes::{AttributesId, is_of_graphviz};
use graphmap_kpn::names::Symbol;
use graphmap_kpn::network::Network;
use rustc_hash::FxHashMap;
use serde::Serialize;

/// An attribute of the user that elements of a class have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct AttributeModel {
    /// Its name.
    pub name: String,
    /// Its values, each once, in the order of the elements.
    pub values: Vec<String>,
    /// Number of the value of each element, from 1, a sequence. 0 means that the element does not
    /// have the attribute.
    pub which: String,
}

/// Returns the attributes of elements, sorted by name. `lists` returns the list of each element.
/// Attributes of Graphviz are not included. Linear in the number of elements and attributes, and in the
/// product of elements and names.
pub(crate) fn attributes<I: Iterator<Item = Option<AttributesId>>>(
    network: &Network,
    lists: impl Fn() -> I,
) -> Vec<AttributeModel> {
    let all = &network.attributes.lists;
    if all.is_empty() {
        return Vec::new();
    }
    let mut names: Vec<Symbol> = Vec::new();
    let mut last = None;
    for list in lists().filter(Option::is_some) {
        if last == list {
            continue;
        }
        last = list;
        for (name, _) in all.list(list) {
            if !names.contains(name) && !is_of_graphviz(network.name(*name)) {
                names.push(*name);
            }
        }
    }
    names.sort_by_key(|name| network.name(*name));
    let model = |name| {
        let mut values: Vec<Symbol> = Vec::new();
        let mut number_of: FxHashMap<Symbol, u32> = FxHashMap::default();
        let which: Vec<u32> = lists()
            .map(|list| {
                let found = all.list(list).iter().find(|(of, _)| *of == name);
                found.map_or(0, |(_, value)| {
                    *number_of.entry(*value).or_insert_with(|| {
                        values.push(*value);
                        values.len() as u32
                    })
                })
            })
            .collect();
        AttributeModel {
            name: network.name(name).to_owned(),
            values: values
                .iter()
                .map(|value| network.name(*value).to_owned())
                .collect(),
            which: sequence::encode(&which),
        }
    };
    names.into_iter().map(model).collect()
}
