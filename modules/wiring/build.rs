//! Embeds the sources that projects depend on: the runtime, the crates next to it, and the link
//! over MPI.
//!
//! `copied/` contains links to those crates. `cargo package` follows the links, so each source
//! exists once and the package is complete.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

/// Names of the packages, and of their files in `copied/`. `NAME-src` is the folder of the source,
/// and `NAME.toml` is the manifest.
const CRATES: [(&str, &str); 10] = [
    ("graphmap-abi", "abi"),
    ("graphmap-derive", "derive"),
    ("graphmap-executor", "executor"),
    ("graphmap-fiber", "fiber"),
    ("graphmap-link-mpi", "link-mpi"),
    ("graphmap-mpi-core", "mpi-core"),
    ("graphmap-mpi-derive", "mpi-derive"),
    ("graphmap-rankmap", "rankmap"),
    ("graphmap-runtime", "runtime"),
    ("mpi", "mpi"),
];

fn main() {
    let here = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("set by cargo"));
    let mut sources = Vec::new();
    for (package, name) in CRATES {
        let copied = here.join("copied");
        for (path, file) in files(&copied.join(format!("{name}-src")), "src/") {
            sources.push((format!("{package}/{path}"), read(&file)));
        }
        let manifest = read(&copied.join(format!("{name}.toml")));
        sources.push((
            format!("{package}/Cargo.toml"),
            own_manifest(name, &manifest),
        ));
    }
    let hash = content_hash(&sources);
    for (path, text) in &mut sources {
        if path.ends_with("/Cargo.toml") {
            *text = with_hash(text, &hash);
        }
    }
    // Compressed, because the sources would otherwise be a sixth of the command.
    let all: String = sources.iter().map(|(_, text)| &**text).collect();
    let compressed = yazi::compress(
        all.as_bytes(),
        yazi::Format::Raw,
        yazi::CompressionLevel::BestSize,
    );
    write_out("sources.deflate", compressed.expect("memory to compress"));
    let mut table = format!(
        "/// The hash of all names and contents.\npub const HASH: &str = {hash:?};\n\
         const LENGTH: usize = {};\n\
         static SOURCES: &[(&str, usize)] = &[\n",
        all.len()
    );
    for (path, text) in &sources {
        writeln!(table, "    ({path:?}, {}),", text.len()).expect("a string");
    }
    table += "];\n";
    write_out("sources.rs", table);
}

fn write_out(file: &str, content: impl AsRef<[u8]>) {
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("set by cargo"));
    fs::write(out.join(file), content).expect("OUT_DIR can be written");
}

fn read(path: &Path) -> String {
    println!("cargo::rerun-if-changed={}", path.display());
    fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Returns all files below a folder, sorted. `prefix` precedes their paths within the folder.
fn files(folder: &Path, prefix: &str) -> Vec<(String, PathBuf)> {
    println!("cargo::rerun-if-changed={}", folder.display());
    let entries = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    let mut found = Vec::new();
    for path in paths {
        let name = path.file_name().expect("an entry has a name");
        let name = format!("{prefix}{}", name.to_str().expect("our names are ASCII"));
        if path.is_dir() {
            found.extend(files(&path, &format!("{name}/")));
        } else {
            found.push((name, path));
        }
    }
    found
}

const MARK: &str = "# Written by graphmap: do not edit.\n\n";

/// Returns the manifest of a crate for projects. Parts for tests, lints and registries are removed,
/// and our other crates are path dependencies next to it. The names of `cfg` that the crate uses
/// stay, because the compiler warns of unknown ones.
fn own_manifest(name: &str, whole: &str) -> String {
    const KEPT: [&str; 8] = [
        "authors",
        "description",
        "edition",
        "license",
        "name",
        "rust-version",
        "version",
        "build",
    ];
    let mut text = MARK.to_owned();
    let mut section = "";
    for line in whole.lines() {
        if line.starts_with('[') {
            section = line;
            if matches!(
                section,
                "[package]" | "[features]" | "[dependencies]" | "[lib]" | "[[bin]]"
            ) {
                text += line;
                text += "\n";
            }
            if section == "[package]" {
                text += "publish = false\n";
            }
            continue;
        }
        let key = line.split(" = ").next().unwrap_or_default();
        let kept = match section {
            "[package]" => KEPT.contains(&key),
            "[features]" | "[dependencies]" | "[lib]" | "[[bin]]" => !line.starts_with('#'),
            "[lints.rust]" => key == "unexpected_cfgs",
            _ => false,
        };
        if !kept {
            continue;
        }
        if section == "[lints.rust]" {
            text += "[lints.rust]\n";
        }
        let mut line = line.to_owned();
        if let Some((own, rest)) = line.split_once(" = { path = \"../") {
            assert!(own.starts_with("graphmap-"), "{name}: {line}");
            let (_, rest) = rest.split_once('"').expect("a closing quote");
            let rest = rest.strip_prefix(", version = \"0.1.0\"").unwrap_or(rest);
            line = format!("{own} = {{ path = \"../{own}\"{rest}");
        }
        // The only dependency of rank maps is optional, and projects do not need it.
        if name == "rankmap" {
            line = line.replace("[\"dep:roaring\"]", "[]");
            if line.starts_with("roaring = {") {
                continue;
            }
        }
        text += &line;
        text += "\n";
    }
    assert!(!text.contains("workspace"), "{name}: its manifest inherits");
    text
}

/// Adds the hash to the version. So Cargo distinguishes the units of different sources if projects
/// share a build folder.
fn with_hash(manifest: &str, hash: &str) -> String {
    let mut done = false;
    let mut text = String::new();
    for line in manifest.lines() {
        match line
            .strip_prefix("version = \"")
            .and_then(|rest| rest.strip_suffix('"'))
        {
            Some(version) if !done => {
                writeln!(text, "version = \"{version}+{hash}\"").expect("a string");
                done = true;
            }
            _ => text += &format!("{line}\n"),
        }
    }
    assert!(done, "a manifest without version");
    text
}

/// Returns the FNV-1a hash (Fowler, Noll, Vo) of 64 bits. It names a folder, whose contents are
/// also compared byte by byte.
fn content_hash(sources: &[(String, String)]) -> String {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for (path, text) in sources {
        for part in [path, text] {
            for byte in part.bytes().chain([0xff]) {
                hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
            }
        }
    }
    format!("{hash:016x}")
}
