//! Writes node-link JSON.

use crate::drawing::{Attribute, Drawing, MODULE_NAME};
use crate::expanded::{self, Edge};
use crate::numbers::is_number;
use crate::translation::NULL;
use graphmap_kpn::controls;
use graphmap_kpn::network::Verified;
use rustc_hash::FxHashSet;

/// Returns a network as node-link JSON, without abstract declarations. Reading it gives the same
/// network. It has one line for each node and each edge.
#[must_use]
pub fn write(network: &Verified) -> String {
    controls::in_json(expanded::with(network, document))
}

fn document(drawing: &Drawing<'_>, edges: &[Edge<'_>]) -> String {
    let ids = module_ids(drawing);
    let mut out = String::from("{\n\"directed\": true,\n\"multigraph\": true,\n\"graph\": {");
    let mut graph = Object::new(&mut out);
    let name = drawing.name.as_ref().map_or("", |name| &name.text);
    graph.text("name", name);
    graph.attributes(&drawing.attributes);
    if !drawing.modules.is_empty() {
        graph.name("modules");
        graph.out.push_str("[\n");
        for (index, module) in drawing.modules.iter().enumerate() {
            graph.out.push_str(if index == 0 { "{" } else { ",\n{" });
            let mut entry = Object::new(graph.out);
            let name = &*module.name().text;
            entry.text("id", &ids[index]);
            if let Some(parent) = module.parent {
                entry.text("parent", &ids[parent]);
            }
            if ids[index] != name {
                entry.text(MODULE_NAME, name);
            }
            let attributes = module.attributes.iter();
            attributes
                .filter(|a| a.name.text != MODULE_NAME)
                .for_each(|a| entry.attribute(a));
            entry.out.push('}');
        }
        graph.out.push_str("\n]");
    }
    out.push_str("},\n\"nodes\": [");
    let mut separator = "\n";
    for node in &drawing.nodes {
        out.push_str(separator);
        separator = ",\n";
        out.push('{');
        let mut object = Object::new(&mut out);
        object.text("id", &node.name.text);
        for attribute in &node.attributes {
            match &*attribute.name.text {
                "mem" => object.value("memory", &attribute.value.text),
                _ => object.attribute(attribute),
            }
        }
        if let Some(module) = node.module {
            object.text("module", &ids[module]);
        }
        out.push('}');
    }
    if edges
        .iter()
        .any(|edge| edge.ends.iter().any(|end| end == NULL))
    {
        out.push_str(separator);
        out.push_str("{\"id\": \"NULL\"}");
    }
    out.push_str("\n],\n\"edges\": [");
    let mut separator = "\n";
    for edge in edges {
        out.push_str(separator);
        separator = ",\n";
        out.push('{');
        let mut object = Object::new(&mut out);
        object.text("source", &edge.ends[0]);
        object.text("target", &edge.ends[1]);
        object.attributes(&edge.attributes);
        out.push('}');
    }
    out.push_str("\n]\n}\n");
    out
}

/// Returns the id of each module: its path, such as `a/b`, or another text if a name contains `/`
/// or the path is in use.
fn module_ids(drawing: &Drawing<'_>) -> Vec<String> {
    let mut ids: Vec<String> = Vec::new();
    let mut known: FxHashSet<String> = FxHashSet::default();
    for (index, module) in drawing.modules.iter().enumerate() {
        let name = &module.name().text;
        let path = match module.parent {
            Some(parent) => format!("{}/{name}", ids[parent]),
            None => name.clone().into_owned(),
        };
        let is_path = !name.is_empty() && !name.contains('/');
        let mut id = path.clone();
        let mut number = index;
        while (!is_path && id == path) || known.contains(&id) {
            number += 1;
            id = format!("{path}_{number}");
        }
        known.insert(id.clone());
        ids.push(id);
    }
    ids
}

/// Members of an object.
struct Object<'o> {
    out: &'o mut String,
    is_first: bool,
}

impl Object<'_> {
    fn new(out: &mut String) -> Object<'_> {
        Object {
            out,
            is_first: true,
        }
    }

    fn name(&mut self, name: &str) {
        if !std::mem::replace(&mut self.is_first, false) {
            self.out.push_str(", ");
        }
        self.string(name);
        self.out.push_str(": ");
    }

    fn text(&mut self, name: &str, value: &str) {
        self.name(name);
        self.string(value);
    }

    /// Adds a value that is a number if the graph language has numbers there.
    fn value(&mut self, name: &str, value: &str) {
        self.name(name);
        match value.parse::<f64>() {
            Ok(_) if is_number(name) || name == "memory" => self.out.push_str(value),
            _ => self.string(value),
        }
    }

    fn attribute(&mut self, attribute: &Attribute<'_>) {
        self.value(&attribute.name.text, &attribute.value.text);
    }

    fn attributes(&mut self, attributes: &[Attribute<'_>]) {
        attributes.iter().for_each(|one| self.attribute(one));
    }

    fn string(&mut self, text: &str) {
        let json = serde_json::to_string(text);
        // Strings can always be serialized to memory.
        self.out.push_str(&json.expect("a string is JSON"));
    }
}
