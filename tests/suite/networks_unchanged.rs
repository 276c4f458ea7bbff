//! The networks of all graph files in this repository are those of `tests/formats/networks.txt`.

use crate::common::graphmap;
use serde_json::Value;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

/// Folders that contain graph files.
const FOLDERS: [&str; 4] = ["graphs", "tests", "benches", "modules/dot/tests"];

/// Path and hash of the network of each graph file that has no errors, one line each.
const LIST: &str = "tests/formats/networks.txt";

/// Compares the networks with the list.
///
/// If a network is meant to change, put the list that the failed test prints into the file, and say
/// in the commit why the networks differ.
#[test]
fn networks_of_graph_files_are_unchanged() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    if !root.join(".git").exists() {
        return; // A package of the source: its files are not the repository's.
    }
    let mut found = String::new();
    for path in graph_files(root) {
        if let Some(network) = network(root, &path) {
            writeln!(
                found,
                "{path} {:016x}",
                fnv1a(network.to_string().as_bytes())
            )
            .unwrap();
        }
    }
    let listed = std::fs::read_to_string(root.join(LIST)).unwrap();
    assert!(
        found == listed,
        "networks differ from {LIST}. Changed lines: {:#?}\nThe new list:\n{found}",
        found
            .lines()
            .filter(|line| !listed.lines().any(|other| other == *line))
            .collect::<Vec<_>>()
    );
}

/// Returns the paths of the graph files that git tracks, sorted.
fn graph_files(root: &Path) -> Vec<String> {
    let output = Command::new("git")
        .args(["ls-files", "-z", "--"])
        .args(FOLDERS)
        .current_dir(root)
        .output()
        .unwrap();
    assert!(output.status.success());
    let mut paths: Vec<String> = String::from_utf8(output.stdout)
        .unwrap()
        .split('\0')
        .filter(|path| path.ends_with(".dot"))
        .map(str::to_owned)
        .collect();
    paths.sort();
    assert!(!paths.is_empty());
    paths
}

/// Returns the network as JSON without positions in the text, or `None` if the file has errors.
fn network(root: &Path, path: &str) -> Option<Value> {
    let output = graphmap()
        .args([path, "--emit", "json=-", "--quiet"])
        .current_dir(root)
        .output()
        .unwrap();
    output.status.success().then(|| {
        let mut network = serde_json::from_slice(&output.stdout).unwrap();
        remove_positions(&mut network);
        network
    })
}

/// Removes spans, and the paths of source files, at all depths.
fn remove_positions(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|name, _| !matches!(name.as_str(), "sources" | "span" | "spans"));
            fields.values_mut().for_each(remove_positions);
        }
        Value::Array(values) => values.iter_mut().for_each(remove_positions),
        _ => {}
    }
}

/// Returns the FNV-1a hash of 64 bits.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}
