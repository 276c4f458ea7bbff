//! Members of the world, and of the fourteen communicators of chapter 6 of the thesis.

use bench_common::Random;

/// Names as in the thesis. Random communicators have the same share of the world as in the thesis,
/// whose world has 200,000 ranks.
pub const NAMES: [&str; 15] = [
    "0 the world, duplicated",
    "1 even numbers",
    "2 81 x + 11453",
    "3 two coordinates of a cube of six are 0",
    "4 every other range of 100",
    "5 every 3rd",
    "6 every 5th",
    "7 every 7th",
    "8 one of 40 at random",
    "9 one of 4 at random",
    "10 one of 20 at random, permuted",
    "11 one of 10 at random, permuted",
    "12 one of 2 at random, permuted",
    "13 10 ranges of a 200th, permuted within",
    "14 10 ranges of a 20th, permuted within",
];

/// Returns `count` random ranks of a world, in ascending order (Knuth's selection sampling).
fn some(random: &mut Random, world: u32, count: u32) -> Vec<u32> {
    let mut wanted = u64::from(count);
    let mut is_in = |&rank: &u32| {
        let left = u64::from(world - rank);
        let taken = random.below(left) < wanted;
        wanted -= u64::from(taken);
        taken
    };
    (0..world).filter(|rank| is_in(rank)).collect()
}

/// Returns the members of communicator `which`, in order.
pub fn members(which: usize, world: u32) -> Vec<u32> {
    let mut random = Random(6 + which as u64);
    let every = |step: usize| (0..world).step_by(step).collect();
    let mut permuted = |part: u32| {
        let mut ranks = some(&mut random, world, world / part);
        random.shuffle(&mut ranks);
        ranks
    };
    match which {
        0 => every(1),
        1 => every(2),
        2 => (11_453 + 81..world).step_by(81).collect(),
        // The cube has ten ranks a side. The world contains its first ranks.
        3 => {
            let is_in = |rank: &u32| rank / 100_000 == 0 && (rank / 100).is_multiple_of(10);
            (0..world).filter(is_in).collect()
        }
        4 => (0..world).filter(|rank| rank / 100 % 2 == 0).collect(),
        5 => every(3),
        6 => every(5),
        7 => every(7),
        8 => some(&mut random, world, world / 40),
        9 => some(&mut random, world, world / 4),
        10 => permuted(20),
        11 => permuted(10),
        12 => permuted(2),
        13 | 14 => {
            let size = world / if which == 13 { 200 } else { 20 };
            let mut ranks = Vec::new();
            for block in 0..10 {
                let from = block * (world / 10);
                let mut range: Vec<u32> = (from..from + size).collect();
                random.shuffle(&mut range);
                ranks.extend(range);
            }
            ranks
        }
        _ => unreachable!("there are fifteen"),
    }
}
