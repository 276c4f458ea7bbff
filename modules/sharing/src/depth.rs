//! Bounds the recursion depth of a parser before it reads a text.
//!
//! A parser of Rust recurses for each bracket. Without brackets, it recurses at most once for each
//! token of an expression or a type: `!!!x`, `&&&T`, `A<A<A<T>>>`, `if .. else if ..`. The tree of
//! `a + b + c` is equally deep. The bound is therefore the number of tokens since the start of the
//! current expression, summed over all brackets around it.

use proc_macro2::token_stream::IntoIter;
use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// Returns an upper bound for the recursion depth of a parser that reads the tokens. In macro calls
/// only brackets count, because the parser keeps their tokens unparsed.
pub(crate) fn depth(tokens: TokenStream) -> usize {
    let mut levels = vec![Level::of(tokens, false)];
    // Total cost of the levels below the last one.
    let (mut below, mut most) = (0, 0);
    while let Some(level) = levels.last_mut() {
        let Some(token) = level.rest.next() else {
            levels.pop();
            below -= levels.last().map_or(0, Level::cost);
            continue;
        };
        let of_macro = level.of_macro || level.before == Before::MacroCall;
        level.take(&token);
        most = most.max(below + level.cost());
        if let TokenTree::Group(group) = token {
            below += level.cost();
            levels.push(Level::of(group.stream(), of_macro));
        }
    }
    most
}

/// Tokens between two brackets, or outside all brackets.
struct Level {
    rest: IntoIter,
    of_macro: bool,
    /// Number of tokens since the start of the current expression or item.
    run: usize,
    /// Number of `<` and `|` since the start of the statement. A comma does not reset it, because
    /// type arguments and closures continue after a comma.
    opened: usize,
    /// Value of `run` before `#` or `#!`, if these are the last tokens. It is restored after the
    /// attribute, because attributes do not nest. A doc comment has an attribute for each of its
    /// lines, and there may be thousands.
    hash: Option<usize>,
    before: Before,
}

/// Class of the previous token.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    Nothing,
    Name,
    /// `name!` or `name! other`: the tokens of a macro call follow.
    MacroCall,
    /// A closing brace, which may have ended a statement or an item.
    Brace,
}

impl Level {
    fn of(tokens: TokenStream, of_macro: bool) -> Level {
        Level {
            rest: tokens.into_iter(),
            of_macro,
            run: 0,
            opened: 0,
            hash: None,
            before: Before::Nothing,
        }
    }

    fn cost(&self) -> usize {
        match self.of_macro {
            true => 1,
            false => 1 + self.run + self.opened,
        }
    }

    fn take(&mut self, token: &TokenTree) {
        if self.before == Before::Brace && begins(token) {
            (self.run, self.opened) = (0, 0);
        }
        let hash = match token {
            TokenTree::Punct(punct) if punct.as_char() == '#' => Some(self.run),
            TokenTree::Punct(punct) if punct.as_char() == '!' => self.hash,
            _ => None,
        };
        let hash = std::mem::replace(&mut self.hash, hash);
        self.run += 1;
        if let (Some(run), TokenTree::Group(group)) = (hash, token)
            && group.delimiter() == Delimiter::Bracket
        {
            self.run = run;
        }
        self.before = match token {
            TokenTree::Punct(punct) => match punct.as_char() {
                ';' => {
                    (self.run, self.opened) = (0, 0);
                    Before::Nothing
                }
                ',' => {
                    self.run = 0;
                    Before::Nothing
                }
                '<' | '|' => {
                    self.opened += 1;
                    Before::Nothing
                }
                '!' if self.before == Before::Name => Before::MacroCall,
                _ => Before::Nothing,
            },
            // The name that a macro defines, as in `macro_rules! name`.
            TokenTree::Ident(_) if self.before == Before::MacroCall => Before::MacroCall,
            TokenTree::Ident(name) => match syn::parse_str::<syn::Ident>(&name.to_string()) {
                Ok(_) => Before::Name,
                // A keyword, as in `return !(..)`.
                Err(_) => Before::Nothing,
            },
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace => Before::Brace,
            _ => Before::Nothing,
        };
    }
}

/// Returns whether a token after a brace starts a new statement or item. This is true for a
/// literal, for `#` and `'`, and for a word except `else` and `as`.
fn begins(token: &TokenTree) -> bool {
    match token {
        TokenTree::Ident(name) => name != "else" && name != "as",
        TokenTree::Punct(punct) => matches!(punct.as_char(), '#' | '\''),
        TokenTree::Literal(_) => true,
        TokenTree::Group(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::depth;

    fn of(text: &str) -> usize {
        depth(text.parse().unwrap())
    }

    #[test]
    fn nesting_is_deep_and_sequences_are_flat() {
        let many = |text: &str| text.repeat(1000);
        for deep in [
            many("(") + &many(")"),
            format!("const A: u8 = {}1;", many("!")),
            format!("const A: u8 = 1{};", many("+ 1")),
            format!("fn a() {{ {} {{}} }}", many("if b {} else ")),
            format!("type A = {}u8{};", many("A<u8, "), many(">")),
            format!("fn a() {{ {}1 }}", many("|a, b| ")),
            format!("fn a() {{ {}1 }}", many("return ")),
            format!("m!{}{}", many("["), many("]")),
            format!("fn a() {{ {}1 }}", many("#[b] !")),
            format!("{}{} fn a() {{}}", many("#[b("), many(")]")),
        ] {
            assert!(of(&deep) >= 1000, "{}", &deep[..40]);
        }
        for flat in [
            many("fn a(b: u8) -> u8 { b } "),
            many("#![doc = \"a\"] ") + "fn a() {}",
            many("/// a\n") + "fn a() {}",
            format!("fn a() {{ {} }}", many("let b = #[c] d; ")),
            many("impl A {} #[b] pub struct C {} "),
            format!("const A: [u8; 1000] = [{}];", many("1,")),
            format!("fn a() {{ {} }}", many("let b = c.d(); if b {} e!(f); ")),
            format!("m!({})", many("+ 1 ")),
        ] {
            assert!(of(&flat) < 40, "{}: {}", of(&flat), &flat[..40]);
        }
    }
}
