//! Fields that `payload!` does not list. The compiler reports them as errors in the macro's
//! patterns.

use crate::identifier::words_of;
use crate::lexer::{Token, tokens};
use crate::pointed::Pointed;
use graphmap_kpn::diagnostic::Diagnostic;

/// Returns the error about fields that `payload!` does not list. The compiler's message, at `at`,
/// concerns the patterns that the macro generates. `text` and `number` are its text and code.
/// Returns `None` for all other messages, and if `diagnostic` has no primary label.
pub(crate) fn unlisted(
    diagnostic: &Diagnostic,
    text: &str,
    number: &str,
    at: &Pointed<'_>,
) -> Option<Diagnostic> {
    let of_pattern = text.starts_with("pattern requires `..`");
    if !(of_pattern
        || matches!(
            number,
            "E0004" | "E0023" | "E0027" | "E0061" | "E0063" | "E0423"
        ))
    {
        return None;
    }
    let arguments = at.words().split_once("payload!")?.1;
    let mut words = words_of(arguments).filter(|word| *word != "enum");
    let name = words.next()?;
    let listed: Vec<&str> = words.collect();
    let fields = fields_of(at.text, name);
    let missing: Vec<&str> = fields
        .iter()
        .copied()
        .filter(|field| !listed.contains(field))
        .collect();
    let (message, help) = match &missing[..] {
        [] => (
            format!("`payload!` does not list all parts of `{name}`"),
            "list every field, and every variant of an enum, in the order in which they are \
             written as bytes"
                .to_owned(),
        ),
        missing => (
            format!(
                "`payload!` of `{name}` does not list its field `{}`",
                missing.join("`, `")
            ),
            format!(
                "list all fields: `graphmap_runtime::payload!({name} {{ {} }})`",
                fields.join(", ")
            ),
        ),
    };
    let place = diagnostic.primary.as_ref()?.span;
    Some(
        Diagnostic::error(diagnostic.code, message)
            .at(place, "")
            .help(help),
    )
}

/// Returns the named fields of the first struct `name` in a text, in order. The result is empty if
/// the struct is missing or has no named fields.
fn fields_of<'t>(text: &'t str, name: &str) -> Vec<&'t str> {
    let mut tokens = tokens(text);
    let mut before = None;
    // Skips to the name of the struct.
    for token in tokens.by_ref() {
        if before == Some(Token::Word("struct")) && token == Token::Word(name) {
            break;
        }
        before = Some(token);
    }
    let (mut fields, mut depth, mut last) = (Vec::new(), 0, None);
    let mut tokens = tokens.peekable();
    while let Some(token) = tokens.next() {
        match token {
            Token::Open('{') if depth == 0 => depth = 1,
            // A unit struct or tuple struct.
            Token::Sign(';') | Token::Open(_) if depth == 0 => break,
            Token::Open(_) => depth += 1,
            Token::Close(_) => {
                depth -= 1;
                if depth == 0 {
                    break;
                }
            }
            Token::Sign(':') if depth == 1 => {
                // The first colon behind a word ends a field's name. `::` is part of a path.
                let is_path = tokens.next_if_eq(&Token::Sign(':')).is_some();
                if let (Some(Token::Word(field)), false) = (last, is_path) {
                    fields.push(field);
                }
            }
            _ => {}
        }
        last = Some(token);
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::fields_of;

    #[test]
    fn fields_are_found_in_the_text() {
        let text = "struct Other { x: u8 } /* struct Task { no: u8 } */ pub struct Task<T: Copy> { \
                    #[a(b: c)] pub(crate) rows: Vec<std::time::Duration>, r#in: (u8, T), last: [u8; 4] } fn f() {}";
        assert_eq!(fields_of(text, "Task"), ["rows", "in", "last"]);
        for none in ["Gone", "Unit", "Tuple"] {
            let text = "struct Unit; struct Tuple(u8, u8); struct Task { x: u8 }";
            assert!(fields_of(text, none).is_empty(), "{none}");
        }
    }
}
