//! Faulty graphs that contain their expected diagnostics.
//!
//! In `tests/checks/*.dot`, a comment `//~ CODE text` expects a diagnostic on this line. The
//! diagnostic has that code, and its message contains the text. `//~? CODE text` expects a
//! diagnostic without a position. The comments must list all errors and warnings of the graph.

use crate::common::Test;
use std::fs;
use std::path::Path;

/// Diagnostic: line (0 if it has no position), code, message.
type Diagnostic = (u64, String, String);

/// Returns the diagnostics that a graph expects, each with a part of its message.
fn expected(text: &str) -> Vec<Diagnostic> {
    let mut expected = Vec::new();
    for (line, number) in text.lines().zip(1..) {
        for said in line.split("//~").skip(1) {
            let (number, said) = match said.strip_prefix('?') {
                Some(said) => (0, said),
                None => (number, said),
            };
            let said = said.trim();
            let (code, message) = said.split_once(' ').unwrap_or((said, ""));
            expected.push((number, code.to_owned(), message.trim().to_owned()));
        }
    }
    expected.sort();
    expected
}

fn found(file: &str, text: &str) -> Vec<Diagnostic> {
    let args = format!("check {file} --message-format json");
    let done = Test::new().file(file, text).args(&args).run();
    let mut found = Vec::new();
    for line in done.stderr().lines() {
        let value: serde_json::Value = serde_json::from_str(line).unwrap();
        if value["type"] == "diagnostic" && value["severity"] != "note" {
            let line = value["primary"]["line"].as_u64().unwrap_or(0);
            let text = |field: &str| value[field].as_str().unwrap().to_owned();
            found.push((line, text("code"), text("message")));
        }
    }
    found.sort();
    found
}

#[test]
fn faulty_graphs_are_found_faulty_where_they_are() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/checks");
    let mut paths: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|e| e.unwrap().path())
        .collect();
    paths.sort();
    assert!(paths.len() > 10);
    let mut wrong = Vec::new();
    for path in paths {
        let file = path.file_name().unwrap().to_str().unwrap();
        let text = fs::read_to_string(&path).unwrap();
        let (expected, found) = (expected(&text), found(file, &text));
        assert!(!expected.is_empty(), "{file} says nothing");
        let fits =
            |(e, f): (&Diagnostic, &Diagnostic)| e.0 == f.0 && e.1 == f.1 && f.2.contains(&e.2);
        if expected.len() != found.len() || !expected.iter().zip(&found).all(fits) {
            wrong.push(format!("{file}\n  says  {expected:?}\n  found {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
