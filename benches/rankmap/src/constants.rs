//! Fits the constants of `time` in modules/rankmap/src/choose.rs to measured look-ups.

use crate::contestants::Contestant;
use crate::measure::{Queries, look_ups};
use bench_common::Random;
use graphmap_rankmap::{Axis, Builder, RankMap, Representation};

/// A map whose look-ups are timed, and the variable on which the cost of its form depends.
struct Sample {
    depends_on: f64,
    map: RankMap,
}

fn sample(depends_on: f64, form: Representation, ranks: &[u32]) -> Sample {
    let map = Builder::new().representation(form).slice(ranks);
    Sample {
        depends_on,
        map: map.expect("a form that holds such ranks"),
    }
}

/// Returns the line `a + b x` with the least relative errors, or the mean if `x` does not vary.
fn line(points: &[(f64, f64)]) -> (f64, f64) {
    let (mut w, mut wx, mut wxx, mut wy, mut wxy) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for (x, y) in points {
        let weight = 1.0 / (y * y);
        w += weight;
        wx += weight * x;
        wxx += weight * x * x;
        wy += weight * y;
        wxy += weight * x * y;
    }
    let spread = w * wxx - wx * wx;
    if spread <= 1e-9 * w * wxx {
        return (wy / w, 0.0);
    }
    let slope = (w * wxy - wx * wy) / spread;
    ((wy - slope * wx) / w, slope)
}

/// Prints the costs of SELECT and RANK as fitted lines, with the largest relative error of each.
fn fit(name: &str, of: &str, samples: Vec<Sample>) {
    let mut measured = Vec::new();
    for one in &samples {
        let queries = Queries::new(one.map.len(), |rank| {
            one.map.select(rank).expect("a member")
        });
        // A dynamic call, which is not inlined into the loop.
        let called: &dyn Contestant = &one.map;
        let rounds: Vec<_> = (0..4).map(|_| look_ups(called, &queries)).collect();
        let least = |of: &dyn Fn(usize) -> f64| (0..4).map(of).fold(f64::INFINITY, f64::min);
        let (select, rank) = (least(&|k| rounds[k].select), least(&|k| rounds[k].rank));
        measured.push((one.depends_on, select, rank));
    }
    let fitted = |at: &dyn Fn(&(f64, f64, f64)) -> f64| {
        let points: Vec<(f64, f64)> = measured.iter().map(|one| (one.0, at(one))).collect();
        let (a, b) = line(&points);
        let off = |(x, y): &(f64, f64)| ((a + b * x) / y).ln().abs();
        let worst = points.iter().map(off).fold(0.0, f64::max);
        let text = match b == 0.0 {
            true => format!("{a:.1}"),
            false => format!("{a:.1} + {b:.4} {of}"),
        };
        format!("{text} | {:.0}%", 100.0 * (worst.exp() - 1.0))
    };
    let (select, rank) = (fitted(&|one| one.1), fitted(&|one| one.2));
    println!("| {name} | {select} | {rank} |");
}

/// Prints the table from which the constants are taken.
pub fn constants() {
    const FULL: u32 = 1 << 20;
    println!(
        "\nWhat look-ups cost, in nanoseconds, and how far the farthest of what was measured is from that.\n"
    );
    println!("| form | SELECT | at most | RANK | at most |");
    println!("|---|---|---:|---|---:|");
    let mut random = Random(17);
    let mut some =
        |of: u32, part: u64| -> Vec<u32> { (0..of).filter(|_| random.below(part) == 0).collect() };
    let closed = |map: RankMap, depends_on: f64| Sample { depends_on, map };
    let progressions = [1_000, 30_000, 1_000_000];
    let progressions =
        progressions.map(|len| closed(RankMap::range(1, 3, len).expect("ranks"), 0.0));
    fit("progression", "", progressions.into());
    let grids = (2..6_u32).map(|axes| {
        // The world is larger in each direction, so that no two axes merge into one.
        let (side, wide) = (1 << (20 / axes), 1_i64 << (20 / axes + 1));
        let all: Vec<Axis> = (0..axes)
            .rev()
            .map(|k| Axis::line(side - 1, wide.pow(k)))
            .collect();
        closed(RankMap::grid(5, &all).expect("a grid"), f64::from(axes))
    });
    fit("grid", "axes", grids.collect());
    let runs = |form: Representation| {
        let halvings = [4, 8, 12, 16];
        halvings.map(|log: u32| {
            let length = FULL >> log;
            let ranks: Vec<u32> = (0..FULL)
                .filter(|rank| {
                    let run = rank / length;
                    // The lengths of the runs differ.
                    rank % length < length / 2 + run.wrapping_mul(0x9E37_79B9) % (length / 2).max(1)
                })
                .collect();
            sample(f64::from(log), form, &ranks)
        })
    };
    fit("runs", "log2(runs)", runs(Representation::Runs).into());
    fit(
        "run lengths",
        "",
        runs(Representation::RunLengths)
            .map(|one| Sample {
                depends_on: 0.0,
                ..one
            })
            .into(),
    );
    for (form, name) in [
        (Representation::Bitmap, "bitmap"),
        (Representation::EliasFano, "Elias-Fano"),
    ] {
        let sets = [(1 << 14, 3), (1 << 17, 2), (FULL, 2), (FULL, 20)];
        let sets = sets.map(|(of, part)| sample(0.0, form, &some(of, part)));
        fit(name, "", sets.into());
    }
    let bare = [1 << 12, 1 << 15, 1 << 18, FULL];
    let bare = bare.map(|of| sample(f64::from(of), Representation::BareBitmap, &some(of, 2)));
    fit("bare bitmap", "bits", bare.into());
    let lists = [1 << 10, 1 << 13, 1 << 16, FULL];
    let log = |of: u32| f64::from(of).log2();
    let ascending = lists.map(|of| {
        let ranks = some(2 * of, 2);
        sample(log(of), Representation::List, &ranks)
    });
    fit("list that ascends", "log2(len)", ascending.into());
    let shuffled = |of: u32| {
        let mut ranks: Vec<u32> = (0..of).collect();
        Random(of.into()).shuffle(&mut ranks);
        ranks
    };
    for (form, name, of) in [
        (Representation::List, "list", "log2(len)"),
        (Representation::Shortcuts, "shortcuts", ""),
        (Representation::Inverse, "inverse", ""),
    ] {
        let depends = |len: u32| if of.is_empty() { 0.0 } else { log(len) };
        let lists = lists.map(|len| sample(depends(len), form, &shuffled(len)));
        fit(name, of, lists.into());
    }
    let wavelets = [1, 2, 4, 6].map(|log: u32| {
        // `1 << log` ascending sequences, one after the other.
        let ranks: Vec<u32> = (0..1 << log)
            .flat_map(|first| (first..FULL / 8).step_by(1 << log))
            .collect();
        sample(f64::from(log), Representation::Wavelet, &ranks)
    });
    fit("wavelet", "log2(sequences)", wavelets.into());
    let diagrams = [14, 16, 18, 20].map(|dimensions: u32| {
        // Faces of the hypercube. The height is the number of halvings above words of 64 bits.
        let mut random = Random(u64::from(dimensions));
        let mut below = || random.below(1 << dimensions) as u32;
        let faces = [(); 6].map(|()| {
            let fixed = below() & below();
            (fixed, below() & fixed)
        });
        let ranks = (0..1 << dimensions)
            .filter(|rank: &u32| faces.iter().any(|(fixed, at)| rank & fixed == *at));
        let ranks: Vec<u32> = ranks.collect();
        let height = f64::from(dimensions - 6);
        sample(height, Representation::DecisionDiagram, &ranks)
    });
    fit("decision diagram", "height", diagrams.into());
    let complements = [50, 400, 3000, 20_000].map(|one_in| {
        let dead = RankMap::from_slice(&some(FULL, one_in)).expect("ascending");
        let halving = (dead.len() as f64 + 1.0).log2() * dead.cost().select;
        closed(dead.complement(FULL.into()).expect("more"), halving)
    });
    fit("complement", "log2(left out) SELECTs", complements.into());
}
