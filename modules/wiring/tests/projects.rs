//! New projects: their files, whether they build without a warning and run, and changes of the
//! graph.

#[path = "../../../src/skeletons.rs"]
mod built_in;
#[path = "../src/testing.rs"]
mod testing;

use built_in::BUILT_IN;
use graphmap_kpn::diagnostic::{Code, Diagnostic, Diagnostics};
use graphmap_kpn::emit::Files;
use graphmap_kpn::network::Verified;
use graphmap_testing::build_cheaply;
use graphmap_wiring::project::{NewProject, Project, Runtime, create};
use graphmap_wiring::rustc::{Explainer, Pointed};
use graphmap_wiring::skeleton::Skeletons;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use testing::{Graph, chain, farm, grid, pool, tree};

/// Creates an empty folder for a test below `target`.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// Writes files as the command does.
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

/// Returns the runtime in the repository, for projects that need not compile a copy.
fn in_place() -> Runtime {
    let runtime = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("runtime");
    Runtime::Path(runtime.display().to_string())
}

fn new_project(root: &Path, name: &str, network: &Verified, text: &str, runtime: Runtime) {
    let mut notes = Diagnostics::new();
    let graph = format!("{name}.dot");
    let new = NewProject {
        name,
        graph_path: &graph,
        graph_text: Some(text),
        runtime,
        mpi: false,
        skeletons: None,
        alone: true,
    };
    let files = create(network, &Skeletons::built_in(&BUILT_IN), &new, &mut notes).unwrap();
    write(root, &files);
}

fn cargo(root: &Path, arguments: &[&str]) -> Output {
    build_cheaply(&mut Command::new(env!("CARGO")))
        .args(arguments)
        .args(["--offline", "--quiet"])
        .current_dir(root)
        // One folder for all projects, so that shared dependencies are compiled once.
        .env(
            "CARGO_TARGET_DIR",
            Path::new(env!("CARGO_TARGET_TMPDIR")).join("projects"),
        )
        .env_remove("RUSTFLAGS")
        .output()
        .unwrap()
}

fn quiet(output: &Output) {
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && text.is_empty(), "{text}");
}

/// The project has several networks as modules of one program, so that one build is enough.
#[test]
fn new_projects_build_without_a_warning_and_run() {
    let root = folder("stub");
    let graphs: Vec<(&str, Graph)> = vec![
        ("farm", farm(3)),
        ("chain", chain(5)),
        ("grid", grid(3, 4)),
        ("tree", tree(13, 3)),
        ("pool", pool(3)),
        ("odd", odd()),
        ("names", names()),
    ];
    for (name, graph) in graphs {
        let text = graph.text();
        new_project(&root.join(name), name, &graph.network(), &text, in_place());
        let root = root.join(name);
        let found = Project::find(&root.join(format!("{name}.dot")))
            .unwrap()
            .unwrap();
        assert_eq!((found.package.as_str(), found.copied), (name, false));
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
        if let Some((_, function, check)) = CHECKS.iter().find(|(graph, ..)| *graph == name) {
            let file = root.join(format!("src/processes/{function}.rs"));
            let stub = std::fs::read_to_string(&file).unwrap();
            let checked = stub.replace(
                ") {\n",
                &format!(") {{\n    use crate::wiring::*;\n{check}"),
            );
            assert!(stub != checked);
            std::fs::write(&file, checked).unwrap();
        }
        // Warnings depend on ports, and these networks have all kinds of ports.
        if matches!(name, "odd" | "grid" | "names") {
            quiet(&cargo(&root, &["clippy"]));
        }
        quiet(&cargo(&root, &["run"]));
    }
}

/// Checks of the code that skeletons of structures generate, in a process of each network.
const CHECKS: [(&str, &str, &str); 4] = [
    (
        "chain",
        "sink",
        "    assert_eq!((length(), neighbours(0), neighbours(4)), (5, (None, Some(1)), (Some(3), None)));\n",
    ),
    (
        "grid",
        "cell",
        "    assert_eq!((rows(), columns(), place(5)), (3, 4, (1, 1)));
    assert_eq!(neighbours(5), [Some(1), Some(9), Some(4), Some(6)]);
    assert_eq!(neighbours(0), [None, Some(4), None, Some(1)]);\n",
    ),
    (
        "tree",
        "root",
        "    assert_eq!((nodes(), arity(), parent(0), parent(6)), (13, 3, None, Some(1)));
    assert_eq!((children(0), children(3), children(4).len()), (1..4, 10..13, 0));\n",
    ),
    (
        "pool",
        "master",
        "    assert_eq!((0..workers()).map(|w| part(w, 10)).collect::<Vec<_>>(), [0..4, 4..7, 7..10]);\n",
    ),
];

/// Returns a network with unusual names and every kind of port.
fn odd() -> Graph {
    use graphmap_kpn::declared::{BundleKind, Flow};
    let mut g = Graph::new("odd");
    g.node("lonely");
    for i in 1..30 {
        g.kind(&format!("left hand\n{i}_7"), "twin");
        g.kind(
            &format!("the right hand with all its fingers {i}_7"),
            "twin",
        );
    }
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
        g.channel("type.write_to", &format!("{worker}.switch"))
            .bundle(BundleKind::Switch);
        g.channel(&format!("{worker}.x"), "net.Vec")
            .ty("Vec<[f64; 3]>")
            .bundle(BundleKind::Gather);
        g.channel(&format!("{worker}.y"), "net.vec")
            .ty("String")
            .bundle(BundleKind::Reduce);
        g.channel(&format!("{worker}.z"), "net.a")
            .ty("std::time::Duration");
        g.bundle(BundleKind::Select).holds(7, 3);
        g.channel("type.loop", &format!("{worker}.if"))
            .bundle(BundleKind::Share)
            .flow(Flow::RoundRobin);
        g.channel(&format!("{worker}.w"), "net.b")
            .ty("String")
            .bundle(BundleKind::Select)
            .flow(Flow::Credits);
    }
    g.channel("net.pair", "type.pair").flow(Flow::Credits);
    for i in 1..4 {
        let parameters = "args: String, Self: f64, type: u64, aB: i8, a_b: bool";
        let text = "a text that is too long for one line of the code ".repeat(i);
        let values = format!("'{text}', {i}.5, {i}, -1, true");
        g.arguments(&format!("Self{i}"), parameters, &values);
    }
    // The type of its arguments has the name of a kind.
    g.arguments("net", "text: String", "'\\\"{x} // */'");
    g.channel("NULL", "net args.in");
    g
}

/// Names of Rust, its prelude and the runtime, as names of kinds and ports.
const TAKEN: &[&str] = &[
    "abstract as async await become box break const continue crate do dyn else enum extern false final",
    "fn for gen if impl in let loop macro match mod move mut override priv pub ref return self Self",
    "static struct super trait true try type typeof union unsafe unsized use virtual where while yield",
    "_ default auto raw safe macro_rules",
    "Option Some None Result Ok Err Box String Vec Default Clone Copy Send Sync Sized Drop drop Fn FnMut",
    "FnOnce AsyncFn Iterator IntoIterator Extend DoubleEndedIterator ToString ToOwned From Into AsRef",
    "AsMut PartialEq Eq PartialOrd Ord TryFrom TryInto FromIterator Future IntoFuture Debug Hash Unpin",
    "size_of align_of assert panic println vec format matches todo derive allow test cfg inline",
    "bool char str u8 u16 u32 u64 u128 usize i8 i16 i32 i64 i128 isize f32 f64",
    "std core alloc proc_macro rustc main lib run wiring types processes process network net rt ends",
    "graphmap_runtime Network Local Options Ports Ends Channels Names Kind Input Output Select Gather",
    "Reduce Broadcast Scatter Share Switch Stopped Stop Outcome Me me any join select yield_now connect",
    "input output gather reduce broadcast scatter share switch place listed mixed numbered pattern token",
    "structure parent children part neighbours cell NODES ARITY nodes arity kind channels channels_filled",
    "tokens size default_of Defaulted Undefaulted",
    "payload Payload format_of Format Known Unknown Probe Encoder Decoder",
];
/// The same for types of the project: names that are spelt as types, without types of the prelude.
const TAKEN_TYPES: &str = "\
    Some None Ok Err Default Clone Copy Send Sync Sized Drop Fn FnMut Iterator ToString From Into Eq \
    Ord Future Debug Hash Network Ports Ends Channels Names Kind Input Output Select Switch Stopped Me \
    Payload Format Known Unknown Probe Encoder Decoder";

/// Returns a ring of kinds with these names: as a kind, as a port of another kind, as a type.
fn names() -> Graph {
    let mut g = Graph::new("names");
    let names = TAKEN.iter().flat_map(|line| line.split_whitespace());
    let names: Vec<&str> = names.collect();
    let mut types = TAKEN_TYPES.split_whitespace().cycle();
    for (i, name) in names.iter().enumerate() {
        let next = names[(i + 1) % names.len()];
        let (out, into) = (name, names[(i + 7) % names.len()]);
        let channel = g.channel(&format!("{name}.{out}"), &format!("{next}.{into}"));
        channel
            .ty(types.next().unwrap())
            .holds(3, u32::from(i % 3 == 0));
    }
    for name in names {
        g.kind(name, name);
    }
    g
}

/// Returns a source, three filters and a sink, before the change of the graph.
fn before() -> Graph {
    let mut g = chain(3);
    g.channel("filter3.log", "sink.log").ty("Entry");
    for i in 1..3 {
        g.channel(&format!("filter{i}.log"), "NULL");
    }
    g
}

fn after() -> Graph {
    use graphmap_kpn::declared::BundleKind;
    let mut g = Graph::new("sieve");
    g.channel("source", "filter1").ty("u32");
    g.channel("filter1", "drain").ty("u32");
    g.channel("filter1.alarm", "source.alarm")
        .ty("Entry")
        .bundle(BundleKind::Select);
    g.channel("filter1.logs", "drain.log").ty("Line");
    g
}

#[test]
fn a_changed_graph_changes_generated_files_only_and_misfits_are_reported() {
    let root = folder("changed");
    let text = before().text();
    new_project(&root, "sieve", &before().network(), &text, in_place());
    let graph = root.join("sieve.dot");
    let project = Project::find(&graph).unwrap().unwrap();
    let skeletons = Skeletons::built_in(&BUILT_IN);
    let read = |path: &str| std::fs::read_to_string(root.join(path)).unwrap();

    // The functions belong to the user. Each run reports that they are stubs.
    for kind in ["source", "filter", "sink"] {
        let mut notes = Diagnostics::new();
        let regenerated = project.regenerate(&before().network(), &skeletons, &mut notes);
        assert!(regenerated.is_ok());
        let reported: Vec<_> = notes.iter().map(|n| n.code.0).collect();
        assert_eq!(reported, [614], "{notes:#?}");
        let path = format!("src/processes/{kind}.rs");
        std::fs::write(root.join(&path), read(&path) + "// Mine.\n").unwrap();
    }

    // Without a change, nothing is written or reported.
    let mut notes = Diagnostics::new();
    let now = project
        .regenerate(&before().network(), &skeletons, &mut notes)
        .unwrap();
    assert!(notes.is_empty() && now.doubts.is_empty(), "{notes:#?}");
    for (path, file) in now.files.iter() {
        assert!(
            file.create_once || std::fs::read(path).unwrap() == file.content,
            "{}",
            path.display()
        );
    }

    let (filter, types) = (read("src/processes/filter.rs"), read("src/types.rs"));
    let network = after().network();
    let now = project
        .regenerate(&network, &skeletons, &mut notes)
        .unwrap();
    let certain = now.doubts.iter().filter(|doubt| doubt.certain);
    assert!(
        certain
            .clone()
            .all(|doubt| doubt.if_rejected.message.contains("was added"))
    );
    assert_eq!(certain.count(), 3);
    let doubts = now.doubts.into_iter().map(|doubt| doubt.if_rejected);
    let mut reported: Vec<String> = doubts
        .clone()
        .chain(notes.iter().cloned())
        .map(|n| format!("{} {}", n.code, n.message))
        .collect();
    for line in &mut reported {
        *line = line.replace(&format!("{}/", root.display()), "");
    }
    let fits = |function: &str, what: &str| {
        format!("G0607 the function `{function}` does not match its kind: the port {what}")
    };
    assert_eq!(
        reported,
        [
            fits("source", "`out` changed its type from `u64` to `u32`"),
            fits(
                "source",
                "`alarm` was added (`select` of `types::Entry`, field `alarm`)"
            ),
            fits("filter", "`in` changed its type from `u64` to `u32`"),
            fits("filter", "`out` changed its type from `u64` to `u32`"),
            fits(
                "filter",
                "`alarm` was added (`output` of `types::Entry`, field `alarm`)"
            ),
            fits(
                "filter",
                "`logs` was added (`output` of `types::Line`, field `logs`)"
            ),
            fits("filter", "`log` was removed"),
            "G0610 src/types.rs does not define the type `Line`".into(),
            "G0614 the function of the kind `drain` is a stub".into(),
            "G0608 src/processes/sink.rs is not part of the program: no kind has this name".into(),
        ]
    );
    doubts.for_each(|doubt| notes.push(doubt));
    let gone = notes
        .iter()
        .find(|n| n.message.ends_with("removed"))
        .unwrap();
    assert!(
        gone.help
            .iter()
            .any(|help| help.contains("rename it to `logs`")),
        "{gone:#?}"
    );
    for note in notes.iter().filter(|n| n.code.0 != 608) {
        let span = note.primary.as_ref().unwrap().span;
        assert!(network.location(span).is_some(), "{note:#?}");
    }

    write(Path::new(""), &now.files);
    assert_eq!(
        (read("src/processes/filter.rs"), read("src/types.rs")),
        (filter, types)
    );
    assert!(read("src/processes/mod.rs").contains("drain"));

    // Missing functions and types are reported in terms of the graph.
    let source = root.join("src/processes/source.rs");
    std::fs::write(&source, "fn other() {}\n").unwrap();
    let mut diagnostics = build(&project, &network);
    diagnostics.sort();
    diagnostics.dedup();
    assert_eq!(
        diagnostics,
        [
            "G0000 no field `log` on type `wiring::Filter` (E0609): \
             the port `in` of `filter`, which carries `u32`",
            "G0609 the function of the kind `source` is missing: a process of the kind",
            "G0610 src/types.rs does not define the type `Line`: the port `logs` of `filter`",
        ]
    );

    std::fs::write(
        root.join("src/types.rs"),
        "#[derive(Default)]\npub struct Entry;\npub struct Line;\n",
    )
    .unwrap();
    std::fs::write(&source, "pub async fn source(_: u8) {}\n").unwrap();
    let diagnostics = build(&project, &network);
    let wrong_ports = "a process of the kind";
    assert!(
        diagnostics
            .iter()
            .any(|f| f.contains("E0631") && f.ends_with(wrong_ports)),
        "{diagnostics:#?}"
    );
}

/// Returns the explained diagnostics of a build that fails. Each has a position in the graph.
fn build(project: &Project, network: &Verified) -> Vec<String> {
    let output = cargo(&project.root, &["build", "--message-format=json"]);
    assert!(!output.status.success());
    let explainer = Explainer::new(network);
    let mut reported = Vec::new();
    for line in String::from_utf8(output.stdout).unwrap().lines() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        let message = &line["message"];
        let Some(span) = message["spans"].get(0) else {
            continue;
        };
        let (text, code) = (&message["message"], &message["code"]["code"]);
        let text = format!("{} ({})", text.as_str().unwrap(), code.as_str().unwrap());
        let file = project.root.join(span["file_name"].as_str().unwrap());
        let diagnostic = Diagnostic::error(Code(0), text);
        let text = std::fs::read_to_string(&file).unwrap();
        let byte = |name: &str| span[name].as_u64().unwrap() as usize;
        let pointed = Pointed {
            text: &text,
            range: byte("byte_start")..byte("byte_end"),
        };
        let diagnostic = explainer.explain(diagnostic, &file, &pointed);
        let label = diagnostic.primary.as_ref().or(diagnostic.secondary.first());
        let label = label.unwrap_or_else(|| panic!("{diagnostic:#?}"));
        assert!(network.location(label.span).is_some(), "{diagnostic:#?}");
        reported.push(format!(
            "{} {}: {}",
            diagnostic.code, diagnostic.message, label.text
        ));
    }
    reported.dedup();
    reported
}

#[test]
fn a_project_is_found_from_its_graph() {
    let root = folder("found");
    std::fs::create_dir_all(root.join("farm")).unwrap();
    std::fs::write(root.join("farm.dot"), "digraph {}").unwrap();
    let graph = root.join("farm.dot");
    let manifest = root.join("farm/Cargo.toml");
    let find = || Project::find(&graph);
    assert_eq!(find().unwrap(), None);
    std::fs::write(&manifest, "[package]\nname = 'farm'\n").unwrap();
    assert_eq!(find().unwrap(), None);
    let metadata =
        |graph: &str| format!("[package]\nname = 'f'\nmetadata.graphmap.graph = '{graph}'\n");
    std::fs::write(&manifest, metadata("../other.dot")).unwrap();
    assert_eq!(find().unwrap(), None);
    std::fs::write(&manifest, metadata("../farm.dot")).unwrap();
    let project = find().unwrap().unwrap();
    assert_eq!((project.package.as_str(), project.copied), ("f", false));
    std::fs::write(&manifest, "[package\n").unwrap();
    let diagnostics = find().unwrap_err();
    assert_eq!(diagnostics.iter().next().unwrap().code.0, 613);
    // The folder that contains the graph.
    std::fs::remove_file(&manifest).unwrap();
    std::fs::write(root.join("Cargo.toml"), metadata("farm.dot")).unwrap();
    assert!(find().unwrap().is_some());
}
