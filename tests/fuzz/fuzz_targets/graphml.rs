//! Checks that any text gives either a network, or errors with valid positions. A written network
//! can be read again.
#![no_main]

use graphmap_dot::language::load_with;
use graphmap_exchange::graphml;
use graphmap_kpn::declared::Declared;
use graphmap_kpn::diagnostic::Diagnostics;
use graphmap_kpn::pipeline;
use graphmap_kpn::sizes::Given;
use graphmap_kpn::source::SourceMap;

fn read(text: &str) -> Option<Declared> {
    let mut sources = SourceMap::new();
    let source = sources.add("net.graphml", text).expect("less than 4 GiB");
    let read = graphml::read(&source, &sources, &Given::default(), load_with);
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
            Some(declared)
        }
        Err(found) => {
            assert!(found.has_errors());
            check(&found);
            None
        }
    }
}

libfuzzer_sys::fuzz_target!(|text: &str| {
    let Some(declared) = read(text) else {
        return;
    };
    let checked = pipeline::check(declared, &mut Vec::new());
    if let Ok((network, _)) = checked
        && let Some(text) = graphml::write(&network).ok()
    {
        let again = read(&text).expect("a written network");
        let (again, _) = pipeline::check(again, &mut Vec::new()).expect("a written network");
        assert_eq!(network.processes.len(), again.processes.len());
        assert_eq!(network.channels.len(), again.channels.len());
    }
});
