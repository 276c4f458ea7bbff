//! Canonical layout of the notation. Comments and the order of everything stay.
//!
//! Each declaration begins a line. Line breaks inside of a declaration stay, and at most one blank
//! line stays between declarations.

use crate::lexer::{Kind, Token, tokens};
use crate::parser;
use graphmap_kpn::diagnostic::Diagnostics;
use graphmap_kpn::source::Source;

/// Spaces of each level of indentation.
const INDENT: usize = 4;

/// Returns a text in its canonical layout.
///
/// # Errors
/// Returns all syntax errors of the text.
pub fn format(source: &Source) -> Result<String, Diagnostics> {
    let mut diagnostics = Diagnostics::new();
    let tokens = tokens(source, &mut diagnostics);
    parser::parse(source, &tokens, &mut diagnostics);
    if diagnostics.has_errors() {
        return Err(diagnostics);
    }
    let mut layout = Layout {
        out: String::new(),
        tokens: &tokens,
        open: Vec::new(),
    };
    let mut end = 0;
    for (index, token) in tokens.iter().enumerate() {
        let start = (token.span.start - source.base()) as usize;
        layout.token(index, &source.text()[end..start], source);
        end = (token.span.end - source.base()) as usize;
    }
    Ok(layout.out)
}

#[derive(Clone, Copy, PartialEq)]
enum Bracket {
    /// Braces around declarations.
    Block,
    /// Braces inside of a declaration.
    Braces,
    /// `( )`, `[ ]` or `< >`.
    Other(&'static str),
}

struct Layout<'t, 's> {
    out: String,
    tokens: &'t [Token<'s>],
    open: Vec<Bracket>,
}

impl Layout<'_, '_> {
    /// Writes a token, and the comments in the text between it and the token before.
    fn token(&mut self, index: usize, between: &str, source: &Source) {
        let token = self.tokens[index];
        let begins = self.begins_declaration(index);
        let (mut comment, mut breaks) = (false, 0);
        for (number, line) in between.split('\n').enumerate() {
            let line = line.trim();
            if number > 0 {
                breaks += 1;
            }
            if line.starts_with('#') {
                if number == 0 && !self.out.is_empty() {
                    self.out.push(' ');
                } else {
                    self.new_line(breaks > 1, self.depth(begins));
                }
                self.out.push_str(line);
                (comment, breaks) = (true, 0);
            }
        }
        if token.kind == Kind::End {
            if !self.out.is_empty() {
                self.out.push('\n');
            }
            return;
        }
        let closes = token.is("}") && self.open.last() == Some(&Bracket::Block);
        let is_empty = closes && self.tokens[index - 1].is("{") && !comment;
        if closes {
            self.open.pop();
        }
        if (begins || closes || comment) && !is_empty {
            let blank = breaks > 1 && !closes && !self.out.ends_with('{');
            self.new_line(blank, self.depth(begins || closes));
        } else if breaks > 0 && !is_empty && !token.is("{") && !self.open.is_empty() {
            self.new_line(false, self.depth(false));
        } else if self.has_space(index) && !is_empty {
            self.out.push(' ');
        }
        let start = (token.span.start - source.base()) as usize;
        let end = (token.span.end - source.base()) as usize;
        self.out.push_str(&source.text()[start..end]);
        self.bracket(index, closes);
    }

    fn bracket(&mut self, index: usize, closed: bool) {
        let token = self.tokens[index];
        if token.kind != Kind::Sign {
            return;
        }
        match token.text {
            "{" => self.open.push(match self.is_block(index) {
                true => Bracket::Block,
                false => Bracket::Braces,
            }),
            "(" => self.open.push(Bracket::Other(")")),
            "[" => self.open.push(Bracket::Other("]")),
            "<" => self.open.push(Bracket::Other(">")),
            ")" | "]" | ">" => {
                self.open.pop();
            }
            "}" if !closed => {
                self.open.pop();
            }
            _ => {}
        }
    }

    /// Returns true for a brace around declarations, and false for one of a loop or of two texts.
    fn is_block(&self, index: usize) -> bool {
        let before = |by: usize| index.checked_sub(by).map(|at| self.tokens[at]);
        let is_pair = before(1).is_some_and(|token| token.is("="));
        let is_loop = before(2).is_some_and(|token| token.is_word("in"));
        !is_pair && !is_loop
    }

    fn begins_declaration(&self, index: usize) -> bool {
        if !self.open.iter().all(|bracket| *bracket == Bracket::Block) {
            return false;
        }
        let token = self.tokens[index];
        let next = |by: usize| self.tokens.get(index + by);
        let sets = |by: usize| next(by).is_some_and(|token| token.is("="));
        match token.kind {
            Kind::Name if self.open.is_empty() => index == 0 || self.begins_specification(index),
            Kind::Name => {
                let words = ["containerspec", "boxes", "gluemapping"];
                let after_word = index.checked_sub(1).is_some_and(|at| {
                    let before = self.tokens[at];
                    before.is_word("containerspec") || before.is("||") || before.is("||-")
                });
                (sets(1) && !after_word) || words.contains(&token.text) && !sets(1)
            }
            Kind::Sign if token.text.starts_with("||") => sets(2),
            _ => false,
        }
    }

    fn begins_specification(&self, index: usize) -> bool {
        let before = self.tokens[index - 1];
        before.is("}") || matches!(before.kind, Kind::Path | Kind::Text)
    }

    /// Returns the number of levels of indentation of a line.
    fn depth(&self, begins: bool) -> usize {
        let blocks = self
            .open
            .iter()
            .filter(|bracket| **bracket == Bracket::Block);
        let inside = self.open.len() - blocks.clone().count();
        blocks.count() + if begins { 0 } else { 1 + inside }
    }

    fn new_line(&mut self, blank: bool, depth: usize) {
        if self.out.is_empty() {
            return;
        }
        self.out.push_str(if blank { "\n\n" } else { "\n" });
        self.out.extend(std::iter::repeat_n(' ', depth * INDENT));
    }

    /// Returns true if a space separates a token from the one before it in its line.
    fn has_space(&self, index: usize) -> bool {
        let Some(before) = index.checked_sub(1).map(|at| self.tokens[at]) else {
            return false;
        };
        let token = self.tokens[index];
        let in_index = self.open.last() == Some(&Bracket::Other("]"));
        let operators = ["+", "-", "*", "/", "%", "^"];
        let is_operand =
            |token: Token<'_>| matches!(token.kind, Kind::Name | Kind::Number) || token.is(")");
        // A sign before an operand belongs to it.
        let after_sign = before.is("-")
            && !index
                .checked_sub(2)
                .is_some_and(|at| is_operand(self.tokens[at]));
        if before.is("=") {
            return true;
        }
        let tight_before = [",", ")", "]", ">", ".", ":", "[", ".."]
            .iter()
            .any(|s| token.is(s));
        let tight_after = ["(", "[", "<", ".", ":", ".."].iter().any(|s| before.is(s));
        let tight_operator = in_index
            && (operators.iter().any(|s| token.is(s)) || operators.iter().any(|s| before.is(s)));
        !(tight_before || tight_after || tight_operator || after_sign)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use graphmap_kpn::source::SourceMap;
    use proptest::prelude::*;
    use std::path::Path;

    /// The listings of the thesis.
    fn listings() -> Vec<String> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/listings");
        let entries = std::fs::read_dir(folder).unwrap();
        let mut paths: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        let read = |path| std::fs::read_to_string(path).unwrap();
        paths.iter().map(read).collect()
    }

    fn formatted(text: &str) -> Result<String, Diagnostics> {
        let mut sources = SourceMap::new();
        format(&sources.add("t.cpa", text).unwrap())
    }

    /// Returns the tokens of a text with their quotes, and its comments.
    fn parts(text: &str) -> (Vec<String>, Vec<String>) {
        let mut sources = SourceMap::new();
        let source = sources.add("t.cpa", text).unwrap();
        let tokens = tokens(&source, &mut Diagnostics::new());
        let (mut end, mut comments) = (0, Vec::new());
        let mut words = Vec::new();
        for token in tokens {
            let start = (token.span.start - source.base()) as usize;
            let between = text[end..start].lines().map(str::trim);
            let between = between.filter(|line| line.starts_with('#'));
            comments.extend(between.map(str::to_owned));
            end = (token.span.end - source.base()) as usize;
            words.push(text[start..end].to_owned());
        }
        (words, comments)
    }

    fn stays(text: &str) -> Result<(), TestCaseError> {
        let Ok(once) = formatted(text) else {
            return Ok(());
        };
        prop_assert_eq!(parts(&once), parts(text), "{}\n{}", text, once);
        let twice = formatted(&once).unwrap();
        prop_assert_eq!(&twice, &once, "{}", text);
        for line in once.lines() {
            prop_assert_eq!(line, line.trim_end(), "{}", once);
        }
        Ok(())
    }

    #[test]
    fn line_breaks_inside_of_declarations_stay() {
        let text = "structure s(n){A=inports<>outports<o>()\n\n\n\n# c\nR=[0..n - 2]||P=(A[n])\n\
                    /( for i in R {o[i]->x},\no[0] -> y )@(x,y)}initialize s{n=4 m=- 2*n}";
        let expected = "\
structure s (n) {
    A = inports <> outports <o> ()

    # c
    R = [0..n-2]
    || P = (A[n])
        / (for i in R { o[i] -> x },
            o[0] -> y) @ (x, y)
}
initialize s {
    n = 4
    m = -2 * n
}
";
        assert_eq!(formatted(text).unwrap(), expected);
    }

    proptest! {
        #[test]
        fn any_white_space_is_formatted(
            listing in any::<prop::sample::Index>(),
            spaces in prop::collection::vec(
                prop::sample::select(vec![" ", "\n", "\n\n\n", "\t", " # note\n", "\n#x\n\n", "\r\n"]),
                1..40,
            ),
        ) {
            let listings = listings();
            let (words, _) = parts(&listings[listing.index(listings.len())]);
            let spaces = spaces.iter().cycle();
            let text: String = words.iter().zip(spaces).flat_map(|(word, space)| [&**word, space]).collect();
            prop_assert!(formatted(&text).is_ok(), "{}", text);
            stays(&text)?;
        }

        #[test]
        fn any_change_of_a_listing_is_formatted_or_an_error(
            listing in any::<prop::sample::Index>(),
            at in any::<prop::sample::Index>(),
            removed in 0usize..6,
            added in prop::collection::vec(
                prop::sample::select(vec![
                    "a", "include", "structure", "boxes", "containerspec", "for", "in", "tag", "7", "\"t\"",
                    "||", "||-", "->", "..", "(", ")", "{", "}", "<", ">", "[", "]", ",", "=", "/", "@", ":",
                    ".", "+", "-", "*", "%", "^", "#c\n", "\n\n",
                ]),
                0..6,
            ),
        ) {
            let listings = listings();
            let (mut words, _) = parts(&listings[listing.index(listings.len())]);
            let at = at.index(words.len());
            let end = (at + removed).min(words.len());
            words.splice(at..end, added.into_iter().map(str::to_owned));
            stays(&words.join(" "))?;
        }
    }
}
