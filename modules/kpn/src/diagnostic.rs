//! Diagnostics as values: what is wrong, where, and what to do.
//!
//! Nothing in the library prints. Whoever finds something pushes a [`Diagnostic`] into
//! [`Diagnostics`]; the command shows all of a run at once, sorted by position.

use crate::source::Span;
use serde::Serialize;
use std::fmt;

/// How much a diagnostic matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing; nothing to do.
    Note,
    /// Probably a mistake; the run goes on.
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
/// Codes are never reused. The hundreds tell the stage: `G00` input and output, `G01` DOT syntax,
/// `G02` the dialect and its expansion, `G03` the model, `G04` platform and mapping, `G05` passes
/// and plug-ins, `G06` wiring and projects, `G07` runs.
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

/// A place in a source text and what to say there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// The place.
    pub span: Span,
    /// What is the matter with it; may be empty for the primary place.
    pub text: String,
}

/// One finding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The kind of finding.
    pub code: Code,
    /// How much it matters.
    pub severity: Severity,
    /// One sentence, without a full stop, that stands on its own.
    pub message: String,
    /// Where it is; `None` when no text is to blame (a missing file, a hung plug-in).
    pub primary: Option<Label>,
    /// Other places that explain it, most helpful first.
    pub secondary: Vec<Label>,
    /// What the user can do, one entry a suggestion.
    pub help: Vec<String>,
    /// Facts that explain the finding.
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

    /// An error.
    pub fn error(code: Code, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Severity::Error, code, message)
    }

    /// A warning.
    pub fn warning(code: Code, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Severity::Warning, code, message)
    }

    /// A note.
    pub fn note(code: Code, message: impl Into<String>) -> Diagnostic {
        Diagnostic::new(Severity::Note, code, message)
    }

    /// Sets the place it is about. [`Span::NONE`] leaves it without one.
    pub fn at(mut self, span: Span, text: impl Into<String>) -> Diagnostic {
        if !span.is_none() {
            self.primary = Some(Label {
                span,
                text: text.into(),
            });
        }
        self
    }

    /// Adds another place. [`Span::NONE`] is passed over.
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

    /// Adds an explaining fact.
    pub fn with_note(mut self, text: impl Into<String>) -> Diagnostic {
        self.notes.push(text.into());
        self
    }
}

/// All findings of a run.
#[derive(Clone, Debug, Default)]
pub struct Diagnostics {
    list: Vec<Diagnostic>,
}

impl Diagnostics {
    /// None yet.
    pub fn new() -> Diagnostics {
        Diagnostics::default()
    }

    /// Adds a finding.
    pub fn push(&mut self, diagnostic: Diagnostic) {
        self.list.push(diagnostic);
    }

    /// Adds all of another collection.
    pub fn append(&mut self, other: Diagnostics) {
        self.list.extend(other.list);
    }

    /// Whether any is an error.
    pub fn has_errors(&self) -> bool {
        self.list.iter().any(|d| d.severity == Severity::Error)
    }

    /// How many are of a severity.
    pub fn count(&self, severity: Severity) -> usize {
        self.list.iter().filter(|d| d.severity == severity).count()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// In the order found.
    pub fn iter(&self) -> std::slice::Iter<'_, Diagnostic> {
        self.list.iter()
    }

    /// Sorts by position, those without a position first; the order of equals stays.
    pub fn sort(&mut self) {
        self.list
            .sort_by_key(|d| d.primary.as_ref().map(|label| label.span));
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
        self.list.extend(iter);
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
}
