//! Runs test graphs that contain their expected diagnostics.
//!
//! A comment on the line to which a diagnostic points states the diagnostic:
//!
//! ```dot
//! a -> b [capacity=0]; // error G0206: is not a value
//! a -> b; // note G0314 // warning G0318: and another one
//! ```
//!
//! The text after the colon must occur in the message, and may be omitted. If a comment is not
//! possible on the line, a separate line gives the line number: `//@ 7: error G0103: never closed`,
//! or `//@ -: error G0110` for a diagnostic without a position. A file must have exactly these
//! diagnostics.

use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::source::SourceMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// An expected diagnostic: its line (0 for none), `error G0206`, and a part of its message.
#[derive(Debug, PartialEq)]
struct Expected {
    line: u32,
    what: String,
    part: String,
}

impl Expected {
    /// Parses `error G0206: part of the message`.
    fn read(line: u32, comment: &str) -> Option<Expected> {
        let (what, part) = comment.split_once(':').unwrap_or((comment, ""));
        let (severity, code) = what.trim().split_once(' ')?;
        let known = ["error", "warning", "note"].contains(&severity);
        let coded = code.len() == 5 && code.starts_with('G');
        (known && coded).then(|| Expected {
            line,
            what: what.trim().to_owned(),
            part: part.trim().to_owned(),
        })
    }

    fn all(text: &str) -> Vec<Expected> {
        let mut all = Vec::new();
        for (line, number) in text.lines().zip(1..) {
            if let Some(elsewhere) = line.strip_prefix("//@ ") {
                let (place, comment) = elsewhere.split_once(": ").expect("`//@ LINE: FINDING`");
                let line = if place == "-" {
                    0
                } else {
                    place.parse().expect("a line")
                };
                all.push(Expected::read(line, comment).expect("a finding after `//@ LINE:`"));
            } else {
                let comments = line.split("//").skip(1);
                all.extend(comments.filter_map(|c| Expected::read(number, c.trim())));
            }
        }
        all
    }

    fn is(&self, line: u32, diagnostic: &Diagnostic) -> bool {
        let what = format!("{} {}", diagnostic.severity, diagnostic.code);
        self.line == line && self.what == what && diagnostic.message.contains(&self.part)
    }
}

/// Returns the differences between the actual and the expected diagnostics, or an empty text.
fn differences(text: &str, sources: &SourceMap, diagnostics: &Diagnostics) -> String {
    let mut expected = Expected::all(text);
    let mut out = String::new();
    for diagnostic in diagnostics {
        let place = diagnostic.primary.as_ref().map(|label| label.span);
        let line = place
            .and_then(|span| sources.location(span))
            .map_or(0, |l| l.line);
        match expected.iter().position(|e| e.is(line, diagnostic)) {
            Some(index) => drop(expected.remove(index)),
            None => {
                let (severity, code, message) =
                    (diagnostic.severity, diagnostic.code, &diagnostic.message);
                let _ = writeln!(
                    out,
                    "  line {line}: unexpected {severity} {code}: {message}"
                );
            }
        }
    }
    for missing in expected {
        let Expected { line, what, part } = missing;
        let _ = writeln!(out, "  line {line}: missing {what}: {part}");
    }
    out
}

/// Runs `find` on all `.dot` files of a folder and returns their paths, sorted. Panics if
/// diagnostics differ from those expected in the files.
pub(crate) fn run(
    folder: &Path,
    find: impl Fn(&mut SourceMap, &str, Vec<u8>) -> Diagnostics,
) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("the folder of test graphs");
    let mut paths: Vec<PathBuf> = entries
        .map(|e| e.expect("an entry").path())
        .filter(|p| p.extension().is_some_and(|e| e == "dot"))
        .collect();
    paths.sort();
    let mut failures = String::new();
    for path in &paths {
        let bytes = std::fs::read(path).expect("a readable test graph");
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let mut sources = SourceMap::new();
        let diagnostics = find(&mut sources, &path.display().to_string(), bytes);
        let different = differences(&text, &sources, &diagnostics);
        if !different.is_empty() {
            let _ = write!(failures, "{}:\n{different}", path.display());
        }
    }
    assert!(failures.is_empty(), "\n{failures}");
    paths
}

#[test]
fn the_runner_sees_what_is_missing_and_what_is_too_much() {
    let mut sources = SourceMap::new();
    let text = "a\nb // error G0999: wrong\nc // note G0998\n";
    let source = sources.add("t", text).unwrap();
    let at =
        |start: u32| graphmap_kpn::source::Span::new(source.base() + start, source.base() + start);
    let mut diagnostics = Diagnostics::new();
    let code = graphmap_kpn::diagnostic::Code(999);
    diagnostics.push(Diagnostic::error(code, "quite wrong").at(at(2), ""));
    let different = differences(text, &sources, &diagnostics);
    assert_eq!(different, "  line 3: missing note G0998: \n");
    diagnostics.push(Diagnostic::warning(code, "too much").at(at(0), ""));
    let different = differences(text, &sources, &diagnostics);
    assert!(
        different.contains("line 1: unexpected warning G0999: too much"),
        "{different}"
    );
}
