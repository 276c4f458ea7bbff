//! Reads the seeds of the fuzzer in both formats, and mutations of them. The fuzzer itself needs a
//! nightly compiler. `tests/fuzz/README.md` describes the sources of the seeds.

use graphmap_dot::language::load_with;
use graphmap_exchange::{graphml, node_link};
use graphmap_kpn::diagnostic::Diagnostics;
use graphmap_kpn::pipeline;
use graphmap_kpn::sizes::Given;
use graphmap_kpn::source::SourceMap;
use proptest::prelude::*;
use std::path::Path;
use std::sync::LazyLock;

fn seeds() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fuzz/seeds");
    let entries = std::fs::read_dir(folder).expect("the seeds");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("a seed").path()).collect();
    paths.sort();
    let texts = paths
        .iter()
        .map(|path| std::fs::read(path).expect("a seed"));
    texts
        .filter_map(|bytes| String::from_utf8(bytes).ok())
        .collect()
}

/// The same as the fuzz targets `graphml` and `node_link`. Returns how many of them read a network.
fn networks(text: &str) -> usize {
    let mut networks = 0;
    for read in [graphml::read, node_link::read] {
        let mut sources = SourceMap::new();
        let source = sources.add("net", text).expect("less than 4 GiB");
        let read = read(&source, &sources, &Given::default(), load_with);
        let check = |found: &Diagnostics| {
            for label in found
                .iter()
                .flat_map(|d| d.primary.iter().chain(&d.secondary))
            {
                assert!(sources.location(label.span).is_some(), "{text}");
            }
        };
        match read {
            Ok((declared, found)) => {
                assert!(!found.has_errors(), "{text}");
                check(&found);
                let _ = pipeline::check(declared, &mut Vec::new());
                networks += 1;
            }
            Err(found) => {
                assert!(found.has_errors(), "{text}");
                check(&found);
            }
        }
    }
    networks
}

#[test]
fn every_seed_is_an_answer() {
    let found: usize = seeds().iter().map(|seed| networks(seed)).sum();
    assert!(found >= 6, "{found} networks");
}

/// The seeds that one of the formats reads.
static EXCHANGED: LazyLock<Vec<String>> = LazyLock::new(|| {
    let seeds = seeds().into_iter();
    seeds.filter(|seed| networks(seed) > 0).collect()
});

proptest! {
    #[test]
    fn mutations_are_answers(
        seed in any::<prop::sample::Index>(),
        from in any::<prop::sample::Index>(),
        length in 0_usize..12,
        new in r#"[ -~\n\u{e9}]{0,6}"#,
    ) {
        let exchanged = &*EXCHANGED;
        let chars: Vec<char> = exchanged[seed.index(exchanged.len())].chars().collect();
        let from = from.index(chars.len());
        let (before, rest) = chars.split_at(from);
        let after = &rest[length.min(rest.len())..];
        let text: String = before.iter().copied().chain(new.chars()).chain(after.iter().copied()).collect();
        networks(&text);
    }
}
