//! Parses a source file and collects its [`Facts`].

use crate::depth::depth;
use crate::facts::Facts;
use crate::visitor::Visitor;
use std::fmt;
use syn::parse::Parser;

/// Maximum recursion depth of the parser. Sources written by hand need a few hundred levels.
const DEEPEST: usize = 4096;
/// Stack size for that depth, twice: for the text, and for the macro calls in it. The kernel
/// allocates the pages at their first use.
const STACK: usize = 2 * DEEPEST * 48 * 1024;

/// Reasons why a text cannot be read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NotRead {
    /// The text is not valid Rust: message, and byte offset.
    NotRust(String, usize),
    /// The text nests too deeply.
    TooDeep,
    /// The thread that parses the text could not be started.
    NoThread(String),
}

impl fmt::Display for NotRead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NotRead::NotRust(why, _) => write!(f, "it is not valid Rust: {why}"),
            NotRead::TooDeep => write!(
                f,
                "an expression, a type or brackets are nested more than {DEEPEST} deep"
            ),
            NotRead::NoThread(why) => write!(f, "cannot start a thread to read it: {why}"),
        }
    }
}

/// Parses `text` and returns its facts. Test code counts if `tests` is true. With `included`, the
/// text may be an expression or statements.
///
/// # Errors
/// Returns [`NotRead::NotRust`] if the text is not valid Rust, [`NotRead::TooDeep`] if it nests too
/// deeply, and [`NotRead::NoThread`] if no thread can be started.
pub(crate) fn read(text: &str, tests: bool, included: bool) -> Result<Facts, NotRead> {
    // A separate thread has a stack that suffices for [`DEEPEST`].
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK);
        let thread = thread.spawn_scoped(scope, || read_here(text, tests, included));
        let thread = thread.map_err(|why| NotRead::NoThread(why.to_string()))?;
        match thread.join() {
            Ok(read) => read,
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

fn read_here(text: &str, tests: bool, included: bool) -> Result<Facts, NotRead> {
    let begin = begin(text);
    let not_rust = |error: &syn::Error| {
        let at = begin + error.span().byte_range().start;
        NotRead::NotRust(error.to_string(), at.min(text.len()))
    };
    let tokens: proc_macro2::TokenStream = text[begin..]
        .parse()
        .map_err(|error: proc_macro2::LexError| not_rust(&error.into()))?;
    if depth(tokens.clone()) > DEEPEST {
        return Err(NotRead::TooDeep);
    }
    let visitor = || Visitor::new(begin, (tests, DEEPEST));
    let error = match syn::parse2::<syn::File>(tokens.clone()) {
        Ok(file) => return Ok(visitor().at_file(&file)),
        Err(error) => error,
    };
    // An included file may be an expression, or statements.
    match syn::Block::parse_within.parse2(tokens) {
        Ok(statements) if included => Ok(visitor().at_statements(&statements)),
        _ => Err(not_rust(&error)),
    }
}

/// Returns the byte offset at which the Rust code begins: after byte order marks and a `#!` line,
/// if there are any. A line that begins with `#![` is an attribute and belongs to the code.
fn begin(text: &str) -> usize {
    let mark = text.len() - text.trim_start_matches('\u{feff}').len();
    let rest = &text[mark..];
    let is_shell = rest
        .strip_prefix("#!")
        .is_some_and(|line| !line.trim_start().starts_with('['));
    match (is_shell, rest.find('\n')) {
        (true, Some(end)) => mark + end,
        (true, None) => text.len(),
        (false, _) => mark,
    }
}

#[cfg(test)]
mod tests {
    use super::{DEEPEST, NotRead, read};

    #[test]
    fn the_greatest_depth_is_read() {
        let many = |text: &str, times: usize| text.repeat(times);
        let nearly = DEEPEST - 20;
        for text in [
            // Each bracket costs a token and a level.
            format!(
                "const A: u8 = {}1{};",
                many("(", nearly / 2),
                many(")", nearly / 2)
            ),
            format!("const A: u8 = {}1;", many("!", nearly)),
            format!("const A: u8 = 1{};", many("+1", nearly / 2)),
            format!("const A: u8 = a{};", many(".b()", nearly / 4)),
            format!("type A = {}u8;", many("&", nearly)),
            format!("fn a() {{ {}{{}} }}", many("if b {} else ", nearly / 5)),
            format!(
                "fn a() {{ {}1{} }}",
                many("{", nearly / 2),
                many("}", nearly / 2)
            ),
            format!(
                "fn a() {{ m!({}1{}) }}",
                many("(", nearly / 2),
                many(")", nearly / 2)
            ),
            format!(
                "fn a() {{ {}1{} }}",
                many("m!(", nearly / 4),
                many(")", nearly / 4)
            ),
            format!("fn a() {{ {}1 }}", many("|a| ", nearly / 5)),
            format!("{}{}", many("mod a {", nearly / 5), many("}", nearly / 5)),
            format!(
                "fn a() {{ {}1{} }}",
                many("match b { _ => ", nearly / 9),
                many("}", nearly / 9)
            ),
        ] {
            let read = read(&text, true, false);
            assert!(read.is_ok(), "{}: {read:?}", &text[..40]);
        }
    }

    #[test]
    fn a_greater_depth_is_refused() {
        let many = |text: &str| text.repeat(100_000);
        for text in [
            format!("const A: u8 = {}1{};", many("("), many(")")),
            format!("const A: u8 = {}1;", many("!")),
            format!("const A: u8 = 1{};", many("+1")),
            format!("m!{}{}", many("["), many("]")),
            format!("fn a() {{ {}1{} }}", many("m!("), many(")")),
            format!("type A = {}u8{};", many("A<"), many(">")),
        ] {
            assert!(
                matches!(read(&text, true, false), Err(NotRead::TooDeep)),
                "{}",
                &text[..40]
            );
        }
    }

    #[test]
    fn a_position_is_counted_from_the_beginning_of_the_file() {
        for (text, expected) in [
            ("static A: Cell = 1;", 7),
            ("\u{feff}static A: Cell = 1;", 10),
            ("#!/bin/sh\nstatic A: Cell = 1;", 17),
            ("#![a]\nstatic A: Cell = 1;", 13),
        ] {
            assert_eq!(
                read(text, true, false).unwrap().statics[0].at.start,
                expected,
                "{text}"
            );
        }
        for (text, expected) in [
            ("fn a( {", 6),
            ("#!/bin/sh\nfn 1", 13),
            ("static A: = 1;", 10),
            ("\"", 0),
        ] {
            match read(text, true, false) {
                Err(NotRead::NotRust(_, at)) => assert_eq!(at, expected, "{text}"),
                other => panic!("{text}: {other:?}"),
            }
        }
    }
}
