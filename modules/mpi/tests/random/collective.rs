//! Collective calls that move data.

use mpi::Count;
use mpi::datatype::{Partition, PartitionMut};
use mpi::request::scope;
use mpi::traits::*;

use super::element::{Element, by_element};
use super::program::Kind;
use super::turn::Turn;

pub(crate) const KINDS: [Kind; 8] = [
    ("barrier", barrier),
    ("broadcast", |turn| by_element!(broadcast(turn))),
    ("gather", |turn| by_element!(gather(turn))),
    ("scatter", |turn| by_element!(scatter(turn))),
    ("all_gather", |turn| by_element!(all_gather(turn))),
    ("all_to_all", |turn| by_element!(all_to_all(turn))),
    ("parts", |turn| by_element!(parts(turn))),
    ("several_at_once", |turn| by_element!(several(turn))),
];

fn barrier(turn: &mut Turn) {
    match turn.chance.one_in(2) {
        true => turn.comm.immediate_barrier().wait_without_status(),
        false => turn.comm.barrier(),
    }
    turn.say("over");
}

fn broadcast<T: Element>(turn: &mut Turn) {
    let (root, length, immediate) = (turn.rank(), turn.chance.length(), turn.chance.one_in(2));
    let mut room: Vec<T> = turn.elements(turn.me, 0, length);
    let root = turn.comm.process_at_rank(root as i32);
    match immediate {
        true => scope(|scope| {
            root.immediate_broadcast_into(scope, &mut room[..])
                .wait_without_status()
        }),
        false => root.broadcast_into(&mut room[..]),
    }
    turn.say_elements("", &room);
}

fn gather<T: Element>(turn: &mut Turn) {
    let (root, length, immediate) = (turn.rank(), turn.chance.length(), turn.chance.one_in(2));
    let sent: Vec<T> = turn.elements(turn.me, 0, length);
    let process = turn.comm.process_at_rank(root as i32);
    if turn.me == root {
        let mut room = vec![T::default(); length * turn.size];
        match immediate {
            true => scope(|scope| {
                let request = process.immediate_gather_into_root(scope, &sent[..], &mut room[..]);
                request.wait_without_status();
            }),
            false => process.gather_into_root(&sent[..], &mut room[..]),
        }
        turn.say_elements("root", &room);
    } else {
        match immediate {
            true => scope(|scope| {
                process
                    .immediate_gather_into(scope, &sent[..])
                    .wait_without_status()
            }),
            false => process.gather_into(&sent[..]),
        }
        turn.say("sent");
    }
}

fn scatter<T: Element>(turn: &mut Turn) {
    let (root, length, immediate) = (turn.rank(), turn.chance.length(), turn.chance.one_in(2));
    let process = turn.comm.process_at_rank(root as i32);
    let mut room = vec![T::default(); length];
    if turn.me == root {
        let sent: Vec<T> = turn.elements(root, 0, length * turn.size);
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
    turn.say_elements("", &room);
}

fn all_gather<T: Element>(turn: &mut Turn) {
    let (length, immediate) = (turn.chance.length(), turn.chance.one_in(2));
    let sent: Vec<T> = turn.elements(turn.me, 0, length);
    let mut room = vec![T::default(); length * turn.size];
    match immediate {
        true => scope(|scope| {
            let request = turn
                .comm
                .immediate_all_gather_into(scope, &sent[..], &mut room[..]);
            request.wait_without_status();
        }),
        false => turn.comm.all_gather_into(&sent[..], &mut room[..]),
    }
    turn.say_elements("", &room);
}

fn all_to_all<T: Element>(turn: &mut Turn) {
    let (length, immediate) = (turn.chance.length(), turn.chance.one_in(2));
    let sent: Vec<T> = turn.elements(turn.me, 0, length * turn.size);
    let mut room = vec![T::default(); length * turn.size];
    match immediate {
        true => scope(|scope| {
            let request = turn
                .comm
                .immediate_all_to_all_into(scope, &sent[..], &mut room[..]);
            request.wait_without_status();
        }),
        false => turn.comm.all_to_all_into(&sent[..], &mut room[..]),
    }
    turn.say_elements("", &room);
}

/// Returns the offsets of parts of these lengths, in random order and with gaps, and the total
/// length.
fn places(turn: &mut Turn, counts: &[Count]) -> (Vec<Count>, usize) {
    let mut places = vec![0; counts.len()];
    let mut at = 0;
    for part in turn.chance.order(counts.len()) {
        at += turn.chance.below(3) as Count;
        places[part] = at;
        at += counts[part];
    }
    (places, at as usize)
}

/// Makes calls with parts of different lengths.
fn parts<T: Element>(turn: &mut Turn) {
    let (size, me) = (turn.size, turn.me);
    let (way, root, immediate) = (turn.chance.below(4), turn.rank(), turn.chance.one_in(2));
    let counts: Vec<Count> = (0..size * size)
        .map(|_| turn.chance.length() as Count)
        .collect();
    let row: Vec<Count> = counts[..size].to_vec();
    let (mut row_places, row_room) = places(turn, &row);
    if way == 0 && size == 1 {
        // MPICH 4.0.2 uses 0 for any displacement in an `MPI_Allgatherv` of one rank.
        row_places[0] = 0;
    }
    let process = turn.comm.process_at_rank(root as i32);
    let mine: Vec<T> = turn.elements(me, 0, row[me] as usize);
    let mut gaps = vec![T::default(); row_room];
    let mut receive = PartitionMut::new(&mut gaps[..], &row[..], &row_places[..]);
    match (way, immediate) {
        (0, false) => turn.comm.all_gather_varcount_into(&mine[..], &mut receive),
        (0, true) => scope(|scope| {
            let request =
                turn.comm
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
            let all: Vec<T> = turn.elements(root, 1, row_room);
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
                let (places, room) = places(turn, &counts);
                (counts, places, room)
            };
            // Each rank draws equally often, for its own counts.
            let (to, to_places, to_room) = layout(&|other| me * size + other);
            let (from, from_places, from_room) = layout(&|other| other * size + me);
            let all: Vec<T> = turn.elements(me, 1, to_room);
            gaps = vec![T::default(); from_room];
            let send = Partition::new(&all[..], to, to_places);
            let mut receive = PartitionMut::new(&mut gaps[..], from, from_places);
            match immediate {
                true => scope(|scope| {
                    let request =
                        turn.comm
                            .immediate_all_to_all_varcount_into(scope, &send, &mut receive);
                    request.wait_without_status();
                }),
                false => turn.comm.all_to_all_varcount_into(&send, &mut receive),
            }
        }
    }
    turn.say_elements(
        ["all_gather", "gather", "scatter", "all_to_all"][way],
        &gaps,
    );
}

/// Begins several collective calls in one order, and waits for them in an order that depends on the
/// rank.
fn several<T: Element>(turn: &mut Turn) {
    let (size, me) = (turn.size, turn.me);
    let roots: Vec<usize> = (0..3).map(|_| turn.rank()).collect();
    let lengths: Vec<usize> = (0..3).map(|_| turn.chance.length()).collect();
    let mut order = turn.chance.order(4);
    order.rotate_left(me % 4);
    let mine: Vec<T> = turn.elements(me, 0, lengths[1]);
    let mut first: Vec<T> = turn.elements(me, 1, lengths[0]);
    let mut second: Vec<T> = turn.elements(me, 2, lengths[2]);
    let mut gathered = vec![T::default(); lengths[1] * size];
    let mut whole = vec![T::default(); lengths[1] * size];
    let root = turn.comm.process_at_rank(roots[1] as i32);
    scope(|scope| {
        let comm = turn.comm;
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
        turn.say_elements(name, &elements);
    }
}
