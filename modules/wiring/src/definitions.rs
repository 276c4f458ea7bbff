//! What the sources of a program say of types, by name: where they are defined, and what lays them out as bytes.
//!
//! Only the compiler knows what a name means. So what is not plain here makes a name, or all of them, uncertain.

use crate::identifier::{Language, is_keyword};
use crate::inert;
use crate::lexer::{Token, Tokens, tokens};
use std::collections::HashSet;

/// Most names that are kept of each sort.
const MOST_NAMES: usize = 100_000;

/// What has been read of a program so far.
pub(crate) struct Definitions<'w> {
    /// The names that somebody asks for.
    wanted: &'w HashSet<String>,
    /// Those that the file of the types defines, at its top and plainly.
    own: HashSet<String>,
    /// Those that are handed to a macro nobody knows.
    handed: HashSet<String>,
    /// All types that are defined anywhere.
    defined: HashSet<String>,
    /// All names that `payload!` has, or `Payload` is implemented for.
    laid_out: HashSet<String>,
    /// The macros that the sources define, in which what they do is read.
    macros: HashSet<String>,
    /// Those that are called where they may define anything, and that nobody knows.
    called: HashSet<String>,
    /// Whether the types are in a file of their own.
    has_file: bool,
}

impl<'w> Definitions<'w> {
    pub(crate) fn new(wanted: &'w HashSet<String>) -> Definitions<'w> {
        Definitions {
            wanted,
            own: HashSet::new(),
            handed: HashSet::new(),
            defined: HashSet::new(),
            laid_out: HashSet::new(),
            macros: HashSet::new(),
            called: HashSet::new(),
            has_file: false,
        }
    }

    /// Reads a file: that of the types, or another. `None` where it has what cannot be followed, or too much, so that nothing
    /// is certain.
    pub(crate) fn read(&mut self, text: &str, is_types: bool) -> Option<()> {
        let scan = Scan {
            tokens: tokens(text),
            depth: 0,
            items: 0,
            rules: None,
            handed: None,
            header: Header::None,
            is_plain: true,
            is_types,
            found: self,
        };
        scan.run()
    }

    /// Whether a name is a type of the program's that nothing lays out.
    pub(crate) fn lacks_format(&self, name: &str) -> bool {
        // What is no type by itself may be another name of any.
        self.has_file
            && self.laid_out.is_subset(&self.defined)
            && self.called.is_subset(&self.macros)
            && self.own.contains(name)
            && !self.laid_out.contains(name)
            && !self.handed.contains(name)
    }
}

/// What is handed to a macro that nobody knows.
#[derive(Clone, Copy)]
enum Handed {
    /// Its arguments: while more brackets are open.
    Arguments(usize),
    /// An item behind an attribute or derive: to its end, among so many open brackets.
    Item(usize),
}

/// The beginning of an item that is being read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Header {
    None,
    /// `type Name`, before `=`.
    Type,
    /// What it is another name of.
    Alias,
    /// `impl`; whether a macro's arguments are in it.
    Impl(bool),
    /// `const _`, in whose block may be items.
    Const,
}

/// A walk through a file.
struct Scan<'a, 'd, 'w> {
    tokens: Tokens<'a>,
    /// How many brackets are open.
    depth: usize,
    /// How many of these, from the first, have items in them as the file itself has.
    items: usize,
    /// How many were open before the definition of a macro, within it.
    rules: Option<usize>,
    handed: Option<Handed>,
    header: Header,
    /// Whether the attributes before an item at the top define nothing more.
    is_plain: bool,
    is_types: bool,
    found: &'d mut Definitions<'w>,
}

impl<'a> Scan<'a, '_, '_> {
    fn run(mut self) -> Option<()> {
        while let Some(token) = self.tokens.next() {
            match token {
                Token::Open(bracket) => self.open(bracket),
                Token::Close(bracket) => self.close(bracket),
                Token::Sign('#') => self.attribute()?,
                Token::Sign(sign) => self.sign(sign)?,
                Token::Word(word) => self.word(word)?,
                Token::Literal | Token::Lifetime => {}
            }
        }
        Some(())
    }

    fn open(&mut self, bracket: char) {
        self.depth += 1;
        if bracket == '{' || self.header == Header::Alias {
            self.header = Header::None;
        }
    }

    /// A bracket in which there are items, as it is among items itself.
    fn open_items(&mut self, ahead: Tokens<'a>) {
        self.tokens = ahead;
        if self.items == self.depth {
            self.items += 1;
        }
        self.open('{');
    }

    fn close(&mut self, bracket: char) {
        self.depth = self.depth.saturating_sub(1);
        self.items = self.items.min(self.depth);
        self.rules = self.rules.filter(|before| *before < self.depth);
        // Within `<` and `>` a block is a number, and the item goes on.
        let goes_on = || matches!(self.tokens.clone().next(), Some(Token::Sign('>' | ',')));
        let is_end = bracket == '}' && !goes_on();
        self.handed = self.handed.filter(|handed| match handed {
            Handed::Arguments(before) => *before < self.depth,
            Handed::Item(among) => *among < self.depth || (*among == self.depth && !is_end),
        });
        // That of `pub(crate)` ends no item.
        self.is_plain |= self.depth == 0 && is_end;
    }

    fn sign(&mut self, sign: char) -> Option<()> {
        let mut ahead = self.tokens.clone();
        match (sign, self.header) {
            (';', _) => {
                self.is_plain |= self.depth == 0;
                let is_end =
                    |handed: &Handed| matches!(handed, Handed::Item(among) if *among == self.depth);
                self.handed = self.handed.filter(|handed| !is_end(handed));
                self.header = Header::None;
            }
            ('=', Header::Type) => self.header = Header::Alias,
            ('=', Header::Const) if matches!(ahead.next(), Some(Token::Open('{'))) => {
                self.open_items(ahead);
            }
            (':', _) => {}
            (_, Header::Alias) => self.header = Header::None,
            // In a macro: `impl $of for Name`, `impl $($of)::+ for Name`.
            ('$', header) => {
                let word = ahead.next();
                if header == Header::Impl(false) && word != Some(Token::Word("crate")) {
                    self.header = Header::Impl(true);
                } else if is_word(word) && ahead.next() == Some(Token::Word("for")) {
                    self.implemented(ahead)?;
                }
            }
            _ => {}
        }
        Some(())
    }

    fn word(&mut self, word: &'a str) -> Option<()> {
        let mut ahead = self.tokens.clone();
        let next = ahead.next();
        // Under another name it is not found.
        let is_renamed = next == Some(Token::Word("as")) || self.header == Header::Alias;
        if self.handed.is_some() || is_renamed {
            self.hand(word);
        }
        match (word, next) {
            ("include", Some(Token::Sign('!'))) => return None,
            ("payload", Some(Token::Sign('!'))) if is_open(ahead.next()) => {
                self.depth += 1;
                self.tokens = ahead;
                self.laid_out()?;
            }
            ("Payload", Some(Token::Word("for"))) => self.implemented(ahead)?,
            ("Payload", Some(Token::Word("as"))) if ahead.next() != Some(Token::Word("_")) => {
                return None;
            }
            ("for", Some(next))
                if self.header == Header::Impl(true) && next != Token::Sign('<') =>
            {
                self.header = Header::None;
                self.implemented(self.tokens.clone())?;
            }
            ("impl", _) => self.header = Header::Impl(false),
            ("type", Some(Token::Word(_))) => self.header = Header::Type,
            ("const", Some(Token::Word("_"))) => self.header = Header::Const,
            ("mod", Some(Token::Word("types"))) => match ahead.next() {
                Some(Token::Sign(';')) => self.found.has_file = true,
                _ => return None,
            },
            ("mod", Some(Token::Word(_))) if is_open(ahead.next()) => self.open_items(ahead),
            ("struct" | "enum" | "union", Some(Token::Word(name))) => {
                let is_own = self.is_types && self.depth == 0 && self.is_plain;
                if is_own && self.found.wanted.contains(name) {
                    self.found.own.insert(name.to_owned());
                }
                keep(&mut self.found.defined, name)?;
            }
            ("macro_rules", Some(Token::Sign('!'))) => {
                if let Some(Token::Word(name)) = ahead.next() {
                    keep(&mut self.found.macros, name)?;
                    self.rules = self.rules.or(Some(self.depth));
                }
            }
            (_, Some(Token::Sign('!'))) if is_open(ahead.next()) => self.called(word)?,
            _ => {}
        }
        Some(())
    }

    /// A macro that is called, or what only looks like one.
    fn called(&mut self, word: &str) -> Option<()> {
        if is_keyword(word, Language::Rust) || inert::MACROS.contains(&word) {
            return Some(());
        }
        if self.handed.is_none() {
            self.handed = Some(Handed::Arguments(self.depth));
        }
        // Among items it may read anything, and define formats of types that it does not name. In the body of a function
        // that is not done: what is called there is of the kind of `join!`.
        match self.items == self.depth || self.rules.is_some() {
            true => keep(&mut self.found.called, word),
            false => Some(()),
        }
    }

    /// What stands in `payload!`, behind its bracket. `None` where another macro says it.
    fn laid_out(&mut self) -> Option<()> {
        let mut ahead = self.tokens.clone();
        let mut first = ahead.next();
        if first == Some(Token::Word("enum")) {
            self.tokens = ahead.clone();
            first = ahead.next();
        }
        match first {
            Some(Token::Word(name)) => keep(&mut self.found.laid_out, name),
            Some(Token::Sign('$')) => None,
            _ => Some(()),
        }
    }

    /// What stands behind `Payload for`: a path, or nothing of interest. `None` where another macro says it.
    fn implemented(&mut self, mut ahead: Tokens<'a>) -> Option<()> {
        let mut last = None;
        let mut may_follow = true;
        loop {
            match ahead.next() {
                Some(Token::Open(_)) if last.is_none() => {}
                Some(Token::Sign(':')) => may_follow = true,
                Some(Token::Word(word)) if may_follow => {
                    last = Some(word);
                    may_follow = false;
                }
                Some(Token::Sign('$')) if ahead.clone().next() == Some(Token::Word("crate")) => {}
                // Of a macro, or what a trait says.
                Some(Token::Sign('$' | '<')) if last.is_none() => return None,
                _ => break,
            }
        }
        match last {
            Some(name) => keep(&mut self.found.laid_out, name),
            None => Some(()),
        }
    }

    /// Behind `#`. `None` where it leads to a file with a name of its own.
    fn attribute(&mut self) -> Option<()> {
        let mut ahead = self.tokens.clone();
        let mut open = ahead.next();
        let is_inner = open == Some(Token::Sign('!'));
        if is_inner {
            open = ahead.next();
        }
        if !is_open(open) {
            return Some(());
        }
        let (mut depth, mut first, mut is_plain, mut before) = (1, None, true, None);
        let start = ahead.clone();
        while depth > 0 {
            let token = ahead.next()?;
            match token {
                Token::Open(_) => depth += 1,
                Token::Close(_) => depth -= 1,
                Token::Sign('=') if before == Some(Token::Word("path")) => return None,
                Token::Word(word) => {
                    let first = *first.get_or_insert(word);
                    is_plain &= inert::ATTRIBUTES.contains(&first);
                    is_plain &= first != "derive" || inert::DERIVES.contains(&word);
                }
                _ => {}
            }
            before = Some(token);
        }
        if !is_plain {
            self.is_plain = false;
            // A macro may be an attribute, too, and sees its whole item. Those of a file are none.
            self.hand_all(start);
            let is_macro =
                !is_inner && first.is_some_and(|first| !inert::BUILT_IN.contains(&first));
            if is_macro && self.handed.is_none() {
                self.handed = Some(Handed::Item(self.depth));
            }
        }
        self.tokens = ahead;
        Some(())
    }

    /// Notes what is named in the attribute that begins here.
    fn hand_all(&mut self, tokens: Tokens<'a>) {
        let mut depth = 1;
        for token in tokens {
            match token {
                Token::Open(_) => depth += 1,
                Token::Close(_) => depth -= 1,
                Token::Word(word) => self.hand(word),
                Token::Literal | Token::Lifetime | Token::Sign(_) => {}
            }
            if depth == 0 {
                return;
            }
        }
    }

    fn hand(&mut self, word: &str) {
        if self.found.wanted.contains(word) {
            self.found.handed.insert(word.to_owned());
        }
    }
}

fn is_open(token: Option<Token<'_>>) -> bool {
    matches!(token, Some(Token::Open(_)))
}

fn is_word(token: Option<Token<'_>>) -> bool {
    matches!(token, Some(Token::Word(_)))
}

/// Adds a name, unless there are too many.
fn keep(names: &mut HashSet<String>, name: &str) -> Option<()> {
    if !names.contains(name) {
        names.insert(name.to_owned());
    }
    (names.len() <= MOST_NAMES).then_some(())
}

#[cfg(test)]
mod tests;
