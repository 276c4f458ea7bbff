//! The reply of `graphmap-doctor` to `graphmap doctor`: one JSON object.

use crate::{Counts, NoRanks, Package, Project, check};
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics, Label};
use graphmap_kpn::source::SourceMap;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Version of the format of [`report`].
pub const PROTOCOL: u32 = 1;

/// Checks a project, for which it reads the project's files, and returns the result as one JSON
/// object. `metadata` is the output of `cargo metadata` for the project. The fields are:
///
/// - `protocol`: [`PROTOCOL`].
/// - `no_ranks`: the reason why there is nothing to check. In this case, the only other field is
///   `without_mpi`, which is true if no package uses `mpi`.
/// - `text`: a table of the counts for people.
/// - `packages` and `others`: the same for programs.
/// - `diagnostics`: each with `code`, `severity`, `message`, `help`, `notes` and `labels`. A label
///   has a `file`, a byte range (`start`, `end`) and a `text`. The first label is the position of
///   the diagnostic.
///
/// `manifest` is the path of the project's `Cargo.toml` as the user wrote it. The names of files of
/// the project begin with its folder. Other files are named relative to the current folder if they
/// are in it. Otherwise their names are absolute. If `list` is true, `text` lists the packages that
/// were not checked. Otherwise it has only their number.
pub fn report(metadata: &[u8], manifest: &Path, list: bool) -> Value {
    let project = match Project::from_metadata(metadata) {
        Ok(project) => project,
        Err(why) => {
            return json!({
                "protocol": PROTOCOL,
                "no_ranks": why.to_string(),
                "without_mpi": matches!(why, NoRanks::WithoutMpi(_)),
            });
        }
    };
    let shown = shown(manifest);
    let mut sources = SourceMap::new();
    let mut found = Diagnostics::new();
    let checked: Vec<(&Package, Counts)> = project
        .packages
        .iter()
        .map(|package| (package, check(package, &shown, &mut sources, &mut found)))
        .collect();
    let packages = checked.iter().map(|(package, counts)| {
        json!({
            "name": package.name,
            "version": package.version,
            "own": package.own,
            "counts": counts,
        })
    });
    json!({
        "protocol": PROTOCOL,
        "packages": packages.collect::<Vec<_>>(),
        "text": as_text(&checked, &project.others, list),
        "others": project.others,
        "diagnostics": found.iter().map(|one| as_json(one, &sources)).collect::<Vec<_>>(),
    })
}

fn as_json(diagnostic: &Diagnostic, sources: &SourceMap) -> Value {
    let label = |label: &Label| {
        let (source, range) = sources.range(label.span)?;
        Some(json!({
            "file": source.name(),
            "start": range.start,
            "end": range.end,
            "text": label.text,
        }))
    };
    let labels = diagnostic.primary.iter().chain(&diagnostic.secondary);
    json!({
        "code": diagnostic.code.0,
        "severity": diagnostic.severity.to_string(),
        "message": diagnostic.message,
        "labels": labels.filter_map(label).collect::<Vec<_>>(),
        "help": diagnostic.help,
        "notes": diagnostic.notes,
    })
}

/// Returns a function that names files. The names of files of the project begin with its folder as
/// the user wrote it, without a leading `./`. Other files are named relative to the current folder
/// if they are in it. Otherwise their names stay unchanged.
fn shown(manifest: &Path) -> impl Fn(&Path) -> String + use<> {
    let folder = manifest.parent().map(Path::to_owned).unwrap_or_default();
    let root = std::path::absolute(match folder.as_os_str().is_empty() {
        true => Path::new("."),
        false => &folder,
    });
    let here = std::env::current_dir();
    move |path: &Path| {
        let within = |root: &std::io::Result<PathBuf>| {
            let rest = path.strip_prefix(root.as_ref().ok()?).ok()?;
            Some(rest.to_owned())
        };
        let own = within(&root).map(|rest| folder.join(rest));
        // `./src/main.rs` of the project `.`
        let own = own.map(|path| path.strip_prefix(".").map_or(path.clone(), Path::to_owned));
        let name = own.or_else(|| within(&here));
        name.as_deref().unwrap_or(path).display().to_string()
    }
}

/// Returns the table of the counts, and the number of the packages that were not checked, or their
/// names if `list` is true. Counts of 0 are omitted.
fn as_text(checked: &[(&Package, Counts)], others: &[String], list: bool) -> String {
    let mut text = String::new();
    for (package, counts) in checked {
        let whose = match package.own {
            true => "",
            false => " (a dependency)",
        };
        text += &format!(
            "{} {}{whose}: {} checked\n",
            package.name,
            package.version,
            match counts.files {
                1 => "1 file".to_owned(),
                n => format!("{n} files"),
            }
        );
        for (count, what) in [
            (
                counts.statics,
                "mutable statics, shared by the ranks of an OS process (G0801)",
            ),
            (
                counts.thread_locals,
                "thread-locals, shared by the ranks of a thread (G0802)",
            ),
            (
                counts.made_once,
                "statics that one rank initializes for all (G0803)",
            ),
            (
                counts.process_wide,
                "calls that affect the whole OS process (G0804)",
            ),
            (
                counts.held_up,
                "calls that block all ranks of a thread (G0809)",
            ),
            (counts.locks, "locks held while a rank waits (G0810)"),
            (
                counts.other_languages,
                "uses of code in other languages, not checked (G0811)",
            ),
            (counts.generated, "generated files, not checked (G0812)"),
            (counts.not_judged, "statics that may be mutable (G0805)"),
            (counts.macros, "macro calls, not checked (G0807)"),
            (counts.unread, "files that could not be read (G0806)"),
        ] {
            if count > 0 {
                text += &format!("  {count:>4}  {what}\n");
            }
        }
        let nothing = Counts {
            files: counts.files,
            ..Counts::default()
        };
        if *counts == nothing {
            text += "        no shared state found\n";
        }
    }
    match (others.len(), list) {
        (0, _) => {}
        (_, true) => {
            text += "not checked, because they do not use `mpi`:\n";
            others
                .iter()
                .for_each(|other| text += &format!("  {other}\n"));
        }
        (count, false) => {
            let count = match count {
                1 => "1 dependency".to_owned(),
                n => format!("{n} dependencies"),
            };
            text += &format!("{count} without `mpi` not checked (`--dependencies` lists them)\n");
        }
    }
    text
}
