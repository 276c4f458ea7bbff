//! How a graph is read, and where the files that it includes are searched.

use graphmap_kpn::codes::NOT_INCLUDED;
use graphmap_kpn::diagnostic::Diagnostic;
use graphmap_kpn::sizes::Given;
use std::path::{Path, PathBuf};

/// How a graph is read.
#[derive(Clone, Debug, Default)]
pub struct ReadOptions {
    /// Values that replace sizes of the graph (`-D`).
    pub sizes: Given,
    /// Values that replace sizes of the graph if it has them and [`sizes`](Self::sizes) does not
    /// set them.
    pub default_sizes: Given,
    /// Folders in which included files are searched, after the folder of the file that includes
    /// them (`-I`).
    pub folders: Vec<PathBuf>,
    /// Number of OS processes to which the network will be mapped, if it is known. The number of
    /// instances may follow from it (`replicas="+"`).
    pub os_processes: Option<u32>,
}

/// Returns the path of an included file in the first of some folders that has it.
pub(crate) fn find<'f>(
    file: &str,
    folders: impl Iterator<Item = &'f Path>,
) -> Result<PathBuf, Box<Diagnostic>> {
    let folders: Vec<&Path> = folders.collect();
    let mut paths = folders.iter().map(|folder| folder.join(file));
    if let Some(found) = paths.find(|path| path.exists()) {
        return Ok(found);
    }
    let first = folders.first().copied().unwrap_or(Path::new("")).join(file);
    let message = format!("the included file `{}` does not exist", first.display());
    let mut error = Diagnostic::error(NOT_INCLUDED, message);
    let name = |folder: &&Path| match folder.as_os_str().is_empty() {
        true => "`.`".to_owned(),
        false => format!("`{}`", folder.display()),
    };
    let others: Vec<String> = folders.iter().skip(1).map(name).collect();
    if !others.is_empty() {
        error = error.with_note(format!("nor in {}", others.join(", ")));
    }
    Err(Box::new(error.help("name a folder to search in: `-I DIR`")))
}

/// Returns the folder of a file, which is empty for a file in the current folder.
pub(crate) fn folder_of(file: &str) -> &Path {
    Path::new(file).parent().unwrap_or(Path::new(""))
}
