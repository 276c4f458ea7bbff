//! Runs parser and formatter on the seeds of the fuzzer, which itself needs a nightly compiler.
//! `tests/fuzz/README.md` describes the sources of the seeds.

use graphmap_dot::fmt::format;
use graphmap_dot::language::load;
use graphmap_kpn::diagnostic::Diagnostics;
use graphmap_kpn::source::SourceMap;
use std::path::Path;

#[test]
fn every_seed_is_an_answer() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fuzz/seeds");
    let (mut seeds, mut networks, mut formatted) = (0, 0, 0);
    for entry in std::fs::read_dir(folder).expect("the seeds") {
        let path = entry.expect("a seed").path();
        let bytes = std::fs::read(&path).expect("a seed");
        let name = path.display();
        seeds += 1;
        formatted += u32::from(formats(&bytes, &name.to_string()));
        networks += u32::from(loads(bytes, &name.to_string()));
    }
    // Seeds that are all refused early would test very little.
    assert!(
        seeds > 100 && networks > 5 && formatted > 30,
        "{seeds} seeds, {networks} networks, {formatted} formatted"
    );
}

/// The same as `fuzz_targets/load.rs`.
fn loads(bytes: Vec<u8>, name: &str) -> bool {
    let mut sources = SourceMap::new();
    let mut diagnostics = Diagnostics::new();
    let declared = load(&mut sources, name, bytes, &mut diagnostics);
    assert_eq!(declared.is_none(), diagnostics.has_errors(), "{name}");
    for diagnostic in &diagnostics {
        for label in diagnostic.primary.iter().chain(&diagnostic.secondary) {
            assert!(sources.location(label.span).is_some(), "{name}");
        }
    }
    declared.is_some()
}

/// The same as `fuzz_targets/format.rs`.
fn formats(bytes: &[u8], name: &str) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return false;
    };
    let mut sources = SourceMap::new();
    let source = sources.add(name, text).expect("less than 4 GiB");
    let Ok(once) = format(&source) else {
        return false;
    };
    let source = sources.add(name, once.as_str()).expect("less than 4 GiB");
    assert_eq!(format(&source).expect("still a graph"), once, "{name}");
    true
}
