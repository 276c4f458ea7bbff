//! Networks built in Rust, without a graph file.

use graphmap_kpn::attributes::AttributesId;
use graphmap_kpn::declared::{
    At, BundleKind, ChannelDecl, ChannelExtra, Constraint, ConstraintDecl, ConstraintTarget,
    Declared, EndDecl, Flow, ModuleDecl, ModuleId, NodeDecl, NodeId, kind_of_name,
};
use graphmap_kpn::source::{SourceMap, Span};
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU64, Ordering};

mod lines;

/// Builder of a network: declares modules, processes and channels one at a time.
///
/// A diagnostic about a declaration shows it as a line of a graph file that would declare it.
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
/// # Panics
/// The methods panic if a process or a module belongs to another builder.
#[derive(Clone, Debug)]
pub struct Builder {
    /// Number of the builder. Copies share it.
    number: u64,
    declared: Declared,
}

/// A declared process, or all replicas of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Node {
    builder: u64,
    id: NodeId,
}

/// A declared module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Module {
    builder: u64,
    id: ModuleId,
}

/// An end of a channel: a port of a process, or the environment.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct End(Option<(Node, String)>);

impl Node {
    /// Returns a port of the process. It is created when a channel is joined to it.
    #[must_use]
    pub fn port(self, name: impl Into<String>) -> End {
        End(Some((self, name.into())))
    }
}

impl End {
    /// The environment: the outside of the network (`NULL` in a graph). A port joined to it is
    /// closed from the start: an input gets no token, and an output has no reader.
    pub const ENVIRONMENT: End = End(None);
}

impl Builder {
    /// Creates an empty network with this name.
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

    /// Declares a process. Its kind is its name without the number at its end, unless
    /// [`Builder::kind`] sets it. Ranks follow the order of declaration. A name that is declared
    /// twice is reported by [`check`](crate::check).
    pub fn process(&mut self, name: &str) -> Node {
        self.node(name, None, None)
    }

    /// Declares `count` processes with numbered names: `name1`, `name2` and so on. If `name` ends
    /// with a digit, an underscore precedes the number (`stage1_2`). A channel selects among them
    /// by [`ChannelBuilder::from_at`] and [`ChannelBuilder::to_at`]. A `count` of 0 declares no
    /// process.
    pub fn replicated(&mut self, name: &str, count: u32) -> Node {
        self.node(name, None, Some(count))
    }

    /// Declares a module, which may be inside another one. Its kind is its name.
    ///
    /// # Panics
    /// If `parent` belongs to another builder.
    #[track_caller]
    pub fn module(&mut self, name: &str, parent: Option<Module>) -> Module {
        self.module_of(name, parent, None)
    }

    /// Declares a module that is repeated `count` times, with its contents. Its kind is `name`. A
    /// `count` of 0 declares nothing.
    ///
    /// # Panics
    /// If `parent` belongs to another builder.
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
            closed: false,
            span: Span::NONE,
        });
        Module {
            builder: self.number,
            id,
        }
    }

    /// Declares a process in a module.
    ///
    /// # Panics
    /// If `module` belongs to another builder.
    #[track_caller]
    pub fn process_in(&mut self, module: Module, name: &str) -> Node {
        let module = self.own_module(module);
        self.node(name, Some(module), None)
    }

    /// Declares `count` processes in a module, like [`Builder::replicated`].
    ///
    /// # Panics
    /// If `module` belongs to another builder.
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
            port_prefix: None,
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

    /// Sets an attribute of the graph that graphmap keeps and does not interpret. Names that begin
    /// with `x_` are never used by graphmap.
    pub fn attribute(&mut self, name: &str, value: &str) -> &mut Builder {
        let list = self.declared.attributes.graph;
        self.declared.attributes.graph = self.with_attribute(list, name, value);
        self
    }

    /// Sets an attribute of a process, or of each replica, that graphmap keeps and does not
    /// interpret, like [`Builder::attribute`].
    ///
    /// # Panics
    /// If `node` belongs to another builder.
    #[track_caller]
    pub fn process_attribute(&mut self, node: Node, name: &str, value: &str) -> &mut Builder {
        let id = self.own(node);
        let list = self.declared.attributes.nodes.get(id);
        let list = self.with_attribute(list, name, value);
        self.declared.attributes.nodes.set(id, list);
        self
    }

    /// Sets an attribute of a module, or of each replica, that graphmap keeps and does not
    /// interpret, like [`Builder::attribute`].
    ///
    /// # Panics
    /// If `module` belongs to another builder.
    #[track_caller]
    pub fn module_attribute(&mut self, module: Module, name: &str, value: &str) -> &mut Builder {
        let id = self.own_module(module);
        let list = self.declared.attributes.modules.get(id);
        let list = self.with_attribute(list, name, value);
        self.declared.attributes.modules.set(id, list);
        self
    }

    /// Returns a list of attributes with one more, which replaces one of the same name.
    fn with_attribute(
        &mut self,
        list: Option<AttributesId>,
        name: &str,
        value: &str,
    ) -> Option<AttributesId> {
        let Declared {
            names, attributes, ..
        } = &mut self.declared;
        let (name, value) = (names.intern(name), names.intern(value));
        let mut list = attributes.lists.list(list).to_vec();
        list.retain(|(known, _)| *known != name);
        list.push((name, value));
        attributes.lists.add(names, list)
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

    /// Sets the kind of a process. The default is its name without the number at its end.
    ///
    /// # Panics
    /// If `node` belongs to another builder.
    #[track_caller]
    pub fn kind(&mut self, node: Node, kind: &str) -> &mut Builder {
        let id = self.own(node);
        self.declared.nodes[id].kind = self.declared.names.intern(kind);
        self
    }

    /// Sets the load of a process: its compute cost, in seconds or relative to the others. The
    /// default is 1. A load that is negative or not finite is an error of [`check`](crate::check).
    ///
    /// # Panics
    /// If `node` belongs to another builder.
    #[track_caller]
    pub fn load(&mut self, node: Node, load: f64) -> &mut Builder {
        let id = self.own(node);
        self.declared.nodes[id].load = load;
        self
    }

    /// Sets the memory that a process needs, in bytes. The default is 0. A number that is negative
    /// or not finite is an error of [`check`](crate::check).
    ///
    /// # Panics
    /// If `node` belongs to another builder.
    #[track_caller]
    pub fn memory(&mut self, node: Node, bytes: f64) -> &mut Builder {
        let id = self.own(node);
        self.declared.nodes[id].mem = bytes;
        self
    }

    /// Adds a constraint on the mapping of a process, or of each replica.
    ///
    /// # Panics
    /// If `node` belongs to another builder.
    #[track_caller]
    pub fn constrain(&mut self, node: Node, constraint: Constraint) -> &mut Builder {
        let target = ConstraintTarget::Node(self.own(node));
        self.constrain_target(target, constraint)
    }

    /// Adds a constraint on the mapping of all processes of a module.
    ///
    /// # Panics
    /// If `module` belongs to another builder.
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

    /// Declares a channel from one end to another. The returned builder sets its attributes.
    ///
    /// # Panics
    /// If an end is a port of a process of another builder.
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
            within: None,
            span: Span::NONE,
        });
        ChannelBuilder { builder: self }
    }
}

impl From<Builder> for Declared {
    fn from(builder: Builder) -> Declared {
        let mut declared = builder.declared;
        let text = lines::set_positions(&mut declared);
        let mut sources = SourceMap::new();
        let name = format!("{} (built in memory)", declared.name);
        if sources.add(name, text).is_ok() {
            declared.sources = sources;
        }
        declared
    }
}

/// Sets the attributes of the channel that was declared last.
#[derive(Debug)]
pub struct ChannelBuilder<'b> {
    builder: &'b mut Builder,
}

impl ChannelBuilder<'_> {
    fn decl(&mut self) -> &mut ChannelDecl {
        let channels = &mut self.builder.declared.channels;
        channels.last_mut().expect("made after a channel")
    }

    fn set_extra(mut self, set_extra: impl FnOnce(&mut ChannelExtra)) -> Self {
        let channel = self.decl().clone();
        let declared = &mut self.builder.declared;
        let mut extra = declared.extra(&channel).cloned().unwrap_or_default();
        extra.span = Span::NONE;
        set_extra(&mut extra);
        let index = declared.add_extra(extra);
        self.decl().extra = index;
        self
    }

    /// Sets the type of the tokens, as written in code.
    pub fn ty(mut self, ty: &str) -> Self {
        let ty = self.builder.declared.names.intern(ty);
        self.decl().ty = Some(ty);
        self
    }

    /// Sets the capacity in tokens. The default is 1. A capacity of 0 counts as 1.
    pub fn capacity(mut self, tokens: u32) -> Self {
        self.decl().capacity = Some(NonZeroU32::new(tokens).unwrap_or(NonZeroU32::MIN));
        self
    }

    /// Sets the number of tokens that the channel holds at the start. The default is 0. More tokens
    /// than the capacity are an error of [`check`](crate::check).
    pub fn initial(mut self, tokens: u32) -> Self {
        self.decl().initial = tokens;
        self
    }

    /// Sets the traffic, in bytes or messages, or relative to the other channels. The default is 1.
    /// A number that is negative or not finite is an error of [`check`](crate::check).
    pub fn traffic(mut self, traffic: f64) -> Self {
        self.decl().traffic = traffic;
        self
    }

    /// Sets the kind of the bundle: how the channel works with the other channels of the port that
    /// they share.
    pub fn bundle(self, kind: BundleKind) -> Self {
        self.set_extra(|extra| extra.bundle = Some(kind))
    }

    /// Makes the channel flow-controlled. `flow` is the order in which the readers get tokens.
    pub fn flow(self, flow: Flow) -> Self {
        self.set_extra(|extra| extra.flow = Some(flow))
    }

    /// Sets the MPI tag.
    pub fn tag(self, tag: i32) -> Self {
        self.set_extra(|extra| extra.tag = Some(tag))
    }

    /// Sets an attribute that graphmap keeps and does not interpret, like [`Builder::attribute`].
    pub fn attribute(mut self, name: &str, value: &str) -> Self {
        let channel = self.decl().clone();
        let extra = self.builder.declared.extra(&channel);
        let list = extra.and_then(|extra| extra.attributes);
        let list = self.builder.with_attribute(list, name, value);
        self.set_extra(|extra| extra.attributes = list)
    }

    /// Selects the replicas of the writer that have such a channel.
    pub fn from_at(self, at: At) -> Self {
        self.set_extra(|extra| extra.from_at = Some(at))
    }

    /// Selects the replicas of the reader that have such a channel.
    pub fn to_at(self, at: At) -> Self {
        self.set_extra(|extra| extra.to_at = Some(at))
    }

    /// Makes a channel from each replica to the one `step` further, in the innermost repetition
    /// that contains both ends. A negative step leads back. A step beyond the first or last replica
    /// makes no channel, unless [`ChannelBuilder::wrap`] or [`ChannelBuilder::beyond`] is set.
    pub fn step(self, step: i32) -> Self {
        self.set_extra(|extra| extra.step = vec![step])
    }

    /// Like [`ChannelBuilder::step`], if both ends are in several repeated modules: a step for
    /// each, outermost first. A shorter list applies to the innermost modules.
    pub fn steps(self, steps: impl Into<Vec<i32>>) -> Self {
        self.set_extra(|extra| extra.step = steps.into())
    }

    /// Leads steps beyond the first or last replica to the environment. Ports that no step reaches
    /// are joined to the environment, too.
    pub fn beyond(self) -> Self {
        self.set_extra(|extra| extra.beyond = true)
    }

    /// Continues steps beyond the last replica at the first, and steps before the first at the
    /// last.
    pub fn wrap(self) -> Self {
        self.set_extra(|extra| extra.wrap = true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::check;

    #[test]
    fn error_shows_the_declaration() {
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
    fn extra_attributes_belong_to_one_channel() {
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
    fn attributes_are_kept_with_each_replica() {
        let mut graph = Builder::new("two");
        let pool = graph.module("pool", None);
        let (a, b) = (graph.replicated_in(pool, "a", 2), graph.process("b"));
        graph
            .attribute("x_run", "7")
            .module_attribute(pool, "x_rack", "left")
            .process_attribute(a, "x_est", "3")
            .process_attribute(a, "x_est", "4");
        let channel = graph.channel(a.port("out"), b.port("in")).ty("u8").tag(3);
        channel.attribute("x_bytes", "64");
        let network = check(graph).unwrap();
        let texts = |list| network.attribute_texts(list).collect::<Vec<_>>();
        let attributes = &network.attributes;
        for process in network.processes.ids().take(2) {
            assert_eq!(texts(attributes.processes.get(process)), [("x_est", "4")]);
        }
        for channel in network.channels.ids() {
            assert_eq!(texts(attributes.channels.get(channel)), [("x_bytes", "64")]);
        }
        let module = network.modules.ids().next().unwrap();
        assert_eq!(texts(attributes.modules.get(module)), [("x_rack", "left")]);
        assert_eq!(texts(attributes.graph), [("x_run", "7")]);
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
    fn nan_load_is_an_error() {
        let mut graph = Builder::new("odd");
        let a = graph.process("a");
        graph.load(a, f64::NAN);
        assert!(check(graph).is_err());
    }
}
