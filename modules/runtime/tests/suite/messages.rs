//! Compiler errors for wrong programs.
//!
//! Each file of `messages/` declares its errors by comments `//~v text`: the line below such
//! comments must have an error that contains the text. No other errors may occur. The report must
//! not name types that only our macros name.
#![cfg(not(miri))]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::json::Json;

const HERE: &str = env!("CARGO_MANIFEST_DIR");

/// Returns a command that checks a library and writes only its metadata.
fn rustc(source: &Path, into: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("RUSTC").unwrap_or("rustc".into()));
    command
        .args(["--edition", "2024", "--crate-type", "lib"])
        .args(["--emit", "metadata", "--error-format", "json"])
        .arg("--out-dir")
        .arg(into)
        .arg(source);
    command
}

/// Checks the runtime, and returns the path of its metadata. The metadata of its dependencies is in
/// the same folder.
fn library(target: &Path) -> PathBuf {
    let output = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()))
        .args([
            "check",
            "--lib",
            "--no-default-features",
            "--features=derive",
            "--message-format=json",
        ])
        .arg("--manifest-path")
        .arg(Path::new(HERE).join("Cargo.toml"))
        .arg("--target-dir")
        .arg(target)
        // The flags of a sanitizer need a target as well.
        .env_remove("RUSTFLAGS")
        .output()
        .expect("cargo runs");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    let messages = String::from_utf8(output.stdout).unwrap();
    let messages = messages.lines().rev();
    let mut files = messages.flat_map(|message| message.split('"'));
    let is_library =
        |file: &&str| file.contains("libgraphmap_runtime-") && file.ends_with(".rmeta");
    PathBuf::from(files.find(is_library).expect("its metadata"))
}

/// Returns the errors in a compiler's report on one file, by line, and the report as a user sees
/// it.
fn errors(report: &str) -> (BTreeMap<usize, Vec<String>>, String) {
    let mut errors: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    let mut rendered = String::new();
    for message in report.lines().map(Json::parse) {
        rendered += message.get("rendered").text();
        if message.get("level").text() != "error" {
            continue;
        }
        let mut text = message.get("message").text().to_string();
        let is_primary = |span: &&Json| *span.get("is_primary") == Json::Bool(true);
        let mut line = None;
        for span in message.get("spans").list().iter().filter(is_primary) {
            if let Json::Text(label) = span.get("label") {
                text += &format!(": {label}");
            }
            // The outermost macro call.
            let mut span = span;
            while let Some(Json::Object(expansion)) = span.find("expansion") {
                span = &expansion["span"];
            }
            let file = span.get("file_name").text();
            assert!(file.contains("messages"), "not in the user's file: {text}");
            line.get_or_insert(span.get("line_start").number() as usize);
        }
        // The final error, which counts the others, has no line.
        if let Some(line) = line {
            errors.entry(line).or_default().push(text);
        }
    }
    (errors, rendered)
}

#[test]
fn wrong_programs_report_errors_in_their_own_lines() {
    let into = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("messages");
    std::fs::create_dir_all(&into).unwrap();
    let here = Path::new(HERE);
    let library = library(&into);
    let dependencies = library.parent().unwrap();

    let mut files: Vec<_> = std::fs::read_dir(here.join("tests/messages"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    assert!(files.len() > 15, "{files:?}");
    for file in files {
        let source = std::fs::read_to_string(&file).unwrap();
        let mut said: Vec<(usize, &str)> = Vec::new();
        let mut waiting = Vec::new();
        for (at, line) in source.lines().enumerate() {
            match line.trim().strip_prefix("//~v ") {
                Some(text) => waiting.push(text),
                None => said.extend(waiting.drain(..).map(|text| (at + 1, text))),
            }
        }
        let extern_ = format!("graphmap_runtime={}", library.display());
        let output = rustc(&file, &into)
            .args(["-D", "warnings", "--extern", &extern_])
            .arg("-L")
            .arg(dependencies)
            .output()
            .unwrap();
        let (mut found, report) = errors(&String::from_utf8(output.stderr).unwrap());
        for (line, text) in &said {
            let here = found.entry(*line).or_default();
            let Some(at) = here.iter().position(|error| error.contains(text)) else {
                panic!("{}:{line}: not said: {text}\n{report}", file.display());
            };
            here.remove(at);
        }
        found.retain(|_, left| !left.is_empty());
        assert!(found.is_empty(), "{}: {found:?}\n{report}", file.display());
        assert!(!report.contains("OneOf"), "{report}");
        assert_eq!(
            output.status.success(),
            said.is_empty(),
            "{}",
            file.display()
        );
    }
}
