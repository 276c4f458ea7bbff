//! Decodes bytes that are not a map, or are almost a map.

mod common;

use common::{Tape, map};
use graphmap_rankmap::{Axis, Builder, Error, RankMap, Representation};
use proptest::prelude::*;

/// Asserts that a map that was accepted is consistent.
fn consistent(map: &RankMap) {
    let len = map.len();
    for k in 0..len.min(40) {
        for rank in [k, len - 1 - k, k.wrapping_mul(0x9E37_79B9_7F4A_7C15) % len] {
            let world = map.select(rank as u32).expect("there are so many");
            assert_eq!(map.rank(world), Some(rank as u32), "{map:?}");
        }
    }
    let begin: Vec<u32> = map.iter().take(100).collect();
    let selected: Vec<u32> = (0..begin.len() as u32)
        .filter_map(|rank| map.select(rank))
        .collect();
    assert_eq!(begin, selected);
    for stranger in [0, 1, 1000, u32::MAX] {
        if let Some(rank) = map.rank(stranger) {
            assert_eq!(map.select(rank), Some(stranger));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn any_bytes_are_refused_or_a_map(bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
        let mut versioned = vec![2];
        versioned.extend(&bytes);
        for bytes in [bytes, versioned] {
            if let Ok(map) = RankMap::from_bytes(&bytes) {
                consistent(&map);
            }
        }
    }

    #[test]
    fn bytes_that_were_tampered_with_are_refused_or_a_map(
        numbers in proptest::collection::vec(any::<u32>(), 0..200),
        at in any::<prop::sample::Index>(),
        bit in 0..8_u32,
        cut in any::<prop::sample::Index>(),
    ) {
        let (map, _) = map(&mut Tape::new(&numbers), 3);
        let whole = map.to_bytes();
        let mut changed = whole.clone();
        let place = at.index(changed.len());
        changed[place] ^= 1_u8 << bit;
        if let Ok(map) = RankMap::from_bytes(&changed) {
            consistent(&map);
        }
        let cut = cut.index(whole.len());
        prop_assert!(RankMap::from_bytes(&whole[..cut]).is_err());
        let mut longer = whole;
        longer.push(0);
        prop_assert!(RankMap::from_bytes(&longer).is_err());
    }
}

#[test]
fn flipped_bits_are_refused_or_a_map() {
    let ranks = [3, 17, 18, 19, 40, 41, 99];
    let shuffled = [19, 3, 40, 17, 99, 18, 41];
    let made = [
        Builder::new()
            .representation(Representation::EliasFano)
            .slice(&ranks),
        Builder::new()
            .representation(Representation::Bitmap)
            .slice(&ranks),
        Builder::new()
            .representation(Representation::RunLengths)
            .slice(&ranks),
        Builder::new()
            .representation(Representation::Runs)
            .slice(&ranks),
        Builder::new()
            .representation(Representation::DecisionDiagram)
            .slice(&ranks),
        Builder::new()
            .representation(Representation::DecisionDiagram)
            .slice(&[3, 70, 200, 326, 1000, u32::MAX]),
        Builder::new()
            .representation(Representation::List)
            .slice(&ranks),
        Builder::new()
            .representation(Representation::List)
            .slice(&shuffled),
        // In blocks that are compressed separately.
        Builder::new()
            .representation(Representation::Shortcuts)
            .iter((0..300).map(|k| k - k % 10 + (k * 7 + 3) % 10)),
        RankMap::identity(1 << 32).exclude(&ranks),
        RankMap::block_cyclic(1000, 7, 3, 2),
        #[cfg(feature = "roaring")]
        Builder::new()
            .representation(Representation::Roaring)
            .iter((0..40).chain(70_000..70_003).chain([200_000, u32::MAX])),
    ];
    for map in made {
        let map = map.unwrap();
        let bytes = map.to_bytes();
        assert_eq!(RankMap::from_bytes(&bytes).as_ref(), Ok(&map));
        for place in 0..bytes.len() {
            for value in 0..=255 {
                let mut changed = bytes.clone();
                changed[place] = value;
                if let Ok(map) = RankMap::from_bytes(&changed) {
                    consistent(&map);
                }
            }
        }
    }
}

#[test]
fn excessive_lengths_are_refused() {
    // Each form, with 2^63 - 1 for each length.
    for form in 0..20 {
        for numbers in 0..6 {
            let mut bytes = vec![2, form];
            for _ in 0..numbers {
                bytes.extend([0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F]);
            }
            assert!(RankMap::from_bytes(&bytes).is_err());
        }
    }
    // Nested complements, in which each SELECT calls the inner SELECT thirty times.
    let mut bytes = vec![2];
    for _ in 0..40 {
        bytes.extend([8, 0x80, 0x80, 0x80, 0x80, 0x10]);
    }
    bytes.extend([0, 0, 4, 0x80, 0x80, 0x80, 0x80, 0x02]);
    assert_eq!(
        RankMap::from_bytes(&bytes),
        Err(Error::Malformed("too many in each other"))
    );
    // A part of the world in 2^31 pieces, some of which descend. The decoder must not search for
    // its largest member.
    let mut bytes = vec![2, 9, 0, 0, 2, 0x80, 0x80, 0x80, 0x80, 0x10];
    bytes.extend([
        9, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F, 1, 0x80, 0x80, 0x80, 0x80, 0x10,
    ]);
    let transposed = RankMap::grid(0, &[Axis::line(2, 1), Axis::line(1 << 31, 2)]).unwrap();
    let deal = RankMap::grid(0, &[Axis::line(1 << 31, 1), Axis::line(2, 1 << 31)]).unwrap();
    for grid in [transposed, deal] {
        let whole = [&bytes[..], &grid.to_bytes()[1..]].concat();
        if let Ok(map) = RankMap::from_bytes(&whole) {
            consistent(&map);
        }
    }
    // Nested complements without an end.
    let mut bytes = vec![2];
    for _ in 0..100_000 {
        bytes.extend([8, 5]);
    }
    assert_eq!(
        RankMap::from_bytes(&bytes),
        Err(Error::Malformed("too many in each other"))
    );
}
