//! The line for `.graphmap` in the `.gitignore` of a project.

use graphmap_kpn::emit::Files;
use graphmap_kpn::input::{self, Limit};
use graphmap_wiring::bundled::FOLDER;
use std::path::Path;

/// Adds the `.gitignore` of a project to `files`, with a line for `.graphmap` if `ignored` is true
/// and otherwise without it. Git must ignore a link to the sources of the runtime, but not a copy
/// of them. A file that cannot be read counts as empty.
pub(crate) fn put(project: &Path, ignored: bool, files: &mut Files) {
    let path = project.join(".gitignore");
    let lines = input::text(&path, Limit::SOURCE).unwrap_or_default();
    files.generated(&path, ignoring(&lines, ignored));
}

/// Returns true if one of the lines of a `.gitignore` is `.graphmap` or `/.graphmap`, which hides a
/// link to the sources. Other patterns are not recognised.
pub(super) fn hides_link(lines: &str) -> bool {
    lines.lines().any(is_for_link)
}

fn is_for_link(line: &str) -> bool {
    let line = line.trim();
    line.strip_prefix('/').unwrap_or(line) == FOLDER
}

/// Returns true if a line is `.graphmap`, with or without `/` at its ends, and so hides a copy of
/// the sources. A pattern that ends in `/` is for folders, so that it hides a copy but not a link.
fn is_for_copy(line: &str) -> bool {
    let line = line.trim();
    is_for_link(line.strip_suffix('/').unwrap_or(line))
}

/// Returns the lines of `.gitignore`. If `ignored` is true, the line for the link is added unless
/// there is one. Otherwise all lines that hide a copy of the sources are removed.
fn ignoring(lines: &str, ignored: bool) -> String {
    match ignored {
        true if hides_link(lines) => lines.to_owned(),
        true if lines.is_empty() || lines.ends_with('\n') => format!("{lines}/{FOLDER}\n"),
        true => format!("{lines}\n/{FOLDER}\n"),
        false => {
            let lines = lines.split_inclusive('\n');
            lines.filter(|line| !is_for_copy(line)).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_link_is_ignored_once() {
        assert_eq!(ignoring("", true), "/.graphmap\n");
        assert_eq!(ignoring("/target", true), "/target\n/.graphmap\n");
        assert_eq!(
            ignoring("/target\n/.graphmap\n", true),
            "/target\n/.graphmap\n"
        );
        assert_eq!(ignoring(".graphmap\n", true), ".graphmap\n");
        assert_eq!(ignoring(".graphmap/\n", true), ".graphmap/\n/.graphmap\n");
        for line in [".graphmap", "/.graphmap", ".graphmap/", "/.graphmap/"] {
            let lines = format!("/target\n{line}\n*.o\n");
            assert_eq!(ignoring(&lines, false), "/target\n*.o\n", "{line}");
        }
    }
}
