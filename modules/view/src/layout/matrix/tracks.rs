//! Tracks: parallel positions in a gap, so that segments of different nets do not overlap.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A segment along a gap.
#[derive(Clone, Debug)]
pub(super) struct Span {
    /// Its lower end.
    pub(super) low: f64,
    /// Its upper end.
    pub(super) high: f64,
    /// The end of the gap near which its track is: negative for the left or upper end, positive for
    /// the other, 0 for neither.
    pub(super) side: i32,
    /// Positions of the lines that join it, and the end of the gap from which they come: negative
    /// for the left or upper end, positive for the other, 0 for both.
    pub(super) taps: Vec<(f64, i32)>,
}

/// Group of spans that have tracks of their own, in the order of the tracks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Class {
    Lower,
    Rising,
    Falling,
    Upper,
}

impl Span {
    /// Returns the class, and a key of the order in it that causes few crossings. At the ends of
    /// the gap, short spans are nearest to the end, because then nested spans do not cross. In the
    /// middle, the order is the one of river routing.
    fn class(&self) -> (Class, f64) {
        let length = self.high - self.low;
        let mean = |sign: i32| {
            let of = || self.taps.iter().filter(|tap| tap.1 == sign);
            of().map(|tap| tap.0).sum::<f64>() / of().count().max(1) as f64
        };
        match self.side {
            ..0 => (Class::Lower, length),
            1.. => (Class::Upper, -length),
            0 if mean(-1) < mean(1) => (Class::Rising, -self.low - self.high),
            0 => (Class::Falling, self.low + self.high),
        }
    }
}

/// Returns the track of each span, from 0, and the number of tracks. Spans on the same track are
/// at least `distance` apart.
///
/// Each class is coloured by the left edge algorithm, which needs the fewest tracks.
pub(super) fn assign(spans: &[Span], distance: f64) -> (Vec<usize>, usize) {
    let classes: Vec<(Class, f64)> = spans.iter().map(Span::class).collect();
    let mut order: Vec<usize> = (0..spans.len()).collect();
    order.sort_by(|&a, &b| {
        let by_low = spans[a].low.total_cmp(&spans[b].low);
        classes[a].0.cmp(&classes[b].0).then(by_low)
    });
    let mut track = vec![0; spans.len()];
    let mut used = 0;
    for class in order.chunk_by(|&a, &b| classes[a].0 == classes[b].0) {
        let mut ends: BinaryHeap<Reverse<(Ordered, usize)>> = BinaryHeap::new();
        let mut keys: Vec<(f64, f64)> = Vec::new();
        for &span in class {
            let free = ends
                .peek()
                .filter(|Reverse((end, _))| end.0 + distance <= spans[span].low)
                .map(|Reverse((_, track))| *track);
            if free.is_some() {
                ends.pop();
            } else {
                keys.push((0.0, 0.0));
            }
            let chosen = free.unwrap_or(keys.len() - 1);
            ends.push(Reverse((Ordered(spans[span].high), chosen)));
            keys[chosen].0 += classes[span].1;
            keys[chosen].1 += 1.0;
            track[span] = chosen;
        }
        let mut by_key: Vec<usize> = (0..keys.len()).collect();
        by_key.sort_by(|&a, &b| (keys[a].0 / keys[a].1).total_cmp(&(keys[b].0 / keys[b].1)));
        let mut place = vec![0; keys.len()];
        for (i, &old) in by_key.iter().enumerate() {
            place[old] = used + i;
        }
        for &span in class {
            track[span] = place[track[span]];
        }
        used += keys.len();
    }
    (track, used)
}

/// A number with a total order.
#[derive(Clone, Copy)]
struct Ordered(f64);

impl PartialEq for Ordered {
    fn eq(&self, other: &Ordered) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Ordered {}

impl PartialOrd for Ordered {
    fn partial_cmp(&self, other: &Ordered) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Ordered {
    fn cmp(&self, other: &Ordered) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}
