//! Diagnostics together with the texts that they refer to.

use crate::render::{self, Style};
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::source::SourceMap;
use std::fmt;
use std::ops::Deref;

/// Width of rendered text in columns.
const WIDTH: usize = 100;
/// Maximum number of diagnostics that are shown. The number of the others is printed.
const MOST_SHOWN: usize = 50;

/// Diagnostics together with the texts that they refer to.
///
/// [`Display`](fmt::Display) shows the diagnostics with the lines of text around them, as the
/// command does. It shows at most 50, errors first, and the number of the others. Notes and help
/// that an earlier diagnostic of the same code had are omitted, unless they contain a digit.
#[derive(Clone, Default)]
pub struct Report {
    diagnostics: Diagnostics,
    sources: SourceMap,
}

impl Report {
    /// Creates a report of diagnostics about some texts, and sorts them by position.
    #[must_use]
    pub fn new(mut diagnostics: Diagnostics, sources: SourceMap) -> Report {
        diagnostics.sort();
        Report {
            diagnostics,
            sources,
        }
    }

    /// Prepends the diagnostics of an earlier stage. If neither list of texts begins with the
    /// other, the positions of the earlier diagnostics become notes.
    #[must_use]
    pub(crate) fn after(mut self, earlier: Report) -> Report {
        let Report {
            diagnostics: mut all,
            sources,
        } = earlier;
        if self.sources.begins(&sources) {
            self.sources = sources;
        } else if !sources.begins(&self.sources) {
            all = all.filter_map(|one| Some(with_position_as_note(one, &sources)));
        }
        all.append(self.diagnostics);
        Report::new(all, self.sources)
    }

    /// Returns the diagnostics.
    pub fn diagnostics(&self) -> &Diagnostics {
        &self.diagnostics
    }

    /// Returns the texts that spans of the diagnostics refer to.
    pub fn sources(&self) -> &SourceMap {
        &self.sources
    }

    /// Returns true if there are no diagnostics.
    pub fn is_empty(&self) -> bool {
        self.diagnostics.is_empty()
    }

    /// Returns a line of JSON for each diagnostic, as `graphmap --message-format json` writes them.
    /// There is no limit on their number, apart from diagnostics that the collection has dropped.
    pub fn json_lines(&self) -> String {
        let lines = self.diagnostics.iter().map(|diagnostic| {
            let value = render::machine(diagnostic, &self.sources);
            crate::visible::json(&value, false) + "\n"
        });
        lines.collect()
    }
}

/// Replaces the primary position of a diagnostic by a note, because its text is not available.
/// Removes its secondary positions. Adds no note if there is no primary position in `sources`.
fn with_position_as_note(mut diagnostic: Diagnostic, sources: &SourceMap) -> Diagnostic {
    diagnostic.secondary.clear();
    let place = diagnostic.primary.take();
    match place.and_then(|label| sources.location(label.span)) {
        Some(place) => diagnostic.with_note(format!("the position is {place}")),
        None => diagnostic,
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let style = Style {
            colour: false,
            width: WIDTH,
        };
        let (chosen, left_out) = render::choose(&self.diagnostics, MOST_SHOWN);
        let mut texts = render::ShownTexts::default();
        for diagnostic in chosen {
            let text = render::human(&texts.without_repeated(diagnostic), &self.sources, style);
            f.write_str(&text)?;
        }
        match left_out {
            0 => Ok(()),
            n => writeln!(f, "and {n} more"),
        }
    }
}

impl fmt::Debug for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Error of a stage, with all its diagnostics.
///
/// Both [`Display`](fmt::Display) and [`Debug`] show the [`Report`], so that `unwrap` and
/// `fn main() -> Result<(), graphmap::Error>` print readable messages.
#[derive(Clone)]
pub struct Error(Box<Report>);

impl Error {
    /// Returns the diagnostics. At least one of them is an error, unless a front end, pass or
    /// emitter of another crate failed without an error.
    pub fn report(&self) -> &Report {
        &self.0
    }

    /// Returns the diagnostics by value.
    #[must_use]
    pub fn into_report(self) -> Report {
        *self.0
    }

    pub(crate) fn new(diagnostics: impl Into<Diagnostics>, sources: &SourceMap) -> Error {
        Error(Box::new(Report::new(diagnostics.into(), sources.clone())))
    }

    /// Creates an error that refers to no text.
    pub(crate) fn without_text(diagnostic: Diagnostic) -> Error {
        Error::new(diagnostic, &SourceMap::new())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.diagnostics.has_errors() {
            true => f.write_str(self.0.to_string().trim_end()),
            false => write!(f, "{}failed without a diagnostic", self.0),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The newline separates the text from the `Error: ` of `main` and the message of `unwrap`.
        write!(f, "\n{self}")
    }
}

impl std::error::Error for Error {}

/// Result of a stage, with its warnings and notes.
///
/// It dereferences to the result.
#[derive(Clone, Debug)]
pub struct Diagnosed<T> {
    /// Result of the stage.
    pub value: T,
    /// Warnings and notes of this stage and of the earlier stages that it received.
    pub report: Report,
}

/// Creates a result without diagnostics.
impl<T> From<T> for Diagnosed<T> {
    fn from(value: T) -> Diagnosed<T> {
        Diagnosed {
            value,
            report: Report::default(),
        }
    }
}

impl<T> Diagnosed<T> {
    /// Creates the result of a stage, with the diagnostics in `earlier` before its own. It is an
    /// error if any diagnostic of the stage is one, even if the stage has a value.
    pub(crate) fn of(
        result: Result<(T, Diagnostics), Diagnostics>,
        sources: &SourceMap,
        earlier: Report,
    ) -> Result<Diagnosed<T>, Error> {
        let (value, found) = match result {
            Ok((value, found)) if !found.has_errors() => (Some(value), found),
            Ok((_, found)) | Err(found) => (None, found),
        };
        let report = Report::new(found, sources.clone()).after(earlier);
        match value {
            Some(value) => Ok(Diagnosed { value, report }),
            None => Err(Error(Box::new(report))),
        }
    }

    /// Returns the result without its diagnostics.
    pub fn into_value(self) -> T {
        self.value
    }
}

impl<T> Deref for Diagnosed<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}
