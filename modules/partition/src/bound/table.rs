//! Finds the most expensive group by dynamic programming along a sweep.
//!
//! Each vertex in the group adds its price, and each edge with one end in the group subtracts its
//! weight. The table has an entry for each step of the order, each pattern of the front (the open
//! vertices that are in the group), and each load so far. The entry is the most that later vertices
//! can add to a group whose final load is between two limits. One pass from the last vertex to the
//! first fills the table. Its first entry is the largest value of any group.

use super::sweep::Sweep;

/// Less than the value of any group. Sums of prices can be added without overflow.
pub(crate) const NEVER: i32 = i32::MIN / 2;
/// Largest permitted sum of the prices and weights of one table.
pub(crate) const LARGEST: i64 = 1 << 28;

/// Prices and weights along a sweep.
#[derive(Clone, Copy)]
pub(crate) struct Terms<'a> {
    pub(crate) sweep: &'a Sweep,
    /// Price of each vertex.
    pub(crate) price: &'a [i32],
    /// Weight of each edge, subtracted if it is cut.
    pub(crate) weight: &'a [i32],
}

/// Values that later vertices can add to a group.
#[derive(Debug)]
pub(crate) struct Table {
    most: usize,
    least: usize,
    /// Start of the rows of each step, and the length of a row.
    rows: Vec<(usize, usize)>,
    value: Vec<i32>,
}

impl Table {
    /// Returns the width of the front and the length of a row before each step and after the last
    /// one, for groups with a load of at most `most`.
    fn shape(sweep: &Sweep, most: usize) -> impl Iterator<Item = (u32, usize)> {
        let steps = sweep.steps.iter().map(|s| (s.width, s.before));
        let places = steps.chain([(0, sweep.total())]);
        places.map(move |(width, before)| (width, before.min(most) + 1))
    }

    /// Returns the number of entries of a table for groups with a load of at most `most`.
    pub(crate) fn size(sweep: &Sweep, most: usize) -> usize {
        let places = Self::shape(sweep, most);
        places.map(|(width, length)| length << width).sum()
    }

    /// Creates a table for groups with a load from `least` to `most`, whose entries all are
    /// [`NEVER`].
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

    /// Fills the table and returns the value of the most expensive group, or about [`NEVER`] if no
    /// group has a permitted load. Other values are above half of it.
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
            // The vertex fits for loads below this number.
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

    /// Returns the most that the vertices from step `place` on can add to a group with this front
    /// and load. Returns [`NEVER`] if the load is too large.
    #[inline]
    pub(crate) fn value(&self, place: usize, pattern: u32, load: usize) -> i32 {
        let (from, length) = self.rows[place];
        if load >= length {
            return NEVER;
        }
        self.value[from + pattern as usize * length + load]
    }

    /// Returns the most expensive groups. Requires [`Self::fill`] with the same terms.
    ///
    /// Each group has a flag for each vertex. The first group is the most expensive of all. Up to
    /// `count` others follow, the most expensive first. Each of these is the most expensive group
    /// that begins at some vertex of the order. It shares at most a quarter of its vertices with
    /// the others before it, except for the first group. So the most expensive group can occur
    /// twice.
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

    /// Returns the most expensive group as a flag for each vertex. If `start` is given, returns the
    /// most expensive group whose first vertex is at that step. Requires [`Self::fill`] with the
    /// same terms.
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

/// Returns the weight of the edges to the front that are cut if the vertex of the step stays
/// outside the group, and if it joins the group. `pattern` marks the open vertices inside the
/// group.
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
