//! Checks that the documentation of each public operation states its cost and its source.

use std::fs;
use std::path::{Path, PathBuf};

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        match path.is_dir() {
            true => sources(&path, found),
            false => found.push(path),
        }
    }
}

/// Returns the number of operations in a source file, and the operations without a cost or a
/// source.
fn undocumented(text: &str) -> (usize, Vec<&str>) {
    let (mut count, mut without, mut told) = (0, Vec::new(), String::new());
    for line in text.lines().map(str::trim) {
        if let Some(doc) = line.strip_prefix("///") {
            told.push_str(doc);
            continue;
        }
        if line.starts_with("pub fn ") {
            count += 1;
            if !(told.contains(" Cost: ") && told.contains(" Source: ")) {
                without.push(line);
            }
        }
        // Attributes and plain comments may be between the documentation and a function.
        if !line.starts_with("#[") && !line.starts_with("//") {
            told.clear();
        }
    }
    (count, without)
}

#[test]
fn every_operation_documents_its_cost_and_source() {
    let mut files = Vec::new();
    sources(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("src"),
        &mut files,
    );
    let mut all = 0;
    for file in files {
        let text = fs::read_to_string(&file).expect("a source");
        let (count, without) = undocumented(&text);
        assert!(without.is_empty(), "{}: {without:?}", file.display());
        all += count;
    }
    // Guards against a parser that finds no operations.
    assert!(all > 50, "{all} operations");
    let (count, without) = undocumented("/// What it does.\npub fn act() {}");
    assert_eq!((count, without.len()), (1, 1));
}
