//! Checks that any bytes are either rejected or give a consistent rank map. A rank map must survive
//! writing and reading.
#![no_main]

use graphmap_rankmap::RankMap;

fn consistent(map: &RankMap) {
    for k in 0..map.len().min(100) {
        for rank in [k, map.len() - 1 - k] {
            let world = map.select(rank as u32).expect("there are so many");
            assert_eq!(map.rank(world), Some(rank as u32));
        }
    }
    let some: Vec<u32> = map.iter().take(100).collect();
    assert!(
        (0..)
            .zip(&some)
            .all(|(rank, world)| map.select(rank) == Some(*world))
    );
    let bytes = map.to_bytes();
    let again = RankMap::from_bytes(&bytes).map(|map| map.to_bytes());
    assert_eq!(again, Ok(bytes));
}

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    if let Ok(map) = RankMap::from_bytes(bytes) {
        consistent(&map);
    }
    // A valid version byte lets the decoder continue.
    let version = RankMap::empty().to_bytes()[0];
    let versioned: Vec<u8> = [version].iter().chain(bytes).copied().collect();
    if let Ok(map) = RankMap::from_bytes(&versioned) {
        consistent(&map);
    }
});
