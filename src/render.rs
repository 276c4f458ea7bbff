//! Renders diagnostics: as snippets for people, as JSON lines for programs.

use crate::visible;
use annotate_snippets::renderer::DecorStyle;
use annotate_snippets::{Annotation, AnnotationKind, Group, Level, Renderer, Snippet};
use graphmap_kpn::diagnostic::{Code, Diagnostic, Diagnostics, Label, Severity};
use graphmap_kpn::source::{Source, SourceMap, Span};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::ops::Range;

/// Maximum number of lines between neighbouring labels of a snippet. The bytes between them are
/// limited, too. The cost of rendering a diagnostic therefore does not depend on the size of the
/// file.
const NEAR_LINES: u32 = 12;
/// Number of bytes of a line that are shown before and after a position. A file may be one line of
/// 100 MB.
const LONG_LINE: usize = 240;
/// Marks the end of a path that contains line and column. [`without_positions`] removes the line
/// and column that the renderer appends, which are wrong if the line is cut. No text that is shown
/// contains this character, because [`visible`] escapes it.
const END_MARK: char = '\u{1}';

/// Style of rendered diagnostics.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style {
    pub(crate) colour: bool,
    pub(crate) width: usize,
}

/// Returns at most `limit` diagnostics in the order of their positions, and the number of the
/// others, including dropped ones. Errors are chosen before warnings, and warnings before notes.
/// Diagnostics without a position come first.
pub(crate) fn choose(all: &Diagnostics, limit: usize) -> (Vec<&Diagnostic>, usize) {
    let place = |d: &&Diagnostic| d.primary.as_ref().map(|label| label.span);
    let mut chosen: Vec<&Diagnostic> = all.iter().collect();
    chosen.sort_by_key(|d| (std::cmp::Reverse(d.severity), place(d)));
    chosen.truncate(limit);
    chosen.sort_by_key(place);
    let left_out = all.len() - chosen.len();
    (chosen, left_out)
}

/// Notes and help that were shown for each code, so that each is shown once.
#[derive(Default)]
pub(crate) struct ShownTexts(HashSet<(Code, String)>);

impl ShownTexts {
    /// Returns the diagnostic without the notes and help that an earlier diagnostic of its code had
    /// word for word. Texts with a digit are kept, because the number may be specific to this
    /// diagnostic. Records the texts for later calls.
    pub(crate) fn without_repeated(&mut self, diagnostic: &Diagnostic) -> Diagnostic {
        let mut diagnostic = diagnostic.clone();
        let code = diagnostic.code;
        let mut is_new = |text: &String| {
            text.contains(|c: char| c.is_ascii_digit()) || self.0.insert((code, text.clone()))
        };
        diagnostic.notes.retain(&mut is_new);
        diagnostic.help.retain(&mut is_new);
        diagnostic
    }
}

/// Renders a diagnostic as text for people. The text ends with an empty line.
pub(crate) fn human(diagnostic: &Diagnostic, sources: &SourceMap, style: Style) -> String {
    let renderer = if style.colour {
        Renderer::styled()
    } else {
        Renderer::plain()
    };
    let renderer = renderer
        .decor_style(DecorStyle::Ascii)
        .term_width(style.width);
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Note => Level::NOTE,
    };
    let title = level
        .primary_title(visible::text(&diagnostic.message))
        .id(diagnostic.code.to_string());
    let mut group = Group::with_title(title);
    let snippets = snippets(diagnostic, sources);
    if snippets.is_empty() {
        return without_snippet(renderer.render(&[group]), diagnostic);
    }
    for snippet in snippets {
        group = group.element(snippet);
    }
    for note in &diagnostic.notes {
        group = group.element(Level::NOTE.message(visible::text(note)));
    }
    for help in &diagnostic.help {
        group = group.element(Level::HELP.message(visible::text(help)));
    }
    let mut text = without_positions(&renderer.render(&[group]));
    text.push_str("\n\n");
    text
}

/// Removes the lines and columns that the renderer appended to paths that end with [`END_MARK`].
fn without_positions(rendered: &str) -> String {
    let mut parts = rendered.split(END_MARK);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        text + part.trim_start_matches(|c: char| c == ':' || c.is_ascii_digit())
    })
}

/// Appends notes and help, and an empty line, to the rendered title `text` of a diagnostic without
/// a snippet. The renderer would align them with the line numbers of a snippet.
fn without_snippet(mut text: String, diagnostic: &Diagnostic) -> String {
    text.push('\n');
    let notes = diagnostic.notes.iter().map(|note| ("note", note));
    let help = diagnostic.help.iter().map(|help| ("help", help));
    for (word, said) in notes.chain(help) {
        let mut lead = format!("  = {word}: ");
        for line in visible::text(said).lines() {
            text += &format!("{lead}{line}\n");
            lead = " ".repeat(lead.len());
        }
    }
    text.push('\n');
    text
}

struct LocatedLabel<'a> {
    source: &'a Source,
    range: Range<usize>,
    line: u32,
    column: u32,
    label: &'a Label,
    primary: bool,
}

fn snippets<'a>(
    diagnostic: &'a Diagnostic,
    sources: &'a SourceMap,
) -> Vec<Snippet<'a, Annotation<'a>>> {
    let primary = diagnostic.primary.iter().map(|label| (label, true));
    let secondary = diagnostic.secondary.iter().map(|label| (label, false));
    let mut placed: Vec<LocatedLabel<'_>> = primary
        .chain(secondary)
        .filter_map(|(label, primary)| {
            let (source, range) = sources.range(label.span)?;
            let (line, column) = source.line_column(range.start as u32);
            Some(LocatedLabel {
                source,
                range,
                line,
                column,
                label,
                primary,
            })
        })
        .collect();
    // Labels that are close to each other share a snippet. The one with the primary label comes
    // first.
    placed.sort_by_key(|p| (p.source.base(), p.range.start));
    let mut clusters: Vec<Vec<LocatedLabel<'_>>> = Vec::new();
    for place in placed {
        let fits = |last: &LocatedLabel<'_>| {
            last.source.base() == place.source.base()
                && place.line - last.line <= NEAR_LINES
                && place.range.start - last.range.start <= NEAR_LINES as usize * LONG_LINE
        };
        match clusters.last_mut() {
            Some(cluster) if cluster.last().is_some_and(fits) => cluster.push(place),
            _ => clusters.push(vec![place]),
        }
    }
    clusters.sort_by_key(|cluster| !cluster.iter().any(|p| p.primary));
    clusters
        .iter()
        .filter_map(|cluster| show(cluster))
        .collect()
}

fn show<'a>(cluster: &[LocatedLabel<'a>]) -> Option<Snippet<'a, Annotation<'a>>> {
    let (first, last) = (cluster.first()?, cluster.last()?);
    let text = first.source.text();
    let (start, cut_start) = window_start(text, first.range.start);
    let end = window_end(text, last.range.start);
    let name = visible::name(first.source.name());
    // If the start of the line is cut, the renderer does not know the right column.
    let path = match cut_start {
        true => {
            let head = cluster.iter().find(|p| p.primary).unwrap_or(first);
            let (line, column) = (head.line, head.column);
            format!("{name}:{line}:{column}{END_MARK}").into()
        }
        false => name,
    };
    let mut snippet = Snippet::source(visible::of_same_length(&text[start..end]))
        .line_start(first.line as usize)
        .path(path);
    for place in cluster {
        let kind = if place.primary {
            AnnotationKind::Primary
        } else {
            AnnotationKind::Context
        };
        // Marks only the first line of the span, because the renderer would show all its lines.
        let rest = &text[place.range.start..place.range.end.min(end)];
        let length = rest.find('\n').unwrap_or(rest.len());
        let from = place.range.start - start;
        let mut annotation = kind.span(from..from + length);
        if !place.label.text.is_empty() {
            annotation = annotation.label(visible::text(&place.label.text));
        }
        snippet = snippet.annotation(annotation);
    }
    Some(snippet)
}

fn window_start(text: &str, at: usize) -> (usize, bool) {
    let mut floor = at.saturating_sub(LONG_LINE);
    while !text.is_char_boundary(floor) {
        floor -= 1;
    }
    match text[floor..at].rfind('\n') {
        Some(newline) => (floor + newline + 1, false),
        None => (floor, floor > 0),
    }
}

fn window_end(text: &str, start: usize) -> usize {
    let mut ceiling = (start + LONG_LINE).min(text.len());
    while !text.is_char_boundary(ceiling) {
        ceiling += 1;
    }
    match text[start..ceiling].find('\n') {
        Some(newline) => start + newline,
        None => ceiling,
    }
}

/// Returns a diagnostic as a JSON value. Its fields are described in `docs/src/diagnostics.md`. A
/// label without a position in `sources` has only its text.
pub(crate) fn machine(diagnostic: &Diagnostic, sources: &SourceMap) -> Value {
    let label = |label: &Label| {
        let mut value = place(label.span, sources);
        value["text"] = json!(label.text);
        value
    };
    json!({
        "type": "diagnostic",
        "code": diagnostic.code.to_string(),
        "severity": diagnostic.severity,
        "message": diagnostic.message,
        "primary": diagnostic.primary.as_ref().map(label),
        "secondary": diagnostic.secondary.iter().map(label).collect::<Vec<_>>(),
        "help": diagnostic.help,
        "notes": diagnostic.notes,
    })
}

fn place(span: Span, sources: &SourceMap) -> Value {
    let Some((source, range)) = sources.range(span) else {
        return json!({});
    };
    let (line, column) = source.line_column(range.start as u32);
    let (end_line, end_column) = source.line_column(range.end as u32);
    json!({
        "file": source.name(),
        "line": line,
        "column": column,
        "end_line": end_line,
        "end_column": end_column,
        "start": range.start,
        "end": range.end,
    })
}
