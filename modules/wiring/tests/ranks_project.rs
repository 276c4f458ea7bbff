//! A new project of ranks builds without a warning. Its ranks get the same results for any number
//! of ranks, in one OS process and in several.

#[path = "../../../src/skeletons.rs"]
mod built_in;

use built_in::BUILT_IN;
use graphmap_testing::build_cheaply;
use graphmap_wiring::project::{Project, Runtime};
use graphmap_wiring::ranks_project::create;
use graphmap_wiring::skeleton::Skeletons;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Creates the folder of a project again. Keeps the build for the next run.
fn project(folder: &str, link: bool) -> PathBuf {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder);
    let _ = std::fs::remove_dir_all(&root);
    let files = create(
        "my ring",
        &Runtime::Copied,
        link,
        &Skeletons::built_in(&BUILT_IN),
    )
    .unwrap();
    for (path, file) in files.iter() {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, &file.content).unwrap();
    }
    root
}

fn cargo(root: &Path, arguments: &str, environment: &[(&str, &str)]) -> Output {
    build_cheaply(&mut Command::new(env!("CARGO")))
        .args(arguments.split(' '))
        .current_dir(root)
        .env("CARGO_NET_OFFLINE", "true")
        .env(
            "CARGO_TARGET_DIR",
            Path::new(env!("CARGO_TARGET_TMPDIR")).join("projects"),
        )
        .env_remove("RUSTFLAGS")
        .envs(environment.iter().copied())
        .output()
        .unwrap()
}

fn quiet(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.is_empty(), "{text}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_project_of_ranks_builds_without_a_warning_and_runs_anywhere() {
    let root = project("ranks", false);
    let found = Project::open(&root).unwrap().unwrap();
    assert_eq!((found.package.as_str(), found.ranks), ("my-ring", true));
    let sources = [root.join("src/main.rs"), root.join("src/ring.rs")];
    let formatted = Command::new("rustfmt")
        .args(["--edition", "2024", "--check"])
        .args(sources)
        .output()
        .unwrap();
    assert!(
        formatted.status.success(),
        "{}",
        String::from_utf8_lossy(&formatted.stdout)
    );
    let tested = cargo(&root, "test --quiet", &[]);
    assert!(quiet(&tested).contains("1 passed"));
    let shm = ("GRAPHMAP_LINK", "shm");
    for (ranks, environment) in [
        (1, &[][..]),
        (2, &[]),
        (1000, &[]),
        (7, &[("GRAPHMAP_SCHEDULERS", "2")]),
        (2, &[shm, ("GRAPHMAP_OS_PROCESSES", "2")]),
        (9, &[shm, ("GRAPHMAP_OS_PROCESSES", "3")]),
    ] {
        let done = cargo(&root, &format!("run --quiet -- {ranks}"), environment);
        let sum = ranks * (ranks - 1) / 2;
        let expected = format!("{ranks} ranks agree on {sum}\n");
        assert_eq!(quiet(&done), expected, "{environment:?}");
    }
    assert_eq!(
        quiet(&cargo(&root, "run --quiet", &[])),
        "4 ranks agree on 6\n"
    );
    for wrong in ["0", "many", "-1"] {
        let done = cargo(&root, &format!("run --quiet -- {wrong}"), &[]);
        assert_eq!(done.status.code(), Some(2), "{wrong}");
        let said = String::from_utf8_lossy(&done.stderr);
        assert_eq!(
            said,
            "usage: my-ring [RANKS], the number of ranks, at least 1\n"
        );
    }
}

/// Does not build the project, because that requires an MPI.
#[test]
fn a_project_of_ranks_may_have_the_link() {
    let root = project("ranks-with-link", true);
    let found = Project::open(&root).unwrap().unwrap();
    assert!(found.mpi && found.copied && found.ranks && !found.patches_mpi_sys);
    let read = |file: &str| std::fs::read_to_string(root.join(file)).unwrap();
    let main = read("src/main.rs");
    assert!(main.contains("graphmap_link_mpi::main(|| mpi::network(ranks, rank))"));
    let manifest = read("Cargo.toml");
    assert!(manifest.contains("coroutines = [\"dep:graphmap-link-mpi\"]"));
    // All packages are there, next to each other.
    for (name, beside) in [
        ("mpi", "graphmap-mpi-derive"),
        ("mpi", "graphmap-runtime"),
        ("mpi", "graphmap-fiber"),
        ("graphmap-link-mpi", "graphmap-runtime"),
        ("graphmap-fiber", "graphmap-executor"),
        ("graphmap-runtime", "graphmap-derive"),
        ("graphmap-runtime", "graphmap-executor"),
    ] {
        let manifest = read(&format!(".graphmap/{name}/Cargo.toml"));
        assert!(manifest.contains(&format!("\"../{beside}\"")), "{manifest}");
        assert!(
            root.join(".graphmap")
                .join(beside)
                .join("src/lib.rs")
                .exists()
        );
    }
    let formatted = Command::new("rustfmt")
        .args(["--edition", "2024", "--check"])
        .arg(root.join("src/main.rs"))
        .status();
    assert!(formatted.unwrap().success());
    let without = project("ranks-without-link", false);
    assert!(!Project::open(&without).unwrap().unwrap().mpi);
    assert!(!without.join(".graphmap/graphmap-link-mpi").exists());
}
