//! Seeded networks. Users draw farms, pipelines and layered networks. The literature maps
//! butterflies, grids, random geometric graphs and power-law graphs.

use bench_common::Random;
use graphmap_partition::{Channel, Graph};

/// A random generator that is independent of graphmap's, so that a change there does not change the
/// networks.
pub struct Dice(Random);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(Random(
            seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0xD1B5_4A32_D192_ED03,
        ))
    }

    pub fn range(&mut self, low: u64, high: u64) -> u64 {
        low + self.0.number() % (high - low + 1)
    }

    pub fn unit(&mut self) -> f64 {
        (self.0.number() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

struct Draft {
    load: Vec<u64>,
    channels: Vec<Channel>,
}

impl Draft {
    fn new(load: Vec<u64>) -> Self {
        Self {
            load,
            channels: Vec::new(),
        }
    }

    fn join(&mut self, from: usize, to: usize, traffic: u64) {
        self.channels.push(Channel {
            from: from as u32,
            to: to as u32,
            traffic,
        });
    }

    fn graph(self) -> Graph {
        Graph::new(self.load, &self.channels).expect("generated graphs are sound")
    }
}

/// Returns a network of a family. `size` is the number of modules or vertices, the side of a grid,
/// or the binary logarithm of the rows of a butterfly.
pub fn generate(family: &str, size: usize, seed: u64) -> Graph {
    let mut dice = Dice::new(seed);
    match family {
        "farm" => farm(size, &mut dice),
        "layered" => layered(size, &mut dice),
        "fft" => fft(size),
        "tree" => tree(size, &mut dice),
        "pipeline" => pipeline(size, &mut dice),
        "grid2" => grid([size, size, 1]),
        "grid3" => grid([size, size, size]),
        "geometric" => geometric(size, &mut dice),
        "power" => power(size, &mut dice),
        other => panic!("no family {other}"),
    }
}

/// Returns a chain of farm modules of five processes, of which the worker is the heaviest.
fn farm(modules: usize, dice: &mut Dice) -> Graph {
    let mut draft = Draft::new(Vec::new());
    for _ in 0..modules {
        // inTask, outTask, doTask, inResult, outResult
        for (low, high) in [(2, 8), (1, 6), (10, 40), (1, 6), (2, 8)] {
            draft.load.push(dice.range(low, high));
        }
    }
    for m in 0..modules {
        let at = 5 * m;
        let task = dice.range(4, 20);
        let result = dice.range(2, 12);
        draft.join(at, at + 1, task);
        draft.join(at, at + 2, task);
        draft.join(at + 1, at, 1);
        draft.join(at + 2, at, 1);
        draft.join(at + 2, at + 4, result);
        draft.join(at + 3, at + 4, result);
        if m + 1 < modules {
            draft.join(at + 1, at + 5, dice.range(4, 20));
            draft.join(at + 9, at + 3, dice.range(2, 12));
        }
    }
    draft.graph()
}

/// Returns layers of about sqrt(n) processes, each of which reads from one to three processes of
/// the layer before.
fn layered(n: usize, dice: &mut Dice) -> Graph {
    let mut draft = Draft::new((0..n).map(|_| dice.range(1, 10)).collect());
    let width = ((n as f64).sqrt() as usize).max(2);
    for v in width..n {
        let layer = v / width;
        for _ in 0..dice.range(1, 3) {
            let from = (layer - 1) * width + dice.range(0, width as u64 - 1) as usize;
            draft.join(from, v, dice.range(1, 20));
        }
    }
    draft.graph()
}

/// Returns a butterfly of 2^size rows.
fn fft(size: usize) -> Graph {
    let rows = 1 << size;
    let mut draft = Draft::new(vec![1; rows * (size + 1)]);
    for stage in 0..size {
        for row in 0..rows {
            draft.join(stage * rows + row, (stage + 1) * rows + row, 1);
            draft.join(
                stage * rows + row,
                (stage + 1) * rows + (row ^ (1 << stage)),
                1,
            );
        }
    }
    draft.graph()
}

fn tree(n: usize, dice: &mut Dice) -> Graph {
    let mut draft = Draft::new((0..n).map(|_| dice.range(1, 10)).collect());
    for v in 1..n {
        let parent = (v - 1) / 3;
        draft.join(parent, v, dice.range(1, 20));
    }
    draft.graph()
}

fn pipeline(n: usize, dice: &mut Dice) -> Graph {
    let mut draft = Draft::new((0..n).map(|_| dice.range(1, 10)).collect());
    for v in 1..n {
        draft.join(v - 1, v, dice.range(1, 20));
    }
    draft.graph()
}

fn grid([x, y, z]: [usize; 3]) -> Graph {
    let mut draft = Draft::new(vec![1; x * y * z]);
    let at = |i: usize, j: usize, l: usize| (l * y + j) * x + i;
    for l in 0..z {
        for j in 0..y {
            for i in 0..x {
                if i + 1 < x {
                    draft.join(at(i, j, l), at(i + 1, j, l), 1);
                }
                if j + 1 < y {
                    draft.join(at(i, j, l), at(i, j + 1, l), 1);
                }
                if l + 1 < z {
                    draft.join(at(i, j, l), at(i, j, l + 1), 1);
                }
            }
        }
    }
    draft.graph()
}

/// Returns a random geometric graph: points in the unit square, joined if their distance is below
/// 0.55 sqrt(ln n / n).
fn geometric(n: usize, dice: &mut Dice) -> Graph {
    let radius = 0.55 * ((n as f64).ln() / n as f64).sqrt();
    let mut points: Vec<(f64, f64)> = (0..n).map(|_| (dice.unit(), dice.unit())).collect();
    let cells = (1.0 / radius).floor() as usize;
    let cell = |p: &(f64, f64)| {
        let of = |x: f64| ((x * cells as f64) as usize).min(cells - 1);
        (of(p.1), of(p.0))
    };
    points.sort_by_key(cell);
    let mut start = vec![0; cells * cells + 1];
    for p in &points {
        start[cell(p).0 * cells + cell(p).1 + 1] += 1;
    }
    for i in 0..cells * cells {
        start[i + 1] += start[i];
    }
    let mut draft = Draft::new(vec![1; n]);
    for (i, p) in points.iter().enumerate() {
        let (row, column) = cell(p);
        for r in row.saturating_sub(1)..=(row + 1).min(cells - 1) {
            for c in column.saturating_sub(1)..=(column + 1).min(cells - 1) {
                let first = start[r * cells + c];
                let near = &points[first..start[r * cells + c + 1]];
                for (j, q) in (first..).zip(near) {
                    let (dx, dy) = (p.0 - q.0, p.1 - q.1);
                    if i < j && dx * dx + dy * dy < radius * radius {
                        draft.join(i, j, 1);
                    }
                }
            }
        }
    }
    draft.graph()
}

/// Returns a graph by preferential attachment, with four edges per vertex.
fn power(n: usize, dice: &mut Dice) -> Graph {
    let mut draft = Draft::new(vec![1; n]);
    let mut ends: Vec<usize> = vec![0, 1];
    draft.join(0, 1, 1);
    for v in 2..n {
        for _ in 0..4.min(v) {
            let u = ends[dice.range(0, ends.len() as u64 - 1) as usize];
            if u != v {
                draft.join(v, u, 1);
                ends.push(u);
                ends.push(v);
            }
        }
    }
    draft.graph()
}
