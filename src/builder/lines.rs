//! Renders a built network as lines of a graph file, to which its diagnostics refer.

use graphmap_kpn::declared::{
    At, ChannelDecl, ChannelExtra, Constraint, ConstraintTarget, Declared, ModuleId, NodeDecl,
    NodeId, kind_of_name,
};
use graphmap_kpn::names::Names;
use graphmap_kpn::source::Span;
use std::collections::HashMap;
use std::fmt::{Display, Write};

/// Maximum length of the text, in bytes. Declarations beyond it have no position.
const MOST_TEXT: usize = 1 << 30;

/// Returns a text with a line for each module, process and channel, and sets the position of each
/// to its line. A constraint gets the position of its process or module. A declaration for which
/// the text would be longer than [`MOST_TEXT`] has no line, and the position [`Span::NONE`].
pub(super) fn set_positions(declared: &mut Declared) -> String {
    let mut lines = Lines(format!("digraph {:?} {{\n", declared.name));
    let (of_modules, of_nodes) = constraints(declared);
    let names = &declared.names;
    let modules: Vec<ModuleId> = declared.modules.ids().collect();
    for id in modules {
        let module = &mut declared.modules[id];
        let mut said = Attributes::new("; ");
        said.add("replicas", module.replicas);
        said.all(of_modules.get(&id));
        let name = format!("cluster_{}", names.name(module.name));
        module.span = lines.add(&match &*said.text {
            "" => format!("subgraph {name:?} {{}}"),
            said => format!("subgraph {name:?} {{ {said}; }}"),
        });
    }
    let nodes: Vec<NodeId> = declared.nodes.ids().collect();
    for id in nodes {
        let node = &mut declared.nodes[id];
        node.span = lines.add(&process(node, names, of_nodes.get(&id)));
    }
    for index in 0..declared.channels.len() {
        let decl = &declared.channels[index];
        let line = channel(decl, declared);
        let span = lines.add(&line);
        declared.channels[index].span = span;
    }
    for constraint in &mut declared.constraints {
        constraint.span = match constraint.target {
            ConstraintTarget::Node(node) => declared.nodes[node].span,
            ConstraintTarget::Module(module) => declared.modules[module].span,
        };
    }
    lines.0 + "}\n"
}

struct Lines(String);

impl Lines {
    /// Adds an indented line and returns its position. Returns [`Span::NONE`] and adds nothing if
    /// the text would be too long.
    fn add(&mut self, line: &str) -> Span {
        if self.0.len() + line.len() > MOST_TEXT {
            return Span::NONE;
        }
        self.0 += "    ";
        let start = self.0.len() as u32;
        self.0 += line;
        let end = self.0.len() as u32;
        self.0.push('\n');
        Span::new(start, end)
    }
}

/// Attributes of one declaration.
struct Attributes {
    text: String,
    between: &'static str,
}

impl Attributes {
    fn new(between: &'static str) -> Attributes {
        Attributes {
            text: String::new(),
            between,
        }
    }

    fn add(&mut self, name: &str, value: Option<impl Display>) {
        if let Some(value) = value {
            self.word(&format!("{name}={value}"));
        }
    }

    fn all(&mut self, words: Option<&Vec<String>>) {
        words.into_iter().flatten().for_each(|said| self.word(said));
    }

    fn word(&mut self, said: &str) {
        if !self.text.is_empty() {
            self.text += self.between;
        }
        self.text += said;
    }
}

type Words<I> = HashMap<I, Vec<String>>;

/// Returns the attributes that state the constraints of each module, and of each process, in the
/// order of declaration. Modules and processes without constraints have no entry.
fn constraints(declared: &Declared) -> (Words<ModuleId>, Words<NodeId>) {
    let (mut of_modules, mut of_nodes) = (Words::new(), Words::new());
    for constraint in &declared.constraints {
        let said = match &constraint.constraint {
            Constraint::Host(name) => format!("host={name:?}"),
            Constraint::OsProcess(number) => format!("osprocess={number}"),
            Constraint::Colocate(group) => format!("colocate={group:?}"),
            Constraint::Separate(group) => format!("separate={group:?}"),
            Constraint::Program(program) => format!("program={program:?}"),
            Constraint::Hold { least, most } => format!("hold=\"{least}-{most}\""),
            Constraint::Whole => "whole=true".to_owned(),
            Constraint::Prefer(traffic) => format!("prefer={traffic}"),
        };
        match constraint.target {
            ConstraintTarget::Module(module) => of_modules.entry(module).or_default().push(said),
            ConstraintTarget::Node(node) => of_nodes.entry(node).or_default().push(said),
        }
    }
    (of_modules, of_nodes)
}

fn process(node: &NodeDecl, names: &Names, constraints: Option<&Vec<String>>) -> String {
    let name = names.name(node.name);
    let kind = names.name(node.kind);
    let mut said = Attributes::new(", ");
    let own_kind = kind != kind_of_name(name);
    said.add("kind", own_kind.then(|| format!("{kind:?}")));
    said.add("replicas", node.replicas);
    said.add("load", (node.load != 1.0).then_some(node.load));
    said.add("mem", (node.mem != 0.0).then_some(node.mem));
    said.all(constraints);
    with(format!("{name:?}"), &said)
}

fn channel(decl: &ChannelDecl, declared: &Declared) -> String {
    let name = |node: Option<NodeId>| match node {
        Some(node) => format!("{:?}", declared.name(declared.nodes[node].name)),
        None => "NULL".to_owned(),
    };
    let mut said = Attributes::new(", ");
    for (key, end) in [("src", decl.from), ("dst", decl.to)] {
        let port = end.node.map(|_| format!("{:?}", declared.name(end.port)));
        said.add(key, port);
    }
    said.add("type", decl.ty.map(|ty| format!("{:?}", declared.name(ty))));
    said.add("capacity", decl.capacity);
    said.add("initial", (decl.initial != 0).then_some(decl.initial));
    said.add("traffic", (decl.traffic != 1.0).then_some(decl.traffic));
    if let Some(extra) = declared.extra(decl) {
        beside(extra, &mut said);
    }
    with(
        format!("{} -> {}", name(decl.from.node), name(decl.to.node)),
        &said,
    )
}

fn beside(extra: &ChannelExtra, said: &mut Attributes) {
    said.add("bundle", extra.bundle.map(|bundle| bundle.name()));
    said.add("flow", extra.flow.map(|flow| format!("{:?}", flow.name())));
    said.add("tag", extra.tag);
    let at = [extra.from_at, extra.to_at].into_iter().flatten();
    let at: Vec<String> = at.map(instance).collect();
    said.add(
        "at",
        (!at.is_empty()).then(|| format!("{:?}", at.join(","))),
    );
    let step: Vec<String> = extra.step.iter().map(i32::to_string).collect();
    said.add(
        "step",
        (!step.is_empty()).then(|| format!("{:?}", step.join(","))),
    );
    said.add("wrap", extra.wrap.then_some(true));
    said.add("beyond", extra.beyond.then_some("NULL"));
}

fn instance(at: At) -> String {
    match at {
        At::First => "first".to_owned(),
        At::Last => "last".to_owned(),
        At::Index(index) => index.to_string(),
        At::All => "all".to_owned(),
        At::Each => "each".to_owned(),
    }
}

fn with(mut line: String, said: &Attributes) -> String {
    let _ = match &*said.text {
        "" => write!(line, ";"),
        said => write!(line, " [{said}];"),
    };
    line
}
