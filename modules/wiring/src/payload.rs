//! Payload types: converts `type=` of a channel to a Rust type.
//!
//! Primitive types, `String`, `Vec<..>`, `Option<..>`, `Box<..>`, `Result<.., ..>`, arrays, tuples
//! and paths are used as written. Any other name is a type of the project's own `types.rs`.

use crate::identifier::{Language, is_keyword};
use std::fmt::Write;

mod foreign;

/// Type of the tokens on channels without a type.
pub const UNTYPED: &str = "Token";

/// Maximum nesting of types. No practical type is deeper.
const DEPTH: usize = 32;

const PRIMITIVES: &[&str] = &[
    "bool", "char", "f32", "f64", "i8", "i16", "i32", "i64", "i128", "isize", "u8", "u16", "u32",
    "u64", "u128", "usize", "String",
];
/// Types that are in scope everywhere, and the number of their parameters.
const GENERIC: &[(&str, usize)] = &[("Vec", 1), ("Option", 1), ("Box", 1), ("Result", 2)];

/// A payload type as a Rust type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Payload {
    /// The type as written in generated code, such as `Vec<types::Task>`.
    pub rust: String,
    /// Names in the type that `types.rs` defines, in order of appearance.
    pub own: Vec<String>,
}

/// Error in a payload type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct PayloadError {
    /// Description of the error.
    pub message: String,
    /// Byte offset of the error in the text.
    pub offset: usize,
    /// The intended Rust type, if it is certain.
    pub instead: Option<String>,
}

/// Parses a payload type.
///
/// # Errors
/// Returns the first error if the text is not a type that a channel can carry: a syntax error, a
/// reference or pointer, a type of another language, a keyword, `str`, a path into a module of the
/// generated code, a wrong number of type parameters, or a type that is nested more than 32 deep.
/// Whether a type of `types.rs` or at a path exists is not checked.
pub fn parse(text: &str) -> Result<Payload, PayloadError> {
    let mut parser = Parser {
        text,
        at: 0,
        payload: Payload {
            rust: String::new(),
            own: Vec::new(),
        },
    };
    parser.ty(0)?;
    parser.space();
    if parser.at < text.len() {
        return Err(parser.error("unexpected text after the type"));
    }
    Ok(parser.payload)
}

/// Maximum length of a text for which a Rust type is suggested. No practical type is longer.
const LONGEST: usize = 200;

/// Returns the whole text with the type `said` at byte `start` replaced by the type `rust`. Also
/// replaces other foreign types in the text. A `rust` that ends in `<..>` or `<.., ..>` replaces
/// only the name before the type arguments.
///
/// Returns `None` if `said` is not written so at `start`, or if `rust` has another structure. Also
/// returns `None` if a result is longer than 200 bytes, or is still not a type.
fn instead(text: &str, start: usize, said: &str, rust: &str) -> Option<String> {
    let after = text[start..].strip_prefix(said)?;
    let generic = rust.strip_suffix("<..>").or(rust.strip_suffix("<.., ..>"));
    let name = match generic {
        Some(name) if after.trim_start().starts_with('<') => name,
        None if !rust.contains("..") => rust,
        _ => return None,
    };
    let text = format!("{}{name}{after}", &text[..start]);
    if text.len() > LONGEST {
        return None;
    }
    match parse(&text) {
        Ok(_) => Some(text),
        Err(error) => error.instead,
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
    payload: Payload,
}

impl<'a> Parser<'a> {
    fn error(&self, message: impl Into<String>) -> PayloadError {
        PayloadError {
            message: message.into(),
            offset: self.at,
            instead: None,
        }
    }

    fn space(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
    }

    fn eat(&mut self, token: &str) -> bool {
        self.space();
        let found = self.text[self.at..].starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    fn expect(&mut self, token: &str) -> Result<(), PayloadError> {
        if self.eat(token) {
            return Ok(());
        }
        Err(self.error(format!("expected `{token}`")))
    }

    fn push(&mut self, text: &str) {
        self.payload.rust.push_str(text);
    }

    fn ty(&mut self, depth: usize) -> Result<(), PayloadError> {
        if depth > DEPTH {
            return Err(self.error(format!("types are nested more than {DEPTH} deep")));
        }
        if self.eat("(") {
            self.push("(");
            let mut members = 0;
            while !self.eat(")") {
                if members > 0 {
                    self.push(", ");
                }
                self.ty(depth + 1)?;
                members += 1;
                if !self.eat(",") {
                    self.expect(")")?;
                    if members == 1 {
                        // Parentheses around one type are not a tuple.
                        self.push(",");
                    }
                    self.push(")");
                    return Ok(());
                }
            }
            if members == 1 {
                self.push(",");
            }
            self.push(")");
            return Ok(());
        }
        if self.eat("[") {
            self.push("[");
            self.ty(depth + 1)?;
            if !self.eat(";") {
                return Err(self.error(
                    "an array needs a length, such as `[f64; 16]`; without one, use `Vec<f64>`",
                ));
            }
            self.push("; ");
            self.length()?;
            self.expect("]")?;
            self.push("]");
            return Ok(());
        }
        if self.eat("&") || self.eat("*") {
            return Err(self.error("a token must own its data, so it cannot be a reference"));
        }
        self.path(depth)
    }

    fn length(&mut self) -> Result<(), PayloadError> {
        self.space();
        let rest = &self.text[self.at..];
        let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        if digits == 0 || digits > 9 {
            return Err(self.error("expected the length of the array as a number"));
        }
        self.at += digits;
        let number = rest[..digits].trim_start_matches('0');
        self.push(if number.is_empty() { "0" } else { number });
        Ok(())
    }

    fn word(&mut self) -> Result<&'a str, PayloadError> {
        self.space();
        let rest = &self.text[self.at..];
        let part = |b: &u8| b.is_ascii_alphanumeric() || *b == b'_';
        let word = &rest[..rest.bytes().take_while(part).count()];
        let first = word.bytes().next();
        let after = rest[word.len()..].chars().next();
        if let Some(letter) = after.filter(|c| c.is_alphanumeric()) {
            self.at += word.len();
            let message = format!(
                "`{letter}` is not allowed in the name of a type: expected letters from a to z, \
                 digits and `_`"
            );
            return Err(self.error(message));
        }
        if first.is_none_or(|b| b.is_ascii_digit()) || word == "_" {
            return Err(self.error("expected the name of a type"));
        }
        self.at += word.len();
        Ok(word)
    }

    /// Moves back to `start`, and returns the error that the type `said` there belongs to another
    /// language. Its position is `start`. `rust` is the corresponding type.
    fn foreign(&mut self, start: usize, said: &str, rust: &str) -> PayloadError {
        self.at = start;
        let mut error = self.error(format!("`{said}` is `{rust}` in Rust"));
        error.instead = instead(self.text, start, said, rust);
        error
    }

    fn path(&mut self, depth: usize) -> Result<(), PayloadError> {
        self.space();
        let start = self.at;
        let rest = &self.text[start..];
        // A name of several words, which is never a Rust path.
        let words = foreign::SEVERAL_WORDS.iter().find(|(said, _)| {
            let after = rest.strip_prefix(said);
            after.is_some_and(|after| !after.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
        });
        if let Some((said, rust)) = words {
            return Err(self.foreign(start, said, rust));
        }
        let first = self.word()?;
        let mut words = vec![first];
        while self.eat("::") {
            words.push(self.word()?);
        }
        for (i, word) in words.iter().enumerate() {
            let head = i == 0 && words.len() > 1 && matches!(*word, "crate" | "super" | "self");
            if is_keyword(word, Language::Rust) && !head {
                self.at = start;
                return Err(self.error(format!("`{word}` is a keyword of Rust, not a type")));
            }
        }
        if words.len() > 1 && matches!(first, "types" | "self" | "super") {
            self.at = start;
            let last = words[words.len() - 1];
            let message = format!(
                "`{first}` is a module of the generated code: write a type of the project as \
                 `{last}`"
            );
            return Err(self.error(message));
        }
        if let Some(rust) = foreign::rust_name(&words) {
            let said = words.join("::");
            return Err(self.foreign(start, &said, rust));
        }
        let known = GENERIC.iter().find(|(name, _)| *name == first);
        if words.len() > 1 {
            let path = words.join("::");
            self.push(&path);
            self.arguments(depth).map(drop)
        } else if let Some(&(name, parameters)) = known {
            self.push(name);
            let count = self.arguments(depth)?;
            if count != parameters {
                self.at = start;
                let message = format!("`{name}` has {parameters} type parameter(s), not {count}");
                return Err(self.error(message));
            }
            Ok(())
        } else if PRIMITIVES.contains(&first) {
            self.push(first);
            self.no_arguments(first)
        } else if first == "str" {
            self.at = start;
            Err(self.error("`str` has no fixed size: use `String`"))
        } else {
            let _ = write!(self.payload.rust, "types::{first}");
            if !self.payload.own.iter().any(|name| name == first) {
                self.payload.own.push(first.to_owned());
            }
            self.no_arguments(first)
        }
    }

    fn no_arguments(&mut self, name: &str) -> Result<(), PayloadError> {
        self.space();
        if self.text[self.at..].starts_with('<') {
            let message =
                format!("`{name}` has no type parameters; a generic type needs its full path");
            return Err(self.error(message));
        }
        Ok(())
    }

    /// Parses `<A, B>` if it is there, and appends it to the Rust type. Returns the number of
    /// arguments, which is 0 if the next character is not `<`. Returns the error of an argument, or
    /// an error if `>` is missing or the list is empty.
    fn arguments(&mut self, depth: usize) -> Result<usize, PayloadError> {
        if !self.eat("<") {
            return Ok(0);
        }
        self.push("<");
        let mut count = 0;
        loop {
            self.ty(depth + 1)?;
            count += 1;
            if !self.eat(",") {
                self.expect(">")?;
                break;
            }
            if self.eat(">") {
                break;
            }
            self.push(", ");
        }
        self.push(">");
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn types_of_rust_are_used_as_written_and_others_are_the_projects() {
        for (text, rust, own) in [
            ("f64", "f64", vec![]),
            ("Task", "types::Task", vec!["Task"]),
            ("Vec<Task>", "Vec<types::Task>", vec!["Task"]),
            ("[ f64;016 ]", "[f64; 16]", vec![]),
            (
                "(u8,Task,Task)",
                "(u8, types::Task, types::Task)",
                vec!["Task"],
            ),
            ("(u8)", "(u8,)", vec![]),
            ("(u8,)", "(u8,)", vec![]),
            ("()", "()", vec![]),
            ("crate::x::Y", "crate::x::Y", vec![]),
            (
                "std::collections::BTreeMap<u8,Option<Request>,>",
                "std::collections::BTreeMap<u8, Option<types::Request>>",
                vec!["Request"],
            ),
        ] {
            let payload = parse(text).unwrap();
            assert_eq!(payload.rust, rust);
            assert_eq!(payload.own, own, "{text}");
        }
    }

    #[test]
    fn invalid_types_are_refused_at_the_error() {
        for (text, offset) in [
            ("", 0),
            ("Vec<Task", 8),
            ("Vec", 0),
            ("Task<u8>", 4),
            ("u8 u8", 3),
            ("[u8]", 3),
            ("[u8; n]", 5),
            ("&str", 1),
            ("str", 0),
            ("fn", 0),
            ("a::in", 0),
            ("types::X", 0),
            ("types::String", 0),
            ("self::X", 0),
            ("Vec<super::X>", 4),
            ("Gr\u{f6}\u{df}e", 2),
            ("match", 0),
            ("Vec<", 4),
            ("u8*", 2),
            ("int*", 0),
            ("T\u{e9}", 1),
            ("1x", 0),
            ("int", 0),
            ("string", 0),
            ("float", 0),
            ("Vec<double>", 4),
            ("unsigned int", 0),
            ("(u8, long long)", 5),
            ("std::vector<int>", 0),
            ("std::string", 0),
            ("vector<int>", 0),
        ] {
            assert_eq!(parse(text).unwrap_err().offset, offset, "{text}");
        }
        assert!(parse(&"(".repeat(100_000)).is_err());
    }

    #[test]
    fn types_of_other_languages_are_named_in_rust() {
        for (said, rust) in [
            ("int", "i32"),
            ("string", "String"),
            ("float", "f32"),
            ("unsigned char", "u8"),
            ("uint64_t", "u64"),
            ("std::vector<int>", "Vec<..>"),
            ("float64", "f64"),
        ] {
            let said_alone = said.split('<').next().unwrap();
            let message = parse(said).unwrap_err().message;
            assert_eq!(message, format!("`{said_alone}` is `{rust}` in Rust"));
        }
        for (said, instead) in [
            ("int", Some("i32")),
            ("Vec<double>", Some("Vec<f64>")),
            ("std::vector<std::vector<int>>", Some("Vec<Vec<i32>>")),
            ("(unsigned char, string)", Some("(u8, String)")),
            (
                "map<string, int>",
                Some("std::collections::BTreeMap<String, i32>"),
            ),
            ("vector", None),
            ("pair<int, int>", None),
            ("int*", None),
        ] {
            assert_eq!(
                parse(said).unwrap_err().instead.as_deref(),
                instead,
                "{said}"
            );
        }
        // A module of Rust, and types of the project.
        for own in [
            "std::string::String",
            "Float",
            "crate::types::int",
            "intern",
            "longitude",
        ] {
            parse(own).unwrap();
        }
    }

    proptest! {
        #[test]
        fn never_panics(text in "\\PC{0,20}|[(\\[<>)\\];,:a-cVec0-9 &]{0,20}") {
            let _ = parse(&text);
        }
    }
}
