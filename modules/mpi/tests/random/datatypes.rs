//! User-defined datatypes in messages and collective calls.

use mpi::Count;
use mpi::datatype::{MutView, UserDatatype, View};
use mpi::traits::*;

use super::element::{Element, by_element, shown};
use super::program::Kind;
use super::step_context::StepContext;

pub(crate) const KINDS: [Kind; 3] = [
    ("views", |context| by_element!(views(context))),
    ("views_together", |context| by_element!(together(context))),
    ("structures", structures),
];

/// Datatype, its count, and the length of the buffer that they need, in elements.
struct Drawn {
    datatype: UserDatatype,
    count: usize,
    reach: usize,
}

/// Draws a datatype and a count with `rows` by `across` elements in total.
fn drawn<T: Element>(context: &mut StepContext, rows: usize, across: usize) -> Drawn {
    let of = T::equivalent_datatype();
    let (r, a) = (rows as Count, across as Count);
    let gap = context.chance.below(3);
    let stride = a + gap as Count;
    let order = context.chance.order(rows);
    let places: Vec<Count> = order.iter().map(|row| *row as Count * stride).collect();
    let bytes: Vec<mpi::Address> = places
        .iter()
        .map(|at| *at as mpi::Address * size_of::<T>() as mpi::Address)
        .collect();
    let reach = rows * (across + gap);
    let (datatype, count) = match context.chance.below(8) {
        0 => (UserDatatype::contiguous(r * a, &of), 1),
        1 => (UserDatatype::vector(r, a, stride, &of), 1),
        2 => {
            let stride = stride as mpi::Address * size_of::<T>() as mpi::Address;
            (UserDatatype::heterogeneous_vector(r, a, stride, &of), 1)
        }
        3 => (UserDatatype::indexed(&vec![a; rows], &places, &of), 1),
        4 => (UserDatatype::indexed_block(a, &places, &of), 1),
        5 => (
            UserDatatype::heterogeneous_indexed(&vec![a; rows], &bytes, &of),
            1,
        ),
        6 => {
            let row = UserDatatype::contiguous(a, &of);
            (
                UserDatatype::heterogeneous_indexed_block(1, &bytes, &row),
                1,
            )
        }
        // Several elements of one datatype. Each begins where the one before it ends.
        _ => (UserDatatype::contiguous(a, &of), rows),
    };
    Drawn {
        datatype,
        count,
        reach,
    }
}

/// Sends with one datatype, and receives with another that has as many elements.
fn views<T: Element>(context: &mut StepContext) {
    let (rows, across) = (1 + context.chance.below(4), 1 + context.chance.below(5));
    let (send, receive) = (
        drawn::<T>(context, rows, across),
        drawn::<T>(context, rows, across),
    );
    let by = context.chance.below(context.size);
    let (to, from) = (
        (context.me + by) % context.size,
        (context.me + context.size - by) % context.size,
    );
    let sent: Vec<T> = context.elements(context.me, 0, send.reach);
    let mut room = vec![T::default(); receive.reach];
    // SAFETY: the datatypes do not reach beyond the buffers.
    let out =
        unsafe { View::with_count_and_datatype(&sent[..], send.count as Count, &send.datatype) };
    // SAFETY: as above.
    let mut into = unsafe {
        MutView::with_count_and_datatype(&mut room[..], receive.count as Count, &receive.datatype)
    };
    let status = mpi::request::scope(|scope| {
        let next = context.comm.process_at_rank(to as i32);
        let before = context.comm.process_at_rank(from as i32);
        let request = next.immediate_send_with_tag(scope, &out, context.tag(0));
        let status = before.receive_into_with_tag(&mut into, context.tag(0));
        request.wait_without_status();
        status
    });
    let count = status.count(&receive.datatype);
    context.say(format!(
        "from {} count {count}: {}",
        status.source_rank(),
        shown(&room)
    ));
}

/// Makes a collective call with a user-defined datatype.
fn together<T: Element>(context: &mut StepContext) {
    let (rows, across) = (1 + context.chance.below(3), 1 + context.chance.below(4));
    let (root, way) = (context.rank(), context.chance.below(3));
    let one = drawn::<T>(context, rows, across);
    let many = rows * across;
    let mut room: Vec<T> = context.elements(context.me, 0, one.reach);
    let process = context.comm.process_at_rank(root as i32);
    match way {
        0 => {
            // SAFETY: the datatype does not reach beyond the buffer.
            let mut view = unsafe {
                MutView::with_count_and_datatype(&mut room[..], one.count as Count, &one.datatype)
            };
            process.broadcast_into(&mut view);
            context.say_elements("broadcast", &room);
        }
        1 => {
            let mut all = vec![T::default(); many * context.size];
            // SAFETY: as above.
            let view = unsafe {
                View::with_count_and_datatype(&room[..], one.count as Count, &one.datatype)
            };
            context.comm.all_gather_into(&view, &mut all[..]);
            context.say_elements("all_gather", &all);
        }
        _ => {
            let all: Vec<T> = context.elements(root, 1, many * context.size);
            // SAFETY: as above.
            let mut view = unsafe {
                MutView::with_count_and_datatype(&mut room[..], one.count as Count, &one.datatype)
            };
            match context.me == root {
                true => process.scatter_into_root(&all[..], &mut view),
                false => process.scatter_into(&mut view),
            }
            context.say_elements("scatter", &room);
        }
    }
}

/// Record with C's layout, which has padding between fields and at the end.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Record {
    mark: u8,
    value: f64,
    pair: [i16; 3],
}

// SAFETY: the datatype describes all fields at their offsets, so all bytes except padding.
unsafe impl Equivalence for Record {
    type Out = UserDatatype;
    fn equivalent_datatype() -> UserDatatype {
        let places = [
            std::mem::offset_of!(Record, mark) as mpi::Address,
            std::mem::offset_of!(Record, value) as mpi::Address,
            std::mem::offset_of!(Record, pair) as mpi::Address,
        ];
        let types = [
            u8::equivalent_datatype(),
            f64::equivalent_datatype(),
            i16::equivalent_datatype(),
        ];
        UserDatatype::structured(&[1, 1, 3], &places, &types)
    }
}

fn structures(context: &mut StepContext) {
    let (length, root) = (context.chance.below(5), context.rank());
    let record = |of: &StepContext, rank: usize, at: usize| Record {
        mark: of.elements(rank, at, 1)[0],
        value: of.elements(rank, at + 10, 1)[0],
        pair: of
            .elements::<i16>(rank, at + 20, 3)
            .try_into()
            .expect("three"),
    };
    let mine: Vec<Record> = (0..length)
        .map(|at| record(context, context.me, at))
        .collect();
    let (to, from) = (
        (context.me + 1) % context.size,
        (context.me + context.size - 1) % context.size,
    );
    let tag = context.tag(0);
    let theirs = mpi::request::scope(|scope| {
        let send = context
            .comm
            .process_at_rank(to as i32)
            .immediate_send_with_tag(scope, &mine[..], tag);
        let theirs = context
            .comm
            .process_at_rank(from as i32)
            .receive_vec_with_tag::<Record>(tag);
        send.wait_without_status();
        theirs
    });
    context.say(format!(
        "{} {:?}",
        theirs.1.count(Record::equivalent_datatype()),
        theirs.0
    ));
    let mut all = vec![Record::default(); length * context.size];
    let process = context.comm.process_at_rank(root as i32);
    match context.me == root {
        true => process.gather_into_root(&mine[..], &mut all[..]),
        false => process.gather_into(&mine[..]),
    }
    context.say(format!("{all:?}"));
}
