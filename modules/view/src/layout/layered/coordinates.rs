//! Vertical positions of the nodes of ordered layers.

use super::graph::{Graph, Node};
use super::sides::{Rows, Sides, weighted_spread};
use crate::layout::scope::{CLEARANCE, LANE};

/// Sweeps over the layers that move each layer as a whole.
const SWEEPS: usize = 12;
/// Sweeps that move each block on its own.
const MOVES: usize = 24;
/// Weights of links by the number of dummies at their ends.
const WEIGHT: [f64; 3] = [1.0, 2.0, 8.0];

/// Nodes that have the same vertical position: an item, a border port, or dummies of a long line.
struct Blocks {
    /// Block of each node.
    of: Vec<usize>,
    /// Nodes of each block in the order of their layers.
    members: Vec<Vec<usize>>,
}

/// A layout problem with positions that satisfy all distances.
struct Placement<'a> {
    graph: &'a Graph,
    sides: &'a Sides,
    /// Factor of all distances.
    stretch: f64,
    /// Links at each node: far node, and the position of the far node relative to this node that
    /// makes the link straight.
    near: [Vec<Vec<(usize, f64)>>; 2],
    /// Index of each node in its layer.
    index: Vec<usize>,
    y: Vec<f64>,
}

/// Returns the vertical position of each node. Distances between neighbours are multiplied by
/// `stretch`, which is at least 1.
pub(super) fn vertical(graph: &Graph, sides: &Sides, rows: &Rows, stretch: f64) -> Vec<f64> {
    let nodes = graph.nodes.len();
    let mut near = [vec![Vec::new(); nodes], vec![Vec::new(); nodes]];
    for &[a, b] in &graph.links {
        let difference = rows.of(a) - rows.of(b);
        near[1][a.node].push((b.node, difference));
        near[0][b.node].push((a.node, -difference));
    }
    let mut index = vec![0; nodes];
    for layer in &graph.layers {
        for (i, &node) in layer.iter().enumerate() {
            index[node] = i;
        }
    }
    let mut placement = Placement {
        graph,
        sides,
        stretch,
        near,
        index,
        y: vec![0.0; nodes],
    };
    placement.start();
    for sweep in 0..SWEEPS {
        placement.sweep(sweep);
    }
    let blocks = placement.blocks();
    placement.straighten(&blocks);
    for sweep in 0..MOVES {
        placement.shift(&blocks, sweep);
    }
    placement.y
}

impl Placement<'_> {
    fn dummy(&self, node: usize) -> bool {
        self.graph.nodes[node] == Node::Dummy
    }

    /// Returns the least distance of two neighbours, from position to position.
    fn distance(&self, above: usize, below: usize) -> f64 {
        let box_like = |n: usize| matches!(self.graph.nodes[n], Node::Item(_));
        let gap = if box_like(above) || box_like(below) {
            CLEARANCE
        } else {
            LANE
        };
        (self.sides.extent[above][1] + gap - self.sides.extent[below][0]) * self.stretch
    }

    fn weight(&self, a: usize, b: usize) -> f64 {
        WEIGHT[usize::from(self.dummy(a)) + usize::from(self.dummy(b))]
    }

    /// Packs each layer around 0.
    fn start(&mut self) {
        for layer in &self.graph.layers {
            let mut next = 0.0;
            for (i, &node) in layer.iter().enumerate() {
                if i > 0 {
                    next += self.distance(layer[i - 1], node);
                }
                self.y[node] = next;
            }
            for &node in layer {
                self.y[node] -= next / 2.0;
            }
        }
    }

    /// Moves the nodes of all layers in turn to the mean of their neighbours: on the left in even
    /// sweeps, on the right in odd ones, and on both sides in the second half.
    fn sweep(&mut self, sweep: usize) {
        let both = sweep >= SWEEPS / 2;
        let count = self.graph.layers.len();
        for step in 0..count {
            let (at, side) = if sweep % 2 == 0 {
                (step, 0)
            } else {
                (count - 1 - step, 1)
            };
            let layer = &self.graph.layers[at];
            let mut wished = Vec::with_capacity(layer.len());
            let mut weights = Vec::with_capacity(layer.len());
            let mut distance = Vec::with_capacity(layer.len());
            for (i, &node) in layer.iter().enumerate() {
                let (mut sum, mut total) = (0.0, 0.0);
                for s in 0..2 {
                    if both || s == side {
                        for &(far, difference) in &self.near[s][node] {
                            let weight = self.weight(node, far);
                            sum += weight * (self.y[far] - difference);
                            total += weight;
                        }
                    }
                }
                if total > 0.0 {
                    wished.push(sum / total);
                    weights.push(total);
                } else {
                    wished.push(self.y[node]);
                    weights.push(0.01);
                }
                distance.push(if i > 0 {
                    self.distance(layer[i - 1], node)
                } else {
                    0.0
                });
            }
            let y = weighted_spread(&wished, &distance, |i| weights[i]);
            for (&node, y) in layer.iter().zip(y) {
                self.y[node] = y;
            }
        }
    }

    /// Joins the dummies of long lines to blocks, where they do not cross other long lines.
    fn blocks(&self) -> Blocks {
        let nodes = self.graph.nodes.len();
        let mut next = vec![usize::MAX; nodes];
        let mut joined = vec![false; nodes];
        for layer in &self.graph.layers {
            // Links between dummies in the order of their upper ends.
            let inner: Vec<(usize, usize)> = layer
                .iter()
                .filter(|&&n| self.dummy(n))
                .flat_map(|&n| {
                    let far = self.near[1][n].iter().map(|f| f.0);
                    far.filter(|&f| self.dummy(f)).map(move |f| (n, f)).take(1)
                })
                .collect();
            let ends: Vec<usize> = inner.iter().map(|&(_, f)| self.index[f]).collect();
            for i in increasing(&ends) {
                next[inner[i].0] = inner[i].1;
                joined[inner[i].1] = true;
            }
        }
        let mut blocks = Blocks {
            of: vec![0; nodes],
            members: Vec::new(),
        };
        for layer in &self.graph.layers {
            for &node in layer {
                if joined[node] {
                    continue;
                }
                let mut members = vec![node];
                let mut at = node;
                while next[at] != usize::MAX {
                    at = next[at];
                    members.push(at);
                }
                for &member in &members {
                    blocks.of[member] = blocks.members.len();
                }
                blocks.members.push(members);
            }
        }
        blocks
    }

    /// Returns the blocks from top to bottom: each after all blocks above it in some layer.
    fn downwards(&self, blocks: &Blocks) -> Vec<usize> {
        let mut missing = vec![0; blocks.members.len()];
        for (block, members) in blocks.members.iter().enumerate() {
            missing[block] = members.iter().filter(|&&n| self.index[n] > 0).count();
        }
        let mut order: Vec<usize> = (0..missing.len()).filter(|&b| missing[b] == 0).collect();
        let mut at = 0;
        while at < order.len() {
            for &node in &blocks.members[order[at]] {
                let layer = &self.graph.layers[self.graph.layer[node]];
                if let Some(&below) = layer.get(self.index[node] + 1) {
                    let below = blocks.of[below];
                    missing[below] -= 1;
                    if missing[below] == 0 {
                        order.push(below);
                    }
                }
            }
            at += 1;
        }
        order
    }

    /// Gives all members of a block the same position, close to their mean.
    fn straighten(&mut self, blocks: &Blocks) {
        let order = self.downwards(blocks);
        let wished: Vec<f64> = blocks
            .members
            .iter()
            .map(|m| m.iter().map(|&n| self.y[n]).sum::<f64>() / m.len() as f64)
            .collect();
        // Two solutions: pushed down from the wishes, and pushed up. Their mean satisfies all
        // distances, because each of them does.
        let mut down = wished.clone();
        for &block in &order {
            for &node in &blocks.members[block] {
                let layer = &self.graph.layers[self.graph.layer[node]];
                if let Some(above) = self.index[node].checked_sub(1).map(|i| layer[i]) {
                    let least = down[blocks.of[above]] + self.distance(above, node);
                    down[block] = down[block].max(least);
                }
            }
        }
        let mut up = wished;
        for &block in order.iter().rev() {
            for &node in &blocks.members[block] {
                let layer = &self.graph.layers[self.graph.layer[node]];
                if let Some(&below) = layer.get(self.index[node] + 1) {
                    let most = up[blocks.of[below]] - self.distance(node, below);
                    up[block] = up[block].min(most);
                }
            }
        }
        for (block, members) in blocks.members.iter().enumerate() {
            for &node in members {
                self.y[node] = (down[block] + up[block]) / 2.0;
            }
        }
    }

    /// Moves each block to the median of the positions that make one of its links straight, as far
    /// as its neighbours allow it.
    fn shift(&mut self, blocks: &Blocks, sweep: usize) {
        let count = blocks.members.len();
        for step in 0..count {
            let block = if sweep % 2 == 0 {
                step
            } else {
                count - 1 - step
            };
            let members = &blocks.members[block];
            let (mut least, mut most) = (f64::NEG_INFINITY, f64::INFINITY);
            let mut wishes = Vec::new();
            for &node in members {
                let layer = &self.graph.layers[self.graph.layer[node]];
                if let Some(above) = self.index[node].checked_sub(1).map(|i| layer[i]) {
                    least = least.max(self.y[above] + self.distance(above, node));
                }
                if let Some(&below) = layer.get(self.index[node] + 1) {
                    most = most.min(self.y[below] - self.distance(node, below));
                }
                for side in 0..2 {
                    for &(far, difference) in &self.near[side][node] {
                        if blocks.of[far] != block {
                            wishes.push((self.y[far] - difference, self.weight(node, far)));
                        }
                    }
                }
            }
            if wishes.is_empty() || least > most {
                continue;
            }
            let now = self.y[members[0]];
            let y = median(&mut wishes, now).clamp(least, most);
            for &node in members {
                self.y[node] = y;
            }
        }
    }
}

/// Returns the weighted median. If it is an interval, the end that is closer to `now` for two
/// wishes, and the middle for more.
fn median(wishes: &mut [(f64, f64)], now: f64) -> f64 {
    wishes.sort_by(|a, b| a.0.total_cmp(&b.0));
    let half = wishes.iter().map(|w| w.1).sum::<f64>() / 2.0;
    let mut sum = 0.0;
    for (i, wish) in wishes.iter().enumerate() {
        sum += wish.1;
        if sum > half + 1e-9 {
            return wish.0;
        }
        if sum > half - 1e-9
            && let Some(next) = wishes.get(i + 1)
        {
            let (low, high) = (wish.0, next.0);
            return if wishes.len() > 2 {
                (low + high) / 2.0
            } else if now - low < high - now {
                low
            } else {
                high
            };
        }
    }
    now
}

/// Returns the indices of a longest increasing subsequence. O(n log n).
fn increasing(numbers: &[usize]) -> Vec<usize> {
    // Index of the last number of the best subsequence of each length.
    let mut last: Vec<usize> = Vec::new();
    let mut before = vec![usize::MAX; numbers.len()];
    for (i, &number) in numbers.iter().enumerate() {
        let length = last.partition_point(|&l| numbers[l] < number);
        if length > 0 {
            before[i] = last[length - 1];
        }
        if length == last.len() {
            last.push(i);
        } else {
            last[length] = i;
        }
    }
    let mut result = Vec::new();
    let mut at = last.last().copied();
    while let Some(i) = at {
        result.push(i);
        at = Some(before[i]).filter(|&b| b != usize::MAX);
    }
    result.reverse();
    result
}
