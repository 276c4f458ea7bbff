//! Families of skeletons: their manifest, and projects of them.

#[path = "../../../src/skeletons.rs"]
mod built_in;
#[path = "../src/testing.rs"]
mod testing;

use built_in::BUILT_IN;
use graphmap_kpn::diagnostic::Diagnostics;
use graphmap_kpn::source::SourceMap;
use graphmap_wiring::family::{self, Family, Unsupported};
use graphmap_wiring::skeleton::Skeletons;
use std::path::{Path, PathBuf};
use testing::{chain, pool};

/// Creates a folder with these files.
fn folder(name: &str, files: &[(&str, &str)]) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("families")
        .join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    for (path, content) in files {
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
    folder
}

/// Returns the families of a manifest, or the code, line, column and message of each diagnostic.
fn read(name: &str, manifest: &str) -> Result<Vec<Family>, Vec<String>> {
    let folder = folder(name, &[("families.toml", manifest)]);
    let mut sources = SourceMap::new();
    sources.add("before.dot", "digraph { }").unwrap();
    family::of_folder(&folder, &BUILT_IN, &mut sources, |_| None).map_err(|diagnostics| {
        let lines = diagnostics.iter().map(|diagnostic| {
            let place = diagnostic.primary.as_ref().expect("a place").span;
            let place = sources.location(place).expect("a place");
            let (line, column) = (place.line, place.column);
            format!("{} {line}:{column} {}", diagnostic.code, diagnostic.message)
        });
        lines.collect()
    })
}

#[test]
fn built_in_families_can_be_read() {
    let families = family::built_in(&BUILT_IN);
    let names: Vec<&str> = families.iter().map(|f| f.name.as_str()).collect();
    assert_eq!(names, ["pilot", "rust"]);
    let skeletons = Skeletons::built_in(&BUILT_IN);
    for family in &families {
        assert!(skeletons.has(&format!("{}/explicit", family.name)));
    }
    assert_eq!(
        families[0].lacks,
        [
            Unsupported::Share,
            Unsupported::Initial,
            Unsupported::Flow,
            Unsupported::Loop,
            Unsupported::I128,
            Unsupported::Glue
        ]
    );
    let ranks = families.iter().map(|family| family.first_rank);
    assert_eq!(ranks.collect::<Vec<_>>(), [Some(1), None]);
    assert_eq!(families[1].emitter, "wiring");
}

#[test]
fn a_manifest_says_what_a_family_is() {
    let families = read(
        "good",
        "[b]\nabout = 'x'\nemitter = 'be'\n[a]\nabout = 'y'\n",
    )
    .unwrap();
    let names: Vec<_> = families
        .iter()
        .map(|f| (f.name.as_str(), f.emitter.as_str()))
        .collect();
    assert_eq!(names, [("a", "a"), ("b", "be")]);
    assert_eq!(read("empty", ""), Ok(Vec::new()));
    let none = folder("none", &[]);
    let mut sources = SourceMap::new();
    assert_eq!(
        family::of_folder(&none, &BUILT_IN, &mut sources, |_| None).unwrap(),
        []
    );
    let nowhere = none.join("nowhere");
    let diagnostics = family::of_folder(&nowhere, &BUILT_IN, &mut sources, |_| None).unwrap_err();
    assert_eq!(diagnostics.iter().next().unwrap().code.0, 604);
}

#[test]
fn errors_of_a_manifest_have_positions() {
    for (name, manifest, expected) in [
        ("open", "\n[go\n", "G0615 2:4"),
        (
            "field",
            "[go]\nabout = 'x'\nextention = 'go'\n",
            "G0615 3:1",
        ),
        (
            "lack",
            "[go]\nabout = 'x'\nlacks = ['channels']\n",
            "G0615 3:10",
        ),
        ("about", "[go]\n", "G0615 1:1"),
        ("name", "[\"../x\"]\nabout = 'x'\n", "G0615 1:2"),
        (
            "rust",
            "[go]\nabout = 'x'\n[rust]\nabout = 'y'\n",
            "G0616 3:2",
        ),
        ("project", "[project]\nabout = 'y'\n", "G0616 1:2"),
        (
            "twice",
            "[a]\nabout = ''\n[b]\nabout = ''\nemitter = 'a'\n",
            "G0616 3:2",
        ),
    ] {
        let found = read(name, manifest).unwrap_err();
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with(expected), "{name}: {found:?}");
    }
}

const MANIFEST: &str = "[py]
about = 'x'
lacks = ['share']
[[py.project]]
path = 'wiring.py'
[[py.project]]
path = 'functions/{{kind.function}}.py'
skeleton = '_function'
each = 'kind'
once = true
";

fn project(name: &str, manifest: &str, graph: testing::Graph) -> Result<Vec<String>, String> {
    let function = "{{project}} {{graph.name}} {{kind.name}}";
    let files = [
        ("families.toml", manifest),
        (
            "py/explicit.hbs",
            "{{#each kinds}}{{name}} {{type_name}}\n{{/each}}",
        ),
        ("py/_function.hbs", function),
    ];
    let folder = folder(name, &files);
    let families = family::of_folder(&folder, &BUILT_IN, &mut SourceMap::new(), |_| None);
    let family = &families.unwrap_or_else(|diagnostics| panic!("{diagnostics:?}"))[0];
    let skeletons = Skeletons::with_folder(&BUILT_IN, &folder).unwrap();
    let mut notes = Diagnostics::new();
    let made = family.project("mine", &graph.network(), &skeletons, &mut notes);
    match made {
        Ok(files) => Ok(files
            .iter()
            .map(|(path, file)| format!("{} {}", path.display(), file.create_once))
            .collect()),
        Err(diagnostics) => {
            let first = diagnostics.iter().next().unwrap();
            Err(format!("{} {}", first.code, first.message))
        }
    }
}

#[test]
fn a_project_has_the_files_that_the_manifest_lists() {
    let files = project("files", MANIFEST, chain(3)).unwrap();
    let expected = [
        "functions/filter.py true",
        "functions/sink.py true",
        "functions/source.py true",
        "wiring.py false",
    ];
    assert_eq!(files, expected);
    // Types of other languages are allowed.
    let mut odd = chain(3);
    odd.channel("sink.more", "source.more").ty("[]byte*");
    assert!(project("types", MANIFEST, odd).is_ok());
}

#[test]
fn a_project_that_cannot_be_made() {
    let failed = |name: &str, from: &str, to: &str| {
        assert!(MANIFEST.contains(from));
        project(name, &MANIFEST.replace(from, to), chain(3)).unwrap_err()
    };
    let two = failed("two", "{{kind.function}}", "function");
    assert!(
        two.starts_with("G0617 the file `functions/function.py`"),
        "{two}"
    );
    for path in ["../x", "/x", "", ".", "a/../b"] {
        let out = failed("out", "wiring.py", path);
        assert!(
            out.starts_with("G0617") && out.contains("is outside"),
            "{path}: {out}"
        );
    }
    let bad = failed("bad", "{{kind.function}}", "{{kind.fun}}");
    assert!(
        bad.starts_with("G0605 the template `functions/{{kind.fun}}.py`"),
        "{bad}"
    );
    let open = failed("open-path", "{{kind.function}}", "{{#if");
    assert!(open.starts_with("G0605"), "{open}");
    let missing = failed("missing", "'_function'", "'fnuction'");
    assert!(missing.starts_with("G0603"), "{missing}");
    let none = project("no-project", "[py]\nabout = ''\n", chain(3)).unwrap_err();
    assert!(
        none.starts_with("G0617 the family `py` has no projects"),
        "{none}"
    );
    let lacks = project("lacks", MANIFEST, pool(3)).unwrap_err();
    assert!(
        lacks.starts_with("G0612 the family `py` does not support share bundles"),
        "{lacks}"
    );
    let mut graph = chain(3);
    graph.arguments("stage1", "k: u8", "1");
    let manifest = MANIFEST.replace("'share'", "'arguments'");
    let lacks = project("lacks-arguments", &manifest, graph).unwrap_err();
    let expected = "G0612 `py` does not support arguments, which `stage` has";
    assert!(lacks.starts_with(expected), "{lacks}");
}
