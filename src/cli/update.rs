//! `graphmap new --update`: what a project says of the runtime, as this version of graphmap has it.
//!
//! Only text that graphmap wrote is changed: paths and versions of its own packages, `exclude`,
//! `.gitignore`. What is not found as it was written is left, and reported.

use super::exit::Exit;
use super::new::args::{Link, NewArgs};
use super::run::project::{link, link_helps};
use super::session::{Outcome, Session};
use super::{output, paths, vendor};
use crate::codes;
use graphmap_kpn::diagnostic::Diagnostic;
use graphmap_kpn::emit::Files;
use graphmap_kpn::input::{self, Limit};
use graphmap_wiring::bundled::{self, FOLDER, PACKAGES, REQUIREMENT};
use graphmap_wiring::family;
use graphmap_wiring::project::Project;
use std::path::Path;

/// The folder of the sources in projects of older versions, which contained them.
const OLD_FOLDER: &str = "vendor";

pub(super) fn run(args: &NewArgs, session: &mut Session<'_>) -> Outcome<Exit> {
    let folder = &args.folder;
    let project = match Project::open(folder) {
        Ok(Some(project)) => project,
        Ok(None) => {
            let message = format!("there is no project in `{}` to update", folder.display());
            let error = Diagnostic::error(codes::USAGE, message);
            return session.fail(Exit::Usage, error.help("leave `--update` out to make one"));
        }
        Err(failed) => {
            session.find_all(failed);
            return Err(Exit::Usage);
        }
    };
    if let Some(wrong) = mismatch(args, &project) {
        return session.fail(Exit::Usage, wrong);
    }
    let manifest = folder.join("Cargo.toml");
    let before = read(session, &manifest)?;
    let mut edit = Edit::new(&before);
    edit.dependencies();
    let copy = project.copied || args.vendor;
    let adds_link = matches!(args.link, Some(Link::Mpi)) && !project.mpi;
    let main = folder.join("src/main.rs");
    let mut files = Files::new();
    if adds_link {
        let text = read(session, &main)?;
        match edit
            .add_link(&project)
            .and_then(|()| with_link(&text, project.ranks))
        {
            Some(text) => files.generated(&main, text),
            None => {
                let message = format!(
                    "the MPI link cannot be added to `{}`: its files are not as graphmap wrote them",
                    folder.display()
                );
                let error = Diagnostic::error(codes::NO_LINK, message);
                return session.fail(Exit::Usage, link_helps(error, &project));
            }
        }
    }
    files.generated(&manifest, edit.text);
    let ignored = folder.join(".gitignore");
    if project.sources.is_some() || project.outdated {
        let lines = input::text(&ignored, Limit::SOURCE).unwrap_or_default();
        files.generated(&ignored, ignoring(&lines, !copy));
    }
    for (word, path) in output::write_quietly(session, &files)? {
        if word != "unchanged" {
            session.tell(&format!("graphmap: {word} {}\n", paths::shown(&path)));
        }
    }
    let Ok(Some(updated)) = Project::open(folder) else {
        let message = format!("`{}` is not a project any more", folder.display());
        return session.fail(
            Exit::Usage,
            Diagnostic::error(codes::OTHER_RUNTIME, message),
        );
    };
    match copy {
        true => copied(session, updated)?,
        false => link(session, &updated)?,
    }
    left_over(folder, session);
    Ok(Exit::Ok)
}

/// What the command line says that is not so of the project.
fn mismatch(args: &NewArgs, project: &Project) -> Option<Diagnostic> {
    let folder = args.folder.display();
    let message = match &args.family {
        Some(family) if (family == family::MPI) != project.ranks => {
            format!("`{folder}` is not a project of the family `{family}`")
        }
        _ if args.from.is_some() => format!("the project `{folder}` is there, and has its graph"),
        _ => return None,
    };
    let error = Diagnostic::error(codes::USAGE, message);
    let command = format!("graphmap new {} --update", paths::word(&args.folder));
    Some(error.help(format!("`{command}` updates it")))
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

/// Copies the sources into the project, in the place of a link to them.
fn copied(session: &mut Session<'_>, mut project: Project) -> Outcome<()> {
    if let Some(sources) = project.sources.as_ref().filter(|path| path.is_symlink())
        && let Err(error) = std::fs::remove_file(sources)
    {
        let message = format!("`{}` cannot be removed: {error}", sources.display());
        return session.fail(Exit::Usage, Diagnostic::error(codes::CANNOT_WRITE, message));
    }
    project.copied = true;
    let written = output::write_quietly(session, &project.sources_to_copy())?;
    if written.iter().any(|(word, _)| *word != "unchanged") {
        let folder = paths::shown(&project.root.join(FOLDER));
        session.tell(&format!(
            "graphmap: copied the sources of the runtime to {folder}\n"
        ));
    }
    if project.ranks || project.mpi {
        vendor::dependencies(session, &project.root)?;
    }
    Ok(())
}

/// Reports folders of older copies, which may have files of the user's and are therefore not
/// deleted.
fn left_over(folder: &Path, session: &mut Session<'_>) {
    let folders = PACKAGES
        .iter()
        .map(|name| folder.join(OLD_FOLDER).join(name));
    let folders: Vec<String> = folders
        .filter(|folder| folder.is_dir())
        .map(|folder| paths::word(&folder))
        .collect();
    if !folders.is_empty() {
        let folders = folders.join(" ");
        session.tell(&format!("graphmap: no longer used: rm -r {folders}\n"));
    }
}

/// The text of a manifest that is being changed.
struct Edit {
    text: String,
}

impl Edit {
    fn new(text: &str) -> Edit {
        Edit {
            text: text.to_owned(),
        }
    }

    /// Has dependencies on our packages lead to the folder of their sources, and require the
    /// version of them.
    fn dependencies(&mut self) {
        for name in PACKAGES {
            let old = format!("\"{OLD_FOLDER}/{name}\"");
            self.text = self.text.replace(&old, &format!("\"{FOLDER}/{name}\""));
        }
        let lines = self.text.split_inclusive('\n').map(|line| {
            let ours = PACKAGES.iter().find(|name| {
                let is_package = line.trim_start().starts_with(&format!("{name} = {{"));
                is_package && line.contains(&format!("{FOLDER}/{name}\""))
            });
            match ours {
                // It takes the place of rsmpi: the dependency says of which version.
                None | Some(&bundled::MPI) => line.to_owned(),
                Some(name) => requiring(line, name),
            }
        });
        let text: String = lines.collect();
        self.text = excluding(&text);
    }

    /// Adds the MPI link. `None` if the manifest is not as graphmap writes it.
    fn add_link(&mut self, project: &Project) -> Option<()> {
        let name = bundled::LINK;
        let path = match &project.runtime {
            Some(_) => return None,
            None => format!("{FOLDER}/{name}"),
        };
        let before = match project.ranks {
            true => "\nmpi = { version",
            false => "\ngraphmap-runtime = { path = \"",
        };
        let at = only(&self.text, before)? + 1;
        // As the runtime, it may be in the folder of a workspace.
        let up = match project.ranks {
            true => "",
            false => {
                let value = &self.text[at + before.len() - 1..];
                value.split_once(FOLDER)?.0
            }
        };
        let optional = if project.ranks {
            ", optional = true"
        } else {
            ""
        };
        let line = format!(
            "{name} = {{ path = \"{up}{path}\", version = \"{REQUIREMENT}\"{optional} }}\n"
        );
        self.text.insert_str(at, &line);
        if project.ranks {
            const FEATURE: &str = "\ncoroutines = []\n";
            let at = only(&self.text, FEATURE)?;
            let with = format!("\ncoroutines = [\"dep:{name}\"]\n");
            self.text.replace_range(at..at + FEATURE.len(), &with);
        }
        Some(())
    }
}

/// The place of a text that occurs once.
fn only(text: &str, part: &str) -> Option<usize> {
    let mut places = text.match_indices(part);
    let (at, _) = places.next()?;
    places.next().is_none().then_some(at)
}

/// A line of a dependency with the version that it requires.
fn requiring(line: &str, name: &str) -> String {
    const VERSION: &str = ", version = \"";
    if let Some(at) = line.find(VERSION) {
        let value = at + VERSION.len();
        let length = line[value..].find('"').unwrap_or(0);
        if bundled::satisfies(&line[value..value + length]) {
            return line.to_owned();
        }
        return format!("{}{REQUIREMENT}{}", &line[..value], &line[value + length..]);
    }
    let path = format!("{FOLDER}/{name}\"");
    line.replacen(&path, &format!("{path}, version = \"{REQUIREMENT}\""), 1)
}

/// A manifest whose workspace has the folder of our sources as no member.
fn excluding(text: &str) -> String {
    const EXCLUDE: &str = "\nexclude = [";
    let quoted = format!("\"{FOLDER}\"");
    match only(text, EXCLUDE) {
        Some(at) if !text.contains(&quoted) => {
            let (before, after) = text.split_at(at + EXCLUDE.len());
            let comma = if after.trim_start().starts_with(']') {
                ""
            } else {
                ", "
            };
            format!("{before}{quoted}{comma}{after}")
        }
        _ => text.to_owned(),
    }
}

/// The program with the MPI link. `None` if it is not as graphmap wrote it.
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

/// The lines of `.gitignore`, with or without the link to the sources.
fn ignoring(lines: &str, ignored: bool) -> String {
    let line = format!("/{FOLDER}");
    let has = lines.lines().any(|there| there.trim() == line);
    match (ignored, has) {
        (true, false) if lines.is_empty() || lines.ends_with('\n') => format!("{lines}{line}\n"),
        (true, false) => format!("{lines}\n{line}\n"),
        (false, true) => lines
            .split_inclusive('\n')
            .filter(|there| there.trim() != line)
            .collect(),
        _ => lines.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edited(text: &str) -> String {
        let mut edit = Edit::new(text);
        edit.dependencies();
        edit.text
    }

    #[test]
    fn old_paths_lead_to_the_link_and_other_lines_stay() {
        let before = "[dependencies]\n# A comment.\n\
            graphmap-runtime = { path = \"vendor/graphmap-runtime\", default-features = false }\n\
            other = { path = \"vendor/other\" }\n\n[workspace]\nexclude = [\"vendor\"]\n";
        let after = "[dependencies]\n# A comment.\n\
            graphmap-runtime = { path = \".graphmap/graphmap-runtime\", version = \"0.1\", default-features = false }\n\
            other = { path = \"vendor/other\" }\n\n[workspace]\nexclude = [\".graphmap\", \"vendor\"]\n";
        assert_eq!(edited(before), after);
        assert_eq!(edited(after), after);
        let patch = "[patch.crates-io]\nmpi = { path = \"vendor/mpi\" }\n";
        assert_eq!(edited(patch), patch.replace("vendor", ".graphmap"));
    }

    #[test]
    fn only_a_requirement_that_is_not_met_is_replaced() {
        let line = |version| {
            format!(
                "graphmap-runtime = {{ path = \".graphmap/graphmap-runtime\", version = \"{version}\" }}\n"
            )
        };
        assert_eq!(edited(&line("0.0.3")), line(REQUIREMENT));
        assert_eq!(edited(&line("0.1.0")), line("0.1.0"));
    }

    #[test]
    fn the_link_is_ignored_once() {
        assert_eq!(ignoring("", true), "/.graphmap\n");
        assert_eq!(ignoring("/target", true), "/target\n/.graphmap\n");
        assert_eq!(
            ignoring("/target\n/.graphmap\n", true),
            "/target\n/.graphmap\n"
        );
        assert_eq!(
            ignoring("/target\n/.graphmap\n*.o\n", false),
            "/target\n*.o\n"
        );
    }
}
