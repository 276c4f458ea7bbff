//! The two sides of a bisection. One side is grown from a vertex. Passes of single moves then
//! improve both (Fiduccia and Mattheyses, "A linear-time heuristic for improving network
//! partitions", 1982).
//!
//! Vertices are queued in buckets by gain, last in first out. So a move takes time proportional to
//! the degree of the vertex, without a logarithm.

use std::ops::Deref;
use std::sync::Arc;

use crate::csr::Csr;
use crate::random::Random;

const NONE: u32 = u32::MAX;
/// Limit of the number of buckets. If there are more possible gains, several share a bucket.
const BUCKETS: i64 = 1024;
/// Largest number of passes over one level.
const PASSES: usize = 6;
/// Set in `before` of the first vertex of a bucket, together with the number of the bucket.
const FIRST: u32 = 1 << 31;

/// A graph with one size per vertex. Some vertices may be fixed to a side.
#[derive(Clone, Debug)]
pub(crate) struct Sub {
    pub(crate) graph: Csr,
    pub(crate) size: Arc<Vec<i64>>,
    /// 0 for free vertices, 1 for the first side, 2 for the second side. It is empty if all are
    /// free.
    pub(crate) fixed: Vec<u8>,
}

/// Desired and largest sizes of the two sides.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sides {
    /// Desired size of the first side.
    pub(crate) want: i64,
    /// Largest size of each side.
    pub(crate) most: [i64; 2],
}

/// Dereferences to the graph.
impl Deref for Sub {
    type Target = Csr;

    fn deref(&self) -> &Csr {
        &self.graph
    }
}

impl Sub {
    pub(super) fn fixed(&self, v: u32) -> u8 {
        self.fixed.get(v as usize).copied().unwrap_or(0)
    }
}

/// State of a vertex. All data that a move of its neighbour reads and writes is in one place.
struct Vertex {
    /// Decrease of the cut if the vertex changes sides.
    gain: i64,
    /// Next and previous vertex in the bucket. `before` is [`NONE`] if the vertex is not queued.
    next: u32,
    before: u32,
    /// Number of its edges that are cut.
    cut_edges: u32,
    side: u8,
    /// True if the vertex does not move, because it is fixed or has already moved in this pass.
    stays: bool,
}

/// Vertices of one side by gain, as the first vertex of each bucket.
#[derive(Default)]
struct Queue {
    head: Vec<u32>,
    /// Index of the highest bucket that may contain a vertex, plus one.
    top: usize,
    /// Range of the buckets that may have contained a vertex since the last clear.
    low: usize,
    high: usize,
}

impl Queue {
    fn clear(&mut self) {
        let used = self.low.min(self.high)..self.high;
        self.head[used].fill(NONE);
        (self.top, self.low, self.high) = (0, usize::MAX, 0);
    }
}

/// State of the passes. It is reused by later bisections.
#[derive(Default)]
pub(crate) struct Passes {
    vertices: Vec<Vertex>,
    /// A vertex is at most in the queue of its own side.
    queues: [Queue; 2],
    offset: i64,
    shift: u32,
    /// Moves of the current pass.
    trail: Vec<u32>,
    load: [i64; 2],
    cut: i64,
}

impl Passes {
    /// Sets up the vertices for the given sides, and empty queues for their gains. `side` must
    /// return 0 or 1.
    fn begin(&mut self, sub: &Sub, side: impl Fn(u32) -> u8) {
        let mut widest = 0;
        (self.load, self.cut) = ([0; 2], 0);
        self.vertices.clear();
        self.vertices.extend((0..sub.len() as u32).map(|v| {
            let here = side(v);
            let (mut within, mut beyond, mut cut_edges) = (0, 0, 0);
            for (u, w) in sub.row(v) {
                if side(u) == here {
                    within += w;
                } else {
                    beyond += w;
                    cut_edges += 1;
                }
            }
            self.load[here as usize] += sub.size[v as usize];
            self.cut += beyond;
            widest = widest.max(within + beyond);
            Vertex {
                gain: beyond - within,
                next: NONE,
                before: NONE,
                cut_edges,
                side: here,
                stays: sub.fixed(v) != 0,
            }
        }));
        self.cut /= 2;
        (self.offset, self.shift) = (widest, 0);
        while (2 * widest) >> self.shift >= BUCKETS {
            self.shift += 1;
        }
        let count = ((2 * widest) >> self.shift) as usize + 2;
        for queue in &mut self.queues {
            queue.clear();
            queue.head.resize(count, NONE);
        }
    }

    /// Inserts a vertex at the front of its bucket in the queue of a side. The vertex must not be
    /// queued.
    #[inline]
    fn insert(&mut self, side: usize, v: u32) {
        let vertex = &mut self.vertices[v as usize];
        let at = ((vertex.gain + self.offset) >> self.shift) as usize;
        let queue = &mut self.queues[side];
        let old = std::mem::replace(&mut queue.head[at], v);
        queue.top = queue.top.max(at + 1);
        queue.high = queue.high.max(at + 1);
        queue.low = queue.low.min(at);
        vertex.next = old;
        vertex.before = FIRST | at as u32;
        if old != NONE {
            self.vertices[old as usize].before = v;
        }
    }

    /// Removes a vertex from the queue of a side, if it is queued.
    #[inline]
    fn remove(&mut self, side: usize, v: u32) {
        let vertex = &mut self.vertices[v as usize];
        let (before, next) = (std::mem::replace(&mut vertex.before, NONE), vertex.next);
        if before == NONE {
            return;
        }
        if before & FIRST != 0 {
            self.queues[side].head[(before & !FIRST) as usize] = next;
        } else {
            self.vertices[before as usize].next = next;
        }
        if next != NONE {
            self.vertices[next as usize].before = before;
        }
    }

    /// Returns a vertex in the highest bucket of a side, or `None` if no vertex of the side is
    /// queued.
    fn best(&mut self, side: usize) -> Option<u32> {
        let queue = &mut self.queues[side];
        while queue.top > 0 {
            let v = queue.head[queue.top - 1];
            if v != NONE {
                return Some(v);
            }
            queue.top -= 1;
        }
        None
    }

    /// Returns the size by which the sides exceed their limits together, and the weight of the cut.
    fn worth(&self, sides: Sides) -> (i64, i64) {
        let over = |i: usize| (self.load[i] - sides.most[i]).max(0);
        (over(0) + over(1), self.cut)
    }

    /// Moves a vertex to the other side and updates the gains of its neighbours. Requeues the
    /// neighbours if `queued` is set.
    #[inline]
    fn flip(&mut self, sub: &Sub, v: u32, queued: bool) {
        let size = sub.size[v as usize];
        let vertex = &mut self.vertices[v as usize];
        let from = vertex.side;
        self.cut -= vertex.gain;
        vertex.gain = -vertex.gain;
        vertex.cut_edges = sub.degree(v) as u32 - vertex.cut_edges;
        vertex.side = 1 - from;
        self.load[from as usize] -= size;
        self.load[1 - from as usize] += size;
        for (u, w) in sub.row(v) {
            let vertex = &mut self.vertices[u as usize];
            let there = vertex.side;
            if there == from {
                vertex.gain += 2 * w;
                vertex.cut_edges += 1;
            } else {
                vertex.gain -= 2 * w;
                vertex.cut_edges -= 1;
            }
            if queued && !vertex.stays {
                self.remove(there as usize, u);
                self.insert(there as usize, u);
            }
        }
    }

    /// Returns the side from which the next vertex moves, and the best vertex of that side. Returns
    /// `None` if no vertex can move, see [`side_to_leave`].
    fn next(&mut self, sides: Sides) -> Option<(usize, u32)> {
        let top = [self.best(0), self.best(1)];
        let gains = top.map(|v| v.map(|v| self.vertices[v as usize].gain));
        let room = [0, 1].map(|i| sides.most[i] - self.load[i]);
        let from = side_to_leave(gains, room)?;
        top[from].map(|v| (from, v))
    }

    /// Returns the side of each vertex after growing the first side to about its desired size.
    /// Begins with the vertices fixed to it, and then a random vertex. In every fourth attempt, the
    /// last free vertex takes its place. Always adds a vertex that increases the cut about least.
    pub(super) fn grow(
        &mut self,
        sub: &Sub,
        sides: Sides,
        attempt: usize,
        random: &mut Random,
    ) -> Vec<u8> {
        let n = sub.len() as u32;
        self.begin(sub, |_| 1);
        let mut must: Vec<u32> = (0..n).filter(|&v| sub.fixed(v) == 1).collect();
        let mut unseen: Vec<u32> = (0..n).filter(|&v| sub.fixed(v) == 0).collect();
        if attempt % 4 != 3 {
            random.shuffle(&mut unseen);
        }
        let mut inside = 0;
        loop {
            let forced = must.pop();
            let Some(v) = forced.or_else(|| self.best(0)).or_else(|| unseen.pop()) else {
                break;
            };
            self.remove(0, v);
            if self.vertices[v as usize].side == 0 {
                continue;
            }
            let size = sub.size[v as usize];
            // Exceeds the target only if the result is closer to it.
            if forced.is_none() && inside + size - sides.want > sides.want - inside {
                if inside >= sides.want {
                    break;
                }
                continue;
            }
            self.vertices[v as usize].side = 0;
            inside += size;
            for (u, w) in sub.row(v) {
                let vertex = &mut self.vertices[u as usize];
                vertex.gain += 2 * w;
                if vertex.side == 1 && !vertex.stays {
                    self.remove(0, u);
                    self.insert(0, u);
                }
            }
        }
        self.vertices.iter().map(|vertex| vertex.side).collect()
    }

    /// Improves `side`, which contains the side of each vertex, by passes of single moves, each
    /// undone back to its best prefix. Returns the size above the limits and the weight of the cut.
    pub(super) fn refine(
        &mut self,
        sub: &Sub,
        side: &mut [u8],
        sides: Sides,
        random: &mut Random,
    ) -> (i64, i64) {
        let n = sub.len();
        self.begin(sub, |v| side[v as usize]);
        let patience = (n / 16).clamp(24, 2000);
        let mut trail = std::mem::take(&mut self.trail);
        let mut last = self.worth(sides);
        for pass in 1..=PASSES {
            let turn = random.below(n.max(1));
            let over = [0, 1].map(|i| self.load[i] > sides.most[i]);
            for v in (turn..n).chain(0..turn) {
                let vertex = &self.vertices[v];
                let side = usize::from(vertex.side);
                if !vertex.stays && (n <= 64 || over[side] || vertex.cut_edges > 0) {
                    self.insert(side, v as u32);
                }
            }
            trail.clear();
            let mut best = (last, 0);
            while trail.len() < best.1 + patience {
                let Some((from, v)) = self.next(sides) else {
                    break;
                };
                self.remove(from, v);
                self.vertices[v as usize].stays = true;
                trail.push(v);
                self.flip(sub, v, true);
                let now = self.worth(sides);
                if now < best.0 {
                    best = (now, trail.len());
                }
            }
            let is_last = best.0 == last || pass == PASSES;
            last = best.0;
            for &v in trail[best.1..].iter().rev() {
                match is_last {
                    // The gains are not needed after the last pass.
                    true => self.vertices[v as usize].side ^= 1,
                    false => self.flip(sub, v, false),
                }
            }
            if is_last {
                break;
            }
            self.queues.iter_mut().for_each(Queue::clear);
            for vertex in &mut self.vertices {
                vertex.before = NONE;
            }
            for &v in &trail {
                self.vertices[v as usize].stays = false;
            }
        }
        self.trail = trail;
        for (side, vertex) in side.iter_mut().zip(&self.vertices) {
            *side = vertex.side;
        }
        last
    }
}

/// Returns the side from which the next vertex moves, given the gain of the best vertex and the
/// space left on each side.
///
/// An overfull side is chosen first, then the side with the better gain, then the fuller side. A
/// move may overfill the other side by one vertex. The next moves then come from that side. Returns
/// `None` if neither side has a vertex, or if only one has and the other side is overfull.
pub(crate) fn side_to_leave(gain: [Option<i64>; 2], room: [i64; 2]) -> Option<usize> {
    match (gain, room.map(|room| room < 0)) {
        ([Some(_), _], [true, false]) => Some(0),
        ([_, Some(_)], [false, true]) => Some(1),
        ([Some(a), Some(b)], _) if a != b => Some(usize::from(b > a)),
        ([Some(_), Some(_)], _) => Some(usize::from(room[1] < room[0])),
        ([Some(_), None], [_, false]) => Some(0),
        ([None, Some(_)], [false, _]) => Some(1),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns two cliques of eight vertices in alternating order, with one edge between them.
    fn cliques() -> Sub {
        let tied = |v: u32, u: u32| u != v && (u % 2 == v % 2 || u / 2 == 0 && v / 2 == 0);
        let row = |v: u32| (0..16).filter(move |&u| tied(v, u)).map(|u| (u, 3));
        Sub {
            graph: Csr::of((0..16).map(row)),
            size: vec![1; 16].into(),
            fixed: Vec::new(),
        }
    }

    const SIDES: Sides = Sides {
        want: 8,
        most: [9, 9],
    };

    /// Returns the violation of the limits, and the cut.
    fn judge(sub: &Sub, side: &[u8]) -> (i64, i64) {
        let (mut load, mut cut) = ([0; 2], 0);
        for (v, &here) in (0..).zip(side) {
            load[here as usize] += sub.size[v as usize];
            let cuts = sub.row(v).filter(|e| side[e.0 as usize] != here);
            cut += cuts.map(|e| e.1).sum::<i64>();
        }
        let over = |i: usize| (load[i] - SIDES.most[i]).max(0);
        (over(0) + over(1), cut / 2)
    }

    #[test]
    fn finds_the_bridge() {
        let sub = cliques();
        let mut random = Random::new(1);
        let best = (0..8).map(|attempt| {
            let mut passes = Passes::default();
            let mut side = passes.grow(&sub, SIDES, attempt, &mut random);
            let worth = passes.refine(&sub, &mut side, SIDES, &mut random);
            assert_eq!(worth, judge(&sub, &side));
            worth
        });
        assert_eq!(best.min(), Some((0, 3)));
    }

    #[test]
    fn leaves_fixed_vertices() {
        let mut sub = cliques();
        sub.fixed = (0..16).map(|v| [0, 1, 2][v % 3]).collect();
        let mut random = Random::new(2);
        let mut passes = Passes::default();
        let mut side = passes.grow(&sub, SIDES, 0, &mut random);
        let held = |side: &[u8]| (0..16).all(|v| sub.fixed[v] == 0 || sub.fixed[v] == side[v] + 1);
        assert!(held(&side));
        let before = judge(&sub, &side);
        assert!(passes.refine(&sub, &mut side, SIDES, &mut random) <= before);
        assert!(held(&side));
    }

    #[test]
    fn wide_gains_share_buckets() {
        let weights = [1 << 40, 5];
        let row = |v: usize| match v {
            0 => vec![(1, weights[0])],
            1 => vec![(0, weights[0]), (2, weights[1])],
            _ => vec![(1, weights[1])],
        };
        let sub = Sub {
            graph: Csr::of((0..3).map(row)),
            size: vec![1; 3].into(),
            fixed: Vec::new(),
        };
        let mut passes = Passes::default();
        passes.begin(&sub, |v| u8::from(v == 0));
        assert_eq!(passes.cut, 1 << 40);
        (0..3).for_each(|v| passes.insert(0, v));
        // Both ends of the cut edge have nearly the same gain. The last inserted one is first.
        assert_eq!(passes.best(0), Some(1));
        passes.remove(0, 1);
        assert_eq!(passes.best(0), Some(0));
        passes.remove(0, 0);
        assert_eq!(passes.best(0), Some(2));
        passes.remove(0, 2);
        assert_eq!((passes.best(0), passes.best(1)), (None, None));
    }
}
