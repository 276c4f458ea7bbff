//! Resolves the names of a file by its `use` declarations.

use std::collections::BTreeMap;
use syn::UseTree;

/// The `use` declarations of a file, by scope.
#[derive(Debug)]
pub(crate) struct Names {
    scopes: Vec<Scope>,
    current: ScopeId,
}

/// Index of a scope: a module or a block of a file.
pub(crate) type ScopeId = usize;

/// Declarations of a module or a block.
#[derive(Debug, Default)]
struct Scope {
    /// Names, and the paths that each stands for. There are several paths if conditions select one.
    known: BTreeMap<String, Vec<Vec<String>>>,
    /// Paths of glob imports.
    globs: Vec<Vec<String>>,
    around: Option<ScopeId>,
    /// Whether it is a module, in which the names of the scope around it are not visible.
    is_module: bool,
}

/// Maximum number of steps to resolve one path. Declarations may form a cycle, and each may lead to
/// several others.
const MOST_FOLLOWED: usize = 64;

impl Default for Names {
    fn default() -> Names {
        let file = Scope {
            is_module: true,
            ..Scope::default()
        };
        Names {
            scopes: vec![file],
            current: 0,
        }
    }
}

impl Names {
    /// Enters a new module or block.
    pub(crate) fn enter(&mut self, is_module: bool) {
        self.scopes.push(Scope {
            around: Some(self.current),
            is_module,
            ..Scope::default()
        });
        self.current = self.scopes.len() - 1;
    }

    /// Leaves the current module or block. Has no effect in the scope of the file.
    pub(crate) fn leave(&mut self) {
        self.current = self.scopes[self.current].around.unwrap_or(0);
    }

    /// Returns the current scope.
    pub(crate) fn here(&self) -> ScopeId {
        self.current
    }

    /// Adds a `use` declaration to the current scope.
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
                    self.stands_for(own.clone(), path.clone());
                }
            }
            UseTree::Name(last) => self.take_name(path, &last.ident, &last.ident),
            UseTree::Rename(last) if last.ident == "self" => {
                self.stands_for(name(&last.rename), path.clone());
            }
            UseTree::Rename(last) => self.take_name(path, &last.ident, &last.rename),
            UseTree::Glob(_) => self.scopes[self.current].globs.push(path.clone()),
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
        self.stands_for(name(called), whole);
    }

    fn stands_for(&mut self, name: String, whole: Vec<String>) {
        let known = &mut self.scopes[self.current].known;
        known.entry(name).or_default().push(whole);
    }

    /// Returns the full paths that `path` stands for in a scope, by explicit `use` declarations.
    /// There are several if a name is declared more than once. The search ends after
    /// [`MOST_FOLLOWED`] steps. Without such a declaration, returns `path` itself.
    pub(crate) fn meant(&self, scope_id: ScopeId, path: &[String]) -> Vec<Vec<String>> {
        let mut found = Found::default();
        self.seek(scope_id, path, &mut found);
        match found.explicit.is_empty() {
            true => vec![path.to_vec()],
            false => found.explicit,
        }
    }

    /// Returns the full paths that `path` may stand for by glob imports (`use module::*`). The
    /// result is empty if an explicit declaration resolves `path`.
    pub(crate) fn by_globs(&self, scope_id: ScopeId, path: &[String]) -> Vec<Vec<String>> {
        let mut found = Found::default();
        self.seek(scope_id, path, &mut found);
        match found.explicit.is_empty() {
            true => found.globs,
            false => Vec::new(),
        }
    }

    fn seek(&self, scope_id: ScopeId, path: &[String], found: &mut Found) {
        found.followed += 1;
        if found.followed > MOST_FOLLOWED {
            return;
        }
        let Some((first, rest)) = path.split_first() else {
            return;
        };
        let module = self.module(scope_id);
        match &**first {
            "self" => return self.seek(module, rest, found),
            "super" => match self.scopes[module].around {
                Some(around) => return self.seek(self.module(around), rest, found),
                // The module around this one is in another file.
                None => return found.explicit.push(path.to_vec()),
            },
            _ => {}
        }
        let mut at = Some(scope_id);
        while let Some(scope_id) = at {
            let scope = &self.scopes[scope_id];
            if let Some(known) = scope.known.get(first) {
                for whole in known {
                    let whole: Vec<String> = whole.iter().chain(rest).cloned().collect();
                    match &*whole[0] {
                        "self" | "super" => {
                            let before = found.explicit.len();
                            self.seek(scope_id, &whole, found);
                            if found.explicit.len() == before {
                                found.explicit.push(whole);
                            }
                        }
                        _ => found.explicit.push(whole),
                    }
                }
                return;
            }
            for glob in &scope.globs {
                match glob.len() == 1 && glob[0] == "super" {
                    true => {
                        if let Some(around) = self.scopes[module].around {
                            self.seek(self.module(around), path, found);
                        }
                    }
                    false => found.globs.push(glob.iter().chain(path).cloned().collect()),
                }
            }
            at = scope.around.filter(|_| !scope.is_module);
        }
    }

    fn module(&self, scope_id: ScopeId) -> ScopeId {
        let mut scope_id = scope_id;
        while let (false, Some(around)) = (
            self.scopes[scope_id].is_module,
            self.scopes[scope_id].around,
        ) {
            scope_id = around;
        }
        scope_id
    }

    /// Returns all full paths that `path` may stand for, joined with `::`, with `std` instead of a
    /// leading `core` or `alloc`. The paths by glob imports come before the result of
    /// [`meant`](Self::meant).
    pub(crate) fn paths(&self, scope_id: ScopeId, path: &[String]) -> Vec<String> {
        let all = self.by_globs(scope_id, path);
        let all = all.into_iter().chain(self.meant(scope_id, path));
        all.map(|whole| joined(&whole)).collect()
    }
}

/// State and result of a search for a path.
#[derive(Default)]
struct Found {
    explicit: Vec<Vec<String>>,
    globs: Vec<Vec<String>>,
    followed: usize,
}

/// Returns whether a path of at least two names begins with `std`, `core` or `alloc`.
pub(crate) fn is_rusts(path: &[String]) -> bool {
    path.len() > 1 && ["std", "core", "alloc"].contains(&&*path[0])
}

/// Joins a path with `::`. A leading `core` or `alloc` becomes `std`.
fn joined(path: &[String]) -> String {
    let mut parts: Vec<&str> = path.iter().map(|part| &**part).collect();
    if let Some(first) = parts.first_mut()
        && (*first == "core" || *first == "alloc")
    {
        *first = "std";
    }
    parts.join("::")
}

/// Returns an identifier without `r#`.
pub(crate) fn name(ident: &syn::Ident) -> String {
    let text = ident.to_string();
    text.strip_prefix("r#").map_or(text.clone(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::Names;

    /// Adds the declarations of a text. Each inline module is a scope.
    fn names(text: &str) -> Names {
        let mut names = Names::default();
        let file: syn::File = syn::parse_str(text).unwrap();
        for item in &file.items {
            match item {
                syn::Item::Use(item) => names.take(&item.tree),
                syn::Item::Mod(module) => {
                    names.enter(true);
                    for item in module.content.iter().flat_map(|(_, items)| items) {
                        if let syn::Item::Use(item) = item {
                            names.take(&item.tree);
                        }
                    }
                    names.leave();
                }
                _ => {}
            }
        }
        names
    }

    fn path(text: &str) -> Vec<String> {
        text.split("::").map(str::to_owned).collect()
    }

    #[test]
    fn use_declarations_resolve_names() {
        let names = names(
            "use std::process::{self, exit as quit}; use core::env::*; use std::{cell::RefCell, sync as s}; \
             use self::own::abort;",
        );
        let paths = |text: &str| names.paths(0, &path(text));
        assert_eq!(paths("process::abort"), ["std::process::abort"]);
        assert_eq!(paths("quit"), ["std::process::exit"]);
        assert_eq!(paths("set_var"), ["std::env::set_var", "set_var"]);
        assert_eq!(paths("s::Mutex"), ["std::sync::Mutex"]);
        assert_eq!(names.meant(0, &path("Mutex")), [path("Mutex")]);
        assert_eq!(
            names.meant(0, &path("self::RefCell")),
            [path("std::cell::RefCell")]
        );
    }

    #[test]
    fn names_of_a_module_are_its_own() {
        let names = names(
            "use std::process::exit; use std::cell::Cell as C; \
             mod a { use crate::h::exit; } mod b { use super::*; use super::C as D; } mod c {}",
        );
        let paths = |scope_id, text: &str| names.paths(scope_id, &path(text));
        assert_eq!(paths(0, "exit"), ["std::process::exit"]);
        assert_eq!(paths(1, "exit"), ["crate::h::exit"]);
        assert_eq!(paths(1, "super::exit"), ["std::process::exit"]);
        assert_eq!(paths(2, "exit"), ["std::process::exit"]);
        assert_eq!(paths(2, "D"), ["std::cell::Cell"]);
        assert_eq!(paths(3, "exit"), ["exit"]);
    }

    /// Without a limit on the steps, the search would be exponential.
    #[test]
    fn names_with_many_paths_terminate() {
        let of = |name: &str, other: &str| {
            let ways =
                ["c", "d", "e", "f"].map(|way| format!("use self::{other}::{way} as {name};"));
            ways.concat()
        };
        let names = names(&(of("a", "b") + &of("b", "a")));
        for text in ["a", "b", "self::a::b", "super::a"] {
            assert!(!names.meant(0, &path(text)).is_empty(), "{text}");
        }
    }

    #[test]
    fn cyclic_names_terminate() {
        let names =
            names("use self::a as a; use self::b as c; use self::c as b; mod m { use super::m; }");
        for text in ["a", "b", "c", "self", "super", "super::super::a"] {
            assert!(!names.meant(0, &path(text)).is_empty(), "{text}");
            assert!(!names.meant(1, &path(text)).is_empty(), "{text}");
        }
    }
}
