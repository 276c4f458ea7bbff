//! Checks that any bytes give either a network or errors, and that positions are valid.
#![no_main]

use graphmap_kpn::diagnostic::Diagnostics;
use graphmap_kpn::source::SourceMap;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut sources = SourceMap::new();
    let mut findings = Diagnostics::new();
    let declared =
        graphmap_dot::language::load(&mut sources, "x.dot", bytes.to_vec(), &mut findings);
    assert_eq!(declared.is_none(), findings.has_errors());
    for finding in &findings {
        for label in finding.primary.iter().chain(&finding.secondary) {
            assert!(sources.location(label.span).is_some());
        }
    }
});
