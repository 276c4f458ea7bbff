//! `graphmap new --update`: updates the dependencies of a project on the runtime.
//!
//! In `Cargo.toml`, only the paths and versions of graphmap's own packages and the list `exclude`
//! are changed. These changes are made in the text, so that all other text stays as the user wrote
//! it.

use super::exit::Exit;
use super::new::args::{Link, NewArgs};
use super::run::project::{link, link_lines};
use super::session::{Outcome, Session};
use super::{gitignore, output, paths, vendor};
use crate::codes;
use graphmap_kpn::diagnostic::Diagnostic;
use graphmap_kpn::emit::Files;
use graphmap_kpn::input::{self, Limit};
use graphmap_wiring::bundled::{self, FOLDER, PACKAGES, REQUIREMENT};
use graphmap_wiring::family;
use graphmap_wiring::project::Project;
use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;
use toml::de::{DeTable, DeValue};

/// Folder that contains the sources in projects of earlier versions.
const OLD_FOLDER: &str = "vendor";

pub(super) fn run(args: &NewArgs, session: &mut Session<'_>) -> Outcome<Exit> {
    let folder = &args.folder;
    let project = match Project::open(folder) {
        Ok(Some(project)) => project,
        Ok(None) => {
            let message = format!("`{}` contains no project to update", folder.display());
            let error = Diagnostic::error(codes::USAGE, message);
            return session.fail(Exit::Usage, error.help("omit `--update` to make a project"));
        }
        Err(failed) => {
            session.report_all(failed);
            return Err(Exit::Usage);
        }
    };
    if let Some(wrong) = mismatch(args, &project) {
        return session.fail(Exit::Usage, wrong);
    }
    let manifest = folder.join("Cargo.toml");
    let before = read(session, &manifest)?;
    // `Project::open` has parsed it, so it is TOML.
    let (mut text, old) = converted(&before).unwrap_or((before, Vec::new()));
    let copy = project.copied || args.vendor;
    let mut files = Files::new();
    if matches!(args.link, Some(Link::Mpi)) && !project.mpi {
        let main = folder.join("src/main.rs");
        let program = read(session, &main)?;
        match (
            with_dependency(&text, &project),
            with_link(&program, project.ranks),
        ) {
            (Some(manifest), Some(program)) => {
                text = manifest;
                files.generated(&main, program);
            }
            _ => {
                let message = format!(
                    "the MPI link cannot be added to `{}`: its files are not as graphmap wrote them",
                    folder.display()
                );
                let error = Diagnostic::error(codes::NO_LINK, message);
                return session.fail(Exit::Usage, link_lines(error, &project));
            }
        }
    }
    if copy {
        vendor::is_possible(session, folder)?;
    }
    files.generated(&manifest, text);
    if is_in(&project) && !copy {
        gitignore::put(folder, true, &mut files);
    }
    output::write_changes(session, &files)?;
    let updated = match Project::open(folder) {
        Ok(Some(updated)) if !updated.outdated => updated,
        _ => {
            let message = format!(
                "the dependencies of `{}` cannot be changed",
                folder.display()
            );
            let error = Diagnostic::error(codes::OTHER_RUNTIME, message).help(format!(
                "set the path of `graphmap-runtime` in `{}` to `{FOLDER}/graphmap-runtime`",
                project.manifest.display()
            ));
            return session.fail(Exit::Usage, error);
        }
    };
    match copy {
        true => copied(session, updated)?,
        false => link(session, &updated)?,
    }
    if !copy && vendor::has_settings(folder) {
        session.print(&format!(
            "graphmap: delete {}: it is for a copy of the sources\n",
            paths::shown(&folder.join(vendor::SETTINGS))
        ));
    }
    if !old.is_empty() {
        let old: BTreeSet<String> = old
            .iter()
            .map(|old| paths::word(&folder.join(old)))
            .collect();
        let old: Vec<String> = old.into_iter().collect();
        let old = old.join(" ");
        session.print(&format!("graphmap: no longer used: rm -r {old}\n"));
    }
    Ok(Exit::Ok)
}

/// Returns an error if the options do not fit the project, and otherwise `None`.
fn mismatch(args: &NewArgs, project: &Project) -> Option<Diagnostic> {
    let folder = args.folder.display();
    let message = match &args.family {
        Some(family) if (family == family::MPI) != project.ranks => {
            format!("`{folder}` is not a project of the family `{family}`")
        }
        _ if args.from.is_some() => {
            format!("the project `{folder}` exists, so `--from` has no use")
        }
        _ if args.member => format!("the project `{folder}` exists, so `--member` has no use"),
        _ if args.runtime.is_some() => {
            format!("the project `{folder}` exists, so `--runtime` has no use")
        }
        _ if args.vendor && project.sources.is_none() && !project.outdated => {
            format!("the project `{folder}` has the runtime in another folder")
        }
        _ if args.vendor && !is_in(project) => {
            let message =
                "the sources are in the folder of a workspace, and its members share them";
            let error = Diagnostic::error(codes::USAGE, message);
            return Some(error.help("omit `--vendor`"));
        }
        _ => return None,
    };
    let error = Diagnostic::error(codes::USAGE, message);
    let command = format!("graphmap new {} --update", paths::word(&args.folder));
    Some(error.help(format!("update it with `{command}`")))
}

/// Returns true if the sources of a project are in its folder, or will be after the update.
fn is_in(project: &Project) -> bool {
    let own = project.root.join(FOLDER);
    project.outdated
        || project
            .sources
            .as_ref()
            .is_some_and(|sources| *sources == own)
}

fn read(session: &mut Session<'_>, path: &Path) -> Outcome<String> {
    match input::text(path, Limit::SOURCE) {
        Ok(text) => Ok(text),
        Err(why) => {
            let error = codes::cannot_read(&path.display().to_string(), &why);
            session.fail(Exit::Usage, error)
        }
    }
}

/// Copies the sources and the packages of the registry into the project, and replaces a link to the
/// sources.
///
/// # Errors
/// Reports an error and returns [`Exit::Usage`] if the link cannot be removed, or if a file cannot
/// be written. Also fails if Cargo cannot copy the packages.
fn copied(session: &mut Session<'_>, mut project: Project) -> Outcome<()> {
    if let Some(sources) = project.sources.as_ref().filter(|path| path.is_symlink())
        && let Err(error) = std::fs::remove_file(sources)
    {
        let message = format!("`{}` cannot be removed: {error}", sources.display());
        return session.fail(Exit::Usage, Diagnostic::error(codes::CANNOT_WRITE, message));
    }
    project.copied = true;
    vendor::sources(session, &project)?;
    output::write_changes(session, &project.lock())?;
    vendor::dependencies(session, &project.root)?;
    // Must be last, because the copy may be incomplete before this.
    let mut files = Files::new();
    gitignore::put(&project.root, false, &mut files);
    output::write_changes(session, &files)
}

/// Replaces parts of a text, which must not overlap. An edit is a range of bytes and its new text.
///
/// # Panics
/// Panics if a range is not in the text or splits a character.
fn replaced(text: &str, mut edits: Vec<(Range<usize>, String)>) -> String {
    edits.sort_by_key(|(place, _)| place.start);
    let mut text = text.to_owned();
    for (place, new) in edits.into_iter().rev() {
        text.replace_range(place, &new);
    }
    text
}

/// Returns the manifest `text` with the new paths and versions of graphmap's packages, and the old
/// paths. Replaces paths in the folder `vendor`, and versions that the sources of this graphmap do
/// not satisfy. Adds `.graphmap` to the list `exclude` of a workspace that has such a list. Returns
/// `None` if the text is not TOML.
fn converted(text: &str) -> Option<(String, Vec<String>)> {
    let parsed = DeTable::parse(text).ok()?;
    let mut found = Found {
        text,
        edits: Vec::new(),
        old: Vec::new(),
    };
    found.dependencies(parsed.get_ref());
    let excluded = parsed.get_ref().get("workspace");
    let excluded = excluded.and_then(|workspace| workspace.get_ref().get("exclude"));
    if let Some(list) = excluded
        && let DeValue::Array(items) = list.get_ref()
        && !items
            .iter()
            .any(|item| item.get_ref().as_str() == Some(FOLDER))
    {
        let start = list.span().start + 1;
        let comma = if items.is_empty() { "" } else { ", " };
        found
            .edits
            .push((start..start, format!("\"{FOLDER}\"{comma}")));
    }
    Some((replaced(text, found.edits), found.old))
}

/// Changes to a manifest.
struct Found<'a> {
    text: &'a str,
    edits: Vec<(Range<usize>, String)>,
    /// Old paths of copies of graphmap's packages.
    old: Vec<String>,
}

impl Found<'_> {
    /// Collects the changes to the dependencies in a table and in the tables inside it. Only
    /// dependencies with a `path` change.
    fn dependencies(&mut self, table: &DeTable<'_>) {
        for (key, value) in table {
            let DeValue::Table(inner) = value.get_ref() else {
                continue;
            };
            let key: &str = key.get_ref();
            let package = inner
                .get("package")
                .and_then(|name| name.get_ref().as_str());
            let package = PACKAGES
                .iter()
                .find(|name| **name == package.unwrap_or(key));
            match package {
                Some(package) if inner.contains_key("path") => self.dependency(inner, package),
                _ => self.dependencies(inner),
            }
        }
    }

    fn dependency(&mut self, dependency: &DeTable<'_>, package: &str) {
        let Some(path) = dependency.get("path") else {
            return;
        };
        let said = path.get_ref().as_str().unwrap_or_default();
        let plain = said.trim_start_matches("./").trim_end_matches('/');
        let is_old = plain == format!("{OLD_FOLDER}/{package}");
        let ours = format!("{FOLDER}/{package}");
        if is_old {
            self.old.push(plain.to_owned());
            let mut new = format!("\"{ours}\"");
            // Adds no version to a table of several lines, because it would need a line of its own.
            // Cargo does not need it.
            let after = self.text[path.span().end..].trim_start_matches([' ', '\t']);
            let is_inline = after.starts_with([',', '}']);
            if is_inline && package != bundled::MPI && !dependency.contains_key("version") {
                new += &format!(", version = \"{REQUIREMENT}\"");
            }
            self.edits.push((path.span(), new));
        }
        // The package `mpi` has the version of rsmpi, because it replaces it.
        if let Some(version) = dependency.get("version")
            && (is_old || said.ends_with(&ours))
            && package != bundled::MPI
            && !version.get_ref().as_str().is_none_or(bundled::satisfies)
        {
            self.edits
                .push((version.span(), format!("\"{REQUIREMENT}\"")));
        }
    }
}

/// Returns the manifest `text` with a dependency on the MPI link added. Returns `None` if the
/// manifest is not as graphmap writes it.
fn with_dependency(text: &str, project: &Project) -> Option<String> {
    const DEPENDENCIES: &str = "\n[dependencies]\n";
    let name = bundled::LINK;
    let parsed = DeTable::parse(text).ok()?;
    let runtime = match project.ranks {
        true => parsed
            .get_ref()
            .get("patch")?
            .get_ref()
            .get("crates-io")?
            .get_ref()
            .get("mpi")?,
        false => parsed
            .get_ref()
            .get("dependencies")?
            .get_ref()
            .get("graphmap-runtime")?,
    };
    let path = runtime.get_ref().get("path")?.get_ref().as_str()?;
    // The folder of the other packages, which may be in a workspace above the project.
    let (folder, _) = path.rsplit_once('/')?;
    folder.ends_with(FOLDER).then_some(())?;
    let at = only(text, DEPENDENCIES)? + DEPENDENCIES.len();
    let optional = if project.ranks {
        ", optional = true"
    } else {
        ""
    };
    let line = format!(
        "{name} = {{ path = \"{folder}/{name}\", version = \"{REQUIREMENT}\"{optional} }}\n"
    );
    let mut edits = vec![(at..at, line)];
    if project.ranks {
        let features = parsed.get_ref().get("features")?.get_ref();
        let feature = features.get("coroutines")?;
        matches!(feature.get_ref(), DeValue::Array(list) if list.is_empty()).then_some(())?;
        edits.push((feature.span(), format!("[\"dep:{name}\"]")));
    }
    Some(replaced(text, edits))
}

/// Returns the byte position of `part` in a text, or `None` unless it occurs exactly once.
fn only(text: &str, part: &str) -> Option<usize> {
    let mut places = text.match_indices(part);
    let (at, _) = places.next()?;
    places.next().is_none().then_some(at)
}

/// Returns the text of `src/main.rs` with the call of the MPI link. `ranks` says that it is a
/// program of ranks. Returns `None` unless the call to replace occurs exactly once.
fn with_link(main: &str, ranks: bool) -> Option<String> {
    let (old, new) = match ranks {
        true => (
            "mpi::main(ranks, rank)",
            "graphmap_link_mpi::main(|| mpi::network(ranks, rank))",
        ),
        false => ("graphmap_runtime::main(", "graphmap_link_mpi::main("),
    };
    only(main, old).map(|_| main.replace(old, new))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edited(text: &str) -> String {
        converted(text).unwrap().0
    }

    #[test]
    fn old_paths_lead_to_the_sources_and_other_text_stays() {
        for (before, after) in [
            (
                "graphmap-runtime = { path = \"vendor/graphmap-runtime\", default-features = false }",
                "graphmap-runtime = { path = \".graphmap/graphmap-runtime\", version = \"0.1\", default-features = false }",
            ),
            (
                "rt = {package=\"graphmap-runtime\", path='./vendor/graphmap-runtime'} # mine",
                "rt = {package=\"graphmap-runtime\", path=\".graphmap/graphmap-runtime\", version = \"0.1\"} # mine",
            ),
            (
                "graphmap-runtime.path = 'vendor/graphmap-runtime'",
                "graphmap-runtime.path = \".graphmap/graphmap-runtime\"",
            ),
            (
                "other = { path = \"vendor/other\" } # graphmap-runtime = { path = \"vendor/graphmap-runtime\" }",
                "",
            ),
            ("mpi = { path = \"mine/vendor/mpi\" }", ""),
        ] {
            for head in [
                "[dependencies]\n",
                "[target.'cfg(unix)'.dependencies]\r\n",
                "[workspace]\nexclude = [\".graphmap\"]\n[workspace.dependencies]\n",
            ] {
                let expected = if after.is_empty() { before } else { after };
                let (before, expected) =
                    (format!("{head}{before}\n"), format!("{head}{expected}\n"));
                assert_eq!(edited(&before), expected);
                assert_eq!(edited(&expected), expected);
            }
        }
        let patch = "[patch.crates-io]\nmpi = { path = \"vendor/mpi\" }\n";
        assert_eq!(edited(patch), patch.replace("vendor", FOLDER));
        let text = "[workspace]\nexclude = [ # These.\n  \"vendor\"]\n";
        assert_eq!(edited(text), text.replace("[ #", "[\".graphmap\",  #"));
    }

    #[test]
    fn only_a_requirement_that_is_not_met_is_replaced() {
        let line = |version| {
            format!(
                "[dependencies]\ngraphmap-runtime = {{ path = \".graphmap/graphmap-runtime\", version = \"{version}\" }}\n"
            )
        };
        assert_eq!(edited(&line("0.0.3")), line(REQUIREMENT));
        assert_eq!(edited(&line("0.1.0")), line("0.1.0"));
    }
}
