//! Finds the files of a crate: the root file, and the targets of its `mod` declarations.

use crate::facts::{Around, At, Facts, Module};
use graphmap_kpn::source::Span;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Stack of the files to read. Each file is returned once.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    todo: Vec<Wanted>,
    seen: BTreeSet<PathBuf>,
}

/// A file of a crate that is to be read.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    /// Candidate paths. The first that exists is used.
    candidates: Vec<PathBuf>,
    /// Folder of its submodules.
    folder: PathBuf,
    /// Whether the file may be missing.
    conditional: bool,
    /// Whether the file is `include!`d, and not a module.
    pub(crate) included: bool,
    /// Position of the declaration. A root file has none.
    pub(crate) declared: Span,
}

impl Tree {
    /// Adds the root file of a crate, which [`next`](Self::next) returns before the files that were
    /// added earlier.
    pub(crate) fn add_root(&mut self, root: &Path) {
        self.todo.push(Wanted {
            candidates: vec![root.to_owned()],
            folder: folder(root),
            conditional: false,
            included: false,
            declared: Span::NONE,
        });
    }

    /// Adds the files of the modules that a file declares. `file` and `wanted` are the result of
    /// [`next`](Self::next), and `span` returns the position of a declaration.
    pub(crate) fn add_modules(
        &mut self,
        file: &Path,
        wanted: &Wanted,
        facts: &Facts,
        span: impl Fn(&At) -> Span,
    ) {
        // The stack returns the last module first.
        for module in facts.modules.iter().rev() {
            self.todo.push(Wanted {
                declared: span(&module.at),
                ..of_module(file, wanted, module)
            });
        }
    }

    /// Returns the next file with its path, or `None` if all files were returned. Skips a file that
    /// was returned before, even by another path. A missing file is returned with its first
    /// candidate path, unless it is conditional.
    pub(crate) fn next(&mut self) -> Option<(PathBuf, Wanted)> {
        loop {
            let wanted = self.todo.pop()?;
            let there = wanted.candidates.iter().find(|path| path.exists());
            let Some(path) = there.or(wanted.candidates.first()).cloned() else {
                continue;
            };
            if there.is_none() && wanted.conditional {
                continue;
            }
            // With symbolic links, a file may have several names.
            let known = path.canonicalize().unwrap_or_else(|_| path.clone());
            if self.seen.insert(known) {
                let folder = match is_folders(&path, &wanted) {
                    true => folder(&path),
                    false => wanted.folder.clone(),
                };
                return Some((path, Wanted { folder, ..wanted }));
            }
        }
    }
}

/// Returns whether `path` is the second candidate of a module, `NAME/mod.rs`.
fn is_folders(path: &Path, wanted: &Wanted) -> bool {
    wanted.candidates.len() > 1 && path == wanted.candidates[1]
}

fn of_module(file: &Path, wanted: &Wanted, module: &Module) -> Wanted {
    let conditional = module.conditional || wanted.conditional;
    // `#[path]` is relative to the folder of the file. Other modules of the file are in the folder
    // with its name.
    let (mut path_base, mut from) = (folder(file), wanted.folder.clone());
    for around in &module.around {
        from = match around {
            Around::Name(name) => from.join(name),
            Around::Folder(explicit) => path_base.join(explicit),
        };
        path_base.clone_from(&from);
    }
    if let Some(explicit) = &module.file {
        let path = path_base.join(explicit);
        return Wanted {
            folder: folder(&path),
            candidates: vec![path],
            conditional,
            included: module.included,
            declared: Span::NONE,
        };
    }
    let name = &*module.name;
    Wanted {
        candidates: vec![
            from.join(format!("{name}.rs")),
            from.join(name).join("mod.rs"),
        ],
        folder: from.join(name),
        conditional,
        included: false,
        declared: Span::NONE,
    }
}

fn folder(file: &Path) -> PathBuf {
    file.parent().map_or_else(PathBuf::new, Path::to_owned)
}
