//! The files that the program of a network writes: none over what is read to build it, or was written by somebody else.

use super::args::RunArgs;
use crate::cli::identity::{Identity, is_own_stream};
use crate::cli::opening::Opening;
use crate::cli::output;
use crate::cli::session::{Outcome, Session};
use graphmap_wiring::project::Project;
use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

/// Most entries of a project's folder that are looked at.
const MOST_ENTRIES: usize = 200_000;

/// How a profile, a trace and statistics begin.
const PROFILE: Opening<'static> = Opening::Json("processes");
const TRACE: Opening<'static> = Opening::Json("displayTimeUnit");
const STATISTICS: Opening<'static> = Opening::Json("what");

/// A file that the program is to write, and how it begins then.
struct Output {
    path: PathBuf,
    opening: Opening<'static>,
}

/// The files that the program is to write: what the user's shell has set holds where the command line says nothing.
fn outputs(args: &RunArgs) -> Vec<Output> {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    let or_set =
        |path: &Option<PathBuf>, name| path.clone().or_else(|| variable(name).map(PathBuf::from));
    let statistics = variable("GRAPHMAP_STATS").filter(|_| !args.stats);
    let statistics = statistics.and_then(|set| Some(set.to_str()?.strip_prefix("json:")?.into()));
    [
        (or_set(&args.profile, "GRAPHMAP_PROFILE"), PROFILE),
        (or_set(&args.trace, "GRAPHMAP_TRACE"), TRACE),
        (statistics, STATISTICS),
    ]
    .into_iter()
    .filter_map(|(path, opening)| {
        let path = path?;
        Some(Output { path, opening })
    })
    .collect()
}

/// Refuses a run whose program would write over what we have read, or one file twice: it knows nothing of that.
pub(super) fn check(args: &RunArgs, session: &mut Session<'_>) -> Outcome<()> {
    for Output { path, .. } in outputs(args) {
        output::not_an_input(session, &path, &Identity::of_output(&path))?;
    }
    // What is no file takes both.
    let is_file = |path: &Path| !path.exists() || path.is_file() && !is_own_stream(path);
    if let (Some(profile), Some(trace)) = (&args.profile, &args.trace)
        && Identity::of_output(profile) == Identity::of_output(trace)
        && is_file(profile)
    {
        return output::written_twice(session, profile, trace);
    }
    Ok(())
}

/// The same, once the project is known: what the compiler reads is read in this run, and what else stands there is
/// written over only where it was written by such a run.
pub(super) fn check_in(
    args: &RunArgs,
    session: &mut Session<'_>,
    project: &Project,
) -> Outcome<()> {
    let there: Vec<Output> = outputs(args)
        .into_iter()
        .filter(|output| output.path.is_file() && !is_own_stream(&output.path))
        .collect();
    if !there.is_empty() {
        for source in sources(&project.root, &there) {
            session.remember(&source);
        }
    }
    check(args, session)?;
    for Output { path, opening } in &there {
        output::not_of_others(session, path, std::slice::from_ref(opening))?;
    }
    Ok(())
}

/// What a build of a project reads of these files.
fn sources(root: &Path, outputs: &[Output]) -> Vec<PathBuf> {
    let of = |output: &Output| Identity::of_output(&output.path);
    let wanted: HashSet<Identity> = outputs.iter().map(of).collect();
    let openings = [PROFILE, TRACE, STATISTICS];
    let mut found = Vec::new();
    let is_wanted = |path: &Path| path.is_file() && wanted.contains(&Identity::of_file(path));
    let absolute = fs::canonicalize(root).unwrap_or_else(|_| root.to_owned());
    // Cargo looks for a workspace and for settings in all folders above.
    for folder in absolute.ancestors().skip(1) {
        let named = ABOVE.iter().map(|name| folder.join(name));
        found.extend(named.filter(|path| is_wanted(path)));
    }
    let of_sources = FOLDERS.map(|name| (root.join(name), true));
    // From the end: sources come before whatever else there may be much of.
    let mut folders = vec![(root.to_owned(), false)];
    folders.extend(of_sources);
    let mut seen = HashSet::new();
    let mut left = MOST_ENTRIES;
    while let Some((folder, is_source)) = folders.pop() {
        // By what it is: a link may lead into a circle.
        if !seen.insert((Identity::of_file(&folder), is_source)) {
            continue;
        }
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            left = match left.checked_sub(1) {
                Some(left) => left,
                None => return found,
            };
            let (path, name) = (entry.path(), entry.file_name());
            if path.is_dir() {
                // What is built, and what other tools keep.
                let hidden = name.as_encoded_bytes().starts_with(b".") && name != ".cargo";
                let built = folder == root && name == "target";
                if !hidden && !built {
                    folders.push((path, is_source));
                }
            } else if (is_source || is_read_by_name(&name)) && is_wanted(&path) {
                // Somebody has a profile written among the sources: one that was is written again.
                if is_read_by_name(&name) || !output::is_ours(&path, &openings) {
                    found.push(path);
                }
            }
        }
    }
    found
}

/// What Cargo reads in folders above a project's.
const ABOVE: [&str; 6] = [
    "Cargo.toml",
    "Cargo.lock",
    ".cargo/config.toml",
    ".cargo/config",
    "rust-toolchain.toml",
    "rust-toolchain",
];
/// Folders of a project in which a source may include whatever is there.
const FOLDERS: [&str; 3] = [".cargo", ".graphmap", "src"];

/// Whether Cargo or the compiler reads a file of this name, wherever in a project it is.
fn is_read_by_name(name: &OsStr) -> bool {
    let is_rust = Path::new(name)
        .extension()
        .is_some_and(|ending| ending == "rs");
    is_rust || ABOVE.iter().any(|read| name == *read)
}
