//! Any text gives a network or errors with positions in a text, and never a panic.

use graphmap_cpa::{format, read};
use graphmap_kpn::diagnostic::Diagnostics;
use graphmap_kpn::pipeline::check;
use graphmap_kpn::sizes::Given;
use graphmap_kpn::source::{Source, SourceMap};
use proptest::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

/// The files in a folder whose text is in the notation: all of them in `tests/listings`, and those
/// that begin with a comment among the seeds of the fuzzer.
fn texts(folder: &str) -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let entries = std::fs::read_dir(folder).expect("a folder of texts");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("a text").path()).collect();
    paths.sort();
    let read = |path: &PathBuf| String::from_utf8(std::fs::read(path).expect("a text")).ok();
    let all = paths.iter().filter_map(read);
    all.filter(|text| text.starts_with('#')).collect()
}

/// The same as the fuzz target `cpa`. Returns true if the text is a network.
fn is_network(text: &str) -> bool {
    let mut sources = SourceMap::new();
    let source = sources.add("t.cpa", text).expect("less than 4 GiB");
    let mut first = true;
    // The first included file has the same text.
    let mut include =
        |_: &str, _, sources: &mut SourceMap| -> Result<Option<Arc<Source>>, Diagnostics> {
            let again = std::mem::take(&mut first);
            Ok(again.then(|| sources.add("u.cpa", text).expect("less than 4 GiB")))
        };
    let read = read(&source, &Given::default(), &mut include, &mut sources);
    let positions = |found: &Diagnostics| {
        let labels = |d| -> Vec<_> {
            let d: &graphmap_kpn::diagnostic::Diagnostic = d;
            d.primary
                .iter()
                .chain(&d.secondary)
                .map(|label| label.span)
                .collect()
        };
        for span in found.iter().flat_map(labels) {
            assert!(sources.location(span).is_some(), "{text}");
        }
    };
    let formatted = format(&source);
    match read {
        Ok((declared, found)) => {
            assert!(!found.has_errors(), "{text}");
            assert!(formatted.is_ok(), "{text}");
            positions(&found);
            match check(declared, &mut Vec::new()) {
                Ok((_, found)) | Err(found) => positions(&found),
            }
            true
        }
        Err(found) => {
            assert!(found.has_errors(), "{text}");
            positions(&found);
            false
        }
    }
}

#[test]
fn seeds_are_networks_or_errors() {
    let networks = texts("../../tests/fuzz/seeds")
        .iter()
        .filter(|text| is_network(text))
        .count();
    assert!(networks >= 4, "{networks} networks");
}

static LISTINGS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let all = texts("tests/listings");
    assert!(all.len() > 10);
    all
});

proptest! {
    #[test]
    fn tokens_are_a_network_or_errors(
        words in prop::collection::vec(prop::sample::select(vec![
            "include", "structure", "initialize", "containers", "functionmapping", "glue", "genv",
            "gluemapping", "containerspec", "boxes", "inports", "outports", "for", "in", "tag", "buffersize",
            "a", "b", "R", "3", "0", "\"t\"", "\"", "||", "||-", "->", "..", "(", ")", "{", "}", "<", ">",
            "[", "]", ",", "=", "/", "@", ":", ".", "+", "-", "*", "%", "^", "#", "\n", "\u{e9}", ";",
        ]), 0..60),
    ) {
        is_network(&words.join(" "));
    }

    #[test]
    fn changes_of_listings_are_a_network_or_errors(
        listing in any::<prop::sample::Index>(),
        from in any::<prop::sample::Index>(),
        length in 0_usize..12,
        new in r#"[ -~\n\u{e9}]{0,6}"#,
    ) {
        let listing = &LISTINGS[listing.index(LISTINGS.len())];
        let chars: Vec<char> = listing.chars().collect();
        let (before, rest) = chars.split_at(from.index(chars.len()));
        let after = &rest[length.min(rest.len())..];
        let text = before.iter().copied().chain(new.chars()).chain(after.iter().copied());
        let text: String = text.collect();
        // Numbers of more than four digits are networks that do not fit into a test.
        let is_large = text.split(|c: char| !c.is_ascii_digit()).any(|digits| digits.len() > 4);
        prop_assume!(!is_large && !text.contains('^'));
        is_network(&text);
    }
}
