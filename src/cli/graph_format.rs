//! Recognizes graphs without names, of METIS or Scotch, which can only be mapped.

use super::args::is_standard;
use crate::Registry;
use graphmap_graphfile::Format;
use std::path::Path;

/// Returns the format of a graph without names, from `--format` (`said`) or from the file
/// extension. Returns `None` for standard input without `said`, for other formats, and if a front
/// end has the name or accepts the path.
pub(crate) fn format_of(registry: &Registry, file: &Path, said: Option<&str>) -> Option<Format> {
    match said {
        // A front end of the user with the same name takes precedence.
        Some(name) => Format::from_name(name).filter(|_| registry.front_end_named(name).is_none()),
        None if is_standard(file) => None,
        None => Format::of_path(file).filter(|_| registry.front_end_of(file).is_none()),
    }
}

/// Returns help for a graph without names where a network is expected, and `None` for other files.
/// `name` is the name of the file in messages, and `said` the value of `--format`.
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

/// Returns help that lists the values of `--format`.
pub(crate) fn known(registry: &Registry) -> String {
    let networks: Vec<&str> = registry.front_ends().map(|f| f.name()).collect();
    let graphs = Format::ALL.map(Format::name);
    format!(
        "use `--format` with one of {}, or with an executable `graphmap-read-FORMAT` on PATH; to \
         partition a graph without names, with one of {}",
        networks.join(", "),
        graphs.join(", ")
    )
}
