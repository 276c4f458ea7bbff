//! Virtual topologies (MPI-5.0, chapter 8). Ranks are never reordered, because the mapping has
//! placed them.

mod dims;
pub(crate) mod shape;

use std::ffi::c_int;
use std::rc::Rc;

use graphmap_runtime::mpi::{self as core, Grid};

use crate::abi::{CART, Comm, DIST_GRAPH, GRAPH, Info, PROC_NULL, UNDEFINED, UNWEIGHTED};
use crate::communicator::Communicators;
use crate::communicator::{Communicator, Ranks};
use crate::error::{Class, Done, Fail, fail};
use crate::info::Infos;
use crate::rank::Part as _;
use crate::rank::Rank;
use crate::topology::shape::{Edge, Kind, Topology, Weights, neighbours, unlabelled};
use crate::wait::wait;

impl Communicator {
    /// Returns the grid of a Cartesian communicator.
    ///
    /// # Errors
    /// [`Class::Topology`].
    fn grid(&self) -> Done<&Grid> {
        match self.topology.get().map(|topology| &topology.kind) {
            Some(Kind::Cart(grid)) => Ok(grid),
            _ => fail!(Topology, "the communicator has no Cartesian topology"),
        }
    }

    /// Returns the ends of the lists of neighbours of the nodes of a graph, and these lists.
    ///
    /// # Errors
    /// [`Class::Topology`].
    fn graph(&self) -> Done<(&[c_int], &[c_int])> {
        match self.topology.get().map(|topology| &topology.kind) {
            Some(Kind::Graph(ends, edges)) => Ok((ends, edges)),
            _ => fail!(Topology, "the communicator has no graph topology"),
        }
    }

    /// Returns the neighbours of a node of a graph.
    ///
    /// # Errors
    /// [`Class::Topology`], and [`Class::Rank`] if the node does not exist.
    fn neighbours(&self, node: c_int) -> Done<&[c_int]> {
        let (ends, edges) = self.graph()?;
        match usize::try_from(node) {
            Ok(node) if node < ends.len() => Ok(neighbours(ends, edges, node)),
            _ => fail!(Rank, "the graph has no node {node}"),
        }
    }

    /// Returns the topology of a distributed graph, and the weights if it is weighted.
    ///
    /// # Errors
    /// [`Class::Topology`].
    fn dist_graph(&self) -> Done<(&Topology, Option<&Weights>)> {
        match self.topology.get() {
            Some(topology) => match &topology.kind {
                Kind::Dist(weights) => Ok((topology, weights.as_ref())),
                _ => fail!(
                    Topology,
                    "the communicator has no distributed graph topology"
                ),
            },
            None => fail!(Topology, "the communicator has no topology"),
        }
    }
}

/// Adds a communicator with a topology, and returns its handle. Returns `MPI_COMM_NULL` if the rank
/// is not part of it.
fn add(
    this: &Rank,
    parent: &Communicator,
    ranks: Option<core::Communicator>,
    topology: impl FnOnce(usize) -> Topology,
) -> Done<Comm> {
    let Some(ranks) = ranks else {
        return Ok(Comm::NULL);
    };
    let topology = Rc::new(topology(ranks.rank()));
    let handle = Communicators::of(this).derive(parent, Ranks::Intra(ranks))?;
    let added = Communicators::of(this).get(handle)?;
    drop(added.topology.set(topology));
    Ok(handle)
}

/// Reads an array of a program.
///
/// # Errors
/// [`Class::Arg`] if the length is negative, or the array is null although it has items.
///
/// # Safety
/// The array must be null or have this length until the end of the call.
unsafe fn array<'a>(items: *const c_int, length: c_int) -> Done<&'a [c_int]> {
    match usize::try_from(length) {
        Ok(0) => Ok(&[]),
        Ok(_) if items.is_null() => fail!(Arg, "an array is null"),
        // SAFETY: guaranteed by the caller.
        Ok(length) => Ok(unsafe { std::slice::from_raw_parts(items, length) }),
        Err(_) => fail!(Arg, "the length {length} of an array is negative"),
    }
}

/// Writes the first items of an array of a program.
///
/// # Errors
/// [`Class::Arg`] if the array is null although there are items.
///
/// # Safety
/// The array must be null or have room for the items.
unsafe fn write(items: impl ExactSizeIterator<Item = c_int>, to: *mut c_int) -> Done {
    if to.is_null() && items.len() > 0 {
        return fail!(Arg, "an array is null");
    }
    for (index, item) in items.enumerate() {
        // SAFETY: guaranteed by the caller.
        unsafe { to.add(index).write(item) };
    }
    Ok(())
}

/// Checks that an array of a program has room for a number of items.
///
/// # Errors
/// [`Class::Arg`].
fn check_room(items: usize, room: c_int) -> Done {
    match i64::from(room) < items as i64 {
        true => fail!(Arg, "an array has {room} items but needs {items}"),
        false => Ok(()),
    }
}

/// Reads the dimensions of a grid.
///
/// # Errors
/// [`Class::Dims`] if a dimension is not positive. The errors of [`array`]. `too_large` if the grid
/// has more than `ranks` ranks.
///
/// # Safety
/// The arrays must be null or have an item for each dimension.
unsafe fn grid(
    ndims: c_int,
    dims: *const c_int,
    periods: *const c_int,
    ranks: usize,
    too_large: Class,
) -> Done<Grid> {
    // SAFETY: guaranteed by the caller.
    let (dims, periods) = unsafe { (array(dims, ndims)?, array(periods, ndims)?) };
    if let Some(dim) = dims.iter().find(|&&dim| dim <= 0) {
        return fail!(Dims, "the dimension {dim} of a grid is not positive");
    }
    let dims: Vec<usize> = dims.iter().map(|&dim| dim as usize).collect();
    let periods: Vec<bool> = periods.iter().map(|&period| period != 0).collect();
    match Grid::new(&dims, &periods) {
        Ok(grid) if grid.size() <= ranks => Ok(grid),
        _ => {
            let text = format!("the communicator has only {ranks} ranks for a grid of {dims:?}");
            Err(Fail::new(too_large, text))
        }
    }
}

/// Checks the description of a graph, and returns its edges.
///
/// # Errors
/// [`Class::Arg`].
///
/// # Safety
/// `edges` must be null or have the number of items that `ends` states.
unsafe fn graph_edges<'a>(ends: &[c_int], edges: *const c_int, ranks: usize) -> Done<&'a [c_int]> {
    if ends.len() > ranks {
        let nodes = ends.len();
        return fail!(
            Arg,
            "the communicator has only {ranks} ranks for {nodes} nodes"
        );
    }
    if !ends.is_sorted() || ends.first().is_some_and(|&first| first < 0) {
        return fail!(Arg, "the index array of a graph must ascend from 0");
    }
    // SAFETY: guaranteed by the caller.
    let edges = unsafe { array(edges, ends.last().copied().unwrap_or(0))? };
    let outside = |&&edge: &&c_int| usize::try_from(edge).map_or(true, |edge| edge >= ranks);
    match edges.iter().find(outside) {
        Some(edge) => fail!(Arg, "a graph has an edge to {edge}, which is not a rank"),
        None => Ok(edges),
    }
}

/// Checks that ranks exist.
///
/// # Errors
/// [`Class::Rank`].
fn check_ranks(ranks: &[c_int], by: &core::Communicator) -> Done {
    let size = by.size();
    let outside = |&&rank: &&c_int| usize::try_from(rank).map_or(true, |rank| rank >= size);
    match ranks.iter().find(outside) {
        Some(rank) => fail!(
            Rank,
            "rank {rank} does not exist: the communicator has {size} ranks"
        ),
        None => Ok(()),
    }
}

/// Returns the rank for a program.
fn or_null(rank: Option<usize>) -> c_int {
    rank.map_or(PROC_NULL, |rank| rank as c_int)
}

fn dims_create(nodes: c_int, dims: &mut [c_int]) -> Done {
    if let Some(dim) = dims.iter().find(|&&dim| dim < 0) {
        return fail!(Dims, "the dimension {dim} is negative");
    }
    let given = dims.iter().filter(|&&dim| dim > 0);
    let product = given.fold(1i64, |product, &dim| product.saturating_mul(dim.into()));
    if i64::from(nodes) % product != 0 {
        return fail!(Dims, "{nodes} is not a multiple of the given dimensions");
    }
    if !dims.contains(&0) {
        return Ok(());
    }
    let Ok(rest @ 1..) = usize::try_from(i64::from(nodes) / product) else {
        return fail!(Dims, "the number of nodes {nodes} is not positive");
    };
    let count = dims.iter().filter(|&&dim| dim == 0).count();
    let free = dims.iter_mut().filter(|dim| **dim == 0);
    for (dim, chosen) in free.zip(dims::balanced(rest, count)) {
        *dim = chosen as c_int;
    }
    Ok(())
}

/// Reads the weights of edges. Returns `None` if the edges have none.
///
/// # Safety
/// `weights` must be a constant or have this number of items.
unsafe fn weights(weights: *const c_int, edges: usize) -> Option<Vec<c_int>> {
    if weights == UNWEIGHTED {
        return None;
    }
    if edges == 0 || weights.is_null() {
        return Some(Vec::new());
    }
    // SAFETY: guaranteed by the caller.
    Some(unsafe { std::slice::from_raw_parts(weights, edges) }.to_vec())
}

/// An edge that a rank has listed, for one of its ends: true at its source, the other end, and the
/// weight.
type Listed = (bool, u32, i32);

export! {
    fn MPI_Topo_test(comm: Comm, status: *mut c_int) on comm => |this| {
        let of = Communicators::of(this).get(comm)?;
        status.write(match of.topology.get().map(|topology| &topology.kind) {
            Some(Kind::Cart(_)) => CART,
            Some(Kind::Graph(..)) => GRAPH,
            Some(Kind::Dist(_)) => DIST_GRAPH,
            None => UNDEFINED,
        });
        Ok(())
    };

    fn MPI_Dims_create(nnodes: c_int, ndims: c_int, dims: *mut c_int) on World => |_| {
        let length = array(dims, ndims)?.len();
        let dims = match length {
            0 => &mut [],
            _ => std::slice::from_raw_parts_mut(dims, length),
        };
        dims_create(nnodes, dims)
    };

    fn MPI_Cart_create(
        comm: Comm, ndims: c_int, dims: *const c_int, periods: *const c_int, _reorder: c_int,
        new: *mut Comm,
    ) on comm => |this| {
        let parent = Communicators::of(this).get(comm)?;
        let by = parent.intra()?;
        let grid = grid(ndims, dims, periods, by.size(), Class::Arg)?;
        let made = wait(by.cartesian(&grid))?;
        let ranks = made.map(|made| made.communicator().clone());
        new.write(add(this, &parent, ranks, |rank| Topology::cart(grid, rank))?);
        Ok(())
    };
    fn MPI_Cart_sub(comm: Comm, remain: *const c_int, new: *mut Comm) on comm => |this| {
        let parent = Communicators::of(this).get(comm)?;
        let grid = parent.grid()?;
        let remain = array(remain, grid.dims().len() as c_int)?;
        let own = grid.coordinates(parent.rank()).unwrap_or_default();
        let (mut dims, mut periods, mut colour) = (Vec::new(), Vec::new(), 0);
        for (index, &remains) in remain.iter().enumerate() {
            if remains != 0 {
                dims.push(grid.dims()[index]);
                periods.push(grid.periodic()[index]);
            } else {
                colour = colour * grid.dims()[index] + own[index];
            }
        }
        let grid = Grid::new(&dims, &periods)?;
        // The ranks of a part are in the order of the ranks of the grid. A grid without dimensions
        // has only rank 0, as in MPI_Cart_create.
        let colour = if dims.is_empty() && colour > 0 { None } else { Some(colour as u32) };
        let ranks = wait(parent.intra()?.split(colour, 0))?;
        new.write(add(this, &parent, ranks, |rank| Topology::cart(grid, rank))?);
        Ok(())
    };
    fn MPI_Cart_map(
        comm: Comm, ndims: c_int, dims: *const c_int, periods: *const c_int, new: *mut c_int,
    ) on comm => |this| {
        let by = Communicators::of(this).get(comm)?;
        let grid = grid(ndims, dims, periods, by.peers(), Class::Dims)?;
        let rank = by.rank();
        new.write(if rank < grid.size() { rank as c_int } else { UNDEFINED });
        Ok(())
    };
    fn MPI_Cartdim_get(comm: Comm, ndims: *mut c_int) on comm => |this| {
        ndims.write(Communicators::of(this).get(comm)?.grid()?.dims().len() as c_int);
        Ok(())
    };
    fn MPI_Cart_get(
        comm: Comm, maxdims: c_int, dims: *mut c_int, periods: *mut c_int, coords: *mut c_int,
    ) on comm => |this| {
        let of = Communicators::of(this).get(comm)?;
        let grid = of.grid()?;
        check_room(grid.dims().len(), maxdims)?;
        let own = grid.coordinates(of.rank()).unwrap_or_default();
        write(grid.dims().iter().map(|&dim| dim as c_int), dims)?;
        write(grid.periodic().iter().map(|&periodic| periodic.into()), periods)?;
        write(own.iter().map(|&at| at as c_int), coords)
    };
    fn MPI_Cart_rank(comm: Comm, coords: *const c_int, rank: *mut c_int) on comm => |this| {
        let of = Communicators::of(this).get(comm)?;
        let grid = of.grid()?;
        let coords = array(coords, grid.dims().len() as c_int)?;
        let all: Vec<isize> = coords.iter().map(|&at| at as isize).collect();
        match grid.rank_at(&all) {
            Some(found) => rank.write(found as c_int),
            None => return fail!(Arg, "the coordinates {coords:?} are beyond the grid"),
        }
        Ok(())
    };
    fn MPI_Cart_coords(
        comm: Comm, rank: c_int, maxdims: c_int, coords: *mut c_int,
    ) on comm => |this| {
        let of = Communicators::of(this).get(comm)?;
        let grid = of.grid()?;
        let found = usize::try_from(rank).ok().and_then(|rank| grid.coordinates(rank));
        let Some(found) = found else {
            return fail!(Rank, "the grid has no rank {rank}");
        };
        check_room(found.len(), maxdims)?;
        write(found.iter().map(|&at| at as c_int), coords)
    };
    fn MPI_Cart_shift(
        comm: Comm, direction: c_int, disp: c_int, source: *mut c_int, dest: *mut c_int,
    ) on comm => |this| {
        let of = Communicators::of(this).get(comm)?;
        let grid = of.grid()?;
        if grid.dims().is_empty() {
            return fail!(Topology, "the grid has no dimensions");
        }
        let dimension = usize::try_from(direction).ok();
        let shifted = dimension.and_then(|it| grid.shift(of.rank(), it, disp as isize));
        let Some((from, to)) = shifted else {
            return fail!(Arg, "the grid has no dimension {direction}");
        };
        source.write(or_null(from));
        dest.write(or_null(to));
        Ok(())
    };

    fn MPI_Graph_create(
        comm: Comm, nnodes: c_int, index: *const c_int, edges: *const c_int, _reorder: c_int,
        new: *mut Comm,
    ) on comm => |this| {
        let parent = Communicators::of(this).get(comm)?;
        let by = parent.intra()?;
        let ends = array(index, nnodes)?;
        let edges = graph_edges(ends, edges, by.size())?;
        let is_node = by.rank() < ends.len();
        let ranks = wait(by.split(is_node.then_some(0), 0))?;
        new.write(add(this, &parent, ranks, |rank| Topology::graph(ends, edges, rank))?);
        Ok(())
    };
    fn MPI_Graph_map(
        comm: Comm, nnodes: c_int, index: *const c_int, edges: *const c_int, new: *mut c_int,
    ) on comm => |this| {
        let by = Communicators::of(this).get(comm)?;
        let ends = array(index, nnodes)?;
        graph_edges(ends, edges, by.peers())?;
        let rank = by.rank();
        new.write(if rank < ends.len() { rank as c_int } else { UNDEFINED });
        Ok(())
    };
    fn MPI_Graphdims_get(comm: Comm, nnodes: *mut c_int, nedges: *mut c_int) on comm => |this| {
        let of = Communicators::of(this).get(comm)?;
        let (ends, edges) = of.graph()?;
        nnodes.write(ends.len() as c_int);
        nedges.write(edges.len() as c_int);
        Ok(())
    };
    fn MPI_Graph_get(
        comm: Comm, maxindex: c_int, maxedges: c_int, index: *mut c_int, to: *mut c_int,
    ) on comm => |this| {
        let of = Communicators::of(this).get(comm)?;
        let (ends, edges) = of.graph()?;
        check_room(ends.len(), maxindex)?;
        check_room(edges.len(), maxedges)?;
        write(ends.iter().copied(), index)?;
        write(edges.iter().copied(), to)
    };
    fn MPI_Graph_neighbors_count(
        comm: Comm, rank: c_int, count: *mut c_int,
    ) on comm => |this| {
        count.write(Communicators::of(this).get(comm)?.neighbours(rank)?.len() as c_int);
        Ok(())
    };
    fn MPI_Graph_neighbors(
        comm: Comm, rank: c_int, max: c_int, neighbors: *mut c_int,
    ) on comm => |this| {
        let of = Communicators::of(this).get(comm)?;
        let found = of.neighbours(rank)?;
        check_room(found.len(), max)?;
        write(found.iter().copied(), neighbors)
    };

    fn MPI_Dist_graph_create_adjacent(
        comm: Comm, indegree: c_int, sources: *const c_int, source_weights: *const c_int,
        outdegree: c_int, destinations: *const c_int, destination_weights: *const c_int,
        info: Info, _reorder: c_int, new: *mut Comm,
    ) on comm => |this| {
        Infos::of(this).argument(info)?;
        let parent = Communicators::of(this).get(comm)?;
        let by = parent.intra()?;
        let sources = array(sources, indegree)?;
        let destinations = array(destinations, outdegree)?;
        check_ranks(sources, by)?;
        check_ranks(destinations, by)?;
        let from = weights(source_weights, sources.len());
        let to = weights(destination_weights, destinations.len());
        if from.is_some() != to.is_some() {
            return fail!(Topology, "only the sources or only the destinations have weights");
        }
        let ranks = wait(by.dup())?;
        let made = |_| {
            Topology::new(Kind::Dist(from.zip(to)), unlabelled(sources), unlabelled(destinations))
        };
        new.write(add(this, &parent, Some(ranks), made)?);
        Ok(())
    };
    fn MPI_Dist_graph_create(
        comm: Comm, n: c_int, sources: *const c_int, degrees: *const c_int,
        destinations: *const c_int, weights_of: *const c_int, info: Info, _reorder: c_int,
        new: *mut Comm,
    ) on comm => |this| {
        Infos::of(this).argument(info)?;
        let parent = Communicators::of(this).get(comm)?;
        let by = parent.intra()?;
        let sources = array(sources, n)?;
        let degrees = array(degrees, n)?;
        if let Some(degree) = degrees.iter().find(|&&degree| degree < 0) {
            return fail!(Arg, "the degree {degree} is negative");
        }
        let edges = degrees.iter().try_fold(0, |edges: c_int, &degree| edges.checked_add(degree));
        let destinations = array(destinations, edges.unwrap_or(-1))?;
        check_ranks(sources, by)?;
        check_ranks(destinations, by)?;
        let weights = weights(weights_of, destinations.len());
        let mut listed: Vec<(usize, Listed)> = Vec::with_capacity(2 * destinations.len());
        let each = sources.iter().zip(degrees);
        let each = each.flat_map(|(&source, &degree)| std::iter::repeat_n(source, degree as usize));
        for (index, (source, &destination)) in each.zip(destinations).enumerate() {
            let weight = weights.as_ref().and_then(|weights| weights.get(index));
            let weight = weight.copied().unwrap_or(0);
            listed.push((source as usize, (true, destination as u32, weight)));
            listed.push((destination as usize, (false, source as u32, weight)));
        }
        let (own, ranks) = (by.exchange(listed), by.dup());
        let (own, ranks) = (wait(own)?, wait(ranks)?);
        let of = |is_source: bool| -> (Vec<Edge>, Vec<c_int>) {
            let edges = own.iter().filter(|(_, (at, ..))| *at == is_source);
            edges.map(|(_, (_, other, weight))| (Some((*other as usize, 0)), *weight)).unzip()
        };
        let ((sources, from), (destinations, to)) = (of(false), of(true));
        let kind = Kind::Dist(weights.map(|_| (from, to)));
        new.write(add(this, &parent, Some(ranks), |_| {
            Topology::new(kind, sources, destinations)
        })?);
        Ok(())
    };
    fn MPI_Dist_graph_neighbors_count(
        comm: Comm, indegree: *mut c_int, outdegree: *mut c_int, weighted: *mut c_int,
    ) on comm => |this| {
        let of = Communicators::of(this).get(comm)?;
        let (topology, weights) = of.dist_graph()?;
        indegree.write(topology.sources.len() as c_int);
        outdegree.write(topology.destinations.len() as c_int);
        weighted.write(weights.is_some().into());
        Ok(())
    };
    fn MPI_Dist_graph_neighbors(
        comm: Comm, max_sources: c_int, sources: *mut c_int, source_weights: *mut c_int,
        max_destinations: c_int, destinations: *mut c_int, destination_weights: *mut c_int,
    ) on comm => |this| {
        let of = Communicators::of(this).get(comm)?;
        let (topology, weights) = of.dist_graph()?;
        let (from, to) = match weights {
            Some((from, to)) => (&from[..], &to[..]),
            None => Default::default(),
        };
        let both = [
            (&topology.sources, max_sources, sources, from, source_weights),
            (&topology.destinations, max_destinations, destinations, to, destination_weights),
        ];
        for (edges, max, ranks, weights, to) in both {
            let Ok(max) = usize::try_from(max) else {
                return fail!(Arg, "the length {max} of an array is negative");
            };
            // A shorter array gets the first part (MPI-5.0, section 8.5.5).
            let all = edges.iter().take(max);
            write(all.map(|edge| or_null(edge.map(|(rank, _)| rank))), ranks)?;
            if to.cast_const() != UNWEIGHTED {
                write(weights.iter().copied().take(max), to)?;
            }
        }
        Ok(())
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_of_a_grid_are_paired_by_direction() {
        // Both neighbours of a rank in a ring of two ranks are the same rank.
        let grid = Grid::new(&[2], &[true]).unwrap();
        let topology = Topology::cart(grid, 0);
        assert_eq!(topology.sources, [Some((1, 0)), Some((1, 1))]);
        assert_eq!(topology.destinations, [Some((1, 1)), Some((1, 0))]);
        assert_eq!(topology.arrivals, [0, 1]);
        let grid = Grid::new(&[3], &[false]).unwrap();
        let topology = Topology::cart(grid, 0);
        assert_eq!(topology.sources, [None, Some((1, 1))]);
        assert_eq!(topology.arrivals, [1]);
    }

    #[test]
    fn dims_create_keeps_given_dimensions() {
        let mut dims = [0, 3, 0];
        dims_create(24, &mut dims).unwrap();
        assert_eq!(dims, [4, 3, 2]);
        assert_eq!(
            dims_create(25, &mut [0, 3]).unwrap_err().code,
            Class::Dims as c_int
        );
        assert_eq!(
            dims_create(4, &mut [0, -1]).unwrap_err().code,
            Class::Dims as c_int
        );
        dims_create(6, &mut [3]).unwrap();
    }

    #[test]
    fn graph_edges_are_checked() {
        let check = |ends: &[c_int], edges: &[c_int]| {
            // SAFETY: the array has the items that `ends` states.
            unsafe { graph_edges(ends, edges.as_ptr(), 3) }.map(<[c_int]>::len)
        };
        assert_eq!(check(&[1, 2, 2], &[1, 0]).unwrap(), 2);
        for (ends, edges) in [(&[2, 1][..], &[0, 0][..]), (&[1], &[3]), (&[1; 4], &[0])] {
            assert_eq!(check(ends, edges).unwrap_err().code, Class::Arg as c_int);
        }
    }
}
