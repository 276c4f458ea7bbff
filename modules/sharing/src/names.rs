//! What the names of a file stand for: its `use` declarations.

use std::collections::BTreeMap;
use syn::UseTree;

/// The `use` declarations of a file, wherever in it they are.
#[derive(Debug, Default)]
pub(crate) struct Names {
    /// A name, and the path that it stands for.
    known: BTreeMap<String, Vec<String>>,
    /// Paths of which all names may stand for.
    globs: Vec<Vec<String>>,
}

impl Names {
    /// Takes a declaration.
    pub(crate) fn take(&mut self, tree: &UseTree) {
        self.take_below(&mut Vec::new(), tree);
    }

    fn take_below(&mut self, path: &mut Vec<String>, tree: &UseTree) {
        match tree {
            UseTree::Path(part) => {
                path.push(name(&part.ident));
                self.take_below(path, &part.tree);
                path.pop();
            }
            UseTree::Name(last) if last.ident == "self" => {
                if let Some(own) = path.last() {
                    self.known.insert(own.clone(), path.clone());
                }
            }
            UseTree::Name(last) => self.take_name(path, &last.ident, &last.ident),
            UseTree::Rename(last) if last.ident == "self" => {
                self.known.insert(name(&last.rename), path.clone());
            }
            UseTree::Rename(last) => self.take_name(path, &last.ident, &last.rename),
            UseTree::Glob(_) => self.globs.push(path.clone()),
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.take_below(path, tree);
                }
            }
        }
    }

    fn take_name(&mut self, path: &[String], last: &syn::Ident, called: &syn::Ident) {
        let mut whole = path.to_vec();
        whole.push(name(last));
        self.known.insert(name(called), whole);
    }

    /// The paths that one may stand for, each in one text.
    pub(crate) fn paths(&self, path: &[String]) -> Vec<String> {
        let Some((first, rest)) = path.split_first() else {
            return Vec::new();
        };
        if let Some(whole) = self.known.get(first) {
            return vec![joined(whole.iter().chain(rest))];
        }
        let globs = self
            .globs
            .iter()
            .map(|glob| joined(glob.iter().chain(path)));
        globs.chain([joined(path.iter())]).collect()
    }

    /// What a type is called where it is defined, if it goes by another name here.
    pub(crate) fn original<'a>(&'a self, name: &'a str) -> &'a str {
        let whole = self.known.get(name).and_then(|path| path.last());
        whole.map_or(name, |last| last)
    }
}

/// A path in one text; Rust's own libraries by one name.
fn joined<'a>(parts: impl Iterator<Item = &'a String>) -> String {
    let mut parts: Vec<&str> = parts.map(|part| &**part).collect();
    if let Some(first) = parts.first_mut()
        && (*first == "core" || *first == "alloc")
    {
        *first = "std";
    }
    parts.join("::")
}

/// An identifier as it is without `r#`.
pub(crate) fn name(ident: &syn::Ident) -> String {
    let text = ident.to_string();
    text.strip_prefix("r#").map_or(text.clone(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::Names;

    #[test]
    fn names_stand_for_what_use_says() {
        let mut names = Names::default();
        for text in [
            "use std::process::{self, exit as quit};",
            "use core::env::*;",
            "use std::{cell::RefCell, sync as s};",
        ] {
            let item: syn::ItemUse = syn::parse_str(text).unwrap();
            names.take(&item.tree);
        }
        let paths = |path: &str| {
            let path: Vec<String> = path.split("::").map(str::to_owned).collect();
            names.paths(&path)
        };
        assert_eq!(paths("process::abort"), ["std::process::abort"]);
        assert_eq!(paths("quit"), ["std::process::exit"]);
        assert_eq!(paths("set_var"), ["std::env::set_var", "set_var"]);
        assert_eq!(paths("s::Mutex"), ["std::sync::Mutex"]);
        assert_eq!(names.original("quit"), "exit");
        assert_eq!(names.original("Mutex"), "Mutex");
    }
}
