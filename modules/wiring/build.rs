//! Embeds what travels inside the binary: the built-in skeletons, and the source of the runtime that
//! a new project takes along.
//!
//! `copied/` has links to the crates that are copied. `cargo package` puts what they lead to into the package, so there
//! is one source, and the package has all that it needs.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

fn main() {
    let here = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("set by cargo"));

    let mut skeletons = Vec::new();
    files(&here.join("skeletons"), "", &mut skeletons);
    let skeletons = skeletons.iter().filter_map(|(name, path)| {
        let name = name.strip_suffix(".hbs")?;
        Some((name, read(path)))
    });
    embed("BUILT_IN", "skeletons.rs", skeletons);

    let copied = here.join("copied");
    let rankmap = copied.join("rankmap");
    embed_crate("VENDORED_RANKMAP", "vendored_rankmap.rs", &rankmap, alone);
    embed_crate("VENDORED", "vendored.rs", &copied.join("runtime"), manifest);
    embed_crate(
        "VENDORED_LINK",
        "vendored_link.rs",
        &copied.join("link-mpi"),
        link_manifest,
    );
    embed_crate(
        "VENDORED_STACK",
        "vendored_stack.rs",
        &copied.join("stack"),
        stack_manifest,
    );
    embed_crate(
        "VENDORED_MPI_DERIVE",
        "vendored_mpi_derive.rs",
        &copied.join("mpi-derive"),
        says_all,
    );
    embed_crate(
        "VENDORED_MPI",
        "vendored_mpi.rs",
        &copied.join("mpi"),
        mpi_manifest,
    );
}

/// Writes a table of the files of a crate: its source is the folder `NAME-src`, its manifest `NAME.toml`.
fn embed_crate(table: &str, file: &str, name: &Path, manifest: fn(toml::Table) -> toml::Table) {
    let with = |ending: &str| {
        let mut path = name.as_os_str().to_owned();
        path.push(ending);
        PathBuf::from(path)
    };
    let mut sources = Vec::new();
    files(&with("-src"), "src/", &mut sources);
    let sources = sources
        .iter()
        .map(|(name, path)| (name.as_str(), read(path)));
    let path = with(".toml");
    let whole = read(&path).parse();
    let whole = whole.unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let text = format!("{KEPT}{}", manifest(needed(whole)));
    embed(table, file, sources.chain([("Cargo.toml", text)]));
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

/// What a project needs of a manifest: not what only tests, lints and registries do. A copy is not published.
fn needed(whole: toml::Table) -> toml::Table {
    let kept = [
        "authors",
        "description",
        "edition",
        "license",
        "name",
        "rust-version",
        "version",
    ];
    let mut manifest = toml::Table::new();
    for (section, content) in whole {
        let content = match (section.as_str(), content) {
            ("package", toml::Value::Table(mut package)) => {
                package.retain(|key, _| kept.contains(&key));
                package.insert("publish".into(), false.into());
                package.into()
            }
            ("features" | "dependencies" | "lib", content) => content,
            _ => continue,
        };
        manifest.insert(section, content);
    }
    manifest
}

/// The manifest of the link over MPI, with the runtime beside it.
fn link_manifest(mut manifest: toml::Table) -> toml::Table {
    stand_beside(&mut manifest, "graphmap-runtime");
    manifest
}

/// The manifest of the stacks, with the runtime beside it.
fn stack_manifest(mut manifest: toml::Table) -> toml::Table {
    stand_beside(&mut manifest, "graphmap-runtime");
    says_all(manifest)
}

/// The manifest of rsmpi's API, with what it stands on beside it.
fn mpi_manifest(mut manifest: toml::Table) -> toml::Table {
    for crate_beside in ["graphmap-mpi-derive", "graphmap-runtime", "graphmap-stack"] {
        stand_beside(&mut manifest, crate_beside);
    }
    says_all(manifest)
}

/// The runtime's manifest, with the rank maps beside it, and nothing that a project could not find.
fn manifest(mut manifest: toml::Table) -> toml::Table {
    stand_beside(&mut manifest, "graphmap-rankmap");
    let dependencies = manifest.get("dependencies").and_then(|d| d.as_table());
    assert!(
        dependencies.is_some_and(|d| d.len() == 1),
        "the runtime has other dependencies than rank maps"
    );
    says_all(manifest)
}

/// The manifest of a crate that stands on no other: those that it may stand on are left out, with the features that want them, which
/// its source still names.
fn alone(mut manifest: toml::Table) -> toml::Table {
    manifest.remove("dependencies");
    let features = manifest.remove("features");
    let features = features.iter().flat_map(|f| f.as_table()).flatten();
    let named: Vec<String> = features.map(|(name, _)| format!("{name:?}")).collect();
    let cfg = format!("cfg(feature, values({}))", named.join(", "));
    let lint = toml::Table::from_iter([
        ("level".into(), "warn".into()),
        ("check-cfg".into(), vec![cfg].into()),
    ]);
    let lints = toml::Table::from_iter([("unexpected_cfgs".into(), lint.into())]);
    let lints = toml::Table::from_iter([("rust".into(), lints.into())]);
    manifest.insert("lints".into(), lints.into());
    says_all(manifest)
}

fn says_all(manifest: toml::Table) -> toml::Table {
    assert!(
        !manifest.to_string().contains("workspace"),
        "a manifest that is copied inherits"
    );
    manifest
}

/// In a project, a crate lies beside the one that it stands on.
fn stand_beside(manifest: &mut toml::Table, on: &str) {
    let dependencies = manifest
        .get_mut("dependencies")
        .and_then(|d| d.as_table_mut());
    let dependency = dependencies.and_then(|d| d.get_mut(on)?.as_table_mut());
    let dependency = dependency.unwrap_or_else(|| panic!("it stands on {on}"));
    // Whether it is optional stays.
    dependency.remove("version");
    dependency.insert("path".into(), format!("../{on}").into());
}
