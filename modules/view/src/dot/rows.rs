//! Rows of the processes in a mapped drawing, so that Graphviz draws it neither too wide nor too
//! tall.
//!
//! Graphviz puts a process below those that write to it. So all workers of a farm are one row, and a
//! chain is one column. Here each process gets a row: that of its layer, or one below if the layer is
//! divided. The layers are those of the whole network, or those of each OS process. Long columns are
//! divided, too. Of a few such arrangements, the best by an estimate of its size is used.

use graphmap_kpn::arena::Id;
use graphmap_kpn::mapping::Mapped;
use graphmap_kpn::network::Network;
use std::collections::BTreeMap;

/// Ratio of width to height that the arrangement aims at.
const RATIO: f64 = 1.5;
/// Factor by which the ratio may differ from [`RATIO`] without being worse.
const TOLERANCE: f64 = 1.6;
/// Maximum numbers of processes of an OS process beside each other, and of rows.
const STEPS: [usize; 9] = [1, 2, 3, 4, 6, 8, 12, 16, usize::MAX];

/// Sizes in inches, as Graphviz draws the elements.
#[derive(Clone, Copy)]
pub(super) struct Sizes {
    /// Width of a process with the space beside it.
    pub(super) width: f64,
    /// Height of a process with the space below it.
    pub(super) height: f64,
    /// Space that a channel takes that passes a process.
    pub(super) lane: f64,
    /// Space that the frame of an OS process takes.
    pub(super) frame: f64,
}

/// An arrangement: which rows the processes get.
struct Arrangement {
    rows: Vec<usize>,
    cost: f64,
}

/// Returns the row of each process, from 0. If `across` is true, rows are beside each other
/// (`rankdir=LR`). Takes time in proportion to the size of the network.
pub(super) fn rows(mapped: &Mapped, sizes: Sizes, across: bool) -> Vec<usize> {
    let layers = layers(mapped.network());
    let mut best: Option<Arrangement> = None;
    for of_all in [true, false] {
        let groups = groups(mapped, &layers, of_all);
        for columns in STEPS {
            for most in STEPS {
                if of_all && most != usize::MAX {
                    continue;
                }
                let rows = arrange(mapped, &groups, of_all, (columns, most));
                let mut cost = cost(mapped, &rows, sizes, across);
                if !of_all {
                    // Layers of the whole network show where tokens flow.
                    cost += 0.3;
                }
                if best.as_ref().is_none_or(|best| cost < best.cost - 1e-9) {
                    best = Some(Arrangement { rows, cost });
                }
            }
        }
    }
    best.map_or_else(Vec::new, |best| best.rows)
}

/// Returns the layer of each process: the largest number of channels of a path to it, without the
/// channels that close cycles.
fn layers(network: &Network) -> Vec<usize> {
    let count = network.processes.len();
    let mut out: Vec<Vec<usize>> = vec![Vec::new(); count];
    for id in network.channels.ids() {
        // A cycle is best broken where its first tokens are.
        if network.terms(id).initial == 0 {
            out[network.writer(id).index()].push(network.reader(id).index());
        }
    }
    // Depth-first search, which finishes a process after those that it writes to.
    let mut state = vec![0u8; count];
    let mut finished = Vec::with_capacity(count);
    let mut forward: Vec<(usize, usize)> = Vec::new();
    for start in 0..count {
        if state[start] != 0 {
            continue;
        }
        state[start] = 1;
        let mut stack = vec![(start, 0)];
        while let Some((at, next)) = stack.pop() {
            let Some(&to) = out[at].get(next) else {
                state[at] = 2;
                finished.push(at);
                continue;
            };
            stack.push((at, next + 1));
            if state[to] != 1 {
                forward.push((at, to));
            }
            if state[to] == 0 {
                state[to] = 1;
                stack.push((to, 0));
            }
        }
    }
    let mut forward_of: Vec<Vec<usize>> = vec![Vec::new(); count];
    for (from, to) in forward {
        forward_of[from].push(to);
    }
    let mut layers = vec![0; count];
    for at in finished.into_iter().rev() {
        for &to in &forward_of[at] {
            layers[to] = layers[to].max(layers[at] + 1);
        }
    }
    layers
}

/// Returns the processes of each layer and OS process, by layer. If `of_all` is false, the layers
/// of each OS process are numbered on their own.
fn groups(mapped: &Mapped, layers: &[usize], of_all: bool) -> BTreeMap<(usize, usize), Vec<usize>> {
    let mut groups: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
    for (process, &layer) in layers.iter().enumerate() {
        let os_process = mapped.mapping().os_process[process].index();
        groups.entry((layer, os_process)).or_default().push(process);
    }
    if of_all {
        return groups;
    }
    let mut next: BTreeMap<usize, usize> = BTreeMap::new();
    let own = groups.into_iter().map(|((_, os_process), processes)| {
        let next = next.entry(os_process).or_default();
        *next += 1;
        ((*next - 1, os_process), processes)
    });
    own.collect()
}

/// Returns the row of each process. Of a layer of an OS process, at most `columns` processes are in
/// a row. A row below the first `most` continues at the top.
fn arrange(
    mapped: &Mapped,
    groups: &BTreeMap<(usize, usize), Vec<usize>>,
    of_all: bool,
    (columns, most): (usize, usize),
) -> Vec<usize> {
    let mut rows = vec![0; mapped.network().processes.len()];
    // First row of the next layer, for all OS processes or for each.
    let mut first: BTreeMap<usize, usize> = BTreeMap::new();
    let mut layer = 0;
    let mut end = 0;
    for (&(of, os_process), processes) in groups {
        let row = if of_all {
            if of != layer {
                (layer, first) = (of, BTreeMap::from([(0, end)]));
            }
            first.get(&0).copied().unwrap_or(0)
        } else {
            first.get(&os_process).copied().unwrap_or(0)
        };
        for (index, &process) in processes.iter().enumerate() {
            rows[process] = (row + index / columns) % most;
        }
        let below = row + processes.len().div_ceil(columns);
        if of_all {
            end = end.max(below);
        } else {
            first.insert(os_process, below);
        }
    }
    rows
}

/// Returns the cost of an arrangement: the logarithm of its estimated area, and more if its ratio is
/// far from [`RATIO`].
fn cost(mapped: &Mapped, rows: &[usize], sizes: Sizes, across: bool) -> f64 {
    let network = mapped.network();
    let count = rows.iter().max().map_or(1, |last| last + 1);
    // Processes of each OS process in each row.
    let mut beside: BTreeMap<(usize, usize), usize> = BTreeMap::new();
    for (process, &row) in rows.iter().enumerate() {
        let os_process = mapped.mapping().os_process[process].index();
        *beside.entry((os_process, row)).or_default() += 1;
    }
    let mut widest: BTreeMap<usize, usize> = BTreeMap::new();
    for ((os_process, _), processes) in beside {
        let widest = widest.entry(os_process).or_default();
        *widest = processes.max(*widest);
    }
    let columns: usize = widest.values().sum();
    // Channels that pass each row.
    let mut change = vec![0i64; count + 1];
    for id in network.channels.ids() {
        let from = rows[network.writer(id).index()];
        let to = rows[network.reader(id).index()];
        let (top, bottom) = (from.min(to), from.max(to));
        if top + 1 < bottom {
            change[top + 1] += 1;
            change[bottom] -= 1;
        }
    }
    let (mut passing, mut most) = (0, 0);
    for change in change {
        passing += change;
        most = most.max(passing);
    }
    let along =
        columns as f64 * sizes.width + most as f64 * sizes.lane + widest.len() as f64 * sizes.frame;
    let down = count as f64 * sizes.height + 3.0 * sizes.frame;
    let ratio = if across { down / along } else { along / down };
    let off = (ratio / RATIO).ln().abs() - TOLERANCE.ln();
    (along * down).ln() + 4.0 * off.max(0.0)
}
