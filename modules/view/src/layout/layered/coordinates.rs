//! Vertical positions of the nodes of ordered layers.

use super::graph::{Graph, Node};
use super::sides::{Rows, Sides, weighted_spread};
use super::simplex::{self, Edge};
use crate::layout::scope::{CLEARANCE, LANE};

/// Most sweeps over the layers that move each layer as a whole. An even number.
const SWEEPS: usize = 12;
/// Least number of these sweeps.
const LEAST_SWEEPS: usize = 4;
/// Most sweeps that move each block on its own.
const MOVES: usize = 24;
/// Least number of these sweeps.
const LEAST_MOVES: usize = 2;
/// Sweeps after rows have changed.
const FOLLOWS: usize = 4;
/// Number of nodes that these sweeps move.
const MOVE_WORK: usize = 2_000_000;
/// Weights of links by the number of dummies at their ends.
const WEIGHT: [f64; 3] = [1.0, 2.0, 8.0];

/// Most blocks and links for which the network simplex minimizes the climb of lines.
const MOST_BLOCKS: usize = 20_000;
/// Work of this network simplex.
const WORK: usize = 8_000_000;
/// Its units for each unit of the picture.
const UNITS: f64 = 1024.0;

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
    let mut placement = Placement::new(graph, sides, rows, stretch, vec![0.0; nodes]);
    placement.start();
    let sweeps = (MOVE_WORK / nodes.max(1)).clamp(LEAST_SWEEPS, SWEEPS) / 2 * 2;
    for sweep in 0..sweeps {
        placement.sweep(sweep, sweep >= sweeps / 2);
    }
    let blocks = placement.blocks();
    placement.straighten(&blocks);
    let moves = (MOVE_WORK / nodes.max(1)).clamp(LEAST_MOVES, MOVES);
    for sweep in 0..moves {
        placement.shift(&blocks, sweep, false);
    }
    placement.optimize(&blocks);
    for sweep in 0..moves {
        placement.centre(&blocks, sweep);
    }
    placement.y
}

/// Moves border ports and long lines level with the ends of their lines, after the rows of ports
/// have changed. Leaves very large graphs as they are.
pub(super) fn follow(
    graph: &Graph,
    sides: &Sides,
    rows: &Rows,
    stretch: f64,
    y: Vec<f64>,
) -> Vec<f64> {
    if y.len() > MOVE_WORK / MOVES {
        return y;
    }
    let mut placement = Placement::new(graph, sides, rows, stretch, y);
    let blocks = placement.blocks();
    for sweep in 0..FOLLOWS {
        placement.shift(&blocks, sweep, true);
    }
    placement.y
}

impl Placement<'_> {
    fn new<'a>(
        graph: &'a Graph,
        sides: &'a Sides,
        rows: &Rows,
        stretch: f64,
        y: Vec<f64>,
    ) -> Placement<'a> {
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
        Placement {
            graph,
            sides,
            stretch,
            near,
            index,
            y,
        }
    }

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

    /// Moves the nodes of one layer after the other to the mean of their neighbours: on the left in
    /// even sweeps, on the right in odd ones, or on both sides.
    fn sweep(&mut self, sweep: usize, both: bool) {
        let count = self.graph.layers.len();
        for step in 0..count {
            let (at, side) = if sweep.is_multiple_of(2) {
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
    /// as its neighbours allow it. Moves no items if `keep_items` is set.
    fn shift(&mut self, blocks: &Blocks, sweep: usize, keep_items: bool) {
        let count = blocks.members.len();
        let mut wishes = Vec::new();
        for step in 0..count {
            let block = if sweep.is_multiple_of(2) {
                step
            } else {
                count - 1 - step
            };
            let first = blocks.members[block][0];
            if keep_items && matches!(self.graph.nodes[first], Node::Item(_)) {
                continue;
            }
            wishes.clear();
            for &node in &blocks.members[block] {
                self.wishes(blocks, node, 0, &mut wishes);
                self.wishes(blocks, node, 1, &mut wishes);
            }
            self.move_to(blocks, block, &mut wishes);
        }
    }

    /// Moves items to the middle of their neighbours, as far as that lengthens no link, or if the
    /// neighbours on one side have no other link on their side.
    fn centre(&mut self, blocks: &Blocks, sweep: usize) {
        let count = blocks.members.len();
        let mut wishes = Vec::new();
        for step in 0..count {
            let block = if sweep.is_multiple_of(2) {
                step
            } else {
                count - 1 - step
            };
            let node = blocks.members[block][0];
            if self.dummy(node) {
                continue;
            }
            let [left, right] = [0, 1].map(|side| self.near[side][node].len());
            let own = |side: usize| {
                let near = &self.near[side][node];
                near.iter()
                    .all(|&(far, _)| self.near[1 - side][far].len() == 1)
            };
            wishes.clear();
            if right <= left || !own(1) {
                self.wishes(blocks, node, 0, &mut wishes);
            }
            if left <= right || !own(0) {
                self.wishes(blocks, node, 1, &mut wishes);
            }
            if wishes.len() == 2 && (left == 2 || right == 2) {
                let middle = (wishes[0].0 + wishes[1].0) / 2.0;
                wishes = vec![(middle, 1.0)];
            }
            self.move_to(blocks, block, &mut wishes);
        }
    }

    /// Adds the positions of a node that make its links on a side straight, with their weights.
    fn wishes(&self, blocks: &Blocks, node: usize, side: usize, wishes: &mut Vec<(f64, f64)>) {
        for &(far, difference) in &self.near[side][node] {
            if blocks.of[far] != blocks.of[node] {
                wishes.push((self.y[far] - difference, self.weight(node, far)));
            }
        }
    }

    /// Moves a block to the median of wishes, as far as its neighbours allow it.
    fn move_to(&mut self, blocks: &Blocks, block: usize, wishes: &mut [(f64, f64)]) {
        let members = &blocks.members[block];
        let (mut least, mut most) = (f64::NEG_INFINITY, f64::INFINITY);
        for &node in members {
            let layer = &self.graph.layers[self.graph.layer[node]];
            if let Some(above) = self.index[node].checked_sub(1).map(|i| layer[i]) {
                least = least.max(self.y[above] + self.distance(above, node));
            }
            if let Some(&below) = layer.get(self.index[node] + 1) {
                most = most.min(self.y[below] - self.distance(node, below));
            }
        }
        if wishes.is_empty() || least > most {
            return;
        }
        let y = median(wishes, self.y[members[0]]).clamp(least, most);
        for &node in members {
            self.y[node] = y;
        }
    }

    /// Minimizes the weighted climb of all links by the network simplex, in graphs that are not too
    /// large for it. Keeps the positions if the simplex does not find better ones in time.
    fn optimize(&mut self, blocks: &Blocks) {
        let count = blocks.members.len();
        if count + self.graph.links.len() > MOST_BLOCKS {
            return;
        }
        let units = |y: f64| (y * UNITS).round() as i64;
        let order = self.downwards(blocks);
        let mut pairs = Vec::new();
        for layer in &self.graph.layers {
            for pair in layer.windows(2) {
                let length = (self.distance(pair[0], pair[1]) * UNITS).ceil() as i64;
                pairs.push((blocks.of[pair[0]], blocks.of[pair[1]], -length));
            }
        }
        pairs.sort_unstable();
        pairs.dedup_by_key(|p| (p.0, p.1));
        let mut edges: Vec<Edge> = pairs
            .iter()
            .map(|&(tail, head, length)| Edge {
                tail,
                head,
                length: -length,
                weight: 0,
            })
            .collect();
        // Rounding may have made distances longer. Blocks are pushed down from top to bottom.
        let mut initial: Vec<i64> = blocks.members.iter().map(|m| units(self.y[m[0]])).collect();
        for &block in &order {
            let first = edges.partition_point(|e| e.tail < block);
            for edge in edges[first..].iter().take_while(|e| e.tail == block) {
                initial[edge.head] = initial[edge.head].max(initial[block] + edge.length);
            }
        }
        for node in 0..self.graph.nodes.len() {
            for &(far, difference) in &self.near[1][node] {
                let (a, b) = (blocks.of[node], blocks.of[far]);
                if a == b {
                    continue;
                }
                let difference = units(difference);
                let (up, down) = ((-difference).max(0), difference.max(0));
                let middle = initial.len();
                initial.push((initial[a] - up).min(initial[b] - down));
                let weight = self.weight(node, far) as i64;
                for (head, length) in [(a, up), (b, down)] {
                    edges.push(Edge {
                        tail: middle,
                        head,
                        length,
                        weight,
                    });
                }
            }
        }
        let cost = |position: &[i64]| -> i64 {
            let length = |e: &Edge| e.weight * (position[e.head] - position[e.tail] - e.length);
            edges.iter().map(length).sum()
        };
        let before = cost(&initial);
        let position = simplex::improved(initial, &edges, WORK);
        if cost(&position) <= before {
            for (block, members) in blocks.members.iter().enumerate() {
                for &node in members {
                    self.y[node] = position[block] as f64 / UNITS;
                }
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
