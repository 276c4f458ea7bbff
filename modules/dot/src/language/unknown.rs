//! Warnings about attributes that the graph language does not have.

use super::attributes::{elements, graphviz};
use super::keys::{Element, names};
use crate::codes;
use graphmap_kpn::attributes::PREFIX;
use graphmap_kpn::diagnostic::Diagnostic;
use graphmap_kpn::nearest::nearest;
use graphmap_kpn::source::Span;

/// Names that other programs use: element, their name, the attribute of the graph language, its
/// help.
const SYNONYMS: &[(Element, &str, &str, &str)] = &[
    (Element::Node, "cost", "load", COST_OF_PROCESS),
    (Element::Node, "weight", "load", COST_OF_PROCESS),
    (Element::Node, "work", "load", COST_OF_PROCESS),
    (
        Element::Node,
        "memory",
        "mem",
        "use `mem=` for the memory of a process",
    ),
    (Element::Edge, "cost", "traffic", COST_OF_CHANNEL),
    (Element::Edge, "volume", "traffic", COST_OF_CHANNEL),
    (Element::Edge, "bandwidth", "traffic", COST_OF_CHANNEL),
];

const COST_OF_PROCESS: &str = "use `load=` for the cost of a process";
const COST_OF_CHANNEL: &str = "use `traffic=` for the cost of a channel";

/// Returns the warning about an attribute that neither the graph language nor Graphviz has for
/// `element`. It suggests a similar attribute if there is one. If Graphviz has the attribute for
/// other elements, the warning names these. `declared` are the names of the user's attributes, and
/// `span` is the position of the name.
pub(super) fn unknown(element: Element, name: &str, declared: &[String], span: Span) -> Diagnostic {
    let on = element.name();
    let synonym = SYNONYMS
        .iter()
        .find(|(of, word, ..)| (*of, *word) == (element, name));
    let other_elements = elements(name);
    if synonym.is_none() && !other_elements.is_empty() {
        let message = format!("Graphviz has no attribute `{name}` on {on}");
        return Diagnostic::warning(codes::UNKNOWN_ATTRIBUTE, message)
            .at(span, format!("allowed on {}", other_elements.join(" or ")));
    }
    let message = format!("unknown attribute `{name}` on {on}");
    let mut known: Vec<&str> = names(element).collect();
    known.extend(declared.iter().map(String::as_str));
    let near = nearest(name, known.iter().copied());
    let Some(ours) = synonym.map(|(_, _, ours, _)| *ours).or(near) else {
        let label = match nearest(name, graphviz(element)) {
            Some(near) => format!("did you mean Graphviz's `{near}`?"),
            None => "not an attribute of graphmap or of Graphviz".to_owned(),
        };
        let help = format!("for an attribute of your own, use the name `{PREFIX}{name}`");
        return Diagnostic::warning(codes::UNKNOWN_ATTRIBUTE, message)
            .at(span, label)
            .help(help);
    };
    let mut diagnostic = Diagnostic::warning(codes::MISSPELT_ATTRIBUTE, message)
        .at(span, format!("did you mean `{ours}`?"));
    if let Some((.., help)) = synonym {
        diagnostic = diagnostic.help(*help);
    }
    diagnostic.help(
        "if another program uses the attribute, set `--allow G0204`, or `allow=G0204` in the graph",
    )
    .with_note("the attribute is ignored")
}
