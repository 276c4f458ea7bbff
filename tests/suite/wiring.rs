//! The built-in skeletons are the files of `skeletons/`. The committed wiring of the example
//! networks is the wiring that they write for the graph files.

use crate::skeletons::BUILT_IN;
use std::path::{Path, PathBuf};

/// Adds the names of the skeletons below a folder, without `.hbs`.
fn skeletons_in(folder: &Path, prefix: &str, names: &mut Vec<String>) {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() {
            skeletons_in(&path, &format!("{prefix}{name}/"), names);
        } else if let Some(name) = name.strip_suffix(".hbs") {
            names.push(format!("{prefix}{name}"));
        }
    }
}

#[test]
fn every_skeleton_is_built_in() {
    let mut files = Vec::new();
    skeletons_in(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("skeletons"),
        "",
        &mut files,
    );
    let embedded: Vec<&str> = BUILT_IN.skeletons.iter().map(|(name, _)| *name).collect();
    assert_eq!(embedded, files, "src/skeletons.rs lists the files");
}

#[test]
fn wiring_of_the_examples_is_up_to_date() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut stale = Vec::new();
    for entry in std::fs::read_dir(root.join("graphs")).unwrap() {
        let graph = entry.unwrap().path();
        let wiring = graph.with_extension("").join("src/wiring.rs");
        if graph.extension().is_none_or(|e| e != "dot") || !wiring.exists() {
            continue;
        }
        let output = crate::common::graphmap()
            .arg(&graph)
            .arg("--emit")
            .arg(format!("wiring={}", wiring.display()))
            .arg("--check")
            .output()
            .unwrap();
        if !output.status.success() {
            stale.push(String::from_utf8_lossy(&output.stderr).into_owned());
        }
    }
    assert!(
        stale.is_empty(),
        "`graphmap run GRAPH --no-run` writes them anew: {stale:#?}"
    );
}
