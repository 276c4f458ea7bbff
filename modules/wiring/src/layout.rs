//! Where the files of a project are.

use std::path::{Path, PathBuf};

/// The wiring of a project.
pub(crate) const WIRING: &str = "src/wiring.rs";
/// The list of a project's functions.
pub(crate) const FUNCTIONS: &str = "src/processes/mod.rs";
/// The types of tokens that are the user's own.
pub(crate) const TYPES: &str = "src/types.rs";
/// The same, where they are a folder.
const TYPES_IN_FOLDER: &str = "src/types/mod.rs";
/// The wiring that the user's functions were last known to fit, as long as one may not fit that of now.
pub(crate) const FITTING: &str = "target/graphmap/wiring.rs";

/// The file of a function, in a project's folder.
pub(crate) fn function_file(root: &Path, function: &str) -> PathBuf {
    root.join("src/processes").join(format!("{function}.rs"))
}

/// The file of the types, in a project's folder. Where there is none it is one to be made.
pub(crate) fn types_file(root: &Path) -> PathBuf {
    let (file, in_folder) = (root.join(TYPES), root.join(TYPES_IN_FOLDER));
    match !file.exists() && in_folder.exists() {
        true => in_folder,
        false => file,
    }
}
