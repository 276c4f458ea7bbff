//! Functions of MPI's C interface that libraries call past rsmpi, as it has no other way to them: graphs of ranks that each know their
//! neighbours, and collective calls of these.
//!
//! What is wrong ends the rank, as MPI's default handler of errors ends the job. So what they return is always [`MPI_SUCCESS`].

#![allow(non_snake_case)]

use std::cell::RefCell;
use std::os::raw::{c_double, c_int, c_void};
use std::rc::Rc;

use graphmap_runtime::mpi as core;

use crate::abi::{MPI_Comm, MPI_Fint, MPI_Info, MPI_SUCCESS, RSMPI_COMM_NULL};
use crate::collective::begin::barrier;
use crate::datatype::layout::MPI_Datatype;
use crate::done;
use crate::fiber::wait;
use crate::place::{Place, packed_at};
use crate::request::complete;
use crate::shared::Shared;

/// Whose address says that edges have no weights.
static UNWEIGHTED: c_int = 0;

/// Says that the edges of a graph have no weights.
pub fn RSMPI_UNWEIGHTED() -> *mut c_int {
    std::ptr::from_ref(&UNWEIGHTED).cast_mut()
}

/// Seconds since some moment.
///
/// # Safety
/// None is needed; it is unsafe as C's is, so that who calls it needs not be changed.
pub unsafe fn MPI_Wtime() -> c_double {
    crate::environment::time()
}

/// What a handle points to.
///
/// # Safety
/// The handle has to be null or that of a communicator that lives as long as the reference.
#[track_caller]
pub(crate) unsafe fn communicator<'a>(handle: MPI_Comm) -> &'a Shared {
    assert!(!handle.0.is_null(), "`MPI_COMM_NULL` is not a communicator");
    // SAFETY: as the caller says: a handle points to what is shared by all handles of the rank.
    unsafe { &*handle.0.cast() }
}

/// The neighbours in a communicator.
#[track_caller]
fn neighbours(of: &Shared) -> &core::Neighbours {
    // The look at the life of the rank.
    of.core();
    let graph = of.graph.as_ref();
    graph.expect(
        "the communicator has no graph topology: create one with `MPI_Dist_graph_create_adjacent`",
    )
}

/// So many elements from there on.
///
/// # Safety
/// They have to be there as long as the slice is used.
unsafe fn elements<'a, T>(from: *const T, count: usize) -> &'a [T] {
    match count {
        // Of no elements C says any pointer.
        0 => &[],
        // SAFETY: as the caller says.
        _ => unsafe { std::slice::from_raw_parts(from, count) },
    }
}

/// A number that C has as an `int`; one less than 0 is none.
pub(crate) fn number(count: c_int) -> usize {
    usize::try_from(count).unwrap_or(0)
}

/// A rank that C has as an `int`. One less than 0 stays one that is none, and is told as it is.
pub(crate) fn rank(rank: c_int) -> usize {
    (rank as isize).cast_unsigned()
}

thread_local! {
    /// What has a number for Fortran; its place is the number, from 1 on.
    static NUMBERED: RefCell<Vec<MPI_Comm>> = const { RefCell::new(Vec::new()) };
}

/// The number of a communicator, as Fortran has handles (`MPI_Comm_c2f`): the same each time, in all ranks of a thread.
///
/// # Safety
/// None is needed; it is unsafe as C's is.
pub unsafe fn RSMPI_Comm_c2f(comm: MPI_Comm) -> MPI_Fint {
    if comm == RSMPI_COMM_NULL {
        return 0;
    }
    NUMBERED.with_borrow_mut(|numbered| {
        let known = numbered.iter().position(|&one| one == comm);
        let place = known.unwrap_or_else(|| {
            numbered.push(comm);
            numbered.len() - 1
        });
        MPI_Fint::try_from(place + 1).expect("there are fewer communicators than numbers")
    })
}

/// The communicator of a number (`MPI_Comm_f2c`); `RSMPI_COMM_NULL` if none has it.
///
/// # Safety
/// None is needed; it is unsafe as C's is. The communicator may have been dropped meanwhile.
pub unsafe fn RSMPI_Comm_f2c(comm: MPI_Fint) -> MPI_Comm {
    let place = usize::try_from(comm).ok().and_then(|at| at.checked_sub(1));
    NUMBERED.with_borrow(|numbered| {
        let found = place.and_then(|place| numbered.get(place));
        found.copied().unwrap_or(RSMPI_COMM_NULL)
    })
}

/// Waits until all ranks have called it (`MPI_Barrier`).
///
/// # Safety
/// The handle has to be that of a communicator that lives.
#[track_caller]
pub unsafe fn MPI_Barrier(comm: MPI_Comm) -> c_int {
    // SAFETY: as the caller says.
    let of = unsafe { communicator(comm) };
    done(complete(barrier(of.groups())));
    MPI_SUCCESS
}

/// Makes a communicator of the same ranks, each of which says from whom it receives and to whom it sends
/// (`MPI_Dist_graph_create_adjacent`). The mapping has placed the ranks, so they keep their numbers, whether reordering is allowed or not.
///
/// # Panics
/// If edges have weights, which are for reordering; an edge is said by one of its ends only; or a rank is none of the communicator.
///
/// # Safety
/// The handle has to be that of a communicator that lives; there have to be as many sources and destinations as said; and where the new
/// handle goes has to be writable.
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
    // SAFETY: as the caller says.
    let (of, sources, destinations) = unsafe {
        (
            communicator(comm_old),
            elements(sources, number(indegree)),
            elements(destinations, number(outdegree)),
        )
    };
    // Who has no edges may give anything as their weights.
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
    // SAFETY: as the caller says.
    unsafe { comm_dist_graph.write(handle) };
    MPI_SUCCESS
}

/// How many sources and destinations this rank has, and that their edges have no weights (`MPI_Dist_graph_neighbors_count`).
///
/// # Panics
/// If the communicator has no graph.
///
/// # Safety
/// The handle has to be that of a communicator that lives, and the numbers have to be writable.
#[track_caller]
pub unsafe fn MPI_Dist_graph_neighbors_count(
    comm: MPI_Comm,
    indegree: *mut c_int,
    outdegree: *mut c_int,
    weighted: *mut c_int,
) -> c_int {
    // SAFETY: as the caller says.
    let graph = neighbours(unsafe { communicator(comm) });
    let count = |count: usize| c_int::try_from(count).unwrap_or(c_int::MAX);
    // SAFETY: as the caller says.
    unsafe {
        indegree.write(count(graph.sources().count()));
        outdegree.write(count(graph.destinations().count()));
        weighted.write(0);
    }
    MPI_SUCCESS
}

/// Sends as many elements to each destination, and receives as many from each source (`MPI_Neighbor_alltoall`).
///
/// # Panics
/// If the communicator has no graph, or a neighbour sends another number of elements than is to be received.
///
/// # Safety
/// The handle has to be that of a communicator that lives; and there have to be as many elements, and room for as many, as said.
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
    // SAFETY: as the caller says.
    unsafe {
        exchange(
            communicator(comm),
            (sendbuf, sendtype, |neighbours| equal(sendcount, neighbours)),
            (recvbuf, recvtype, |neighbours| equal(recvcount, neighbours)),
        )
    }
}

/// As [`MPI_Neighbor_alltoall`], with a number of elements, and where they begin, for each neighbour (`MPI_Neighbor_alltoallv`).
///
/// # Panics
/// As there.
///
/// # Safety
/// As there; and there has to be a number and a beginning for each neighbour.
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
        // SAFETY: as the caller says.
        let (counts, displs) =
            unsafe { (elements(counts, neighbours), elements(displs, neighbours)) };
        let parts = displs.iter().zip(counts);
        let part = |(&displ, &count): (&c_int, &c_int)| (displ as isize, number(count));
        parts.map(part).collect()
    };
    // SAFETY: as the caller says.
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

/// Elements for each of so many neighbours: where the first is, counted in elements, and how many.
type Parts = Vec<(isize, usize)>;

/// Sends each destination its elements and receives those of each source.
///
/// # Safety
/// The elements have to be there, and the room for them.
#[track_caller]
unsafe fn exchange(
    of: &Shared,
    (from, from_type, sent): (*const c_void, MPI_Datatype, impl Fn(usize) -> Parts),
    (to, to_type, received): (*mut c_void, MPI_Datatype, impl Fn(usize) -> Parts),
) -> c_int {
    let graph = neighbours(of);
    let pack = |(first, count)| {
        // SAFETY: as the caller says.
        unsafe { packed_at(from.cast(), first, count, from_type.0) }
    };
    let sent = sent(graph.destinations().count());
    let come = done(wait(graph.alltoall(sent.into_iter().map(pack).collect())));
    let received = received(graph.sources().count());
    for ((first, count), bytes) in received.into_iter().zip(come) {
        if let Some(bytes) = bytes {
            let place = Place::at(to.cast(), first, count, to_type.0);
            // SAFETY: as the caller says.
            done(unsafe { place.fill_exactly(&bytes) });
        }
    }
    MPI_SUCCESS
}
