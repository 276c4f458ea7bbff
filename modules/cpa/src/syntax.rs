//! Syntax tree of the notation, with the position of each name.

pub(crate) use graphmap_kpn::containers::{BoxesDecl, Container, Count, Expr, Item, Name};
use graphmap_kpn::source::Span;

/// The specifications of one file, by what they are. Each list is in the order of the text.
#[derive(Debug, Default)]
pub(crate) struct File {
    pub(crate) includes: Vec<Name>,
    pub(crate) structures: Vec<Structure>,
    pub(crate) initializations: Vec<Initialization>,
    pub(crate) containers: Vec<Containers>,
    pub(crate) functions: Vec<(Name, Pair)>,
    pub(crate) glue: Vec<Vec<(Name, Pair)>>,
    /// Environment variables and their values.
    pub(crate) environment: Vec<(Name, Name)>,
}

/// Two texts in braces: a header and a function, or a variable and its value.
#[derive(Debug)]
pub(crate) struct Pair {
    pub(crate) first: Name,
    pub(crate) second: Name,
}

#[derive(Debug)]
pub(crate) struct Structure {
    pub(crate) name: Name,
    pub(crate) variables: Vec<Name>,
    pub(crate) processes: Vec<Process>,
    pub(crate) ranges: Vec<Range>,
    pub(crate) compositions: Vec<Composition>,
}

/// Declaration of a process, which becomes a kind.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) name: Name,
    pub(crate) inputs: Vec<Name>,
    pub(crate) outputs: Vec<Name>,
    pub(crate) parameters: Vec<Name>,
}

/// `R = [0..n]`. Both ends are included.
#[derive(Debug)]
pub(crate) struct Range {
    pub(crate) name: Name,
    pub(crate) first: Expr,
    pub(crate) last: Expr,
}

#[derive(Debug)]
pub(crate) struct Composition {
    pub(crate) name: Name,
    /// `||-`: instantiated only inside other compositions.
    pub(crate) is_intermediate: bool,
    pub(crate) parts: Vec<Part>,
    pub(crate) links: Vec<Links>,
    /// Ports that compositions around this one can link.
    pub(crate) exposed: Vec<Name>,
}

/// A process or a composition inside a composition.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) name: Name,
    pub(crate) count: Option<Expr>,
}

/// Links, which a loop repeats if there is one.
#[derive(Debug)]
pub(crate) struct Links {
    /// Variable and name of its range.
    pub(crate) range: Option<(Name, Name)>,
    pub(crate) links: Vec<Link>,
}

#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) from: Port,
    pub(crate) to: Port,
    pub(crate) tag: Option<Expr>,
    pub(crate) buffer_size: Option<Expr>,
    pub(crate) span: Span,
}

#[derive(Debug)]
pub(crate) struct Port {
    pub(crate) part: Option<Name>,
    pub(crate) name: Name,
    /// Number of the instance of the part, from 0.
    pub(crate) index: Option<Expr>,
    pub(crate) span: Span,
}

#[derive(Debug)]
pub(crate) struct Initialization {
    pub(crate) structure: Name,
    pub(crate) values: Vec<(Name, Value)>,
}

#[derive(Debug)]
pub(crate) enum Value {
    Count(Count),
    Text(Name),
}

#[derive(Debug, Default)]
pub(crate) struct Containers {
    pub(crate) ranges: Vec<Range>,
    pub(crate) containers: Vec<Container>,
    pub(crate) boxes: Vec<Boxes>,
}

/// Boxes of one container. A loop repeats them if there is a range, given by its name.
#[derive(Debug)]
pub(crate) struct Boxes {
    /// The boxes without the range.
    pub(crate) declared: BoxesDecl,
    /// Variable and name of the range of a loop.
    pub(crate) range: Option<(Name, Name)>,
}
