//! Collective calls on intercommunicators. They are calls on the communicator of both groups.

use std::ffi::{c_int, c_void};
use std::rc::Rc;
use std::sync::Arc;

use graphmap_runtime::mpi::{self as core, Packed};

use crate::abi::{Datatype, Op, PROC_NULL, ROOT};
use crate::buffer::Elements;
use crate::collective::blocks::{Blocks, elements, pack_shared, store};
use crate::collective::started::{Prepared, prepared};
use crate::communicator::Communicator;
use crate::error::{Done, fail};
use crate::operation::Reduction;
use crate::rank::Rank;

/// Part of a rank in a call with a root.
#[derive(Clone, Copy)]
enum Part {
    /// The rank is the root (`MPI_ROOT`).
    Root,
    /// Another rank of its group is the root (`MPI_PROC_NULL`).
    Beside,
    /// The root is this rank of the communicator of both groups.
    Remote(usize),
}

/// Both groups of an intercommunicator in a call with a root.
pub(crate) struct Both {
    by: core::Communicator,
    /// Ranks of the remote group in the communicator of both groups.
    peers: std::ops::Range<usize>,
    part: Part,
}

impl Both {
    /// Checks the root of a call.
    ///
    /// # Errors
    /// [`Class::Root`](crate::error::Class::Root).
    pub(crate) fn new(of: &Communicator, root: c_int) -> Done<Self> {
        let (by, first) = of.messages();
        let part = match usize::try_from(root) {
            Ok(root) if root < of.peers() => Part::Remote(first + root),
            _ if root == ROOT => Part::Root,
            _ if root == PROC_NULL => Part::Beside,
            _ => return fail!(Root, "the root {root} is not a rank of the remote group"),
        };
        Ok(Both {
            by: by.clone(),
            peers: first..first + of.peers(),
            part,
        })
    }
}

/// Data for some ranks, or from some ranks.
type Parts<T> = Vec<(usize, T)>;

pub(crate) fn bcast(
    this: &Rank,
    both: Both,
    buffer: *mut c_void,
    count: i64,
    datatype: Datatype,
) -> Done<Prepared> {
    let all = match both.part {
        Part::Beside => None,
        Part::Root | Part::Remote(_) => Some(elements(this, buffer, count, datatype)?),
    };
    Ok(prepared(both.by.clone(), move |by| {
        let values = match (both.part, &all) {
            (Part::Root, Some(all)) => {
                // SAFETY: the program does not write to the buffer of the root during the call.
                let data = unsafe { pack_shared(all) };
                let peers = both.peers.clone();
                peers.map(|peer| (peer, Arc::clone(&data))).collect()
            }
            _ => Vec::new(),
        };
        let to = all.clone();
        let done = move |data: Parts<Arc<[u8]>>| match (&to, data.first()) {
            // SAFETY: the program does not use the buffer before the call is complete.
            (Some(to), Some((_, data))) => unsafe { store(to, data) },
            _ => Ok(()),
        };
        (by.exchange(values), done)
    }))
}

/// Prepares a gather. `send` returns the send buffer at the ranks of the remote group, and
/// `receive` the receive buffer at the root.
pub(crate) fn gather(
    this: &Rank,
    both: Both,
    send: impl FnOnce(&Rank) -> Done<Elements>,
    receive: impl FnOnce(usize) -> Done<Blocks>,
) -> Done<Prepared> {
    let (send, receive) = match both.part {
        Part::Root => (None, Some(receive(both.peers.len())?)),
        Part::Beside => (None, None),
        Part::Remote(root) => (Some((root, send(this)?)), None),
    };
    Ok(prepared(both.by.clone(), move |by| {
        let values = send.iter();
        // SAFETY: the program does not write to the send buffer during the call.
        let values = values.map(|(root, send)| (*root, unsafe { send.pack() }));
        let call = by.exchange(values.collect());
        let to = receive.clone();
        let done = move |data: Parts<Packed>| match to {
            Some(to) => {
                let data: Vec<Packed> = data.into_iter().map(|(_, data)| data).collect();
                // SAFETY: the program does not use the receive buffer before the call is complete.
                unsafe { to.store(&data, None) }
            }
            None => Ok(()),
        };
        (call, done)
    }))
}

/// Prepares a scatter. `send` returns the send buffer at the root, and `receive` the receive buffer
/// at the ranks of the remote group.
pub(crate) fn scatter(
    this: &Rank,
    both: Both,
    send: impl FnOnce(usize) -> Done<Blocks>,
    receive: impl FnOnce(&Rank) -> Done<Elements>,
) -> Done<Prepared> {
    let (send, receive) = match both.part {
        Part::Root => (Some(send(both.peers.len())?), None),
        Part::Beside => (None, None),
        Part::Remote(_) => (None, Some(receive(this)?)),
    };
    Ok(prepared(both.by.clone(), move |by| {
        let values = match &send {
            // SAFETY: the program does not write to the send buffer during the call.
            Some(send) => both.peers.clone().zip(unsafe { send.pack() }).collect(),
            None => Vec::new(),
        };
        let to = receive.clone();
        let done = move |data: Parts<Packed>| match (&to, data.first()) {
            // SAFETY: the program does not use the receive buffer before the call is complete.
            (Some(to), Some((_, data))) => unsafe { store(to, data) },
            _ => Ok(()),
        };
        (by.exchange(values), done)
    }))
}

/// Prepares an exchange of the blocks of `send` with all ranks of the remote group.
pub(crate) fn alltoall(of: &Communicator, send: Blocks, receive: Blocks) -> Done<Prepared> {
    let (by, first) = of.messages();
    let by = by.clone();
    Ok(prepared(by, move |by| {
        // SAFETY: the program does not write to the send buffer during the call.
        let values = (first..).zip(unsafe { send.pack() }).collect();
        let to = receive.clone();
        let done = move |data: Parts<Packed>| {
            let data: Vec<Packed> = data.into_iter().map(|(_, data)| data).collect();
            // SAFETY: the program does not use the receive buffer before the call is complete.
            unsafe { to.store(&data, None) }
        };
        (by.exchange(values), done)
    }))
}

/// Prepares a reduction. The root combines the contributions.
pub(crate) fn reduce(
    this: &Rank,
    both: Both,
    (sendbuf, recvbuf): (*const c_void, *mut c_void),
    count: i64,
    datatype: Datatype,
    op: Op,
) -> Done<Prepared> {
    let (send, receive) = match both.part {
        Part::Root => {
            let receive = elements(this, recvbuf, count, datatype)?;
            let operation = Reduction::new(this, op, &receive, datatype)?;
            (None, Some((receive, operation)))
        }
        Part::Beside => (None, None),
        Part::Remote(root) => {
            let send = elements(this, sendbuf, count, datatype)?;
            Reduction::new(this, op, &send, datatype)?;
            (Some((root, send)), None)
        }
    };
    Ok(prepared(both.by.clone(), move |by| {
        let values = send.iter();
        // SAFETY: the program does not write to the send buffer during the call.
        let values = values.map(|(root, send)| (*root, unsafe { send.pack() }));
        let call = by.exchange(values.collect());
        let to = receive.clone();
        let done = move |data: Parts<Packed>| {
            let Some((to, operation)) = to else {
                return Ok(());
            };
            let data = data.into_iter().map(|(_, data)| data);
            match data.reduce(|left, right| operation.combine(left, right)) {
                // SAFETY: the program does not use the receive buffer before the call is complete.
                Some(data) => unsafe { store(&to, &data) },
                None => Ok(()),
            }
        };
        (call, done)
    }))
}

/// Prepares a reduction of the contributions of the other group, whose result all ranks get.
pub(crate) fn allreduce(
    of: &Communicator,
    send: Elements,
    receive: Elements,
    operation: Reduction,
) -> Prepared {
    let (by, first) = of.messages();
    let (by, is_first) = (by.clone(), first > 0);
    prepared(by, move |by| {
        // SAFETY: the program does not write to the send buffer during the call.
        let value = Some(unsafe { send.pack() });
        let (operation, to) = (operation.clone(), receive.clone());
        // The ranks of a group are consecutive, so each side is combined in the order of its ranks.
        let one = move |left: Option<Packed>, right: Option<Packed>| match (left, right) {
            (Some(left), Some(right)) => Some(operation.combine(left, right)),
            (left, right) => left.or(right),
        };
        type Pair = (Option<Packed>, Option<Packed>);
        let combine = move |left: Pair, right: Pair| (one(left.0, right.0), one(left.1, right.1));
        let done = move |(first, second): Pair| match if is_first { second } else { first } {
            // SAFETY: the program does not use the receive buffer before the call is complete.
            Some(data) => unsafe { store(&to, &data) },
            None => Ok(()),
        };
        let value = if is_first {
            (value, None)
        } else {
            (None, value)
        };
        (by.allreduce(value, combine), done)
    })
}

/// Prepares a reduction of the contributions of the other group, of which this rank gets the part
/// after the first `before` elements. Each rank combines its part.
pub(crate) fn reduce_scatter(
    of: &Communicator,
    send: Elements,
    before: usize,
    receive: Elements,
    operation: Reduction,
) -> Prepared {
    let (by, first) = of.messages();
    let (by, peers) = (by.clone(), first..first + of.peers());
    let begin = before * receive.layout.size;
    let part = begin..begin + receive.bytes();
    prepared(by, move |by| {
        let (operation, to, peers, part) = (
            operation.clone(),
            receive.clone(),
            peers.clone(),
            part.clone(),
        );
        let done = move |data: Rc<[Packed]>| {
            let mut result: Option<Packed> = None;
            for data in &data[peers] {
                let Some(data) = data.get(part.clone()) else {
                    return fail!(Count, "the groups reduce different numbers of elements");
                };
                let data = Packed::from(data);
                result = Some(match result {
                    Some(result) => operation.combine(result, data),
                    None => data,
                });
            }
            match result {
                // SAFETY: the program does not use the receive buffer before the call is complete.
                Some(data) => unsafe { store(&to, &data) },
                None => Ok(()),
            }
        };
        // SAFETY: the program does not write to the send buffer during the call.
        (by.allgather(unsafe { send.pack() }), done)
    })
}
