//! What the compiler says of wrong programs: each file of `messages/` tells, by `//~v text` in the
//! line above, where it finds an error and what the error's first line has in it, and no other.
//! What it says besides speaks of no type that only our macros name.
#![cfg(not(miri))]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

const HERE: &str = env!("CARGO_MANIFEST_DIR");

/// A call of the compiler that checks a library and makes nothing but its metadata. `form`: that of
/// its messages.
fn rustc(source: &Path, into: &Path, form: &str) -> Command {
    let mut command = Command::new(std::env::var_os("RUSTC").unwrap_or("rustc".into()));
    command
        .args(["--edition", "2024", "--crate-type", "lib"])
        .args(["--emit", "metadata", "--error-format", form])
        .arg("--out-dir")
        .arg(into)
        .arg(source);
    command
}

/// Checks the runtime, and returns the file of its metadata. Those that it depends on are beside
/// it.
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
        // Those of a sanitizer need a target, too.
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

/// The errors of a compiler's short report of one file, by line.
fn errors(report: &str) -> BTreeMap<usize, Vec<String>> {
    let mut errors: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    for line in report.lines() {
        let mut parts = line.splitn(4, ':');
        let (Some(file), Some(at), Some(_), Some(text)) =
            (parts.next(), parts.next(), parts.next(), parts.next())
        else {
            continue; // the sum at the end
        };
        if text.trim_start().starts_with("error") {
            assert!(file.contains("messages"), "not in the user's file: {line}");
            let at = at.parse().expect(line);
            errors.entry(at).or_default().push(text.to_string());
        }
    }
    errors
}

#[test]
fn wrong_programs_are_told_what_is_wrong_in_their_own_lines() {
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
        let checked = |form: &str| {
            rustc(&file, &into, form)
                .args(["-D", "warnings", "--extern", &extern_])
                .arg("-L")
                .arg(dependencies)
                .output()
                .unwrap()
        };
        let output = checked("short");
        let report = String::from_utf8(output.stderr).unwrap();
        let mut found = errors(&report);
        for (line, text) in &said {
            let here = found.entry(*line).or_default();
            let Some(at) = here.iter().position(|error| error.contains(text)) else {
                panic!("{}:{line}: not said: {text}\n{report}", file.display());
            };
            here.remove(at);
        }
        found.retain(|_, left| !left.is_empty());
        assert!(found.is_empty(), "{}: {found:?}\n{report}", file.display());
        let at_length = String::from_utf8(checked("human").stderr).unwrap();
        assert!(!at_length.contains("OneOf"), "{at_length}");
        assert_eq!(
            output.status.success(),
            said.is_empty(),
            "{}",
            file.display()
        );
    }
}
