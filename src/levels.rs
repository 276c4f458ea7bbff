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

/// Returns the code that replaces one that is no longer used, or `None` for all other numbers.
pub(crate) fn replaced(number: u16) -> Option<Code> {
    let mut all = REPLACED.iter();
    all.find(|(old, _)| *old == number).map(|(_, new)| *new)
}

/// Name of all warnings.
const WARNINGS: &str = "warnings";

/// Parses a code such as `G0314` or `g0314`, or `warnings`.
///
/// # Errors
/// Returns a message for an unknown code. It names the replacement of the code or the nearest code,
/// or says how to list all codes.
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
pub(crate) type LintLevels = Vec<(Level, Lint)>;

/// All levels, by source.
#[derive(Clone, Debug, Default)]
pub(crate) struct Levels {
    pub(crate) command_line: LintLevels,
    pub(crate) graph: LintLevels,
    pub(crate) config: LintLevels,
}

impl Levels {
    /// Replaces the levels of the graph. Returns a warning for each unknown code.
    pub(crate) fn set_graph_levels(&mut self, said: &[LevelDecl]) -> Diagnostics {
        let mut unknown = Diagnostics::new();
        self.graph.clear();
        for LevelDecl { level, code, span } in said {
            match lint(code) {
                Ok(lint) => self.graph.push((*level, lint)),
                Err(wrong) => {
                    unknown.push(Diagnostic::warning(codes::UNKNOWN_CODE, wrong).at(*span, ""));
                }
            }
        }
        unknown
    }

    /// Returns the level of a lint and a text that says where it was set, or `None` if it was not
    /// set. If one source sets several levels, the strictest applies.
    fn of(&self, lint: Lint) -> Option<(Level, String)> {
        let name = match lint {
            Lint::Code(code) => code.to_string(),
            Lint::Warnings => WARNINGS.to_owned(),
        };
        let strictest = |said: &LintLevels| {
            let levels = said.iter().filter(|(_, other)| *other == lint);
            levels.map(|(level, _)| *level).max()
        };
        if let Some(level) = strictest(&self.command_line) {
            return Some((level, format!("`--{} {name}`", level.name())));
        }
        if let Some(level) = strictest(&self.graph) {
            let how = format!("`{}=\"{name}\"` in the graph", level.name());
            return Some((level, how));
        }
        let level = strictest(&self.config)?;
        let how = format!("`{name} = \"{}\"` in graphmap.toml", level.name());
        Some((level, how))
    }

    /// Returns the diagnostic with its level applied, or `None` if the level is to hide it. An
    /// error stays an error. It gets a note if a level is to allow it or to make it a warning.
    pub(crate) fn apply(&self, mut diagnostic: Diagnostic) -> Option<Diagnostic> {
        let said = self.of(Lint::Code(diagnostic.code));
        if diagnostic.severity == Severity::Error {
            return Some(match said {
                Some((Level::Allow | Level::Warn, how)) => diagnostic.with_note(format!(
                    "{how} has no effect on errors, only on warnings and notes"
                )),
                Some((Level::Deny, _)) | None => diagnostic,
            });
        }
        match said {
            Some((Level::Allow, _)) => return None,
            Some((Level::Warn, _)) => diagnostic.severity = Severity::Warning,
            Some((Level::Deny, how)) => return Some(denied(diagnostic, &how)),
            None => {}
        }
        if diagnostic.severity != Severity::Warning {
            return Some(diagnostic);
        }
        match self.of(Lint::Warnings) {
            Some((Level::Allow, _)) => None,
            Some((Level::Deny, how)) => Some(denied(diagnostic, &how)),
            Some((Level::Warn, _)) | None => Some(diagnostic),
        }
    }
}

fn denied(mut diagnostic: Diagnostic, how: &str) -> Diagnostic {
    diagnostic.severity = Severity::Error;
    diagnostic.with_note(format!("this is an error because of {how}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    use graphmap_kpn::codes::NOT_DETERMINISTIC as NOTE;
    use graphmap_wiring::codes::FUNCTION_WITHOUT_KIND as WARNING;

    fn taken(levels: &Levels, diagnostic: Diagnostic) -> Option<Severity> {
        levels
            .apply(diagnostic)
            .map(|diagnostic| diagnostic.severity)
    }

    #[test]
    fn command_line_precedes_graph_and_config() {
        let note = || Diagnostic::note(NOTE, "");
        let warning = || Diagnostic::warning(WARNING, "");
        let mut levels = Levels::default();
        assert_eq!(taken(&levels, note()), Some(Severity::Note));
        levels.config = vec![(Level::Deny, Lint::Code(NOTE))];
        assert_eq!(taken(&levels, note()), Some(Severity::Error));
        levels.graph = vec![(Level::Allow, Lint::Code(NOTE))];
        assert_eq!(taken(&levels, note()), None);
        levels.command_line = vec![
            (Level::Allow, Lint::Code(NOTE)),
            (Level::Warn, Lint::Code(NOTE)),
        ];
        assert_eq!(taken(&levels, note()), Some(Severity::Warning));
        assert_eq!(taken(&levels, warning()), Some(Severity::Warning));
    }

    #[test]
    fn level_of_warnings_applies_last() {
        let mut levels = Levels {
            command_line: vec![(Level::Deny, Lint::Warnings)],
            graph: vec![
                (Level::Allow, Lint::Code(WARNING)),
                (Level::Warn, Lint::Code(NOTE)),
            ],
            config: LintLevels::new(),
        };
        assert_eq!(taken(&levels, Diagnostic::warning(WARNING, "")), None);
        let note = || Diagnostic::note(NOTE, "");
        assert_eq!(taken(&levels, note()), Some(Severity::Error));
        levels.graph.clear();
        assert_eq!(taken(&levels, note()), Some(Severity::Note));
        levels.command_line = vec![(Level::Allow, Lint::Warnings)];
        assert_eq!(taken(&levels, Diagnostic::warning(WARNING, "")), None);
    }

    #[test]
    fn levels_have_no_effect_on_errors() {
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
    fn unknown_codes_get_a_suggestion() {
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
