//! Writes an expanded network as DOT, for `graphmap expand`.
//!
//! Reading the result gives the same network: the same processes with the same ranks, with the same
//! ports in the same order, and the same channels. Only the names of bundles are lost, and modules
//! of one name in different modules get names of their own.

use crate::codes;
use crate::language::{VERSION, can_be_declared, is_html};
use graphmap_kpn::arena::Id;
use graphmap_kpn::attributes::{AttributesId, OF_ELEMENTS, OF_GRAPH, PREFIX};
use graphmap_kpn::bundles;
use graphmap_kpn::declared::{
    Constraint, ConstraintTarget, Direction, ModuleId, kind_of_name, without_cluster,
};
use graphmap_kpn::diagnostic::Diagnostic;
use graphmap_kpn::network::{
    ChannelId, DEFAULT_CAPACITY, Joined, Network, PortId, ProcessId, Verified,
};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fmt::Write;

/// Returns a network as DOT, without abstract declarations. Reading it gives the same network,
/// apart from names that DOT cannot express.
///
/// A network that [`check`] refuses gives a text that cannot be read. [`lost`] warns of what the
/// text does not contain.
///
/// Names of bundles are lost. A module with the name of an earlier module gets a number. An
/// attribute of the user gets the prefix `x_` if the graph language or Graphviz has its name, or if
/// the name contains a comma or white space.
///
/// A name or the value of an attribute that contains a zero byte, and an empty name of a port, a
/// kind or a type, cannot be expressed. Names of modules get the prefix `cluster_`, because
/// clusters of Graphviz need it. In contrast, `graphmap --emit` to a path that ends in `.json`
/// writes every name.
#[must_use]
pub fn to_dot(network: &Verified) -> String {
    let mut printer = Printer::new(network, None);
    printer.network();
    printer.out
}

/// A picture of a network, beside the network in the same text.
///
/// The text of each method is written as it is. Attributes begin with a space. Names and values must
/// be as [`word`] writes them. Clusters of the picture must begin with `module=""`, so that they are
/// not modules.
pub trait Drawing {
    /// Returns the statements before the network, each on a line.
    fn head(&self) -> String;
    /// Returns the statements after the network, each on a line.
    fn frames(&self) -> String;
    /// Returns additional attributes of a process.
    fn process(&self, id: ProcessId) -> String;
    /// Returns additional attributes of a channel.
    fn channel(&self, id: ChannelId) -> String;
    /// Returns the value of an attribute of the user for Graphviz as DOT, or `None` to leave it out.
    /// `of_edge` is true for attributes of a channel or a closed port.
    fn drawn(&self, name: &str, value: &str, of_edge: bool) -> Option<String>;
    /// Returns the name of the node that stands for the environment at a closed port, and additional
    /// attributes of the edge. The node must be declared by [`Drawing::head`] as a port of the
    /// graph. No process may have its name.
    fn closed(&self, id: PortId) -> (String, String);
}

/// Returns a network with a picture of it as DOT. Reading it gives the same network, with the
/// constraints and the attributes of Graphviz that the picture adds. Modules are not clusters.
///
/// [`to_dot`] has the same limits.
#[must_use]
pub fn to_drawing(network: &Verified, drawing: &dyn Drawing) -> String {
    let mut printer = Printer::new(network, Some(drawing));
    printer.network();
    printer.out
}

/// Returns an error if a process has two different constraints of one sort, such as two groups of
/// `colocate`, which attributes of its node cannot express. A module can have the other one.
pub fn check(network: &Verified) -> Option<Diagnostic> {
    let mut first = HashMap::new();
    for constraint in &network.constraints {
        let ConstraintTarget::Node(_) = constraint.declared.target else {
            continue;
        };
        let sort = std::mem::discriminant(&constraint.declared.constraint);
        for &process in &constraint.processes {
            let other = *first.entry((process, sort)).or_insert(constraint);
            if other.declared.constraint != constraint.declared.constraint {
                let attribute = attribute(&constraint.declared.constraint);
                let name = attribute.split('=').next().unwrap_or_default();
                let process = network.process_name(process);
                let message = format!("`{process}` has two different values of `{name}`");
                return Some(
                    Diagnostic::error(codes::CONTRADICTION, message)
                        .at(constraint.declared.span, "one of the two")
                        .also(other.declared.span, "the other")
                        .with_note("the node of a process has one value in this format")
                        .help("write the network as JSON: `--to json`"),
                );
            }
        }
    }
    None
}

/// Returns an error (`G0206`) if a port, a kind or a type has an empty name, which the text of
/// [`to_dot`] cannot express.
pub fn unnamed(network: &Network) -> Option<Diagnostic> {
    let is_empty = |name| network.name(name).is_empty();
    let of_ports = network.ports.iter().find_map(|(id, port)| {
        let process = network.process_name(port.process);
        match () {
            () if is_empty(port.name) => Some(format!("a port of `{process}` has an empty name")),
            () if network.port_type(id).is_some_and(is_empty) => Some(format!(
                "a port of `{process}` has a type with an empty name"
            )),
            () => None,
        }
    });
    let of_kinds = || {
        let mut processes = network.processes.ids();
        let process = processes.find(|&id| network.kind_name(id).is_empty())?;
        let process = network.process_name(process);
        Some(format!("the kind of `{process}` has an empty name"))
    };
    let message = of_ports.or_else(of_kinds)?;
    Some(
        Diagnostic::error(codes::BAD_VALUE, message)
            .with_note("a graph file in DOT has no empty names")
            .help("name it, or write the network as JSON"),
    )
}

/// Returns a warning (`G0222`) if a network has boxes, glue functions or environment variables,
/// which the text of [`to_dot`] does not contain.
pub fn lost(network: &Network) -> Option<Diagnostic> {
    let all = [
        ("boxes", !network.boxes.is_empty()),
        ("glue functions", !network.glue.is_empty()),
        ("environment variables", !network.environment.is_empty()),
    ];
    let lost = all.into_iter().filter(|(_, has)| *has);
    let lost: Vec<&str> = lost.map(|(name, _)| name).collect();
    let message = match lost[..] {
        [] => return None,
        [one] => format!("the format has no {one}"),
        [one, other] => format!("the format has no {one} and no {other}"),
        _ => format!("the format has no {}", lost.join(", no ")),
    };
    Some(
        Diagnostic::warning(codes::LOST, message)
            .with_note("the written network is without them")
            .help("write the network as JSON: `--to json`"),
    )
}

struct Printer<'n> {
    network: &'n Network,
    out: String,
    /// Modules in each module, and as last element those at the top level.
    children: Vec<Vec<ModuleId>>,
    /// Processes in each module, and as last element those at the top level.
    members: Vec<Vec<ProcessId>>,
    /// Attributes of each process, including its constraints.
    attributes: Vec<String>,
    /// Constraints of each module.
    of_module: Vec<Vec<String>>,
    names: HashSet<String>,
    /// Names of the user's attributes that must be declared.
    declared: BTreeSet<&'n str>,
    /// True if all processes are listed before the modules.
    listed: bool,
    drawing: Option<&'n dyn Drawing>,
}

impl<'n> Printer<'n> {
    fn new(network: &'n Network, drawing: Option<&'n dyn Drawing>) -> Printer<'n> {
        let outside = network.modules.len();
        let mut children = vec![Vec::new(); outside + 1];
        for (id, module) in network.modules.iter() {
            children[module.parent.map_or(outside, Id::index)].push(id);
        }
        let mut members = vec![Vec::new(); outside + 1];
        for (id, process) in network.processes.iter() {
            members[process.module.map_or(outside, Id::index)].push(id);
        }
        let mut printer = Printer {
            network,
            out: String::new(),
            children,
            members,
            attributes: Vec::new(),
            of_module: vec![Vec::new(); outside],
            names: HashSet::new(),
            declared: BTreeSet::new(),
            listed: false,
            drawing,
        };
        printer.declared = printer.declared_names();
        printer.attributes = network
            .processes
            .ids()
            .map(|p| printer.process(p))
            .collect();
        for constraint in &network.constraints {
            let attributes = attribute(&constraint.declared.constraint);
            // Written on the module, because a process in it may have a constraint of its own.
            if let ConstraintTarget::Module(module) = constraint.declared.target {
                printer.of_module[module.index()].push(attributes);
                continue;
            }
            for process in &constraint.processes {
                printer.attributes[process.index()] += &format!(" {attributes}");
            }
        }
        printer
    }

    fn network(&mut self) {
        let network = self.network;
        let _ = writeln!(self.out, "digraph {} {{", word(&network.name));
        let _ = writeln!(self.out, "    graphmap={VERSION};");
        if let Some(drawing) = self.drawing {
            self.out.push_str(&drawing.head());
            for id in network.processes.ids() {
                self.attributes[id.index()] += &drawing.process(id);
            }
        }
        if let Some((skeleton, _)) = &network.skeleton {
            let _ = writeln!(self.out, "    skeleton={};", word(skeleton));
        }
        if !self.declared.is_empty() {
            let names: Vec<&str> = self.declared.iter().copied().collect();
            let _ = writeln!(self.out, "    attributes={};", word(&names.join(", ")));
        }
        for attribute in self.kept(network.attributes.graph, &OF_GRAPH) {
            let _ = writeln!(self.out, "    {attribute};");
        }
        // Ranks follow the order of first appearance, which the order of modules may not give.
        self.listed = !self.in_order();
        if self.listed {
            for process in network.processes.ids() {
                let name = word(network.process_name(process));
                let _ = writeln!(self.out, "    {name};");
            }
        }
        self.modules();
        let named = bundles::named(network);
        for joined in network.joins() {
            let line = match joined {
                Joined::Channel(id) => {
                    self.channel(id, named.get(id.index()).copied().unwrap_or_default())
                }
                Joined::Closed(port) => self.closed(port),
            };
            let _ = writeln!(self.out, "    {line}");
        }
        if let Some(drawing) = self.drawing {
            self.out.push_str(&drawing.frames());
        }
        // Graphviz gives the label of a graph or a cluster to the clusters that follow in it.
        for attribute in self.drawn(network.attributes.graph, &OF_GRAPH, false) {
            let _ = writeln!(self.out, "    {attribute};");
        }
        self.out.push_str("}\n");
    }

    /// Returns true if writing module by module gives every process its rank. In that order, the
    /// processes directly in a module precede those of the modules inside it.
    fn in_order(&self) -> bool {
        let mut next = 0;
        let mut stack = vec![self.network.modules.len()];
        while let Some(module) = stack.pop() {
            for process in &self.members[module] {
                if process.index() != next {
                    return false;
                }
                next += 1;
            }
            stack.extend(self.children[module].iter().rev().map(|m| m.index()));
        }
        true
    }

    /// Writes the processes outside of modules, and then all modules with their contents. It is not
    /// recursive, because modules may nest very deeply.
    fn modules(&mut self) {
        enum Step {
            Open(ModuleId),
            Close(ModuleId),
        }
        let outside = self.network.modules.len();
        self.members_of(outside, 1);
        let open = |children: &[ModuleId]| -> Vec<Step> {
            children
                .iter()
                .rev()
                .map(|&child| Step::Open(child))
                .collect()
        };
        let mut steps = open(&self.children[outside]);
        let mut depth = 1;
        while let Some(step) = steps.pop() {
            match step {
                Step::Open(module) => {
                    self.header(module, depth);
                    depth += 1;
                    self.members_of(module.index(), depth);
                    steps.push(Step::Close(module));
                    steps.extend(open(&self.children[module.index()]));
                }
                Step::Close(module) => {
                    let list = self.network.attributes.modules.get(module);
                    for attribute in self.drawn(list, &OF_ELEMENTS, false) {
                        let _ = writeln!(self.out, "{}{attribute};", indent(depth));
                    }
                    depth -= 1;
                    let _ = writeln!(self.out, "{}}}", indent(depth));
                }
            }
        }
    }

    fn members_of(&mut self, module: usize, depth: usize) {
        for process in &self.members[module] {
            let name = word(self.network.process_name(*process));
            let attributes = self.attributes[process.index()].trim_start();
            let outside = module == self.network.modules.len();
            if self.listed && outside && attributes.is_empty() {
                continue;
            }
            let _ = match attributes {
                "" => writeln!(self.out, "{}{name};", indent(depth)),
                some => writeln!(self.out, "{}{name} [{some}];", indent(depth)),
            };
        }
    }

    fn header(&mut self, id: ModuleId, depth: usize) {
        let module = &self.network.modules[id];
        let mut name = self.network.name(module.name).to_owned();
        if self.drawing.is_some() {
            while let Some(rest) = without_cluster(&name) {
                name = rest.trim_start_matches('_').to_owned();
            }
        } else if without_cluster(&name).is_none() {
            name.insert_str(0, "cluster_");
        }
        if !self.names.insert(name.clone()) {
            name = format!("{name}_{}", id.index());
            self.names.insert(name.clone());
        }
        let kind = word(self.network.name(module.kind));
        let _ = writeln!(self.out, "{}subgraph {} {{", indent(depth), word(&name));
        if self.drawing.is_some() {
            let _ = writeln!(self.out, "{}cluster=false;", indent(depth + 1));
        }
        let _ = writeln!(self.out, "{}module={kind};", indent(depth + 1));
        for attributes in &self.of_module[id.index()] {
            let _ = writeln!(self.out, "{}{attributes};", indent(depth + 1));
        }
        let list = self.network.attributes.modules.get(id);
        for attribute in self.kept(list, &OF_ELEMENTS) {
            let _ = writeln!(self.out, "{}{attribute};", indent(depth + 1));
        }
    }

    fn process(&self, id: ProcessId) -> String {
        let process = &self.network.processes[id];
        let (name, kind) = (self.network.process_name(id), self.network.kind_name(id));
        let mut text = String::new();
        if kind_of_name(name) != kind {
            let _ = write!(text, " kind={}", word(kind));
        }
        if process.load != 1.0 {
            let _ = write!(text, " load={}", process.load);
        }
        if process.mem != 0.0 {
            let _ = write!(text, " mem={}", process.mem);
        }
        if let Some(parameters) = self.network.parameters.get(&process.kind)
            && let Some(arguments) = self.network.arguments.get(&id)
        {
            let parameters: Vec<String> = parameters.iter().map(ToString::to_string).collect();
            let arguments: Vec<String> = arguments.iter().map(ToString::to_string).collect();
            let (parameters, arguments) = (parameters.join(", "), arguments.join(", "));
            let _ = write!(
                text,
                " params={} args={}",
                word(&parameters),
                word(&arguments)
            );
        }
        self.add_kept(&mut text, self.network.attributes.processes.get(id), false);
        text
    }

    /// Adds the attributes of a process or a channel that are kept and not interpreted.
    fn add_kept(&self, text: &mut String, list: Option<AttributesId>, of_edge: bool) {
        let drawn = self.drawn(list, &OF_ELEMENTS, of_edge);
        for attributes in [self.kept(list, &OF_ELEMENTS), drawn] {
            for attribute in attributes {
                text.push(' ');
                text.push_str(&attribute);
            }
        }
    }

    /// Returns the attributes of a list for Graphviz, whose names are in `of_graphviz`, as
    /// `name=value`.
    fn drawn(
        &self,
        list: Option<AttributesId>,
        of_graphviz: &[&str],
        of_edge: bool,
    ) -> Vec<String> {
        if list.is_none() {
            return Vec::new();
        }
        let texts = self.network.attribute_texts(list);
        let wanted = texts.filter(|(name, _)| of_graphviz.contains(name));
        let written = wanted.filter_map(|(name, value)| {
            let value = match self.drawing {
                Some(drawing) => drawing.drawn(name, value, of_edge)?,
                None if name == "label" && is_html(value) => value.to_owned(),
                None => word(value),
            };
            Some(format!("{name}={value}"))
        });
        written.collect()
    }

    /// Returns the user's own attributes of a list as `name=value`. Those in `of_graphviz` are not
    /// among them.
    fn kept(&self, list: Option<AttributesId>, of_graphviz: &[&str]) -> Vec<String> {
        if list.is_none() {
            return Vec::new();
        }
        let texts = self.network.attribute_texts(list);
        let wanted = texts.filter(|(name, _)| !of_graphviz.contains(name));
        let written = wanted.map(|(name, value)| {
            let free = name.starts_with(PREFIX) || self.declared.contains(name);
            let prefix = if free { "" } else { PREFIX };
            format!("{}={}", word(&format!("{prefix}{name}")), word(value))
        });
        written.collect()
    }

    /// Returns the names of the user's attributes that `attributes=` must declare.
    fn declared_names(&self) -> BTreeSet<&'n str> {
        let network = self.network;
        let attributes = &network.attributes;
        let lists = (0..attributes.lists.len()).map(AttributesId::from_index);
        let names = lists.flat_map(|list| network.attribute_texts(Some(list)));
        let names = names.map(|(name, _)| name);
        names
            .filter(|name| !name.starts_with(PREFIX) && can_be_declared(name))
            .collect()
    }

    fn closed(&self, id: PortId) -> String {
        let network = self.network;
        let port = &network.ports[id];
        let process = word(network.process_name(port.process));
        let name = word(network.name(port.name));
        let mut attributes = network.port_type(id).map_or(String::new(), |ty| {
            format!(" type={}", word(network.name(ty)))
        });
        if let Some(bundle) = network.port_bundle(id) {
            let _ = write!(attributes, " bundle={}", bundle.name());
        }
        self.add_kept(&mut attributes, network.port_attributes(id), true);
        let mut environment = "NULL".to_owned();
        if let Some(drawing) = self.drawing {
            let (node, more) = drawing.closed(id);
            environment = node;
            attributes += &more;
        }
        match port.direction {
            Direction::Input => format!("{environment} -> {process} [dst={name}{attributes}];"),
            Direction::Output => format!("{process} -> {environment} [src={name}{attributes}];"),
        }
    }

    fn channel(&self, id: ChannelId, bundles: bundles::Names) -> String {
        let network = self.network;
        let channel = &network.channels[id];
        let (from, to) = (&network.ports[channel.from], &network.ports[channel.to]);
        let mut attributes = String::new();
        for (attribute, port, default) in [("src", from, "out"), ("dst", to, "in")] {
            let name = network.name(port.name);
            if name != default {
                let _ = write!(attributes, " {attribute}={}", word(name));
            }
        }
        if let Some(ty) = channel.ty {
            let _ = write!(attributes, " type={}", word(network.name(ty)));
        }
        let terms = network.terms(id);
        if terms.capacity != DEFAULT_CAPACITY {
            let _ = write!(attributes, " capacity={}", terms.capacity);
        }
        if terms.initial != 0 {
            let _ = write!(attributes, " initial={}", terms.initial);
        }
        if let Some(tag) = terms.tag {
            let _ = write!(attributes, " tag={tag}");
        }
        if let Some(flow) = terms.flow {
            let _ = write!(attributes, " flow={}", word(flow.name()));
        }
        if channel.traffic != 1.0 {
            let _ = write!(attributes, " traffic={}", channel.traffic);
        }
        let named = bundles.into_iter().flatten();
        let mut kinds = named.map(|bundle| network.bundles[bundle].kind.name());
        match (kinds.next(), kinds.next()) {
            (Some(one), Some(other)) => {
                let _ = write!(attributes, " bundle=\"{one},{other}\"");
            }
            (Some(kind), None) => {
                let _ = write!(attributes, " bundle={kind}");
            }
            (None, _) => {}
        }
        self.add_kept(&mut attributes, network.attributes.channels.get(id), true);
        if let Some(drawing) = self.drawing {
            attributes += &drawing.channel(id);
        }
        let ends = [from, to].map(|port| word(network.process_name(port.process)));
        match attributes.trim_start() {
            "" => format!("{} -> {};", ends[0], ends[1]),
            attributes => format!("{} -> {} [{attributes}];", ends[0], ends[1]),
        }
    }
}

/// Returns the indentation of a depth: four spaces per level, for at most 16 levels. Without this
/// limit, the size of a file could grow with the square of its depth.
fn indent(depth: usize) -> String {
    "    ".repeat(depth.min(16))
}

/// Returns a constraint as an attribute.
fn attribute(constraint: &Constraint) -> String {
    match constraint {
        Constraint::Host(host) => format!("host={}", word(host)),
        Constraint::OsProcess(number) => format!("osprocess={number}"),
        Constraint::Colocate(group) => format!("colocate={}", word(group)),
        Constraint::Separate(group) => format!("separate={}", word(group)),
        Constraint::Program(program) => format!("program={}", word(program)),
        Constraint::Hold { least, most } => format!("hold=\"{}\"", range(*least, *most)),
        Constraint::Whole => "whole=true".to_owned(),
        Constraint::Prefer(traffic) => format!("prefer={traffic}"),
    }
}

/// Returns minimum and maximum in the syntax of `hold=`: `1-4`, or `1-` if the maximum is
/// [`u32::MAX`].
fn range(least: u32, most: u32) -> String {
    match most {
        u32::MAX => format!("{least}-"),
        most => format!("{least}-{most}"),
    }
}

/// Returns a name as DOT writes it. It is in quotes unless it is a word of ASCII letters, digits
/// and `_` that does not begin with a digit and is not a keyword.
///
/// [`Text::value`](crate::token::Text::value) of the result is `name`. A backslash that would
/// escape the next character is written as an HTML string, `"a" + <\> + "b"`, which has no escapes.
pub fn word(name: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let keyword = ["node", "edge", "graph", "digraph", "subgraph", "strict"];
    let is_plain = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(plain)
        && !keyword.contains(&name.to_ascii_lowercase().as_str());
    if is_plain {
        return name.to_owned();
    }
    if !name.contains('\\') {
        return format!("\"{}\"", name.replace('"', "\\\""));
    }
    let mut text = String::from("\"");
    let mut rest = name.chars().peekable();
    while let Some(c) = rest.next() {
        match (c, rest.peek()) {
            ('"', _) => text += "\\\"",
            ('\\', None | Some('"' | '\n' | '\r')) => text += "\" + <\\> + \"",
            ('\\', Some('\\')) => {
                // The first escapes the second, which escapes nothing.
                text += "\\\\";
                rest.next();
            }
            (c, _) => text.push(c),
        }
    }
    text + "\""
}

#[cfg(test)]
mod tests {
    use super::word;
    use crate::language::load;
    use graphmap_kpn::diagnostic::Diagnostics;
    use graphmap_kpn::source::SourceMap;

    #[test]
    fn words_are_read_as_the_names_that_they_stand_for() {
        for name in [
            "a", "7", "node", "a b", "\"", "a\\", "\\", "\\\\", "\\\"", "\\\\\"", "\\\\\\",
            "a\\\nb", "\\\r\n", "\\N\\", "<a>", "a:b",
        ] {
            let text = format!("digraph {{ {} }}", word(name));
            let (mut sources, mut found) = (SourceMap::new(), Diagnostics::new());
            let declared = load(&mut sources, "a.dot", text.clone().into_bytes(), &mut found);
            let declared = declared.unwrap_or_else(|| panic!("{text}: {found:?}"));
            let names = declared.nodes.values().map(|node| declared.name(node.name));
            assert_eq!(names.collect::<Vec<_>>(), [name], "{text}");
        }
    }
}
