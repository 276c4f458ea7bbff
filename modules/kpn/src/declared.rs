//! What a front end says: declarations with their positions, before anything is expanded or
//! joined.
//!
//! Every front end (DOT, CPA, JSON) produces a [`Declared`]; [`crate::expand`] repeats what is
//! declared once for many, [`crate::resolve`] joins the ends into a [`crate::network::Network`].
//! The sizes here matter: a graph of a million channels keeps one [`ChannelDecl`] for each.

use crate::arena::{Arena, define_id};
use crate::level::LevelDecl;
use crate::names::{Names, Symbol};
use crate::source::{SourceMap, Span};
use rustc_hash::FxHashMap;

define_id!(
    /// A node of the source: a process, or one face of it.
    pub NodeId, "n"
);
define_id!(
    /// A module (a cluster of the source).
    pub ModuleId, "m"
);

/// All that a source declares.
#[derive(Clone, Debug, Default)]
pub struct Declared {
    /// Name of the graph, or of its file where it has none.
    pub name: String,
    /// The texts that the spans point into.
    pub sources: SourceMap,
    /// The names that the symbols stand for.
    pub names: Names,
    /// Modules; a parent comes before its children.
    pub modules: Arena<ModuleId, ModuleDecl>,
    /// Nodes in order of first appearance, which is the order of ranks.
    pub nodes: Arena<NodeId, NodeDecl>,
    /// Channels in source order.
    pub channels: Vec<ChannelDecl>,
    /// What few channels say; see [`ChannelDecl::extra`].
    pub extras: Vec<ChannelExtra>,
    /// Constraints on the mapping, in source order.
    pub constraints: Vec<ConstraintDecl>,
    /// `skeleton=` of the graph.
    pub skeleton: Option<(String, Span)>,
    /// Where the text of each payload type stands first, as far as that is known more narrowly than by
    /// the channel that says it.
    pub types: FxHashMap<Symbol, Span>,
    /// How findings of some codes are to be taken.
    pub levels: Vec<LevelDecl>,
}

/// A module: a cluster with the name of its kind.
#[derive(Clone, Debug)]
pub struct ModuleDecl {
    /// Its own name, `cluster_1`.
    pub name: Symbol,
    /// Its kind, `thefarm`.
    pub kind: Symbol,
    /// The module it lies in.
    pub parent: Option<ModuleId>,
    /// How many times it stands there, where given; [`crate::expand`] leaves `None`.
    pub replicas: Option<u32>,
    /// Its header in the source.
    pub span: Span,
}

/// A node: a process, or one face of one.
#[derive(Clone, Debug)]
pub struct NodeDecl {
    /// Its own name, `managerPut`.
    pub name: Symbol,
    /// The process it is a face of, where it says so: `process=manager`.
    pub process: Option<Symbol>,
    /// Its kind, where given, else its name (for a face: that of its process) without the number
    /// at its end.
    pub kind: Symbol,
    /// The innermost module it lies in.
    pub module: Option<ModuleId>,
    /// How many times it stands there, where given; [`crate::expand`] leaves `None`.
    pub replicas: Option<u32>,
    /// Compute cost, in seconds or relative to the others; finite, at least 0, 1 by default.
    pub load: f64,
    /// Memory in bytes; finite, at least 0, 0 by default.
    pub mem: f64,
    /// Its first appearance in the source.
    pub span: Span,
}

/// One end of a declared channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndDecl {
    /// The node; `None` is the environment (`NULL`).
    pub node: Option<NodeId>,
    /// Name of the port, meaningless for the environment.
    pub port: Symbol,
}

/// A channel, or a port joined to the environment.
#[derive(Clone, Debug)]
pub struct ChannelDecl {
    /// The writing end.
    pub from: EndDecl,
    /// The reading end.
    pub to: EndDecl,
    /// Payload type, where given.
    pub ty: Option<Symbol>,
    /// How many tokens it holds at the most, at least 1; `None` by default.
    pub capacity: Option<std::num::NonZeroU32>,
    /// Tokens it holds at the start.
    pub initial: u32,
    /// Index in [`Declared::extras`] where it says more.
    pub extra: Option<std::num::NonZeroU32>,
    /// Traffic (bytes or messages, relative to the others); finite, at least 0, 1 by default.
    pub traffic: f64,
    /// The edge in the source, or the bundle's member.
    pub span: Span,
}

/// What only few channels say. The first entry of [`Declared::extras`] is never used, so that an
/// index of it fits in a `NonZeroU32`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChannelExtra {
    /// MPI tag.
    pub tag: Option<i32>,
    /// Whether it is flow-controlled, and who gets its tokens where it has many readers.
    pub flow: Option<Flow>,
    /// The bundle that the channel is a member of, at the end that the kind of bundle tells.
    pub bundle: Option<BundleKind>,
    /// Name of that bundle where it was declared as a node.
    pub bundle_name: Option<Symbol>,
    /// `at=`: which instance of the scopes that only the writer lies in.
    pub from_at: Option<At>,
    /// `at=`: which instance of the scopes that only the reader lies in.
    pub to_at: Option<At>,
    /// `step=`: per replicated scope shared by both ends, outermost first, how many instances
    /// further the reader is. Empty by default. Shorter than the scopes: counts from the
    /// innermost.
    pub step: Vec<i32>,
    /// `wrap=true`: steps past the last instance go on at the first.
    pub wrap: bool,
    /// `beyond=NULL`: steps past the last instance lead to the environment, and instances that no
    /// step reaches are joined to it. Otherwise such steps are left out.
    pub beyond: bool,
    /// Whether it is all that a repeated writer has made of it where that stands once: the reader's
    /// port is what it would be if there were more. Only [`crate::expand`] says so.
    pub lone: bool,
    /// One end is repeated no times, so this stands for no channel: it closes the port at the other
    /// end if nothing else joins that. Expansion finds it out.
    pub vacant: bool,
    /// Where `at`, `step` or `bundle` is said, for diagnostics.
    pub span: Span,
}

impl ChannelExtra {
    /// Takes away what [`crate::expand`] has done.
    pub(crate) fn forget_repetition(&mut self) {
        (self.from_at, self.to_at) = (None, None);
        (self.wrap, self.beyond) = (false, false);
        self.step = Vec::new();
    }

    /// Whether it says anything but where that is, and what [`crate::expand`] has done.
    pub(crate) fn says_more(&self) -> bool {
        let ChannelExtra {
            tag,
            flow,
            bundle,
            bundle_name,
            lone,
            vacant,
            from_at: _,
            to_at: _,
            step: _,
            wrap: _,
            beyond: _,
            span: _,
        } = self;
        let said = tag.is_some() || flow.is_some() || bundle.is_some();
        said || bundle_name.is_some() || *lone || *vacant
    }
}

/// Which of the instances of a replicated scope an end means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum At {
    /// The first.
    First,
    /// The last.
    Last,
    /// The one with this number, from 1.
    Index(u32),
    /// Every one: a channel for each.
    All,
    /// Both ends lie in as many instances: the i-th with the i-th.
    Each,
}

/// How channels that share an end work together.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum BundleKind {
    /// Many writers, one reader that takes what is there: not deterministic.
    Select,
    /// Many writers, one reader that takes one token of each.
    Gather,
    /// Many writers, one reader that combines one token of each.
    Reduce,
    /// One writer, many readers; each gets a copy.
    Broadcast,
    /// One writer, many readers; each gets its part.
    Scatter,
    /// One writer, many readers; the writer names the one that gets the token.
    Switch,
    /// One writer, many readers; whoever is ready takes the token: not deterministic.
    Share,
}

/// At which end of its channels a bundle's one process is.
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
    /// All of them, in the order of their documentation.
    pub const ALL: [BundleKind; 7] = [
        BundleKind::Select,
        BundleKind::Gather,
        BundleKind::Reduce,
        BundleKind::Broadcast,
        BundleKind::Scatter,
        BundleKind::Switch,
        BundleKind::Share,
    ];

    /// As written in `bundle=`.
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

    /// The kind of a name as written in `bundle=`.
    pub fn from_name(name: &str) -> Option<BundleKind> {
        BundleKind::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// The direction of the one port that its channels share.
    pub fn direction(self) -> Direction {
        match self {
            BundleKind::Select | BundleKind::Gather | BundleKind::Reduce => Direction::Input,
            BundleKind::Broadcast
            | BundleKind::Scatter
            | BundleKind::Switch
            | BundleKind::Share => Direction::Output,
        }
    }

    /// Whether the order of tokens depends on who is first.
    pub fn is_deterministic(self) -> bool {
        !matches!(self, BundleKind::Select | BundleKind::Share)
    }
}

/// Which of many readers gets a token of flow-controlled channels; see the book, `language.md`.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "kebab-case")]
pub enum Flow {
    /// The one that has had room for longest.
    Credits,
    /// One after the other.
    RoundRobin,
}

impl Flow {
    /// Both.
    pub const ALL: [Flow; 2] = [Flow::Credits, Flow::RoundRobin];

    /// As written in `flow=`.
    pub fn name(self) -> &'static str {
        match self {
            Flow::Credits => "credits",
            Flow::RoundRobin => "round-robin",
        }
    }

    /// The one of a name as written in `flow=`.
    pub fn from_name(name: &str) -> Option<Flow> {
        Flow::ALL.into_iter().find(|flow| flow.name() == name)
    }
}

/// A constraint on the mapping.
#[derive(Clone, Debug)]
pub struct ConstraintDecl {
    /// What is constrained.
    pub target: ConstraintTarget,
    /// How.
    pub constraint: Constraint,
    /// Where it is given.
    pub span: Span,
}

/// What a constraint is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConstraintTarget {
    /// One node, with all its instances.
    Node(NodeId),
    /// All processes of a module.
    Module(ModuleId),
}

/// What a mapping must do.
#[derive(Clone, Debug, PartialEq)]
pub enum Constraint {
    /// `host=`: on this host.
    Host(String),
    /// `osprocess=`: in this OS process.
    OsProcess(u32),
    /// `colocate=group`: in one OS process with all others of the group.
    Colocate(String),
    /// `separate=group`: in an OS process without any other of the group.
    Separate(String),
    /// `hold=1-4` of a node: each OS process holds at least and at most so many of its kind.
    Hold {
        /// Fewest in each.
        least: u32,
        /// Most in each.
        most: u32,
    },
    /// `whole=true` of a module: all in one OS process, each instance by itself.
    Whole,
    /// `prefer=64` of a module: rather in one OS process, as if neighbours in it were joined by a
    /// channel of this traffic; finite, at least 0.
    Prefer(f64),
}

impl Declared {
    /// What a channel says beyond the ordinary.
    pub fn extra(&self, channel: &ChannelDecl) -> Option<&ChannelExtra> {
        self.extras.get(channel.extra?.get() as usize)
    }

    /// Stores an extra and gives the index for [`ChannelDecl::extra`]; what equals the one before, as
    /// all that comes from one default does, is stored once.
    pub fn add_extra(&mut self, extra: ChannelExtra) -> Option<std::num::NonZeroU32> {
        if self.extras.is_empty() {
            self.extras.push(ChannelExtra::default());
        }
        if self.extras.len() < 2 || self.extras.last() != Some(&extra) {
            self.extras.push(extra);
        }
        std::num::NonZeroU32::new(self.extras.len() as u32 - 1)
    }

    /// The name of a symbol.
    pub fn name(&self, symbol: Symbol) -> &str {
        self.names.name(symbol)
    }
}

/// Returns the name of a module without the word `cluster` that Graphviz wants before it; `None`
/// for a name that does not begin with it. Graphviz compares the word without regard to case, and
/// so does this.
pub fn without_cluster(name: &str) -> Option<&str> {
    let (word, rest) = name.split_at_checked("cluster".len())?;
    word.eq_ignore_ascii_case("cluster").then_some(rest)
}

/// The kind that a name implies: without the number at its end (`inTask12` is an `inTask`,
/// `cell2_3` a `cell`). A name that is nothing but a number is its own kind.
pub fn kind_of_name(name: &str) -> &str {
    let mut kind = name;
    loop {
        let shorter = kind.trim_end_matches(|c: char| c.is_ascii_digit());
        if shorter.len() == kind.len() || shorter.is_empty() {
            return kind;
        }
        kind = shorter;
        // `cell2_3`: an underscore between two numbers joins the indices of nested repetition.
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
