//! Costs of fibers beside plain futures and bare corosensei, for the table in docs/src/fiber.md.

mod create;
mod memory;
mod messages;
mod switch;

use bench_common::{in_turns, median};
use std::time::Instant;

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let what = args.first().map_or("all", String::as_str);
    let rounds = args.get(1).map_or(7, |r| r.parse().expect("rounds"));
    let reports: [(&str, &dyn Fn()); 4] = [
        ("switch", &|| switch::report(rounds)),
        ("create", &|| create::report(rounds)),
        ("messages", &|| messages::report(rounds)),
        ("memory", &memory::report),
    ];
    assert!(
        what == "all" || reports.iter().any(|(name, _)| *name == what),
        "see the script `run`"
    );
    for (name, report) in reports {
        if what == "all" || what == name {
            report();
        }
    }
}

/// Prints the nanoseconds of one of `count` operations for each contestant, and the ratio to the
/// first contestant. Values are medians over the rounds.
fn measure(rounds: usize, count: usize, contestants: &mut [(&str, &mut dyn FnMut())]) {
    let times = in_turns(rounds, contestants, |(_, run)| {
        let start = Instant::now();
        run();
        Some(start.elapsed().as_nanos() as f64 / count as f64)
    });
    let mut first = None;
    for (times, (name, _)) in times.iter().zip(contestants) {
        let median = median(times).expect("a round");
        let first = *first.get_or_insert(median);
        println!("  {name:<44} {median:>9.1} ns {:>7.2}", median / first);
    }
}
