//! The output of a front end: declarations with positions, before expansion and joining.
//!
//! Every front end (DOT, CPA, JSON) produces a [`Declared`]. [`crate::expand`] replaces abstract
//! declarations by their instances, and [`crate::resolve`] joins the ends of channels. The types
//! are small because a graph of a million channels has a million [`ChannelDecl`].

use crate::arena::{Arena, define_id};
use crate::arguments::{ArgumentList, GivenArgument};
use crate::attributes::{AttributeLists, AttributesId, AttributesOf};
use crate::containers::Boxes;
use crate::glue::GlueFunction;
use crate::level::LevelDecl;
use crate::names::{Names, Symbol};
use crate::source::{SourceMap, Span};
use rustc_hash::FxHashMap;

define_id!(
    /// Id of a node of the source. A node is a process, or a part of a split process.
    pub NodeId, "n"
);
define_id!(
    /// Id of a module (a cluster of the source).
    pub ModuleId, "m"
);

/// All declarations of a source.
#[derive(Clone, Debug, Default)]
pub struct Declared {
    /// Name of the graph, or of its file if the graph has no name.
    pub name: String,
    /// Texts that the spans refer to.
    pub sources: SourceMap,
    /// Table of the names that the symbols refer to.
    pub names: Names,
    /// Modules. A parent precedes its children.
    pub modules: Arena<ModuleId, ModuleDecl>,
    /// Nodes, in the order of first appearance, which is the order of ranks.
    pub nodes: Arena<NodeId, NodeDecl>,
    /// Channels, in source order.
    pub channels: Vec<ChannelDecl>,
    /// Additional properties of a few channels. See [`ChannelDecl::extra`].
    pub extras: Vec<ChannelExtra>,
    /// Pairs of instances that channels join. See [`ChannelExtra::pairs`].
    pub pairs: Vec<InstancePair>,
    /// Module ports, in the order of their nodes. Empty after [`crate::expand`].
    pub ports: Vec<ModulePortDecl>,
    /// Included graphs, in the order of their nodes. Empty after [`crate::compose`].
    pub includes: Vec<IncludeDecl>,
    /// Parameters and arguments of nodes, in the order of the nodes.
    pub arguments: Vec<ArgumentsDecl>,
    /// Values that replace arguments.
    pub given: Vec<GivenArgument>,
    /// Constraints on the mapping, in source order.
    pub constraints: Vec<ConstraintDecl>,
    /// OS processes with limits on the processes in them, in the order of their numbers. Empty if
    /// the source has none.
    pub boxes: Vec<Boxes>,
    /// Functions of the project that are called around the run.
    pub glue: Vec<GlueFunction>,
    /// Environment variables of the program and their values, which others may replace.
    pub environment: Vec<(String, String)>,
    /// `skeleton=` of the graph.
    pub skeleton: Option<(String, Span)>,
    /// First position of the text of each payload type. A type is absent if its position is known
    /// no more precisely than by the span of a channel.
    pub types: FxHashMap<Symbol, Span>,
    /// Names of the sizes that the graph itself defines or uses, sorted. See [`crate::sizes`].
    pub sizes: Vec<String>,
    /// Numbers of instances that follow from the number of OS processes (`replicas="+"`): the
    /// positions of the attributes, and the smallest numbers.
    pub fitted: Vec<(Span, u32)>,
    /// Levels that the graph sets for codes of diagnostics.
    pub levels: Vec<LevelDecl>,
    /// Attributes that are kept and not interpreted.
    pub attributes: DeclaredAttributes,
}

/// Attributes of declarations that graphmap keeps and does not interpret. The attributes of
/// channels are in [`ChannelExtra::attributes`].
#[derive(Clone, Debug, Default)]
pub struct DeclaredAttributes {
    /// All lists of attributes.
    pub lists: AttributeLists,
    /// Attributes of the graph.
    pub graph: Option<AttributesId>,
    /// Attributes of modules.
    pub modules: AttributesOf<ModuleId>,
    /// Attributes of nodes. All nodes of a split process have the same.
    pub nodes: AttributesOf<NodeId>,
}

/// A module: a cluster with the name of its kind.
#[derive(Clone, Debug)]
pub struct ModuleDecl {
    /// Name, such as `cluster_1`.
    pub name: Symbol,
    /// Kind, such as `thefarm`.
    pub kind: Symbol,
    /// Module that contains this one.
    pub parent: Option<ModuleId>,
    /// Number of instances, if given. `None` after [`crate::expand`].
    pub replicas: Option<u32>,
    /// True if channels enter and leave the module only through its module ports. False after
    /// [`crate::expand`].
    pub closed: bool,
    /// Position of the header of the cluster.
    pub span: Span,
}

/// A module port: a node through which channels enter or leave a module.
///
/// A channel to the node and a channel from it are one channel of the network. Constraints and
/// attributes of processes do not apply to the node.
#[derive(Clone, Debug)]
pub struct ModulePortDecl {
    /// The node. Its module has the port.
    pub node: NodeId,
    /// [`Direction::Input`] if channels enter the module through the port.
    pub direction: Direction,
    /// Name of the port, by which other graphs refer to it. It is unique in its module.
    pub name: Symbol,
    /// Position of the attribute that makes the node a port.
    pub span: Span,
}

/// An included graph. A node stands for it, and the channels at the node end at the module ports of
/// the graph.
#[derive(Clone, Debug)]
pub struct IncludeDecl {
    /// The node. [`NodeDecl::replicas`] is the number of instances.
    pub node: NodeId,
    /// Path of the file, or name of a network of the library.
    pub file: String,
    /// Values that replace sizes of the included graph, each with its position.
    pub sizes: Vec<(String, i64, Span)>,
    /// Kinds that replace kinds of the included graph: old name, new name and position.
    pub kinds: Vec<(Symbol, Symbol, Span)>,
    /// Position of the name of the file.
    pub span: Span,
}

/// A pair of instances, counted from 1: first the writer's, then the reader's. Numbers below 1
/// and above the number of instances are beyond the ends.
pub type InstancePair = (i32, i32);

/// The instances that a channel joins, if they are listed. They are counted inside one instance of
/// [`ChannelDecl::within`], and the pairs are repeated for each instance of that module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListedPairs {
    /// Index in [`Declared::pairs`] of the first pair.
    pub first: u32,
    /// Number of pairs.
    pub count: u32,
    /// True if several writers may be joined to one reader, also if there is only one pair. `None`
    /// stands for true if the reader is not repeated.
    pub several_writers: Option<bool>,
}

/// A node: a process, or a part of a split process.
#[derive(Clone, Debug)]
pub struct NodeDecl {
    /// Name, such as `managerPut`.
    pub name: Symbol,
    /// Name of the split process that the node belongs to (`process=manager`), if given.
    pub process: Option<Symbol>,
    /// Prefix of the names of its ports, if it is a node of a split process and is named otherwise
    /// in the source. Set by [`crate::compose`] and [`crate::expand`] only.
    pub port_prefix: Option<Symbol>,
    /// Kind, as given by `kind=`. The default is the name of the process without the number at its
    /// end.
    pub kind: Symbol,
    /// Innermost module that contains the node.
    pub module: Option<ModuleId>,
    /// Number of instances, if given. `None` after [`crate::expand`].
    pub replicas: Option<u32>,
    /// Compute cost, in seconds or relative to the others. Finite, at least 0, by default 1.
    pub load: f64,
    /// Memory in bytes. Finite, at least 0, by default 0.
    pub mem: f64,
    /// First appearance in the source.
    pub span: Span,
}

/// The parameters and arguments of a node.
#[derive(Clone, Debug)]
pub struct ArgumentsDecl {
    /// The node.
    pub node: NodeId,
    /// Its parameters and arguments.
    pub list: ArgumentList,
}

/// One end of a declared channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndDecl {
    /// The node, or `None` for the environment (`NULL`).
    pub node: Option<NodeId>,
    /// Name of the port. It has no meaning for the environment.
    pub port: Symbol,
}

/// A channel, or a port joined to the environment.
#[derive(Clone, Debug)]
pub struct ChannelDecl {
    /// Writing end.
    pub from: EndDecl,
    /// Reading end.
    pub to: EndDecl,
    /// Payload type, if given.
    pub ty: Option<Symbol>,
    /// Number of tokens that the channel can hold, at least 1, or `None` for the default.
    pub capacity: Option<std::num::NonZeroU32>,
    /// Number of tokens in the channel at the start.
    pub initial: u32,
    /// Index in [`Declared::extras`], if the channel has additional properties.
    pub extra: Option<std::num::NonZeroU32>,
    /// Traffic (bytes or messages, or relative to the others). Finite, at least 0, by default 1.
    pub traffic: f64,
    /// Module that contains the declaration of the channel. It counts for listed pairs and for an
    /// end at the environment, because their instances are those inside this module. It has no
    /// meaning after [`crate::expand`].
    pub within: Option<ModuleId>,
    /// Position of the edge in the source, or of the member of the bundle.
    pub span: Span,
}

/// Properties that only few channels have.
///
/// The first entry of [`Declared::extras`] is unused, because an index must fit into a
/// `NonZeroU32`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChannelExtra {
    /// MPI tag.
    pub tag: Option<i32>,
    /// Flow control, if the channel is flow-controlled.
    pub flow: Option<Flow>,
    /// Kind of the bundle that contains the channel. The kind determines the end of the channel at
    /// which the bundle is.
    pub bundle: Option<BundleKind>,
    /// Name of the bundle, if it was declared as a node.
    pub bundle_name: Option<Symbol>,
    /// Attributes that are kept and not interpreted.
    pub attributes: Option<AttributesId>,
    /// Kind of the bundle at the other end of the channel, if both ends state one.
    pub other_bundle: Option<BundleKind>,
    /// True if the number of tokens at the start is stated, although it is the default.
    pub states_initial: bool,
    /// True if the traffic is stated, although it is the default.
    pub states_traffic: bool,
    /// `for=`: the pairs of instances that the channel joins. `from_at`, `to_at` and `step` are
    /// then empty.
    pub pairs: Option<ListedPairs>,
    /// `at=`: instance of the scopes that contain only the writer.
    pub from_at: Option<At>,
    /// `at=`: instance of the scopes that contain only the reader.
    pub to_at: Option<At>,
    /// `step=`: distance from the instance of the writer to that of the reader, for each scope that
    /// contains both, outermost first. By default empty. A shorter list applies to the innermost
    /// scopes.
    pub step: Vec<i32>,
    /// `wrap=true`: a step beyond the last instance leads to the first.
    pub wrap: bool,
    /// `beyond=NULL`: a step beyond the last instance leads to the environment. An instance that no
    /// step reaches is joined to the environment. By default such steps make no channel.
    pub beyond: bool,
    /// True if the writer is repeated but has one instance, and all of its instances would be
    /// joined to the same port of the reader. That port is then a bundle, as with several
    /// instances. Set by [`crate::expand`] only.
    pub lone: bool,
    /// True if one end has no instances. The entry is then not a channel: it closes the port at the
    /// other end, unless another channel joins that port. Set by [`crate::expand`] only.
    pub vacant: bool,
    /// Position of `at`, `step` or `bundle`, for diagnostics.
    pub span: Span,
}

impl ChannelExtra {
    /// Clears the attributes of repetition that [`crate::expand`] has applied: `from_at`, `to_at`,
    /// `step`, `wrap` and `beyond`.
    pub(crate) fn forget_repetition(&mut self) {
        (self.from_at, self.to_at) = (None, None);
        (self.wrap, self.beyond) = (false, false);
        self.step = Vec::new();
        self.pairs = None;
    }

    /// Returns true if any property is set that remains after [`crate::expand`], apart from the
    /// span.
    pub(crate) fn says_more(&self) -> bool {
        let ChannelExtra {
            tag,
            flow,
            bundle,
            bundle_name,
            attributes,
            lone,
            vacant,
            other_bundle,
            states_initial,
            states_traffic,
            pairs: _,
            from_at: _,
            to_at: _,
            step: _,
            wrap: _,
            beyond: _,
            span: _,
        } = self;
        let bundles = bundle.is_some() || other_bundle.is_some();
        let stated = tag.is_some() || flow.is_some() || bundles;
        let named = bundle_name.is_some() || attributes.is_some();
        let defaults = *states_initial || *states_traffic;
        stated || named || defaults || *lone || *vacant
    }
}

/// The instances of an abstract declaration that an end of a channel refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// The first instance.
    First,
    /// The last instance.
    Last,
    /// The instance with this number, counted from 1.
    Index(u32),
    /// All instances, with one channel for each.
    All,
    /// All instances, in pairs: the i-th writer with the i-th reader. Both ends need the same
    /// number of instances.
    Each,
}

/// Kind of a bundle.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum BundleKind {
    /// Many writers, one reader, which takes any token that is available. Not deterministic.
    Select,
    /// Many writers, one reader, which takes one token from each.
    Gather,
    /// Many writers, one reader, which combines one token from each.
    Reduce,
    /// One writer, many readers. Each reader gets a copy.
    Broadcast,
    /// One writer, many readers. Each reader gets a part.
    Scatter,
    /// One writer, many readers. The writer names the reader that gets the token.
    Switch,
    /// One writer, many readers. Any ready reader takes the token. Not deterministic.
    Share,
}

/// Direction of a port.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// A port that reads.
    Input,
    /// A port that writes.
    Output,
}

impl BundleKind {
    /// All kinds, in the order of their documentation.
    pub const ALL: [BundleKind; 7] = [
        BundleKind::Select,
        BundleKind::Gather,
        BundleKind::Reduce,
        BundleKind::Broadcast,
        BundleKind::Scatter,
        BundleKind::Switch,
        BundleKind::Share,
    ];

    /// Returns the name, as written in `bundle=`.
    pub fn name(self) -> &'static str {
        match self {
            BundleKind::Select => "select",
            BundleKind::Gather => "gather",
            BundleKind::Reduce => "reduce",
            BundleKind::Broadcast => "broadcast",
            BundleKind::Scatter => "scatter",
            BundleKind::Switch => "switch",
            BundleKind::Share => "share",
        }
    }

    /// Returns the kind with a name, as written in `bundle=`, or `None` if the name is unknown.
    /// Case matters.
    pub fn from_name(name: &str) -> Option<BundleKind> {
        BundleKind::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Returns the direction of the port that the channels of the bundle share.
    pub fn direction(self) -> Direction {
        match self {
            BundleKind::Select | BundleKind::Gather | BundleKind::Reduce => Direction::Input,
            BundleKind::Broadcast
            | BundleKind::Scatter
            | BundleKind::Switch
            | BundleKind::Share => Direction::Output,
        }
    }

    /// Returns true if the tokens that each process reads from such a bundle do not depend on
    /// timing. This is false for [`BundleKind::Select`] and [`BundleKind::Share`].
    pub fn is_deterministic(self) -> bool {
        !matches!(self, BundleKind::Select | BundleKind::Share)
    }
}

/// Order in which the readers of flow-controlled channels get tokens. See `language.md` in the
/// book.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Flow {
    /// The reader that has had space for the longest time gets the token.
    Credits,
    /// The readers get tokens in a fixed cyclic order.
    RoundRobin,
}

impl Flow {
    /// All values.
    pub const ALL: [Flow; 2] = [Flow::Credits, Flow::RoundRobin];

    /// Returns the name, as written in `flow=`.
    pub fn name(self) -> &'static str {
        match self {
            Flow::Credits => "credits",
            Flow::RoundRobin => "round-robin",
        }
    }

    /// Returns the value with a name, as written in `flow=`, or `None` if the name is unknown. Case
    /// matters.
    pub fn from_name(name: &str) -> Option<Flow> {
        Flow::ALL.into_iter().find(|flow| flow.name() == name)
    }
}

/// A constraint on the mapping.
#[derive(Clone, Debug)]
pub struct ConstraintDecl {
    /// Declarations that the constraint applies to.
    pub target: ConstraintTarget,
    /// The requirement.
    pub constraint: Constraint,
    /// Position of the attribute.
    pub span: Span,
}

/// Declarations that a constraint applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConstraintTarget {
    /// A node, with all its instances.
    Node(NodeId),
    /// All processes of a module.
    Module(ModuleId),
}

/// A requirement on the mapping.
#[derive(Clone, Debug, PartialEq)]
pub enum Constraint {
    /// `host=`: on this host.
    Host(String),
    /// `osprocess=`: in this OS process.
    OsProcess(u32),
    /// `colocate=group`: in the same OS process as all others of the group.
    Colocate(String),
    /// `separate=group`: in an OS process that contains no other process of the group.
    Separate(String),
    /// `program=worker`: this executable runs the processes. It holds for a module except for those
    /// with a value of their own. Processes of different programs are in different OS processes.
    Program(String),
    /// `hold=1-4` of a node: each OS process holds from `least` to `most` processes of its kind.
    Hold {
        /// Smallest number in each OS process.
        least: u32,
        /// Largest number in each OS process.
        most: u32,
    },
    /// `whole=true` of a module: all its processes are in one OS process. Each instance is
    /// separate.
    Whole,
    /// `prefer=64` of a module: its processes are preferably in one OS process, as if a channel of
    /// this traffic joined neighbours in the module. Finite and at least 0.
    Prefer(f64),
}

impl Declared {
    /// Returns the additional properties of a channel, or `None` if it has none or its index does
    /// not exist.
    pub fn extra(&self, channel: &ChannelDecl) -> Option<&ChannelExtra> {
        self.extras.get(channel.extra?.get() as usize)
    }

    /// Stores additional properties and returns their index for [`ChannelDecl::extra`].
    ///
    /// An entry that equals the one before it is not stored again. Channels with the same defaults
    /// thus share one entry. The result is never `None`, because the first entry is unused.
    pub fn add_extra(&mut self, extra: ChannelExtra) -> Option<std::num::NonZeroU32> {
        if self.extras.is_empty() {
            self.extras.push(ChannelExtra::default());
        }
        if self.extras.len() < 2 || self.extras.last() != Some(&extra) {
            self.extras.push(extra);
        }
        std::num::NonZeroU32::new(self.extras.len() as u32 - 1)
    }

    /// Replaces each position by the result of `f`, for a front end that reads a translation of its
    /// text. [`Declared::sources`] is not changed.
    pub fn map_spans(&mut self, f: impl Fn(Span) -> Span) {
        let Declared {
            name: _,
            sources: _,
            names: _,
            modules,
            nodes,
            channels,
            extras,
            pairs: _,
            ports,
            includes,
            constraints,
            boxes,
            environment: _,
            glue: _,
            skeleton,
            types,
            sizes: _,
            levels,
            fitted,
            arguments,
            given: _,
            attributes: _,
        } = self;
        let modules = modules.values_mut().map(|module| &mut module.span);
        let nodes = nodes.values_mut().map(|node| &mut node.span);
        let channels = channels.iter_mut().map(|channel| &mut channel.span);
        let extras = extras.iter_mut().map(|extra| &mut extra.span);
        let ports = ports.iter_mut().map(|port| &mut port.span);
        let includes = includes.iter_mut().flat_map(|include| {
            let sizes = include.sizes.iter_mut().map(|(.., span)| span);
            let kinds = include.kinds.iter_mut().map(|(.., span)| span);
            sizes.chain(kinds).chain([&mut include.span])
        });
        let constraints = constraints
            .iter_mut()
            .map(|constraint| &mut constraint.span);
        let skeleton = skeleton.iter_mut().map(|(_, span)| span);
        let levels = levels.iter_mut().map(|level| &mut level.span);
        let first = modules.chain(nodes).chain(channels).chain(extras);
        let others = ports.chain(includes).chain(constraints).chain(skeleton);
        let types = types.values_mut();
        let fitted = fitted.iter_mut().map(|(span, _)| span);
        for boxes in boxes {
            boxes.span = f(boxes.span);
            for limit in &mut boxes.limits {
                limit.span = f(limit.span);
            }
        }
        for arguments in arguments {
            arguments.list.map_spans(&f);
        }
        let all = first.chain(others).chain(types).chain(levels);
        for span in all.chain(fitted) {
            *span = f(*span);
        }
    }

    /// Returns the name of a symbol.
    ///
    /// # Panics
    /// Panics if the symbol is not in the table of names.
    pub fn name(&self, symbol: Symbol) -> &str {
        self.names.name(symbol)
    }
}

impl NodeDecl {
    /// Returns the prefix of the names of its ports, or `None` if it belongs to no split process.
    ///
    /// It depends on the names in the source only, so that all instances have the same ports.
    pub(crate) fn port_prefix(&self, names: &Names) -> Option<String> {
        let process = names.name(self.process?);
        Some(match self.port_prefix {
            Some(prefix) => names.name(prefix).to_owned(),
            None => port_prefix(names.name(self.name), process),
        })
    }
}

/// Returns the prefix of the ports of a node of a split process.
///
/// It is the name of the node without the name of the process, in which the first letter is in
/// lower case (`put` for `managerPut` or `manager_put` of `manager`). A common number at the end is
/// removed (`put` for `managerPut2` of `manager2`), because instances that are written by hand must
/// have the same ports. If the name of the node does not consist of the name of the process, any
/// underscores, and a rest that begins with a letter, the prefix is the whole name, apart from a
/// common number.
fn port_prefix(node: &str, process: &str) -> String {
    let rest_of = |node: &str, process: &str| {
        let rest = node.strip_prefix(process)?.trim_start_matches('_');
        let first = rest.chars().next().filter(|c| c.is_alphabetic())?;
        let lower: String = first.to_lowercase().collect();
        Some(lower + &rest[first.len_utf8()..])
    };
    if let Some(rest) = rest_of(node, process) {
        return rest;
    }
    let (node_kind, process_kind) = (kind_of_name(node), kind_of_name(process));
    if node[node_kind.len()..] != process[process_kind.len()..] {
        return node.to_owned();
    }
    rest_of(node_kind, process_kind).unwrap_or_else(|| node_kind.to_owned())
}

/// Returns the name of a module without the prefix `cluster`, which Graphviz requires. The result
/// may be empty, and begins with an underscore for `cluster_1`. Returns `None` for a name without
/// that prefix. The case of letters is ignored, as in Graphviz.
pub fn without_cluster(name: &str) -> Option<&str> {
    let (word, rest) = name.split_at_checked("cluster".len())?;
    word.eq_ignore_ascii_case("cluster").then_some(rest)
}

/// Returns the kind that a name implies: the name without the number at its end (`inTask` for
/// `inTask12`). If an underscore joins several numbers at the end, all are removed (`cell` for
/// `cell2_3`). Otherwise an underscore stays (`row_` for `row_7`). A name that consists of digits
/// is its own kind.
pub fn kind_of_name(name: &str) -> &str {
    let mut kind = name;
    loop {
        let shorter = kind.trim_end_matches(|c: char| c.is_ascii_digit());
        if shorter.len() == kind.len() || shorter.is_empty() {
            return kind;
        }
        kind = shorter;
        // In `cell2_3`, an underscore separates the indices of nested repetition.
        match kind.strip_suffix('_') {
            Some(rest) if rest.ends_with(|c: char| c.is_ascii_digit()) => kind = rest,
            _ => return kind,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_a_name_without_its_number() {
        for (name, kind) in [
            ("inTask12", "inTask"),
            ("manager", "manager"),
            ("cell2_3", "cell"),
            ("row_7", "row_"),
            ("4", "4"),
            ("a1b2", "a1b"),
            ("x10_20_30", "x"),
        ] {
            assert_eq!(kind_of_name(name), kind, "{name}");
        }
    }

    #[test]
    fn port_prefix_is_the_rest_of_the_name() {
        for (node, process, prefix) in [
            ("managerPut", "manager", "put"),
            ("manager_put", "manager", "put"),
            ("manager1Put", "manager1", "put"),
            ("managerPut2_3", "manager2_3", "put"),
            ("put2", "manager2", "put"),
            ("put2", "manager1", "put2"),
            ("managers", "manager", "s"),
            ("manager", "manager", "manager"),
            ("manager3", "manager3", "manager"),
            ("managerPut1", "manager", "put1"),
            ("\u{c9}t\u{e9}", "\u{c9}", "t\u{e9}"),
            ("4", "4", "4"),
        ] {
            assert_eq!(port_prefix(node, process), prefix, "{node} of {process}");
        }
    }

    #[test]
    fn declarations_stay_small() {
        assert!(
            size_of::<ChannelDecl>() <= 56,
            "{}",
            size_of::<ChannelDecl>()
        );
        assert!(size_of::<NodeDecl>() <= 56, "{}", size_of::<NodeDecl>());
    }

    #[test]
    fn a_bundle_kind_is_found_by_its_name() {
        for kind in BundleKind::ALL {
            assert_eq!(BundleKind::from_name(kind.name()), Some(kind));
        }
        assert_eq!(BundleKind::from_name("selct"), None);
    }
}
