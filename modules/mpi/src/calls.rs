//! Functions of MPI's C interface that libraries call directly because rsmpi does not offer them:
//! distributed graph topologies and their neighbourhood collectives.
//!
//! All functions return [`MPI_SUCCESS`], because an error ends the rank, as MPI's default error
//! handler ends the job.

#![allow(non_snake_case)]

use std::cell::RefCell;
use std::os::raw::{c_double, c_int, c_void};
use std::rc::Rc;

use graphmap_runtime::mpi as core;

use crate::abi::{MPI_Comm, MPI_Fint, MPI_Info, MPI_SUCCESS, RSMPI_COMM_NULL};
use crate::buffer_range::{BufferRange, packed_at};
use crate::collective::begin::barrier;
use crate::datatype::layout::MPI_Datatype;
use crate::done;
use crate::fiber::wait;
use crate::request::complete;
use crate::shared::Shared;

/// A static whose address marks edges without weights.
static UNWEIGHTED: c_int = 0;

/// Returns the pointer that marks the edges of a graph as unweighted (`MPI_UNWEIGHTED`).
pub fn RSMPI_UNWEIGHTED() -> *mut c_int {
    std::ptr::from_ref(&UNWEIGHTED).cast_mut()
}

/// Returns the seconds since an arbitrary moment, which is the same for all ranks of an OS process.
///
/// # Safety
/// There are no conditions. It is `unsafe` only because the C function is, so that callers need no
/// change.
pub unsafe fn MPI_Wtime() -> c_double {
    crate::environment::time()
}

/// Returns the data of the handle of a communicator.
///
/// # Panics
/// If the handle is null.
///
/// # Safety
/// The handle must be null, or belong to a communicator that lives at least as long as the
/// reference.
#[track_caller]
pub(crate) unsafe fn communicator<'a>(handle: MPI_Comm) -> &'a Shared {
    assert!(!handle.0.is_null(), "`MPI_COMM_NULL` is not a communicator");
    // SAFETY: the handle is not null. By the contract of this function, it points to the live
    // `Shared` of a communicator.
    unsafe { &*handle.0.cast() }
}

/// Returns the neighbours of this rank in a communicator.
///
/// # Panics
/// If the rank is finalized, or if the communicator has no graph topology or is an
/// intercommunicator.
#[track_caller]
fn neighbours(of: &Shared) -> &core::Neighbours {
    // Panics if the rank is finalized.
    of.core();
    let graph = of.graph.as_ref();
    graph.expect(
        "the communicator has no graph topology: create one with `MPI_Dist_graph_create_adjacent`",
    )
}

/// Returns the slice of `count` elements at a pointer. Does not read the pointer if `count` is 0.
///
/// # Safety
/// If `count` is not 0, `from` must point to `count` elements that are valid during `'a`.
unsafe fn elements<'a, T>(from: *const T, count: usize) -> &'a [T] {
    match count {
        // C permits any pointer for an empty array.
        0 => &[],
        // SAFETY: by the contract of this function.
        _ => unsafe { std::slice::from_raw_parts(from, count) },
    }
}

/// Converts a count of type `int`. A negative count is treated as 0.
pub(crate) fn number(count: c_int) -> usize {
    usize::try_from(count).unwrap_or(0)
}

/// Converts a rank of type `int`. A negative rank becomes an invalid one, which errors print
/// unchanged.
pub(crate) fn rank(rank: c_int) -> usize {
    (rank as isize).cast_unsigned()
}

thread_local! {
    /// Communicators that have a Fortran handle, which is the index plus 1.
    static NUMBERED: RefCell<Vec<MPI_Comm>> = const { RefCell::new(Vec::new()) };
}

/// Returns the Fortran handle of a communicator (`MPI_Comm_c2f`), or 0 for `RSMPI_COMM_NULL`. All
/// calls on a thread return the same number for equal values of `comm`. Each thread counts its
/// handles from 1. Panics if a thread requests more than 2^31 - 1 handles.
///
/// # Safety
/// There are no conditions. It is `unsafe` only because the C function is.
pub unsafe fn RSMPI_Comm_c2f(comm: MPI_Comm) -> MPI_Fint {
    if comm == RSMPI_COMM_NULL {
        return 0;
    }
    NUMBERED.with_borrow_mut(|numbered| {
        let known = numbered.iter().position(|&one| one == comm);
        let index = known.unwrap_or_else(|| {
            numbered.push(comm);
            numbered.len() - 1
        });
        MPI_Fint::try_from(index + 1).expect("there are fewer communicators than numbers")
    })
}

/// Returns the communicator of a Fortran handle (`MPI_Comm_f2c`), or `RSMPI_COMM_NULL` if no call
/// of [`RSMPI_Comm_c2f`] on this thread has returned the handle.
///
/// # Safety
/// There are no conditions. It is `unsafe` only because the C function is. The communicator may
/// have been dropped since its handle was requested.
pub unsafe fn RSMPI_Comm_f2c(comm: MPI_Fint) -> MPI_Comm {
    let index = usize::try_from(comm).ok().and_then(|at| at.checked_sub(1));
    NUMBERED.with_borrow(|numbered| {
        let found = index.and_then(|index| numbered.get(index));
        found.copied().unwrap_or(RSMPI_COMM_NULL)
    })
}

/// Blocks until all ranks have called it (`MPI_Barrier`). Always returns `MPI_SUCCESS`.
///
/// # Panics
/// If `comm` is null, the rank is finalized, the run ends, or ranks have made different calls. All
/// functions of this module that communicate also panic if the caller is not on the stack of a
/// rank.
///
/// # Safety
/// `comm` must be null or the handle of a live communicator.
#[track_caller]
pub unsafe fn MPI_Barrier(comm: MPI_Comm) -> c_int {
    // SAFETY: by the contract of this function.
    let of = unsafe { communicator(comm) };
    done(complete(barrier(of.groups())));
    MPI_SUCCESS
}

/// Creates a communicator of the same ranks with a graph topology
/// (`MPI_Dist_graph_create_adjacent`). Each rank names the ranks that it receives from and sends
/// to. Writes the handle of the communicator to `comm_dist_graph`. A collective call, which blocks
/// until all ranks have made it. The ranks keep their numbers even if reordering is allowed,
/// because the mapping has placed them already. Always returns `MPI_SUCCESS`.
///
/// # Panics
/// * If edges have weights, because weights serve only for reordering.
/// * If the two ends of an edge do not name it equally often, or a rank is not in the communicator.
/// * If ranks make different calls, or no communicator numbers are left.
/// * If `comm_old` is null or an intercommunicator, the rank is finalized, or the run ends.
///
/// # Safety
/// `comm_old` must be null or the handle of a live communicator. `sources` must point to `indegree`
/// ranks, and `destinations` to `outdegree` ranks. `comm_dist_graph` must be valid for writing.
#[track_caller]
#[allow(clippy::too_many_arguments)]
pub unsafe fn MPI_Dist_graph_create_adjacent(
    comm_old: MPI_Comm,
    indegree: c_int,
    sources: *const c_int,
    sourceweights: *const c_int,
    outdegree: c_int,
    destinations: *const c_int,
    destweights: *const c_int,
    _info: MPI_Info,
    _reorder: c_int,
    comm_dist_graph: *mut MPI_Comm,
) -> c_int {
    // SAFETY: by the contract of this function.
    let (of, sources, destinations) = unsafe {
        (
            communicator(comm_old),
            elements(sources, number(indegree)),
            elements(destinations, number(outdegree)),
        )
    };
    // A rank without edges may pass any pointer as their weights.
    let weighed = |weights: *const c_int, edges: &[c_int]| {
        !edges.is_empty() && weights != RSMPI_UNWEIGHTED().cast_const()
    };
    assert!(
        !weighed(sourceweights, sources) && !weighed(destweights, destinations),
        "edge weights are not supported: pass `MPI_UNWEIGHTED`"
    );
    let ranks = |ranks: &[c_int]| -> Vec<usize> { ranks.iter().copied().map(rank).collect() };
    let mut made = of.derived(done(wait(of.core().dup())));
    made.graph = Some(done(wait(
        made.core().graph(&ranks(sources), &ranks(destinations)),
    )));
    let handle = MPI_Comm(Rc::into_raw(Rc::new(made)).cast());
    // SAFETY: by the contract of this function.
    unsafe { comm_dist_graph.write(handle) };
    MPI_SUCCESS
}

/// Writes the number of sources of this rank to `indegree`, the number of its destinations to
/// `outdegree`, and 0 to `weighted`, because edges have no weights
/// (`MPI_Dist_graph_neighbors_count`). Always returns `MPI_SUCCESS`.
///
/// # Panics
/// If the communicator has no graph topology. If `comm` is null or the rank is finalized.
///
/// # Safety
/// `comm` must be null or the handle of a live communicator. The other pointers must be valid for
/// writing.
#[track_caller]
pub unsafe fn MPI_Dist_graph_neighbors_count(
    comm: MPI_Comm,
    indegree: *mut c_int,
    outdegree: *mut c_int,
    weighted: *mut c_int,
) -> c_int {
    // SAFETY: by the contract of this function.
    let graph = neighbours(unsafe { communicator(comm) });
    let count = |count: usize| c_int::try_from(count).unwrap_or(c_int::MAX);
    // SAFETY: by the contract of this function.
    unsafe {
        indegree.write(count(graph.sources().count()));
        outdegree.write(count(graph.destinations().count()));
        weighted.write(0);
    }
    MPI_SUCCESS
}

/// Sends `sendcount` elements to each destination, and receives `recvcount` elements from each
/// source (`MPI_Neighbor_alltoall`). Blocks until the elements of all sources have arrived and its
/// own sends have completed. The elements are in the order of the sources and destinations. A
/// negative count is treated as 0. Always returns `MPI_SUCCESS`.
///
/// # Panics
/// If the communicator has no graph topology, or a neighbour sends another number of elements than
/// `recvcount`. If `comm` is null, the rank is finalized, or the run ends.
///
/// # Safety
/// `comm` must be null or the handle of a live communicator. `sendbuf` must contain `sendcount`
/// elements for each destination. `recvbuf` must have space for `recvcount` elements for each
/// source.
#[track_caller]
pub unsafe fn MPI_Neighbor_alltoall(
    sendbuf: *const c_void,
    sendcount: c_int,
    sendtype: MPI_Datatype,
    recvbuf: *mut c_void,
    recvcount: c_int,
    recvtype: MPI_Datatype,
    comm: MPI_Comm,
) -> c_int {
    let equal = |each: c_int, neighbours: usize| {
        let first = |neighbour: usize| neighbour.cast_signed() * number(each).cast_signed();
        let part = |neighbour| (first(neighbour), number(each));
        (0..neighbours).map(part).collect()
    };
    // SAFETY: by the contract of this function.
    unsafe {
        exchange(
            communicator(comm),
            (sendbuf, sendtype, |neighbours| equal(sendcount, neighbours)),
            (recvbuf, recvtype, |neighbours| equal(recvcount, neighbours)),
        )
    }
}

/// Exchanges elements as [`MPI_Neighbor_alltoall`] does, with a count and a displacement for each
/// neighbour (`MPI_Neighbor_alltoallv`). Displacements are in elements. Always returns
/// `MPI_SUCCESS`.
///
/// # Panics
/// As for [`MPI_Neighbor_alltoall`].
///
/// # Safety
/// As for [`MPI_Neighbor_alltoall`], for the given counts and displacements. In addition, each
/// array must have an entry for each neighbour.
#[track_caller]
#[allow(clippy::too_many_arguments)]
pub unsafe fn MPI_Neighbor_alltoallv(
    sendbuf: *const c_void,
    sendcounts: *const c_int,
    sdispls: *const c_int,
    sendtype: MPI_Datatype,
    recvbuf: *mut c_void,
    recvcounts: *const c_int,
    rdispls: *const c_int,
    recvtype: MPI_Datatype,
    comm: MPI_Comm,
) -> c_int {
    let each = |counts: *const c_int, displs: *const c_int, neighbours: usize| {
        // SAFETY: by the contract of the function, each array has an entry for each neighbour.
        let (counts, displs) =
            unsafe { (elements(counts, neighbours), elements(displs, neighbours)) };
        let parts = displs.iter().zip(counts);
        let part = |(&displ, &count): (&c_int, &c_int)| (displ as isize, number(count));
        parts.map(part).collect()
    };
    // SAFETY: by the contract of this function.
    unsafe {
        exchange(
            communicator(comm),
            (sendbuf, sendtype, |neighbours| {
                each(sendcounts, sdispls, neighbours)
            }),
            (recvbuf, recvtype, |neighbours| {
                each(recvcounts, rdispls, neighbours)
            }),
        )
    }
}

/// For each neighbour, the displacement of its first element, in elements, and the number of
/// elements.
type Parts = Vec<(isize, usize)>;

/// Sends each destination its elements, and receives the elements of each source. Blocks until all
/// have arrived and its own sends have completed. Always returns `MPI_SUCCESS`. `sent` is called
/// with the number of destinations, and `received` with the number of sources.
///
/// # Panics
/// As [`MPI_Neighbor_alltoall`].
///
/// # Safety
/// For all parts that `sent` and `received` return, `from` must contain the elements, and `to` must
/// have space for them.
#[track_caller]
unsafe fn exchange(
    of: &Shared,
    (from, from_type, sent): (*const c_void, MPI_Datatype, impl Fn(usize) -> Parts),
    (to, to_type, received): (*mut c_void, MPI_Datatype, impl Fn(usize) -> Parts),
) -> c_int {
    let graph = neighbours(of);
    let pack = |(first, count)| {
        // SAFETY: by the contract of the function.
        unsafe { packed_at(from.cast(), first, count, from_type.0) }
    };
    let sent = sent(graph.destinations().count());
    let come = done(wait(graph.alltoall(sent.into_iter().map(pack).collect())));
    let received = received(graph.sources().count());
    for ((first, count), bytes) in received.into_iter().zip(come) {
        if let Some(bytes) = bytes {
            let range = BufferRange::at(to.cast(), first, count, to_type.0);
            // SAFETY: by the contract of this function.
            done(unsafe { range.fill_exactly(&bytes) });
        }
    }
    MPI_SUCCESS
}
