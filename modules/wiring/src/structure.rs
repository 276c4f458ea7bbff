//! The structure of a network: chain, farm, tree, grid, or none of them (explicit).
//!
//! The structure depends on *units*, numbered from 0 in the order of ranks, and on the pairs of
//! units that channels join. The direction and number of the channels do not matter:
//!
//! | structure | units `0 .. n`, and the pairs that are joined |
//! |---|---|
//! | grid | each unit to its neighbours in row and column, no other pairs; see below |
//! | tree | unit `i > 0` to `(i - 1) / arity`, no other pairs; more than two levels |
//! | chain | `i` to `i + 1`, no other pairs; at least two units |
//! | farm | no pairs; each unit is joined only to processes whose kind has no other process, and each port of these to one unit or to all |
//!
//! A grid has `rows * columns` units, and both factors are at least 2. The unit of row `r` and
//! column `c` is `r * columns + c`.
//!
//! Units are tried in this order:
//!
//! 1. The processes of the kind with the most processes.
//! 2. The modules of one kind with the most instances in one parent. Process `i` of each kind must
//!    be in module `i` or in none, because a process finds its module by its own index. So a
//!    wavefront of rows is not a chain, because its cells could not use it.
//! 3. All processes, for a tree only, because its root and leaves may be of other kinds.
//!
//! If several structures fit, the first one in the table is used. A farm of modules whose
//! neighbours are joined is a chain, as in the thesis.
//!
//! The cost is linear in the number of processes, channels and modules.

use graphmap_kpn::arena::Id;
use graphmap_kpn::declared::ModuleId;
use graphmap_kpn::network::{Network, PortId};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::Serialize;

/// Structure of a network.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Structure {
    /// `chain`, `farm`, `tree`, `grid` or `explicit`.
    pub name: &'static str,
    /// Name of the kind, or of the kind of module, that it consists of. `None` if it consists of
    /// all processes or is explicit.
    pub unit: Option<String>,
    /// Whether the unit is a module.
    pub of_modules: bool,
    /// Its sizes: `LENGTH` of a chain, `WORKERS` of a farm, `NODES` and `ARITY` of a tree, `ROWS`
    /// and `COLUMNS` of a grid.
    pub sizes: Vec<Size>,
}

/// A size of a structure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Size {
    /// Its name, such as `LENGTH` or `WORKERS`.
    pub name: &'static str,
    /// Its name as a function, such as `length`.
    pub function: &'static str,
    /// Its value.
    pub value: usize,
    /// Description of the counted elements.
    pub about: &'static str,
}

/// Names of all structures.
pub const STRUCTURES: [&str; 5] = ["chain", "explicit", "farm", "grid", "tree"];

impl Structure {
    /// Returns the structure of a network. It is `explicit` if no other structure fits.
    pub fn of(network: &Network) -> Structure {
        Structure::find(network, &["grid", "tree", "chain", "farm"])
    }

    /// Returns the structure of this name, or `None` if the network does not have it or the name is
    /// not in [`STRUCTURES`]. Every network is `explicit`.
    pub fn named(network: &Network, name: &str) -> Option<Structure> {
        let wanted = STRUCTURES.into_iter().find(|&known| known == name)?;
        let found = Structure::find(network, &[wanted]);
        (found.name == wanted).then_some(found)
    }

    /// Returns the sizes of this structure in another network of the same graph, whose numbers of
    /// processes differ. A chain or farm of any length has its size. The result is empty if the
    /// network is not a tree or grid, but this structure is.
    pub fn sizes_in(&self, network: &Network) -> Vec<Size> {
        let found = Structure::find(network, &[self.name]);
        if found.name == self.name && found.unit == self.unit {
            return found.sizes;
        }
        let Some(unit) = &self.unit else {
            return Vec::new();
        };
        // Another kind may be the largest, or a single unit has no neighbour.
        let count = match self.of_modules {
            true => {
                let modules = network.modules.values();
                modules.filter(|m| network.name(m.kind) == unit).count()
            }
            false => {
                let mut kinds = network.kinds.values();
                let kind = kinds.find(|kind| network.name(kind.name) == unit);
                kind.map_or(0, |kind| kind.members.len())
            }
        };
        match self.name {
            "chain" | "farm" => self
                .sizes
                .iter()
                .map(|size| Size {
                    value: count,
                    ..size.clone()
                })
                .collect(),
            _ => Vec::new(),
        }
    }

    /// Returns true if all processes, or the processes of the largest kind, form a tree that is not
    /// a chain. Their numbers can have any order, including the one that [`Structure::of`]
    /// requires.
    pub fn is_tree_out_of_order(network: &Network) -> bool {
        let units = [of_kind(network), of_all(network)];
        let mut units = units.into_iter().flatten();
        units.any(|units| units.is_any_tree(network))
    }

    fn find(network: &Network, wanted: &[&str]) -> Structure {
        let candidates: Vec<Units> = [of_kind(network), of_modules(network), of_all(network)]
            .into_iter()
            .flatten()
            .collect();
        for &name in wanted {
            for units in &candidates {
                let whole = units.name.is_none();
                let sizes = match name {
                    "grid" if !whole => units.grid(network),
                    "tree" => units.tree(network),
                    "chain" if !whole => units.chain(network),
                    "farm" if !whole => units.farm(network),
                    _ => None,
                };
                if let Some(sizes) = sizes {
                    return Structure {
                        name: STRUCTURES.into_iter().find(|&s| s == name).expect("known"),
                        unit: units.name.clone(),
                        of_modules: units.of_modules,
                        sizes,
                    };
                }
            }
        }
        Structure {
            name: "explicit",
            unit: None,
            of_modules: false,
            sizes: Vec::new(),
        }
    }
}

/// Assignment of processes to units.
struct Units {
    name: Option<String>,
    of_modules: bool,
    /// Unit of each process, [`NO_UNIT`] if it belongs to none.
    of: Vec<u32>,
    count: usize,
}

const NO_UNIT: u32 = u32::MAX;

/// Returns the processes of the kind with the most processes as units, in the order of the kind. In
/// a tie, uses the first kind. Returns `None` if there are no kinds.
fn of_kind(network: &Network) -> Option<Units> {
    let kind = network
        .kinds
        .values()
        .rev()
        .max_by_key(|kind| kind.members.len())?;
    let mut of = vec![NO_UNIT; network.processes.len()];
    for (i, process) in kind.members.iter().enumerate() {
        of[process.index()] = i as u32;
    }
    Some(Units {
        name: Some(network.name(kind.name).to_owned()),
        of_modules: false,
        of,
        count: kind.members.len(),
    })
}

/// Returns the largest set of modules with the same kind and parent as units. A process belongs to
/// the unit that it is in at any depth. In a tie, uses the set whose first module comes first.
/// Returns `None` if there are no modules, or if process `i` of a kind is in a module of the set
/// other than module `i`.
fn of_modules(network: &Network) -> Option<Units> {
    let key = |module: ModuleId| {
        let module = &network.modules[module];
        (module.parent, module.kind)
    };
    let mut sorted: Vec<ModuleId> = network.modules.ids().collect();
    sorted.sort_by_key(|&module| (key(module), module));
    let best = sorted
        .chunk_by(|&a, &b| key(a) == key(b))
        .max_by_key(|chunk| (chunk.len(), std::cmp::Reverse(chunk[0])))?;
    let mut unit = vec![NO_UNIT; network.modules.len()];
    for (i, module) in best.iter().enumerate() {
        unit[module.index()] = i as u32;
    }
    // A parent comes before its children.
    for (id, module) in network.modules.iter() {
        if let Some(parent) = module.parent
            && unit[id.index()] == NO_UNIT
        {
            unit[id.index()] = unit[parent.index()];
        }
    }
    let of: Vec<u32> = network
        .processes
        .values()
        .map(|process| process.module.map_or(NO_UNIT, |m| unit[m.index()]))
        .collect();
    let by_index = network.kinds.values().all(|kind| {
        let units = kind.members.iter().map(|process| of[process.index()]);
        units
            .zip(0..)
            .all(|(unit, index)| unit == NO_UNIT || unit == index)
    });
    if !by_index {
        return None;
    }
    Some(Units {
        name: Some(network.name(network.modules[best[0]].kind).to_owned()),
        of_modules: true,
        of,
        count: best.len(),
    })
}

fn of_all(network: &Network) -> Option<Units> {
    let count = network.processes.len();
    Some(Units {
        name: None,
        of_modules: false,
        of: (0..count as u32).collect(),
        count,
    })
}

impl Units {
    /// Returns the pairs of different units that channels join, the lower number first. A pair can
    /// occur repeatedly.
    fn pairs<'a>(&'a self, network: &'a Network) -> impl Iterator<Item = (usize, usize)> + 'a {
        network.channels.ids().filter_map(move |channel| {
            let from = self.of[network.writer(channel).index()];
            let to = self.of[network.reader(channel).index()];
            (from != to && from != NO_UNIT && to != NO_UNIT)
                .then(|| (from.min(to) as usize, from.max(to) as usize))
        })
    }

    fn chain(&self, network: &Network) -> Option<Vec<Size>> {
        if self.count < 2 {
            return None;
        }
        let mut joined = vec![false; self.count - 1];
        for (a, b) in self.pairs(network) {
            if b != a + 1 {
                return None;
            }
            joined[a] = true;
        }
        joined
            .into_iter()
            .all(|j| j)
            .then(|| vec![size("LENGTH", self.count, "Links of the chain")])
    }

    fn grid(&self, network: &Network) -> Option<Vec<Size>> {
        let columns = self.pairs(network).map(|(a, b)| b - a).max()?;
        if columns < 2 || !self.count.is_multiple_of(columns) || self.count == columns {
            return None;
        }
        let mut right = vec![false; self.count];
        let mut down = vec![false; self.count];
        for (a, b) in self.pairs(network) {
            if b == a + columns {
                down[a] = true;
            } else if b == a + 1 && b % columns != 0 {
                right[a] = true;
            } else {
                return None;
            }
        }
        let rows = self.count / columns;
        let whole = (0..self.count)
            .all(|i| (right[i] || (i + 1) % columns == 0) && (down[i] || i / columns == rows - 1));
        whole.then(|| {
            vec![
                size("ROWS", rows, "Rows of the grid"),
                size("COLUMNS", columns, "Columns of the grid"),
            ]
        })
    }

    fn tree(&self, network: &Network) -> Option<Vec<Size>> {
        let mut joined = vec![false; self.count];
        let arity = self.pairs(network).filter(|&(a, _)| a == 0).map(|(_, b)| b);
        let arity = arity.max()?;
        if arity < 2 || self.count <= arity + 1 {
            return None;
        }
        for (a, b) in self.pairs(network) {
            if a != (b - 1) / arity {
                return None;
            }
            joined[b] = true;
        }
        joined[1..].iter().all(|&j| j).then(|| {
            vec![
                size("NODES", self.count, "Nodes of the tree"),
                size("ARITY", arity, "Children of an inner node"),
            ]
        })
    }

    /// Returns true if the units form a tree that is not a chain, which has at least four units.
    /// Any unit can be the root.
    fn is_any_tree(&self, network: &Network) -> bool {
        let mut pairs: Vec<(usize, usize)> = self.pairs(network).collect();
        pairs.sort_unstable();
        pairs.dedup();
        if self.count < 4 || pairs.len() != self.count - 1 {
            return false;
        }
        let mut degree = vec![0; self.count];
        // Union-find structure of the joined units. Each unit has a parent in its set.
        let mut of: Vec<usize> = (0..self.count).collect();
        for (a, b) in pairs {
            let [a_root, b_root] = [a, b].map(|unit| root(&mut of, unit));
            if a_root == b_root {
                return false;
            }
            of[b_root] = a_root;
            degree[a] += 1;
            degree[b] += 1;
        }
        degree.into_iter().any(|d| d > 2)
    }

    fn farm(&self, network: &Network) -> Option<Vec<Size>> {
        if self.count < 2 || self.pairs(network).next().is_some() {
            return None;
        }
        let mut served = vec![false; self.count];
        // The units that each port of another process is joined to.
        let mut joined: FxHashMap<PortId, FxHashSet<u32>> = FxHashMap::default();
        for (id, channel) in network.channels.iter() {
            let ends = [network.writer(id), network.reader(id)];
            let [from, to] = ends.map(|end| self.of[end.index()]);
            if from == to {
                continue;
            }
            let (unit, other, port) = match (from, to) {
                (NO_UNIT, unit) => (unit, ends[0], channel.from),
                (unit, _) => (unit, ends[1], channel.to),
            };
            let kind = network.processes[other].kind;
            if network.kinds[kind].members.len() != 1 {
                return None;
            }
            served[unit as usize] = true;
            joined.entry(port).or_default().insert(unit);
        }
        // With groups of workers, the number of all of them is not the size of a farm.
        if joined
            .values()
            .any(|units| units.len() > 1 && units.len() < self.count)
        {
            return None;
        }
        served
            .into_iter()
            .all(|s| s)
            .then(|| vec![size("WORKERS", self.count, "Workers of the farm")])
    }
}

/// Returns the representative of a unit's set, and shortens the path to it.
fn root(of: &mut [usize], mut unit: usize) -> usize {
    while of[unit] != unit {
        of[unit] = of[of[unit]];
        unit = of[unit];
    }
    unit
}

fn size(name: &'static str, value: usize, about: &'static str) -> Size {
    let function = match name {
        "LENGTH" => "length",
        "WORKERS" => "workers",
        "NODES" => "nodes",
        "ARITY" => "arity",
        "ROWS" => "rows",
        _ => "columns",
    };
    Size {
        name,
        function,
        value,
        about,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Graph, chain, farm, grid, pool, random, tree};

    fn found(graph: Graph) -> (&'static str, Option<String>, Vec<usize>) {
        let structure = Structure::of(&graph.network());
        let sizes = structure.sizes.iter().map(|size| size.value).collect();
        (structure.name, structure.unit, sizes)
    }

    #[test]
    fn each_structure_is_found() {
        let unit = |name: &str| Some(name.to_owned());
        assert_eq!(found(chain(5)), ("chain", unit("filter"), vec![5]));
        assert_eq!(found(farm(3)), ("chain", unit("thefarm"), vec![3]));
        assert_eq!(found(pool(4)), ("farm", unit("worker"), vec![4]));
        assert_eq!(found(grid(3, 4)), ("grid", unit("cell"), vec![3, 4]));
        assert_eq!(found(grid(2, 2)), ("grid", unit("cell"), vec![2, 2]));
        assert_eq!(found(tree(13, 3)), ("tree", None, vec![13, 3]));
        assert_eq!(found(tree(5, 2)), ("tree", None, vec![5, 2]));
        assert_eq!(found(random(20, 60)), ("explicit", None, vec![]));
    }

    #[test]
    fn networks_similar_to_a_structure_are_explicit() {
        let mut ring = Graph::new("ring");
        for i in 1..=4 {
            ring.channel(&format!("a{i}"), &format!("a{}", i % 4 + 1));
        }
        assert_eq!(found(ring).0, "explicit");
        let mut broken = Graph::new("broken");
        broken.channel("a1", "a2").channel("a3", "a4");
        broken.channel("NULL", "a1").channel("a2", "NULL");
        broken.channel("NULL", "a3").channel("a4", "NULL");
        assert_eq!(found(broken).0, "explicit");
        let mut single = Graph::new("single");
        single.channel("a", "b");
        assert_eq!(found(single).0, "explicit");
    }

    #[test]
    fn modules_make_a_structure_where_each_has_one_process_of_a_kind() {
        // Rows of cells. Each is joined to its right, lower and lower right neighbours.
        let mut wavefront = Graph::new("wavefront");
        let (rows, cells) = (4, 3);
        for row in 0..rows {
            wavefront.module(&format!("cluster_{row}"), "row", |g| {
                for cell in 0..cells {
                    g.node(&format!("c{}", row * cells + cell));
                }
            });
        }
        let mut join = |port: &str, from: Option<usize>, to: Option<usize>| {
            let end = |cell: Option<usize>, way: &str| match cell {
                Some(cell) => format!("c{cell}.{way}{port}"),
                None => "NULL".to_owned(),
            };
            if from.is_some() || to.is_some() {
                wavefront.channel(&end(from, "to"), &end(to, "from"));
            }
        };
        for row in 0..rows {
            for cell in 0..cells {
                let at = |row: usize, cell: usize| {
                    (row < rows && cell < cells).then_some(row * cells + cell)
                };
                for (port, down, right) in [("below", 1, 0), ("right", 0, 1), ("across", 1, 1)] {
                    join(port, at(row, cell), at(row + down, cell + right));
                    let before = row.checked_sub(down).zip(cell.checked_sub(right));
                    if before.is_none() {
                        join(port, None, at(row, cell));
                    }
                }
            }
        }
        assert_eq!(found(wavefront), ("explicit", None, vec![]));
    }

    /// Returns a network with two groups of workers, each at an input of its own.
    fn groups(workers: [usize; 2]) -> Graph {
        let mut graph = Graph::new("groups");
        let mut number = 0;
        for (group, workers) in ["low", "high"].into_iter().zip(workers) {
            for _ in 0..workers {
                number += 1;
                graph.channel(
                    &format!("numbers.to{number}"),
                    &format!("worker{number}.in"),
                );
                graph.channel(&format!("worker{number}.out"), &format!("total.{group}"));
            }
        }
        graph
    }

    #[test]
    fn groups_of_workers_are_not_one_farm() {
        assert_eq!(found(groups([2, 4])), ("explicit", None, vec![]));
        let one = found(groups([0, 4]));
        assert_eq!(one, ("farm", Some("worker".to_owned()), vec![4]));
    }

    #[test]
    fn a_structure_by_name_must_be_there() {
        let network = chain(5).network();
        assert_eq!(Structure::named(&network, "chain").unwrap().name, "chain");
        assert_eq!(Structure::named(&network, "explicit").unwrap().sizes, []);
        assert!(Structure::named(&network, "grid").is_none());
        assert!(Structure::named(&network, "nonsense").is_none());
    }

    #[test]
    fn sizes_are_found_in_networks_of_other_sizes() {
        let sizes = |small: Graph, large: Graph| {
            let structure = Structure::of(&small.network());
            let sizes = structure.sizes_in(&large.network());
            sizes.iter().map(|size| size.value).collect::<Vec<_>>()
        };
        assert_eq!(sizes(chain(5), chain(7)), [7]);
        assert_eq!(sizes(chain(5), chain(1)), [1]);
        assert_eq!(sizes(farm(3), farm(1)), [1]);
        assert_eq!(sizes(pool(4), pool(2)), [2]);
        assert_eq!(sizes(pool(4), pool(1)), [1]);
        assert_eq!(sizes(grid(3, 4), grid(5, 2)), [5, 2]);
        assert_eq!(sizes(grid(3, 4), grid(1, 4)), [0usize; 0]);
        assert_eq!(sizes(tree(13, 3), tree(40, 3)), [40, 3]);
        assert_eq!(sizes(random(20, 60), chain(3)), [0usize; 0]);
    }

    #[test]
    fn a_tree_in_another_order_is_known_as_one() {
        // In the order of a depth-first walk.
        let mut walk = Graph::new("walk");
        for (from, to) in [
            ("root.a", "left"),
            ("left.a", "leaf1"),
            ("left.b", "leaf2"),
            ("root.b", "right"),
            ("right.a", "leaf3"),
            ("right.b", "leaf4"),
        ] {
            walk.channel(from, to);
        }
        let network = walk.network();
        assert!(Structure::named(&network, "tree").is_none());
        assert!(Structure::is_tree_out_of_order(&network));
        for graph in [chain(5), farm(3), grid(3, 4), random(20, 60)] {
            assert!(!Structure::is_tree_out_of_order(&graph.network()));
        }
    }
}
