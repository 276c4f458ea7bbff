//! Checks that formatted text does not change when it is formatted again.
#![no_main]

use graphmap_dot::fmt::format;
use graphmap_kpn::source::SourceMap;

libfuzzer_sys::fuzz_target!(|text: &str| {
    let mut sources = SourceMap::new();
    let source = sources.add("x.dot", text).expect("less than 4 GiB");
    if let Ok(once) = format(&source) {
        let source = sources
            .add("y.dot", once.as_str())
            .expect("less than 4 GiB");
        assert_eq!(format(&source).expect("still a graph"), once);
    }
});
