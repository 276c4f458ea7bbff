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
            has_file: false,
        }
    }

    /// Reads a file: that of the types, or another. `None` where it has what cannot be followed, or too much, so that nothing
    /// is certain.
    pub(crate) fn read(&mut self, text: &str, is_types: bool) -> Option<()> {
        let scan = Scan {
            tokens: tokens(text),
            depth: 0,
            handed: None,
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
            && self.own.contains(name)
            && !self.laid_out.contains(name)
            && !self.handed.contains(name)
    }
}

/// A walk through a file.
struct Scan<'a, 'd, 'w> {
    tokens: Tokens<'a>,
    /// How many brackets are open.
    depth: usize,
    /// How many were open before the arguments of a macro that nobody knows.
    handed: Option<usize>,
    /// Whether the attributes before an item at the top define nothing more.
    is_plain: bool,
    is_types: bool,
    found: &'d mut Definitions<'w>,
}

impl<'a> Scan<'a, '_, '_> {
    fn run(mut self) -> Option<()> {
        while let Some(token) = self.tokens.next() {
            match token {
                Token::Open => self.depth += 1,
                Token::Close => {
                    self.depth = self.depth.saturating_sub(1);
                    self.handed = self.handed.filter(|before| *before < self.depth);
                    self.is_plain |= self.depth == 0;
                }
                Token::Sign(';') => self.is_plain |= self.depth == 0,
                Token::Sign('#') => self.attribute()?,
                // In a macro: `impl $of for Name`.
                Token::Sign('$') => {
                    let mut ahead = self.tokens.clone();
                    if is_word(ahead.next()) && ahead.next() == Some(Token::Word("for")) {
                        self.implemented(ahead)?;
                    }
                }
                Token::Word(word) => self.word(word)?,
                Token::Literal | Token::Lifetime | Token::Sign(_) => {}
            }
        }
        Some(())
    }

    fn word(&mut self, word: &'a str) -> Option<()> {
        let mut ahead = self.tokens.clone();
        let next = ahead.next();
        if self.handed.is_some() {
            self.hand(word);
        }
        match (word, next) {
            ("include", Some(Token::Sign('!'))) => return None,
            ("payload", Some(Token::Sign('!'))) if ahead.next() == Some(Token::Open) => {
                self.depth += 1;
                self.tokens = ahead;
                self.laid_out()?;
            }
            ("Payload", Some(Token::Word("for"))) => self.implemented(ahead)?,
            // Under another name it is not found.
            ("Payload", Some(Token::Word("as"))) if ahead.next() != Some(Token::Word("_")) => {
                return None;
            }
            ("mod", Some(Token::Word("types"))) => match ahead.next() {
                Some(Token::Sign(';')) => self.found.has_file = true,
                _ => return None,
            },
            ("struct" | "enum" | "union", Some(Token::Word(name))) => {
                let is_own = self.is_types && self.depth == 0 && self.is_plain;
                if is_own && self.found.wanted.contains(name) {
                    self.found.own.insert(name.to_owned());
                }
                keep(&mut self.found.defined, name)?;
            }
            (_, Some(Token::Sign('!'))) if ahead.next() == Some(Token::Open) => {
                let is_macro = !is_keyword(word, Language::Rust) && !inert::MACROS.contains(&word);
                if is_macro && self.handed.is_none() {
                    self.handed = Some(self.depth);
                }
            }
            _ => {}
        }
        Some(())
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
                Some(Token::Open) if last.is_none() => {}
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
        if open == Some(Token::Sign('!')) {
            open = ahead.next();
        }
        if open != Some(Token::Open) {
            return Some(());
        }
        let (mut depth, mut first, mut is_plain, mut before) = (1, None, true, None);
        let start = ahead.clone();
        while depth > 0 {
            let token = ahead.next()?;
            match token {
                Token::Open => depth += 1,
                Token::Close => depth -= 1,
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
            // A macro may be an attribute, too.
            self.hand_all(start);
        }
        self.tokens = ahead;
        Some(())
    }

    /// Notes what is named in the attribute that begins here.
    fn hand_all(&mut self, tokens: Tokens<'a>) {
        let mut depth = 1;
        for token in tokens {
            match token {
                Token::Open => depth += 1,
                Token::Close => depth -= 1,
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
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Whether `Item` lacks a format in a program of these types and another file.
    fn lacks(types: &str, other: &str) -> bool {
        let wanted = HashSet::from(["Item".to_owned()]);
        let mut found = Definitions::new(&wanted);
        let files = [(types, true), (other, false), ("mod types;", false)];
        let all = files
            .iter()
            .try_for_each(|(text, is_types)| found.read(text, *is_types));
        all.is_some() && found.lacks_format("Item")
    }

    #[test]
    fn formats_are_found_however_they_are_written() {
        for format in [
            "graphmap_runtime::payload!(Item);",
            "rt::payload! { Item { a, b } }",
            "payload![Item];",
            "payload !\t(\r\n\tItem\r\n);",
            "payload!(// why\n Item);",
            "payload /* a */ ! /* b */ ( /* c /* d */ */ Item );",
            "payload!(r#Item);",
            "payload!(enum Item { A, B(x) });",
            "payload!(enum /* a */ Item { A });",
            "payload!(Item<T> { rows });",
            "payload!(Item by to_text, from_text);",
            "impl rt::Payload for crate::types::Item {",
            "impl<T: Payload> Payload for Item<T>\nwhere",
            "impl<T> rt::Payload\r\n    for crate :: types::Item<T>",
            "impl Payload/* a */for// b\n(Item) {",
            "impl Payload for r#Item {",
            "impl Payload for ((crate::types::Item)) {",
            "impl r#Payload for Item where u8: Copy {",
            "fn f() { impl Payload for Item {} }",
            "macro_rules! all { () => { payload!(Item); impl $crate::Payload for Item {} } }",
        ] {
            assert!(!lacks("pub struct Item;", format), "{format}");
            assert!(
                !lacks(&format!("pub struct Item;\n{format}"), ""),
                "{format}"
            );
        }
    }

    #[test]
    fn what_only_looks_like_a_format_is_none() {
        for other in [
            "",
            "payload!(Items); struct Items;",
            "impl Payload for Items {} struct Items;",
            "// payload!(Item);",
            "/* payload!(Item); /* */ impl Payload for Item {} */",
            "/// ```\n/// payload!(Item);\n/// ```\nfn f() {}",
            "const A: &str = \"payload!(Item)\";",
            "const A: &str = r#\"\"impl Payload for Item\"#;",
            "const A: char = '\"'; // payload!(Item) \"",
            "impl MyPayload for Item {}",
            "impl Payloads for Item {}",
            "impl Other for Item where u8: Payload {}",
            "fn f<T: Payload>() { for Item in [] {} }",
            "use graphmap_runtime::Payload as _;",
            "fn f() { <Other as Payload>::size(&x); }",
            "#[derive(Payload)] struct Other;",
            "fn f() { let all = vec![Item; 3]; assert_eq!(all[0], Item); matches!(x, Item) }",
            "fn f() { tokio::join!(a, b); } fn g(item: Item) -> Item { item }",
            "const A: &[u8] = include_bytes!(\"a\");",
            "fn f(x: bool) { if !(x) { return !(Item::x()) } }",
            "impl std::fmt::Display for Item {}",
        ] {
            assert!(lacks("pub struct Item;", other), "{other}");
        }
    }

    #[test]
    fn a_type_is_defined_at_the_top_of_its_file_and_plainly() {
        for (types, is_own) in [
            ("pub struct Item {", true),
            ("enum\r\n\tItem<T> {", true),
            ("union Item {}", true),
            ("pub(crate) struct/* a */r#Item(u8);", true),
            (
                "#[allow(x)]\n#[derive(Clone, std::fmt::Debug, serde::Serialize)]\n#[repr(C)] struct Item;",
                true,
            ),
            (
                "//! Types.\n/// One.\n#[doc = \"path = 1\"]\npub struct Item;",
                true,
            ),
            ("#[derive(Other)] struct Other;\nstruct Item;", true),
            ("mod a { #[other] struct A; } struct Item;", true),
            ("const A: [u8; 2] = [b'{', '}' as u8]; struct Item;", true),
            ("// struct Item;", false),
            ("/* struct Item; */", false),
            ("/// struct Item;\nstruct Other;", false),
            ("const A: &str = \"struct Item;\";", false),
            ("pub type Item = u64; mod inner { pub struct Item; }", false),
            (
                "pub use inner::Thing as Item; mod inner { pub struct Thing; struct Item; }",
                false,
            ),
            ("pub use other::Item;", false),
            ("struct Items;", false),
            ("define! { struct Item; }", false),
            ("define!(Item); struct Item;", false),
            ("#[cfg(a)] pub struct Item;", false),
            ("#[derive(Clone, Wire)] pub struct Item;", false),
            ("#[wire::layout]\n/// One.\npub struct Item;", false),
            ("#[cfg_attr(a, derive(Wire))] pub struct Item;", false),
            ("macro_rules! item { () => { struct Item; } }", false),
        ] {
            assert_eq!(lacks(types, ""), is_own, "{types}");
        }
        let wanted = HashSet::from(["Item".to_owned()]);
        let mut found = Definitions::new(&wanted);
        found.read("struct Item;", true).unwrap();
        assert!(
            !found.lacks_format("Item"),
            "nothing says that this file is `types`"
        );
    }

    #[test]
    fn what_cannot_be_followed_is_uncertain() {
        for other in [
            "include!(\"more.rs\");",
            "fn f() { std::include! [concat!(\"a\", \"b\")] }",
            "#[path = \"elsewhere.rs\"] mod more;",
            "#[cfg_attr(a, path = \"elsewhere.rs\")] mod more;",
            "mod types { pub struct Item; }",
            "use graphmap_runtime::Payload as Wire; impl Wire for Item {}",
            "use graphmap_runtime::payload as lay; lay!(Item);",
            "use crate::types::Item as Thing; payload!(Thing);",
            "type Thing = crate::types::Item; impl Payload for Thing {}",
            "my_payload!(Item);",
            "const _: () = { my::payloads! { (Item, Other) } };",
            "#[layout(Item)] mod more {}",
            "macro_rules! lay { ($t:ident) => { payload!($t); } }",
            "macro_rules! lay { ($t:ident) => { payload!(enum $t { A }); } }",
            "macro_rules! lay { ($t:ty) => { impl rt::Payload for $t {} } }",
            "macro_rules! lay { ($of:ident) => { impl $of for Item {} } }",
            "impl Payload for <Other as Of>::Type {}",
            "#[never closed",
        ] {
            assert!(!lacks("pub struct Item;", other), "{other}");
        }
        let many: String = (0..=MOST_NAMES)
            .map(|number| format!("struct A{number};"))
            .collect();
        assert!(!lacks("pub struct Item;", &many));
    }

    proptest! {
        #[test]
        fn any_text_is_read(
            words in prop::collection::vec(
                "payload|Payload|for|enum|struct|Item|mod|types|include|path|my|[!#$;:=<>(){}\\[\\]\"'/]|as|_|derive|\\PC", 0..40
            )
        ) {
            let wanted = HashSet::from(["Item".to_owned()]);
            let _ = Definitions::new(&wanted).read(&words.join(" "), true);
            let _ = Definitions::new(&wanted).read(&words.concat(), true);
        }
    }
}
