//! Checks that any text, as the notation of (CM)2PI, gives either a network, or errors with valid
//! positions, and that formatted text does not change when it is formatted again. The first
//! included file is the text itself.
#![no_main]

use graphmap_cpa::{format, read};
use graphmap_kpn::diagnostic::Diagnostics;
use graphmap_kpn::pipeline;
use graphmap_kpn::sizes::Given;
use graphmap_kpn::source::SourceMap;

libfuzzer_sys::fuzz_target!(|text: &str| {
    let mut sources = SourceMap::new();
    let source = sources.add("x.cpa", text).expect("less than 4 GiB");
    if let Ok(once) = format(&source) {
        let source = sources
            .add("y.cpa", once.as_str())
            .expect("less than 4 GiB");
        assert_eq!(format(&source).expect("the same tokens"), once);
    }
    // Numbers of more than two digits, and powers, are networks that take too long.
    let is_large = |text: &str| {
        text.split(|c: char| !c.is_ascii_digit())
            .any(|digits| digits.len() > 2)
    };
    if is_large(text) || text.contains('^') {
        return;
    }
    let mut first = true;
    let mut include = |_: &str, _, sources: &mut SourceMap| {
        let again = std::mem::take(&mut first);
        Ok(again.then(|| sources.add("z.cpa", text).expect("less than 4 GiB")))
    };
    let read = read(&source, &Given::default(), &mut include, &mut sources);
    let check = |found: &Diagnostics| {
        for label in found
            .iter()
            .flat_map(|d| d.primary.iter().chain(&d.secondary))
        {
            assert!(sources.location(label.span).is_some());
        }
    };
    match read {
        Ok((declared, found)) => {
            assert!(!found.has_errors());
            check(&found);
            let (Ok((_, found)) | Err(found)) = pipeline::check(declared, &mut Vec::new());
            check(&found);
        }
        Err(found) => {
            assert!(found.has_errors());
            check(&found);
        }
    }
});
