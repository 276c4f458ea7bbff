//! Networks made in Rust, without a drawing.

use graphmap_kpn::declared::{
    At, BundleKind, ChannelDecl, ChannelExtra, Constraint, ConstraintDecl, ConstraintTarget,
    Declared, EndDecl, Flow, ModuleDecl, ModuleId, NodeDecl, NodeId, kind_of_name,
};
use graphmap_kpn::source::{SourceMap, Span};
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU64, Ordering};

mod lines;

/// Declares a network a process and a channel at a time, as a front end does from a file.
///
/// Diagnostics about what was built show it as the line of a drawing that would declare it.
///
/// ```
/// # fn main() -> Result<(), graphmap::Error> {
/// let mut graph = graphmap::Builder::new("squares");
/// let numbers = graph.process("numbers");
/// let worker = graph.replicated("worker", 4);
/// let sum = graph.process("sum");
/// use graphmap::kpn::declared::{At, BundleKind};
/// graph.channel(numbers.port("out"), worker.port("in")).ty("u64").bundle(BundleKind::Share).to_at(At::All);
/// graph.channel(worker.port("out"), sum.port("in")).ty("u64").capacity(16).from_at(At::All);
/// let network = graphmap::check(graph)?;
/// assert_eq!((network.processes.len(), network.channels.len()), (6, 8));
/// let files = graphmap::emit(&graphmap::collocate(network), "squares.svg")?;
/// assert!(files.get("squares.svg").is_some());
/// # Ok(())
/// # }
/// ```
///
/// A process or a module of one builder means nothing to another: to use it there is a mistake in the
/// program, and panics.
#[derive(Clone, Debug)]
pub struct Builder {
    /// Which builder it is, or is a copy of.
    number: u64,
    declared: Declared,
}

/// A process that was declared, or all that are declared at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Node {
    builder: u64,
    id: NodeId,
}

/// A module that was declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Module {
    builder: u64,
    id: ModuleId,
}

/// An end of a channel: a port of a process, or the environment.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct End(Option<(Node, String)>);

impl Node {
    /// A port of the process. It is made when a channel is joined to it.
    #[must_use]
    pub fn port(self, name: impl Into<String>) -> End {
        End(Some((self, name.into())))
    }
}

impl End {
    /// What is outside of the network (`NULL` in a drawing): a port joined to it is closed from the start.
    pub const ENVIRONMENT: End = End(None);
}

impl Builder {
    /// An empty network of a name.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Builder {
        let declared = Declared {
            name: name.into(),
            ..Declared::default()
        };
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        Builder {
            number: NUMBER.fetch_add(1, Ordering::Relaxed),
            declared,
        }
    }

    /// A process. Its kind is its name without the number at its end; ranks follow the order of
    /// declaration.
    pub fn process(&mut self, name: &str) -> Node {
        self.node(name, None, None)
    }

    /// So many processes of a name and a number each, `name1`, `name2` ...; ends of channels at them
    /// say which they mean ([`ChannelBuilder::from_at`], [`ChannelBuilder::to_at`]).
    pub fn replicated(&mut self, name: &str, count: u32) -> Node {
        self.node(name, None, Some(count))
    }

    /// A module, which may lie in another one.
    ///
    /// # Panics
    /// When that is a module of another builder.
    #[track_caller]
    pub fn module(&mut self, name: &str, parent: Option<Module>) -> Module {
        self.module_of(name, parent, None)
    }

    /// A module that stands so many times where it is, with all that lies in it.
    ///
    /// # Panics
    /// When it is to lie in a module of another builder.
    #[track_caller]
    pub fn replicated_module(&mut self, name: &str, parent: Option<Module>, count: u32) -> Module {
        self.module_of(name, parent, Some(count))
    }

    #[track_caller]
    fn module_of(&mut self, name: &str, parent: Option<Module>, replicas: Option<u32>) -> Module {
        let parent = parent.map(|parent| self.own_module(parent));
        let name = self.declared.names.intern(name);
        let id = self.declared.modules.push(ModuleDecl {
            name,
            kind: name,
            parent,
            replicas,
            span: Span::NONE,
        });
        Module {
            builder: self.number,
            id,
        }
    }

    /// A process in a module.
    ///
    /// # Panics
    /// When it is a module of another builder.
    #[track_caller]
    pub fn process_in(&mut self, module: Module, name: &str) -> Node {
        let module = self.own_module(module);
        self.node(name, Some(module), None)
    }

    /// So many processes in a module, as [`Builder::replicated`] has them.
    ///
    /// # Panics
    /// When it is a module of another builder.
    #[track_caller]
    pub fn replicated_in(&mut self, module: Module, name: &str, count: u32) -> Node {
        let module = self.own_module(module);
        self.node(name, Some(module), Some(count))
    }

    fn node(&mut self, name: &str, module: Option<ModuleId>, replicas: Option<u32>) -> Node {
        let names = &mut self.declared.names;
        let kind = names.intern(kind_of_name(name));
        let id = self.declared.nodes.push(NodeDecl {
            name: names.intern(name),
            process: None,
            kind,
            module,
            replicas,
            load: 1.0,
            mem: 0.0,
            span: Span::NONE,
        });
        Node {
            builder: self.number,
            id,
        }
    }

    #[track_caller]
    fn own_module(&self, Module { builder, id }: Module) -> ModuleId {
        let own = builder == self.number && self.declared.modules.get(id).is_some();
        assert!(own, "a module of another builder");
        id
    }

    #[track_caller]
    fn own(&self, Node { builder, id }: Node) -> NodeId {
        let own = builder == self.number && self.declared.nodes.get(id).is_some();
        assert!(own, "a process of another builder");
        id
    }

    /// Says the kind of a process, where that is not its name without the number at its end.
    ///
    /// # Panics
    /// When it is a process of another builder.
    #[track_caller]
    pub fn kind(&mut self, node: Node, kind: &str) -> &mut Builder {
        let id = self.own(node);
        self.declared.nodes[id].kind = self.declared.names.intern(kind);
        self
    }

    /// Says what a process costs to compute, in seconds or relative to the others; 1 where it is not
    /// said.
    ///
    /// # Panics
    /// When it is a process of another builder.
    #[track_caller]
    pub fn load(&mut self, node: Node, load: f64) -> &mut Builder {
        let id = self.own(node);
        self.declared.nodes[id].load = load;
        self
    }

    /// Says how much memory a process needs, in bytes; 0 where it is not said.
    ///
    /// # Panics
    /// When it is a process of another builder.
    #[track_caller]
    pub fn memory(&mut self, node: Node, bytes: f64) -> &mut Builder {
        let id = self.own(node);
        self.declared.nodes[id].mem = bytes;
        self
    }

    /// Says what a mapping must do with a process; of those that are declared at once, with each.
    ///
    /// # Panics
    /// When it is a process of another builder.
    #[track_caller]
    pub fn constrain(&mut self, node: Node, constraint: Constraint) -> &mut Builder {
        let target = ConstraintTarget::Node(self.own(node));
        self.constrain_target(target, constraint)
    }

    /// Says what a mapping must do with all processes of a module.
    ///
    /// # Panics
    /// When it is a module of another builder.
    #[track_caller]
    pub fn constrain_module(&mut self, module: Module, constraint: Constraint) -> &mut Builder {
        let target = ConstraintTarget::Module(self.own_module(module));
        self.constrain_target(target, constraint)
    }

    fn constrain_target(
        &mut self,
        target: ConstraintTarget,
        constraint: Constraint,
    ) -> &mut Builder {
        self.declared.constraints.push(ConstraintDecl {
            target,
            constraint,
            span: Span::NONE,
        });
        self
    }

    /// A channel from one end to another, of which more can be said.
    ///
    /// # Panics
    /// When an end is at a process of another builder.
    #[track_caller]
    pub fn channel(&mut self, from: End, to: End) -> ChannelBuilder<'_> {
        let nodes = [&from, &to].map(|end| Some(self.own(end.0.as_ref()?.0)));
        let mut end = |End(end): End, node| EndDecl {
            node,
            port: self
                .declared
                .names
                .intern(end.as_ref().map_or("", |(_, port)| port)),
        };
        let (from, to) = (end(from, nodes[0]), end(to, nodes[1]));
        self.declared.channels.push(ChannelDecl {
            from,
            to,
            ty: None,
            capacity: None,
            initial: 0,
            extra: None,
            traffic: 1.0,
            span: Span::NONE,
        });
        ChannelBuilder { builder: self }
    }
}

impl From<Builder> for Declared {
    fn from(builder: Builder) -> Declared {
        let mut declared = builder.declared;
        let text = lines::place(&mut declared);
        let mut sources = SourceMap::new();
        let name = format!("{} (built in memory)", declared.name);
        if sources.add(name, text).is_ok() {
            declared.sources = sources;
        }
        declared
    }
}

/// A channel that was declared: says more of it.
#[derive(Debug)]
pub struct ChannelBuilder<'b> {
    builder: &'b mut Builder,
}

impl ChannelBuilder<'_> {
    fn decl(&mut self) -> &mut ChannelDecl {
        let channels = &mut self.builder.declared.channels;
        channels.last_mut().expect("made after a channel")
    }

    fn say(mut self, say: impl FnOnce(&mut ChannelExtra)) -> Self {
        let channel = self.decl().clone();
        let declared = &mut self.builder.declared;
        let mut extra = declared.extra(&channel).cloned().unwrap_or_default();
        extra.span = Span::NONE;
        say(&mut extra);
        let index = declared.add_extra(extra);
        self.decl().extra = index;
        self
    }

    /// The type of its tokens, as it is written in code.
    pub fn ty(mut self, ty: &str) -> Self {
        let ty = self.builder.declared.names.intern(ty);
        self.decl().ty = Some(ty);
        self
    }

    /// How many tokens it holds at the most; 1 where it is not said, and for 0.
    pub fn capacity(mut self, tokens: u32) -> Self {
        self.decl().capacity = Some(NonZeroU32::new(tokens).unwrap_or(NonZeroU32::MIN));
        self
    }

    /// How many tokens it holds at the start.
    pub fn initial(mut self, tokens: u32) -> Self {
        self.decl().initial = tokens;
        self
    }

    /// Its traffic, in bytes or messages, or relative to the others; 1 where it is not said.
    pub fn traffic(mut self, traffic: f64) -> Self {
        self.decl().traffic = traffic;
        self
    }

    /// How it works with the other channels of the port that it shares with them.
    pub fn bundle(self, kind: BundleKind) -> Self {
        self.say(|extra| extra.bundle = Some(kind))
    }

    /// That it is flow-controlled, and how.
    pub fn flow(self, flow: Flow) -> Self {
        self.say(|extra| extra.flow = Some(flow))
    }

    /// Its MPI tag.
    pub fn tag(self, tag: i32) -> Self {
        self.say(|extra| extra.tag = Some(tag))
    }

    /// Which of the processes it comes from that were declared at once.
    pub fn from_at(self, at: At) -> Self {
        self.say(|extra| extra.from_at = Some(at))
    }

    /// Which of the processes it leads to that were declared at once.
    pub fn to_at(self, at: At) -> Self {
        self.say(|extra| extra.to_at = Some(at))
    }

    /// From each of the processes that were declared at once to the one so many further.
    pub fn step(self, step: i32) -> Self {
        self.say(|extra| extra.step = vec![step])
    }

    /// The same where both ends lie in several modules that are repeated: a step for each, the outermost first.
    pub fn steps(self, steps: impl Into<Vec<i32>>) -> Self {
        self.say(|extra| extra.step = steps.into())
    }

    /// Steps past the last lead to the environment, and what no step reaches is joined to it.
    pub fn beyond(self) -> Self {
        self.say(|extra| extra.beyond = true)
    }

    /// Steps past the last go on at the first.
    pub fn wrap(self) -> Self {
        self.say(|extra| extra.wrap = true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check;

    #[test]
    fn what_is_wrong_is_shown_as_the_line_that_would_declare_it() {
        let mut graph = Builder::new("ring");
        let cell = graph.replicated("cell", 3);
        graph
            .channel(cell.port("next"), cell.port("previous"))
            .ty("u64")
            .step(1);
        let text = check(graph.clone()).unwrap_err().to_string();
        assert!(
            text.contains("ring (built in memory):3:5")
                && text.contains(r#"[src="next", dst="previous", type="u64", step="1"];"#),
            "{text}"
        );
        let mut graph = Builder::new("ring");
        let cell = graph.replicated("cell", 3);
        let channel = graph.channel(cell.port("next"), cell.port("previous"));
        channel.ty("u64").step(1).wrap().initial(1);
        assert_eq!(check(graph).unwrap().channels.len(), 3);
    }

    #[test]
    fn what_is_said_of_one_channel_is_not_said_of_another() {
        let mut graph = Builder::new("two");
        let (a, b) = (graph.process("a"), graph.process("b"));
        graph.channel(a.port("x"), b.port("x")).tag(7).ty("u8");
        graph.channel(a.port("y"), b.port("y")).ty("u8");
        graph.channel(End::ENVIRONMENT, a.port("in")).ty("u8");
        graph.load(a, 2.5).kind(b, "sink");
        let network = check(graph).unwrap();
        let tags: Vec<_> = network
            .channels
            .ids()
            .map(|c| network.terms(c).tag)
            .collect();
        assert_eq!(tags, [Some(7), None]);
        assert_eq!(network.processes.values().next().unwrap().load, 2.5);
    }

    #[test]
    #[should_panic(expected = "a process of another builder")]
    fn a_process_of_another_builder_is_refused() {
        let (mut one, mut other) = (Builder::new("one"), Builder::new("other"));
        let (a, b) = (one.process("a"), other.process("b"));
        one.channel(a.port("out"), b.port("in"));
    }

    #[test]
    #[should_panic(expected = "a process of another builder")]
    fn a_process_that_a_copy_does_not_have_is_refused() {
        let mut one = Builder::new("one");
        let mut copy = one.clone();
        let a = one.process("a");
        copy.load(a, 2.0);
    }

    #[test]
    fn numbers_that_are_none_are_reported() {
        let mut graph = Builder::new("odd");
        let a = graph.process("a");
        graph.load(a, f64::NAN);
        assert!(check(graph).is_err());
    }
}
