//! Collective calls that move data.

use mpi::Count;
use mpi::datatype::{Partition, PartitionMut};
use mpi::request::scope;
use mpi::traits::*;

use super::element::{Element, by_element};
use super::program::Kind;
use super::step_context::StepContext;

pub(crate) const KINDS: [Kind; 8] = [
    ("barrier", barrier),
    ("broadcast", |context| by_element!(broadcast(context))),
    ("gather", |context| by_element!(gather(context))),
    ("scatter", |context| by_element!(scatter(context))),
    ("all_gather", |context| by_element!(all_gather(context))),
    ("all_to_all", |context| by_element!(all_to_all(context))),
    ("parts", |context| by_element!(parts(context))),
    ("several_at_once", |context| by_element!(several(context))),
];

fn barrier(context: &mut StepContext) {
    match context.chance.one_in(2) {
        true => context.comm.immediate_barrier().wait_without_status(),
        false => context.comm.barrier(),
    }
    context.say("over");
}

fn broadcast<T: Element>(context: &mut StepContext) {
    let (root, length, immediate) = (
        context.rank(),
        context.chance.length(),
        context.chance.one_in(2),
    );
    let mut room: Vec<T> = context.elements(context.me, 0, length);
    let root = context.comm.process_at_rank(root as i32);
    match immediate {
        true => scope(|scope| {
            root.immediate_broadcast_into(scope, &mut room[..])
                .wait_without_status()
        }),
        false => root.broadcast_into(&mut room[..]),
    }
    context.say_elements("", &room);
}

fn gather<T: Element>(context: &mut StepContext) {
    let (root, length, immediate) = (
        context.rank(),
        context.chance.length(),
        context.chance.one_in(2),
    );
    let sent: Vec<T> = context.elements(context.me, 0, length);
    let process = context.comm.process_at_rank(root as i32);
    if context.me == root {
        let mut room = vec![T::default(); length * context.size];
        match immediate {
            true => scope(|scope| {
                let request = process.immediate_gather_into_root(scope, &sent[..], &mut room[..]);
                request.wait_without_status();
            }),
            false => process.gather_into_root(&sent[..], &mut room[..]),
        }
        context.say_elements("root", &room);
    } else {
        match immediate {
            true => scope(|scope| {
                process
                    .immediate_gather_into(scope, &sent[..])
                    .wait_without_status()
            }),
            false => process.gather_into(&sent[..]),
        }
        context.say("sent");
    }
}

fn scatter<T: Element>(context: &mut StepContext) {
    let (root, length, immediate) = (
        context.rank(),
        context.chance.length(),
        context.chance.one_in(2),
    );
    let process = context.comm.process_at_rank(root as i32);
    let mut room = vec![T::default(); length];
    if context.me == root {
        let sent: Vec<T> = context.elements(root, 0, length * context.size);
        match immediate {
            true => scope(|scope| {
                let request = process.immediate_scatter_into_root(scope, &sent[..], &mut room[..]);
                request.wait_without_status();
            }),
            false => process.scatter_into_root(&sent[..], &mut room[..]),
        }
    } else {
        match immediate {
            true => scope(|scope| {
                process
                    .immediate_scatter_into(scope, &mut room[..])
                    .wait_without_status()
            }),
            false => process.scatter_into(&mut room[..]),
        }
    }
    context.say_elements("", &room);
}

fn all_gather<T: Element>(context: &mut StepContext) {
    let (length, immediate) = (context.chance.length(), context.chance.one_in(2));
    let sent: Vec<T> = context.elements(context.me, 0, length);
    let mut room = vec![T::default(); length * context.size];
    match immediate {
        true => scope(|scope| {
            let request = context
                .comm
                .immediate_all_gather_into(scope, &sent[..], &mut room[..]);
            request.wait_without_status();
        }),
        false => context.comm.all_gather_into(&sent[..], &mut room[..]),
    }
    context.say_elements("", &room);
}

fn all_to_all<T: Element>(context: &mut StepContext) {
    let (length, immediate) = (context.chance.length(), context.chance.one_in(2));
    let sent: Vec<T> = context.elements(context.me, 0, length * context.size);
    let mut room = vec![T::default(); length * context.size];
    match immediate {
        true => scope(|scope| {
            let request = context
                .comm
                .immediate_all_to_all_into(scope, &sent[..], &mut room[..]);
            request.wait_without_status();
        }),
        false => context.comm.all_to_all_into(&sent[..], &mut room[..]),
    }
    context.say_elements("", &room);
}

/// Returns the offsets of parts of these lengths, in random order and with gaps, and the total
/// length.
fn places(context: &mut StepContext, counts: &[Count]) -> (Vec<Count>, usize) {
    let mut places = vec![0; counts.len()];
    let mut at = 0;
    for part in context.chance.order(counts.len()) {
        at += context.chance.below(3) as Count;
        places[part] = at;
        at += counts[part];
    }
    (places, at as usize)
}

/// Makes calls with parts of different lengths.
fn parts<T: Element>(context: &mut StepContext) {
    let (size, me) = (context.size, context.me);
    let (way, root, immediate) = (
        context.chance.below(4),
        context.rank(),
        context.chance.one_in(2),
    );
    let counts: Vec<Count> = (0..size * size)
        .map(|_| context.chance.length() as Count)
        .collect();
    let row: Vec<Count> = counts[..size].to_vec();
    let (mut row_places, row_room) = places(context, &row);
    if way == 0 && size == 1 {
        // MPICH 4.0.2 uses 0 for any displacement in an `MPI_Allgatherv` of one rank.
        row_places[0] = 0;
    }
    let process = context.comm.process_at_rank(root as i32);
    let mine: Vec<T> = context.elements(me, 0, row[me] as usize);
    let mut gaps = vec![T::default(); row_room];
    let mut receive = PartitionMut::new(&mut gaps[..], &row[..], &row_places[..]);
    match (way, immediate) {
        (0, false) => context
            .comm
            .all_gather_varcount_into(&mine[..], &mut receive),
        (0, true) => scope(|scope| {
            let request =
                context
                    .comm
                    .immediate_all_gather_varcount_into(scope, &mine[..], &mut receive);
            request.wait_without_status();
        }),
        (1, false) if me == root => process.gather_varcount_into_root(&mine[..], &mut receive),
        (1, true) if me == root => scope(|scope| {
            let request =
                process.immediate_gather_varcount_into_root(scope, &mine[..], &mut receive);
            request.wait_without_status();
        }),
        (1, false) => process.gather_varcount_into(&mine[..]),
        (1, true) => scope(|scope| {
            process
                .immediate_gather_varcount_into(scope, &mine[..])
                .wait_without_status();
        }),
        (2, _) => {
            gaps = vec![T::default(); row[me] as usize];
            let all: Vec<T> = context.elements(root, 1, row_room);
            let send = Partition::new(&all[..], &row[..], &row_places[..]);
            match (me == root, immediate) {
                (true, false) => process.scatter_varcount_into_root(&send, &mut gaps[..]),
                (true, true) => scope(|scope| {
                    let request =
                        process.immediate_scatter_varcount_into_root(scope, &send, &mut gaps[..]);
                    request.wait_without_status();
                }),
                (false, false) => process.scatter_varcount_into(&mut gaps[..]),
                (false, true) => scope(|scope| {
                    process
                        .immediate_scatter_varcount_into(scope, &mut gaps[..])
                        .wait_without_status();
                }),
            }
        }
        _ => {
            let mut layout = |from: &dyn Fn(usize) -> usize| {
                let counts: Vec<Count> = (0..size).map(|other| counts[from(other)]).collect();
                let (places, room) = places(context, &counts);
                (counts, places, room)
            };
            // Each rank draws equally often, for its own counts.
            let (to, to_places, to_room) = layout(&|other| me * size + other);
            let (from, from_places, from_room) = layout(&|other| other * size + me);
            let all: Vec<T> = context.elements(me, 1, to_room);
            gaps = vec![T::default(); from_room];
            let send = Partition::new(&all[..], to, to_places);
            let mut receive = PartitionMut::new(&mut gaps[..], from, from_places);
            match immediate {
                true => scope(|scope| {
                    let request =
                        context
                            .comm
                            .immediate_all_to_all_varcount_into(scope, &send, &mut receive);
                    request.wait_without_status();
                }),
                false => context.comm.all_to_all_varcount_into(&send, &mut receive),
            }
        }
    }
    context.say_elements(
        ["all_gather", "gather", "scatter", "all_to_all"][way],
        &gaps,
    );
}

/// Begins several collective calls in one order, and waits for them in an order that depends on the
/// rank.
fn several<T: Element>(context: &mut StepContext) {
    let (size, me) = (context.size, context.me);
    let roots: Vec<usize> = (0..3).map(|_| context.rank()).collect();
    let lengths: Vec<usize> = (0..3).map(|_| context.chance.length()).collect();
    let mut order = context.chance.order(4);
    order.rotate_left(me % 4);
    let mine: Vec<T> = context.elements(me, 0, lengths[1]);
    let mut first: Vec<T> = context.elements(me, 1, lengths[0]);
    let mut second: Vec<T> = context.elements(me, 2, lengths[2]);
    let mut gathered = vec![T::default(); lengths[1] * size];
    let mut whole = vec![T::default(); lengths[1] * size];
    let root = context.comm.process_at_rank(roots[1] as i32);
    scope(|scope| {
        let comm = context.comm;
        let broadcast = |root: usize| comm.process_at_rank(root as i32);
        let mut done = [
            Some(broadcast(roots[0]).immediate_broadcast_into(scope, &mut first[..])),
            Some(comm.immediate_all_gather_into(scope, &mine[..], &mut gathered[..])),
            Some(match me == roots[1] {
                true => root.immediate_gather_into_root(scope, &mine[..], &mut whole[..]),
                false => root.immediate_gather_into(scope, &mine[..]),
            }),
            Some(broadcast(roots[2]).immediate_broadcast_into(scope, &mut second[..])),
        ];
        for at in order {
            if let Some(request) = done[at].take() {
                request.wait_without_status();
            }
        }
    });
    for (name, elements) in [
        ("first", first),
        ("all", gathered),
        ("root", whole),
        ("second", second),
    ] {
        context.say_elements(name, &elements);
    }
}
