//! Which files are graphs without names, of METIS or Scotch: for the mapping alone.

use super::args::is_standard;
use crate::Registry;
use graphmap_graphfile::Format;
use std::path::Path;

/// The format of a file that is for the mapping alone, as it is said or the ending of the file tells.
pub(crate) fn format_of(registry: &Registry, file: &Path, said: Option<&str>) -> Option<Format> {
    match said {
        // Somebody's own front end goes before.
        Some(name) => Format::from_name(name).filter(|_| registry.front_end_named(name).is_none()),
        None if is_standard(file) => None,
        None => Format::of_path(file).filter(|_| registry.front_end_of(file).is_none()),
    }
}

/// What to do with such a file, of this name for people, where a network is wanted.
pub(crate) fn help(
    registry: &Registry,
    file: &Path,
    name: &str,
    said: Option<&str>,
) -> Option<String> {
    let format = format_of(registry, file, said)?;
    Some(format!(
        "to partition a graph without names, use `graphmap partition {name} --format {} -n 4`",
        format.name()
    ))
}

/// The formats that `--format` takes.
pub(crate) fn known(registry: &Registry) -> String {
    let networks: Vec<&str> = registry.front_ends().map(|f| f.name()).collect();
    let graphs = Format::ALL.map(Format::name);
    format!(
        "use `--format` with one of {}; to partition a graph without names, with one of {}",
        networks.join(", "),
        graphs.join(", ")
    )
}
