//! Levels of diagnostics: `--allow`, `--warn` and `--deny`, the same words in the graph, and
//! `[lints]` in `graphmap.toml`.
//!
//! The command line takes precedence over the graph, and the graph over `graphmap.toml`. If one of
//! these has two levels for a code, the stricter one applies. The level of `warnings` applies to
//! each diagnostic that is then a warning. An error always stays an error.

use crate::codes;
use crate::error_pages::CODES;
use graphmap_kpn::diagnostic::{Code, Diagnostic, Diagnostics, Severity};
use graphmap_kpn::level::{Level, LevelDecl};
use graphmap_kpn::nearest::nearest;

/// Diagnostics that a level applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lint {
    /// Diagnostics with this code.
    Code(Code),
    /// All warnings.
    Warnings,
}

/// Codes that are no longer used, each with the code that replaces it.
const REPLACED: [(u16, Code); 2] = [
    (435, graphmap_kpn::codes::OTHER_VERSION),
    (505, graphmap_kpn::codes::OTHER_VERSION),
];

/// Returns the code that replaces one that is no longer used.
pub(crate) fn replaced(number: u16) -> Option<Code> {
    let mut all = REPLACED.iter();
    all.find(|(old, _)| *old == number).map(|(_, new)| *new)
}

/// Name of all warnings.
const WARNINGS: &str = "warnings";

/// Parses a code, or `warnings`.
///
/// # Errors
/// Returns a message that names the nearest code or the replacement of the code.
pub(crate) fn lint(text: &str) -> Result<Lint, String> {
    if text == WARNINGS {
        return Ok(Lint::Warnings);
    }
    let number = text.strip_prefix(['G', 'g']).and_then(|n| n.parse().ok());
    if let Some(new) = number.and_then(replaced) {
        return Err(format!(
            "the diagnostic code `{text}` is no longer used: it is now {new}"
        ));
    }
    let known = number.filter(|n| CODES.binary_search(n).is_ok());
    known.map(|n| Lint::Code(Code(n))).ok_or_else(|| {
        let codes: Vec<String> = CODES.iter().map(|n| Code(*n).to_string()).collect();
        let words = codes.iter().map(String::as_str).chain([WARNINGS]);
        let near = nearest(text, words);
        let hint = near.map_or_else(
            || "`graphmap explain` lists all codes".to_owned(),
            |near| format!("did you mean `{near}`?"),
        );
        format!("unknown diagnostic code `{text}`: {hint}")
    })
}

/// Levels from one source, each with the diagnostics that it applies to.
pub(crate) type Said = Vec<(Level, Lint)>;

/// All levels, by source.
#[derive(Clone, Debug, Default)]
pub(crate) struct Levels {
    pub(crate) command_line: Said,
    pub(crate) drawing: Said,
    pub(crate) config: Said,
}

impl Levels {
    /// Replaces the levels of the graph. Returns a warning for each unknown code.
    pub(crate) fn take_drawing(&mut self, said: &[LevelDecl]) -> Diagnostics {
        let mut unknown = Diagnostics::new();
        self.drawing.clear();
        for LevelDecl { level, code, span } in said {
            match lint(code) {
                Ok(lint) => self.drawing.push((*level, lint)),
                Err(wrong) => {
                    unknown.push(Diagnostic::warning(codes::UNKNOWN_CODE, wrong).at(*span, ""));
                }
            }
        }
        unknown
    }

    /// Returns the level of a lint, and where it was set.
    fn of(&self, lint: Lint) -> Option<(Level, String)> {
        let name = match lint {
            Lint::Code(code) => code.to_string(),
            Lint::Warnings => WARNINGS.to_owned(),
        };
        let strictest = |said: &Said| {
            let levels = said.iter().filter(|(_, other)| *other == lint);
            levels.map(|(level, _)| *level).max()
        };
        if let Some(level) = strictest(&self.command_line) {
            return Some((level, format!("`--{} {name}`", level.name())));
        }
        if let Some(level) = strictest(&self.drawing) {
            let how = format!("`{}=\"{name}\"` in the graph", level.name());
            return Some((level, how));
        }
        let level = strictest(&self.config)?;
        let how = format!("`{name} = \"{}\"` in graphmap.toml", level.name());
        Some((level, how))
    }

    /// Returns the diagnostic with its level applied, or `None` if it is not shown.
    pub(crate) fn apply(&self, mut finding: Diagnostic) -> Option<Diagnostic> {
        let said = self.of(Lint::Code(finding.code));
        if finding.severity == Severity::Error {
            return Some(match said {
                Some((Level::Allow | Level::Warn, how)) => finding.with_note(format!(
                    "{how} has no effect on errors, only on warnings and notes"
                )),
                Some((Level::Deny, _)) | None => finding,
            });
        }
        match said {
            Some((Level::Allow, _)) => return None,
            Some((Level::Warn, _)) => finding.severity = Severity::Warning,
            Some((Level::Deny, how)) => return Some(denied(finding, &how)),
            None => {}
        }
        if finding.severity != Severity::Warning {
            return Some(finding);
        }
        match self.of(Lint::Warnings) {
            Some((Level::Allow, _)) => None,
            Some((Level::Deny, how)) => Some(denied(finding, &how)),
            Some((Level::Warn, _)) | None => Some(finding),
        }
    }
}

fn denied(mut finding: Diagnostic, how: &str) -> Diagnostic {
    finding.severity = Severity::Error;
    finding.with_note(format!("this is an error because of {how}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    use graphmap_kpn::codes::NOT_DETERMINISTIC as NOTE;
    use graphmap_wiring::codes::FUNCTION_WITHOUT_KIND as WARNING;

    fn taken(levels: &Levels, finding: Diagnostic) -> Option<Severity> {
        levels.apply(finding).map(|finding| finding.severity)
    }

    #[test]
    fn who_says_most_is_heard_first() {
        let note = || Diagnostic::note(NOTE, "");
        let warning = || Diagnostic::warning(WARNING, "");
        let mut levels = Levels::default();
        assert_eq!(taken(&levels, note()), Some(Severity::Note));
        levels.config = vec![(Level::Deny, Lint::Code(NOTE))];
        assert_eq!(taken(&levels, note()), Some(Severity::Error));
        levels.drawing = vec![(Level::Allow, Lint::Code(NOTE))];
        assert_eq!(taken(&levels, note()), None);
        levels.command_line = vec![
            (Level::Allow, Lint::Code(NOTE)),
            (Level::Warn, Lint::Code(NOTE)),
        ];
        assert_eq!(taken(&levels, note()), Some(Severity::Warning));
        assert_eq!(taken(&levels, warning()), Some(Severity::Warning));
    }

    #[test]
    fn all_warnings_are_what_is_a_warning_in_the_end() {
        let mut levels = Levels {
            command_line: vec![(Level::Deny, Lint::Warnings)],
            drawing: vec![
                (Level::Allow, Lint::Code(WARNING)),
                (Level::Warn, Lint::Code(NOTE)),
            ],
            config: Said::new(),
        };
        assert_eq!(taken(&levels, Diagnostic::warning(WARNING, "")), None);
        let note = || Diagnostic::note(NOTE, "");
        assert_eq!(taken(&levels, note()), Some(Severity::Error));
        levels.drawing.clear();
        assert_eq!(taken(&levels, note()), Some(Severity::Note));
        levels.command_line = vec![(Level::Allow, Lint::Warnings)];
        assert_eq!(taken(&levels, Diagnostic::warning(WARNING, "")), None);
    }

    #[test]
    fn an_error_stays_one_and_says_so() {
        let levels = Levels {
            config: vec![
                (Level::Allow, Lint::Code(NOTE)),
                (Level::Allow, Lint::Warnings),
            ],
            ..Levels::default()
        };
        let error = levels.apply(Diagnostic::error(NOTE, "")).unwrap();
        assert_eq!(error.severity, Severity::Error);
        assert!(error.notes[0].starts_with("`G0314 = \"allow\"` in graphmap.toml"));
        assert!(
            levels
                .apply(Diagnostic::error(WARNING, ""))
                .unwrap()
                .notes
                .is_empty()
        );
    }

    #[test]
    fn codes_are_read_and_near_ones_named() {
        assert_eq!(lint("g0314"), Ok(Lint::Code(NOTE)));
        assert_eq!(lint("warnings"), Ok(Lint::Warnings));
        for (text, hint) in [
            ("warning", "`warnings`"),
            ("G0341", "`G03"),
            ("x", "`graphmap explain`"),
        ] {
            let wrong = lint(text).unwrap_err();
            assert!(wrong.contains(hint), "{wrong}");
        }
    }
}
