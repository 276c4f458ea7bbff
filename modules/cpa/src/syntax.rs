//! Syntax tree of the notation, with the position of each name.

use graphmap_kpn::sizes::Place;
use graphmap_kpn::source::Span;

/// A name and its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Name {
    pub(crate) text: String,
    pub(crate) span: Span,
}

/// An expression. It is parsed when it is evaluated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Expr {
    pub(crate) text: String,
    pub(crate) span: Span,
}

impl Expr {
    pub(crate) fn place(&self) -> Place {
        Place {
            span: self.span,
            inside: Some(self.span.start),
        }
    }
}

/// A number of instances.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Count {
    Expr(Expr),
    /// `*`: any number.
    Any(Span),
    /// `+`: at least one.
    Some(Span),
}

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
    pub(crate) specifications: Vec<Specification>,
    pub(crate) boxes: Vec<Boxes>,
}

#[derive(Debug)]
pub(crate) struct Specification {
    pub(crate) name: Name,
    pub(crate) items: Vec<Item>,
    /// Limit on the number of all processes.
    pub(crate) most: Option<Expr>,
}

#[derive(Debug)]
pub(crate) struct Item {
    /// Compositions around the process, outermost first.
    pub(crate) prefix: Vec<Name>,
    pub(crate) name: Name,
    /// `None` for a specification inside of this one.
    pub(crate) count: Option<Count>,
}

#[derive(Debug)]
pub(crate) struct Boxes {
    pub(crate) prefix: Vec<Name>,
    pub(crate) name: Name,
    pub(crate) count: Option<Expr>,
    /// Variable and name of the range of a loop.
    pub(crate) range: Option<(Name, Name)>,
}
