//! Collective calls on intracommunicators (MPI-5.0, chapter 6). `intercollective` has those on
//! intercommunicators.

pub(crate) mod blocks;
pub(crate) mod started;

use std::ffi::{c_int, c_void};
use std::rc::Rc;
use std::sync::Arc;

use graphmap_runtime::mpi::{self as core, Packed};

use crate::abi::{Comm, Datatype, IN_PLACE, Info, Op, Request};
use crate::buffer::Elements;
use crate::communicator::{Communicator, Ranks};
use crate::error::{Done, fail};
use crate::export::Number;
use crate::intercollective::{self as inter, Both};
use crate::operation::Reduction;
use crate::rank::Rank;

use crate::communicator::Communicators;
use crate::rank::Part as _;
use blocks::{Blocks, check_alias, check_array, elements, pack_shared, store};
use started::{Prepared, blocking, nonblocking, prepared};

/// Defines the blocking, the nonblocking and the persistent version of a collective call, each with
/// its large-count version. The expression returns [`Prepared`] or an error.
macro_rules! collective {
    ($(
        fn $name:ident, $large:ident; $start:ident, $start_large:ident; $init:ident,
            $init_large:ident <$($number:ident),*> ($($arg:ident: $ty:ty),* $(,)?) on $on:expr
            => |$this:ident| $begin:expr;
    )*) => {$(
        export! {
            fn $name, $large<$($number),*>($($arg: $ty),*) on $on
                => |$this| $crate::collective::started::blocking(&$begin?);
            fn $start, $start_large<$($number),*>($($arg: $ty,)* request: *mut Request) on $on
                => |$this| $crate::collective::started::nonblocking($this, $on, &$begin?, request);
            fn $init, $init_large<$($number),*>(
                $($arg: $ty,)* info: Info, request: *mut Request,
            ) on $on => |$this| {
                $crate::collective::started::persistent($this, $on, info, $begin?, request)
            };
        }
    )*};
}
pub(crate) use collective;

/// Checks the root of a call on an intracommunicator. Returns it, and true if it is this rank.
///
/// # Errors
/// [`Class::Root`](crate::error::Class::Root).
fn check_root(by: &core::Communicator, root: c_int) -> Done<(usize, bool)> {
    match usize::try_from(root) {
        Ok(root) if root < by.size() => Ok((root, root == by.rank())),
        _ => fail!(Root, "the root {root} is not a rank of the communicator"),
    }
}

/// Returns the elements that a rank contributes to a reduction. They are in the send buffer,
/// or with `MPI_IN_PLACE` in the receive buffer.
fn input(
    this: &Rank,
    sendbuf: *const c_void,
    receive: &Elements,
    datatype: Datatype,
) -> Done<Elements> {
    if sendbuf == IN_PLACE {
        return Ok(receive.clone());
    }
    let send = elements(this, sendbuf, receive.count as i64, datatype)?;
    check_alias(&send, receive)?;
    Ok(send)
}

fn barrier(this: &Rank, comm: Comm) -> Done<Prepared> {
    let by = Communicators::of(this).get(comm)?;
    Ok(prepared(by.messages().0.clone(), |by| (by.barrier(), Ok)))
}

fn bcast(
    this: &Rank,
    buffer: *mut c_void,
    count: i64,
    datatype: Datatype,
    root: c_int,
    comm: Comm,
) -> Done<Prepared> {
    let by = Communicators::of(this).get(comm)?;
    let Ranks::Intra(by) = &by.ranks else {
        return inter::bcast(this, Both::new(&by, root)?, buffer, count, datatype);
    };
    let (root, is_root) = check_root(by, root)?;
    let (by, all) = (by.clone(), elements(this, buffer, count, datatype)?);
    Ok(prepared(by, move |by| {
        // SAFETY: the program does not write to the buffer of the root during the call.
        let value = is_root.then(|| unsafe { pack_shared(&all) });
        let to = (!is_root).then(|| all.clone());
        let done = move |data: Arc<[u8]>| match &to {
            // SAFETY: the program does not use the buffer before the call is complete.
            Some(to) => unsafe { store(to, &data) },
            None => Ok(()),
        };
        (by.bcast(value, root), done)
    }))
}

/// Prepares `MPI_Gather` or `MPI_Gatherv`. `receive` returns the receive buffer at the root.
fn gather(
    this: &Rank,
    (sendbuf, count, datatype): (*const c_void, i64, Datatype),
    receive: impl FnOnce(usize) -> Done<Blocks>,
    root: c_int,
    comm: Comm,
) -> Done<Prepared> {
    let by = Communicators::of(this).get(comm)?;
    let Ranks::Intra(by) = &by.ranks else {
        let send = |this: &Rank| elements(this, sendbuf, count, datatype);
        return inter::gather(this, Both::new(&by, root)?, send, receive);
    };
    let (root, is_root) = check_root(by, root)?;
    let receive = match is_root {
        true => Some(receive(by.size())?),
        false => None,
    };
    let send = match &receive {
        Some(_) if sendbuf == IN_PLACE => None,
        Some(receive) => {
            let send = elements(this, sendbuf, count, datatype)?;
            receive.check_alias(&send, root)?;
            Some(send)
        }
        None => Some(elements(this, sendbuf, count, datatype)?),
    };
    let by = by.clone();
    Ok(prepared(by, move |by| {
        // SAFETY: the program does not write to the send buffer during the call.
        let value = send.as_ref().map(|send| unsafe { send.pack() });
        let own = value.is_none().then_some(root);
        let to = receive.clone();
        let done = move |data: Option<Vec<Packed>>| match to.zip(data) {
            // SAFETY: the program does not use the receive buffer before the call is complete.
            Some((to, data)) => unsafe { to.store(&data, own) },
            None => Ok(()),
        };
        (by.gather(value.unwrap_or_default(), root), done)
    }))
}

/// Prepares `MPI_Scatter` or `MPI_Scatterv`. `send` returns the send buffer at the root.
fn scatter(
    this: &Rank,
    send: impl FnOnce(usize) -> Done<Blocks>,
    (recvbuf, count, datatype): (*mut c_void, i64, Datatype),
    root: c_int,
    comm: Comm,
) -> Done<Prepared> {
    let by = Communicators::of(this).get(comm)?;
    let Ranks::Intra(by) = &by.ranks else {
        let receive = |this: &Rank| elements(this, recvbuf, count, datatype);
        return inter::scatter(this, Both::new(&by, root)?, send, receive);
    };
    let (root, is_root) = check_root(by, root)?;
    let send = match is_root {
        true => Some(send(by.size())?),
        false => None,
    };
    let receive = match &send {
        Some(_) if recvbuf.cast_const() == IN_PLACE => None,
        Some(send) => {
            let receive = elements(this, recvbuf, count, datatype)?;
            send.check_alias(&receive, root)?;
            Some(receive)
        }
        None => Some(elements(this, recvbuf, count, datatype)?),
    };
    let by = by.clone();
    Ok(prepared(by, move |by| {
        // SAFETY: the program does not write to the send buffer during the call.
        let values = send.as_ref().map(|send| unsafe { send.pack() });
        let to = receive.clone();
        let done = move |data: Packed| match &to {
            // SAFETY: the program does not use the receive buffer before the call is complete.
            Some(to) => unsafe { store(to, &data) },
            None => Ok(()),
        };
        (by.scatter(values, root), done)
    }))
}

/// Prepares `MPI_Allgather` or `MPI_Allgatherv`. `receive` returns the receive buffer.
fn allgather(
    this: &Rank,
    (sendbuf, count, datatype): (*const c_void, i64, Datatype),
    receive: impl FnOnce(usize) -> Done<Blocks>,
    comm: Comm,
) -> Done<Prepared> {
    let by = Communicators::of(this).get(comm)?;
    let receive = receive(by.peers())?;
    let (own, send) = match (&by.ranks, sendbuf == IN_PLACE) {
        (Ranks::Intra(by), true) => (Some(by.rank()), receive.at(by.rank())),
        (Ranks::Intra(by), false) => {
            let send = elements(this, sendbuf, count, datatype)?;
            receive.check_alias(&send, by.rank())?;
            (None, send)
        }
        (Ranks::Inter(_), _) => (None, elements(this, sendbuf, count, datatype)?),
    };
    let (by, first) = by.messages();
    let by = by.clone();
    Ok(prepared(by, move |by| {
        // SAFETY: the program does not write to the send buffer during the call.
        let value = unsafe { send.pack() };
        let to = receive.clone();
        // SAFETY: the program does not use the receive buffer before the call is complete.
        let done = move |data: Rc<[Packed]>| unsafe { to.store(&data[first..], own) };
        (by.allgather(value), done)
    }))
}

/// Prepares `MPI_Alltoall`, `MPI_Alltoallv` or `MPI_Alltoallw`. `send` and `receive` return the
/// buffers.
fn alltoall(
    sendbuf: *const c_void,
    by: &Communicator,
    send: impl FnOnce(usize) -> Done<Blocks>,
    receive: impl FnOnce(usize) -> Done<Blocks>,
) -> Done<Prepared> {
    let receive = receive(by.peers())?;
    let by = match &by.ranks {
        Ranks::Intra(by) => by.clone(),
        Ranks::Inter(_) => return inter::alltoall(by, send(by.peers())?, receive),
    };
    let send = match sendbuf == IN_PLACE {
        true => receive.clone(),
        false => {
            let send = send(by.size())?;
            check_alias(&send.at(0), &receive.at(0))?;
            check_alias(&send.at(by.rank()), &receive.at(by.rank()))?;
            send
        }
    };
    Ok(prepared(by, move |by| {
        // SAFETY: the program does not write to the send buffer during the call.
        let values = unsafe { send.pack() };
        let to = receive.clone();
        // SAFETY: the program does not use the receive buffer before the call is complete.
        let done = move |data: Vec<Packed>| unsafe { to.store(&data, None) };
        (by.alltoall(values), done)
    }))
}

fn reduce(
    this: &Rank,
    sendbuf: *const c_void,
    recvbuf: *mut c_void,
    count: i64,
    datatype: Datatype,
    op: Op,
    root: c_int,
    comm: Comm,
) -> Done<Prepared> {
    let by = Communicators::of(this).get(comm)?;
    let Ranks::Intra(by) = &by.ranks else {
        let both = Both::new(&by, root)?;
        return inter::reduce(this, both, (sendbuf, recvbuf), count, datatype, op);
    };
    let (root, is_root) = check_root(by, root)?;
    let (send, receive) = match is_root {
        true => {
            let receive = elements(this, recvbuf, count, datatype)?;
            (input(this, sendbuf, &receive, datatype)?, Some(receive))
        }
        false => (elements(this, sendbuf, count, datatype)?, None),
    };
    let (by, operation) = (by.clone(), Reduction::new(this, op, &send, datatype)?);
    Ok(prepared(by, move |by| {
        let (operation, to) = (operation.clone(), receive.clone());
        let combine = move |left, right| operation.combine(left, right);
        let done = move |data: Option<Packed>| match to.zip(data) {
            // SAFETY: the program does not use the receive buffer before the call is complete.
            Some((to, data)) => unsafe { store(&to, &data) },
            None => Ok(()),
        };
        // SAFETY: the program does not write to the send buffer during the call.
        (by.reduce(unsafe { send.pack() }, combine, root), done)
    }))
}

/// Reductions whose result every rank gets.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Prefix {
    /// `MPI_Allreduce`
    All,
    /// `MPI_Scan`
    Inclusive,
    /// `MPI_Exscan`
    Exclusive,
}

fn reduce_to_all(
    this: &Rank,
    (sendbuf, recvbuf): (*const c_void, *mut c_void),
    count: i64,
    datatype: Datatype,
    op: Op,
    comm: Comm,
    of: Prefix,
) -> Done<Prepared> {
    let by = Communicators::of(this).get(comm)?;
    let receive = elements(this, recvbuf, count, datatype)?;
    let by = match &by.ranks {
        Ranks::Intra(by) => by.clone(),
        Ranks::Inter(_) if of == Prefix::All => {
            let send = elements(this, sendbuf, count, datatype)?;
            let operation = Reduction::new(this, op, &send, datatype)?;
            return Ok(inter::allreduce(&by, send, receive, operation));
        }
        Ranks::Inter(_) => by.intra()?.clone(),
    };
    let send = input(this, sendbuf, &receive, datatype)?;
    let operation = Reduction::new(this, op, &send, datatype)?;
    // SAFETY: the program does not write to the send buffer during the call.
    let value = move || unsafe { send.pack() };
    let combine = move || {
        let operation = operation.clone();
        move |left, right| operation.combine(left, right)
    };
    let done = move || {
        let to = receive.clone();
        // SAFETY: the program does not use the receive buffer before the call is complete.
        move |data: Packed| unsafe { store(&to, &data) }
    };
    Ok(match of {
        Prefix::All => prepared(by, move |by| (by.allreduce(value(), combine()), done())),
        Prefix::Inclusive => prepared(by, move |by| (by.scan(value(), combine()), done())),
        Prefix::Exclusive => prepared(by, move |by| {
            let done = done();
            let done = move |data: Option<Packed>| data.map_or(Ok(()), done);
            (by.exscan(value(), combine()), done)
        }),
    })
}

/// Prepares `MPI_Reduce_scatter` or `MPI_Reduce_scatter_block`. `counts` returns the numbers of
/// elements that the ranks get.
fn reduce_scatter(
    this: &Rank,
    (sendbuf, recvbuf): (*const c_void, *mut c_void),
    counts: impl FnOnce(usize) -> Done<Vec<i64>>,
    datatype: Datatype,
    op: Op,
    comm: Comm,
) -> Done<Prepared> {
    let by = Communicators::of(this).get(comm)?;
    let counts = counts(by.size())?;
    let receive = elements(this, recvbuf, counts[by.rank()], datatype)?;
    let operation = Reduction::new(this, op, &receive, datatype)?;
    let Ranks::Intra(by) = &by.ranks else {
        let send = elements(this, sendbuf, counts.iter().sum(), datatype)?;
        let before = counts[..by.rank()].iter().sum::<i64>() as usize;
        return Ok(inter::reduce_scatter(&by, send, before, receive, operation));
    };
    let from = if sendbuf == IN_PLACE {
        recvbuf
    } else {
        sendbuf.cast_mut()
    };
    let send = Blocks::in_row(this, from, &counts, datatype)?;
    if sendbuf != IN_PLACE {
        check_alias(&send.at(0), &receive)?;
    }
    let by = by.clone();
    Ok(prepared(by, move |by| {
        let (operation, to) = (operation.clone(), receive.clone());
        let combine = move |left, right| operation.combine(left, right);
        // SAFETY: the program does not use the receive buffer before the call is complete.
        let done = move |data: Packed| unsafe { store(&to, &data) };
        // SAFETY: the program does not write to the send buffer during the call.
        (by.reduce_scatter(unsafe { send.pack() }, combine), done)
    }))
}

/// Reads the counts of `MPI_Reduce_scatter`.
///
/// # Safety
/// The array must be null or have an item for each rank.
unsafe fn read_counts<C: Number>(counts: *const C, ranks: usize) -> Done<Vec<i64>> {
    check_array(counts, ranks)?;
    // SAFETY: the array has an item for each rank.
    let all = (0..ranks).map(|rank| unsafe { *counts.add(rank) }.get());
    Ok(all.collect())
}

export! {
    fn MPI_Barrier(comm: Comm) on comm => |this| blocking(&barrier(this, comm)?);
    fn MPI_Ibarrier(comm: Comm, request: *mut Request) on comm => |this| {
        nonblocking(this, comm, &barrier(this, comm)?, request)
    };
    fn MPI_Barrier_init(comm: Comm, info: Info, request: *mut Request) on comm => |this| {
        started::persistent(this, comm, info, barrier(this, comm)?, request)
    };
}

collective! {
    fn MPI_Bcast, MPI_Bcast_c; MPI_Ibcast, MPI_Ibcast_c; MPI_Bcast_init, MPI_Bcast_init_c<C>(
        buffer: *mut c_void, count: C, datatype: Datatype, root: c_int, comm: Comm,
    ) on comm => |this| bcast(this, buffer, count.get(), datatype, root, comm);

    fn MPI_Gather, MPI_Gather_c; MPI_Igather, MPI_Igather_c; MPI_Gather_init, MPI_Gather_init_c<C>(
        sendbuf: *const c_void, sendcount: C, sendtype: Datatype,
        recvbuf: *mut c_void, recvcount: C, recvtype: Datatype, root: c_int, comm: Comm,
    ) on comm => |this| {
        let receive = |ranks| Blocks::row(this, recvbuf, recvcount.get(), recvtype, ranks);
        gather(this, (sendbuf, sendcount.get(), sendtype), receive, root, comm)
    };

    fn MPI_Gatherv, MPI_Gatherv_c; MPI_Igatherv, MPI_Igatherv_c;
        MPI_Gatherv_init, MPI_Gatherv_init_c<C, D>(
        sendbuf: *const c_void, sendcount: C, sendtype: Datatype,
        recvbuf: *mut c_void, recvcounts: *const C, displs: *const D, recvtype: Datatype,
        root: c_int, comm: Comm,
    ) on comm => |this| {
        let receive = |ranks| Blocks::vector(this, recvbuf, recvcounts, displs, recvtype, ranks);
        gather(this, (sendbuf, sendcount.get(), sendtype), receive, root, comm)
    };

    fn MPI_Scatter, MPI_Scatter_c; MPI_Iscatter, MPI_Iscatter_c;
        MPI_Scatter_init, MPI_Scatter_init_c<C>(
        sendbuf: *const c_void, sendcount: C, sendtype: Datatype,
        recvbuf: *mut c_void, recvcount: C, recvtype: Datatype, root: c_int, comm: Comm,
    ) on comm => |this| {
        let send = |ranks| Blocks::row(this, sendbuf, sendcount.get(), sendtype, ranks);
        scatter(this, send, (recvbuf, recvcount.get(), recvtype), root, comm)
    };

    fn MPI_Scatterv, MPI_Scatterv_c; MPI_Iscatterv, MPI_Iscatterv_c;
        MPI_Scatterv_init, MPI_Scatterv_init_c<C, D>(
        sendbuf: *const c_void, sendcounts: *const C, displs: *const D, sendtype: Datatype,
        recvbuf: *mut c_void, recvcount: C, recvtype: Datatype, root: c_int, comm: Comm,
    ) on comm => |this| {
        let send = |ranks| Blocks::vector(this, sendbuf, sendcounts, displs, sendtype, ranks);
        scatter(this, send, (recvbuf, recvcount.get(), recvtype), root, comm)
    };

    fn MPI_Allgather, MPI_Allgather_c; MPI_Iallgather, MPI_Iallgather_c;
        MPI_Allgather_init, MPI_Allgather_init_c<C>(
        sendbuf: *const c_void, sendcount: C, sendtype: Datatype,
        recvbuf: *mut c_void, recvcount: C, recvtype: Datatype, comm: Comm,
    ) on comm => |this| {
        let receive = |ranks| Blocks::row(this, recvbuf, recvcount.get(), recvtype, ranks);
        allgather(this, (sendbuf, sendcount.get(), sendtype), receive, comm)
    };

    fn MPI_Allgatherv, MPI_Allgatherv_c; MPI_Iallgatherv, MPI_Iallgatherv_c;
        MPI_Allgatherv_init, MPI_Allgatherv_init_c<C, D>(
        sendbuf: *const c_void, sendcount: C, sendtype: Datatype,
        recvbuf: *mut c_void, recvcounts: *const C, displs: *const D, recvtype: Datatype,
        comm: Comm,
    ) on comm => |this| {
        let receive = |ranks| Blocks::vector(this, recvbuf, recvcounts, displs, recvtype, ranks);
        allgather(this, (sendbuf, sendcount.get(), sendtype), receive, comm)
    };

    fn MPI_Alltoall, MPI_Alltoall_c; MPI_Ialltoall, MPI_Ialltoall_c;
        MPI_Alltoall_init, MPI_Alltoall_init_c<C>(
        sendbuf: *const c_void, sendcount: C, sendtype: Datatype,
        recvbuf: *mut c_void, recvcount: C, recvtype: Datatype, comm: Comm,
    ) on comm => |this| {
        let send = |ranks| Blocks::row(this, sendbuf, sendcount.get(), sendtype, ranks);
        let receive = |ranks| Blocks::row(this, recvbuf, recvcount.get(), recvtype, ranks);
        alltoall(sendbuf, &*Communicators::of(this).get(comm)?, send, receive)
    };

    fn MPI_Alltoallv, MPI_Alltoallv_c; MPI_Ialltoallv, MPI_Ialltoallv_c;
        MPI_Alltoallv_init, MPI_Alltoallv_init_c<C, D>(
        sendbuf: *const c_void, sendcounts: *const C, sdispls: *const D, sendtype: Datatype,
        recvbuf: *mut c_void, recvcounts: *const C, rdispls: *const D, recvtype: Datatype,
        comm: Comm,
    ) on comm => |this| {
        let send = |ranks| Blocks::vector(this, sendbuf, sendcounts, sdispls, sendtype, ranks);
        let receive = |ranks| Blocks::vector(this, recvbuf, recvcounts, rdispls, recvtype, ranks);
        alltoall(sendbuf, &*Communicators::of(this).get(comm)?, send, receive)
    };

    fn MPI_Alltoallw, MPI_Alltoallw_c; MPI_Ialltoallw, MPI_Ialltoallw_c;
        MPI_Alltoallw_init, MPI_Alltoallw_init_c<C, D>(
        sendbuf: *const c_void, sendcounts: *const C, sdispls: *const D,
        sendtypes: *const Datatype, recvbuf: *mut c_void, recvcounts: *const C,
        rdispls: *const D, recvtypes: *const Datatype, comm: Comm,
    ) on comm => |this| {
        let send = |ranks| Blocks::typed(this, sendbuf, sendcounts, sdispls, sendtypes, ranks);
        let receive = |ranks| Blocks::typed(this, recvbuf, recvcounts, rdispls, recvtypes, ranks);
        alltoall(sendbuf, &*Communicators::of(this).get(comm)?, send, receive)
    };

    fn MPI_Reduce, MPI_Reduce_c; MPI_Ireduce, MPI_Ireduce_c; MPI_Reduce_init, MPI_Reduce_init_c<C>(
        sendbuf: *const c_void, recvbuf: *mut c_void, count: C, datatype: Datatype, op: Op,
        root: c_int, comm: Comm,
    ) on comm => |this| reduce(this, sendbuf, recvbuf, count.get(), datatype, op, root, comm);

    fn MPI_Allreduce, MPI_Allreduce_c; MPI_Iallreduce, MPI_Iallreduce_c;
        MPI_Allreduce_init, MPI_Allreduce_init_c<C>(
        sendbuf: *const c_void, recvbuf: *mut c_void, count: C, datatype: Datatype, op: Op,
        comm: Comm,
    ) on comm => |this| {
        reduce_to_all(this, (sendbuf, recvbuf), count.get(), datatype, op, comm, Prefix::All)
    };

    fn MPI_Scan, MPI_Scan_c; MPI_Iscan, MPI_Iscan_c; MPI_Scan_init, MPI_Scan_init_c<C>(
        sendbuf: *const c_void, recvbuf: *mut c_void, count: C, datatype: Datatype, op: Op,
        comm: Comm,
    ) on comm => |this| {
        let of = Prefix::Inclusive;
        reduce_to_all(this, (sendbuf, recvbuf), count.get(), datatype, op, comm, of)
    };

    fn MPI_Exscan, MPI_Exscan_c; MPI_Iexscan, MPI_Iexscan_c; MPI_Exscan_init, MPI_Exscan_init_c<C>(
        sendbuf: *const c_void, recvbuf: *mut c_void, count: C, datatype: Datatype, op: Op,
        comm: Comm,
    ) on comm => |this| {
        let of = Prefix::Exclusive;
        reduce_to_all(this, (sendbuf, recvbuf), count.get(), datatype, op, comm, of)
    };

    fn MPI_Reduce_scatter, MPI_Reduce_scatter_c; MPI_Ireduce_scatter, MPI_Ireduce_scatter_c;
        MPI_Reduce_scatter_init, MPI_Reduce_scatter_init_c<C>(
        sendbuf: *const c_void, recvbuf: *mut c_void, recvcounts: *const C, datatype: Datatype,
        op: Op, comm: Comm,
    ) on comm => |this| {
        let counts = |ranks| read_counts(recvcounts, ranks);
        reduce_scatter(this, (sendbuf, recvbuf), counts, datatype, op, comm)
    };

    fn MPI_Reduce_scatter_block, MPI_Reduce_scatter_block_c;
        MPI_Ireduce_scatter_block, MPI_Ireduce_scatter_block_c;
        MPI_Reduce_scatter_block_init, MPI_Reduce_scatter_block_init_c<C>(
        sendbuf: *const c_void, recvbuf: *mut c_void, recvcount: C, datatype: Datatype, op: Op,
        comm: Comm,
    ) on comm => |this| {
        let counts = |ranks| Ok(vec![recvcount.get(); ranks]);
        reduce_scatter(this, (sendbuf, recvbuf), counts, datatype, op, comm)
    };
}
