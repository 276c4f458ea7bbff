//! Random maps, together with the ranks that they must contain.

// No test uses all of these functions.
#![allow(dead_code)]

use graphmap_rankmap::{Axis, Builder, Cartesian, RankMap, Representation, Strategy};

/// Random numbers that determine the generated maps. At the end, all numbers are 0, which gives the
/// simplest map.
pub(crate) struct Tape<'a> {
    numbers: std::slice::Iter<'a, u32>,
}

impl<'a> Tape<'a> {
    pub(crate) fn new(numbers: &'a [u32]) -> Self {
        Tape {
            numbers: numbers.iter(),
        }
    }

    pub(crate) fn any(&mut self) -> u32 {
        self.numbers.next().copied().unwrap_or(0)
    }

    /// Returns a number below `end`, which must be at least 1.
    pub(crate) fn below(&mut self, end: u32) -> u32 {
        self.any() % end
    }

    fn ranks(&mut self, most: u32) -> Vec<u32> {
        let (len, spread) = (self.below(most + 1), self.below(4));
        let mut ranks = Vec::new();
        for _ in 0..len {
            let any = self.any();
            let rank = match spread {
                0 => any % 64,
                1 => any % 1000,
                2 => any,
                _ => u32::MAX - any % 200,
            };
            ranks.push(rank);
        }
        let mut seen = std::collections::HashSet::new();
        ranks.retain(|rank| seen.insert(*rank));
        ranks
    }
}

pub(crate) const REPRESENTATIONS: &[Representation] = &[
    Representation::Progression,
    Representation::Grid,
    Representation::Runs,
    Representation::RunLengths,
    Representation::Bitmap,
    Representation::BareBitmap,
    Representation::EliasFano,
    Representation::List,
    Representation::Complement,
    Representation::Shortcuts,
    Representation::Inverse,
    Representation::Wavelet,
    Representation::DecisionDiagram,
    #[cfg(feature = "roaring")]
    Representation::Roaring,
];

pub(crate) fn builder(tape: &mut Tape<'_>) -> Builder {
    Builder::new().strategy(match tape.below(3) {
        0 => Strategy::default(),
        1 => Strategy::Space,
        _ => Strategy::Time,
    })
}

/// Returns true if a bitmap of these ranks would be too large for a test.
fn far(ranks: &[u32]) -> bool {
    let span = ranks.iter().max().unwrap_or(&0) - ranks.iter().min().unwrap_or(&0);
    span > 1 << 20
}

/// Returns the ranks in a random representation, or in the representation that the builder chooses.
fn represented(tape: &mut Tape<'_>, ranks: &[u32]) -> RankMap {
    let builder = builder(tape);
    let kind = REPRESENTATIONS.get(tape.below(16) as usize);
    let large = matches!(
        kind,
        Some(Representation::Bitmap | Representation::BareBitmap)
    ) && far(ranks);
    let forced = kind
        .filter(|_| !large)
        .and_then(|kind| builder.representation(*kind).slice(ranks).ok());
    forced.unwrap_or_else(|| builder.slice(ranks).expect("no rank is there twice"))
}

/// Returns a map that does not contain other maps, and its ranks.
pub(crate) fn leaf(tape: &mut Tape<'_>) -> (RankMap, Vec<u32>) {
    match tape.below(10) {
        0 => {
            let len = tape.below(200);
            (RankMap::identity(u64::from(len)), (0..len).collect())
        }
        1 => {
            let (start, len) = (tape.below(2000), tape.below(100));
            let step = i64::from(tape.below(7)) - 3;
            let ranks =
                |step: i64| (0..i64::from(len)).map(move |k| (i64::from(start) + k * step) as u32);
            match RankMap::range(start, step, u64::from(len)) {
                Ok(map) => (map, ranks(step).collect()),
                Err(_) => (
                    RankMap::range(start, 1, u64::from(len)).unwrap(),
                    ranks(1).collect(),
                ),
            }
        }
        2 => grid(tape),
        3 => {
            let dimensions = 1 + tape.below(7);
            let fixed = tape.below(1 << dimensions);
            let at = tape.any() & fixed;
            let map = RankMap::hypercube_face(dimensions, fixed, at).unwrap();
            (
                map,
                (0..1 << dimensions)
                    .filter(|rank| rank & fixed == at)
                    .collect(),
            )
        }
        4 => {
            let (len, owners, block) = (tape.below(300), 1 + tape.below(6), 1 + tape.below(9));
            let owner = tape.below(owners);
            let map = RankMap::block_cyclic(u64::from(len), owners, block, owner).unwrap();
            (
                map,
                (0..len)
                    .filter(|rank| rank / block % owners == owner)
                    .collect(),
            )
        }
        5 => {
            let (len, owners, block) = (tape.below(300), 1 + tape.below(6), 1 + tape.below(9));
            let map = RankMap::block_cyclic_order(u64::from(len), owners, block).unwrap();
            let mut ranks: Vec<u32> = (0..len).collect();
            ranks.sort_by_key(|rank| rank / block % owners);
            (map, ranks)
        }
        6 => {
            // Ranges in any order, some of them descending.
            let mut ranks = Vec::new();
            for k in 0..tape.below(9) {
                let range: Vec<u32> = (0..tape.below(40)).map(|i| k * 100 + i).collect();
                match tape.below(3) {
                    0 => ranks.splice(0..0, range).for_each(drop),
                    1 => ranks.extend(range.into_iter().rev()),
                    _ => ranks.extend(range),
                }
            }
            (represented(tape, &ranks), ranks)
        }
        7 => {
            let mut ranks = tape.ranks(300);
            ranks.sort_unstable();
            (represented(tape, &ranks), ranks)
        }
        _ => {
            let ranks = tape.ranks(200);
            (represented(tape, &ranks), ranks)
        }
    }
}

fn grid(tape: &mut Tape<'_>) -> (RankMap, Vec<u32>) {
    let sides: Vec<u32> = (0..1 + tape.below(4)).map(|_| 1 + tape.below(5)).collect();
    let cartesian = Cartesian::new(&sides).unwrap();
    // The coordinates of all members, slowest first, each as a list.
    let each = |lists: &[Vec<u32>]| {
        let mut ranks = vec![0];
        for (list, side) in lists.iter().zip(&sides) {
            ranks = ranks
                .iter()
                .flat_map(|rank| list.iter().map(move |at| rank * side + at))
                .collect();
        }
        ranks
    };
    match tape.below(4) {
        0 => {
            let windows: Vec<(u32, u32)> = sides
                .iter()
                .map(|side| (tape.below(*side), 1 + tape.below(*side)))
                .collect();
            let lists: Vec<Vec<u32>> = windows
                .iter()
                .zip(&sides)
                .map(|((first, count), side)| (0..*count).map(|k| (first + k) % side).collect())
                .collect();
            (cartesian.window(&windows).unwrap(), each(&lists))
        }
        1 => {
            let by: Vec<i64> = sides
                .iter()
                .map(|_| i64::from(tape.below(12)) - 6)
                .collect();
            let lists: Vec<Vec<u32>> = by
                .iter()
                .zip(&sides)
                .map(|(by, side)| {
                    (0..*side)
                        .map(|k| (i64::from(k) + by).rem_euclid(i64::from(*side)) as u32)
                        .collect()
                })
                .collect();
            (cartesian.shifted(&by).unwrap(), each(&lists))
        }
        2 => {
            let mut order: Vec<usize> = (0..sides.len()).collect();
            order.sort_by_cached_key(|_| tape.any());
            let map = cartesian.reordered(&order).unwrap();
            let strides: Vec<u32> = (0..sides.len())
                .map(|k| sides[k + 1..].iter().product())
                .collect();
            let mut ranks = vec![0];
            for k in order {
                ranks = ranks
                    .iter()
                    .flat_map(|rank| {
                        (0..sides[k])
                            .map(|at| rank + at * strides[k])
                            .collect::<Vec<_>>()
                    })
                    .collect();
            }
            (map, ranks)
        }
        _ => {
            // Some axes descend.
            let mut axes = Vec::new();
            let mut ranks: Vec<i64> = vec![5000];
            let strides: Vec<i64> = (0..sides.len())
                .map(|k| sides[k + 1..].iter().map(|s| i64::from(*s)).product())
                .collect();
            for (side, stride) in sides.iter().zip(strides) {
                let stride = if tape.below(2) == 0 { stride } else { -stride };
                axes.push(Axis::line(*side, stride));
                ranks = ranks
                    .iter()
                    .flat_map(|rank| (0..i64::from(*side)).map(move |at| rank + at * stride))
                    .collect();
            }
            let map = RankMap::grid(5000, &axes).unwrap();
            (map, ranks.into_iter().map(|rank| rank as u32).collect())
        }
    }
}

/// Returns a map, possibly composed by any operations, and its ranks.
pub(crate) fn map(tape: &mut Tape<'_>, depth: u32) -> (RankMap, Vec<u32>) {
    if depth == 0 || tape.below(3) == 0 {
        return leaf(tape);
    }
    let (a, in_a) = map(tape, depth - 1);
    match tape.below(8) {
        0..=2 => {
            let (b, in_b) = map(tape, depth - 1);
            let has = |ranks: &[u32]| {
                ranks
                    .iter()
                    .copied()
                    .collect::<std::collections::HashSet<u32>>()
            };
            let (set_a, set_b) = (has(&in_a), has(&in_b));
            match tape.below(3) {
                0 => {
                    let rest = in_b.iter().copied().filter(|rank| !set_a.contains(rank));
                    (a.union(&b), in_a.iter().copied().chain(rest).collect())
                }
                1 => (
                    a.intersection(&b),
                    in_a.into_iter()
                        .filter(|rank| set_b.contains(rank))
                        .collect(),
                ),
                _ => (
                    a.difference(&b),
                    in_a.into_iter()
                        .filter(|rank| !set_b.contains(rank))
                        .collect(),
                ),
            }
        }
        3 | 4 => {
            let ranks = indices(tape, in_a.len());
            if tape.below(2) == 0 {
                let kept = ranks.iter().map(|rank| in_a[*rank as usize]).collect();
                (a.include(&ranks).unwrap(), kept)
            } else {
                let gone: std::collections::HashSet<u32> = ranks.iter().copied().collect();
                let kept = (0..)
                    .zip(&in_a)
                    .filter(|(rank, _)| !gone.contains(rank))
                    .map(|(_, world)| *world);
                (a.exclude(&ranks).unwrap(), kept.collect())
            }
        }
        5 => {
            let (triplets, ranks) = triplets(tape, in_a.len());
            if tape.below(2) == 0 {
                let kept = ranks.iter().map(|rank| in_a[*rank as usize]).collect();
                (a.range_include(&triplets).unwrap(), kept)
            } else {
                let kept = (0..)
                    .zip(&in_a)
                    .filter(|(rank, _)| !ranks.contains(rank))
                    .map(|(_, world)| *world);
                (a.range_exclude(&triplets).unwrap(), kept.collect())
            }
        }
        6 => {
            let mut sorted = in_a.clone();
            sorted.sort_unstable();
            if tape.below(2) == 0 || far(&in_a) || sorted.last().is_some_and(|last| *last > 1 << 20)
            {
                return (a.to_set(), sorted);
            }
            let end = sorted.last().map_or(0, |last| last + 1) + tape.below(20);
            let rest = (0..end)
                .filter(|rank| sorted.binary_search(rank).is_err())
                .collect();
            (a.complement(u64::from(end)).unwrap(), rest)
        }
        _ => {
            let kind = REPRESENTATIONS[tape.below(REPRESENTATIONS.len() as u32) as usize];
            if matches!(
                kind,
                Representation::Bitmap | Representation::BareBitmap | Representation::Complement
            ) && far(&in_a)
            {
                return (a, in_a);
            }
            let forced = builder(tape).representation(kind).rebuild(&a).unwrap_or(a);
            (forced, in_a)
        }
    }
}

/// Returns some distinct numbers below `end`, in any order.
fn indices(tape: &mut Tape<'_>, end: usize) -> Vec<u32> {
    let mut all: Vec<u32> = (0..end as u32).collect();
    if tape.below(2) == 0 {
        let turn = tape.below(64);
        all.sort_by_key(|k| {
            (u64::from(*k) + 1)
                .wrapping_mul(0x9E37_79B9_7F4A_7C15)
                .rotate_left(turn)
        });
    }
    let (skip, every) = (tape.below(20) as usize, 1 + tape.below(5) as usize);
    all.into_iter().skip(skip).step_by(every).collect()
}

/// Returns disjoint ranges with strides, and the ranks in them.
fn triplets(tape: &mut Tape<'_>, end: usize) -> (Vec<(u32, u32, i64)>, Vec<u32>) {
    let (mut triplets, mut ranks): (Vec<(u32, u32, i64)>, Vec<u32>) = (Vec::new(), Vec::new());
    for _ in 0..tape.below(6) {
        if end == 0 {
            break;
        }
        let (first, last) = (tape.below(end as u32), tape.below(end as u32));
        let size = i64::from(1 + tape.below(6));
        let stride = if first <= last { size } else { -size };
        let count = (i64::from(last) - i64::from(first)) / stride + 1;
        let range: Vec<u32> = (0..count)
            .map(|k| (i64::from(first) + k * stride) as u32)
            .collect();
        if range.iter().all(|rank| !ranks.contains(rank)) {
            triplets.push((first, last, stride));
            ranks.extend(range);
        }
    }
    (triplets, ranks)
}

/// Compares the results of all queries with the expected ranks.
pub(crate) fn agree(map: &RankMap, ranks: &[u32]) {
    assert_eq!(map.len(), ranks.len() as u64);
    assert_eq!(map.is_empty(), ranks.is_empty());
    assert_eq!(map.iter().collect::<Vec<_>>(), ranks, "{map:?}");
    assert_eq!(map.iter().len(), ranks.len());
    let place: std::collections::HashMap<u32, u32> = ranks.iter().copied().zip(0..).collect();
    assert_eq!(place.len(), ranks.len(), "a rank is there twice");
    for (rank, world) in (0..).zip(ranks) {
        assert_eq!(map.select(rank), Some(*world), "{map:?}");
        for near in [world.wrapping_sub(1), *world, world.wrapping_add(1)] {
            assert_eq!(
                map.rank(near),
                place.get(&near).copied(),
                "{near} in {map:?}"
            );
            assert_eq!(map.contains(near), place.contains_key(&near));
        }
    }
    for stranger in [0, 1, 63, 64, 65, 1000, 1 << 20, u32::MAX - 1, u32::MAX] {
        assert_eq!(
            map.rank(stranger),
            place.get(&stranger).copied(),
            "{stranger} in {map:?}"
        );
        assert_eq!(map.contains(stranger), place.contains_key(&stranger));
    }
    assert_eq!(map.select(ranks.len() as u32), None);
    assert_eq!(map.select(u32::MAX), None);
    if map.is_ascending() {
        assert!(ranks.is_sorted());
    }
    for skip in [1, 63, 64, 100] {
        assert_eq!(map.iter().nth(skip), ranks.get(skip).copied());
        let mut some = map.iter();
        some.next();
        assert_eq!(some.nth(skip), ranks.get(skip + 1).copied());
    }
}
