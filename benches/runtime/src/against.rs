//! This revision of the runtime beside another, in pairs.

use std::path::Path;

use crate::table::{self, ROWS, Who};

/// Runs the measurements of graphmap with this program and with `other`, in turns, and prints the
/// ratios of their times. There are the quartiles over the pairs, and the ratio of the minima.
///
/// It compares pairs, because the speed of a machine changes from one second to the next. It
/// compares minima, because disturbances only add time.
pub fn print(other: &Path, rounds: usize, quick: bool) {
    let here = std::env::current_exe().expect("this program has a path");
    println!(
        "Pairs of {rounds} rounds in turns: this state over {}.\n",
        other.display()
    );
    println!("| what | lower quartile | median | upper quartile | of the best |");
    println!("|---|---:|---:|---:|---:|");
    for row in ROWS {
        let ours = row.contestants.iter().find_map(|(_, who)| match who {
            Who::Ours(words) => Some(*words),
            _ => None,
        });
        let Some(words) = ours else { continue };
        let words = match quick {
            true => table::hurried(words),
            false => Some(words.to_string()),
        };
        let Some(words) = words else { continue };
        let measure = |program: &Path| {
            let all = table::values(&mut table::with(program, "one ours ", &words));
            all[row.value]
        };
        let (mut ratios, mut best) = (Vec::new(), [f64::INFINITY; 2]);
        for round in 0..rounds {
            let mut pair = [0.0; 2];
            // The two also take turns in being first.
            for at in [round % 2, 1 - round % 2] {
                pair[at] = measure([&here, other][at]);
                best[at] = best[at].min(pair[at]);
            }
            ratios.push(pair[0] / pair[1]);
        }
        ratios.sort_by(f64::total_cmp);
        let quartile = |n: usize| ratios[(ratios.len() - 1) * n / 4];
        println!(
            "| {} | {:.3} | {:.3} | {:.3} | {:.3} |",
            row.name,
            quartile(1),
            quartile(2),
            quartile(3),
            best[0] / best[1],
        );
    }
}
