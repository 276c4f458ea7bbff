//! Diagnostics together with the texts that they point into.

use crate::render::{self, Style};
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::source::SourceMap;
use std::fmt;
use std::ops::Deref;

/// Columns of text where nobody says how many there are.
const WIDTH: usize = 100;
/// How many diagnostics a text shows; how many more there are it says.
const MOST_SHOWN: usize = 50;

/// What was found, with the texts that it points into: [`Display`](fmt::Display) shows each diagnostic
/// with the lines that it is about, as the command does.
#[derive(Clone, Default)]
pub struct Report {
    diagnostics: Diagnostics,
    sources: SourceMap,
}

impl Report {
    /// What was found in some texts; sorted by position.
    #[must_use]
    pub fn new(mut diagnostics: Diagnostics, sources: SourceMap) -> Report {
        diagnostics.sort();
        Report {
            diagnostics,
            sources,
        }
    }

    /// With what an earlier stage found. Where the two have no texts in common, its places are told in words.
    #[must_use]
    pub(crate) fn after(mut self, earlier: Report) -> Report {
        let Report {
            diagnostics: mut all,
            sources,
        } = earlier;
        if self.sources.begins(&sources) {
            self.sources = sources;
        } else if !sources.begins(&self.sources) {
            all = all.filter_map(|one| Some(in_words(one, &sources)));
        }
        all.append(self.diagnostics);
        Report::new(all, self.sources)
    }

    /// What was found.
    pub fn diagnostics(&self) -> &Diagnostics {
        &self.diagnostics
    }

    /// The texts that spans of diagnostics point into.
    pub fn sources(&self) -> &SourceMap {
        &self.sources
    }

    /// Whether nothing was found.
    pub fn is_empty(&self) -> bool {
        self.diagnostics.is_empty()
    }

    /// A line of JSON for each diagnostic, as `graphmap --message-format json` writes them.
    pub fn json_lines(&self) -> String {
        let lines = self.diagnostics.iter().map(|diagnostic| {
            let value = render::machine(diagnostic, &self.sources);
            crate::visible::json(&value, false) + "\n"
        });
        lines.collect()
    }
}

/// A finding whose place is a note, for whoever does not have the text.
fn in_words(mut finding: Diagnostic, sources: &SourceMap) -> Diagnostic {
    finding.secondary.clear();
    let place = finding.primary.take();
    match place.and_then(|label| sources.location(label.span)) {
        Some(place) => finding.with_note(format!("the position is {place}")),
        None => finding,
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let style = Style {
            colour: false,
            width: WIDTH,
        };
        let (chosen, left_out) = render::choose(&self.diagnostics, MOST_SHOWN);
        let mut besides = render::Besides::default();
        for diagnostic in chosen {
            let text = render::human(&besides.once(diagnostic), &self.sources, style);
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

/// A stage of the flow that failed, with everything that it found wrong, and what it found besides.
///
/// Both [`Display`](fmt::Display) and [`Debug`] show the [`Report`], so that `fn main() -> Result<(),
/// graphmap::Error>` and `unwrap` tell what people want to read.
#[derive(Clone)]
pub struct Error(Box<Report>);

impl Error {
    /// What was found; at least one diagnostic is an error, unless a front end, a pass or an emitter of somebody's own
    /// failed and did not say why.
    pub fn report(&self) -> &Report {
        &self.0
    }

    /// The same, to be kept.
    #[must_use]
    pub fn into_report(self) -> Report {
        *self.0
    }

    pub(crate) fn new(diagnostics: impl Into<Diagnostics>, sources: &SourceMap) -> Error {
        Error(Box::new(Report::new(diagnostics.into(), sources.clone())))
    }

    /// A failure that no text is to blame for.
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
        // `main` writes `Error: ` before it, `unwrap` its own words.
        write!(f, "\n{self}")
    }
}

impl std::error::Error for Error {}

/// What a stage made, and what it found that keeps nobody from using it: warnings and notes.
///
/// It dereferences to what was made.
#[derive(Clone, Debug)]
pub struct Diagnosed<T> {
    /// What was made.
    pub value: T,
    /// Warnings and notes of the stage, and of those before it that were handed on to it.
    pub report: Report,
}

/// What nothing was found of.
impl<T> From<T> for Diagnosed<T> {
    fn from(value: T) -> Diagnosed<T> {
        Diagnosed {
            value,
            report: Report::default(),
        }
    }
}

impl<T> Diagnosed<T> {
    /// What a stage gives: an error among what it found is one, whatever it made.
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

    /// What was made, alone.
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
