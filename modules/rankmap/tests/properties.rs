//! Compares each representation and operation with vectors and hash sets.

mod common;

use common::{REPRESENTATIONS, Tape, agree, leaf, map};
use graphmap_rankmap::{
    Axis, Builder, Cartesian, Choice, Comparison, Error, RankMap, Representation,
};
use proptest::prelude::*;
use std::collections::BTreeMap;

fn tape() -> impl Strategy<Value = Vec<u32>> {
    proptest::collection::vec(prop_oneof![any::<u32>(), 0..100_u32], 0..400)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn maps_contain_their_input(numbers in tape()) {
        let (map, ranks) = leaf(&mut Tape::new(&numbers));
        agree(&map, &ranks);
    }

    #[test]
    fn operations_do_what_they_do_on_vectors(numbers in tape()) {
        let (map, ranks) = map(&mut Tape::new(&numbers), 3);
        agree(&map, &ranks);
    }

    #[test]
    fn every_representation_holds_the_same(numbers in tape()) {
        let (map, ranks) = leaf(&mut Tape::new(&numbers));
        let span = ranks.iter().max().unwrap_or(&0) - ranks.iter().min().unwrap_or(&0);
        for representation in REPRESENTATIONS.iter().copied() {
            if span > 1 << 20 && matches!(representation, Representation::Bitmap | Representation::BareBitmap) {
                continue;
            }
            match Builder::new().representation(representation).rebuild(&map) {
                Ok(other) => {
                    let found = other.representation();
                    let set = matches!(representation, Representation::Shortcuts | Representation::Inverse | Representation::Wavelet);
                    prop_assert!(found == representation || (set && found == Representation::Composition));
                    prop_assert!(other == map);
                    agree(&other, &ranks);
                }
                Err(error) => prop_assert_eq!(error, Error::Unsuitable),
            }
        }
    }

    #[test]
    fn encoded_maps_are_decoded(numbers in tape()) {
        let (map, ranks) = map(&mut Tape::new(&numbers), 3);
        let bytes = map.to_bytes();
        prop_assert!(bytes.len() <= map.bytes() + 16, "{} bytes for {}", bytes.len(), map.bytes());
        let arrived = RankMap::from_bytes(&bytes).unwrap();
        prop_assert_eq!(arrived.representation(), map.representation());
        prop_assert_eq!(arrived.to_bytes(), bytes);
        agree(&arrived, &ranks);
    }

    #[test]
    fn comparing_is_as_on_vectors(numbers in tape()) {
        let mut tape = Tape::new(&numbers);
        let (a, in_a) = map(&mut tape, 2);
        let (b, in_b) = match tape.below(3) {
            0 => map(&mut tape, 2),
            1 => (a.to_set(), { let mut sorted = in_a.clone(); sorted.sort_unstable(); sorted }),
            _ => (Builder::new().rebuild(&a).unwrap(), in_a.clone()),
        };
        let sorted = |ranks: &[u32]| { let mut ranks = ranks.to_vec(); ranks.sort_unstable(); ranks };
        let expected = if in_a == in_b {
            Comparison::Identical
        } else if sorted(&in_a) == sorted(&in_b) {
            Comparison::Similar
        } else {
            Comparison::Unequal
        };
        prop_assert_eq!(a.compare(&b), expected, "{:?} {:?}", a, b);
        prop_assert_eq!(a == b, in_a == in_b);
    }

    #[test]
    fn moving_is_adding(numbers in tape(), by in -3000..3000_i64) {
        let (map, ranks) = map(&mut Tape::new(&numbers), 2);
        let moved = |rank: &u32| u32::try_from(i64::from(*rank) + by).ok();
        match ranks.iter().map(moved).collect::<Option<Vec<u32>>>() {
            Some(ranks) => agree(&map.moved(by).unwrap(), &ranks),
            None => prop_assert!(map.moved(by).is_none()),
        }
        prop_assert!(map.moved(1 << 32).is_none() || ranks.is_empty());
        prop_assert!(map.moved(i64::MIN).is_none() || ranks.is_empty());
    }

    #[test]
    fn a_split_puts_each_where_it_says(numbers in tape(), colours in 1..9_u32) {
        let mut tape = Tape::new(&numbers);
        let (a, in_a) = map(&mut tape, 2);
        let choices: Vec<Choice> = in_a.iter().map(|_| Choice {
            colour: Some(tape.below(colours + 1)).filter(|colour| *colour < colours),
            key: i64::from(tape.below(4)) - 2,
        }).collect();
        let mut expected: BTreeMap<u32, Vec<(i64, usize)>> = BTreeMap::new();
        for (rank, choice) in choices.iter().enumerate() {
            if let Some(colour) = choice.colour {
                expected.entry(colour).or_default().push((choice.key, rank));
            }
        }
        let found = a.split(|rank| choices[rank as usize]).unwrap();
        prop_assert_eq!(found.len(), expected.len());
        for ((colour, group), (expected, mut members)) in found.iter().zip(expected) {
            prop_assert_eq!(*colour, expected);
            members.sort_unstable();
            let ranks: Vec<u32> = members.iter().map(|(_, rank)| in_a[*rank]).collect();
            agree(group, &ranks);
        }
    }

    /// Many colours, so that the gaps are stored. Keys in order, in runs, few keys, and keys
    /// without an order.
    #[test]
    fn a_split_of_many_puts_each_where_it_says(seed in any::<u32>(), colours in 1..5000_u32, kind in 0..5) {
        let colour = |rank: u32| (rank ^ seed).wrapping_mul(0x9E37_79B9).rotate_left(9) % colours;
        let world = RankMap::identity(30_000);
        let key = |rank: u32| i64::from(match kind {
            0 => 0,
            1 => 40_000 - rank / 3,
            2 => rank % 7,
            3 => rank % 9000 / 2,
            _ => rank.wrapping_mul(seed | 1) >> 20,
        });
        let choice = |rank| Choice { colour: Some(colour(rank)), key: key(rank) };
        let found = world.split(choice).unwrap();
        let mut expected: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        (0..30_000).for_each(|rank| expected.entry(colour(rank)).or_default().push(rank));
        expected.values_mut().for_each(|members| members.sort_by_key(|rank| key(*rank)));
        if kind == 1 {
            let one = world.split(|rank| Choice { colour: Some(3), key: key(rank) }).unwrap();
            let mut members: Vec<u32> = (0..30_000).collect();
            members.sort_by_key(|rank| key(*rank));
            prop_assert!(one[0].1.iter().eq(members));
        }
        prop_assert_eq!(found.len(), expected.len());
        for ((colour, group), (expected, members)) in found.iter().zip(expected) {
            prop_assert_eq!(*colour, expected);
            prop_assert!(group.iter().eq(members));
        }
    }
}

/// Sets without a pattern, some of which begin after the end of the previous set.
#[test]
fn a_union_of_many_sets_is_in_the_order_of_the_sets() {
    for sets in [2, 3, 7, 17, 40_u32] {
        for (spread, behind) in [(3, 0), (40, 0), (40, 60_000), (500, 5_000)] {
            let (mut all, mut expected) = (RankMap::empty(), Vec::new());
            let mut seen = std::collections::HashSet::new();
            for k in 0..sets {
                let set: Vec<u32> = (0..1500)
                    .scan(k * behind, |at, i: u32| {
                        let any = (i ^ k << 20).wrapping_mul(0x9E37_79B9).rotate_left(13);
                        *at += 1 + (any.wrapping_mul(0x85EB_CA6B) >> 7) % spread;
                        Some(*at)
                    })
                    .collect();
                all = all.union(&RankMap::from_slice(&set).unwrap());
                expected.extend(set.into_iter().filter(|rank| seen.insert(*rank)));
            }
            agree(&all, &expected);
            let arrived = RankMap::from_bytes(&all.to_bytes()).unwrap();
            agree(&arrived, &expected);
            expected.sort_unstable();
            agree(&all.to_set(), &expected);
        }
    }
}

/// The groups of a split into rows and planes must be as small as the sections of a topology.
#[test]
fn a_world_split_into_rows_and_planes_is_as_small_as_its_sections() {
    let cube = Cartesian::new(&[100, 100, 100]).unwrap();
    let world = RankMap::identity(1_000_000);
    let (x, y, z) = (|r| r / 10_000, |r| r / 100 % 100, |r| r % 100);
    type Fixed<'a> = &'a dyn Fn(u32) -> [Option<u32>; 3];
    let ways: [(&str, Fixed<'_>); 6] = [
        ("rows", &|r| [Some(x(r)), Some(y(r)), None]),
        ("columns", &|r| [Some(x(r)), None, Some(z(r))]),
        ("pillars", &|r| [None, Some(y(r)), Some(z(r))]),
        ("x planes", &|r| [Some(x(r)), None, None]),
        ("y planes", &|r| [None, Some(y(r)), None]),
        ("z planes", &|r| [None, None, Some(z(r))]),
    ];
    for (what, fixed) in ways {
        let colour =
            |at: [Option<u32>; 3]| at.into_iter().flatten().fold(0, |all, k| all * 100 + k);
        let choice = |rank: u32| Choice {
            colour: Some(colour(fixed(rank))),
            key: 0,
        };
        for (_, group) in world.split(choice).unwrap().iter().step_by(37) {
            let section = cube.section(&fixed(group.select(0).unwrap())).unwrap();
            assert_eq!(group.compare(&section), Comparison::Identical, "{what}");
            assert!(group.bytes() <= section.bytes(), "{what}: {group:?}");
        }
    }
}

#[test]
fn maps_are_shared_between_threads() {
    fn shared<T: Send + Sync + Clone + 'static>() {}
    shared::<RankMap>();
    shared::<Builder>();
    let (map, ranks) = leaf(&mut Tape::new(&(0..400).collect::<Vec<u32>>()));
    let world = RankMap::identity(1 << 20).exclude(&[5, 70_000]).unwrap();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            let (map, ranks, world) = (map.clone(), &ranks, &world);
            scope.spawn(move || {
                agree(&map, ranks);
                assert_eq!(world.rank(70_001), Some(69_999));
            });
        }
    });
}

#[test]
fn a_complement_of_a_complement_is_the_original() {
    // The grid has too many pieces for its complement to be stored in another form.
    let plane = RankMap::grid(7, &[Axis::line(1 << 20, 1 << 10), Axis::line(300, 1)]).unwrap();
    let end = 1 << 30;
    let rest = plane.complement(end).unwrap();
    assert_eq!(rest.complement(end).unwrap(), plane);
    let more = rest.complement(end + 1000).unwrap();
    assert_eq!(more.len(), plane.len() + 1000);
    assert_eq!(more.rank(end as u32 + 5), Some(plane.len() as u32 + 5));
    let mut nested = plane;
    for k in 1..40 {
        nested = nested.complement(end + k).unwrap();
        assert_eq!(nested.rank(nested.select(12_345).unwrap()), Some(12_345));
    }
}

#[test]
fn duplicates_are_refused_wherever_they_are() {
    for ranks in [
        &[5, 5][..],
        &[1, 2, 3, 1],
        &[9, 8, 7, 8],
        &[0, u32::MAX, 0],
        &[4, 1, 1],
        &[1, 1, 2],
    ] {
        let error = RankMap::from_slice(ranks).unwrap_err();
        assert!(matches!(error, Error::Duplicate(_)), "{ranks:?}: {error}");
        for representation in REPRESENTATIONS.iter().copied() {
            let built = Builder::new().representation(representation).slice(ranks);
            assert!(built.is_err(), "{ranks:?} as {representation}");
        }
        let world = RankMap::identity(1 << 32);
        assert!(world.include(ranks).is_err());
        assert!(world.exclude(ranks).is_err());
    }
    let ten = RankMap::identity(10);
    assert_eq!(
        ten.range_include(&[(0, 4, 2), (2, 3, 1)]),
        Err(Error::Duplicate(2))
    );
    assert_eq!(
        ten.range_include(&[(0, 8, 2), (1, 9, 4), (9, 9, 1)]),
        Err(Error::Duplicate(9))
    );
}

#[test]
fn missing_ranks_are_errors() {
    let ten = RankMap::range(100, 3, 10).unwrap();
    let no_such = |rank| Err(Error::NoSuchRank { rank, len: 10 });
    assert_eq!(ten.include(&[3, 10]), no_such(10));
    assert_eq!(ten.exclude(&[3, 10]), no_such(10));
    assert_eq!(ten.range_include(&[(0, 12, 3)]), no_such(12));
    // The last rank that the stride reaches exists.
    let reached = ten.range_include(&[(0, 11, 3)]).unwrap();
    assert!(reached.iter().eq([100, 109, 118, 127]));
    assert_eq!(ten.compose(&RankMap::identity(11)), no_such(10));
    assert!(matches!(
        ten.range_include(&[(4, 1, 1)]),
        Err(Error::BadRange { .. })
    ));
    assert!(matches!(
        ten.range_include(&[(1, 4, 0)]),
        Err(Error::BadRange { .. })
    ));
    assert!(ten.range_include(&[(4, 4, -1)]).is_ok());
    assert!(RankMap::hypercube_face(33, 0, 0).is_err());
    assert!(RankMap::hypercube_face(3, 8, 0).is_err());
    assert!(RankMap::block_cyclic(10, 0, 1, 0).is_err());
    assert!(RankMap::block_cyclic(10, 2, 0, 0).is_err());
    assert!(RankMap::block_cyclic_order(10, 0, 1).is_err());
    assert!(ten.complement(127).is_err());
    assert!(ten.complement(128).is_ok());
}

#[test]
fn the_largest_rank_can_be_a_member() {
    let world = RankMap::identity(1 << 32);
    assert_eq!(world.len(), 1 << 32);
    assert_eq!(
        (world.select(u32::MAX), world.rank(u32::MAX)),
        (Some(u32::MAX), Some(u32::MAX))
    );
    let down = RankMap::range(u32::MAX, -1, 1 << 32).unwrap();
    assert_eq!(
        (down.select(0), down.rank(0)),
        (Some(u32::MAX), Some(u32::MAX))
    );
    assert_eq!(world.compare(&down), Comparison::Similar);
    assert_eq!(world.difference(&down).len(), 0);
    let last = world.exclude(&[0, 7, u32::MAX]).unwrap();
    assert_eq!(last.len(), (1 << 32) - 3);
    assert_eq!(last.select(6), Some(8));
    assert_eq!(last.rank(u32::MAX - 1), Some(u32::MAX - 3));
    assert_eq!(last.rank(u32::MAX), None);
    let cube = RankMap::hypercube_face(32, 1, 1).unwrap();
    assert_eq!(cube.rank(u32::MAX), Some(u32::MAX / 2));
    let dealt = RankMap::block_cyclic(1 << 32, 3, 1000, 0).unwrap();
    assert_eq!(dealt.len(), 1_431_656_000);
}
