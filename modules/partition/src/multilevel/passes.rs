//! The two sides of a bisection: grown from a vertex, then improved by passes of single moves
//! (Fiduccia and Mattheyses, "A linear-time heuristic for improving network partitions", 1982).
//!
//! Vertices wait in buckets by gain, the latest first, so that a move costs what its neighbours
//! cost and no logarithm.

use super::sub::{Sides, Sub};
use crate::random::Random;

const NONE: u32 = u32::MAX;
/// Gains beyond this many different ones share buckets.
const BUCKETS: i64 = 1024;

/// Vertices by gain, as doubly linked lists.
#[derive(Default)]
struct Queue {
    head: Vec<u32>,
    /// The highest bucket that may hold a vertex, and one.
    top: usize,
}

/// Two queues over the same vertices, one a side; a vertex is in at most one.
struct Queues {
    sides: [Queue; 2],
    next: Vec<u32>,
    /// Vertex before, or the bucket with the highest bit set.
    before: Vec<u32>,
    /// Bucket of each vertex that waits.
    bucket: Vec<u32>,
    offset: i64,
    shift: u32,
}

const FIRST: u32 = 1 << 31;

impl Queues {
    /// For gains from `-most` to `most`.
    fn new(n: usize, most: i64) -> Self {
        let mut shift = 0;
        while (2 * most) >> shift >= BUCKETS {
            shift += 1;
        }
        let count = ((2 * most) >> shift) as usize + 2;
        let queue = || Queue {
            head: vec![NONE; count],
            top: 0,
        };
        Self {
            sides: [queue(), queue()],
            next: vec![NONE; n],
            before: vec![NONE; n],
            bucket: vec![NONE; n],
            offset: most,
            shift,
        }
    }

    fn clear(&mut self) {
        for queue in &mut self.sides {
            queue.head.fill(NONE);
            queue.top = 0;
        }
        self.bucket.fill(NONE);
    }

    #[inline]
    fn waits(&self, v: u32) -> bool {
        self.bucket[v as usize] != NONE
    }

    fn insert(&mut self, side: usize, v: u32, gain: i64) {
        let at = ((gain + self.offset) >> self.shift) as usize;
        let queue = &mut self.sides[side];
        let old = std::mem::replace(&mut queue.head[at], v);
        queue.top = queue.top.max(at + 1);
        self.next[v as usize] = old;
        self.before[v as usize] = FIRST | at as u32;
        self.bucket[v as usize] = at as u32;
        if old != NONE {
            self.before[old as usize] = v;
        }
    }

    fn remove(&mut self, side: usize, v: u32) {
        let (before, next) = (self.before[v as usize], self.next[v as usize]);
        if before & FIRST != 0 {
            self.sides[side].head[(before & !FIRST) as usize] = next;
        } else {
            self.next[before as usize] = next;
        }
        if next != NONE {
            self.before[next as usize] = before;
        }
        self.bucket[v as usize] = NONE;
    }

    /// A vertex in the highest bucket of a side.
    fn best(&mut self, side: usize) -> Option<u32> {
        let queue = &mut self.sides[side];
        while queue.top > 0 {
            let v = queue.head[queue.top - 1];
            if v != NONE {
                return Some(v);
            }
            queue.top -= 1;
        }
        None
    }
}

/// Most that a vertex's edges weigh together.
fn widest(sub: &Sub) -> i64 {
    let sum = |v: u32| sub.row(v).map(|e| e.1).sum();
    (0..sub.len() as u32).map(sum).max().unwrap_or(0)
}

/// Grows the first side from a random vertex, always by a vertex that adds least to the cut.
pub(crate) fn grow(sub: &Sub, sides: Sides, attempt: usize, random: &mut Random) -> Vec<u8> {
    let n = sub.len();
    let mut side = vec![1_u8; n];
    let mut inside = 0;
    let mut gain: Vec<i64> = vec![0; n];
    let mut queues = Queues::new(n, widest(sub));
    let mut must: Vec<u32> = Vec::new();
    for v in 0..n as u32 {
        gain[v as usize] = -sub.row(v).map(|e| e.1).sum::<i64>();
        if sub.fixed(v) == 1 {
            must.push(v);
        }
    }
    let mut unseen: Vec<u32> = (0..n as u32).filter(|&v| sub.fixed(v) == 0).collect();
    if attempt % 4 != 3 {
        random.shuffle(&mut unseen);
    }
    loop {
        let forced = must.pop();
        let Some(v) = forced.or_else(|| queues.best(0)).or_else(|| unseen.pop()) else {
            break;
        };
        if queues.waits(v) {
            queues.remove(0, v);
        }
        if side[v as usize] == 0 {
            continue;
        }
        let size = sub.size[v as usize];
        // Past the target only when that is nearer to it than stopping here.
        if forced.is_none() && inside + size - sides.want > sides.want - inside {
            if inside >= sides.want {
                break;
            }
            continue;
        }
        side[v as usize] = 0;
        inside += size;
        for (u, w) in sub.row(v) {
            gain[u as usize] += 2 * w;
            if side[u as usize] == 1 && sub.fixed(u) == 0 {
                if queues.waits(u) {
                    queues.remove(0, u);
                }
                queues.insert(0, u, gain[u as usize]);
            }
        }
    }
    side
}

/// The side to move from next, of two whose best vertices gain so much, and that have so much room left: the
/// overfull one, else that of the better gain, else the fuller one. A move may overfill the other side by one
/// vertex; the next ones then come back.
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

/// A bisection under change.
struct Halves<'a> {
    sub: &'a Sub,
    sides: Sides,
    load: [i64; 2],
    /// What the cut falls by when a vertex changes sides.
    gain: Vec<i64>,
    cut: i64,
}

impl<'a> Halves<'a> {
    fn new(sub: &'a Sub, side: &[u8], sides: Sides) -> Self {
        let mut halves = Self {
            sub,
            sides,
            load: [0; 2],
            gain: vec![0; sub.len()],
            cut: 0,
        };
        for v in 0..sub.len() as u32 {
            let here = side[v as usize];
            halves.load[here as usize] += sub.size[v as usize];
            let mut gain = 0;
            for (u, w) in sub.row(v) {
                if side[u as usize] == here {
                    gain -= w;
                } else {
                    gain += w;
                    halves.cut += w;
                }
            }
            halves.gain[v as usize] = gain;
        }
        halves.cut /= 2;
        halves
    }

    fn over(&self, i: usize) -> i64 {
        (self.load[i] - self.sides.most[i]).max(0)
    }

    /// Violation of the sides and cut.
    fn worth(&self) -> (i64, i64) {
        (self.over(0) + self.over(1), self.cut)
    }

    /// Changes the side of a vertex; its neighbours are told by `told`.
    fn turn(&mut self, side: &mut [u8], v: u32, mut told: impl FnMut(u32, i64, usize)) {
        let from = side[v as usize] as usize;
        self.cut -= self.gain[v as usize];
        self.gain[v as usize] = -self.gain[v as usize];
        side[v as usize] = 1 - from as u8;
        self.load[from] -= self.sub.size[v as usize];
        self.load[1 - from] += self.sub.size[v as usize];
        for (u, w) in self.sub.row(v) {
            let there = side[u as usize] as usize;
            let gain = &mut self.gain[u as usize];
            *gain += if there == from { 2 * w } else { -2 * w };
            told(u, *gain, there);
        }
    }

    /// The side to move from next, and its best vertex.
    fn next(&self, queues: &mut Queues) -> Option<(usize, u32)> {
        let top = [queues.best(0), queues.best(1)];
        let gains = top.map(|v| v.map(|v| self.gain[v as usize]));
        let room = [0, 1].map(|i| self.sides.most[i] - self.load[i]);
        let from = side_to_leave(gains, room)?;
        top[from].map(|v| (from, v))
    }
}

/// Passes of single moves with rollback to the best prefix; returns violation and cut.
pub(crate) fn refine(sub: &Sub, side: &mut [u8], sides: Sides, random: &mut Random) -> (i64, i64) {
    let n = sub.len();
    let mut halves = Halves::new(sub, side, sides);
    let mut queues = Queues::new(n, widest(sub));
    let patience = (n / 16).clamp(24, 2000);
    let mut moved = vec![false; n];
    let mut trail: Vec<u32> = Vec::new();
    for _ in 0..6 {
        queues.clear();
        let turn = random.below(n.max(1));
        for v in (turn..n).chain(0..turn) {
            let here = side[v];
            let over = halves.over(here as usize) > 0;
            let cut = || sub.row(v as u32).any(|(u, _)| side[u as usize] != here);
            if sub.fixed(v as u32) == 0 && (n <= 64 || over || cut()) {
                queues.insert(here as usize, v as u32, halves.gain[v]);
            }
        }
        trail.clear();
        let start = halves.worth();
        let mut best = (start, 0);
        while trail.len() < best.1 + patience {
            let Some((from, v)) = halves.next(&mut queues) else {
                break;
            };
            queues.remove(from, v);
            moved[v as usize] = true;
            trail.push(v);
            halves.turn(side, v, |u, gain, there| {
                if moved[u as usize] || sub.fixed(u) != 0 {
                    return;
                }
                if queues.waits(u) {
                    queues.remove(there, u);
                }
                queues.insert(there, u, gain);
            });
            let now = halves.worth();
            if now < best.0 {
                best = (now, trail.len());
            }
        }
        for &v in trail[best.1..].iter().rev() {
            halves.turn(side, v, |_, _, _| ());
        }
        trail.iter().for_each(|&v| moved[v as usize] = false);
        if best.0 == start {
            break;
        }
    }
    halves.worth()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::csr::Csr;

    /// Two cliques of eight with one edge between them, in alternating order.
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

    #[test]
    fn finds_the_bridge() {
        let sub = cliques();
        let mut random = Random::new(1);
        let best = (0..8).map(|attempt| {
            let mut side = grow(&sub, SIDES, attempt, &mut random);
            let worth = refine(&sub, &mut side, SIDES, &mut random);
            assert_eq!(worth, sub.judge(&side, SIDES));
            worth
        });
        assert_eq!(best.min(), Some((0, 3)));
    }

    #[test]
    fn leaves_fixed_vertices() {
        let mut sub = cliques();
        sub.fixed = (0..16).map(|v| [0, 1, 2][v % 3]).collect();
        let mut random = Random::new(2);
        let mut side = grow(&sub, SIDES, 0, &mut random);
        let held = |side: &[u8]| (0..16).all(|v| sub.fixed[v] == 0 || sub.fixed[v] == side[v] + 1);
        assert!(held(&side));
        let before = sub.judge(&side, SIDES);
        assert!(refine(&sub, &mut side, SIDES, &mut random) <= before);
        assert!(held(&side));
    }

    #[test]
    fn wide_gains_share_buckets() {
        let mut queues = Queues::new(3, 1 << 40);
        queues.insert(0, 0, -(1 << 40));
        queues.insert(0, 1, 1 << 40);
        queues.insert(0, 2, 5);
        assert_eq!(queues.best(0), Some(1));
        queues.remove(0, 1);
        assert_eq!(queues.best(0), Some(2));
        queues.remove(0, 2);
        assert_eq!(queues.best(0), Some(0));
        queues.remove(0, 0);
        assert_eq!((queues.best(0), queues.best(1)), (None, None));
    }
}
