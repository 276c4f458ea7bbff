//! Wiring code from skeletons.

#[path = "../src/testing.rs"]
mod testing;

use graphmap_kpn::diagnostic::Diagnostics;
use graphmap_wiring::emitters::render;
use graphmap_wiring::skeleton::Skeletons;
use testing::{Graph, chain, farm, grid, pool, tree};

fn wiring(graph: Graph) -> String {
    let mut notes = Diagnostics::new();
    let network = graph.network();
    let (code, _) = render(&network, &Skeletons::built_in(), "rust", &mut notes)
        .unwrap_or_else(|findings| panic!("{findings:#?}"));
    code
}

#[test]
fn size_grows_with_kinds_and_not_with_processes() {
    for (small, large) in [
        (farm(10), farm(400)),
        (chain(10), chain(2000)),
        (pool(10), pool(1000)),
        (grid(5, 6), grid(50, 40)),
        (tree(15, 2), tree(1023, 2)),
    ] {
        let (small, large) = (wiring(small), wiring(large));
        // What may grow is the lines of channels whose declarations are not evenly spaced.
        assert!(
            large.len() < 2 * small.len(),
            "{} {}",
            small.len(),
            large.len()
        );
    }
}
