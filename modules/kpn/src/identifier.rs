//! Identifiers of the target language for names of the graph, which may be any string.
//!
//! Every identifier in generated code comes from an [`Identifiers`] scope. Therefore it is valid,
//! is not a keyword, and is unique in its scope, for any names in the graph.

use std::collections::BTreeSet;

/// Iterates over the words of a text of code: the longest runs of letters, digits and underscores.
/// Every identifier in the code is one of them. Numbers and keywords are included.
pub fn words_of(code: &str) -> impl Iterator<Item = &str> {
    code.split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .filter(|word| !word.is_empty())
}

/// Target language of an identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// Rust, edition 2024.
    Rust,
    /// C, with the keywords up to C23 and the keywords of C++.
    C,
}

/// Spelling of an identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Case {
    /// `in_task`: fields, functions, files.
    Snake,
    /// `InTask`: types.
    Camel,
    /// The name itself, apart from characters that an identifier cannot contain.
    Kept,
}

/// The identifiers of a scope. Each is returned once.
#[derive(Clone, Debug)]
pub struct Identifiers {
    language: Language,
    taken: BTreeSet<String>,
}

impl Identifiers {
    /// Creates an empty scope. `reserved` contains names that the generated code uses itself.
    pub fn new(language: Language, reserved: &[&str]) -> Identifiers {
        Identifiers {
            language,
            taken: reserved.iter().map(|&name| name.to_owned()).collect(),
        }
    }

    /// Returns an identifier for `name` that is unique in this scope.
    ///
    /// The second value is true if this is the identifier that [`identifier`] returns. It is false
    /// if that identifier is in use or reserved. The smallest number from 2 that makes it unique is
    /// then appended. An underscore separates the number, except with [`Case::Camel`]. Trailing
    /// underscores are removed before.
    pub fn take(&mut self, name: &str, case: Case) -> (String, bool) {
        let plain = identifier(name, case, self.language);
        if self.taken.insert(plain.clone()) {
            return (plain, true);
        }
        // Numbers in use are nearly contiguous, so this loop is short.
        let mut number = 2;
        loop {
            let separator = if case == Case::Camel { "" } else { "_" };
            let numbered = format!("{}{separator}{number}", plain.trim_end_matches('_'));
            if self.taken.insert(numbered.clone()) {
                return (numbered, false);
            }
            number += 1;
        }
    }
}

/// Names that generated C code uses itself.
const RESERVED_C: &[&str] = &["main", "wire", "sequence", "i"];

/// Returns a unique name in C for each kind, in order. If names collide, later kinds get a number.
/// A kind also gets a number if generated code uses its name itself (`main`).
///
/// All C code that graphmap writes uses these names for kinds. They may be names of functions of
/// the C library. Therefore generated functions of a kind have a suffix: `strlen_process`.
pub fn kinds_in_c<'n>(names: impl Iterator<Item = &'n str>) -> Vec<String> {
    let mut scope = Identifiers::new(Language::C, RESERVED_C);
    names.map(|name| scope.take(name, Case::Kept).0).collect()
}

/// Returns a valid identifier for a name. It is not a keyword, but may not be unique.
///
/// ASCII letters and digits remain. Other letters and digits become their code points (`u00e9`),
/// and all other characters separate words. With [`Case::Snake`], words are in lower case and
/// joined by underscores. With [`Case::Camel`], each word begins with a capital. With
/// [`Case::Kept`], letters keep their case, underscores remain, runs of other characters become an
/// underscore, and leading underscores are removed. A keyword gets a trailing underscore (`in_`),
/// and a leading digit gets a prefix `n`. A name without letters and digits becomes `unnamed`. With
/// [`Case::Camel`], these are `N` and `Unnamed`.
pub fn identifier(name: &str, case: Case, language: Language) -> String {
    let mut result = match case {
        Case::Snake => words(name).join("_"),
        Case::Camel => words(name).iter().map(|word| capitalised(word)).collect(),
        Case::Kept => kept(name),
    };
    if result.is_empty() {
        result = match case {
            Case::Camel => "Unnamed".into(),
            _ => "unnamed".into(),
        };
    }
    if result.starts_with(|c: char| c.is_ascii_digit()) {
        result.insert(0, if case == Case::Camel { 'N' } else { 'n' });
    }
    if is_keyword(&result, language) {
        result.push('_');
    }
    result
}

/// Returns the words of a name in lower case, without empty words. Letters and digits that are not
/// ASCII become their code points (`u00e9`).
///
/// Words are separated by characters other than letters and digits. An ASCII capital begins a word
/// after a lower-case letter or a digit, or between a capital and a lower-case letter: `inTask` is
/// `in`, `task`, and `HTTPServer` is `http`, `server`.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let characters: Vec<char> = name.chars().collect();
    for (i, &c) in characters.iter().enumerate() {
        if !c.is_alphanumeric() {
            words.push(String::new());
            continue;
        }
        let before = i.checked_sub(1).map(|b| characters[b]);
        let after = characters.get(i + 1);
        let begins = c.is_ascii_uppercase()
            && before.is_some_and(|b| {
                b.is_ascii_lowercase()
                    || b.is_ascii_digit()
                    || (b.is_ascii_uppercase() && after.is_some_and(char::is_ascii_lowercase))
            });
        if begins {
            words.push(String::new());
        }
        let word = words.last_mut().expect("begins with one");
        if c.is_ascii() {
            word.push(c.to_ascii_lowercase());
        } else {
            word.push_str(&format!("u{:04x}", u32::from(c)));
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

fn capitalised(word: &str) -> String {
    let mut characters = word.chars();
    let first = characters.next().map(|c| c.to_ascii_uppercase());
    first.into_iter().chain(characters).collect()
}

/// Returns the name with an underscore for each run of characters that an identifier cannot
/// contain. Letters and digits that are not ASCII become their code points. Leading underscores are
/// removed, so that the result may be empty.
fn kept(name: &str) -> String {
    let mut result = String::new();
    for c in name.chars() {
        if c.is_ascii_alphanumeric() || c == '_' {
            result.push(c);
        } else if c.is_alphanumeric() {
            result.push_str(&format!("u{:04x}", u32::from(c)));
        } else if !result.ends_with('_') {
            result.push('_');
        }
    }
    // In C, identifiers with a leading underscore are reserved for the implementation.
    let result = result.trim_start_matches('_');
    result.to_owned()
}

/// Returns true if a word must not be an identifier in the language: a keyword, and in C also a
/// macro such as `errno` or `linux`.
pub fn is_keyword(word: &str, language: Language) -> bool {
    let words = match language {
        Language::Rust => RUST_KEYWORDS,
        Language::C => C_KEYWORDS,
    };
    words.binary_search(&word).is_ok()
}

/// Sorted. Includes words reserved for future use.
const RUST_KEYWORDS: &[&str] = &[
    "Self", "abstract", "as", "async", "await", "become", "box", "break", "const", "continue",
    "crate", "do", "dyn", "else", "enum", "extern", "false", "final", "fn", "for", "gen", "if",
    "impl", "in", "let", "loop", "macro", "match", "mod", "move", "mut", "override", "priv", "pub",
    "ref", "return", "self", "static", "struct", "super", "trait", "true", "try", "type", "typeof",
    "unsafe", "unsized", "use", "virtual", "where", "while", "yield",
];

/// Sorted.
const C_KEYWORDS: &[&str] = &[
    "NULL",
    "alignas",
    "alignof",
    "and",
    "asm",
    "auto",
    "bool",
    "break",
    "case",
    "catch",
    "char",
    "class",
    "const",
    "constexpr",
    "continue",
    "default",
    "delete",
    "do",
    "double",
    "else",
    "enum",
    "errno",
    "explicit",
    "export",
    "extern",
    "false",
    "float",
    "for",
    "friend",
    "goto",
    "if",
    "inline",
    "int",
    "linux",
    "long",
    "mutable",
    "namespace",
    "new",
    "not",
    "nullptr",
    "operator",
    "or",
    "private",
    "protected",
    "public",
    "register",
    "restrict",
    "return",
    "short",
    "signed",
    "sizeof",
    "static",
    "struct",
    "switch",
    "template",
    "this",
    "throw",
    "true",
    "try",
    "typedef",
    "typename",
    "typeof",
    "union",
    "unix",
    "unsigned",
    "using",
    "virtual",
    "void",
    "volatile",
    "wchar_t",
    "while",
    "xor",
];

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_become_what_the_language_calls_good_style() {
        let rust = |name, case| identifier(name, case, Language::Rust);
        for (name, snake, camel) in [
            ("inTask", "in_task", "InTask"),
            ("in", "in_", "In"),
            ("HTTPServer", "http_server", "HttpServer"),
            ("Put.out", "put_out", "PutOut"),
            ("row_", "row", "Row"),
            ("4", "n4", "N4"),
            ("", "unnamed", "Unnamed"),
            ("->", "unnamed", "Unnamed"),
            ("self", "self_", "Self_"),
            ("caf\u{e9}", "cafu00e9", "Cafu00e9"),
            ("a b\nc", "a_b_c", "ABC"),
        ] {
            assert_eq!(rust(name, Case::Snake), snake, "{name:?}");
            assert_eq!(rust(name, Case::Camel), camel, "{name:?}");
        }
        assert_eq!(identifier("inTask", Case::Kept, Language::C), "inTask");
        assert_eq!(identifier("__a-+b", Case::Kept, Language::C), "a_b");
        assert_eq!(identifier("int", Case::Kept, Language::C), "int_");
    }

    #[test]
    fn a_name_taken_gets_a_number() {
        let mut scope = Identifiers::new(Language::Rust, &["net"]);
        assert_eq!(scope.take("outReq", Case::Snake), ("out_req".into(), true));
        assert_eq!(
            scope.take("out.req", Case::Snake),
            ("out_req_2".into(), false)
        );
        assert_eq!(
            scope.take("out_req2", Case::Snake),
            ("out_req2".into(), true)
        );
        assert_eq!(scope.take("net", Case::Snake), ("net_2".into(), false));
    }

    #[test]
    fn keyword_lists_are_sorted() {
        assert!(RUST_KEYWORDS.is_sorted());
        assert!(C_KEYWORDS.is_sorted());
    }

    proptest! {
        #[test]
        fn any_strings_give_valid_and_unique_identifiers(
            names in prop::collection::vec("\\PC{0,8}|[a-cA-C_.0-2]{0,4}|in|type|self", 1..30)
        ) {
            for language in [Language::Rust, Language::C] {
                for case in [Case::Snake, Case::Camel, Case::Kept] {
                    let mut scope = Identifiers::new(language, &[]);
                    let mut seen = BTreeSet::new();
                    for name in &names {
                        let (id, _) = scope.take(name, case);
                        prop_assert!(id.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'));
                        prop_assert!(id.starts_with(|c: char| c.is_ascii_alphabetic()), "{}", id);
                        prop_assert!(!is_keyword(&id, language));
                        prop_assert!(seen.insert(id));
                    }
                }
            }
        }
    }
}
