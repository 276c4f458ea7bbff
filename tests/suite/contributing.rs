//! The code that CONTRIBUTING.md adds to the mapping engine compiles, and passes its test. The
//! other examples of that file are doctests of the library.

use graphmap_testing::build_cheaply;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Returns the block of code below an HTML comment.
fn block<'a>(text: &'a str, comment: &str) -> &'a str {
    let found = text.split_once(&format!("<!-- {comment} -->\n```rust,ignore\n"));
    let (_, rest) = found.unwrap_or_else(|| panic!("CONTRIBUTING.md has no `{comment}`"));
    rest.split_once("```\n").unwrap().0
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let to = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &to);
        } else {
            fs::copy(&path, &to).unwrap();
        }
    }
}

/// Creates a workspace with only the mapping engine, without its dev-dependencies. Returns the
/// folder of the engine.
fn engine(folder: &Path) -> PathBuf {
    let engine = folder.join("modules/partition");
    let _ = fs::remove_dir_all(&engine);
    copy(&root().join("modules/partition/src"), &engine.join("src"));
    let manifest = read("modules/partition/Cargo.toml");
    let (before, after) = manifest.split_once("[dev-dependencies]").unwrap();
    let after = after.split_once("\n[").map_or("", |(_, after)| after);
    fs::write(engine.join("Cargo.toml"), format!("{before}[{after}")).unwrap();
    let workspace = read("Cargo.toml");
    let (_, shared) = workspace.split_once("[workspace.package]").unwrap();
    let (shared, _) = shared.split_once("\n[package]").unwrap();
    let workspace = "[workspace]\nmembers = [\"modules/*\"]\nresolver = \"3\"\n[workspace.package]";
    fs::write(folder.join("Cargo.toml"), format!("{workspace}{shared}")).unwrap();
    fs::copy(root().join("Cargo.lock"), folder.join("Cargo.lock")).unwrap();
    engine
}

#[test]
fn the_strategy_of_contributing_is_one() {
    let text = read("CONTRIBUTING.md");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("contributing");
    let engine = engine(&folder);
    let new = block(&text, "file: strategy/heaviest_first.rs");
    fs::write(engine.join("src/strategy/heaviest_first.rs"), new).unwrap();
    let list = engine.join("src/strategy/mod.rs");
    let start = "static STRATEGIES: &[Strategy] = &[\n";
    let old = fs::read_to_string(&list).unwrap();
    assert!(old.contains(start), "where is the list of strategies?");
    let entry = block(&text, "entry");
    let with = format!("mod heaviest_first;\n\n{start}{entry}");
    let with = old.replace(start, &with);
    fs::write(list, with).unwrap();
    let uses = "use graphmap_partition::{Graph, Machine, Options, Problem, Strategy, solve};\n\n";
    let test = format!("//! As it stands there.\n\n{uses}{}", block(&text, "test"));
    fs::create_dir_all(engine.join("tests")).unwrap();
    fs::write(engine.join("tests/added.rs"), test).unwrap();
    let output = build_cheaply(&mut Command::new(env!("CARGO")))
        .args(["test", "--offline", "--no-default-features"])
        .args(["-p", "graphmap-partition", "--test", "added"])
        .env("CARGO_TARGET_DIR", folder.join("target"))
        .env("RUSTFLAGS", "-D warnings")
        .current_dir(&folder)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}{errors}");
    assert!(said.contains("1 passed"), "{said}");
}
