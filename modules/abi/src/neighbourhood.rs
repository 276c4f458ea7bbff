//! Collective calls with the neighbours of a topology (MPI-5.0, section 8.6).

use std::ffi::c_void;
use std::ops::Deref;
use std::rc::Rc;
use std::sync::Arc;

use graphmap_runtime::mpi as core;

use crate::abi::{Aint, Comm, Datatype, Info, Request};
use crate::collective::blocks::{Blocks, elements, pack_shared, store};
use crate::collective::collective;
use crate::collective::started::{Prepared, prepared};
use crate::communicator::Communicators;
use crate::error::{Done, fail};
use crate::rank::Part as _;
use crate::rank::Rank;
use crate::topology::shape::Topology;

/// Returns the communicator and its topology.
///
/// # Errors
/// [`Class::Topology`](crate::error::Class::Topology) if it has none.
fn neighbours(this: &Rank, comm: Comm) -> Done<(core::Communicator, Rc<Topology>)> {
    let of = Communicators::of(this).get(comm)?;
    match of.topology.get() {
        Some(topology) => Ok((of.intra()?.clone(), Rc::clone(topology))),
        None => fail!(Topology, "the communicator has no topology"),
    }
}

/// Received data: the ranks that sent them, and the labels of the edges.
type Received<T> = Vec<(usize, (u32, T))>;

/// Stores the data from the sources in the order of the sources. Edges with the same ranks and
/// label are in the same order at both ranks.
///
/// # Errors
/// [`Class::Topology`](crate::error::Class::Topology) if the ends of an edge have not listed it
/// equally often. The errors of [`store`].
///
/// # Safety
/// The elements must be writable.
unsafe fn store_received<T: Deref<Target = [u8]>>(
    topology: &Topology,
    mut received: Received<T>,
    to: &Blocks,
) -> Done {
    received.sort_by_key(|&(source, (label, _))| (source, label));
    let edges = received
        .iter()
        .map(|&(source, (label, _))| Some((source, label)));
    let expected = topology
        .arrivals
        .iter()
        .map(|&index| topology.sources[index]);
    if !edges.eq(expected) {
        return fail!(Topology, "an edge was not listed by both of its ranks");
    }
    let mut all = Ok(());
    for (&index, (_, (_, data))) in topology.arrivals.iter().zip(&received) {
        // SAFETY: guaranteed by the caller.
        all = all.and(unsafe { store(&to.at(index), data) });
    }
    all
}

/// Prepareds an exchange. `data` is for the destinations, in their order.
fn exchange<T: core::Value + Deref<Target = [u8]>, I: Iterator<Item = T>>(
    by: &core::Communicator,
    topology: &Rc<Topology>,
    data: I,
    receive: &Blocks,
) -> (
    core::Collective<Received<T>>,
    impl FnOnce(Received<T>) -> Done + use<T, I>,
) {
    let values = topology.destinations.iter().zip(data);
    let values = values.filter_map(|(edge, data)| edge.map(|(rank, label)| (rank, (label, data))));
    let call = by.exchange(values.collect());
    let (topology, to) = (Rc::clone(topology), receive.clone());
    // SAFETY: the program does not use the receive buffer before the call is complete.
    let done = move |received| unsafe { store_received(&topology, received, &to) };
    (call, done)
}

/// Prepares `MPI_Neighbor_allgather` or `MPI_Neighbor_allgatherv`. `receive` returns the receive
/// buffer.
fn allgather(
    this: &Rank,
    (sendbuf, count, datatype): (*const c_void, i64, Datatype),
    receive: impl FnOnce(usize) -> Done<Blocks>,
    comm: Comm,
) -> Done<Prepared> {
    let (by, topology) = neighbours(this, comm)?;
    let send = elements(this, sendbuf, count, datatype)?;
    let receive = receive(topology.sources.len())?;
    Ok(prepared(by, move |by| {
        // SAFETY: the program does not write to the send buffer during the call.
        let data: Arc<[u8]> = unsafe { pack_shared(&send) };
        exchange(by, &topology, std::iter::repeat(data), &receive)
    }))
}

/// Prepares `MPI_Neighbor_alltoall`, `MPI_Neighbor_alltoallv` or `MPI_Neighbor_alltoallw`. `send`
/// and `receive` return the buffers.
fn alltoall(
    this: &Rank,
    send: impl FnOnce(usize) -> Done<Blocks>,
    receive: impl FnOnce(usize) -> Done<Blocks>,
    comm: Comm,
) -> Done<Prepared> {
    let (by, topology) = neighbours(this, comm)?;
    let send = send(topology.destinations.len())?;
    let receive = receive(topology.sources.len())?;
    Ok(prepared(by, move |by| {
        // SAFETY: the program does not write to the send buffer during the call.
        let data = unsafe { send.pack() };
        exchange(by, &topology, data.into_iter(), &receive)
    }))
}

collective! {
    fn MPI_Neighbor_allgather, MPI_Neighbor_allgather_c;
        MPI_Ineighbor_allgather, MPI_Ineighbor_allgather_c;
        MPI_Neighbor_allgather_init, MPI_Neighbor_allgather_init_c<C>(
        sendbuf: *const c_void, sendcount: C, sendtype: Datatype,
        recvbuf: *mut c_void, recvcount: C, recvtype: Datatype, comm: Comm,
    ) on comm => |this| {
        let receive = |ranks| Blocks::row(this, recvbuf, recvcount.get(), recvtype, ranks);
        allgather(this, (sendbuf, sendcount.get(), sendtype), receive, comm)
    };

    fn MPI_Neighbor_allgatherv, MPI_Neighbor_allgatherv_c;
        MPI_Ineighbor_allgatherv, MPI_Ineighbor_allgatherv_c;
        MPI_Neighbor_allgatherv_init, MPI_Neighbor_allgatherv_init_c<C, D>(
        sendbuf: *const c_void, sendcount: C, sendtype: Datatype,
        recvbuf: *mut c_void, recvcounts: *const C, displs: *const D, recvtype: Datatype,
        comm: Comm,
    ) on comm => |this| {
        let receive = |ranks| Blocks::vector(this, recvbuf, recvcounts, displs, recvtype, ranks);
        allgather(this, (sendbuf, sendcount.get(), sendtype), receive, comm)
    };

    fn MPI_Neighbor_alltoall, MPI_Neighbor_alltoall_c;
        MPI_Ineighbor_alltoall, MPI_Ineighbor_alltoall_c;
        MPI_Neighbor_alltoall_init, MPI_Neighbor_alltoall_init_c<C>(
        sendbuf: *const c_void, sendcount: C, sendtype: Datatype,
        recvbuf: *mut c_void, recvcount: C, recvtype: Datatype, comm: Comm,
    ) on comm => |this| {
        let send = |ranks| Blocks::row(this, sendbuf, sendcount.get(), sendtype, ranks);
        let receive = |ranks| Blocks::row(this, recvbuf, recvcount.get(), recvtype, ranks);
        alltoall(this, send, receive, comm)
    };

    fn MPI_Neighbor_alltoallv, MPI_Neighbor_alltoallv_c;
        MPI_Ineighbor_alltoallv, MPI_Ineighbor_alltoallv_c;
        MPI_Neighbor_alltoallv_init, MPI_Neighbor_alltoallv_init_c<C, D>(
        sendbuf: *const c_void, sendcounts: *const C, sdispls: *const D, sendtype: Datatype,
        recvbuf: *mut c_void, recvcounts: *const C, rdispls: *const D, recvtype: Datatype,
        comm: Comm,
    ) on comm => |this| {
        let send = |ranks| Blocks::vector(this, sendbuf, sendcounts, sdispls, sendtype, ranks);
        let receive = |ranks| Blocks::vector(this, recvbuf, recvcounts, rdispls, recvtype, ranks);
        alltoall(this, send, receive, comm)
    };

    fn MPI_Neighbor_alltoallw, MPI_Neighbor_alltoallw_c;
        MPI_Ineighbor_alltoallw, MPI_Ineighbor_alltoallw_c;
        MPI_Neighbor_alltoallw_init, MPI_Neighbor_alltoallw_init_c<C>(
        sendbuf: *const c_void, sendcounts: *const C, sdispls: *const Aint,
        sendtypes: *const Datatype, recvbuf: *mut c_void, recvcounts: *const C,
        rdispls: *const Aint, recvtypes: *const Datatype, comm: Comm,
    ) on comm => |this| {
        let send = |ranks| Blocks::typed(this, sendbuf, sendcounts, sdispls, sendtypes, ranks);
        let receive = |ranks| Blocks::typed(this, recvbuf, recvcounts, rdispls, recvtypes, ranks);
        alltoall(this, send, receive, comm)
    };
}
