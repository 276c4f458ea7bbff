//! Checks that the source has the structure that ARCHITECTURE.md describes.

use crate::imports::layers::LAYERS;
use crate::imports::{self, Imports};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns all files with an extension below some folders. Skips build output and symbolic links.
fn files(folders: &[&str], ending: &str) -> Vec<PathBuf> {
    let mut todo: Vec<PathBuf> = folders.iter().map(|f| root().join(f)).collect();
    let mut found = Vec::new();
    while let Some(path) = todo.pop() {
        // Links: modules/wiring packages sources of other crates.
        if path.is_symlink() {
            continue;
        }
        if path.is_dir() {
            if !path.ends_with("target") {
                let entries = std::fs::read_dir(&path).unwrap();
                todo.extend(entries.map(|e| e.unwrap().path()));
            }
        } else if path.extension().is_some_and(|e| e == ending) {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Maps each crate of this repository to the crates of this repository that it depends on, without
/// dev-dependencies. The name of the command is `""`.
fn arrows() -> BTreeMap<String, BTreeSet<String>> {
    let output = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--format-version",
            "1",
            "--no-deps",
            "--offline",
        ])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let ours = |name: &str| name.strip_prefix("graphmap-").map(str::to_owned);
    let mut arrows = BTreeMap::new();
    for package in metadata["packages"].as_array().unwrap() {
        let manifest = package["manifest_path"].as_str().unwrap();
        let name = package["name"].as_str().unwrap();
        let name = match ours(name) {
            Some(name) if manifest.contains("modules") => name,
            None if name == "graphmap" => String::new(),
            // It replaces rsmpi, so it has the package name of rsmpi.
            None if name == "mpi" => name.to_string(),
            _ => continue,
        };
        let dependencies = package["dependencies"].as_array().unwrap().iter();
        let linked = dependencies.filter(|d| d["kind"] != "dev");
        let names = linked.filter_map(|d| ours(d["name"].as_str().unwrap()));
        arrows.insert(name, names.collect());
    }
    arrows
}

/// Crates that the command depends on. The crates of the runtime are not among them, because they
/// are a part of generated projects.
const COMMAND: &[&str] = &[
    "binding",
    "cpa",
    "dot",
    "exchange",
    "graphfile",
    "kpn",
    "partition",
    "plan",
    "platform",
    "plugin",
    "view",
    "wiring",
];

/// Returns the texts between backticks in a line.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

#[test]
fn paths_in_architecture_and_decisions_exist() {
    let mut documents = files(&["docs/decisions"], "md");
    documents.push(root().join("ARCHITECTURE.md"));
    let folders = [
        ("exec/", "modules/executor/src"),
        ("link/", "modules/executor/src"),
        ("payload/", "modules/executor/src"),
        ("kpn/", "modules/runtime/src"),
    ];
    let mut missing = Vec::new();
    let mut paths = 0;
    for document in documents {
        let text = read(&document);
        // Folders of the crate that the current list item describes, if any.
        let mut inside = Vec::new();
        for line in text.lines() {
            if let Some(path) = line.strip_prefix("* `") {
                let path = path.split('`').next().unwrap();
                inside = vec![root().join(path).join("src"), root().join(path)];
            } else if !line.starts_with("  ") {
                inside.clear();
            }
            for path in quoted(line) {
                let is_path = path.contains('/') || path.ends_with(".rs");
                if !is_path || path.contains(|c: char| " <*".contains(c)) || path.contains("VERB") {
                    continue;
                }
                let mut bases = vec![root().to_path_buf()];
                bases.extend(inside.iter().cloned());
                let known = folders.iter().find(|(start, _)| path.starts_with(start));
                bases.extend(known.map(|(_, base)| root().join(base)));
                paths += 1;
                if !bases.iter().any(|base| base.join(path).exists()) {
                    missing.push(format!("{}: {path}", document.display()));
                }
            }
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
    assert!(paths > 100, "only {paths} paths found");
}

#[test]
fn architecture_is_at_most_200_lines_of_100_columns() {
    let text = read(&root().join("ARCHITECTURE.md"));
    let long = text.lines().filter(|line| line.chars().count() > 100);
    assert_eq!(long.collect::<Vec<_>>(), Vec::<&str>::new());
    assert!(text.lines().count() <= 200);
}

#[test]
fn every_decision_is_listed_with_its_title_and_says_which_figure_decided() {
    let list = read(&root().join("docs/decisions/README.md"));
    for path in files(&["docs/decisions"], "md") {
        let name = path.file_name().unwrap().to_str().unwrap();
        if name == "README.md" {
            continue;
        }
        let text = read(&path);
        let title = text.lines().next().unwrap().strip_prefix("# ").unwrap();
        let (number, title) = title.split_once(": ").unwrap();
        let line = format!("- [{number}]({name}): {title}");
        assert!(list.lines().any(|l| l == line), "not listed: {line}");
        for part in ["Context", "Decision", "Consequences", "Figure"] {
            assert!(text.contains(&format!("\n**{part}.** ")), "{name}: {part}");
        }
    }
}

#[test]
fn crates_depend_on_what_the_table_allows() {
    let allowed: BTreeMap<&str, &[&str]> = BTreeMap::from([
        ("", COMMAND),
        ("kpn", &[]),
        ("executor", &[]),
        ("mpi-core", &["executor", "rankmap"]),
        ("derive", &[]),
        ("runtime", &["derive", "executor", "mpi-core"]),
        ("mpi", &["fiber", "mpi-derive", "runtime"]),
        ("mpi-derive", &[]),
        ("rankmap", &[]),
        ("fiber", &["executor"]),
        ("testing", &[]),
        ("dot", &["kpn"]),
        ("cpa", &["kpn"]),
        ("exchange", &["dot", "kpn"]),
        ("platform", &["kpn"]),
        ("plugin", &["kpn"]),
        ("sharing", &["kpn"]),
        ("wiring", &["kpn"]),
        ("view", &["dot", "kpn"]),
        ("partition", &[]),
        ("graphfile", &["kpn", "partition"]),
        ("plan", &["kpn", "partition", "platform"]),
        ("binding", &["kpn", "platform"]),
    ]);
    let arrows = arrows();
    for (name, allowed) in &allowed {
        let found = arrows
            .get(*name)
            .unwrap_or_else(|| panic!("no crate graphmap-{name}"));
        let wrong: Vec<_> = found
            .iter()
            .filter(|d| !allowed.contains(&d.as_str()))
            .collect();
        assert!(
            wrong.is_empty(),
            "graphmap-{name} may not depend on {wrong:?}"
        );
    }
    let unknown: Vec<_> = arrows
        .keys()
        .filter(|n| !allowed.contains_key(n.as_str()))
        .collect();
    assert!(
        unknown.is_empty(),
        "add {unknown:?} here, with the crates that they may depend on"
    );
}

/// Checks that the link over MPI depends only on the runtime, and that it is not a member of the
/// workspace. Therefore all other crates build without MPI.
#[test]
fn the_mpi_link_depends_only_on_the_runtime_and_no_crate_on_it() {
    assert!(arrows().keys().all(|name| name != "link-mpi"));
    let manifest = read(&root().join("modules/link-mpi/Cargo.toml"));
    // Dev-dependencies may be others.
    let shipped = manifest.split("[dev-dependencies]").next();
    let ours = shipped.into_iter().flat_map(str::lines);
    let ours = ours.filter(|l| l.starts_with("graphmap-"));
    let ours: Vec<&str> = ours.filter_map(|l| l.split(' ').next()).collect();
    assert_eq!(ours, ["graphmap-runtime"]);
}

/// Returns the expected graph file of the crates. It has an edge for each dependency that no path
/// of other dependencies implies.
fn graph_of_the_crates() -> String {
    let mut arrows = arrows();
    arrows.remove("testing");
    let command = arrows.remove("").unwrap();
    arrows.insert("graphmap".to_owned(), command);
    // It is not a member of the workspace. The test above checks its only dependency.
    let runtime = BTreeSet::from(["runtime".to_owned()]);
    arrows.insert("link-mpi".to_owned(), runtime);
    let reached = |from: &str, but: &str| {
        let mut todo: Vec<&String> = arrows[from].iter().filter(|to| *to != but).collect();
        let mut reached = BTreeSet::new();
        while let Some(crate_) = todo.pop() {
            if reached.insert(crate_.as_str()) {
                todo.extend(&arrows[crate_]);
            }
        }
        reached
    };
    let mut drawing = "digraph crates {\n    allow = \"G0317\";\n".to_owned();
    for name in arrows.keys() {
        drawing += &format!("    \"{name}\";\n");
    }
    for (from, all) in &arrows {
        for to in all.iter().filter(|to| !reached(from, to).contains(&***to)) {
            drawing += &format!("    \"{from}\" -> \"{to}\" [src=\"{to}\", dst=\"{from}\"];\n");
        }
    }
    drawing + "}\n"
}

#[test]
fn the_picture_of_the_crates_is_what_cargo_says() {
    let drawing = root().join("docs/src/crates.dot");
    let how = "write it anew: GRAPHMAP_TEST_UPDATE=1 cargo test -p graphmap --test suite architecture::the_picture";
    let update = std::env::var_os("GRAPHMAP_TEST_UPDATE").is_some();
    let wanted = graph_of_the_crates();
    if update {
        std::fs::write(&drawing, &wanted).unwrap();
    }
    assert_eq!(read(&drawing), wanted, "{how}");
    let picture = root().join("docs/src/crates.svg");
    let fresh = Path::new(env!("CARGO_TARGET_TMPDIR")).join("crates.svg");
    let status = crate::common::graphmap()
        .args(["view", "--quiet", "-o"])
        .args([&fresh, &drawing])
        .status()
        .unwrap();
    assert!(status.success());
    if update {
        std::fs::copy(&fresh, &picture).unwrap();
    }
    assert_eq!(read(&picture), read(&fresh), "{how}");
}

/// Returns whether a text contains a word that is not part of a longer name.
fn has_word(text: &str, word: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        !before.is_some_and(part) && !after.is_some_and(part)
    })
}

#[test]
fn unsafe_is_in_the_runtime_where_stacks_are_switched_and_where_mpi_is_called_only() {
    for path in files(&["src", "modules", "graphs"], "rs") {
        // Derived code implements an unsafe trait.
        let runtime = [
            "abi",
            "executor",
            "fiber",
            "mpi",
            "mpi-core",
            "mpi-derive",
            "runtime",
        ];
        let runtime = runtime.map(|m| format!("modules/{m}"));
        let runtime = runtime.iter().any(|m| path.starts_with(root().join(m)));
        let calls = ["calls.rs", "operation.rs", "sockets.rs", "world.rs"];
        let calls = calls.map(|file| root().join("modules/link-mpi/src").join(file));
        if runtime || calls.contains(&path) {
            continue;
        }
        for (number, line) in read(&path).lines().enumerate() {
            let code = line.split("//").next().unwrap();
            let found = has_word(code, "unsafe") && !code.contains('"');
            assert!(!found, "{}:{}: {line}", path.display(), number + 1);
        }
    }
}

#[test]
fn clippy_asks_of_every_unsafe_block_why_it_is_sound() {
    let lint = "undocumented_unsafe_blocks";
    for module in [
        "modules/abi",
        "modules/executor",
        "modules/mpi-core",
        "modules/runtime",
        "modules/mpi",
        "modules/mpi-derive",
        "modules/fiber",
        "modules/link-mpi",
    ] {
        let manifest = read(&root().join(module).join("Cargo.toml"));
        let on = manifest
            .lines()
            .any(|l| l.starts_with(lint) && l.ends_with("= \"warn\""));
        assert!(on, "{module}/Cargo.toml: no {lint} = \"warn\"");
        for path in files(&[module], "rs") {
            let allowed = read(&path).contains(lint);
            assert!(!allowed, "{}: {lint}", path.display());
        }
    }
}

#[test]
fn skipped_tests_are_reported() {
    // Clippy detects `eprintln!`, but not this.
    let stderr = ["io::std", "err()"].concat();
    for path in files(&["src", "tests", "modules", "graphs"], "rs") {
        let inside = path.strip_prefix(root()).unwrap();
        let of_tests = inside.components().any(|part| part.as_os_str() == "tests");
        for (number, line) in read(&path).lines().enumerate() {
            let place = format!("{}:{}: {line}", path.display(), number + 1);
            let prints = of_tests && line.contains(&stderr);
            assert!(!prints, "use graphmap_testing::skip or print_line: {place}");
            let attribute = line.trim_start();
            let ignores = attribute.starts_with("#[ignore")
                || (attribute.starts_with("#[cfg_attr(") && attribute.contains(" ignore"));
            // Tests that another test runs, and tests that Miri itself reports as ignored.
            let said = ["#[ignore = \"run by `", "#[cfg_attr(miri, ignore = "];
            let said = said.iter().any(|s| attribute.starts_with(s));
            assert!(!ignores || said, "who runs it? {place}");
        }
    }
}

/// Checks that only `talk` writes to the terminal, because `talk` escapes control characters.
#[test]
fn one_file_of_the_command_writes_to_the_terminal() {
    for path in files(&["src"], "rs") {
        if path.ends_with("cli/talk.rs") {
            continue;
        }
        for line in read(&path).lines() {
            // Access to the stream and flushing clap's output are not writes.
            let asks = ["as_fd()", "is_terminal()", ".flush()"];
            let writes = line.contains("stderr()") || line.contains("stdout()");
            let writes = writes && !asks.iter().any(|ask| line.contains(ask));
            let writes = writes || line.contains("fd(1)") || line.contains("fd(2)");
            assert!(!writes, "{}: {line}", path.display());
        }
    }
}

/// Maps each file of a crate to the files that it imports from. `""` is the crate of the library
/// and the command.
fn imports_of(module: &str) -> Imports {
    let source = match module {
        "" => "src".to_owned(),
        module => format!("modules/{module}/src"),
    };
    let root = root().join(&source);
    let texts: Vec<(PathBuf, String)> = files(&[source.as_str()], "rs")
        .iter()
        .map(|path| (path.strip_prefix(&root).unwrap().to_path_buf(), read(path)))
        .collect();
    let texts = texts.iter();
    imports::imports(texts.map(|(path, text)| (path.as_path(), text.as_str())))
}

#[test]
fn crates_have_layers() {
    for module in std::fs::read_dir(root().join("modules")).unwrap() {
        let module = module.unwrap().file_name();
        let listed = LAYERS.iter().any(|(name, _)| module == *name);
        assert!(listed, "list the layers of {}", module.display());
    }
    for (module, layers) in LAYERS {
        // Layer of the file, or of the nearest folder that has one.
        let layer = |path: &str| {
            let mut folders = std::iter::successors(Some(path), |path| {
                path.rsplit_once("::").map(|(folder, _)| folder)
            });
            folders
                .find_map(|path| layers.iter().position(|layer| *layer == path))
                .unwrap_or_else(|| panic!("list the layer of `{path}` in {module}"))
        };
        for (file, used) in imports_of(module) {
            // The crate root is above all layers. Items that it defines may be used everywhere.
            if file.is_empty() {
                continue;
            }
            for used in used.iter().filter(|used| !used.is_empty()) {
                assert!(
                    layer(used) <= layer(&file),
                    "{module}: {file} stands below {used}, which it imports from"
                );
            }
        }
    }
}

#[test]
fn files_do_not_import_each_other_in_a_circle() {
    for (module, _) in LAYERS {
        let cycles = imports::cycles(&imports_of(module));
        assert!(
            cycles.is_empty(),
            "files of {module} import each other in a circle: {cycles:?}"
        );
    }
}

#[test]
fn imports_are_found_however_they_are_written() {
    let files = [
        ("lib.rs", "mod a; mod b; pub use b::B;"),
        (
            "a/mod.rs",
            "mod one; mod two;\npub use two::Two;\n// use crate::b::Not;\nfn f<'a>(_: &'a str) { \"super::b\"; }",
        ),
        (
            "a/one.rs",
            "use super::{Two as Other, two::{self}};\nuse crate::B;",
        ),
        (
            "a/two.rs",
            "fn f() { crate::a::one::f(); }\n#[cfg(test)]\nmod tests { use crate::b::B; }",
        ),
        (
            "b.rs",
            "pub struct B; mod inner { use super::B; use super::super::a; }",
        ),
    ];
    let found = imports::imports(files.map(|(path, text)| (Path::new(path), text)));
    let of = |file: &str| found[file].iter().map(String::as_str).collect::<Vec<_>>();
    assert!(of("").is_empty(), "what is passed on is not used");
    assert!(of("a").is_empty(), "nor what is in comments and strings");
    assert_eq!(of("a::one"), ["a::two", "b"]);
    assert_eq!(of("a::two"), ["a::one"], "tests are left out");
    assert_eq!(of("b"), ["a"]);
    let cycles = imports::cycles(&found);
    let cycle = BTreeSet::from(["a::one".to_string(), "a::two".to_string()]);
    assert_eq!(cycles, [cycle]);
}
