//! The costliest group, by dynamic programming along a sweep.
//!
//! Every vertex in a group earns its price, every edge with one end in the group costs its weight.
//! For each place in the order, each pattern of the front (which open vertices are in the group)
//! and each load so far, the table holds the most that the vertices still to come can add, for a
//! group that ends with a load between two bounds. One pass from the last vertex to the first
//! fills it; its first entry is the most that any group is worth.

use super::sweep::Sweep;

/// Less than what any group is worth, with room for sums of prices on both sides.
pub(crate) const NEVER: i32 = i32::MIN / 2;
/// Prices and weights in one table must not sum to more.
pub(crate) const LARGEST: i64 = 1 << 28;

/// What counts along a sweep.
#[derive(Clone, Copy)]
pub(crate) struct Terms<'a> {
    pub(crate) sweep: &'a Sweep,
    /// What each vertex earns.
    pub(crate) price: &'a [i32],
    /// What each edge costs where it is cut.
    pub(crate) weight: &'a [i32],
}

/// What vertices still to come add to a group.
#[derive(Debug)]
pub(crate) struct Table {
    most: usize,
    least: usize,
    /// Where the rows of each place begin, and how long one is.
    rows: Vec<(usize, usize)>,
    value: Vec<i32>,
}

impl Table {
    /// The width of the front and the length of a row at each place, for groups of load `most`.
    fn shape(sweep: &Sweep, most: usize) -> impl Iterator<Item = (u32, usize)> {
        let steps = sweep.steps.iter().map(|s| (s.width, s.before));
        let places = steps.chain([(0, sweep.total())]);
        places.map(move |(width, before)| (width, before.min(most) + 1))
    }

    /// Entries of a table for groups of load `most`.
    pub(crate) fn size(sweep: &Sweep, most: usize) -> usize {
        let places = Self::shape(sweep, most);
        places.map(|(width, length)| length << width).sum()
    }

    /// For groups of load `least` to `most`.
    pub(crate) fn new(sweep: &Sweep, least: usize, most: usize) -> Self {
        let mut rows = Vec::with_capacity(sweep.steps.len() + 1);
        let mut at = 0;
        for (width, length) in Self::shape(sweep, most) {
            rows.push((at, length));
            at += length << width;
        }
        Self {
            most,
            least,
            rows,
            value: vec![NEVER; at],
        }
    }

    pub(crate) fn entries(&self) -> usize {
        self.value.len()
    }

    /// Fills the table; returns what the most expensive group is worth (`NEVER` or about it for none).
    pub(crate) fn fill(&mut self, terms: Terms<'_>) -> i32 {
        let sweep = terms.sweep;
        let last = sweep.steps.len();
        let (from, length) = self.rows[last];
        for (load, value) in self.value[from..from + length].iter_mut().enumerate() {
            *value = if load >= self.least { 0 } else { NEVER };
        }
        for (i, step) in sweep.steps.iter().enumerate().rev() {
            let (price, load) = (terms.price[step.vertex as usize], step.load);
            let (from, length) = self.rows[i];
            let (next, longer) = self.rows[i + 1];
            let (here, there) = self.value.split_at_mut(next);
            // So many entries have room for the vertex.
            let fits = length.min((self.most + 1).saturating_sub(load));
            for pattern in 0..1_u32 << step.width {
                let (out, inside) = cut(step, pattern, terms.weight);
                let row = &mut here[from + pattern as usize * length..][..length];
                let without = step.after(pattern) as usize * longer;
                let with = step.after(pattern | 1 << step.width) as usize * longer;
                let without = &there[without..][..length];
                for (value, x) in row.iter_mut().zip(without) {
                    *value = x - out;
                }
                if fits == 0 {
                    continue;
                }
                let with = &there[with + load..][..fits];
                for (value, x) in row.iter_mut().zip(with) {
                    *value = (*value).max(x + price - inside);
                }
            }
        }
        self.value[0]
    }

    /// What the vertices from a place on add to a group with this front and load.
    #[inline]
    pub(crate) fn value(&self, place: usize, pattern: u32, load: usize) -> i32 {
        let (from, length) = self.rows[place];
        if load >= length {
            return NEVER;
        }
        self.value[from + pattern as usize * length + load]
    }

    /// The costliest groups, after [`Self::fill`] with the same terms: the most expensive of all first, then
    /// up to `count` that hardly share vertices, each the most expensive among those that begin at some
    /// vertex of the order.
    pub(crate) fn costliest(&self, terms: Terms<'_>, count: usize) -> Vec<Vec<bool>> {
        let sweep = terms.sweep;
        let mut first: Vec<(i32, usize)> = Vec::new();
        for (i, step) in sweep.steps.iter().enumerate() {
            let alone = step.after(1 << step.width);
            let worth = self.value(i + 1, alone, step.load);
            if worth > NEVER / 2 {
                let own = terms.price[step.vertex as usize] - cut(step, 0, terms.weight).1;
                first.push((worth + own, i));
            }
        }
        first.sort_unstable_by_key(|f| (std::cmp::Reverse(f.0), f.1));
        let mut taken = vec![false; sweep.steps.len()];
        let mut groups = vec![self.from(terms, None)];
        let mut tries = 2 * count;
        for (_, start) in first {
            if groups.len() > count || tries == 0 {
                break;
            }
            if taken[sweep.steps[start].vertex as usize] {
                continue;
            }
            tries -= 1;
            let group = self.from(terms, Some(start));
            let size = group.iter().filter(|x| **x).count();
            let shared = group.iter().zip(&taken).filter(|x| *x.0 && *x.1).count();
            if 4 * shared <= size {
                taken.iter_mut().zip(&group).for_each(|(t, g)| *t |= g);
                groups.push(group);
            }
        }
        groups
    }

    /// The costliest group, or that whose first vertex stands at a place.
    fn from(&self, terms: Terms<'_>, start: Option<usize>) -> Vec<bool> {
        let steps = &terms.sweep.steps;
        let mut inside = vec![false; steps.len()];
        let (mut pattern, mut load) = (0, 0);
        for (i, step) in steps.iter().enumerate().skip(start.unwrap_or(0)) {
            let v = step.vertex as usize;
            let (out, within) = cut(step, pattern, terms.weight);
            let without = step.after(pattern);
            let with = step.after(pattern | 1 << step.width);
            let stay = self.value(i + 1, without, load) - out;
            let join = self.value(i + 1, with, load + step.load) + terms.price[v] - within;
            if join > stay || start == Some(i) {
                inside[v] = true;
                (pattern, load) = (with, load + step.load);
            } else {
                pattern = without;
            }
        }
        inside
    }
}

/// Weight of the edges to the front that are cut when the vertex stays out, and when it joins.
#[inline]
pub(crate) fn cut(step: &super::sweep::Step, pattern: u32, weight: &[i32]) -> (i32, i32) {
    let (mut out, mut inside) = (0, 0);
    for &(place, edge) in &step.back {
        let w = weight[edge as usize];
        if pattern >> place & 1 == 1 {
            out += w;
        } else {
            inside += w;
        }
    }
    (out, inside)
}
