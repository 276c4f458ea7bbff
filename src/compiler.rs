//! What the compiler finds, as diagnostics: each at a place that the user can mend.

use crate::codes;
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::input::{self, Limit};
use graphmap_kpn::source::{SourceMap, Span};
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// What the compiler found.
#[derive(Deserialize)]
pub(crate) struct CompilerMessage {
    message: String,
    pub(crate) level: String,
    code: Option<CompilerCode>,
    #[serde(default)]
    pub(crate) spans: Vec<CompilerSpan>,
    #[serde(default)]
    children: Vec<CompilerChild>,
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
    /// What wrote the code that this is a place in, where a macro did.
    expansion: Option<Box<CompilerExpansion>>,
}

#[derive(Clone, Deserialize)]
struct CompilerExpansion {
    span: CompilerSpan,
}

#[derive(Deserialize)]
struct CompilerChild {
    message: String,
    level: String,
}

/// Leads what the compiler finds wrong where the wiring hands a function to the runtime to that
/// function's declaration: `function_at` tells the file of the function and where it stands in it,
/// of a place in generated code.
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
            expansion: None,
        }];
    }
}

/// Diagnostics of what the compiler found, with the texts they point into added to `sources`.
/// `explain` may add to one what the graph has to do with it, by the file that it is in
/// and what stands at its place.
pub(crate) fn diagnose(
    messages: Vec<CompilerMessage>,
    project: &Path,
    sources: &mut SourceMap,
    mut explain: impl FnMut(Diagnostic, &Path, &str) -> Diagnostic,
) -> Diagnostics {
    let mut texts = BTreeMap::new();
    let mut all = Diagnostics::new();
    // What is missing is missing wherever it is named.
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
            match child.level.as_str() {
                "help" => diagnostic.help.push(child.message),
                _ => diagnostic.notes.push(child.message),
            }
        }
        let diagnostic = match file {
            Some(file) => {
                let place = diagnostic.primary.as_ref().map_or(Span::NONE, |l| l.span);
                explain(diagnostic, &file, sources.text(place))
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

/// Of what the compiler warns of, what the user can mend: each message is led out of the code that
/// macros wrote, to a place in a file that is the user's, and those that have none are left out.
pub(crate) fn in_files_of_user(
    messages: Vec<CompilerMessage>,
    project: &Path,
    is_users: impl Fn(&Path) -> bool,
) -> Vec<CompilerMessage> {
    let mut messages = messages;
    messages.retain_mut(|message| out_of_macros(message, project, &is_users));
    messages
}

/// Leads what the compiler found out of the code that macros wrote, to places in files that are the
/// user's, and leaves its other places out; whether there is such a place. Else nothing is changed.
pub(crate) fn out_of_macros(
    message: &mut CompilerMessage,
    project: &Path,
    is_users: impl Fn(&Path) -> bool,
) -> bool {
    let of_user =
        |span: &CompilerSpan| file_of(project, &span.file_name).is_some_and(|path| is_users(&path));
    let mut spans = message.spans.clone();
    for span in &mut spans {
        while !of_user(span)
            && let Some(expansion) = span.expansion.take()
        {
            let (is_primary, label) = (span.is_primary, span.label.take());
            *span = expansion.span;
            (span.is_primary, span.label) = (is_primary, label);
        }
    }
    spans.retain(|span| of_user(span));
    let found = spans.iter().any(|span| span.is_primary);
    if found {
        message.spans = spans;
    }
    found
}

/// The file that the compiler names, which it does as seen from the workspace.
fn file_of(project: &Path, name: &str) -> Option<PathBuf> {
    let project = std::path::absolute(project).ok()?;
    let mut paths = project.ancestors().map(|folder| folder.join(name));
    paths.find(|path| path.is_file())
}

/// The place of a span of the compiler, whose file names are relative to the workspace.
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

/// A path as short as it can be told.
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
    fn a_warning_is_told_where_the_user_can_mend_it() {
        let project =
            std::env::temp_dir().join(format!("graphmap-compiler-{}", std::process::id()));
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
            let users = in_files_of_user(vec![message], &project, is_users);
            kept.push(users.first().map(|m| m.spans[0].file_name.clone()));
        }
        std::fs::remove_dir_all(&project).unwrap();
        let own = || Some("own.rs".to_owned());
        assert_eq!(kept, [own(), None, None, own(), own()]);
    }
}
