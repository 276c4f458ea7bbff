//! Imports between the files of a crate, and the cycles of imports.
//!
//! An import is a path in code, in a `use` or in other code, that leads to an item of another file
//! of the crate. A name that a module only re-exports (`pub use`) leads to the file of the item.
//! Therefore a `mod.rs` that only declares and re-exports has no imports. Tests are not examined.

pub(crate) mod layers;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Files of a crate by module path (`exec::shared`; the root is ``), each with the files that it
/// imports from.
pub(crate) type Imports = BTreeMap<String, BTreeSet<String>>;

/// One file: the names that it imports or re-exports, and all paths in its code.
#[derive(Default)]
struct Source {
    /// Path of each imported name, and whether the name is re-exported.
    names: BTreeMap<String, (Vec<String>, bool)>,
    /// Path of each `use path::*`, and whether it is re-exported.
    globs: Vec<(Vec<String>, bool)>,
    /// Paths within expressions, types and patterns.
    paths: Vec<Vec<String>>,
    /// Words outside `use`, except the later segments of paths.
    words: BTreeSet<String>,
    /// Items that the file defines: the words after `struct`, `fn` and so on.
    items: BTreeSet<String>,
}

/// Returns the imports of each file of a crate. `files` contains the paths of its sources, relative
/// to `src`, and their texts.
pub(crate) fn imports<'a>(files: impl IntoIterator<Item = (&'a Path, &'a str)>) -> Imports {
    let mut sources = BTreeMap::new();
    for (path, text) in files {
        let module = module(path);
        let of_tests = module.split("::").any(|part| part == "tests");
        if !of_tests {
            sources.insert(module, text);
        }
    }
    let modules: BTreeSet<String> = sources.keys().cloned().collect();
    let sources: BTreeMap<String, Source> = sources
        .into_iter()
        .map(|(module, text)| {
            let source = read(&module, text, &modules);
            (module, source)
        })
        .collect();
    let crate_ = Crate { sources };
    let used = |module: &String| (module.clone(), crate_.used_by(module));
    crate_.sources.keys().map(used).collect()
}

/// Returns the groups of files that reach each other by imports. Each group has at least one cycle.
pub(crate) fn cycles(imports: &Imports) -> Vec<BTreeSet<String>> {
    let reached: BTreeMap<&String, BTreeSet<&String>> = imports
        .keys()
        .map(|from| {
            let mut found = BTreeSet::new();
            let mut todo = vec![from];
            while let Some(at) = todo.pop() {
                todo.extend(imports[at].iter().filter(|to| found.insert(*to)));
            }
            (from, found)
        })
        .collect();
    let mut cycles = BTreeSet::new();
    for (from, found) in &reached {
        let mutual = found.iter().filter(|to| reached[*to].contains(from));
        let group: BTreeSet<String> = mutual.map(|to| to.to_string()).collect();
        if group.len() > 1 {
            cycles.insert(group);
        }
    }
    cycles.into_iter().collect()
}

struct Crate {
    sources: BTreeMap<String, Source>,
}

impl Crate {
    fn used_by(&self, module: &str) -> BTreeSet<String> {
        let source = &self.sources[module];
        let mut used = BTreeSet::new();
        for (name, (path, public)) in &source.names {
            // A re-exported name that occurs nowhere else is not used here.
            if !public || source.words.contains(name) {
                used.extend(self.defines(path, &mut BTreeSet::new()));
            }
        }
        for (path, public) in &source.globs {
            if !public {
                used.insert(self.split(path).0);
            }
        }
        for path in &source.paths {
            used.extend(self.defines(path, &mut BTreeSet::new()));
        }
        used.remove(module);
        used
    }

    /// Splits a path into its longest prefix that is a module, and the rest.
    fn split<'p>(&self, path: &'p [String]) -> (String, &'p [String]) {
        let is_module = |length: &usize| self.sources.contains_key(&path[..*length].join("::"));
        let length = (0..=path.len()).rev().find(is_module).unwrap_or(0);
        (path[..length].join("::"), &path[length..])
    }

    /// Returns the module that defines the item of a path.
    fn defines(&self, path: &[String], seen: &mut BTreeSet<Vec<String>>) -> Option<String> {
        if !seen.insert(path.to_vec()) {
            return None;
        }
        let (module, rest) = self.split(path);
        let Some((name, after)) = rest.split_first() else {
            return Some(module);
        };
        let source = &self.sources[&module];
        if source.items.contains(name) {
            return Some(module);
        }
        if let Some((path, _)) = source.names.get(name) {
            let whole: Vec<String> = path.iter().chain(after).cloned().collect();
            return self.defines(&whole, seen);
        }
        for (path, _) in &source.globs {
            let whole: Vec<String> = path.iter().chain(rest).cloned().collect();
            let there = self.split(&whole).0;
            let found = self.defines(&whole, seen);
            if found.is_some_and(|m| self.sources[&m].items.contains(name) || m != there) {
                return self.defines(&whole, &mut BTreeSet::new());
            }
        }
        Some(module)
    }
}

/// Returns the module path of a file.
fn module(path: &Path) -> String {
    let path = path.with_extension("");
    let parts: Vec<&str> = path.iter().map(|part| part.to_str().unwrap()).collect();
    match parts.as_slice() {
        ["lib"] => String::new(),
        [folders @ .., "mod"] => folders.join("::"),
        parts => parts.join("::"),
    }
}

const DEFINES: &[&str] = &[
    "struct",
    "enum",
    "union",
    "trait",
    "fn",
    "type",
    "const",
    "static",
    "mod",
    "macro_rules",
];

fn read(module: &str, text: &str, modules: &BTreeSet<String>) -> Source {
    let tests = ["#[cfg(test)]", "#[cfg(all(test"].iter();
    let end = tests.filter_map(|mark| text.find(mark)).min();
    let code = &text[..end.unwrap_or(text.len())];
    let tokens = tokens(code);
    let mut source = Source::default();
    // Modules within the file, outermost first, each with its depth of braces.
    let mut inner: Vec<(String, usize)> = Vec::new();
    let (mut depth, mut at) = (0, 0);
    while at < tokens.len() {
        let token = tokens[at].as_str();
        let before = at.checked_sub(1).map_or("", |at| tokens[at].as_str());
        let next = tokens.get(at + 1).map_or("", String::as_str);
        match token {
            "{" => depth += 1,
            "}" => depth -= 1,
            _ => {}
        }
        inner.retain(|(_, at)| *at <= depth);
        if before == "mod" && next == "{" {
            inner.push((token.to_string(), depth + 1));
            depth += 1;
            at += 2;
            continue;
        }
        let mut here = module.to_string();
        for (name, _) in &inner {
            here = format!("{here}::{name}");
        }
        let here = here.trim_start_matches("::");
        // The declaration of a module is not a use.
        if is_word(token) && before != "mod" {
            source.words.insert(token.to_string());
        }
        if DEFINES.contains(&before) || (before == "!" && at > 1 && tokens[at - 2] == "macro_rules")
        {
            source.items.insert(token.to_string());
        }
        // `use<'a>` is a bound.
        if token == "use" && next != "<" && next != "$" {
            let public = before == "pub" || before == ")";
            let mut found = Vec::new();
            at = tree(&tokens, at + 1, Vec::new(), &mut found);
            for (path, name) in found {
                let Some(path) = absolute(here, path, modules) else {
                    continue;
                };
                match name.as_str() {
                    "*" => source.globs.push((path, public)),
                    _ => {
                        source.names.insert(name, (path, public));
                    }
                }
            }
            continue;
        }
        let begins = is_word(token) && next == "::" && before != "::" && before != "$";
        if begins && !(before == "in" && at > 1 && tokens[at - 2] == "(") {
            let mut path = vec![token.to_string()];
            while tokens.get(at + 1).is_some_and(|t| t == "::")
                && tokens.get(at + 2).is_some_and(|t| is_word(t))
            {
                at += 2;
                path.push(tokens[at].clone());
            }
            // Macros of the crate's root are available by name in all files.
            if tokens.get(at + 1).is_none_or(|t| t != "!") {
                source.paths.extend(absolute(here, path, modules));
            }
        }
        at += 1;
    }
    source
}

/// Returns a path from the crate's root, or `None` if it leads to another crate.
fn absolute(module: &str, path: Vec<String>, modules: &BTreeSet<String>) -> Option<Vec<String>> {
    let mut whole: Vec<String> = module.split("::").map(str::to_string).collect();
    whole.retain(|part| !part.is_empty());
    let mut rest = path.as_slice();
    match rest.first()?.as_str() {
        "crate" => {
            whole.clear();
            rest = &rest[1..];
        }
        "self" => rest = &rest[1..],
        "super" => {}
        child => {
            let child = [module, child].join("::");
            if !modules.contains(child.trim_start_matches("::")) {
                return None;
            }
        }
    }
    while rest.first().is_some_and(|part| part == "super") {
        whole.pop();
        rest = &rest[1..];
    }
    whole.extend_from_slice(rest);
    Some(whole)
}

/// Reads one tree of a `use`, from the token `at` on. Adds its paths to `found`, each with the name
/// that it gets. Returns the index of the next token.
fn tree(
    tokens: &[String],
    mut at: usize,
    mut path: Vec<String>,
    found: &mut Vec<(Vec<String>, String)>,
) -> usize {
    loop {
        match tokens[at].as_str() {
            "::" => at += 1,
            "{" => {
                at += 1;
                while tokens[at] != "}" {
                    at = tree(tokens, at, path.clone(), found);
                    if tokens[at] == "," {
                        at += 1;
                    }
                }
                return at + 1;
            }
            "*" => {
                found.push((path, "*".to_string()));
                return at + 1;
            }
            "as" => {
                found.push((path, tokens[at + 1].clone()));
                return at + 2;
            }
            word if is_word(word) => {
                // `self` in braces stands for the path before them.
                if word != "self" || path.is_empty() {
                    path.push(word.to_string());
                }
                at += 1;
            }
            _ => {
                // The path is empty if a macro generates it.
                if let Some(name) = path.last().cloned() {
                    found.push((path, name));
                }
                return at;
            }
        }
    }
}

fn is_word(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// Returns the words and signs of a text, without comments, literals and lifetimes.
fn tokens(text: &str) -> Vec<String> {
    let text: Vec<char> = text.chars().collect();
    let get = |at: usize| text.get(at).copied().unwrap_or('\0');
    let mut tokens = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let c = text[at];
        if c.is_whitespace() {
            at += 1;
        } else if c == '/' && get(at + 1) == '/' {
            while at < text.len() && text[at] != '\n' {
                at += 1;
            }
        } else if c == '"' {
            at += 1;
            while at < text.len() && text[at] != '"' {
                at += if text[at] == '\\' { 2 } else { 1 };
            }
            at += 1;
        } else if c == 'r'
            && (get(at + 1) == '"' || (get(at + 1) == '#' && matches!(get(at + 2), '"' | '#')))
        {
            let hashes = (at + 1..).take_while(|at| get(*at) == '#').count();
            at += hashes + 2;
            let end = |at: usize| get(at) == '"' && (1..=hashes).all(|n| get(at + n) == '#');
            while at < text.len() && !end(at) {
                at += 1;
            }
            at += hashes + 1;
        } else if c == '\'' {
            if get(at + 1) == '\\' {
                at += 3;
                while at < text.len() && text[at] != '\'' {
                    at += 1;
                }
                at += 1;
            } else if get(at + 2) == '\'' {
                at += 3;
            } else {
                at += 1;
                while get(at).is_alphanumeric() || get(at) == '_' {
                    at += 1;
                }
            }
        } else if c.is_alphanumeric() || c == '_' {
            let start = at;
            while get(at).is_alphanumeric() || get(at) == '_' {
                at += 1;
            }
            tokens.push(text[start..at].iter().collect());
        } else if c == ':' && get(at + 1) == ':' {
            tokens.push("::".to_string());
            at += 2;
        } else {
            tokens.push(c.to_string());
            at += 1;
        }
    }
    tokens
}
