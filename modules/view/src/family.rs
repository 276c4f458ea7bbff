//! Families: items of one kind in one scope, and the structure of the lines between them.
//!
//! All families are examined at once, in a few passes over the lines. So the time is linear, apart
//! from sorting names: a family without a structure is examined again with its members in the order
//! of their names, in which numbers count as such, because a graph may declare cells in any order.

use crate::scopes::{Line, Tree};
use graphmap_kpn::declared::Direction;
use graphmap_kpn::names::Symbol;
use rustc_hash::FxHashMap;
use std::cmp::Ordering;

/// Structure of the lines between the members of a family, which are numbered in their order. The
/// direction of lines and their number do not matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Structure {
    /// None of the others.
    Other,
    /// Each member is joined to the next.
    Chain,
    /// A chain whose last member is joined to the first.
    Ring,
    /// No lines between members. All have lines to the same ports of other nodes.
    Block,
    /// Members are cells, row by row. Neighbours in rows and columns are joined. There may be
    /// diagonals, and lines from the last to the first of each row, or of each column.
    Grid {
        /// Number of columns, at least 2.
        columns: u32,
    },
    /// Members are modules, each of which is a row of cells of a grid.
    Rows {
        /// Number of cells of each row, at least 2.
        columns: u32,
    },
    /// A hypercube: members are joined whose numbers differ in one bit. The level of a member is
    /// the number of bits that are set.
    Cube {
        /// Number of bits, at least 3.
        dimension: u32,
    },
    /// Each member except the first is joined to one member before it, its parent. The level of a
    /// member is its distance from the first.
    Tree {
        /// Number of levels, at least 2.
        levels: u32,
    },
}

/// All items of one kind in one scope.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Family {
    /// Index of the first member in `Families::members`.
    start: u32,
    /// Number of members.
    pub(crate) count: u32,
    /// Structure of its lines.
    pub(crate) structure: Structure,
}

/// The families of all scopes.
#[derive(Debug)]
pub(crate) struct Families {
    /// Family of each item.
    pub(crate) of: Vec<u32>,
    /// Number of each item in its family.
    pub(crate) ranks: Vec<u32>,
    /// Place of each item in its scope. Members of a family that has a structure only in the order
    /// of their names have this order.
    pub(crate) places: Vec<u32>,
    /// Level of each item that is a member of a cube or a tree.
    pub(crate) levels: Vec<u32>,
    /// All families, scope by scope.
    pub(crate) list: Vec<Family>,
    /// Index of the first family of each scope.
    starts: Vec<u32>,
    members: Vec<u32>,
}

/// A port joined to the environment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Closed {
    /// Its node.
    pub(crate) node: u32,
    /// Its name.
    pub(crate) port: Symbol,
    /// Its direction.
    pub(crate) direction: Direction,
}

/// Distance between two cells of a grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Right,
    Down,
    WrapsRight,
    WrapsDown,
    Diagonal { wraps: bool },
}

/// Maximum number of columns that are tried for a grid. The number of columns is the distance of
/// the first cell to one of its at most 8 neighbours, and divides the number of cells. At most four
/// of the distances do: to the cell below, to the cells beside that, and to the end of the row.
const MOST_TRIED: usize = 4;

/// Properties of the lines of a family.
#[derive(Clone, Debug, Default)]
struct Known {
    /// True if there are lines between members.
    lines: bool,
    /// True if a line does not join neighbours, nor the last and the first member.
    crooked: bool,
    /// True if a line joins the last and the first member of at least 3.
    closed: bool,
    /// Number of members that are joined to the next.
    joined: u32,
    /// Numbers of columns to try.
    columns: Vec<u32>,
}

/// A grid that is tried.
#[derive(Clone, Copy, Debug, Default)]
struct Tried {
    columns: u32,
    fails: bool,
    /// Numbers of cells with a line to the right, down, and over the ends of rows and columns.
    right: u32,
    down: u32,
    wraps_right: u32,
    wraps_down: u32,
}

/// Returns the step between two cells of a grid with this number of rows and columns, or `None` if
/// they are not neighbours. `a` is the cell that is above or left of the other.
fn step(rows: u32, columns: u32, a: (u32, u32), b: (u32, u32)) -> Option<Step> {
    let (down, right) = (a.0.abs_diff(b.0), a.1.abs_diff(b.1));
    let (wraps_down, wraps_right) = (
        rows > 2 && down == rows - 1,
        columns > 2 && right == columns - 1,
    );
    if !(down < 2 || wraps_down) || !(right < 2 || wraps_right) {
        return None;
    }
    Some(match (down, right) {
        (0, 1) => Step::Right,
        (1, 0) => Step::Down,
        (0, _) => Step::WrapsRight,
        (_, 0) => Step::WrapsDown,
        _ => Step::Diagonal {
            wraps: wraps_down || wraps_right,
        },
    })
}

/// Returns a hash of an end of a line outside of a family: the own port with its direction, and the
/// other node and port.
fn hashed(direction: Direction, port: Symbol, other: Option<(u32, Symbol)>) -> u64 {
    let mix = |hash: u64, value: u64| {
        let mixed = (hash ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed ^ mixed >> 29
    };
    let index = |symbol: Symbol| graphmap_kpn::arena::Id::index(symbol) as u64;
    let (node, there) = other.map_or((u64::MAX, 0), |(node, port)| (u64::from(node), index(port)));
    let start = mix(direction as u64 + 1, index(port));
    mix(mix(start, node), there)
}

/// Compares two names. Numbers in them are compared by their values.
fn in_natural_order(a: &str, b: &str) -> Ordering {
    let (mut a, mut b) = (a.as_bytes(), b.as_bytes());
    while let (&[first, ..], &[other, ..]) = (a, b) {
        if !first.is_ascii_digit() || !other.is_ascii_digit() {
            if first != other {
                return first.cmp(&other);
            }
            (a, b) = (&a[1..], &b[1..]);
            continue;
        }
        let [(one, rest), (two, other_rest)] = [a, b].map(|text| {
            let end = text.iter().position(|c| !c.is_ascii_digit());
            let (digits, rest) = text.split_at(end.unwrap_or(text.len()));
            let zeros = digits.iter().position(|&digit| digit != b'0');
            (&digits[zeros.unwrap_or(digits.len())..], rest)
        });
        let order = one.len().cmp(&two.len()).then(one.cmp(two));
        if order != Ordering::Equal {
            return order;
        }
        (a, b) = (rest, other_rest);
    }
    a.len().cmp(&b.len())
}

impl Families {
    /// Returns the families of a network. `name` returns the name of an item.
    pub(crate) fn of<'n>(
        tree: &Tree,
        lines: &[Line],
        closed: &[Closed],
        name: impl Fn(u32) -> &'n str,
    ) -> Families {
        let mut families = Families::assigned(tree);
        let known = families.examined(lines);
        families.find_numbered(lines, &known);
        let unknown: Vec<usize> = (0..families.list.len())
            .filter(|&i| families.list[i].structure == Structure::Other && known[i].lines)
            .collect();
        let sorted = families.sorted(&unknown, name);
        if !sorted.is_empty() {
            families.find_numbered(lines, &families.examined(lines));
            families.restore(&sorted);
        }
        families.find_trees(lines);
        families.find_rows(tree, lines);
        families.find_blocks(tree, lines, closed, &known);
        families
    }

    /// Finds the families that are chains, rings, grids or hypercubes.
    fn find_numbered(&mut self, lines: &[Line], known: &[Known]) {
        for (family, known) in self.list.iter_mut().zip(known) {
            let chain = !known.crooked && known.lines && known.joined + 1 == family.count;
            family.structure = match (chain, known.closed) {
                _ if family.structure != Structure::Other => family.structure,
                (true, true) => Structure::Ring,
                (true, false) => Structure::Chain,
                (false, _) => Structure::Other,
            };
        }
        self.find_grids(lines, known);
        self.find_cubes(lines);
    }

    /// Numbers the members of these families in the order of their names. Returns those in which
    /// the order changed, with the members in the order before.
    fn sorted<'n>(
        &mut self,
        families: &[usize],
        name: impl Fn(u32) -> &'n str,
    ) -> Vec<(usize, Vec<u32>)> {
        let mut changed = Vec::new();
        for &family in families {
            let before = self.members(family).to_vec();
            let mut sorted = before.clone();
            sorted.sort_by(|&a, &b| in_natural_order(name(a), name(b)));
            if sorted != before {
                self.number(family, &sorted);
                changed.push((family, before));
            }
        }
        changed
    }

    /// Restores the order of those families that have no structure in the new order, and gives the
    /// members of the others their places.
    fn restore(&mut self, sorted: &[(usize, Vec<u32>)]) {
        for (family, before) in sorted {
            if self.list[*family].structure == Structure::Other {
                self.number(*family, before);
                continue;
            }
            let places: Vec<u32> = before
                .iter()
                .map(|&item| self.places[item as usize])
                .collect();
            for (place, item) in places.into_iter().zip(self.members(*family).to_vec()) {
                self.places[item as usize] = place;
            }
        }
    }

    /// Numbers the members of a family in this order.
    fn number(&mut self, family: usize, members: &[u32]) {
        let start = self.list[family].start as usize;
        self.members[start..start + members.len()].copy_from_slice(members);
        for (rank, &item) in members.iter().enumerate() {
            self.ranks[item as usize] = rank as u32;
        }
    }

    /// Returns the families without their structures.
    fn assigned(tree: &Tree) -> Families {
        let items = tree.kinds.len();
        let mut families = Families {
            of: vec![0; items],
            ranks: vec![0; items],
            places: (0..items as u32).map(|item| tree.place(item)).collect(),
            levels: vec![0; items],
            list: Vec::new(),
            starts: vec![0],
            members: vec![0; items],
        };
        let mut known = FxHashMap::default();
        for scope in 0..tree.len() as u32 {
            let first = families.list.len();
            known.clear();
            let mut last = None;
            for &item in tree.items(scope) {
                let key = (tree.is_node(item), tree.kinds[item as usize]);
                let at = match last {
                    Some((same, at)) if same == key => at,
                    _ => *known.entry(key).or_insert(families.list.len()),
                };
                last = Some((key, at));
                if at == families.list.len() {
                    families.list.push(Family {
                        start: 0,
                        count: 0,
                        structure: Structure::Other,
                    });
                }
                let family = &mut families.list[at];
                families.of[item as usize] = at as u32;
                families.ranks[item as usize] = family.count;
                family.count += 1;
            }
            let mut start = match first.checked_sub(1) {
                Some(before) => families.list[before].start + families.list[before].count,
                None => 0,
            };
            for family in &mut families.list[first..] {
                family.start = start;
                start += family.count;
            }
            families.starts.push(families.list.len() as u32);
        }
        for (item, (&family, &rank)) in families.of.iter().zip(&families.ranks).enumerate() {
            let start = families.list[family as usize].start;
            families.members[(start + rank) as usize] = item as u32;
        }
        families
    }

    /// Returns the families of a scope, as indices of [`Families::list`].
    pub(crate) fn of_scope(&self, scope: u32) -> std::ops::Range<usize> {
        let at = scope as usize;
        self.starts[at] as usize..self.starts[at + 1] as usize
    }

    /// Returns the members of a family.
    pub(crate) fn members(&self, family: usize) -> &[u32] {
        let family = &self.list[family];
        &self.members[family.start as usize..][..family.count as usize]
    }

    /// Returns the family that contains both ends of a line, and the two members, the first one
    /// first. Lines from an item to itself are not between members.
    fn between(&self, line: &Line) -> Option<(usize, [u32; 2])> {
        let [a, b] = line.items;
        let family = self.of[a as usize];
        if a == b || family != self.of[b as usize] {
            return None;
        }
        let in_order = self.ranks[a as usize] < self.ranks[b as usize];
        Some((family as usize, if in_order { [a, b] } else { [b, a] }))
    }

    /// Returns the properties of the lines of each family.
    fn examined(&self, lines: &[Line]) -> Vec<Known> {
        let mut all = vec![Known::default(); self.list.len()];
        let mut joined = vec![false; self.of.len()];
        for line in lines {
            let Some((family, [a, b])) = self.between(line) else {
                continue;
            };
            let (known, count) = (&mut all[family], self.list[family].count);
            let (i, j) = (self.ranks[a as usize], self.ranks[b as usize]);
            known.lines = true;
            if j == i + 1 {
                let joined = &mut joined[a as usize];
                known.joined += u32::from(!*joined);
                *joined = true;
            } else if i == 0 && j + 1 == count {
                known.closed = true;
            } else {
                known.crooked = true;
            }
            let may_be = i == 0 && j > 1 && count.is_multiple_of(j) && count / j > 1;
            if may_be && known.columns.len() < MOST_TRIED && !known.columns.contains(&j) {
                known.columns.push(j);
            }
        }
        all
    }

    /// Finds the families that are grids.
    fn find_grids(&mut self, lines: &[Line], known: &[Known]) {
        for attempt in 0..MOST_TRIED {
            let tries = |(family, known): (&Family, &Known)| match family.structure {
                Structure::Other => known.columns.get(attempt).copied().unwrap_or_default(),
                _ => 0,
            };
            let mut all: Vec<Tried> = (self.list.iter().zip(known))
                .map(|pair| Tried {
                    columns: tries(pair),
                    ..Tried::default()
                })
                .collect();
            if all.iter().all(|tried| tried.columns == 0) {
                return;
            }
            let mut seen = vec![[false; 4]; self.of.len()];
            for line in lines {
                let Some((family, [a, b])) = self.between(line) else {
                    continue;
                };
                let tried = &mut all[family];
                if tried.columns == 0 || tried.fails {
                    continue;
                }
                let at = |item: u32| {
                    let rank = self.ranks[item as usize];
                    (rank / tried.columns, rank % tried.columns)
                };
                let rows = self.list[family].count / tried.columns;
                let (which, count) = match step(rows, tried.columns, at(a), at(b)) {
                    Some(Step::Right) => (0, &mut tried.right),
                    Some(Step::Down) => (1, &mut tried.down),
                    Some(Step::WrapsRight) => (2, &mut tried.wraps_right),
                    Some(Step::WrapsDown) => (3, &mut tried.wraps_down),
                    Some(Step::Diagonal { .. }) => continue,
                    None => {
                        tried.fails = true;
                        continue;
                    }
                };
                let seen = &mut seen[a as usize][which];
                *count += u32::from(!*seen);
                *seen = true;
            }
            for (family, tried) in self.list.iter_mut().zip(&all) {
                let columns = tried.columns;
                if columns == 0 || tried.fails {
                    continue;
                }
                let rows = family.count / columns;
                let is_grid = tried.right == rows * (columns - 1)
                    && tried.down == (rows - 1) * columns
                    && [0, rows].contains(&tried.wraps_right)
                    && [0, columns].contains(&tried.wraps_down);
                if is_grid {
                    family.structure = Structure::Grid { columns };
                }
            }
        }
    }

    /// Finds the families that are hypercubes.
    fn find_cubes(&mut self, lines: &[Line]) {
        let may_be = |family: &Family| {
            let count = family.count;
            family.structure == Structure::Other && count >= 8 && count.is_power_of_two()
        };
        let mut is_cube: Vec<bool> = self.list.iter().map(may_be).collect();
        if !is_cube.contains(&true) {
            return;
        }
        // The bits in which a member differs from those to which it is joined.
        let mut bits = vec![0; self.of.len()];
        for line in lines {
            let Some((family, [a, b])) = self.between(line) else {
                continue;
            };
            let differ = self.ranks[a as usize] ^ self.ranks[b as usize];
            is_cube[family] &= differ.is_power_of_two();
            bits[a as usize] |= differ;
            bits[b as usize] |= differ;
        }
        for (item, &family) in self.of.iter().enumerate() {
            is_cube[family as usize] &= bits[item] + 1 == self.list[family as usize].count;
        }
        for (family, _) in self.list.iter_mut().zip(&is_cube).filter(|(_, is)| **is) {
            let dimension = family.count.ilog2();
            family.structure = Structure::Cube { dimension };
        }
        for (item, &family) in self.of.iter().enumerate() {
            if is_cube[family as usize] {
                self.levels[item] = self.ranks[item].count_ones();
            }
        }
    }

    /// Finds the families that are trees.
    fn find_trees(&mut self, lines: &[Line]) {
        let may_be = |family: &Family| family.structure == Structure::Other && family.count > 2;
        let mut is_tree: Vec<bool> = self.list.iter().map(may_be).collect();
        if !is_tree.contains(&true) {
            return;
        }
        let mut parents: Vec<Option<u32>> = vec![None; self.of.len()];
        for line in lines {
            if let Some((family, [a, b])) = self.between(line) {
                is_tree[family] &= *parents[b as usize].get_or_insert(a) == a;
            }
        }
        for (index, is_tree) in is_tree.into_iter().enumerate() {
            let members = &self.members[self.list[index].start as usize..];
            let members = &members[..self.list[index].count as usize];
            if !is_tree
                || members[1..]
                    .iter()
                    .any(|&item| parents[item as usize].is_none())
            {
                continue;
            }
            let mut deepest = 0;
            // A parent precedes its children.
            for &item in members {
                let parent = parents[item as usize];
                let level = parent.map_or(0, |parent| self.levels[parent as usize] + 1);
                self.levels[item as usize] = level;
                deepest = deepest.max(level);
            }
            let levels = deepest + 1;
            self.list[index].structure = Structure::Tree { levels };
        }
    }

    /// Finds the families of modules that are rows of a grid.
    fn find_rows(&mut self, tree: &Tree, lines: &[Line]) {
        let is_line = |structure| matches!(structure, Structure::Chain | Structure::Ring);
        // Number of cells of each row. 0 for families that are not rows.
        let mut columns: Vec<u32> = (0..self.list.len())
            .map(|family| {
                if !is_line(self.list[family].structure) {
                    return 0;
                }
                let cells = |module: u32| {
                    let inner = match tree.is_node(module) {
                        true => None,
                        false => Some(self.of_scope(tree.inside(module))),
                    };
                    let only = inner.filter(|all| all.len() == 1)?;
                    let cell = self.members(only.start)[0];
                    let kind = (tree.is_node(cell), tree.kinds[cell as usize]);
                    let cells = self.list[only.start];
                    is_line(cells.structure).then_some((cells.count, kind))
                };
                let members = self.members(family);
                let first = cells(members[0]);
                let equal = members.iter().all(|&module| cells(module) == first);
                match first {
                    // Pairs of pairs of modules are more often parts of a butterfly.
                    Some((2, (false, _))) if members.len() == 2 => 0,
                    Some((count, _)) if equal => count,
                    _ => 0,
                }
            })
            .collect();
        if columns.iter().all(|&columns| columns == 0) {
            return;
        }
        let mut joined = vec![0; self.list.len()];
        let mut seen = vec![false; self.of.len()];
        for line in lines {
            let Some((family, [a, b])) = self.between(line) else {
                continue;
            };
            if columns[family] == 0 {
                continue;
            }
            match self.cells(tree, line, columns[family], self.list[family].count) {
                None => columns[family] = 0,
                Some((Step::Down | Step::WrapsDown, [from, to])) => {
                    // The last row has the mark of lines that close a column.
                    let is_next = self.ranks[b as usize] == self.ranks[a as usize] + 1;
                    let upper = match (is_next, a == line.items[0]) {
                        (true, true) | (false, false) => from,
                        (true, false) | (false, true) => to,
                    };
                    let seen = &mut seen[upper as usize];
                    joined[family] += u32::from(!*seen);
                    *seen = true;
                }
                Some(_) => {}
            }
        }
        for ((family, columns), joined) in self.list.iter_mut().zip(columns).zip(joined) {
            let rows = match family.structure {
                Structure::Ring => family.count,
                _ => family.count - 1,
            };
            if columns > 0 && u64::from(joined) == u64::from(rows) * u64::from(columns) {
                family.structure = Structure::Rows { columns };
            }
        }
    }

    /// Returns the step of a line between two rows, and the cells of the writer and the reader.
    fn cells(&self, tree: &Tree, line: &Line, columns: u32, rows: u32) -> Option<(Step, [u32; 2])> {
        let cell = |end: usize| tree.item_of(line.nodes[end], tree.inside(line.items[end]));
        let cells = [cell(0), cell(1)];
        let at = |end: usize| {
            (
                self.ranks[line.items[end] as usize],
                self.ranks[cells[end] as usize],
            )
        };
        Some((step(rows, columns, at(0), at(1))?, cells))
    }

    /// Finds the families without lines between members that have the same lines to others.
    fn find_blocks(&mut self, tree: &Tree, lines: &[Line], closed: &[Closed], known: &[Known]) {
        // Sum of the hashes of the lines that leave each item.
        let mut sums = vec![0_u64; self.of.len()];
        let mut add = |item: u32, hash: u64| {
            let sum = &mut sums[item as usize];
            *sum = sum.wrapping_add(hash);
        };
        for line in lines {
            let ([a, b], [from, to]) = (line.nodes, line.ports);
            let out = hashed(Direction::Output, from, Some((b, to)));
            let back = hashed(Direction::Input, to, Some((a, from)));
            add(a, out);
            add(b, back);
            let scope = tree.scope(line.items[0]);
            if scope != 0 {
                add(tree.item(scope), out.wrapping_add(back).wrapping_neg());
            }
        }
        for end in closed {
            add(end.node, hashed(end.direction, end.port, None));
        }
        // A module follows the module that contains it.
        for item in (tree.nodes..sums.len()).rev() {
            let inner = tree.items(tree.inside(item as u32)).iter();
            let inside = inner.fold(0_u64, |sum, &item| sum.wrapping_add(sums[item as usize]));
            sums[item] = sums[item].wrapping_add(inside);
        }
        let mut differ = vec![false; self.list.len()];
        for (item, &family) in self.of.iter().enumerate() {
            let first = self.members[self.list[family as usize].start as usize];
            differ[family as usize] |= sums[item] != sums[first as usize];
        }
        for (i, family) in self.list.iter_mut().enumerate() {
            if !known[i].lines && !differ[i] {
                family.structure = Structure::Block;
            }
        }
    }

    /// Returns true for a line that closes a row or a column of a torus.
    pub(crate) fn wraps(&self, tree: &Tree, line: &Line) -> bool {
        let Some((family, [a, b])) = self.between(line) else {
            return false;
        };
        let Family {
            count, structure, ..
        } = self.list[family];
        let (i, j) = (self.ranks[a as usize], self.ranks[b as usize]);
        let step = match structure {
            Structure::Other
            | Structure::Chain
            | Structure::Block
            | Structure::Cube { .. }
            | Structure::Tree { .. } => return false,
            // A ring of its own is drawn, but the row of a torus is not.
            Structure::Ring => {
                let scope = tree.scope(a);
                let row = (scope != 0).then(|| self.of[tree.item(scope) as usize]);
                let around = row.map(|row| self.list[row as usize].structure);
                let in_torus = matches!(around, Some(Structure::Rows { .. }));
                return in_torus && count > 2 && i == 0 && j + 1 == count;
            }
            Structure::Grid { columns } => {
                let at = |rank: u32| (rank / columns, rank % columns);
                step(count / columns, columns, at(i), at(j))
            }
            Structure::Rows { columns } => {
                let cells = self.cells(tree, line, columns, count);
                cells.map(|(step, _)| step)
            }
        };
        matches!(
            step,
            Some(Step::WrapsRight | Step::WrapsDown | Step::Diagonal { wraps: true })
        )
    }
}

/// Approximate size of a box with the gaps around it, and the preferred ratio of width to height.
const BOX: (f64, f64) = (115.0, 65.0);
const RATIO: f64 = 1.5;
/// Largest number of boxes, and of modules, of a chain in one row.
const MOST_BOXES_IN_ROW: u32 = 8;
const MOST_MODULES_IN_ROW: u32 = 4;
/// Smallest number of members of a chain or ring that has a shape of its own.
const LEAST: u32 = 4;
/// Largest number of members of a block that are placed in layers.
const MOST_IN_LAYER: u32 = 8;

/// Returns the number of columns in which the members of a family are placed, or `None` if they are
/// placed in layers.
pub(crate) fn columns(family: &Family, nodes: bool) -> Option<usize> {
    let count = family.count;
    let root = || f64::from(count).sqrt().ceil() as usize;
    match family.structure {
        Structure::Other | Structure::Tree { .. } => None,
        Structure::Cube { dimension } if nodes => Some(columns_of_cube(dimension) as usize),
        Structure::Cube { .. } => None,
        Structure::Chain | Structure::Ring if count < LEAST => None,
        Structure::Chain | Structure::Ring if nodes && count > MOST_BOXES_IN_ROW => {
            let columns = (f64::from(count) * RATIO * BOX.1 / BOX.0).sqrt();
            Some(columns.round() as usize)
        }
        Structure::Chain | Structure::Ring if !nodes && count > MOST_MODULES_IN_ROW => Some(root()),
        Structure::Chain | Structure::Ring => Some(count as usize),
        Structure::Block => (count > MOST_IN_LAYER).then(root),
        Structure::Grid { columns } => Some(columns as usize),
        Structure::Rows { .. } => Some(1),
    }
}

/// Returns the number of columns of a hypercube.
const fn columns_of_cube(dimension: u32) -> u32 {
    1 << (dimension / 2)
}

/// Returns the cell of a member of a hypercube. The lower bits of its number determine the column,
/// and the higher bits the row. Both are in the order of the Gray code, as in a Karnaugh map, so
/// that neighbours differ in one bit, and lines of one bit in a row or column are nested.
pub(crate) fn cell_of_cube(dimension: u32, rank: u32) -> u32 {
    let columns = columns_of_cube(dimension);
    let place = |code: u32| {
        let shifted = (0..u32::BITS).map(|by| code >> by);
        shifted.fold(0, |sum, part| sum ^ part)
    };
    place(rank / columns) * columns + place(rank % columns)
}

#[cfg(test)]
mod tests {
    use super::{Closed, Families, Structure, cell_of_cube, columns_of_cube, step};
    use crate::scopes::{Line, Tree};
    use graphmap_kpn::declared::Direction;
    use graphmap_kpn::names::{Names, Symbol};
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// Returns the families of nodes without modules. The first `members` nodes are of one kind,
    /// and `others` nodes have kinds of their own. Lines have the numbers of two ports.
    fn families(
        members: u32,
        others: u32,
        lines: &[(u32, u32, usize, usize)],
        closed: &[(u32, usize)],
    ) -> Families {
        let mut names = Names::new();
        let ports: Vec<Symbol> = (0..3).map(|i| names.intern(&format!("p{i}"))).collect();
        let kinds: Vec<Symbol> = (0..members + others)
            .map(|node| names.intern(&format!("k{}", node.saturating_sub(members - 1))))
            .collect();
        let nodes = kinds.into_iter().map(|kind| (None, kind));
        let tree = Tree::new(nodes, std::iter::empty());
        let lines: Vec<Line> = lines
            .iter()
            .map(|&(a, b, from, to)| tree.line([a, b], [ports[from], ports[to]]))
            .collect();
        let closed: Vec<Closed> = closed
            .iter()
            .map(|&(node, port)| Closed {
                node,
                port: ports[port],
                direction: Direction::Input,
            })
            .collect();
        Families::of(&tree, &lines, &closed, |_| "")
    }

    /// Returns true if these pairs of members, the first one first, make a grid.
    fn is_grid(members: u32, columns: u32, pairs: &BTreeSet<(u32, u32)>) -> bool {
        let rows = members / columns;
        let at = |rank: u32| (rank / columns, rank % columns);
        let has = |a: u32, b: u32| pairs.contains(&(a, b));
        let right = (0..members)
            .filter(|i| (i + 1) % columns > 0)
            .all(|i| has(i, i + 1));
        let down = (0..members - columns).all(|i| has(i, i + columns));
        let wraps_right: Vec<bool> = (0..rows)
            .map(|row| columns > 2 && has(row * columns, row * columns + columns - 1))
            .collect();
        let wraps_down: Vec<bool> = (0..columns)
            .map(|column| rows > 2 && has(column, column + (rows - 1) * columns))
            .collect();
        let same = |all: &[bool]| all.iter().all(|wraps| *wraps == all[0]);
        let near = (pairs.iter()).all(|&(a, b)| step(rows, columns, at(a), at(b)).is_some());
        right && down && near && same(&wraps_right) && same(&wraps_down)
    }

    proptest! {
        #[test]
        fn structures_are_those_of_their_definitions(
            (rows, columns) in (1_u32..6, 2_u32..6),
            (wraps_right, wraps_down, diagonals) in any::<(bool, bool, bool)>(),
            changed in prop::option::of((0_u32..30, 0_u32..30)),
            turned in prop::collection::vec(any::<bool>(), 30),
        ) {
            let members = rows * columns;
            let mut pairs = BTreeSet::new();
            for i in 0..members {
                let (y, x) = (i / columns, i % columns);
                for (down, right) in [(0, 1), (1, 0), (1, 1)] {
                    let wraps = (y + down == rows, x + right == columns);
                    let is_there = (!wraps.0 || wraps_down) && (!wraps.1 || wraps_right);
                    let j = (y + down) % rows * columns + (x + right) % columns;
                    if is_there && i != j && (diagonals || down + right < 2) {
                        pairs.insert((i.min(j), i.max(j)));
                    }
                }
            }
            if let Some((a, b)) = changed {
                let (a, b) = (a % members, b % members);
                let pair = (a.min(b), a.max(b));
                if a != b && !pairs.remove(&pair) {
                    pairs.insert(pair);
                }
            }
            let lines: Vec<_> = pairs
                .iter()
                .zip(turned.iter().cycle())
                .map(|(&(a, b), &turned)| if turned { (b, a, 0, 1) } else { (a, b, 0, 1) })
                .collect();
            let found = families(members, 0, &lines, &[]).list[0].structure;
            let next: BTreeSet<(u32, u32)> = (1..members).map(|i| (i - 1, i)).collect();
            let closing = (0, members - 1);
            let mut ring = next.clone();
            ring.insert(closing);
            let grids: Vec<Structure> = (2..=members / 2)
                .filter(|columns| members % columns == 0 && is_grid(members, *columns, &pairs))
                .map(|columns| Structure::Grid { columns })
                .collect();
            if pairs.is_empty() {
                prop_assert_eq!(found, Structure::Block);
            } else if pairs == next {
                prop_assert_eq!(found, Structure::Chain);
            } else if pairs == ring {
                prop_assert_eq!(found, Structure::Ring);
            } else if grids.is_empty() {
                let parents = |i: u32| pairs.iter().filter(|pair| pair.1 == i).count();
                match members > 2 && (1..members).all(|i| parents(i) == 1) {
                    true => {
                        let is_tree = matches!(found, Structure::Tree { .. });
                        prop_assert!(is_tree, "{:?}", found);
                    }
                    false => prop_assert_eq!(found, Structure::Other),
                }
            } else {
                prop_assert!(grids.contains(&found), "{:?} {:?}", found, grids);
            }
        }

        #[test]
        fn members_of_a_cube_differ_in_one_bit(
            dimension in 3_u32..6,
            changed in prop::option::of((0_u32..32, 0_u32..32)),
        ) {
            let members = 1 << dimension;
            let mut pairs: BTreeSet<(u32, u32)> = (0..members)
                .flat_map(|i| (0..dimension).map(move |bit| (i.min(i ^ 1 << bit), i.max(i ^ 1 << bit))))
                .collect();
            if let Some((a, b)) = changed.map(|(a, b)| (a % members, b % members))
                && a != b
                && !pairs.remove(&(a.min(b), a.max(b)))
            {
                pairs.insert((a.min(b), a.max(b)));
            }
            let is_whole = changed.is_none_or(|(a, b)| a % members == b % members);
            let lines: Vec<_> = pairs.iter().map(|&(a, b)| (a, b, 0, 1)).collect();
            let found = families(members, 0, &lines, &[]);
            let is_cube = found.list[0].structure == Structure::Cube { dimension };
            prop_assert_eq!(is_cube, is_whole);
            if is_cube {
                prop_assert!((0..members).all(|i| found.levels[i as usize] == i.count_ones()));
            }
        }

        #[test]
        fn levels_of_a_tree_are_distances_from_the_root(
            parents in prop::collection::vec(any::<prop::sample::Index>(), 3..30),
        ) {
            let parent = |i: usize| parents[i - 1].index(i);
            let lines: Vec<_> = (1..=parents.len()).map(|i| (i as u32, parent(i) as u32, 0, 1)).collect();
            let found = families(parents.len() as u32 + 1, 0, &lines, &[]);
            let mut levels = vec![0];
            for i in 1..=parents.len() {
                levels.push(levels[parent(i)] + 1);
            }
            if let Structure::Tree { levels: count } = found.list[0].structure {
                prop_assert_eq!(count, levels.iter().max().unwrap() + 1);
                prop_assert_eq!(&found.levels, &levels);
            } else {
                prop_assert_eq!(found.list[0].structure, Structure::Chain);
            }
        }

        #[test]
        fn neighbours_in_the_cells_of_a_cube_differ_in_one_bit(dimension in 3_u32..10) {
            let mut cells: Vec<(u32, u32)> =
                (0..1 << dimension).map(|rank| (cell_of_cube(dimension, rank), rank)).collect();
            cells.sort_unstable();
            let columns = columns_of_cube(dimension);
            for (i, &(cell, rank)) in cells.iter().enumerate() {
                prop_assert_eq!(i as u32, cell);
                let right = cells.get(i + 1).filter(|_| !(cell + 1).is_multiple_of(columns));
                for (_, other) in right.into_iter().chain(cells.get(i + columns as usize)) {
                    prop_assert!((rank ^ other).is_power_of_two());
                }
            }
        }

        #[test]
        fn members_of_a_block_have_equal_lines(
            lines in prop::collection::vec((0_u32..2, 0_u32..2, 0_usize..2, 0_usize..2), 0..3),
            more in prop::option::of((0_u32..4, 0_u32..2, 0_usize..2, 0_usize..2)),
            also in prop::option::of((0_u32..4, 0_usize..2)),
        ) {
            let mut all = Vec::new();
            for member in 0..4 {
                for &(turned, other, from, to) in &lines {
                    let ends = if turned == 0 { (member, 4 + other) } else { (4 + other, member) };
                    all.push((ends.0, ends.1, from, to));
                }
            }
            all.extend(more.map(|(member, other, from, to)| (member, 4 + other, from, to)));
            all.push((4, 5, 0, 0));
            let closed: Vec<(u32, usize)> = also.into_iter().collect();
            let found = families(4, 2, &all, &closed).list[0].structure;
            let is_block = more.is_none() && also.is_none();
            prop_assert_eq!(found == Structure::Block, is_block);
        }
    }
}
