//! Skeletons in a user's folder.

use super::errors::{bad, unreadable};
use graphmap_kpn::diagnostic::Diagnostics;
use graphmap_kpn::input::{self, Limit};
use std::path::{Path, PathBuf};

/// Maximum nesting of folders.
const NESTING: usize = 8;
/// Maximum number of files and folders that are visited.
const MOST: usize = 20_000;

/// Skeleton in a folder: its name (`rust/chain`) and its file.
pub(super) struct Found {
    pub(super) name: String,
    pub(super) path: PathBuf,
}

/// Returns all `.hbs` files of a folder and its subfolders. Names and order do not depend on the
/// system. Skips names that are not UTF-8.
///
/// Adds an error to `diagnostics` for each folder that cannot be read, is a link to a folder that
/// contains it, or is nested more than 8 deep. Adds an error and stops after 20,000 files and
/// folders.
pub(super) fn list(folder: &Path, diagnostics: &mut Diagnostics) -> Vec<Found> {
    let mut walk = Walk {
        found: Vec::new(),
        left: MOST,
        above: Vec::new(),
    };
    walk.folder(folder, "", diagnostics);
    walk.found
}

/// Returns the files of [`list`] with their texts, as name, path and text. Adds the errors of
/// [`list`] to `diagnostics`, and an error for each file that cannot be read. Such files are
/// skipped.
pub(super) fn read(folder: &Path, diagnostics: &mut Diagnostics) -> Vec<(String, PathBuf, String)> {
    let mut texts = Vec::new();
    for Found { name, path } in list(folder, diagnostics) {
        match input::text(&path, Limit::SOURCE) {
            Ok(text) => texts.push((name, path, text)),
            Err(why) => diagnostics.push(unreadable(&path, &why)),
        }
    }
    texts
}

struct Walk {
    found: Vec<Found>,
    /// Number of entries that can still be visited.
    left: usize,
    /// Canonical paths of the folders that contain the current entry.
    above: Vec<PathBuf>,
}

impl Walk {
    fn folder(&mut self, folder: &Path, prefix: &str, diagnostics: &mut Diagnostics) {
        let real = match folder.canonicalize() {
            Ok(real) => real,
            Err(error) => return diagnostics.push(unreadable(folder, &error)),
        };
        if self.above.contains(&real) {
            let why = "it is a link to a folder that contains it";
            return diagnostics.push(unreadable(folder, &why));
        }
        if self.above.len() > NESTING {
            return diagnostics.push(unreadable(folder, &"folders nest too deep"));
        }
        let entries = std::fs::read_dir(folder).and_then(|entries| {
            let paths = entries.map(|entry| Ok(entry?.path()));
            paths.take(MOST + 1).collect::<Result<Vec<_>, _>>()
        });
        let mut paths = match entries {
            Ok(paths) => paths,
            Err(error) => return diagnostics.push(unreadable(folder, &error)),
        };
        paths.sort();
        self.above.push(real);
        for path in paths {
            if self.left == 0 {
                break;
            }
            self.left -= 1;
            if self.left == 0 {
                let shown = folder.display();
                diagnostics.push(bad(format!(
                    "more than {MOST} files in {shown}: check that this is a folder of skeletons"
                )));
            }
            let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
                continue;
            };
            if path.is_dir() {
                self.folder(&path, &format!("{prefix}{name}/"), diagnostics);
            } else if let Some(stem) = name.strip_suffix(".hbs") {
                let name = format!("{prefix}{stem}");
                self.found.push(Found { name, path });
            }
        }
        self.above.pop();
    }
}
