//! graphmap in a build script, `tests/embedded/build.rs`. The script writes the wiring of a graph
//! file to `OUT_DIR`. The program that includes the wiring builds and runs. Errors in the graph
//! file fail the script with the text of the command.
//!
//! The script is part of this test program, because compiling graphmap as a build dependency takes
//! two minutes. The gate compiles it without the feature `cli`.

use graphmap_testing::build_cheaply;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The script as a module of this test.
#[allow(clippy::print_stdout)]
mod script {
    include!("../embedded/build.rs");

    pub(super) fn run() -> Result<(), graphmap::Error> {
        main()
    }
}

#[test]
#[ignore = "run by `a_build_script_makes_the_wiring`, with variables of its own"]
fn build_script() -> Result<(), graphmap::Error> {
    script::run()
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns a copy of the project, without the script.
fn project() -> PathBuf {
    let here = root().join("tests/embedded");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("embedded");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(folder.join("src")).unwrap();
    for name in ["squares.dot", "src/main.rs", "src/processes.rs"] {
        fs::copy(here.join(name), folder.join(name)).unwrap();
    }
    let manifest = fs::read_to_string(here.join("Cargo.toml")).unwrap();
    let script =
        "[build-dependencies]\ngraphmap = { path = \"../..\", default-features = false }\n";
    assert!(manifest.contains(script), "{manifest}");
    let modules = format!("path = \"{}/modules", root().display());
    let manifest = manifest
        .replace(script, "")
        .replace("path = \"../../modules", &modules);
    fs::write(folder.join("Cargo.toml"), manifest).unwrap();
    // The versions of the workspace, so that no package is downloaded.
    fs::copy(root().join("Cargo.lock"), folder.join("Cargo.lock")).unwrap();
    folder
}

/// Runs the build script as Cargo does.
fn run_script(folder: &Path) -> Output {
    Command::new(std::env::current_exe().unwrap())
        .args(["embedding::build_script", "--exact", "--ignored"])
        .arg("--nocapture")
        .current_dir(folder)
        .env("OUT_DIR", folder)
        .output()
        .unwrap()
}

#[test]
fn a_build_script_makes_the_wiring() {
    let folder = project();
    let output = run_script(&folder);
    let told = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{told}");
    assert!(
        told.contains("cargo::rerun-if-changed=squares.dot"),
        "{told}"
    );

    let output = build_cheaply(&mut Command::new(env!("CARGO")))
        .args(["run", "--offline", "--quiet"])
        .current_dir(&folder)
        // The folder of the projects of wiring's tests, which contain the runtime, too.
        .env(
            "CARGO_TARGET_DIR",
            Path::new(env!("CARGO_TARGET_TMPDIR")).join("projects"),
        )
        .env("OUT_DIR", &folder)
        .env_remove("RUSTFLAGS")
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{told}");
    // The wiring causes no warning either.
    assert_eq!(told, "");
    assert_eq!(output.stdout, b"385\n");

    let drawing = folder.join("squares.dot");
    let text = fs::read_to_string(&drawing).unwrap();
    fs::write(&drawing, text.replace("bundle=share", "bundel=share")).unwrap();
    let output = run_script(&folder);
    let told = String::from_utf8_lossy(&output.stderr) + String::from_utf8_lossy(&output.stdout);
    assert!(!output.status.success());
    let expected = ["squares.dot:2:34", "did you mean `bundle`?"];
    assert!(expected.iter().all(|part| told.contains(part)), "{told}");
}

#[test]
fn nothing_of_a_command_line_is_linked_without_the_feature() {
    let tree = Command::new(env!("CARGO"))
        .args(["tree", "--offline", "--no-default-features"])
        .args(["--package", "graphmap", "--edges", "normal,build"])
        .current_dir(root())
        .output()
        .unwrap();
    let tree = String::from_utf8_lossy(&tree.stdout);
    assert!(
        tree.contains("graphmap-kpn") && !tree.contains("clap"),
        "{tree}"
    );
}
