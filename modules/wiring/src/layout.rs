//! Paths of the files of a project.

use std::path::{Path, PathBuf};

/// Wiring of a project.
pub(crate) const WIRING: &str = "src/wiring.rs";
/// File of the glue functions.
pub(crate) const GLUE: &str = "src/glue.rs";
/// List of a project's functions.
pub(crate) const FUNCTIONS: &str = "src/processes/mod.rs";
/// The user's types of tokens.
pub(crate) const TYPES: &str = "src/types.rs";
/// The same, if the types are in a folder.
const TYPES_IN_FOLDER: &str = "src/types/mod.rs";
/// The wiring that the user's functions were last known to fit. Exists while a function may not fit
/// the current wiring.
pub(crate) const FITTING: &str = "target/graphmap/wiring.rs";

/// Returns the path of the file of a function in a project's folder: `src/processes/FUNCTION.rs`.
/// Does not check that it exists.
pub(crate) fn function_file(root: &Path, function: &str) -> PathBuf {
    root.join("src/processes").join(format!("{function}.rs"))
}

/// Returns the path of the file of the types in a project's folder. This is `src/types/mod.rs` if
/// only that file exists, and otherwise `src/types.rs`, which may not exist yet.
pub(crate) fn types_file(root: &Path) -> PathBuf {
    let (file, in_folder) = (root.join(TYPES), root.join(TYPES_IN_FOLDER));
    match !file.exists() && in_folder.exists() {
        true => in_folder,
        false => file,
    }
}
