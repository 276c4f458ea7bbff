//! New projects: what is in them, that they build without a warning and run, and what happens when
//! the graph changes.

#[path = "../src/testing.rs"]
mod testing;

use graphmap_kpn::diagnostic::Diagnostics;
use graphmap_kpn::emit::Files;
use graphmap_kpn::network::Verified;
use graphmap_wiring::project::{NewProject, Project, Runtime, create};
use graphmap_wiring::skeleton::Skeletons;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use testing::{Graph, chain, farm, grid, pool, tree};

/// A folder for a test below `target`, empty.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Writes a set of files as the command does.
fn write(root: &Path, files: &Files) {
    for (path, file) in files.iter() {
        let path = root.join(path);
        if file.create_once && path.exists() {
            continue;
        }
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        if std::fs::read(&path).ok().as_ref() != Some(&file.content) {
            std::fs::write(&path, &file.content).unwrap();
        }
    }
}

fn new_project(root: &Path, name: &str, network: &Verified, text: &str) {
    let mut notes = Diagnostics::new();
    let graph = format!("{name}.dot");
    let new = NewProject {
        name,
        graph_path: &graph,
        graph_text: Some(text),
        runtime: Runtime::Vendored,
        alone: true,
    };
    let files = create(network, &Skeletons::built_in(), &new, &mut notes).unwrap();
    write(root, &files);
}

fn cargo(root: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO"))
        .args(arguments)
        .args(["--offline", "--quiet"])
        .current_dir(root)
        // One for all, so that the runtime is compiled once.
        .env(
            "CARGO_TARGET_DIR",
            Path::new(env!("CARGO_TARGET_TMPDIR")).join("target"),
        )
        .env_remove("RUSTFLAGS")
        .output()
        .unwrap()
}

fn quiet(output: &Output) {
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.is_empty(), "{text}");
}

/// One project with everything: several networks as modules of one program, so that one build
/// does for all.
#[test]
fn new_projects_build_without_a_warning_and_run() {
    let root = folder("blank");
    let graphs: Vec<(&str, Graph)> = vec![
        ("farm", farm(3)),
        ("chain", chain(5)),
        ("grid", grid(3, 4)),
        ("tree", tree(13, 3)),
        ("pool", pool(3)),
        ("odd", odd()),
    ];
    for (name, graph) in graphs {
        let text = graph.text();
        new_project(&root.join(name), name, &graph.network(), &text);
        let root = root.join(name);
        let found = Project::find(&root.join(format!("{name}.dot")))
            .unwrap()
            .unwrap();
        assert_eq!((found.package.as_str(), found.vendored), (name, true));
        let sources = [root.join("src/main.rs"), root.join("src/wiring.rs")];
        let output = Command::new("rustfmt")
            .args(["--edition", "2024", "--check"])
            .args(sources)
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{name}: {}",
            String::from_utf8_lossy(&output.stdout)
        );
        quiet(&cargo(&root, &["clippy"]));
        quiet(&cargo(&root, &["run"]));
    }
}

/// Names that no language likes, and every kind of port.
fn odd() -> Graph {
    use graphmap_kpn::declared::BundleKind;
    let mut g = Graph::new("odd");
    g.node("lonely");
    for i in 1..4 {
        let worker = format!("Self{i}");
        g.channel("type.match", &format!("{worker}.in"))
            .ty("task")
            .bundle(BundleKind::Scatter);
        g.channel("type.a\"b\n*/", &format!("{worker}.fn"))
            .bundle(BundleKind::Broadcast);
        g.channel("type.share", &format!("{worker}.\u{e9}"))
            .ty("(u8,)")
            .bundle(BundleKind::Share);
        g.channel(&format!("{worker}.x"), "net.Vec")
            .ty("Vec<[f64; 3]>")
            .bundle(BundleKind::Gather);
        g.channel(&format!("{worker}.y"), "net.vec")
            .ty("String")
            .bundle(BundleKind::Reduce);
        g.channel(&format!("{worker}.z"), "net.a")
            .ty("std::time::Duration");
        g.bundle(BundleKind::Select).holds(7, 3);
    }
    g
}
