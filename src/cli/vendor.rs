//! `graphmap new --vendor`: copies the sources of the runtime, and the packages that they need from
//! a registry, into the project.
//!
//! `cargo vendor` copies the packages for all platforms. Packages that Linux does not need are
//! replaced by empty ones of the same name and version, because Cargo looks for each package in
//! `Cargo.lock`.

use super::cargo;
use super::exit::Exit;
use super::session::{Outcome, Session};
use super::{output, paths};
use crate::codes;
use graphmap_kpn::diagnostic::Diagnostic;
use graphmap_wiring::bundled;
use graphmap_wiring::project::Project;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::Path;

/// Folder of the packages, inside the folder of the sources.
const REGISTRY: &str = "registry";
/// Configuration file of Cargo in a project.
pub(super) const SETTINGS: &str = ".cargo/config.toml";

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    resolve: Resolve,
}

#[derive(Deserialize)]
struct Package {
    id: String,
    name: String,
    version: String,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
}

/// Writes all sources that are missing or differ into a project that contains a copy of them.
/// Prints the folder if one was written.
///
/// # Errors
/// As for [`output::write_quietly`].
pub(super) fn sources(session: &mut Session<'_>, project: &Project) -> Outcome<()> {
    let written = output::write_quietly(session, &project.sources_to_copy())?;
    if written.iter().any(|(word, _)| *word != "unchanged") {
        let folder = paths::shown(&project.root.join(bundled::FOLDER));
        session.print(&format!(
            "graphmap: copied the sources of the runtime to {folder}\n"
        ));
    }
    Ok(())
}

/// Copies packages of the registry into a project that contains a copy of the sources, and
/// configures Cargo to use them. The project then builds without network. Blocks until Cargo ends,
/// which may download packages.
///
/// # Errors
/// Reports an error and returns [`Exit::Usage`] if Cargo fails or a file cannot be written. Returns
/// the exit status of the signal if a signal interrupted Cargo.
pub(super) fn dependencies(session: &mut Session<'_>, project: &Path) -> Outcome<()> {
    let folder = project.join(bundled::FOLDER).join(REGISTRY);
    let manifest = project.join("Cargo.toml");
    let metadata = cargo::metadata(&manifest, &["--all-features"], session)?;
    let wrong = |why: String| {
        let message = format!(
            "the packages of `{}` cannot be copied: {why}",
            project.display()
        );
        let again = format!("graphmap new {} --update --vendor", paths::word(project));
        Diagnostic::error(codes::NO_SOURCES, message).help(format!(
            "the project exists now; copy the packages with `{again}`"
        ))
    };
    let metadata: Metadata = match serde_json::from_slice(&metadata) {
        Ok(metadata) => metadata,
        Err(error) => return session.fail(Exit::Usage, wrong(error.to_string())),
    };
    let used: HashSet<&str> = metadata
        .resolve
        .nodes
        .iter()
        .map(|node| &*node.id)
        .collect();
    let needed: HashSet<String> = (metadata.packages.iter())
        .filter(|package| used.contains(&*package.id))
        .map(|package| format!("{}-{}", package.name, package.version))
        .collect();
    let arguments = ["vendor", "--quiet", "--versioned-dirs", "--manifest-path"];
    let mut arguments = arguments.map(std::ffi::OsString::from).to_vec();
    arguments.extend([manifest.into(), folder.clone().into()]);
    let output = cargo::run(&arguments, session)?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let error = wrong("`cargo vendor` failed".to_owned());
        let error = error.with_note(format!("output of cargo:\n{}", said.trim_end()));
        return session.fail(Exit::Usage, error);
    }
    if let Err(error) = empty_unneeded(&folder, &needed).and_then(|()| configure_cargo(project)) {
        return session.fail(Exit::Usage, wrong(error.to_string()));
    }
    let settings = paths::shown(&project.join(SETTINGS));
    session.print(&format!("graphmap: wrote {settings}\n"));
    Ok(())
}

/// Returns true if the configuration of Cargo in a project is the one that `--vendor` writes.
pub(super) fn has_settings(project: &Path) -> bool {
    fs::read_to_string(project.join(SETTINGS)).is_ok_and(|text| text == settings_text())
}

/// Checks that the configuration of Cargo in a project can be written, because it does not exist or
/// `--vendor` wrote it.
///
/// # Errors
/// Reports an error and returns [`Exit::Usage`] if another file is there, or if the file cannot be
/// read.
pub(super) fn is_possible(session: &mut Session<'_>, project: &Path) -> Outcome<()> {
    let settings = project.join(SETTINGS);
    match fs::read_to_string(&settings) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Ok(text) if text == settings_text() => return Ok(()),
        _ => {}
    }
    let message = format!("`{}` exists, and would be overwritten", settings.display());
    let text = settings_text();
    let error = Diagnostic::error(codes::USAGE, message)
        .with_note(format!("`--vendor` writes this text:\n{}", text.trim_end()))
        .help("move it away, and add your settings to the new file");
    session.fail(Exit::Usage, error)
}

/// Empties the packages in a folder that are not in `needed`, which contains names such as
/// `serde-1.0.0`. Each keeps its manifest, and gets an empty library.
///
/// # Errors
/// Returns the first error of reading or writing. Some packages may be empty then.
fn empty_unneeded(folder: &Path, needed: &HashSet<String>) -> io::Result<()> {
    const CHECKSUMS: &str = ".cargo-checksum.json";
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if needed.contains(&*entry.file_name().to_string_lossy()) {
            continue;
        }
        let package = entry.path();
        let checksums: Value = serde_json::from_slice(&fs::read(package.join(CHECKSUMS))?)?;
        for inside in fs::read_dir(&package)? {
            let inside = inside?;
            match inside.file_type()?.is_dir() {
                true => fs::remove_dir_all(inside.path())?,
                false if inside.file_name() == "Cargo.toml" => {}
                false => fs::remove_file(inside.path())?,
            }
        }
        fs::create_dir(package.join("src"))?;
        fs::write(package.join("src/lib.rs"), "")?;
        let checksums = json!({ "files": {}, "package": checksums["package"] });
        fs::write(package.join(CHECKSUMS), checksums.to_string())?;
    }
    Ok(())
}

/// Configures Cargo to take all packages of crates.io from the folder of copied packages in the
/// project. Overwrites its configuration file. Returns an error if that cannot be written.
fn configure_cargo(project: &Path) -> io::Result<()> {
    let settings = project.join(SETTINGS);
    if let Some(folder) = settings.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(settings, settings_text())
}

fn settings_text() -> String {
    format!(
        "# All packages come from this folder. To add others, remove this file, or use `cargo vendor`.\n\
         [source.crates-io]\nreplace-with = \"vendored\"\n\n\
         [source.vendored]\ndirectory = \"{}/{REGISTRY}\"\n",
        bundled::FOLDER
    )
}
