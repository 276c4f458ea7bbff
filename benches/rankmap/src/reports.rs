//! Reports, which print Markdown tables.

use crate::classes::{of_chapter_6, of_class};
use crate::contestants::{Array, FORMS, Sorted};
use crate::measure::{Costs, Queries, hurry, look_ups, measure, select_waiting};
use bench_common::Random;
use graphmap_rankmap::{Axis, Builder, Cartesian, RankMap, Representation};
use std::collections::BTreeMap;

const STRATEGIES: [&str; 3] = ["space", "time", "hybrid"];
const PEERS: [&str; 6] = [
    "u32 array",
    "sorted array",
    "hash map",
    "roaring",
    "vers-vecs",
    "bzip2 blocks",
];

fn names() -> Vec<String> {
    let forms = FORMS.iter().map(Representation::to_string);
    STRATEGIES
        .iter()
        .chain(&PEERS)
        .map(|name| name.to_string())
        .chain(forms)
        .collect()
}

fn number(value: f64) -> String {
    match value {
        v if v.is_nan() => "".into(),
        v if v < 10.0 => format!("{v:.1}"),
        v => {
            let digits = format!("{v:.0}");
            let groups: Vec<&str> = digits
                .as_bytes()
                .rchunks(3)
                .rev()
                .map(|d| std::str::from_utf8(d).unwrap())
                .collect();
            groups.join(",")
        }
    }
}

fn head(first: &str) {
    println!(
        "| {first} | bytes | build | SELECT in order | SELECT | RANK in order | RANK | iteration |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|---:|");
}

fn row(name: &str, costs: &Costs) {
    let c = costs;
    let columns = [
        c.bytes,
        c.build,
        c.select_in_order,
        c.select,
        c.rank_in_order,
        c.rank,
        c.iterate,
    ];
    println!("| {name} | {} |", columns.map(number).join(" | "));
}

/// Returns the weight of a form in the hybrid strategy, from its measured costs.
fn weight(costs: &Costs) -> f64 {
    0.25 * ((costs.select + costs.rank) / 2.0).ln() + 0.75 * costs.bytes.ln()
}

/// Returns true if `a` is better than `b` in one cost and worse in none. A better time must be
/// better by a tenth, because smaller differences are noise.
fn dominates(a: &Costs, b: &Costs) -> bool {
    let no_worse = a.bytes <= b.bytes && a.select <= b.select && a.rank <= b.rank;
    let better = a.bytes < b.bytes || a.select < 0.9 * b.select || a.rank < 0.9 * b.rank;
    no_worse && better
}

/// Prints the report of a class of chapter 5.
pub fn class(class: char, count: usize) {
    let mut all: BTreeMap<String, Vec<Costs>> = BTreeMap::new();
    let mut chosen: BTreeMap<&str, BTreeMap<String, usize>> = BTreeMap::new();
    let (mut bound, mut members) = (0.0, 0);
    let mut dominated: BTreeMap<String, usize> = BTreeMap::new();
    let (mut from_best, mut worst, mut roaring_smaller) = (0.0, 0.0_f64, 0);
    let mut random = Random(u64::from(class as u32));
    // The thesis has a thousand communicators in each class.
    let many = count > 50;
    if many {
        hurry();
    }
    for number in 0..count {
        let one = of_class(class, &mut random);
        (bound, members) = (bound + one.bound / 8.0, members + one.ranks.len());
        let queries = Queries::new(one.ranks.len() as u64, |rank| one.ranks[rank as usize]);
        let mut of_this: Vec<(String, Costs)> = Vec::new();
        let mut form_of_hybrid = String::new();
        for name in names() {
            // Measured for every hundredth only, because it takes longer than all others together.
            if name == "bzip2 blocks" && many && number % 100 > 0 {
                continue;
            }
            let Some((costs, form)) = measure(&name, &one.ranks, &queries) else {
                continue;
            };
            if name == "hybrid" {
                form_of_hybrid.clone_from(&form);
            }
            if let Some(strategy) = STRATEGIES.iter().find(|strategy| **strategy == name) {
                *chosen.entry(strategy).or_default().entry(form).or_default() += 1;
            }
            all.entry(name.clone()).or_default().push(costs);
            of_this.push((name, costs));
        }
        if let Some(name) = better_than_hybrid(&of_this, &form_of_hybrid) {
            *dominated.entry(name).or_default() += 1;
        }
        let of = |name: &str| of_this.iter().find(|(other, _)| other == name);
        roaring_smaller +=
            usize::from(of("roaring").is_some_and(|(_, costs)| costs.bytes < of_this[0].1.bytes));
        let off = from_the_best(&of_this);
        (from_best, worst) = (from_best + off / count as f64, worst.max(off));
    }
    println!(
        "\nClass {class}: {count} communicators, {} members on average; the bound of information {} bytes.\n",
        number(members as f64 / count as f64),
        number(bound / count as f64)
    );
    head("means");
    for name in names() {
        let Some(costs) = all.get(&name) else {
            continue;
        };
        let mean =
            |of: &dyn Fn(&Costs) -> f64| costs.iter().map(of).sum::<f64>() / costs.len() as f64;
        let mean = Costs {
            bytes: mean(&|c| c.bytes),
            build: mean(&|c| c.build),
            select_in_order: mean(&|c| c.select_in_order),
            select: mean(&|c| c.select),
            rank_in_order: mean(&|c| c.rank_in_order),
            rank: mean(&|c| c.rank),
            iterate: mean(&|c| c.iterate),
        };
        let of = if costs.len() < count {
            format!("{name} ({} of {count})", costs.len())
        } else {
            name
        };
        row(&of, &mean);
    }
    println!();
    for (strategy, forms) in chosen {
        let forms: Vec<String> = forms
            .iter()
            .map(|(form, times)| format!("{form} {times}"))
            .collect();
        println!("Chosen by {strategy}: {}.", forms.join(", "));
    }
    println!(
        "Hybrid is dominated in {} of {count} {dominated:?}; by its measured weight it is {:.1}% from the best form on average, {:.1}% at most.",
        dominated.values().sum::<usize>(),
        100.0 * (from_best.exp() - 1.0),
        100.0 * (worst.exp() - 1.0)
    );
    println!(
        "Roaring takes fewer bytes than the strategy of space in {roaring_smaller} of {count}."
    );
}

/// Returns a form or peer that dominates hybrid, other than the form that hybrid chose.
fn better_than_hybrid(all: &[(String, Costs)], taken: &str) -> Option<String> {
    let hybrid = all.iter().find(|(name, _)| name == "hybrid")?.1;
    let mut others = all
        .iter()
        .filter(|(name, _)| !STRATEGIES.contains(&name.as_str()) && name != taken);
    others
        .find(|(_, costs)| dominates(costs, &hybrid))
        .map(|(name, _)| name.clone())
}

/// Returns how far the measured weight of hybrid, a logarithm, is above the least weight of all
/// forms.
fn from_the_best(all: &[(String, Costs)]) -> f64 {
    let forms = all
        .iter()
        .filter(|(name, _)| FORMS.iter().any(|form| form.to_string() == *name));
    let best = forms
        .map(|(_, costs)| weight(costs))
        .fold(f64::INFINITY, f64::min);
    let hybrid = all.iter().find(|(name, _)| name == "hybrid");
    hybrid.map_or(0.0, |(_, costs)| (weight(costs) - best).max(0.0))
}

pub fn chapter_6() {
    println!("\nThe communicators of chapter 6, on a world of 200,000; bytes of each process.\n");
    println!(
        "| communicator | members | bound | hybrid | form | build | SELECT | RANK | u32 array | SELECT | roaring |"
    );
    println!("|---|---:|---:|---:|---|---:|---:|---:|---:|---:|---:|");
    let (mut off_front, mut worst) = (Vec::new(), 0.0_f64);
    for (name, one) in of_chapter_6() {
        let queries = Queries::new(one.ranks.len() as u64, |rank| one.ranks[rank as usize]);
        let mut all: Vec<(String, Costs)> = Vec::new();
        let mut form = String::new();
        for name in names() {
            if let Some((costs, taken)) = measure(&name, &one.ranks, &queries) {
                if name == "hybrid" {
                    form = taken;
                }
                all.push((name, costs));
            }
        }
        let of = |name: &str| all.iter().find(|(other, _)| other == name);
        let (hybrid, array) = match (of("hybrid"), of("u32 array")) {
            (Some(hybrid), Some(array)) => (hybrid.1, array.1),
            _ => unreachable!("both hold any ranks"),
        };
        let roaring = of("roaring").map_or(f64::NAN, |(_, costs)| costs.bytes);
        off_front.extend(better_than_hybrid(&all, &form).map(|by| format!("{name} by {by}")));
        worst = worst.max(from_the_best(&all));
        println!(
            "| {name} | {} | {} | {} | {form} | {} | {} | {} | {} | {} | {} |",
            number(one.ranks.len() as f64),
            number(one.bound / 8.0),
            number(hybrid.bytes),
            number(hybrid.build),
            number(hybrid.select),
            number(hybrid.rank),
            number(array.bytes),
            number(array.select),
            number(roaring)
        );
    }
    println!(
        "\nHybrid is dominated in {} of 14 {off_front:?}; by its measured weight it is {:.1}% from the best form at most.",
        off_front.len(),
        100.0 * (worst.exp() - 1.0)
    );
}

/// Returns closed forms on a cube with this side.
fn closed(side: u32, dimensions: u32) -> Vec<(&'static str, RankMap)> {
    let n = u64::from(side).pow(3);
    let cube = Cartesian::new(&[side; 3]).expect("a cube");
    let half = side / 2;
    let made = [
        ("identity", Ok(RankMap::identity(n))),
        ("every third", RankMap::range(1, 3, n / 3)),
        ("backwards", RankMap::range(n as u32 - 1, -1, n)),
        ("plane", cube.section(&[None, Some(half), None])),
        (
            "sub-grid",
            cube.window(&[(1, side - 2), (2, side - 4), (3, side - 6)]),
        ),
        (
            "nested ranges",
            RankMap::grid(
                7,
                &[
                    Axis::line(side, i64::from(side * side)),
                    Axis::line(half, 2 * i64::from(side)),
                    Axis::line(half, 2),
                ],
            ),
        ),
        ("transpose", cube.reordered(&[2, 1, 0])),
        ("torus shift", cube.shifted(&[1, 1, 1])),
        (
            "hypercube face, a bit fixed",
            RankMap::hypercube_face(dimensions, 1 << 9, 0),
        ),
        (
            "hypercube face, 3 bits fixed",
            RankMap::hypercube_face(dimensions, 1 << 3 | 1 << 9 | 1 << 15, 1 << 9),
        ),
        (
            "block-cyclic, one owner",
            RankMap::block_cyclic(n, 4, 64, 1),
        ),
        ("block-cyclic order", RankMap::block_cyclic_order(n, 8, 125)),
    ];
    made.into_iter()
        .map(|(name, map)| (name, map.expect("it is there")))
        .collect()
}

/// Prints random look-ups in closed forms and in sets with gaps, of about a million members, beside
/// an array of the same members.
pub fn limits() {
    println!(
        "\nAt random in a million, beside arrays of the same members; the limits are 2 (closed) and 8 (Elias-Fano) for SELECT, 1 for RANK. \"Waiting\": each look-up begins when the one before has ended.\n"
    );
    println!(
        "| group | members | bytes | SELECT | array | times | waiting | array | times | RANK | binary search | times |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|");
    // Groups of about a million members, in a world of any size.
    let mut all = closed(100, 21);
    let large = |name: &str| {
        closed(1000, 23)
            .into_iter()
            .find(|(n, _)| *n == name)
            .map(|(_, map)| map)
    };
    let part = |map: &RankMap| {
        map.compose(&RankMap::identity(map.len().min(1_000_000)))
            .expect("a part")
    };
    for (name, map) in &mut all {
        if map.len() < 800_000 {
            *map = part(&large(name).expect("the same names"));
        }
    }
    let mut random = Random(1);
    for (name, part) in [
        ("Elias-Fano, one of two at random", 2),
        ("Elias-Fano, one of ten at random", 10),
        ("Elias-Fano, one of a hundred at random", 100),
    ] {
        let ranks: Vec<u32> = (0..1_000_000 * part as u32)
            .filter(|_| random.below(part) == 0)
            .collect();
        let map = Builder::new()
            .representation(Representation::EliasFano)
            .slice(&ranks)
            .expect("ascending");
        all.push((name, map));
    }
    let prepared: Vec<_> = all
        .into_iter()
        .map(|(name, map)| {
            let queries = Queries::new(map.len(), |rank| map.select(rank).expect("a member"));
            let members: Vec<u32> = map.iter().collect();
            let mut sorted = members.clone();
            sorted.sort_unstable();
            (name, map, queries, Array(members), Sorted(sorted))
        })
        .collect();
    // Minimum over several turns, because the machine is sometimes half as fast.
    let mut best = vec![[f64::INFINITY; 6]; prepared.len()];
    for _ in 0..12 {
        for ((_, map, queries, array, sorted), best) in prepared.iter().zip(&mut best) {
            let (a, b, c) = (
                look_ups(map, queries),
                look_ups(array, queries),
                look_ups(sorted, queries),
            );
            let (d, e) = (select_waiting(map, queries), select_waiting(array, queries));
            for (best, now) in best
                .iter_mut()
                .zip([a.select, b.select, a.rank, c.rank, d, e])
            {
                *best = best.min(now);
            }
        }
    }
    for ((name, map, ..), [select, array, rank, search, one, look]) in prepared.iter().zip(best) {
        let (times, waiting, part) = (select / array, one / look, rank / search);
        let (len, bytes) = (number(map.len() as f64), number(map.bytes() as f64));
        println!(
            "| {name} | {len} | {bytes} | {select:.2} | {array:.2} | {times:.2} | {one:.2} | {look:.2} | {waiting:.2} | {rank:.2} | {search:.2} | {part:.2} |"
        );
    }
}

/// Prints the bytes of the communicators of a cube of a million ranks: its rows, columns and
/// planes, twice each, and what remains of them if some ranks fail.
pub fn cube() {
    const SIDE: u32 = 100;
    let cube = Cartesian::new(&[SIDE; 3]).expect("a cube");
    let world = RankMap::identity(1_000_000);
    let mut random = Random(3);
    let mut dead: Vec<u32> = (0..1000).map(|_| random.below(1_000_000) as u32).collect();
    dead.sort_unstable();
    dead.dedup();
    let failed = RankMap::from_slice(&dead).expect("ascending");
    println!(
        "\nA world of a million as a cube of 100, and what is left of it when {} fail.\n",
        dead.len()
    );
    println!("| communicators | how many | bytes of all | bytes in arrays | a thousandth |");
    println!("|---|---:|---:|---:|---:|");
    let at = |fixed: [Option<u32>; 3]| cube.section(&fixed).expect("a section");
    let pairs = || (0..SIDE).flat_map(|a| (0..SIDE).map(move |b| (Some(a), Some(b))));
    let lines: Vec<RankMap> = pairs()
        .flat_map(|(a, b)| [[a, b, None], [a, None, b], [None, a, b]])
        .map(at)
        .collect();
    let planes: Vec<RankMap> = (0..SIDE)
        .map(Some)
        .flat_map(|a| [[a, None, None], [None, a, None], [None, None, a]])
        .map(at)
        .collect();
    let left = |of: &[RankMap]| {
        of.iter()
            .map(|map| map.difference(&failed))
            .collect::<Vec<_>>()
    };
    let (whole_left, lines_left, planes_left) = (
        left(std::slice::from_ref(&world)),
        left(&lines),
        left(&planes),
    );
    let mut all = (0, 0, 0);
    let mut show = |name: &str, maps: &[RankMap]| {
        // A duplicate shares everything but its own struct.
        let bytes = |map: &RankMap| map.bytes() + size_of::<RankMap>();
        let bytes: usize = maps.iter().map(bytes).sum();
        let array: usize = maps.iter().map(|map| 2 * 4 * map.len() as usize).sum();
        all = (all.0 + 2 * maps.len(), all.1 + bytes, all.2 + array);
        let times = format!("{:.2}", 1000.0 * bytes as f64 / array as f64);
        println!(
            "| {name}, and duplicates | {} | {} | {} | {times} |",
            number(2.0 * maps.len() as f64),
            number(bytes as f64),
            number(array as f64)
        );
    };
    show("world", &[world]);
    show("rows, columns, pillars", &lines);
    show("planes", &planes);
    show("what is left of the world", &whole_left);
    show("of rows, columns, pillars", &lines_left);
    show("of planes", &planes_left);
    println!(
        "| all | {} | {} | {} | {:.2} |",
        number(all.0 as f64),
        number(all.1 as f64),
        number(all.2 as f64),
        1000.0 * all.1 as f64 / all.2 as f64
    );
}

/// Prints closed forms in a world of a thousand million ranks.
pub fn giants() {
    println!("\nOn a world of 1,000,000,000; no array has room beside them.\n");
    println!("| group | members | bytes | on a link | SELECT | RANK |");
    println!("|---|---:|---:|---:|---:|---:|");
    let mut all = closed(1000, 29);
    let mut random = Random(9);
    let dead: Vec<u32> = (0..1000)
        .map(|k| k * 999_999 + random.below(999_999) as u32)
        .collect();
    all.push((
        "all but 1,000 that failed",
        RankMap::identity(1_000_000_000)
            .exclude(&dead)
            .expect("members"),
    ));
    let plane = Cartesian::new(&[1000; 3])
        .and_then(|cube| cube.section(&[None, Some(500), None]))
        .expect("a plane");
    all.push((
        "a plane, but those that failed",
        plane.difference(&RankMap::from_slice(&dead).expect("ascending")),
    ));
    for (name, map) in all {
        let queries = Queries::new(map.len(), |rank| map.select(rank).expect("a member"));
        let costs = look_ups(&map, &queries);
        println!(
            "| {name} | {} | {} | {} | {} | {} |",
            number(map.len() as f64),
            number(costs.bytes),
            map.to_bytes().len(),
            number(costs.select),
            number(costs.rank)
        );
    }
}
