//! The build folder that projects share, so that the runtime is compiled once for all of them.
//!
//! Cargo identifies a path dependency by its name, version and path relative to the workspace.
//! These are equal for the runtime in all projects, and its version has a hash of its contents.
//! A project's own package is identified in the same way, and two projects may have the same name.
//! Therefore the folder has a file for each name with the project that was built last. The compiled
//! units of another project of that name are removed first.

use crate::cli::cargo;
use crate::cli::session::Session;
use crate::program;
use graphmap_kpn::input::{self, Limit};
use graphmap_wiring::bundled;
use graphmap_wiring::project::Project;
use rustix::fs::{FlockOperation, flock};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{Read, Seek, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// Variable that names the folder for Cargo 1.91 and later.
pub(crate) const VARIABLE: &str = "CARGO_BUILD_BUILD_DIR";

/// Variables by which the user selects a build folder.
const OTHER: [&str; 3] = [VARIABLE, "CARGO_BUILD_TARGET_DIR", "CARGO_TARGET_DIR"];

/// Shared folder, locked so that no other command builds a project of the same name in it.
pub(crate) struct SharedBuild {
    pub(crate) folder: PathBuf,
    _locked: File,
}

/// Returns the shared folder for a project, and locks it for this name of a project until the
/// result is dropped. Does not wait for the lock. Runs `cargo clean` for another project of that
/// name. Returns `None` if the project is not built there. Possible reasons are:
///
/// * The user has selected a build folder.
/// * The project does not use a link to the sources, or its manifest cannot be read.
/// * The project has other local packages, or is not a workspace of its own.
/// * Another command is building a project of its name.
/// * The file system does not record when folders are made.
/// * The folder cannot be written or cleaned.
pub(crate) fn claim(
    session: &mut Session<'_>,
    project: &Project,
    release: bool,
) -> Option<SharedBuild> {
    if project.copied || OTHER.iter().any(|name| std::env::var_os(name).is_some()) {
        return None;
    }
    project.sources.as_ref()?;
    let manifest = project.root.join("Cargo.toml");
    if !is_alone(&input::text(&manifest, Limit::SOURCE).ok()?.parse().ok()?) {
        return None;
    }
    let folder = program::data_folder().ok()?.join("build");
    let profile = if release { "release" } else { "debug" };
    let owners = folder.join("projects").join(profile);
    fs::create_dir_all(&owners).ok()?;
    let mut options = File::options();
    options.read(true).write(true).create(true).truncate(false);
    let mut owner = options.open(owners.join(&project.package)).ok()?;
    flock(&owner, FlockOperation::NonBlockingLockExclusive).ok()?;
    let identity = identity(&project.root)?;
    let mut last = Vec::new();
    owner.read_to_end(&mut last).ok()?;
    if last != identity {
        if !last.is_empty() && !clean(session, &manifest, &folder, project, release) {
            return None;
        }
        owner.set_len(0).ok()?;
        owner.rewind().ok()?;
        owner.write_all(&identity).ok()?;
    }
    Some(SharedBuild {
        folder,
        _locked: owner,
    })
}

/// Returns the path of a folder, the time of its creation, and its inode, as one text. The path
/// alone is not enough: another folder with older files may be moved there, and Cargo would not
/// compile them. Returns `None` if one of these is unknown.
fn identity(folder: &Path) -> Option<Vec<u8>> {
    let folder = folder.canonicalize().ok()?;
    let metadata = folder.metadata().ok()?;
    let made = metadata.created().ok()?.duration_since(UNIX_EPOCH).ok()?;
    let mut identity = format!("{} {}\n", made.as_nanos(), metadata.ino()).into_bytes();
    identity.extend(folder.as_os_str().as_bytes());
    Some(identity)
}

/// Removes the compiled units of the package of a project from the build folder `folder`. Blocks
/// until Cargo ends. Returns false if Cargo cannot be run or fails.
fn clean(
    session: &mut Session<'_>,
    manifest: &Path,
    folder: &Path,
    project: &Project,
    release: bool,
) -> bool {
    let mut arguments: Vec<OsString> =
        vec!["clean".into(), "--quiet".into(), "--manifest-path".into()];
    arguments.extend([
        manifest.into(),
        "--package".into(),
        project.package.clone().into(),
    ]);
    if release {
        arguments.push("--release".into());
    }
    let folder = format!("build.build-dir = {:?}", folder.display().to_string());
    arguments.extend(["--config".into(), folder.into()]);
    cargo::run(&arguments, session).is_ok_and(|output| output.status.success())
}

/// Returns true if a project is a workspace of its own without other members, and depends on no
/// local packages other than those of graphmap.
fn is_alone(manifest: &toml::Table) -> bool {
    let workspace = manifest.get("workspace").and_then(|w| w.as_table());
    let has_members = workspace.is_none_or(|workspace| workspace.contains_key("members"));
    !has_members
        && manifest
            .iter()
            .filter(|(section, _)| {
                section.ends_with("dependencies")
                    || ["patch", "replace", "target"].contains(&section.as_str())
            })
            .all(|(_, value)| is_ours(value))
}

/// Returns true if all paths in a value lead to the sources of graphmap. Arrays are not searched.
fn is_ours(value: &toml::Value) -> bool {
    let toml::Value::Table(table) = value else {
        return true;
    };
    table
        .iter()
        .all(|(key, value)| match (key.as_str(), value.as_str()) {
            ("path", Some(path)) => path.starts_with(&format!("{}/", bundled::FOLDER)),
            _ => is_ours(value),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_with_other_local_packages_is_not_alone() {
        let alone = |text: &str| is_alone(&text.parse().unwrap());
        let ours = "[dependencies]\na = { path = \".graphmap/a\" }\nb = \"1\"\n";
        assert!(alone(&format!(
            "{ours}[workspace]\n[lib]\npath = \"lib.rs\""
        )));
        for other in [
            "",
            "[workspace]\nmembers = [\"b\"]",
            "[workspace]\n[dev-dependencies]\nc = { path = \"../c\" }",
            "[workspace]\n[target.'cfg(unix)'.dependencies.c]\npath = \"c\"",
            "[workspace]\n[patch.crates-io]\nc = { path = \"c\" }",
        ] {
            assert!(!alone(&format!("{ours}{other}")), "{other}");
        }
    }
}
