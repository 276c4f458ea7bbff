//! The files of a crate: its first one, and those that `mod` declarations lead to.

use crate::facts::{Around, At, Facts, Module};
use graphmap_kpn::source::Span;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Files that are still to be read, each once.
#[derive(Debug, Default)]
pub(crate) struct Tree {
    todo: Vec<Wanted>,
    seen: BTreeSet<PathBuf>,
}

/// A file that a crate has.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    /// Where it may be; the first that is there.
    places: Vec<PathBuf>,
    /// Where its own modules are.
    folder: PathBuf,
    /// Whether a crate may do without it.
    conditional: bool,
    /// Whether it is included, and no module.
    pub(crate) included: bool,
    /// Where it is declared, if it is.
    pub(crate) declared: Span,
}

impl Tree {
    /// Adds the first file of a crate.
    pub(crate) fn add_root(&mut self, root: &Path) {
        self.todo.push(Wanted {
            places: vec![root.to_owned()],
            folder: folder(root),
            conditional: false,
            included: false,
            declared: Span::NONE,
        });
    }

    /// Adds the modules that a file declares.
    pub(crate) fn add_modules(
        &mut self,
        file: &Path,
        wanted: &Wanted,
        facts: &Facts,
        span: impl Fn(&At) -> Span,
    ) {
        // The last is taken first.
        for module in facts.modules.iter().rev() {
            self.todo.push(Wanted {
                declared: span(&module.at),
                ..of_module(file, wanted, module)
            });
        }
    }

    /// The next file, and where it is: one that was not given yet. A missing one is given where it should be, unless it may be missing.
    pub(crate) fn next(&mut self) -> Option<(PathBuf, Wanted)> {
        loop {
            let wanted = self.todo.pop()?;
            let there = wanted.places.iter().find(|place| place.exists());
            let Some(path) = there.or(wanted.places.first()).cloned() else {
                continue;
            };
            if there.is_none() && wanted.conditional {
                continue;
            }
            // Links may lead to a file by many names.
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

/// Whether it is `NAME/mod.rs`.
fn is_folders(path: &Path, wanted: &Wanted) -> bool {
    wanted.places.len() > 1 && path == wanted.places[1]
}

fn of_module(file: &Path, wanted: &Wanted, module: &Module) -> Wanted {
    let conditional = module.conditional || wanted.conditional;
    // What `#[path]` says is seen from the file, and the modules of the file are in a folder of its name.
    let (mut said_from, mut from) = (folder(file), wanted.folder.clone());
    for around in &module.around {
        from = match around {
            Around::Name(name) => from.join(name),
            Around::Folder(said) => said_from.join(said),
        };
        said_from.clone_from(&from);
    }
    if let Some(said) = &module.file {
        let place = said_from.join(said);
        return Wanted {
            folder: folder(&place),
            places: vec![place],
            conditional,
            included: module.included,
            declared: Span::NONE,
        };
    }
    let name = &*module.name;
    Wanted {
        places: vec![
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
