//! Checks that any text gives either a mapping that fits the network, or errors with valid
//! positions.
#![no_main]

use graphmap_binding::mapping_json::read;
use graphmap_kpn::diagnostic::Diagnostics;
use graphmap_kpn::network::Network;
use graphmap_kpn::source::SourceMap;
use graphmap_kpn::{expand, resolve};
use std::sync::LazyLock;

static CHAIN: LazyLock<Network> = LazyLock::new(|| {
    let (mut sources, mut out) = (SourceMap::new(), Diagnostics::new());
    let dot = b"digraph chain { a -> b; b -> c; }".to_vec();
    let declared = graphmap_dot::language::load(&mut sources, "chain.dot", dot, &mut out);
    let (expanded, _) = expand::expand(declared.expect("a graph")).expect("a network");
    resolve::resolve(expanded).expect("a network").0
});

libfuzzer_sys::fuzz_target!(|text: &str| {
    let (mut sources, mut out) = (SourceMap::new(), Diagnostics::new());
    let source = sources.add("mapping.json", text).expect("less than 4 GiB");
    let document = read(&source, &mut out);
    assert_eq!(document.is_none(), out.has_errors());
    let mapping = document.and_then(|d| d.fit(&CHAIN, &source, &mut out));
    assert_eq!(mapping.is_none(), out.has_errors());
    for label in out
        .iter()
        .flat_map(|d| d.primary.iter().chain(&d.secondary))
    {
        assert!(sources.location(label.span).is_some());
    }
    if let Some(mapping) = mapping {
        let count = mapping.bindings.len() as u32;
        assert!(mapping.numbers().all(|number| number < count));
    }
});
