//! Checks the files that the program of a network writes. They must not overwrite sources, or files
//! by others.

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

/// Maximum number of entries of the folders of a project that are examined.
const MOST_ENTRIES: usize = 200_000;

/// Openings of profiles, traces and statistics.
const PROFILE: Opening<'static> = Opening::Json("processes");
const TRACE: Opening<'static> = Opening::Json("displayTimeUnit");
const STATISTICS: Opening<'static> = Opening::Json("what");

/// A file that the program will write, and its opening.
struct Output {
    path: PathBuf,
    opening: Opening<'static>,
}

/// Returns the files that the program will write: profile, trace and statistics. The environment
/// applies if the command line has no option.
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

/// Refuses a run whose program would overwrite an input, or write its profile and its trace to one
/// file. The two are compared only if options name both. The program cannot check this.
///
/// # Errors
/// Reports an error and returns `Exit::Usage` for such a run.
pub(super) fn check(args: &RunArgs, session: &mut Session<'_>) -> Outcome<()> {
    for Output { path, .. } in outputs(args) {
        output::not_an_input(session, &path, &Identity::of_output(&path))?;
    }
    // A path that is not a regular file can receive both.
    let is_file = |path: &Path| !path.exists() || path.is_file() && !is_own_stream(path);
    if let (Some(profile), Some(trace)) = (&args.profile, &args.trace)
        && Identity::of_output(profile) == Identity::of_output(trace)
        && is_file(profile)
    {
        return output::written_twice(session, profile, trace);
    }
    Ok(())
}

/// Like [`check`], once the project is known. The sources that the compiler reads are inputs of
/// this run. Other existing files must be from an earlier run.
///
/// # Errors
/// As for [`check`], and `Exit::Usage` if an existing file is not from an earlier run.
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
        output::check_owned_file(session, path, std::slice::from_ref(opening))?;
    }
    Ok(())
}

/// Returns the files among `outputs` that a build of the project in `root` reads. Examines at most
/// 200,000 entries of its folders, and skips build results and hidden folders except `.cargo` and
/// `.graphmap`.
fn sources(root: &Path, outputs: &[Output]) -> Vec<PathBuf> {
    let of = |output: &Output| Identity::of_output(&output.path);
    let wanted: HashSet<Identity> = outputs.iter().map(of).collect();
    let openings = [PROFILE, TRACE, STATISTICS];
    let mut found = Vec::new();
    let is_wanted = |path: &Path| path.is_file() && wanted.contains(&Identity::of_file(path));
    let absolute = fs::canonicalize(root).unwrap_or_else(|_| root.to_owned());
    // Cargo looks for a workspace and settings in all folders above.
    for folder in absolute.ancestors().skip(1) {
        let named = ABOVE.iter().map(|name| folder.join(name));
        found.extend(named.filter(|path| is_wanted(path)));
    }
    let of_sources = FOLDERS.map(|name| (root.join(name), true));
    // The last is examined first, so that sources come before other large folders.
    let mut folders = vec![(root.to_owned(), false)];
    folders.extend(of_sources);
    let mut seen = HashSet::new();
    let mut left = MOST_ENTRIES;
    while let Some((folder, is_source)) = folders.pop() {
        // Compared by identity, because links may form a cycle.
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
                // Build results and the folders of other tools are skipped.
                let hidden = name.as_encoded_bytes().starts_with(b".") && name != ".cargo";
                let built = folder == root && name == "target";
                if !hidden && !built {
                    folders.push((path, is_source));
                }
            } else if (is_source || is_read_by_name(&name)) && is_wanted(&path) {
                // A profile among the sources may be overwritten if an earlier run wrote it.
                if is_read_by_name(&name) || !output::is_from_graphmap(&path, &openings) {
                    found.push(path);
                }
            }
        }
    }
    found
}

/// Files that Cargo reads in the folders above a project.
const ABOVE: [&str; 6] = [
    "Cargo.toml",
    "Cargo.lock",
    ".cargo/config.toml",
    ".cargo/config",
    "rust-toolchain.toml",
    "rust-toolchain",
];
/// Folders of a project in which a source may include any file.
const FOLDERS: [&str; 3] = [".cargo", ".graphmap", "src"];

/// Returns true if Cargo or the compiler reads files of this name anywhere in a project.
fn is_read_by_name(name: &OsStr) -> bool {
    let is_rust = Path::new(name)
        .extension()
        .is_some_and(|ending| ending == "rs");
    is_rust || ABOVE.iter().any(|read| name == *read)
}
