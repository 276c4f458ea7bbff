//! Writes GraphML.

use crate::codes::NOT_EXPRESSIBLE;
use crate::drawing::{Attribute, Drawing, ORDER};
use crate::expanded::{self, Edge};
use crate::numbers::{is_number, is_whole};
use crate::translation::NULL;
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::network::Verified;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// Returns a network as GraphML, without abstract declarations. Reading it gives the same network.
///
/// # Errors
/// Returns an error if a name contains a character that XML does not allow, such as a control
/// character.
pub fn write(network: &Verified) -> Result<String, Diagnostics> {
    let text = expanded::with(network, document);
    match text.chars().find(|c| !is_allowed(*c)) {
        None => Ok(text),
        Some(c) => {
            let message = format!("GraphML cannot express a name of the network with {c:?}");
            let error = Diagnostic::error(NOT_EXPRESSIBLE, message);
            Err(error.help("rename it, or write JSON").into())
        }
    }
}

/// Returns true for the characters of XML 1.0.
fn is_allowed(c: char) -> bool {
    let is_control = c < ' ' && !matches!(c, '\t' | '\n' | '\r');
    !is_control && !matches!(c, '\u{fffe}' | '\u{ffff}')
}

/// Element and name of each key.
type Keys<'a> = BTreeSet<(&'static str, &'a str)>;

fn note<'a>(keys: &mut Keys<'a>, of: &'static str, attributes: &'a [Attribute<'_>]) {
    keys.extend(attributes.iter().map(|one| (of, &*one.name.text)));
}

/// Returns the `attr.type` of an attribute.
fn ty(name: &str) -> &'static str {
    match is_number(name) || name == ORDER {
        true if name == ORDER || is_whole(name) => "long",
        true => "double",
        false => "string",
    }
}

fn document(drawing: &Drawing<'_>, edges: &[Edge<'_>]) -> String {
    let Order {
        steps,
        nodes_sorted,
        modules_sorted,
    } = order(drawing);
    let is_sorted = nodes_sorted && modules_sorted;
    let mut keys = Keys::default();
    note(&mut keys, "graph", &drawing.attributes);
    for module in &drawing.modules {
        note(&mut keys, "node", &module.attributes);
    }
    for node in &drawing.nodes {
        note(&mut keys, "node", &node.attributes);
    }
    for edge in edges {
        note(&mut keys, "edge", &edge.attributes);
    }
    if !is_sorted {
        keys.insert(("node", ORDER));
    }
    let mut writer = Writer {
        out: String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"),
        numbers: BTreeMap::new(),
        depth: 0,
    };
    writer.line("<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">");
    writer.depth += 1;
    for (number, (of, name)) in keys.iter().enumerate() {
        let (name, ty) = (quoted(name), ty(name));
        let key =
            format!("<key id=\"d{number}\" for=\"{of}\" attr.name={name} attr.type=\"{ty}\"/>");
        writer.line(&key);
    }
    let numbered = keys.iter().enumerate();
    writer.numbers = numbered.map(|(number, key)| (*key, number)).collect();
    let name = drawing.name.as_ref().map_or("", |name| &name.text);
    writer.line(&format!(
        "<graph id={} edgedefault=\"directed\">",
        quoted(name)
    ));
    writer.depth += 1;
    writer.data("graph", &drawing.attributes);
    for step in steps {
        match step {
            Step::Node(index) => {
                let node = &drawing.nodes[index];
                let order = (!nodes_sorted).then_some(index);
                let tag = format!("node id={}", quoted(&node.name.text));
                writer.element(&tag, "node", &node.attributes, order);
            }
            Step::Open(index) => {
                let module = &drawing.modules[index];
                writer.line(&format!("<node id={}>", quoted(&module.id.text)));
                writer.depth += 1;
                writer.data("node", &module.attributes);
                if !modules_sorted {
                    writer.datum("node", ORDER, &index.to_string());
                }
                writer.line("<graph edgedefault=\"directed\">");
                writer.depth += 1;
            }
            Step::Close => {
                writer.depth -= 1;
                writer.line("</graph>");
                writer.depth -= 1;
                writer.line("</node>");
            }
        }
    }
    if edges
        .iter()
        .any(|edge| edge.ends.iter().any(|end| end == NULL))
    {
        // Each end of an edge must be a node of the file.
        writer.line(&format!("<node id=\"{NULL}\"/>"));
    }
    for edge in edges {
        let [source, target] = &edge.ends;
        let tag = format!("edge source={} target={}", quoted(source), quoted(target));
        writer.element(&tag, "edge", &edge.attributes, None);
    }
    writer.depth -= 1;
    writer.line("</graph>");
    writer.depth -= 1;
    writer.line("</graphml>");
    writer.out
}

/// A step through the modules of a graph.
enum Step {
    /// A node of the innermost open module.
    Node(usize),
    Open(usize),
    Close,
}

/// A way through all modules, each after the nodes directly in the module around it.
struct Order {
    steps: Vec<Step>,
    /// True if the nodes are in the order of ranks.
    nodes_sorted: bool,
    /// True if the modules are in their order in the network.
    modules_sorted: bool,
}

fn order(drawing: &Drawing<'_>) -> Order {
    let outside = drawing.modules.len();
    let mut nodes = vec![Vec::new(); outside + 1];
    let mut modules = vec![Vec::new(); outside + 1];
    for (index, node) in drawing.nodes.iter().enumerate() {
        nodes[node.module.unwrap_or(outside)].push(index);
    }
    for (index, module) in drawing.modules.iter().enumerate() {
        modules[module.parent.unwrap_or(outside)].push(index);
    }
    let mut steps: Vec<Step> = nodes[outside]
        .iter()
        .map(|&node| Step::Node(node))
        .collect();
    let open = |around: usize| {
        modules[around]
            .iter()
            .rev()
            .map(|&module| Step::Open(module))
    };
    // Not recursive, because modules may nest deeply.
    let mut todo: Vec<Step> = open(outside).collect();
    while let Some(step) = todo.pop() {
        if let Step::Open(module) = step {
            steps.push(step);
            steps.extend(nodes[module].iter().map(|&node| Step::Node(node)));
            todo.push(Step::Close);
            todo.extend(open(module));
        } else {
            steps.push(step);
        }
    }
    let visited = |of: fn(&Step) -> Option<usize>| steps.iter().filter_map(of).is_sorted();
    let nodes_sorted = visited(|step| match step {
        Step::Node(index) => Some(*index),
        _ => None,
    });
    let modules_sorted = visited(|step| match step {
        Step::Open(index) => Some(*index),
        _ => None,
    });
    Order {
        steps,
        nodes_sorted,
        modules_sorted,
    }
}

struct Writer<'a> {
    out: String,
    numbers: BTreeMap<(&'static str, &'a str), usize>,
    depth: usize,
}

impl Writer<'_> {
    /// Adds a line with the indentation of its depth, of at most 16 levels. Without this limit, the
    /// size of a file could grow with the square of its depth.
    fn line(&mut self, text: &str) {
        let _ = writeln!(self.out, "{}{text}", "  ".repeat(self.depth.min(16)));
    }

    fn element(
        &mut self,
        tag: &str,
        of: &'static str,
        attributes: &[Attribute<'_>],
        order: Option<usize>,
    ) {
        if attributes.is_empty() && order.is_none() {
            return self.line(&format!("<{tag}/>"));
        }
        self.line(&format!("<{tag}>"));
        self.depth += 1;
        self.data(of, attributes);
        if let Some(order) = order {
            self.datum(of, ORDER, &order.to_string());
        }
        self.depth -= 1;
        self.line(&format!("</{of}>"));
    }

    fn data(&mut self, of: &'static str, attributes: &[Attribute<'_>]) {
        for Attribute { name, value } in attributes {
            self.datum(of, &name.text, &value.text);
        }
    }

    fn datum(&mut self, of: &'static str, name: &str, value: &str) {
        if let Some(number) = self.numbers.get(&(of, name)) {
            self.line(&format!(
                "<data key=\"d{number}\">{}</data>",
                escaped(value)
            ));
        }
    }
}

fn quoted(value: &str) -> String {
    format!("\"{}\"", escaped(value))
}

/// Returns a text with the characters escaped that XML would interpret or change.
fn escaped(text: &str) -> Cow<'_, str> {
    let special = ['&', '<', '>', '"', '\t', '\n', '\r'];
    if !text.contains(special) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            '\t' => out += "&#9;",
            '\n' => out += "&#10;",
            '\r' => out += "&#13;",
            c => out.push(c),
        }
    }
    Cow::Owned(out)
}
