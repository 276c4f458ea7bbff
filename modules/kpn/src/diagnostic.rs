//! Diagnostics as values: an error, a warning or a note, its position, and suggestions.
//!
//! The library does not print. It pushes each [`Diagnostic`] into a [`Diagnostics`] collection. The
//! command prints all diagnostics of a run together, sorted by position.

use crate::source::Span;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// Severity of a diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Information. No action is needed.
    Note,
    /// Probably an error. The run continues.
    Warning,
    /// The input cannot be used.
    Error,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Error => "error",
        })
    }
}

/// The stable code of a kind of diagnostic, such as `G0301`.
///
/// Codes are never reused. The hundreds identify the stage: `G00` input and output, `G01` DOT
/// syntax, `G02` the graph language and its expansion, `G03` the model, `G04` platform and mapping,
/// `G05` passes and plug-ins, `G06` wiring and projects, `G07` runs, `G08` programs of ranks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(into = "String")]
pub struct Code(pub u16);

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "G{:04}", self.0)
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl From<Code> for String {
    fn from(code: Code) -> String {
        code.to_string()
    }
}

/// A position in a source text, and a text to print there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// The position.
    pub span: Span,
    /// The text. It may be empty for the primary position.
    pub text: String,
}

/// An error, a warning or a note about the input.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Diagnostic {
    /// Code of the diagnostic.
    pub code: Code,
    /// Severity of the diagnostic.
    pub severity: Severity,
    /// One sentence without a full stop, understandable without its context.
    pub message: String,
    /// Position, or `None` if it is not in a text (a missing file, a hung plug-in).
    pub primary: Option<Label>,
    /// Other positions that explain the diagnostic, most helpful first.
    pub secondary: Vec<Label>,
    /// Suggestions for the user, one for each entry.
    pub help: Vec<String>,
    /// Facts that explain the diagnostic.
    pub notes: Vec<String>,
}

impl Diagnostic {
    fn new(severity: Severity, code: Code, message: impl Into<String>) -> Diagnostic {
        Diagnostic {
            code,
            severity,
            message: message.into(),
            primary: None,
            secondary: Vec::new(),
            help: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Creates an error without positions and suggestions.
    pub fn error(code: Code, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Severity::Error, code, message)
    }

    /// Creates a warning without positions and suggestions.
    pub fn warning(code: Code, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Severity::Warning, code, message)
    }

    /// Creates a note without positions and suggestions.
    pub fn note(code: Code, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Severity::Note, code, message)
    }

    /// Sets or replaces the primary position. [`Span::NONE`] is ignored, together with `text`.
    pub fn at(mut self, span: Span, text: impl Into<String>) -> Diagnostic {
        if !span.is_none() {
            self.primary = Some(Label {
                span,
                text: text.into(),
            });
        }
        self
    }

    /// Adds a secondary position. [`Span::NONE`] is ignored, together with `text`.
    pub fn also(mut self, span: Span, text: impl Into<String>) -> Diagnostic {
        if !span.is_none() {
            self.secondary.push(Label {
                span,
                text: text.into(),
            });
        }
        self
    }

    /// Adds a suggestion.
    pub fn help(mut self, text: impl Into<String>) -> Diagnostic {
        self.help.push(text.into());
        self
    }

    /// Adds a fact that explains the diagnostic.
    pub fn with_note(mut self, text: impl Into<String>) -> Diagnostic {
        self.notes.push(text.into());
        self
    }
}

/// Number of diagnostics of one code and severity that a collection keeps.
///
/// A collection keeps those with the smallest positions and counts the others. It may hold more
/// until it is next shortened, because that happens only at intervals. This limit bounds
/// memory, because an error in a program that generates graphs can occur a million times.
pub const MOST_KEPT: usize = 10_000;

/// All diagnostics of a run.
///
/// Diagnostics in excess of [`MOST_KEPT`] are dropped and only counted.
#[derive(Clone, Debug, Default)]
pub struct Diagnostics {
    list: Vec<Diagnostic>,
    /// Number of dropped diagnostics of each severity and code.
    dropped: BTreeMap<(Severity, Code), usize>,
    /// Lower bound of the length at which the list is shortened again.
    room: usize,
}

impl Diagnostics {
    /// Creates an empty collection.
    pub fn new() -> Diagnostics {
        Diagnostics::default()
    }

    /// Adds a diagnostic. Diagnostics of one code and severity in excess of [`MOST_KEPT`] may be
    /// dropped, and are then only counted.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        self.list.push(diagnostic);
        if self.list.len() >= self.room.max(2 * MOST_KEPT) {
            self.shorten();
        }
    }

    /// Adds all diagnostics of another collection after those of this one, and its counts of
    /// dropped ones.
    pub fn append(&mut self, other: Diagnostics) {
        for (kind, count) in other.dropped {
            *self.dropped.entry(kind).or_default() += count;
        }
        self.extend(other.list);
    }

    /// Drops all but [`MOST_KEPT`] diagnostics of each severity and code, and counts the dropped
    /// ones. Keeps those with the smallest positions, and of equal positions the earlier ones in
    /// the list. The order of the list does not change.
    fn shorten(&mut self) {
        let kind = |d: &Diagnostic| (d.severity, d.code);
        let mut kinds: BTreeMap<(Severity, Code), Vec<usize>> = BTreeMap::new();
        for (i, diagnostic) in self.list.iter().enumerate() {
            kinds.entry(kind(diagnostic)).or_default().push(i);
        }
        let mut goes = vec![false; self.list.len()];
        for (kind, mut all) in kinds {
            if all.len() > MOST_KEPT {
                let place = |i: &usize| (self.list[*i].primary.as_ref().map(|l| l.span), *i);
                let (_, _, rest) = all.select_nth_unstable_by_key(MOST_KEPT - 1, place);
                rest.iter().for_each(|i| goes[*i] = true);
                *self.dropped.entry(kind).or_default() += rest.len();
            }
        }
        let mut goes = goes.into_iter();
        self.list.retain(|_| goes.next() == Some(false));
        self.room = self.list.len() + MOST_KEPT;
    }

    /// Replaces each diagnostic by the result of `f`, and removes it if the result is `None`.
    ///
    /// For dropped diagnostics, `f` is first called once for each severity and code, with an empty
    /// message. Their count moves to the severity and code of the result, and is lost if the result
    /// is `None`.
    pub fn filter_map(self, mut f: impl FnMut(Diagnostic) -> Option<Diagnostic>) -> Diagnostics {
        let mut taken = Diagnostics::new();
        for ((severity, code), count) in self.dropped {
            if let Some(one) = f(Diagnostic::new(severity, code, String::new())) {
                *taken.dropped.entry((one.severity, one.code)).or_default() += count;
            }
        }
        taken.extend(self.list.into_iter().filter_map(f));
        taken
    }

    /// Returns true if a diagnostic is an error. Dropped diagnostics are not considered.
    pub fn has_errors(&self) -> bool {
        self.list.iter().any(|d| d.severity == Severity::Error)
    }

    /// Returns the number of diagnostics of a severity, including dropped ones.
    pub fn count(&self, severity: Severity) -> usize {
        let dropped = self.dropped.iter().filter(|((s, _), _)| *s == severity);
        let dropped: usize = dropped.map(|(_, count)| count).sum();
        dropped + self.list.iter().filter(|d| d.severity == severity).count()
    }

    /// Returns the number of diagnostics, including dropped ones.
    pub fn len(&self) -> usize {
        self.list.len() + self.dropped.values().sum::<usize>()
    }

    /// Returns true if the collection is empty. Dropped diagnostics are not considered.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Iterates over the diagnostics, without dropped ones, in the order of insertion or of the
    /// last [`sort`](Self::sort).
    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.list.iter()
    }

    /// Sorts the diagnostics by primary position, in ascending order. Diagnostics without a
    /// position come first. The sort is stable.
    pub fn sort(&mut self) {
        self.list
            .sort_by_key(|d| d.primary.as_ref().map(|label| label.span));
    }
}

impl From<Diagnostic> for Diagnostics {
    fn from(one: Diagnostic) -> Diagnostics {
        let mut all = Diagnostics::new();
        all.push(one);
        all
    }
}

impl<'a> IntoIterator for &'a Diagnostics {
    type Item = &'a Diagnostic;
    type IntoIter = std::slice::Iter<'a, Diagnostic>;
    fn into_iter(self) -> Self::IntoIter {
        self.list.iter()
    }
}

impl IntoIterator for Diagnostics {
    type Item = Diagnostic;
    type IntoIter = std::vec::IntoIter<Diagnostic>;
    fn into_iter(self) -> Self::IntoIter {
        self.list.into_iter()
    }
}

impl Extend<Diagnostic> for Diagnostics {
    fn extend<I: IntoIterator<Item = Diagnostic>>(&mut self, iter: I) {
        iter.into_iter().for_each(|one| self.push(one));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorted_by_position_and_counted() {
        let mut all = Diagnostics::new();
        all.push(Diagnostic::warning(Code(302), "later").at(Span::new(9, 10), ""));
        all.push(Diagnostic::error(Code(301), "sooner").at(Span::new(2, 3), "here"));
        all.push(Diagnostic::note(Code(5), "nowhere").at(Span::NONE, ""));
        all.sort();
        let order: Vec<_> = all.iter().map(|d| d.message.as_str()).collect();
        assert_eq!(order, ["nowhere", "sooner", "later"]);
        assert_eq!((all.has_errors(), all.count(Severity::Warning)), (true, 1));
        assert_eq!(Code(7).to_string(), "G0007");
    }

    #[test]
    fn of_a_million_the_first_are_kept_and_all_are_counted() {
        let mut all = Diagnostics::new();
        all.push(Diagnostic::error(Code(9), "another").at(Span::new(5, 6), ""));
        for i in (0..100_000).rev() {
            all.push(Diagnostic::warning(Code(1), format!("{i}")).at(Span::new(i, i), ""));
        }
        assert!(all.iter().count() <= 2 * MOST_KEPT);
        assert_eq!(all.len(), 100_001);
        assert_eq!(all.count(Severity::Warning), 100_000);
        let mut more = Diagnostics::new();
        more.push(Diagnostic::note(Code(2), "one more"));
        more.append(all);
        let mut all = more.filter_map(|mut one| {
            if one.severity == Severity::Warning {
                one.severity = Severity::Error;
            }
            (one.code != Code(9)).then_some(one)
        });
        assert_eq!((all.len(), all.count(Severity::Error)), (100_001, 100_000));
        all.sort();
        let firsts: Vec<&str> = all.iter().map(|d| d.message.as_str()).take(3).collect();
        assert_eq!(firsts, ["one more", "0", "1"]);
    }
}
