//! Random networks with random rules, machines and bounds. Counts how often a search is worse than
//! a plain strategy, or than the same search with fewer steps.
//!
//! Prints a table of counts, and with `--details` the seeds of the worse mappings. Limits are in
//! steps, so that the output is the same on every machine.
//!
//! usage: benches/mapping/run rules [--seeds N] [--from N] [--details]

use graphmap_partition::Solution;

use crate::Arguments;

#[path = "../../../modules/partition/tests/common/mod.rs"]
mod common;

const OTHERS: [&str; 4] = ["stack", "round-robin", "fast", "metis"];
/// Numbers of steps after which mappings are compared.
const STEPS: [u64; 3] = [20_000, 100_000, 500_000];

#[derive(Default)]
struct Count {
    solved: u64,
    infeasible: u64,
    raised: u64,
    proved: u64,
    /// By strategy: mappings within the bounds of `auto`, those of them that are cheaper than
    /// `auto`'s, and the worst ratio of costs.
    within: [u64; OTHERS.len()],
    costlier: [u64; OTHERS.len()],
    worst: [f64; OTHERS.len()],
    /// Mappings that got costlier with more steps, or that needed a raised bound only with more
    /// steps.
    worse_later: u64,
    worst_later: f64,
}

impl Count {
    fn compare(&mut self, case: &common::Case, seed: u64, found: &Solution, details: bool) {
        for (i, name) in OTHERS.iter().enumerate() {
            let other = common::run(case, name, STEPS[2], seed);
            let Some(other) = other.filter(|other| common::within(case, other, found)) else {
                continue;
            };
            self.within[i] += 1;
            if other.minimised < found.minimised {
                self.costlier[i] += 1;
                let ratio = found.minimised as f64 / other.minimised.max(1) as f64;
                self.worst[i] = self.worst[i].max(ratio);
                if details {
                    println!(
                        "seed {seed}: {} of {name}, {} of auto",
                        other.minimised, found.minimised
                    );
                }
            }
        }
    }

    fn later(&mut self, before: &Solution, found: &Solution, seed: u64, details: bool) {
        let ratio = found.minimised as f64 / before.minimised.max(1) as f64;
        let worse = match (before.raised, found.raised) {
            (None, Some(_)) => true,
            (Some(_), None) => false,
            (was, is) if was != is => false,
            _ => ratio > 1.0,
        };
        if worse {
            self.worse_later += 1;
            self.worst_later = self.worst_later.max(ratio);
            if details {
                println!(
                    "seed {seed}: {} after {}",
                    found.minimised, before.minimised
                );
            }
        }
    }
}

pub fn run(read: &Arguments) {
    let mut count = Count::default();
    for seed in read.from..read.from + read.seeds {
        // Neighbouring seeds must give unrelated cases.
        let case = common::case(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let mut before: Option<Solution> = None;
        for steps in STEPS {
            let found = common::run(&case, "auto", steps, seed);
            if let (Some(before), Some(found)) = (&before, &found) {
                count.later(before, found, seed, read.details);
            }
            before = found;
        }
        let Some(found) = before else {
            count.infeasible += 1;
            continue;
        };
        count.solved += 1;
        count.raised += u64::from(found.raised.is_some());
        count.proved += u64::from(found.proved);
        count.compare(&case, seed, &found, read.details);
    }
    println!(
        "| networks | mapped | no mapping | bound raised | proved | worse with more steps | worst |"
    );
    println!("|---|---|---|---|---|---|---|");
    println!(
        "| {} | {} | {} | {} | {} | {} | {:.2} |\n",
        read.seeds,
        count.solved,
        count.infeasible,
        count.raised,
        count.proved,
        count.worse_later,
        count.worst_later
    );
    println!("| strategy | within the bounds of `auto` | cheaper there | at most by |");
    println!("|---|---|---|---|");
    for (i, name) in OTHERS.iter().enumerate() {
        let worst = match count.costlier[i] {
            0 => "-".to_owned(),
            _ => format!("{:.2}", count.worst[i]),
        };
        println!(
            "| {name} | {} | {} | {worst} |",
            count.within[i], count.costlier[i]
        );
    }
}
