//! Checks that any bytes give either a network or errors, and that positions are valid. Included
//! graphs are a small one, or the text itself.
#![no_main]

use graphmap_dot::language::{load, load_with};
use graphmap_kpn::compose::{Included, Origin, compose};
use graphmap_kpn::diagnostic::Diagnostics;
use graphmap_kpn::sizes::Given;
use graphmap_kpn::source::SourceMap;

const FARM: &[u8] =
    b"digraph { in [port=in]; out [port=out]; in -> w -> out; w [replicas=n]; sizes=\"n=2\"; }";

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let mut sources = SourceMap::new();
    let mut findings = Diagnostics::new();
    let declared = load(&mut sources, "x.dot", bytes.to_vec(), &mut findings);
    assert_eq!(declared.is_none(), findings.has_errors());
    if let Some(declared) = declared {
        let mut read = 0;
        let origin = |path: String| Origin {
            identity: path.clone(),
            path,
        };
        compose(
            declared,
            origin("x.dot".to_owned()),
            &Given::default(),
            &mut |request, found| {
                read += 1;
                let itself = request.file.len() % 2 == 0 && read < 100;
                let (path, text) = match itself {
                    true => (format!("{read}"), bytes),
                    false => ("farm".to_owned(), FARM),
                };
                let (sizes, text) = (request.sizes, text.to_vec());
                let declared = load_with(sizes, &mut sources, &path, text, found)?;
                let origin = origin(path);
                Some(Included { origin, declared })
            },
            &mut findings,
        );
    }
    for finding in &findings {
        for label in finding.primary.iter().chain(&finding.secondary) {
            assert!(sources.location(label.span).is_some());
        }
    }
});
