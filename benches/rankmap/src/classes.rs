//! The communicators to measure: classes A to E of chapter 5 of S. M. Mir Taheri's thesis, and the
//! fourteen communicators of chapter 6.

use bench_common::Random;
use std::collections::BTreeSet;

/// Returns a number from 1 to `most`. Each order of magnitude is equally likely.
fn size(random: &mut Random, most: u64) -> u64 {
    let bits = random.below(u64::from(most.ilog2()) + 1);
    (1 + random.below(1 << bits) + ((1 << bits) >> 1)).min(most)
}

/// A communicator to represent.
pub struct Communicator {
    pub ranks: Vec<u32>,
    /// Number of bits that distinguish it from all others of its class.
    pub bound: f64,
}

/// Returns the binary logarithm of the number of ways to choose `k` of `n`.
fn log_choose(n: f64, k: f64) -> f64 {
    let log_factorial = |n: f64| match n < 2.0 {
        true => 0.0,
        false => {
            (n * n.ln() - n + 0.5 * (2.0 * std::f64::consts::PI * n).ln()) / std::f64::consts::LN_2
        }
    };
    log_factorial(n) - log_factorial(k) - log_factorial(n - k)
}

fn log_factorial(n: f64) -> f64 {
    (2..=n as u64).map(|k| (k as f64).log2()).sum()
}

/// Returns `count` different ranks of a world, in ascending order.
fn some(random: &mut Random, world: u64, count: u64) -> Vec<u32> {
    let mut all: Vec<u32> = (0..world as u32).collect();
    for k in 0..count as usize {
        all.swap(k, k + random.below(world - k as u64) as usize);
    }
    all.truncate(count as usize);
    all.sort_unstable();
    all
}

/// Returns ranges of a world that do not touch: every other range between random ends.
fn ranges(random: &mut Random, world: u64) -> Vec<std::ops::Range<u32>> {
    let count = size(random, 4096);
    let ends: BTreeSet<u32> = (0..2 * count).map(|_| random.below(world) as u32).collect();
    let ends: Vec<u32> = ends.into_iter().collect();
    ends.chunks_exact(2).map(|ends| ends[0]..ends[1]).collect()
}

const WORLD: u64 = 1 << 20;

/// Returns a communicator of a class of chapter 5.
pub fn of_class(class: char, random: &mut Random) -> Communicator {
    let world = WORLD as f64;
    let (ranks, bound): (Vec<u32>, f64) = match class {
        // Random members.
        'A' => {
            let count = 1 + random.below(WORLD - 1);
            (some(random, WORLD, count), log_choose(world, count as f64))
        }
        // Ranges with strides: begin, end and stride are random.
        'B' => {
            let stride = size(random, 1000) as u32;
            let (a, b) = (random.below(WORLD) as u32, random.below(WORLD) as u32);
            let ranks = (a.min(b)..=a.max(b)).step_by(stride as usize).collect();
            (ranks, 2.0 * world.log2() + 1000_f64.log2())
        }
        // Several ranges, in ascending order (C) or in descending order (E).
        'C' | 'E' => {
            let mut ranges = ranges(random, WORLD);
            if class == 'E' {
                ranges.reverse();
            }
            let bound = log_choose(world, 2.0 * ranges.len() as f64);
            (ranges.into_iter().flatten().collect(), bound)
        }
        // Random faces of the hypercube. Each dimension is free, 0 or 1.
        'D' => {
            let count = size(random, 16);
            let mut member = vec![false; WORLD as usize];
            for _ in 0..count {
                let fixed = (random.below(WORLD) & random.below(WORLD)) as usize;
                let at = random.below(WORLD) as usize & fixed;
                (0..member.len())
                    .filter(|rank| rank & fixed == at)
                    .for_each(|rank| member[rank] = true);
            }
            let ranks = (0..WORLD as u32)
                .filter(|rank| member[*rank as usize])
                .collect();
            (ranks, count as f64 * 20.0 * 3_f64.log2())
        }
        _ => unreachable!("a class"),
    };
    Communicator { ranks, bound }
}

/// Returns the fourteen communicators of chapter 6, in its world of 200,000 ranks.
pub fn of_chapter_6() -> Vec<(&'static str, Communicator)> {
    const N: u64 = 200_000;
    let world = N as f64;
    let mut random = Random(6);
    let mut permuted = |count: u64| {
        let mut ranks = some(&mut random, N, count);
        random.shuffle(&mut ranks);
        (
            ranks,
            log_choose(world, count as f64) + log_factorial(count as f64),
        )
    };
    let every = |step: usize| {
        (
            (0..N as u32).step_by(step).collect::<Vec<u32>>(),
            world.log2(),
        )
    };
    let of_permuted = [permuted(10_000), permuted(20_000), permuted(100_000)];
    let [ten, twenty, hundred] = of_permuted;
    let mut random = Random(7);
    let cube = |rank: &u32| rank / 100_000 == 0 && (rank / 100).is_multiple_of(10);
    let ordered =
        |random: &mut Random, count: u64| (some(random, N, count), log_choose(world, count as f64));
    let blocks = |random: &mut Random, size: u32| {
        let mut ranks = Vec::new();
        for block in 0..10 {
            let mut range: Vec<u32> = (block * 20_000..block * 20_000 + size).collect();
            random.shuffle(&mut range);
            ranks.extend(range);
        }
        (
            ranks,
            10.0 * log_factorial(f64::from(size)) + 20.0 * world.log2(),
        )
    };
    let all = [
        ("1 even numbers", every(2)),
        (
            "2 81 x + 11453",
            (
                (11_453 + 81..N as u32).step_by(81).collect(),
                2.0 * world.log2(),
            ),
        ),
        (
            "3 two coordinates of a cube of six are 0",
            ((0..N as u32).filter(cube).collect(), 6.0 * 11_f64.log2()),
        ),
        (
            "4 every other range of 100",
            (
                (0..N as u32).filter(|rank| rank / 100 % 2 == 0).collect(),
                2.0 * world.log2(),
            ),
        ),
        ("5 every 3rd", every(3)),
        ("6 every 5th", every(5)),
        ("7 every 7th", every(7)),
        ("8 5,000 random", ordered(&mut random, 5_000)),
        ("9 50,000 random", ordered(&mut random, 50_000)),
        ("10 10,000 permuted", ten),
        ("11 20,000 permuted", twenty),
        ("12 100,000 permuted", hundred),
        (
            "13 10 ranges of 1,000, permuted within",
            blocks(&mut random, 1_000),
        ),
        (
            "14 10 ranges of 10,000, permuted within",
            blocks(&mut random, 10_000),
        ),
    ];
    all.into_iter()
        .map(|(name, (ranks, bound))| (name, Communicator { ranks, bound }))
        .collect()
}
