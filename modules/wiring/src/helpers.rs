//! Handlebars helpers for skeletons: literals and comments of the target language, and layout as
//! in rustfmt.

use crate::arguments::c_values;
use crate::budget::Budget;
use crate::sequence;
use graphmap_kpn::c_text;
use graphmap_kpn::controls::is_control;
use handlebars::{
    Context, Handlebars, Helper, HelperDef, HelperResult, JsonRender, Output, RenderContext,
    RenderError, RenderErrorReason, Renderable, ScopedJson, StringOutput, handlebars_helper,
};
use serde_json::Value as Json;
use std::fmt::Write as _;

/// Maximum width of a line, as in rustfmt.
const WIDTH: usize = 100;
/// Items up to this width share lines if they do not all fit on one.
const SHORT: usize = 10;
/// Characters per line of a literal that needs several lines.
const CHUNK: usize = 80;

handlebars_helper!(camel: |word: str| crate::identifier::identifier(
    word,
    crate::identifier::Case::Camel,
    crate::identifier::Language::Rust,
));
handlebars_helper!(upper: |word: str| word.to_ascii_uppercase());
handlebars_helper!(join: |*parts| parts.iter().map(|p| p.render()).collect::<String>());
handlebars_helper!(toml: |value: str| toml_string(value));
handlebars_helper!(text_helper: |value: str| comment(value));

/// Registers all helpers. They spend the budget in proportion to their output.
pub(crate) fn register(engine: &mut Handlebars<'_>, budget: &Budget) {
    engine.register_helper("camel", budget.of(camel));
    engine.register_helper("upper", budget.of(upper));
    engine.register_helper("join", budget.of(join));
    engine.register_helper("text", budget.of(text_helper));
    engine.register_helper("string", budget.of(quoted(rust_string)));
    engine.register_helper("c_string", budget.of(quoted(c_string)));
    engine.register_helper("toml", budget.of(toml));
    engine.register_helper("layout", budget.of(lay_out));
    engine.register_helper("rows", budget.of(Rows));
    engine.register_helper("c_values", budget.of(CValues));
}

/// Changes a text so that it is one line of a comment in any language and cannot end the comment.
/// Escapes control characters and direction marks, and puts spaces into `*/` and `/*` and after a
/// backslash at the end.
pub(crate) fn comment(text: &str) -> String {
    let mut result = String::with_capacity(text.len());
    for c in text.chars() {
        // Direction marks could disguise a comment as code.
        if c.is_control()
            || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
        {
            result.extend(c.escape_unicode());
        } else if (c == '/' && result.ends_with('*')) || (c == '*' && result.ends_with('/')) {
            result.push(' ');
            result.push(c);
        } else {
            result.push(c);
        }
    }
    // A backslash at the end would join the next line to a comment in C.
    if result.ends_with('\\') {
        result.push(' ');
    }
    result
}

/// Returns the helper `{{string value indent}}`, which writes a literal by `quote`. A long literal
/// has several lines, indented by `indent` spaces (at most 100, by default 0). The helper returns
/// an error if there is no value.
fn quoted(quote: fn(&str, usize) -> String) -> impl HelperDef + Send + Sync {
    move |helper: &Helper<'_>,
          _: &Handlebars<'_>,
          _: &Context,
          _: &mut RenderContext<'_, '_>,
          out: &mut dyn Output|
          -> HelperResult {
        let value = helper
            .param(0)
            .ok_or(RenderErrorReason::ParamNotFoundForIndex("string", 0))?;
        let text = value.value().render();
        let indent = helper.param(1).and_then(|p| p.value().as_u64());
        let indent = indent.unwrap_or(0).min(WIDTH as u64) as usize;
        Ok(out.write(&quote(&text, indent))?)
    }
}

/// Returns a literal in quotes. Breaks long literals into lines, after spaces if possible.
///
/// `escape` writes a unit, and `joint` separates lines. `units` yields at most `most` units, which
/// sizes the buffer. Takes linear time and no intermediate memory, because sequences are most of
/// the wiring of an irregular network.
fn literal<T>(
    units: impl Iterator<Item = T>,
    most: usize,
    joint: &str,
    is_space: impl Fn(&T) -> bool,
    escape: impl Fn(T, &mut String),
) -> String {
    let mut text = String::with_capacity(most + most / 4 + 2);
    text.push('"');
    let mut line = text.len();
    for unit in units {
        let length = text.len() - line;
        let full = length >= 2 * CHUNK || (length >= CHUNK - 10 && text.ends_with(' '));
        if full && !is_space(&unit) {
            text.push_str(joint);
            line = text.len();
        }
        escape(unit, &mut text);
    }
    text.push('"');
    text
}

/// Returns a Rust string literal. A long literal has several lines: all lines but the first begin
/// with `indent` spaces, which do not belong to the text.
pub(crate) fn rust_string(text: &str, indent: usize) -> String {
    let joint = format!("\\\n{}", " ".repeat(indent));
    let escape = |c: char, text: &mut String| match c {
        '\'' | ' ' | '+' | '-' | '*' => text.push(c),
        _ if c.is_ascii_alphanumeric() => text.push(c),
        // The compiler warns of direction marks in the source.
        _ if c.is_ascii() || c.is_alphanumeric() => text.extend(c.escape_debug()),
        _ => text.extend(c.escape_unicode()),
    };
    literal(text.chars(), text.len(), &joint, |c| *c == ' ', escape)
}

/// Returns a TOML string in quotes, always on one line.
fn toml_string(text: &str) -> String {
    let mut string = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => string.extend(['\\', c]),
            _ if is_control(c) => {
                // Writing to a string cannot fail.
                let _ = write!(string, "\\U{:08X}", u32::from(c));
            }
            _ => string.push(c),
        }
    }
    string.push('"');
    string
}

/// Returns a C string literal of the bytes of the text. A long literal is written as adjacent
/// literals, which the compiler joins: all lines but the first begin with `indent` spaces.
fn c_string(text: &str, indent: usize) -> String {
    let joint = format!("\"\n{}\"", " ".repeat(indent));
    literal(
        text.bytes(),
        text.len(),
        &joint,
        |b| *b == b' ',
        c_text::escape,
    )
}

/// Helper `(rows a b c)`: the numbers of sequences of equal length side by side, as a list of
/// lists. An empty sequence yields zeros. The output of a skeleton that uses it grows with the
/// network.
struct Rows;

impl HelperDef for Rows {
    fn call_inner<'reg: 'rc, 'rc>(
        &self,
        helper: &Helper<'rc>,
        _: &'reg Handlebars<'reg>,
        _: &'rc Context,
        _: &mut RenderContext<'reg, 'rc>,
    ) -> Result<ScopedJson<'rc>, RenderError> {
        let wrong = |what: String| RenderError::from(RenderErrorReason::Other(what));
        let mut columns = Vec::new();
        for param in helper.params() {
            let text = param.value().render();
            let numbers = sequence::decode(&text)
                .ok_or_else(|| wrong(format!("`{}` is not a sequence", comment(&text))))?;
            columns.push(numbers);
        }
        let length = columns.iter().map(Vec::len).max().unwrap_or(0);
        if let Some(odd) = columns.iter().find(|c| !c.is_empty() && c.len() != length) {
            let short = odd.len();
            return Err(wrong(format!(
                "`rows` needs sequences of equal length, not of {short} and {length} numbers"
            )));
        }
        let row = |i| -> Json {
            columns
                .iter()
                .map(|c| c.get(i).copied().unwrap_or(0))
                .collect()
        };
        Ok(ScopedJson::Derived((0..length).map(row).collect()))
    }
}

/// Helper `(c_values parameter)`: the values of a parameter as a list of constants of C. The list
/// has one value if all processes have the same, and otherwise one for each process. The output of
/// a skeleton that uses it grows with the network.
struct CValues;

impl HelperDef for CValues {
    fn call_inner<'reg: 'rc, 'rc>(
        &self,
        helper: &Helper<'rc>,
        _: &'reg Handlebars<'reg>,
        _: &'rc Context,
        _: &mut RenderContext<'reg, 'rc>,
    ) -> Result<ScopedJson<'rc>, RenderError> {
        let parameter = helper
            .param(0)
            .ok_or(RenderErrorReason::ParamNotFoundForIndex("c_values", 0))?;
        let values = c_values(parameter.value()).ok_or_else(|| {
            let what = "`c_values` needs one of `parameters`, of a type that C has";
            RenderErrorReason::Other(what.to_owned())
        })?;
        Ok(ScopedJson::Derived(values.into()))
    }
}

/// Implements the helper `{{#layout indent=8 open="Ports {" close="}" width=18}}`.
///
/// Each line of the block is an item (see [`items`]). Writes the items on one line between `open`
/// and `close` if their text fits in `width` and the line in 100 characters. Otherwise writes each
/// item on its own line, as rustfmt does. If no item is longer than ten characters, the items share
/// lines instead. The tags must be on lines of their own. Without `indent` it is 0, and without
/// `width` it is 60. Returns an error if `open` or `close` is missing, or if the block cannot be
/// rendered.
fn lay_out<'reg, 'rc>(
    helper: &Helper<'rc>,
    registry: &'reg Handlebars<'reg>,
    context: &'rc Context,
    render: &mut RenderContext<'reg, 'rc>,
    out: &mut dyn Output,
) -> HelperResult {
    let text = |name: &'static str| -> Result<String, RenderError> {
        let value = helper
            .hash_get(name)
            .ok_or(RenderErrorReason::ParamNotFoundForName(
                "layout",
                name.into(),
            ))?;
        Ok(value.value().render())
    };
    let number = |name: &'static str, default: usize| {
        let value = helper
            .hash_get(name)
            .and_then(|value| value.value().as_u64());
        value.map_or(default, |value| value.min(WIDTH as u64) as usize)
    };
    let mut block = StringOutput::new();
    if let Some(template) = helper.template() {
        template.render(registry, context, render, &mut block)?;
    }
    let block = block.into_string().map_err(RenderErrorReason::from)?;
    let items = items(&block);
    let laid = layout(
        &items,
        number("indent", 0),
        (&text("open")?, &text("close")?),
        number("width", 60),
    );
    // Handlebars removes the indentation and the line end of a tag on a line of its own.
    out.write(&format!("{}{laid}\n", " ".repeat(number("indent", 0))))?;
    Ok(())
}

/// Returns the items of a block, without white space around them. Each line that is not blank is an
/// item. If a string or bracket is open at the end of a line, its item continues on the next line.
fn items(block: &str) -> Vec<String> {
    let (mut depth, mut quoted, mut escaped) = (0usize, false, false);
    let mut items = vec![String::new()];
    for c in block.chars() {
        match c {
            '\n' if depth == 0 && !quoted => {
                items.push(String::new());
                continue;
            }
            '"' if !escaped => quoted = !quoted,
            '(' | '[' | '{' if !quoted => depth += 1,
            ')' | ']' | '}' if !quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
        escaped = quoted && c == '\\' && !escaped;
        items.last_mut().expect("begins with one").push(c);
    }
    items
        .into_iter()
        .map(|item| item.trim().to_owned())
        .filter(|item| !item.is_empty())
        .collect()
}

fn layout(items: &[String], indent: usize, (open, close): (&str, &str), width: usize) -> String {
    if items.is_empty() {
        return format!("{open}{close}");
    }
    let single = items.iter().all(|item| !item.contains('\n'));
    let length = |text: &str| text.chars().count();
    let line = items.join(", ");
    let space = if open.ends_with('{') { " " } else { "" };
    let whole = indent + length(open) + length(close) + length(&line) + 2 * space.len();
    if single && length(&line) <= width && whole <= WIDTH {
        return format!("{open}{space}{line}{space}{close}");
    }
    let margin = " ".repeat(indent);
    let mut result = open.to_owned();
    if single && items.len() > 1 && items.iter().all(|item| length(item) <= SHORT) {
        let mut used = WIDTH;
        for item in items {
            if used + length(item) + 2 > WIDTH {
                result.push_str(&format!("\n{margin}    {item},"));
                used = indent + 4 + length(item) + 1;
            } else {
                result.push_str(&format!(" {item},"));
                used += length(item) + 2;
            }
        }
    } else {
        for item in items {
            result.push_str(&format!("\n{margin}    {item},"));
        }
    }
    format!("{result}\n{margin}{close}")
}
