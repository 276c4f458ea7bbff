//! Converts messages of the compiler to diagnostics at positions in the user's files.

use crate::codes;
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::input::{self, Limit};
use graphmap_kpn::source::{SourceMap, Span};
use graphmap_wiring::rustc::Pointed;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Message of the compiler.
#[derive(Deserialize)]
pub(crate) struct CompilerMessage {
    message: String,
    pub(crate) level: String,
    code: Option<CompilerCode>,
    #[serde(default)]
    pub(crate) spans: Vec<CompilerSpan>,
    #[serde(default)]
    children: Vec<CompilerChild>,
    /// Whether its position is the use of a macro that wrote the code: see [`out_of_macros`].
    #[serde(skip)]
    of_macro: bool,
}

#[derive(Deserialize)]
struct CompilerCode {
    code: String,
}

#[derive(Clone, Deserialize)]
pub(crate) struct CompilerSpan {
    file_name: String,
    byte_start: usize,
    byte_end: usize,
    is_primary: bool,
    label: Option<String>,
    /// Text that the advice puts here.
    #[serde(default)]
    suggested_replacement: Option<String>,
    /// Use of the macro that wrote the code at this position, if a macro did.
    expansion: Option<Box<CompilerExpansion>>,
}

impl CompilerSpan {
    /// Returns true if the file of the span exists and `is_such` holds for it. `project` is the
    /// folder of the project.
    fn is_in(&self, project: &Path, is_such: impl Fn(&Path) -> bool) -> bool {
        file_of(project, &self.file_name).is_some_and(|path| is_such(&path))
    }
}

#[derive(Clone, Deserialize)]
struct CompilerExpansion {
    span: CompilerSpan,
}

/// Note or advice that belongs to a message.
#[derive(Deserialize)]
struct CompilerChild {
    message: String,
    level: String,
    /// Positions that it is about, or where it replaces text.
    #[serde(default)]
    spans: Vec<CompilerSpan>,
}

impl CompilerChild {
    /// Returns true if the note or advice is useful to a user who sees only the files for which
    /// `is_users` holds. `of_macro` says that a macro wrote the code of the message.
    ///
    /// If a macro wrote the code, advice without a position is about the macro, which the user
    /// cannot change.
    fn is_of_use(&self, of_macro: bool, is_users: impl Fn(&CompilerSpan) -> bool) -> bool {
        let of_macro = of_macro && self.spans.is_empty();
        let inside =
            of_macro && (self.level == "help" || self.message.starts_with("required for "));
        // About options of the compiler, which users do not call directly.
        let option = self.message.contains("`--verbose`");
        !inside && !option && self.spans.iter().all(is_users)
    }

    /// Returns the text of the note or advice. Appends the replacement that an advice proposes, if
    /// there is only one and it is on one line.
    fn said(self) -> String {
        let [span] = &self.spans[..] else {
            return self.message;
        };
        let written = span.suggested_replacement.as_deref().map(str::trim);
        match written {
            Some(text) if !text.is_empty() && !text.contains(['\n', '`']) => {
                format!("{}: `{text}`", self.message)
            }
            _ => self.message,
        }
    }
}

/// Moves messages about functions in the wiring to the declarations of these functions. Other
/// messages stay unchanged.
///
/// `function_at` returns the declaration, as file and byte range, for a position in generated code.
pub(crate) fn at_functions(
    messages: &mut [CompilerMessage],
    project: &Path,
    function_at: impl Fn(&Path, usize) -> Option<(PathBuf, Range<usize>)>,
) {
    for message in messages {
        let Some(primary) = message.spans.iter().find(|span| span.is_primary) else {
            continue;
        };
        let there = file_of(project, &primary.file_name)
            .and_then(|path| function_at(&path, primary.byte_start));
        let Some((file, place)) = there else {
            continue;
        };
        message.spans = vec![CompilerSpan {
            file_name: file.display().to_string(),
            byte_start: place.start,
            byte_end: place.end,
            is_primary: true,
            label: primary.label.clone(),
            suggested_replacement: None,
            expansion: None,
        }];
    }
}

/// Converts messages to diagnostics, and adds the texts of their positions to `sources`. Equal
/// diagnostics are returned once.
///
/// Notes and advice are kept if they are about the user's files. `explain` may add the relation to
/// the graph. It gets the diagnostic, its file and its position. It is not called for a message
/// whose position cannot be found.
pub(crate) fn diagnose(
    messages: Vec<CompilerMessage>,
    project: &Path,
    sources: &mut SourceMap,
    is_users: impl Fn(&Path) -> bool,
    mut explain: impl FnMut(Diagnostic, &Path, &Pointed<'_>) -> Diagnostic,
) -> Diagnostics {
    let of_user = |span: &CompilerSpan| span.is_in(project, &is_users);
    let mut texts = BTreeMap::new();
    let mut all = Diagnostics::new();
    // Several messages may become one diagnostic, for example about a missing type.
    let mut told = BTreeSet::new();
    for message in messages {
        let code = message
            .code
            .map_or_else(String::new, |code| format!(" ({})", code.code));
        let text = format!("{}{code}", message.message);
        let mut diagnostic = match message.level.as_str() {
            "error" => Diagnostic::error(codes::DOES_NOT_COMPILE, text),
            _ => Diagnostic::warning(codes::COMPILER_WARNING, text),
        };
        let mut file = None;
        for span in message.spans {
            let Some((path, place)) = locate(project, &span, sources, &mut texts) else {
                continue;
            };
            let label = span.label.unwrap_or_default();
            if span.is_primary && diagnostic.primary.is_none() {
                diagnostic = diagnostic.at(place, label);
                file = Some(path);
            } else {
                diagnostic = diagnostic.also(place, label);
            }
        }
        for child in message.children {
            if !child.is_of_use(message.of_macro, of_user) {
                continue;
            }
            match child.level.as_str() {
                "help" => diagnostic.help.push(child.said()),
                _ => diagnostic.notes.push(child.said()),
            }
        }
        let diagnostic = match file {
            Some(file) => {
                let place = diagnostic.primary.as_ref().map_or(Span::NONE, |l| l.span);
                let pointed = match sources.range(place) {
                    Some((source, range)) => Pointed {
                        text: source.text(),
                        range,
                    },
                    None => Pointed {
                        text: "",
                        range: 0..0,
                    },
                };
                explain(diagnostic, &file, &pointed)
            }
            None => diagnostic,
        };
        let place = diagnostic.primary.as_ref().map(|label| label.span);
        if told.insert((diagnostic.code.0, diagnostic.message.clone(), place)) {
            all.push(diagnostic);
        }
    }
    all
}

/// Returns the messages that the user can fix. Moves each out of macros to a position in the user's
/// files. Drops messages without such a position.
pub(crate) fn in_files_of_user(
    messages: Vec<CompilerMessage>,
    project: &Path,
    is_users: impl Fn(&Path) -> bool,
) -> Vec<CompilerMessage> {
    let mut messages = messages;
    messages.retain_mut(|message| out_of_macros(message, project, &is_users));
    messages
}

/// Moves a message out of macros to a position in the user's files, and drops its other positions.
///
/// Returns true if there is such a position. Otherwise the message is not changed.
pub(crate) fn out_of_macros(
    message: &mut CompilerMessage,
    project: &Path,
    is_users: impl Fn(&Path) -> bool,
) -> bool {
    let of_user = |span: &CompilerSpan| span.is_in(project, &is_users);
    let (mut spans, mut of_macro) = (message.spans.clone(), false);
    // Only primary spans are moved. The others explain code that the user did not write.
    for span in spans.iter_mut().filter(|span| span.is_primary) {
        while !of_user(span)
            && let Some(expansion) = span.expansion.take()
        {
            let label = span.label.take();
            *span = expansion.span;
            (span.is_primary, span.label) = (true, label);
            of_macro = true;
        }
    }
    spans.retain(|span| of_user(span));
    let found = spans.iter().any(|span| span.is_primary);
    if found {
        (message.spans, message.of_macro) = (spans, of_macro);
    }
    found
}

/// Returns the absolute path of a file that the compiler names relative to the workspace, which is
/// the project or a folder above it. Returns `None` if there is no such file.
fn file_of(project: &Path, name: &str) -> Option<PathBuf> {
    let project = std::path::absolute(project).ok()?;
    let mut paths = project.ancestors().map(|folder| folder.join(name));
    paths.find(|path| path.is_file())
}

/// Returns the path and position of a span, and adds the text of its file to `sources` once.
/// `texts` has the base of each text that was added. Returns `None` if the file does not exist or
/// cannot be read.
fn locate(
    project: &Path,
    span: &CompilerSpan,
    sources: &mut SourceMap,
    texts: &mut BTreeMap<PathBuf, u32>,
) -> Option<(PathBuf, Span)> {
    let path = file_of(project, &span.file_name)?;
    let base = match texts.get(&path) {
        Some(base) => *base,
        None => {
            let text = input::text(&path, Limit::SOURCE).ok()?;
            let source = sources.add(shown(&path), text).ok()?;
            texts.insert(path.clone(), source.base());
            source.base()
        }
    };
    let place = Span::new(
        base + u32::try_from(span.byte_start).ok()?,
        base + u32::try_from(span.byte_end.max(span.byte_start)).ok()?,
    );
    Some((path, place))
}

/// Returns a path relative to the current folder if it is in it, and otherwise unchanged.
fn shown(path: &Path) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    path.strip_prefix(here)
        .unwrap_or(path)
        .display()
        .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn span(file: &str, expansion: Value) -> Value {
        json!({
            "file_name": file, "byte_start": 2, "byte_end": 3, "is_primary": true,
            "label": null, "expansion": expansion,
        })
    }

    #[test]
    fn warnings_move_to_files_of_the_user() {
        let project = tempfile::tempdir().unwrap();
        let project = project.path();
        std::fs::create_dir_all(project.join("vendor")).unwrap();
        for file in ["own.rs", "wiring.rs", "vendor/macros.rs"] {
            std::fs::write(project.join(file), "fn nothing() {}").unwrap();
        }
        let by_user = json!({"span": span("own.rs", Value::Null)});
        let by_macro = json!({"span": span("vendor/macros.rs", by_user.clone())});
        let mut kept = Vec::new();
        for (file, expansion) in [
            ("own.rs", Value::Null),
            ("wiring.rs", Value::Null),
            ("/nowhere/std.rs", Value::Null),
            ("/nowhere/std.rs", by_user),
            ("vendor/macros.rs", by_macro),
        ] {
            let message = json!({
                "message": "odd", "level": "warning", "code": null,
                "spans": [span(file, expansion)],
            });
            let message = serde_json::from_value(message).unwrap();
            let is_users = |path: &Path| path.ends_with("own.rs");
            let users = in_files_of_user(vec![message], project, is_users);
            kept.push(users.first().map(|m| m.spans[0].file_name.clone()));
        }
        let own = || Some("own.rs".to_owned());
        assert_eq!(kept, [own(), None, None, own(), own()]);
    }
}
