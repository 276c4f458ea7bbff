//! Compares the diagnostics of the sources beside this file with their `//~` comments, which give
//! the expected code of a line.

use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::source::SourceMap;
use graphmap_sharing::{Counts, Package, check};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sources")
}

/// File, line and code of a diagnostic.
type Expected = (String, usize, String);

/// Checks a crate by its root file.
fn found(root: &Path, own: bool) -> (Counts, Vec<Diagnostic>, BTreeSet<Expected>) {
    found_with(root, own, None)
}

/// Checks a crate with a build script.
fn found_with(
    root: &Path,
    own: bool,
    build_script: Option<PathBuf>,
) -> (Counts, Vec<Diagnostic>, BTreeSet<Expected>) {
    let package = Package {
        name: "tested".into(),
        version: "0.1.0".into(),
        own,
        roots: vec![root.to_owned()],
        build_script,
    };
    let mut sources = SourceMap::new();
    let mut all = Diagnostics::new();
    let shown = |path: &Path| path.display().to_string();
    let counts = check(&package, &shown, &mut sources, &mut all);
    let all: Vec<Diagnostic> = all.into_iter().collect();
    let placed = all.iter().filter_map(|one| {
        let at = sources.location(one.primary.as_ref()?.span)?;
        Some((at.file, at.line as usize, one.code.to_string()))
    });
    let placed = placed.collect();
    (counts, all, placed)
}

/// Returns the diagnostics that a file expects.
fn expected(path: &Path) -> BTreeSet<Expected> {
    let text = fs::read_to_string(path).unwrap();
    let lines = text.lines().enumerate();
    let expected = lines.filter_map(|(at, line)| {
        let (_, code) = line.split_once("//~ ")?;
        Some((path.display().to_string(), at + 1, code.to_owned()))
    });
    expected.collect()
}

#[test]
fn each_line_has_the_diagnostics_of_its_comment() {
    for name in [
        "statics.rs",
        "calls.rs",
        "macros.rs",
        "waits.rs",
        "foreign.rs",
    ] {
        let path = sources().join(name);
        let (_, all, found) = found(&path, true);
        let expected = expected(&path);
        let missing: Vec<_> = expected.difference(&found).collect();
        let more: Vec<_> = found.difference(&expected).collect();
        assert!(
            missing.is_empty() && more.is_empty(),
            "not found: {missing:#?}\nnot said: {more:#?}"
        );
        // No line has two diagnostics.
        assert_eq!(all.len(), expected.len(), "{name}");
    }
}

#[test]
fn the_sleep_of_a_rank_is_advised_for_other_sleeps() {
    let (_, all, _) = found(&sources().join("waits.rs"), true);
    let advised = all.iter().filter(|one| one.help[0].contains("mpi::sleep"));
    let mut names: Vec<&str> = advised
        .map(|one| one.message.split('`').nth(1).unwrap())
        .collect();
    names.sort_unstable();
    let sleep = "std::thread::sleep";
    assert_eq!(names, ["libc::usleep", sleep, sleep]);
}

#[test]
fn files_are_those_of_the_modules() {
    let folder = sources().join("modules");
    let (counts, all, found) = found(&folder.join("main.rs"), true);
    assert_eq!(counts.unread, 0, "{all:?}");
    assert_eq!((counts.files, counts.statics), (14, 11));
    let names = [
        "beside.rs",
        "inner/mod.rs",
        "inner/deeper.rs",
        "else/near.rs",
        "around/below.rs",
        "unix.rs",
        "other.rs",
        "folder/below.rs",
        "folder/said.rs",
        "branch.rs",
        "table.in",
    ];
    for name in names {
        let expected = expected(&folder.join(name));
        assert!(
            !expected.is_empty() && expected.is_subset(&found),
            "{name}: {found:#?}"
        );
    }
}

#[test]
fn counts_match_the_diagnostics() {
    let (counts, all, _) = found(&sources().join("macros.rs"), true);
    let number = |code: &str| {
        all.iter()
            .filter(|one| one.code.to_string() == code)
            .count()
    };
    assert_eq!(counts.statics, number("G0801"));
    assert_eq!(counts.thread_locals, number("G0802"));
    assert_eq!(counts.made_once, number("G0803"));
    assert_eq!(counts.process_wide, number("G0804"));
    assert_eq!(counts.not_judged, number("G0805"));
    assert_eq!(counts.macros, 5);
    let unseen = all
        .iter()
        .find(|one| one.code.to_string() == "G0807")
        .unwrap();
    assert_eq!(
        unseen.message,
        "5 macro calls in `tested` are not checked: `counter!`, `html!`, `maybe!`, `type_of!`, \
         `within!`"
    );
}

#[test]
fn tests_of_dependencies_are_not_run() {
    let own = found(&sources().join("statics.rs"), true).0;
    let others = found(&sources().join("statics.rs"), false).0;
    assert_eq!(own.statics, others.statics + 1);
}

#[test]
fn unreadable_files_are_errors_with_their_names() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("odd.rs"), b"static A: u8 = \xff;").unwrap();
    fs::write(at("zero.rs"), b"\0").unwrap();
    fs::write(at("broken.rs"), "fn a() {\n    let = ;\n}").unwrap();
    fs::write(at("open.rs"), "fn a() {").unwrap();
    fs::write(at("parent.rs"), "mod absent;").unwrap();
    fs::write(at("deep.rs"), "(".repeat(100_000) + &")".repeat(100_000)).unwrap();
    fs::File::create(at("large.rs"))
        .unwrap()
        .set_len(50 << 20)
        .unwrap();
    fs::create_dir(at("folder.rs")).unwrap();
    std::os::unix::fs::symlink(at("loop.rs"), at("loop.rs")).unwrap();
    // The pipe has no writer, so that reading it would block.
    let pipe = std::process::Command::new("mkfifo")
        .arg(at("pipe.rs"))
        .status();
    assert!(pipe.unwrap().success());
    fs::write(at("endless.rs"), "#[path = \"/dev/zero\"]\nmod zero;").unwrap();
    for (name, why) in [
        ("odd.rs", "it is not UTF-8 text: byte 15 is invalid"),
        ("zero.rs", "it is not text: byte 0 is zero"),
        ("broken.rs", "it is not valid Rust: expected one of"),
        ("open.rs", "it is not valid Rust: "),
        ("parent.rs", "absent.rs`: No such file"),
        ("deep.rs", "nested more than 4096 deep"),
        ("large.rs", "it is larger than 4 MiB"),
        ("folder.rs", "Is a directory"),
        ("loop.rs", "Too many levels of symbolic links"),
        ("missing.rs", "No such file or directory"),
        ("pipe.rs", "it is a pipe, a socket or a device"),
        ("endless.rs", "it is a pipe, a socket or a device"),
    ] {
        let (counts, all, _) = found(&at(name), true);
        assert_eq!((counts.unread, all.len()), (1, 1), "{name}: {all:?}");
        let diagnostic = &all[0];
        assert_eq!(diagnostic.code.to_string(), "G0806");
        assert!(
            diagnostic.message.contains(why),
            "{name}: {}",
            diagnostic.message
        );
        assert!(
            diagnostic.message.starts_with("cannot check `"),
            "{}",
            diagnostic.message
        );
    }
}

#[test]
fn a_build_script_that_compiles_another_language_is_reported_once() {
    let folder = sources().join("scripts");
    for (name, line) in [
        ("compiles.rs", Some(3)),
        ("calls.rs", Some(4)),
        ("links.rs", Some(2)),
        ("makes.rs", None),
    ] {
        let script = folder.join(name);
        let (counts, all, found) = found_with(&folder.join("makes.rs"), true, Some(script.clone()));
        let expected = line.map(|line| (script.display().to_string(), line, "G0811".to_owned()));
        assert_eq!(found, expected.into_iter().collect(), "{all:?}");
        assert_eq!(counts.files, 2);
        assert_eq!(counts.other_languages, usize::from(line.is_some()));
    }
    let (counts, ..) = found_with(
        &folder.join("makes.rs"),
        true,
        Some(folder.join("nowhere.rs")),
    );
    assert_eq!(counts.unread, 1);
}
