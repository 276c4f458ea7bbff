//! Partitioned messages (MPI-5.0, section 4.2).
//!
//! `MPI_Psend_init` announces a channel to the receiver, in a message space of its own.
//! Announcements match in the order of the calls, by communicator, source and tag. Each partition
//! that is ready is then a message with the number of the channel as its tag, in a third message
//! space. So the two sides may have different partitions.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::ffi::{c_int, c_void};
use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use graphmap_runtime::mpi as core;
use graphmap_runtime::mpi::{Packed, Request as _, SendMode, Source, TagOf};

use crate::abi::{Comm, Count, Datatype, Info, Request, Status};
use crate::buffer::Elements;
use crate::error::{Class, Done, Fail, fail};
use crate::message::{Outgoing, Side};
use crate::on::On;
use crate::rank::Part as _;
use crate::rank::Rank;
use crate::request::Requests;
use crate::request::{Again, Complete, Started};
use crate::wait::{wait, yield_now};

/// Message space of announcements.
const ANNOUNCEMENTS: u32 = 1;
/// Message space of partitions.
const DATA: u32 = 2;

/// Elements of a partitioned message.
struct Partitions {
    side: Side,
    count: usize,
    /// Number of elements of a partition.
    each: usize,
}

impl Partitions {
    fn new(
        this: &Rank,
        address: *const c_void,
        partitions: c_int,
        each: Count,
        datatype: Datatype,
        comm: Comm,
    ) -> Done<Self> {
        let Ok(count) = usize::try_from(partitions) else {
            return fail!(Arg, "the number of partitions {partitions} is negative");
        };
        if each < 0 {
            return fail!(Count, "the count {each} is negative");
        }
        let Some(all) = each.checked_mul(count as i64) else {
            return fail!(Count, "{count} partitions of {each} elements are too many");
        };
        let side = Side::new(this, address, all, datatype, comm)?;
        let each = each as usize;
        Ok(Partitions { side, count, each })
    }

    /// Returns the number of bytes of a partition.
    fn bytes(&self) -> usize {
        self.each * self.side.elements.layout.size
    }

    /// Returns the elements of a partition.
    fn at(&self, partition: usize) -> Elements {
        let all = &self.side.elements;
        let distance = (partition * self.each) as isize * all.layout.extent;
        Elements {
            address: all.address.wrapping_offset(distance),
            count: self.each,
            ..all.clone()
        }
    }

    /// Checks the number of a partition.
    fn check(&self, partition: c_int) -> Done<usize> {
        match usize::try_from(partition) {
            Ok(partition) if partition < self.count => Ok(partition),
            _ => fail!(
                Arg,
                "partition {partition} does not exist: the message has {} partitions",
                self.count
            ),
        }
    }
}

/// The sending side of a channel.
struct Sender {
    partitions: Partitions,
    /// Rank in the carrying communicator. `None` for `MPI_PROC_NULL`.
    dest: Option<usize>,
    channel: c_int,
    ready: RefCell<Vec<bool>>,
    /// Number of partitions that are not ready.
    missing: Cell<usize>,
}

impl Sender {
    /// Sends a partition.
    ///
    /// # Safety
    /// The elements of the partition must be readable.
    unsafe fn send(&self, partition: c_int) -> Done {
        let partition = self.partitions.check(partition)?;
        if std::mem::replace(&mut self.ready.borrow_mut()[partition], true) {
            return fail!(Arg, "partition {partition} is ready already");
        }
        self.missing.set(self.missing.get() - 1);
        let Some(dest) = self.dest else {
            return Ok(());
        };
        let elements = self.partitions.at(partition);
        let mut message = Vec::with_capacity(size_of::<u64>() + elements.bytes());
        message.extend_from_slice(&(partition as u64).to_le_bytes());
        // SAFETY: guaranteed by the caller.
        match unsafe { elements.as_bytes() } {
            Some(bytes) => message.extend_from_slice(bytes),
            // SAFETY: guaranteed by the caller.
            None => message.extend_from_slice(&unsafe { elements.pack() }),
        }
        let (messages, _) = self.partitions.side.by.messages();
        let messages = messages.apart(DATA);
        // A buffered send is complete at once.
        drop(messages.send_packed(message.into(), dest, self.channel, SendMode::Buffered));
        Ok(())
    }
}

/// A started send. It is complete when all partitions are ready.
struct Sending(Rc<Sender>);

impl Started for Sending {
    fn poll(&mut self, _: &mut Context<'_>) -> Poll<Done<Status>> {
        match self.0.missing.get() == 0 {
            true => Poll::Ready(Ok(Status::EMPTY)),
            false => Poll::Pending,
        }
    }

    fn on(&self) -> On {
        On::Of(self.0.partitions.side.by.handle.get())
    }
}

/// Announcement of a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Announcement {
    channel: c_int,
    partitions: u64,
    /// Number of bytes of a partition.
    bytes: u64,
}

impl Announcement {
    fn to_bytes(self) -> Vec<u8> {
        let mut bytes = self.channel.to_le_bytes().to_vec();
        bytes.extend_from_slice(&self.partitions.to_le_bytes());
        bytes.extend_from_slice(&self.bytes.to_le_bytes());
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (channel, rest) = bytes.split_first_chunk()?;
        let (partitions, rest) = rest.split_first_chunk()?;
        Some(Announcement {
            channel: c_int::from_le_bytes(*channel),
            partitions: u64::from_le_bytes(*partitions),
            bytes: u64::from_le_bytes(rest.try_into().ok()?),
        })
    }
}

/// The receiving side of a channel.
struct Receiver {
    partitions: Partitions,
    /// Rank in the carrying communicator. `None` for `MPI_PROC_NULL`.
    source: Option<usize>,
    tag: c_int,
    state: RefCell<Receipt>,
}

/// State of the receiving side.
struct Receipt {
    /// The receive of the announcement, or of a partition.
    receiving: Option<core::Receiving<Packed>>,
    channel: Option<Announcement>,
    /// Number of messages that have not arrived. Not valid before the announcement.
    missing: u64,
    /// Number of bytes that have arrived of each partition.
    filled: Vec<usize>,
    /// The data, if the elements are not bytes in a row.
    staged: Vec<u8>,
}

impl Receiver {
    /// Starts a receive of all partitions.
    fn begin(&self) {
        let state = &mut *self.state.borrow_mut();
        state.missing = state.channel.map_or(0, |channel| channel.partitions);
        state.filled.clear();
        state.filled.resize(self.partitions.count, 0);
    }

    fn is_complete(&self) -> bool {
        let state = self.state.borrow();
        state.channel.is_some() && state.missing == 0
    }

    /// Returns true if all data of a partition has arrived.
    fn has_arrived(&self, partition: usize) -> bool {
        let filled = self.state.borrow().filled[partition];
        self.is_complete() || (filled > 0 && filled == self.partitions.bytes())
    }

    /// Takes messages that have arrived.
    ///
    /// # Safety
    /// The elements must be writable.
    unsafe fn poll(&self, context: &mut Context<'_>) -> Poll<Done<Status>> {
        let state = &mut *self.state.borrow_mut();
        let by = &self.partitions.side.by;
        let source = self.source.unwrap_or(0);
        let room = self.partitions.side.elements.bytes() as u64;
        loop {
            if let Some(channel) = state.channel {
                let sent = channel.partitions.saturating_mul(channel.bytes);
                if sent > room {
                    return Poll::Ready(fail!(
                        Truncate,
                        "a message of {sent} bytes was received into {room} bytes"
                    ));
                }
                if state.missing == 0 {
                    let rank = (source - by.messages().1) as c_int;
                    return Poll::Ready(Ok(Status::new(rank, self.tag, sent as usize)));
                }
            }
            let receiving = state.receiving.get_or_insert_with(|| {
                let channel = state.channel.map_or(0, |channel| channel.channel);
                let messages = by.messages().0.apart(DATA);
                messages.recv(Source::Rank(source), TagOf::Tag(channel))
            });
            let Poll::Ready(received) = Pin::new(receiving).poll(context) else {
                return Poll::Pending;
            };
            state.receiving = None;
            let message = match received {
                Ok((message, _)) => message,
                Err(error) => return Poll::Ready(Err(error.into())),
            };
            let Some(channel) = state.channel else {
                let Some(channel) = Announcement::from_bytes(&message) else {
                    return Poll::Ready(Err(invalid()));
                };
                state.channel = Some(channel);
                state.missing = channel.partitions;
                continue;
            };
            // SAFETY: guaranteed by the caller.
            if unsafe { self.place(state, channel, &message) }.is_none() {
                return Poll::Ready(Err(invalid()));
            }
        }
    }

    /// Stores a partition of the sender. Returns `None` if it is invalid.
    ///
    /// # Safety
    /// The elements must be writable.
    unsafe fn place(
        &self,
        state: &mut Receipt,
        channel: Announcement,
        message: &[u8],
    ) -> Option<()> {
        let (number, data) = message.split_first_chunk()?;
        let number = u64::from_le_bytes(*number);
        if number >= channel.partitions || data.len() as u64 != channel.bytes {
            return None;
        }
        state.missing = state.missing.checked_sub(1)?;
        let begin = (number * channel.bytes) as usize;
        let end = begin + data.len();
        let place = self.partitions.side.elements.place();
        match place {
            // SAFETY: the caller guarantees that the elements are writable, and the data of all
            // partitions fits. The message is a copy, so it does not overlap them.
            Some((to, _)) => unsafe {
                let to = to.as_ptr().add(begin);
                std::ptr::copy_nonoverlapping(data.as_ptr(), to, data.len());
            },
            None => {
                let bytes = self.partitions.side.elements.bytes();
                state.staged.resize(bytes, 0);
                state.staged[begin..end].copy_from_slice(data);
            }
        }
        let each = self.partitions.bytes();
        let mut at = begin;
        while at < end {
            let partition = at / each;
            let behind = end.min((partition + 1) * each);
            state.filled[partition] += behind - at;
            // The message may end within a partition.
            let filled = state.filled[partition];
            if place.is_none() && (filled == each || state.missing == 0) {
                let data = &state.staged[partition * each..][..filled];
                // SAFETY: guaranteed by the caller.
                unsafe { self.partitions.at(partition).unpack(data) };
            }
            at = behind;
        }
        Some(())
    }

    fn disarm(&self) {
        if let Some(receiving) = &mut self.state.borrow_mut().receiving {
            receiving.disarm();
        }
    }
}

fn invalid() -> Fail {
    Fail::new(Class::Intern, "invalid message of a partitioned send")
}

/// A started receive.
struct Receiving(Rc<Receiver>);

impl Started for Receiving {
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Done<Status>> {
        // SAFETY: the elements are writable while the request is active.
        unsafe { self.0.poll(context) }
    }

    fn disarm(&mut self) {
        self.0.disarm();
    }

    fn on(&self) -> On {
        On::Of(self.0.partitions.side.by.handle.get())
    }
}

/// A partitioned call, which its request starts again.
enum Channel {
    Send(Rc<Sender>),
    Receive(Rc<Receiver>),
}

impl Again for Channel {
    fn begin(&self, _: &Rc<Rank>) -> Done<Box<dyn Started>> {
        Ok(match self {
            Channel::Send(sender) => {
                sender.ready.borrow_mut().fill(false);
                sender.missing.set(sender.partitions.count);
                Box::new(Sending(Rc::clone(sender)))
            }
            Channel::Receive(receiver) if receiver.source.is_none() => {
                receiver.begin();
                Box::new(Complete(Ok(Status::PROC_NULL)))
            }
            Channel::Receive(receiver) => {
                receiver.begin();
                Box::new(Receiving(Rc::clone(receiver)))
            }
        })
    }
}

/// Returns the sending side of an active request.
fn sender(this: &Rank, request: Request) -> Done<Rc<Sender>> {
    let (again, active) = Requests::of(this).persistent(request)?;
    match (&*again as &dyn Any).downcast_ref::<Channel>() {
        Some(Channel::Send(sender)) if active => {
            let on = On::Of(sender.partitions.side.by.handle.get());
            Requests::of(this).set_failing(on);
            Ok(Rc::clone(sender))
        }
        Some(Channel::Send(_)) => fail!(Request, "the request is not active"),
        _ => fail!(Request, "the request is not a partitioned send"),
    }
}

export! {
    fn MPI_Psend_init(
        buf: *const c_void, partitions: c_int, count: Count, datatype: Datatype, dest: c_int,
        tag: c_int, comm: Comm, _info: Info, request: *mut Request,
    ) on comm => |this| {
        let partitions = Partitions::new(this, buf, partitions, count, datatype, comm)?;
        let side = partitions.side.clone();
        let Outgoing { dest, .. } = Outgoing::new(side, dest, tag)?;
        let channel = Requests::of(this).new_channel();
        if let Some(dest) = dest {
            let announcement = Announcement {
                channel,
                partitions: partitions.count as u64,
                bytes: partitions.bytes() as u64,
            };
            let messages = partitions.side.by.messages().0.apart(ANNOUNCEMENTS);
            let announcement = announcement.to_bytes();
            // A buffered send is complete at once.
            drop(messages.send_bytes(&announcement, dest, tag, SendMode::Buffered));
        }
        let ready = RefCell::new(vec![false; partitions.count]);
        let missing = Cell::new(0);
        let sender = Sender { partitions, dest, channel, ready, missing };
        request.write(Requests::of(this).add_persistent(Channel::Send(Rc::new(sender)))?);
        Ok(())
    };
    fn MPI_Precv_init(
        buf: *mut c_void, partitions: c_int, count: Count, datatype: Datatype, source: c_int,
        tag: c_int, comm: Comm, _info: Info, request: *mut Request,
    ) on comm => |this| {
        let partitions = Partitions::new(this, buf, partitions, count, datatype, comm)?;
        let side = partitions.side.clone();
        let Outgoing { dest: source, .. } = Outgoing::new(side, source, tag)?;
        let receiving = source.map(|source| {
            let messages = partitions.side.by.messages().0.apart(ANNOUNCEMENTS);
            messages.recv(Source::Rank(source), TagOf::Tag(tag))
        });
        let state = RefCell::new(Receipt {
            receiving,
            channel: None,
            missing: 0,
            filled: Vec::new(),
            staged: Vec::new(),
        });
        let receiver = Receiver { partitions, source, tag, state };
        request.write(Requests::of(this).add_persistent(Channel::Receive(Rc::new(receiver)))?);
        Ok(())
    };
    fn MPI_Pready(partition: c_int, request: Request) on Requests => |this| {
        sender(this, request)?.send(partition)
    };
    fn MPI_Pready_range(low: c_int, high: c_int, request: Request) on Requests => |this| {
        let sender = sender(this, request)?;
        (low..=high).try_for_each(|partition| sender.send(partition))
    };
    fn MPI_Pready_list(
        length: c_int, list: *const c_int, request: Request,
    ) on Requests => |this| {
        let sender = sender(this, request)?;
        if length < 0 {
            return fail!(Count, "the length {length} is negative");
        }
        (0..length as usize).try_for_each(|index| sender.send(*list.add(index)))
    };
    fn MPI_Parrived(
        request: Request, partition: c_int, flag: *mut c_int,
    ) on Requests => |this| {
        if request == Request::NULL {
            flag.write(1);
            return Ok(());
        }
        let (again, active) = Requests::of(this).persistent(request)?;
        let Some(Channel::Receive(receiver)) = (&*again as &dyn Any).downcast_ref::<Channel>()
        else {
            return fail!(Request, "the request is not a partitioned receive");
        };
        Requests::of(this).set_failing(On::Of(receiver.partitions.side.by.handle.get()));
        let partition = receiver.partitions.check(partition)?;
        if !active || receiver.source.is_none() || receiver.has_arrived(partition) {
            flag.write(1);
            return Ok(());
        }
        let polled = wait(poll_fn(|context| Poll::Ready(receiver.poll(context))));
        if let Poll::Ready(outcome) = polled {
            outcome?;
        }
        let arrived = receiver.has_arrived(partition);
        flag.write(arrived.into());
        if !arrived {
            receiver.disarm();
            yield_now();
        }
        Ok(())
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_announcement_is_read_back() {
        let announcement = Announcement {
            channel: 7,
            partitions: 1 << 40,
            bytes: 3,
        };
        let bytes = announcement.to_bytes();
        assert_eq!(Announcement::from_bytes(&bytes), Some(announcement));
        assert_eq!(Announcement::from_bytes(&bytes[1..]), None);
    }
}
