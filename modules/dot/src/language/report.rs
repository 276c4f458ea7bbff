//! Diagnostics of the graph language. Their number is limited, so that a file of a million edges
//! that repeats one error does not get a million of them.

use super::attributes::is_graphviz;
use super::keys::{Element, Key};
use super::unknown::unknown;
use super::value::Misfit;
use crate::codes;
use crate::events::{Attribute, Header};
use graphmap_kpn::diagnostic::{Code, Diagnostic, Diagnostics};
use graphmap_kpn::source::Span;
use hashbrown::{HashMap, HashSet};

/// Maximum number of diagnostics of one code.
const MOST_OF_A_CODE: usize = 50;

#[derive(Default)]
pub(super) struct Report {
    diagnostics: Vec<Diagnostic>,
    /// Number of diagnostics, including discarded ones.
    reported_count: usize,
    counts: HashMap<Code, usize>,
    /// Positions already reported. A default is read for each element to which it applies, but must
    /// be reported once.
    seen: HashSet<(Code, Span)>,
    /// Index of the diagnostic of each unknown name, and the number of its occurrences.
    unknown: HashMap<(Element, String), (usize, usize)>,
}

impl Report {
    /// Returns the number of calls that reported something so far, including discarded diagnostics.
    pub(super) fn reported_count(&self) -> usize {
        self.reported_count
    }

    /// Adds a diagnostic. Discards it if its code was reported at the same position, or at
    /// [`MOST_OF_A_CODE`] other positions.
    pub(super) fn push(&mut self, diagnostic: Diagnostic) {
        self.reported_count += 1;
        if let Some(primary) = &diagnostic.primary
            && !self.seen.insert((diagnostic.code, primary.span))
        {
            return;
        }
        let count = self.counts.entry(diagnostic.code).or_default();
        *count += 1;
        if *count <= MOST_OF_A_CODE {
            self.diagnostics.push(diagnostic);
        }
    }

    /// Adds all diagnostics to `diagnostics`, in the order of the reports. Notes contain the number
    /// of those of each code that were not kept, and of the occurrences of an unknown name.
    pub(super) fn finish(mut self, diagnostics: &mut Diagnostics) {
        for (index, count) in self.unknown.into_values() {
            if count > 1
                && let Some(diagnostic) = self.diagnostics.get_mut(index)
            {
                diagnostic.notes.push(format!("it occurs {count} times"));
            }
        }
        for (code, count) in self.counts {
            let last = self.diagnostics.iter_mut().rfind(|f| f.code == code);
            if count > MOST_OF_A_CODE
                && let Some(last) = last
            {
                let more = count - MOST_OF_A_CODE;
                last.notes
                    .push(format!("not shown: {more} more of this kind"));
            }
        }
        diagnostics.extend(self.diagnostics);
    }

    /// Reports an attribute that neither the graph language nor Graphviz has for the element. Each
    /// name is reported once for each sort of element, and then only counted. Does nothing for an
    /// attribute that Graphviz has for the element.
    /// `declared` are the names of the user's attributes, for suggestions.
    pub(super) fn unknown(
        &mut self,
        element: Element,
        name: &str,
        declared: &[String],
        attribute: &Attribute,
    ) {
        if is_graphviz(element, name) {
            return;
        }
        if let Some((_, count)) = self.unknown.get_mut(&(element, name.to_owned())) {
            *count += 1;
            self.reported_count += 1;
            return;
        }
        let before = self.diagnostics.len();
        self.push(unknown(element, name, declared, attribute.name.span));
        if self.diagnostics.len() > before {
            let entry = (before, 1);
            self.unknown.insert((element, name.to_owned()), entry);
        }
    }

    pub(super) fn misplaced(
        &mut self,
        element: Element,
        key: Key,
        name: &str,
        attribute: &Attribute,
    ) {
        if element == Element::Subgraph && key.fits(Element::Cluster) {
            self.push(
                Diagnostic::error(
                    codes::NOT_A_CLUSTER,
                    format!("`{name}` on a subgraph that is not a cluster"),
                )
                .at(attribute.name.span, "allowed only on clusters")
                .help("begin the name of the subgraph with `cluster`, or set `cluster=true` first in it"),
            );
            return;
        }
        let mut elements: Vec<&str> = key.elements().iter().map(|e| e.name()).collect();
        if key.is_of_bundle_node() {
            elements = match elements.as_slice() {
                ["an edge", ..] => vec!["an edge", "the node of a bundle"],
                _ => vec!["the node of a bundle"],
            };
        }
        let mut diagnostic = Diagnostic::error(
            codes::MISPLACED_ATTRIBUTE,
            format!("`{name}` is not allowed on {}", element.name()),
        )
        .at(
            attribute.name.span,
            format!("allowed on {}", elements.join(" or ")),
        );
        diagnostic = match (key, element) {
            (Key::Load, Element::Edge) => {
                diagnostic.help("use `traffic=` for the cost of a channel")
            }
            (Key::Traffic, Element::Node) => {
                diagnostic.help("use `load=` for the cost of a process")
            }
            (Key::Type, Element::Node) => diagnostic
                .help("use `kind=` for the kind of a process, or set `type=` on its edges"),
            (Key::Kind, Element::Cluster) => {
                diagnostic.help("use `module=` for the kind of a cluster")
            }
            (Key::Module, Element::Node) => {
                diagnostic.help("use `kind=` for the kind of a process")
            }
            (Key::Writer(_) | Key::Reader(_), Element::Edge) => {
                diagnostic.help("use `src=` and `dst=`, without a number, for the ports of an edge")
            }
            (Key::Src | Key::Dst, Element::Node) => {
                diagnostic.help("number the members of a bundle: `src1=`, `dst1=`")
            }
            _ => diagnostic,
        };
        self.push(diagnostic);
    }

    /// Reports an attribute that describes one node but is written as a default, or for several
    /// nodes.
    pub(super) fn no_default(&mut self, name: &str, attribute: &Attribute) {
        self.push(
            Diagnostic::error(
                codes::MISPLACED_ATTRIBUTE,
                format!("`{name}` cannot be a default of nodes"),
            )
            .at(attribute.name.span, "allowed on the node of one bundle"),
        );
    }

    /// Reports an attribute on the environment.
    pub(super) fn of_environment(&mut self, name: &str, attribute: &Attribute) {
        self.push(
            Diagnostic::error(
                codes::MISPLACED_ATTRIBUTE,
                format!("`{name}` is not allowed on `NULL`"),
            )
            .at(
                attribute.name.span,
                "`NULL` is the environment, not a process",
            ),
        );
    }

    pub(super) fn misfit(
        &mut self,
        name: &str,
        value: &str,
        attribute: &Attribute,
        misfit: Misfit,
    ) {
        let short: String = value.chars().take(40).collect();
        let short = match short.as_str() {
            "" => "an empty text".to_owned(),
            short => format!("`{short}`"),
        };
        let diagnostic = Diagnostic::error(
            codes::BAD_VALUE,
            format!("{short} is not a value of `{name}`"),
        )
        .at(
            attribute.value.span,
            format!("expected {}", misfit.expected),
        );
        self.push(match misfit.hint {
            Some(hint) => diagnostic.help(hint),
            None => diagnostic,
        });
    }

    pub(super) fn header(&mut self, header: &Header) {
        if !header.directed {
            self.push(
                Diagnostic::error(
                    codes::UNDIRECTED,
                    "an undirected graph cannot describe channels",
                )
                .at(header.span, "channels have a direction")
                .help("write `digraph`, and `->` from the writer to the reader"),
            );
        }
    }

    pub(super) fn several_graphs(&mut self, span: Span) {
        self.push(
            Diagnostic::error(codes::SEVERAL_GRAPHS, "the file contains several graphs")
                .at(span, "this graph is not read")
                .help("move it to a separate file, or make it a cluster of the first graph"),
        );
    }
}
