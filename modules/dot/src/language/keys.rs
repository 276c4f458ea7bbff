//! Names of the graph language's attributes, in both spellings, and the elements that may have
//! them.

use graphmap_kpn::level::Level;
use graphmap_kpn::names::Symbol;

/// Version of the graph language that is written, and the newest that can be read. A graph without
/// a version is of version 1.
pub const VERSION: u32 = 1;
/// Value of `graphmap=` in a graph that is only a picture and must not be read.
pub const PICTURE: &str = "picture";

/// An attribute of the graph language.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Key {
    /// `graphmap=`: version of the graph language.
    Version,
    Module,
    Cluster,
    Skeleton,
    /// `allow=`, `warn=`, `deny=`.
    Level(Level),
    Process,
    Kind,
    Replicas,
    Load,
    Mem,
    Host,
    OsProcess,
    Colocate,
    Separate,
    /// `program=`: executable of the processes.
    Program,
    Hold,
    Whole,
    Prefer,
    Src,
    Dst,
    /// `tailport=`: Graphviz's other spelling of the port in `node:port -> ...`.
    TailPort,
    /// `headport=`: the same for the head of the edge.
    HeadPort,
    Bundle,
    Type,
    Capacity,
    Initial,
    Tag,
    Traffic,
    Flow,
    At,
    Step,
    Wrap,
    Beyond,
    /// `sizes=`: definitions of sizes, which add up.
    Sizes,
    /// `closed=`: channels enter the module through its ports only.
    Closed,
    /// `port=`: the node is a module port.
    Port,
    /// `name=` of a module port.
    PortName,
    /// `use=`: the node stands for another graph.
    Use,
    /// `kinds=`: other kinds for an included graph, which add up.
    Kinds,
    /// `for=`: loops over instances.
    For,
    /// `attributes=`: names of attributes of the user, which add up.
    Attributes,
    /// An attribute of the user, by its name.
    User(Symbol),
    /// An attribute of Graphviz that is kept, by its name.
    Drawn(Symbol),
    /// `params=`: parameters of the kind.
    Params,
    /// `args=`: a value for each parameter.
    Args,
    /// `src1=`: process of the bundle's first writer, optionally with its port.
    Writer(u32),
    /// `PIout1=`: port of that writer.
    WriterPort(u32),
    /// `dst1=`: process of the bundle's first reader, optionally with its port.
    Reader(u32),
    /// `PIin1=`: port of that reader.
    ReaderPort(u32),
}

/// An element that can have attributes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Element {
    Graph,
    Cluster,
    Subgraph,
    Node,
    Edge,
}

impl Element {
    /// Number of variants.
    pub(crate) const COUNT: usize = 5;

    /// Returns the name of the element with its article, such as `a node`.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Element::Graph => "the graph",
            Element::Cluster => "a cluster",
            Element::Subgraph => "a subgraph",
            Element::Node => "a node",
            Element::Edge => "an edge",
        }
    }
}

/// Spelling, spelling of the thesis, key, and the elements that may have it.
const TABLE: &[(&str, &str, Key, &[Element])] = &[
    ("graphmap", "", Key::Version, &[Element::Graph]),
    ("module", "PIname", Key::Module, &[Element::Cluster]),
    (
        "cluster",
        "",
        Key::Cluster,
        &[Element::Cluster, Element::Subgraph],
    ),
    ("skeleton", "", Key::Skeleton, &[Element::Graph]),
    ("allow", "", Key::Level(Level::Allow), &[Element::Graph]),
    ("warn", "", Key::Level(Level::Warn), &[Element::Graph]),
    ("deny", "", Key::Level(Level::Deny), &[Element::Graph]),
    (
        "sizes",
        "",
        Key::Sizes,
        &[Element::Graph, Element::Cluster, Element::Node],
    ),
    ("attributes", "", Key::Attributes, &[Element::Graph]),
    ("closed", "", Key::Closed, &[Element::Cluster]),
    ("port", "", Key::Port, &[Element::Node]),
    ("name", "", Key::PortName, &[Element::Node]),
    ("use", "", Key::Use, &[Element::Node]),
    ("kinds", "", Key::Kinds, &[Element::Node]),
    ("process", "PIproc", Key::Process, &[Element::Node]),
    ("kind", "", Key::Kind, &[Element::Node]),
    (
        "replicas",
        "",
        Key::Replicas,
        &[Element::Node, Element::Cluster],
    ),
    ("params", "", Key::Params, &[Element::Node]),
    ("args", "", Key::Args, &[Element::Node]),
    ("load", "", Key::Load, &[Element::Node]),
    ("mem", "", Key::Mem, &[Element::Node]),
    ("host", "", Key::Host, &[Element::Node, Element::Cluster]),
    (
        "osprocess",
        "",
        Key::OsProcess,
        &[Element::Node, Element::Cluster],
    ),
    (
        "colocate",
        "",
        Key::Colocate,
        &[Element::Node, Element::Cluster],
    ),
    (
        "separate",
        "",
        Key::Separate,
        &[Element::Node, Element::Cluster],
    ),
    (
        "program",
        "",
        Key::Program,
        &[Element::Node, Element::Cluster],
    ),
    ("hold", "", Key::Hold, &[Element::Node]),
    ("whole", "", Key::Whole, &[Element::Cluster, Element::Node]),
    (
        "prefer",
        "",
        Key::Prefer,
        &[Element::Cluster, Element::Node],
    ),
    ("src", "PIout", Key::Src, &[Element::Edge]),
    ("dst", "PIin", Key::Dst, &[Element::Edge]),
    ("tailport", "", Key::TailPort, &[Element::Edge]),
    ("headport", "", Key::HeadPort, &[Element::Edge]),
    ("bundle", "", Key::Bundle, &[Element::Edge, Element::Node]),
    ("type", "", Key::Type, &[Element::Edge, Element::Node]),
    (
        "capacity",
        "",
        Key::Capacity,
        &[Element::Edge, Element::Node],
    ),
    ("initial", "", Key::Initial, &[Element::Edge, Element::Node]),
    ("tag", "", Key::Tag, &[Element::Edge, Element::Node]),
    ("traffic", "", Key::Traffic, &[Element::Edge, Element::Node]),
    ("flow", "", Key::Flow, &[Element::Edge, Element::Node]),
    ("at", "", Key::At, &[Element::Edge]),
    ("step", "", Key::Step, &[Element::Edge]),
    ("wrap", "", Key::Wrap, &[Element::Edge]),
    ("beyond", "", Key::Beyond, &[Element::Edge]),
    ("for", "", Key::For, &[Element::Edge]),
];

/// Makes a key from the number at the end of its name.
type OfNumber = fn(u32) -> Key;

/// Names that end in a number, without the number.
const NUMBERED: &[(&str, OfNumber)] = &[
    ("src", Key::Writer),
    ("dst", Key::Reader),
    ("PIbundlein", Key::Reader),
    ("PIbundleout", Key::Writer),
    ("PIin", Key::ReaderPort),
    ("PIout", Key::WriterPort),
];

impl Key {
    /// Returns the key of a name in either spelling, or `None` if the graph language has no such
    /// name. Case matters. Any number that fits 32 bits may end the name of a member of a bundle.
    pub(crate) fn of(name: &str) -> Option<Key> {
        // Fast path: large graphs have several of these on every edge.
        match name {
            "src" => return Some(Key::Src),
            "dst" => return Some(Key::Dst),
            "type" => return Some(Key::Type),
            "capacity" => return Some(Key::Capacity),
            "traffic" => return Some(Key::Traffic),
            _ => {}
        }
        let plain = |(ours, thesis, key, _): &(&str, &str, Key, _)| {
            (*ours == name || (*thesis == name && !name.is_empty())).then_some(*key)
        };
        if let Some(key) = TABLE.iter().find_map(plain) {
            return Some(key);
        }
        let letters = name.trim_end_matches(|c: char| c.is_ascii_digit());
        let number = name[letters.len()..].parse().ok()?;
        let (_, key) = NUMBERED.iter().find(|(prefix, _)| *prefix == letters)?;
        Some(key(number))
    }

    /// Returns a separate bit for each key that an element has at most once. Returns `None` for
    /// lists of codes, sizes or names, which add up, for attributes that are kept and not
    /// interpreted, and for members of bundles, because there is no limit on their number.
    pub(crate) fn bit(self) -> Option<u64> {
        let index = match self {
            Key::Module => 0,
            Key::Cluster => 1,
            Key::Skeleton => 2,
            Key::Process => 3,
            Key::Kind => 4,
            Key::Replicas => 5,
            Key::Load => 6,
            Key::Mem => 7,
            Key::Host => 8,
            Key::OsProcess => 9,
            Key::Colocate => 10,
            Key::Separate => 11,
            Key::Hold => 12,
            Key::Whole => 13,
            Key::Prefer => 14,
            Key::Src => 15,
            Key::Dst => 16,
            Key::Bundle => 17,
            Key::Type => 18,
            Key::Capacity => 19,
            Key::Initial => 20,
            Key::Tag => 21,
            Key::Traffic => 22,
            Key::At => 23,
            Key::Step => 24,
            Key::Wrap => 25,
            Key::Beyond => 26,
            Key::Flow => 27,
            Key::TailPort => 28,
            Key::HeadPort => 29,
            Key::Version => 30,
            Key::Closed => 31,
            Key::Port => 32,
            Key::PortName => 33,
            Key::Use => 34,
            Key::For => 35,
            Key::Program => 36,
            Key::Params => 37,
            Key::Args => 38,
            Key::Level(_)
            | Key::Sizes
            | Key::Kinds
            | Key::Attributes
            | Key::User(_)
            | Key::Drawn(_)
            | Key::Writer(_)
            | Key::WriterPort(_)
            | Key::Reader(_)
            | Key::ReaderPort(_) => return None,
        };
        Some(1 << index)
    }

    /// Returns true if `element` may have this attribute.
    pub(crate) fn fits(self, element: Element) -> bool {
        use Key::{Capacity, Dst, Src, Traffic, Type};
        let common = matches!(self, Src | Dst | Type | Capacity | Traffic);
        (common && element == Element::Edge) || self.elements().contains(&element)
    }

    /// Returns true for attributes that are kept and not interpreted.
    #[inline]
    pub(crate) fn is_kept(self) -> bool {
        matches!(self, Key::User(_) | Key::Drawn(_))
    }

    /// Returns the elements that may have this attribute. For members of bundles, this is a node.
    pub(crate) fn elements(self) -> &'static [Element] {
        if self.is_kept() {
            return &[
                Element::Graph,
                Element::Cluster,
                Element::Node,
                Element::Edge,
            ];
        }
        let of_table = TABLE.iter().find(|(_, _, key, _)| *key == self);
        of_table.map_or(&[Element::Node], |(_, _, _, elements)| elements)
    }

    /// Returns true for attributes whose values are numbers, which may be expressions.
    pub(crate) fn is_number(self) -> bool {
        use Key::{
            At, Capacity, Hold, Initial, Load, Mem, OsProcess, Prefer, Replicas, Step, Tag, Traffic,
        };
        matches!(
            self,
            Replicas
                | Load
                | Mem
                | OsProcess
                | Hold
                | Prefer
                | Capacity
                | Initial
                | Tag
                | Traffic
                | At
                | Step
        )
    }

    /// Returns true for attributes of module ports and of included graphs.
    pub(crate) fn is_of_special_node(self) -> bool {
        use Key::{Kinds, Port, PortName, Sizes, Use};
        matches!(self, Port | PortName | Use | Sizes | Kinds)
    }

    /// Returns true for constraints that only modules have. An included graph is a module.
    pub(crate) fn is_of_module(self) -> bool {
        matches!(self, Key::Whole | Key::Prefer)
    }

    /// Returns true for attributes of a bundle's channels or members. `bundle=` itself is not one
    /// of them.
    pub(crate) fn is_of_bundle_node(self) -> bool {
        use Key::{
            Capacity, Flow, Initial, Reader, ReaderPort, Tag, Traffic, Type, Writer, WriterPort,
        };
        matches!(
            self,
            Type | Capacity
                | Initial
                | Tag
                | Traffic
                | Flow
                | Writer(_)
                | WriterPort(_)
                | Reader(_)
                | ReaderPort(_)
        )
    }
}

/// Returns the names that an element may have, for suggestions: the current ones, then the
/// thesis's. For a node, the names of members with the number 1 follow, in both spellings.
pub(crate) fn names(element: Element) -> impl Iterator<Item = &'static str> {
    let fitting =
        move |(ours, thesis, _, elements): &(&'static str, &'static str, Key, &[Element])| {
            elements.contains(&element).then_some((*ours, *thesis))
        };
    let pairs = TABLE.iter().filter_map(fitting);
    let thesis = TABLE.iter().filter_map(fitting).map(|(_, thesis)| thesis);
    let members = [
        "PIbundlein1",
        "PIbundleout1",
        "PIin1",
        "PIout1",
        "src1",
        "dst1",
    ];
    let members = members
        .into_iter()
        .filter(move |_| element == Element::Node);
    pairs
        .map(|(ours, _)| ours)
        .chain(thesis.filter(|t| !t.is_empty()))
        .chain(members)
}

/// Returns the current spelling and the key of a name in the spelling of the thesis. Returns `None`
/// for all other names, also for those that end in a number.
pub(crate) fn modern(name: &str) -> Option<(&'static str, Key)> {
    let row = TABLE.iter().find(|(_, thesis, _, _)| *thesis == name)?;
    (!name.is_empty()).then_some((row.0, row.2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_spellings_mean_the_same() {
        assert_eq!(Key::of("PIproc"), Key::of("process"));
        assert_eq!(Key::of("PIbundlein12"), Some(Key::Reader(12)));
        assert_eq!(Key::of("src12"), Key::of("PIbundleout12"));
        assert_eq!(Key::of("PIin"), Some(Key::Dst));
        assert_eq!(Key::of("PIin3"), Some(Key::ReaderPort(3)));
        assert_eq!(Key::of("src99999999999"), None);
        assert_eq!(Key::of("PIbundlein"), None);
        assert_eq!(
            (Key::of(""), Key::of("7"), Key::of("SRC")),
            (None, None, None)
        );
    }

    #[test]
    fn keys_have_bits_of_their_own() {
        let bits: Vec<u64> = TABLE.iter().filter_map(|row| row.2.bit()).collect();
        let all = bits.iter().fold(0, |all, bit| all | bit);
        assert_eq!(bits.len(), all.count_ones() as usize);
        let lists = TABLE.iter();
        let is_list = |key| {
            use Key::{Attributes, Kinds, Level, Sizes};
            matches!(key, Level(_) | Sizes | Kinds | Attributes)
        };
        let lists = lists.filter(|row| is_list(row.2));
        assert_eq!(bits.len(), TABLE.len() - lists.count());
    }

    #[test]
    fn no_name_is_graphvizs_own() {
        use Element::{Cluster, Edge, Graph, Node, Subgraph};
        for element in [Graph, Cluster, Subgraph, Node, Edge] {
            // Both languages use these names for the same things.
            let shared = ["cluster", "tailport", "headport"];
            for name in names(element).filter(|n| !shared.contains(n)) {
                assert!(
                    !super::super::attributes::is_graphviz(element, name),
                    "{name}"
                );
            }
        }
    }
}
