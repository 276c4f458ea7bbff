//! Rows of the processes in a mapped drawing, so that Graphviz draws it neither too wide nor too
//! tall.
//!
//! Graphviz puts a process below those that write to it. So all workers of a farm are one row, and
//! a chain is one column. Here each process gets a row. The rows follow the layers of the network,
//! or the layers of each OS process, with OS processes and hosts below each other. Long rows and
//! columns are divided. Of such arrangements, the best by an estimate of the picture is used.

use super::frames::{Frames, Sizes};
use graphmap_kpn::arena::Id;
use graphmap_kpn::mapping::Mapped;
use graphmap_kpn::network::Network;
use std::collections::BTreeMap;

/// Ratio of width to height that the arrangement aims at.
const RATIO: f64 = 1.5;
/// Factor by which the ratio may differ from [`RATIO`] at no cost.
const TOLERANCE: f64 = 1.5;
/// Ratio of the longer side of an arrangement, along its rows, to the shorter one, above which the
/// rows are farther apart.
const LONG: f64 = 3.0;
/// Numbers of elements beside each other, or below each other, that are tried.
const STEPS: [usize; 8] = [1, 2, 3, 4, 6, 8, 12, usize::MAX];
/// Largest number of processes for which all combinations are tried.
const FEW: usize = 1000;
/// Number of channels from which on a process may be a hub.
const LEAST_OF_HUB: usize = 12;

/// Limits of an arrangement.
#[derive(Clone, Copy)]
struct Limits {
    /// Processes of one layer and one OS process beside each other.
    columns: usize,
    /// Rows of an OS process. Those below continue at the top.
    rows: usize,
    /// OS processes of one host beside each other.
    os_processes: usize,
    /// Hosts beside each other.
    hosts: usize,
    /// True if every second OS process begins a row lower.
    staggered: bool,
}

/// Returns the row of each process, from 0, and an additional distance between rows in inches.
/// `hosts` are the OS processes of each host. Takes time in proportion to the size of the network,
/// apart from sorting.
pub(super) fn rows(
    mapped: &Mapped,
    frames: &Frames,
    hosts: &[Vec<usize>],
    sizes: Sizes,
) -> (Vec<usize>, f64) {
    let network = mapped.network();
    let layers = layers(network);
    let of_all = by_layer(mapped, &layers);
    let hubs = hubs(network);
    let own = own_layers(mapped, &layers, &hubs);
    let ends = |id| (network.writer(id).index(), network.reader(id).index());
    let channels: Vec<(usize, usize)> = network.channels.ids().map(ends).collect();
    let mut best: Option<(f64, Vec<usize>)> = None;
    let mut offer = |rows: Vec<usize>| {
        let cost = cost(&channels, frames, &rows, sizes);
        if best.as_ref().is_none_or(|(known, _)| cost < known - 1e-9) {
            best = Some((cost, rows));
        }
    };
    let count = network.processes.len();
    let few = count <= FEW;
    // With more channels than in a tree or a ring, many would pass the frames of OS processes.
    let divides = few && channels.len() <= count;
    for columns in STEPS {
        for beside in STEPS.into_iter().filter(|b| divides || *b == usize::MAX) {
            offer(rows_of_layers(count, &of_all, (columns, beside)));
        }
    }
    let most_beside = hosts.iter().map(Vec::len).max().unwrap_or(1);
    let steps = |most: usize| {
        STEPS
            .into_iter()
            .filter(move |s| *s < most)
            .chain([usize::MAX])
    };
    for os_processes in steps(most_beside) {
        for beside in steps(hosts.len()) {
            for columns in STEPS {
                for rows in STEPS.into_iter().filter(|rows| few || *rows == usize::MAX) {
                    for staggered in [false, true] {
                        let limits = Limits {
                            columns,
                            rows,
                            os_processes,
                            hosts: beside,
                            staggered,
                        };
                        let rows = rows_of_os_processes(count, &own, hosts, limits);
                        offer(with_hubs(rows, &hubs));
                    }
                }
            }
        }
    }
    let rows = best.map_or_else(Vec::new, |(_, rows)| rows);
    let extent = extent(&channels, frames, &rows, sizes);
    let gaps = rows.iter().max().copied().unwrap_or(0).max(1);
    (rows, missing(extent) / gaps as f64)
}

/// Returns the distance that all rows together are farther apart in a picture of this extent.
fn missing((along, across): (f64, f64)) -> f64 {
    (along / LONG - across).max(0.0)
}

/// Returns an estimate of the extent of the picture along its rows and across them, with the
/// channels that pass rows.
fn extent(
    channels: &[(usize, usize)],
    frames: &Frames,
    rows: &[usize],
    sizes: Sizes,
) -> (f64, f64) {
    let (along, across) = frames.extent(rows, sizes);
    let count = rows.iter().max().map_or(1, |last| last + 1);
    let mut change = vec![0i64; count + 1];
    for &(from, to) in channels {
        let (from, to) = (rows[from], rows[to]);
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
    (along + most as f64 * sizes.lane, across)
}

/// Returns the layer of each process: the largest number of channels of a path to it, without the
/// channels that close cycles. No channel joins different processes of a layer, because a channel
/// that closes a cycle leads back along such a path.
fn layers(network: &Network) -> Vec<usize> {
    let count = network.processes.len();
    let mut out: Vec<Vec<usize>> = vec![Vec::new(); count];
    // Sources begin the search, followed by readers of tokens that are there at the start.
    let mut order = vec![0u8; count];
    for id in network.channels.ids() {
        let [writer, reader] = [network.writer(id), network.reader(id)].map(Id::index);
        out[writer].push(reader);
        let rank = if network.terms(id).initial > 0 { 1 } else { 2 };
        order[reader] = match order[reader] {
            0 => rank,
            known => rank.min(known),
        };
    }
    let mut starts: Vec<usize> = (0..count).collect();
    starts.sort_by_key(|&process| order[process]);
    // Depth-first search, which finishes a process after those that it writes to.
    let mut state = vec![0u8; count];
    let mut finished = Vec::with_capacity(count);
    let mut forward: Vec<(usize, usize)> = Vec::new();
    for start in starts {
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

/// Returns the processes of each OS process in each layer.
fn by_layer(mapped: &Mapped, layers: &[usize]) -> Vec<BTreeMap<usize, Vec<usize>>> {
    let count = layers.iter().max().map_or(0, |last| last + 1);
    let mut groups = vec![BTreeMap::<usize, Vec<usize>>::new(); count];
    for (process, &layer) in layers.iter().enumerate() {
        let os_process = mapped.mapping().os_process[process].index();
        groups[layer].entry(os_process).or_default().push(process);
    }
    groups
}

/// Where a process is that has channels with very many others.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Hub {
    Above,
    Below,
}

/// Returns the processes with channels to so many others that no row is without one of these. They
/// get rows of their own.
fn hubs(network: &Network) -> Vec<Option<Hub>> {
    let count = network.processes.len();
    let mut ends = vec![[0usize; 2]; count];
    for id in network.channels.ids() {
        ends[network.writer(id).index()][0] += 1;
        ends[network.reader(id).index()][1] += 1;
    }
    let hub = |&[written, read]: &[usize; 2]| {
        let is_hub = written + read >= LEAST_OF_HUB && 4 * (written + read) >= count;
        let place = if written >= read {
            Hub::Above
        } else {
            Hub::Below
        };
        is_hub.then_some(place)
    };
    ends.iter().map(hub).collect()
}

/// Puts the hubs above and below all other processes.
fn with_hubs(mut rows: Vec<usize>, hubs: &[Option<Hub>]) -> Vec<usize> {
    let above = usize::from(hubs.contains(&Some(Hub::Above)));
    let others = rows.iter().zip(hubs).filter(|(_, hub)| hub.is_none());
    let below = others.map(|(row, _)| row + 1).max().unwrap_or(0) + above;
    for (row, hub) in rows.iter_mut().zip(hubs) {
        *row = match hub {
            None => *row + above,
            Some(Hub::Above) => 0,
            Some(Hub::Below) => below,
        };
    }
    rows
}

/// Returns the layers of each OS process that have a process, without the hubs.
fn own_layers(mapped: &Mapped, layers: &[usize], hubs: &[Option<Hub>]) -> Vec<Vec<Vec<usize>>> {
    let mut own = vec![Vec::new(); mapped.mapping().bindings.len()];
    for layer in by_layer(mapped, layers) {
        for (os_process, mut processes) in layer {
            processes.retain(|&process| hubs[process].is_none());
            if !processes.is_empty() {
                own[os_process].push(processes);
            }
        }
    }
    own
}

/// Returns the row of each process, where the rows follow the layers of the network. `columns` is
/// the number of processes of one layer and one OS process beside each other, and `beside` the
/// number of OS processes.
fn rows_of_layers(
    count: usize,
    layers: &[BTreeMap<usize, Vec<usize>>],
    (columns, beside): (usize, usize),
) -> Vec<usize> {
    let mut rows = vec![0; count];
    let mut first = 0;
    for layer in layers {
        let mut next = first;
        for (o, processes) in layer.values().enumerate() {
            if o % beside == 0 {
                first = next;
            }
            for (index, &process) in processes.iter().enumerate() {
                rows[process] = first + index / columns;
                next = next.max(rows[process] + 1);
            }
        }
        first = next;
    }
    rows
}

/// Returns the row of each process, where the rows follow the layers of each OS process.
fn rows_of_os_processes(
    count: usize,
    own: &[Vec<Vec<usize>>],
    hosts: &[Vec<usize>],
    limits: Limits,
) -> Vec<usize> {
    let mut rows = vec![0; count];
    let (mut top_of_hosts, mut bottom_of_hosts) = (0, 0);
    for (h, os_processes) in hosts.iter().enumerate() {
        if h % limits.hosts == 0 {
            top_of_hosts = bottom_of_hosts;
        }
        let (mut top, mut bottom) = (top_of_hosts, top_of_hosts);
        for (o, &os_process) in os_processes.iter().enumerate() {
            if o % limits.os_processes == 0 {
                top = bottom;
            }
            let top = top + usize::from(limits.staggered && os_process % 2 == 1);
            let mut row = 0;
            for processes in &own[os_process] {
                for (index, &process) in processes.iter().enumerate() {
                    rows[process] = top + (row + index / limits.columns) % limits.rows;
                    bottom = bottom.max(rows[process] + 1);
                }
                row += processes.len().div_ceil(limits.columns);
            }
        }
        bottom_of_hosts = bottom_of_hosts.max(bottom);
    }
    rows
}

/// Returns the cost of an arrangement: the logarithm of its estimated area, more if its ratio is
/// far from [`RATIO`], and more for channels that do not lead down. The cost is infinite if a
/// channel joins different processes of a row, because Graphviz 2.43 has errors with these: it may
/// not end (`merge_oneway`), or find no way for the line. Rows that follow the layers of the
/// network have no such channel.
fn cost(channels: &[(usize, usize)], frames: &Frames, rows: &[usize], sizes: Sizes) -> f64 {
    if channels.iter().any(|&(a, b)| a != b && rows[a] == rows[b]) {
        return f64::INFINITY;
    }
    let (along, mut across) = extent(channels, frames, rows, sizes);
    if rows.iter().any(|&row| row > 0) {
        across += missing((along, across));
    }
    let down = |&&(from, to): &&(usize, usize)| rows[from] < rows[to];
    let not_down = channels.len() - channels.iter().filter(down).count();
    let ratio = match sizes.turned {
        true => across / along,
        false => along / across,
    };
    let off = (ratio / RATIO).ln().abs() - TOLERANCE.ln();
    let share = not_down as f64 / channels.len().max(1) as f64;
    (along * across).ln() + 4.0 * off.max(0.0) + share
}
