//! Embeds what travels inside the binary: the built-in skeletons, and the source of the runtime that
//! a new project takes along.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

fn main() {
    let here = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("set by cargo"));
    let root = here.join("../..");

    let mut skeletons = Vec::new();
    files(&root.join("skeletons"), "", &mut skeletons);
    let skeletons = skeletons.iter().filter_map(|(name, path)| {
        let name = name.strip_suffix(".hbs")?;
        Some((name, read(path)))
    });
    embed("BUILT_IN", "skeletons.rs", skeletons);

    let runtime = root.join("modules/runtime");
    let mut sources = Vec::new();
    files(&runtime.join("src"), "src/", &mut sources);
    let sources = sources
        .iter()
        .map(|(name, path)| (name.as_str(), read(path)));
    let manifest = ("Cargo.toml", manifest(&runtime.join("Cargo.toml")));
    embed("VENDORED", "vendored.rs", sources.chain([manifest]));

    let link = root.join("modules/link-mpi");
    let mut sources = Vec::new();
    files(&link.join("src"), "src/", &mut sources);
    let sources = sources
        .iter()
        .map(|(name, path)| (name.as_str(), read(path)));
    let manifest = ("Cargo.toml", link_manifest(&link.join("Cargo.toml")));
    embed(
        "VENDORED_LINK",
        "vendored_link.rs",
        sources.chain([manifest]),
    );
}

/// Writes a table of names and texts.
fn embed<'a>(table: &str, file: &str, entries: impl Iterator<Item = (&'a str, String)>) {
    let mut text = format!("static {table}: &[(&str, &str)] = &[\n");
    for (name, content) in entries {
        writeln!(text, "    ({name:?}, {content:?}),").expect("a string");
    }
    text.push_str("];\n");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("set by cargo"));
    fs::write(out.join(file), text).expect("OUT_DIR can be written");
}

fn read(path: &Path) -> String {
    println!("cargo::rerun-if-changed={}", path.display());
    fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// All files below a folder, by their path within it, sorted.
fn files(folder: &Path, prefix: &str, found: &mut Vec<(String, PathBuf)>) {
    println!("cargo::rerun-if-changed={}", folder.display());
    let entries = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        let name = path.file_name().expect("an entry has a name");
        let name = format!("{prefix}{}", name.to_str().expect("our names are plain"));
        if path.is_dir() {
            files(&path, &format!("{name}/"), found);
        } else {
            found.push((name, path));
        }
    }
}

const KEPT: &str = "# Comes with graphmap, which keeps it up to date: do not edit.\n\n";

/// The manifest of the link over MPI, with the runtime beside it.
fn link_manifest(path: &Path) -> String {
    let text = read(path);
    let mut manifest: toml::Table = text
        .parse()
        .unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    for section in ["dev-dependencies", "lints", "workspace"] {
        manifest.remove(section);
    }
    let dependencies = manifest
        .get_mut("dependencies")
        .and_then(|d| d.as_table_mut());
    let runtime = dependencies.and_then(|d| d.get_mut("graphmap-runtime")?.as_table_mut());
    let runtime = runtime.unwrap_or_else(|| panic!("{}: no runtime", path.display()));
    runtime.insert("path".into(), "../graphmap-runtime".into());
    format!("{KEPT}{manifest}")
}

/// The runtime's manifest without what only its own tests and benches need.
fn manifest(path: &Path) -> String {
    let text = read(path);
    let mut manifest: toml::Table = text
        .parse()
        .unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    for section in ["dev-dependencies", "bench", "test", "example", "lints"] {
        manifest.remove(section);
    }
    // Nothing that a project could not find: the runtime has no dependencies (a test of the
    // architecture), and says everything itself.
    let dependencies = manifest.get("dependencies").and_then(|d| d.as_table());
    assert!(
        dependencies.is_none_or(|d| d.is_empty()),
        "{}: dependencies",
        path.display()
    );
    assert!(
        !manifest.to_string().contains("workspace"),
        "{}: inherits",
        path.display()
    );
    format!("{KEPT}{manifest}")
}
