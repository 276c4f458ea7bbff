//! graphmap in a build script: the wiring of a drawing is made where cargo wants it, and mistakes in the
//! drawing end the build with what the command would say. Built without the feature `cli`.

use graphmap_testing::build_cheaply;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The project, in a folder of its own.
fn project() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let here = root.join("tests/embedded");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("embedded");
    fs::create_dir_all(folder.join("src")).unwrap();
    for name in [
        "Cargo.toml",
        "build.rs",
        "squares.dot",
        "src/main.rs",
        "src/processes.rs",
    ] {
        let text = fs::read_to_string(here.join(name)).unwrap();
        let text = text.replace("ROOT", root.to_str().unwrap());
        put(&folder.join(name), &text);
    }
    // The versions that are here already: nothing is fetched.
    let lock = fs::read_to_string(root.join("Cargo.lock")).unwrap();
    put(&folder.join("Cargo.lock"), &lock);
    folder
}

/// Writes a file where it is not as it should be, so that cargo builds no more than it must.
fn put(path: &Path, text: &str) {
    if fs::read_to_string(path).ok().as_deref() != Some(text) {
        fs::write(path, text).unwrap();
    }
}

fn run(folder: &Path) -> Output {
    build_cheaply(&mut Command::new(env!("CARGO")))
        .args(["run", "--offline", "--quiet"])
        .current_dir(folder)
        .env("CARGO_TARGET_DIR", folder.join("target"))
        .env_remove("RUSTFLAGS")
        .output()
        .unwrap()
}

#[test]
fn a_build_script_makes_the_wiring_and_tells_what_is_wrong_with_the_drawing() {
    let folder = project();
    let output = run(&folder);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    // No warning of what is generated either.
    assert_eq!(said, "");
    assert_eq!(output.stdout, b"385\n");

    let drawing = folder.join("squares.dot");
    let text = fs::read_to_string(&drawing).unwrap();
    fs::write(&drawing, text.replace("bundle=share", "bundel=share")).unwrap();
    let output = run(&folder);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success());
    let expected = ["squares.dot:2:34", "did you mean `bundle`?"];
    assert!(expected.iter().all(|part| said.contains(part)), "{said}");

    // Nothing of a command line is linked.
    let tree = Command::new(env!("CARGO"))
        .args(["tree", "--offline", "--edges", "normal,build"])
        .current_dir(&folder)
        .output()
        .unwrap();
    let tree = String::from_utf8_lossy(&tree.stdout).into_owned();
    assert!(
        tree.contains("graphmap-kpn") && !tree.contains("clap"),
        "{tree}"
    );
}
