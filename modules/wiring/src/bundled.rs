//! The sources that projects depend on: the runtime, the crates beside it, and the link over MPI.
//! The binary contains them.
//!
//! In a project they are in the folder [`FOLDER`], one folder for each package. Their versions
//! contain the hash of all contents as build metadata (`0.1.0+HASH`). So Cargo distinguishes
//! compiled packages of different sources with the same version.

use std::sync::LazyLock;

include!(concat!(env!("OUT_DIR"), "/sources.rs"));

/// Folder of the sources in a project: a link to a folder that all projects share, or a copy.
pub const FOLDER: &str = ".graphmap";
/// Version of the runtime that projects require.
pub const REQUIREMENT: &str = "0.1";

/// Names of all packages.
pub const PACKAGES: [&str; 10] = [
    ABI, DERIVE, EXECUTOR, FIBER, LINK, MPI_CORE, MPI_DERIVE, RANKMAP, RUNTIME, MPI,
];

/// The runtime. The next four packages are its dependencies.
pub const RUNTIME: &str = "graphmap-runtime";
pub(crate) const DERIVE: &str = "graphmap-derive";
pub(crate) const EXECUTOR: &str = "graphmap-executor";
pub(crate) const MPI_CORE: &str = "graphmap-mpi-core";
pub(crate) const RANKMAP: &str = "graphmap-rankmap";
/// The MPI library for programs in C.
pub const ABI: &str = "graphmap-abi";
/// The link over MPI.
pub const LINK: &str = "graphmap-link-mpi";
/// The package that takes the place of rsmpi. The next two packages are its dependencies.
pub const MPI: &str = "mpi";
pub(crate) const FIBER: &str = "graphmap-fiber";
pub(crate) const MPI_DERIVE: &str = "graphmap-mpi-derive";

/// Returns the path and the content of each file. A path begins with the name of its package.
pub fn files() -> impl Iterator<Item = (&'static str, &'static str)> {
    static COMPRESSED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/sources.deflate"));
    static CONTENTS: LazyLock<String> = LazyLock::new(|| {
        let mut contents = Vec::with_capacity(LENGTH);
        let mut decoder = yazi::Decoder::new();
        let mut stream = decoder.stream_into_vec(&mut contents);
        // The build script compressed UTF-8.
        stream.write(COMPRESSED).expect("DEFLATE");
        stream.finish().expect("DEFLATE");
        String::from_utf8(contents).expect("UTF-8")
    });
    let mut start = 0;
    SOURCES.iter().map(move |(path, length)| {
        let place = start..start + length;
        start = place.end;
        (*path, &CONTENTS[place])
    })
}

/// Returns the names of the packages of the registry on which a bundled package depends. Optional
/// dependencies are left out. The list is empty for a package that is not bundled.
pub(crate) fn dependencies(package: &str) -> Vec<String> {
    let path = format!("{package}/Cargo.toml");
    let manifest = files().find(|(there, _)| *there == path);
    // The build script wrote the manifest.
    let manifest: toml::Table = manifest.map_or("", |(_, text)| text).parse().expect("TOML");
    let is_needed = |dependency: &toml::Value| {
        !["path", "optional"]
            .iter()
            .any(|key| dependency.get(key).is_some())
    };
    let dependencies = manifest
        .get("dependencies")
        .and_then(|table| table.as_table());
    let needed = dependencies
        .into_iter()
        .flatten()
        .filter(|(_, value)| is_needed(value));
    needed.map(|(name, _)| name.clone()).collect()
}

/// Returns true if the version of this crate satisfies the requirement of a project on the runtime,
/// by Cargo's rule for caret requirements (`0.1`, `^0.1.2`). Also returns true for requirements of
/// another form, because Cargo checks them.
pub fn satisfies(requirement: &str) -> bool {
    let numbers =
        |text: &str| -> Option<Vec<u64>> { text.split('.').map(|n| n.parse().ok()).collect() };
    let required = numbers(requirement.trim().trim_start_matches('^'));
    let (Some(required), Some(ours)) = (required, numbers(env!("CARGO_PKG_VERSION"))) else {
        return true;
    };
    // All numbers up to the first nonzero one must be equal.
    let fixed = required.iter().position(|&n| n != 0);
    let fixed = fixed.map_or(required.len(), |first| first + 1);
    ours.iter().zip(&required).take(fixed).all(|(a, b)| a == b) && ours >= required
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requirements_are_those_of_cargo() {
        // This crate has the version of the runtime.
        for met in [REQUIREMENT, "0.1.0", "^0.1", "0", "*", ">=0.1, <0.3"] {
            assert!(satisfies(met), "{met}");
        }
        for unmet in ["0.2", "1", "0.1.9", "^0.0", "0.0.1"] {
            assert!(!satisfies(unmet), "{unmet}");
        }
    }

    #[test]
    fn manifests_of_the_runtime_depend_on_libc_and_crates_beside_them() {
        let manifests = files().filter(|(path, _)| path.ends_with("/Cargo.toml"));
        let mut count = 0;
        for (path, text) in manifests {
            count += 1;
            let manifest: toml::Table = text.parse().unwrap();
            let package = &manifest["package"];
            let (name, version) = (package["name"].as_str(), package["version"].as_str());
            assert_eq!(path.split('/').next(), name);
            assert!(version.unwrap().ends_with(&format!("+{HASH}")), "{path}");
            let dependencies = manifest.get("dependencies").and_then(|d| d.as_table());
            for (name, dependency) in dependencies.into_iter().flatten() {
                match dependency.get("path") {
                    Some(path) => assert_eq!(path.as_str(), Some(&*format!("../{name}"))),
                    None => {
                        let own = [DERIVE, EXECUTOR, MPI_CORE, RANKMAP, RUNTIME];
                        let is_own = own.contains(&package["name"].as_str().unwrap());
                        assert!(!is_own || name == "libc", "{path}: {name}");
                    }
                }
            }
        }
        assert_eq!(count, PACKAGES.len());
    }
}
