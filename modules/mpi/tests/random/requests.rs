//! Several requests at once, and different ways to complete them.

use mpi::request::{CancelGuard, RequestCollection, WaitGuard};
use mpi::traits::*;

use super::element::{Element, by_element, shown};
use super::program::Kind;
use super::turn::{Turn, told};

pub(crate) const KINDS: [Kind; 4] = [
    ("collection", |turn| by_element!(collection(turn))),
    ("tests", |turn| by_element!(tests(turn))),
    ("guards", |turn| by_element!(guards(turn))),
    ("among_collectives", |turn| {
        by_element!(among_collectives(turn))
    }),
];

/// Completes requests in one of several ways. Returns the number, the status and the data of each.
fn some_done<'a, T: Element>(
    requests: &mut RequestCollection<'a, [T]>,
    way: usize,
) -> Vec<(usize, String, &'a [T])> {
    let mut done = Vec::new();
    match way {
        0 => requests.wait_all(&mut done),
        1 => requests.wait_some(&mut done),
        2 => done.extend(requests.wait_any()),
        3 => done.extend(requests.test_any()),
        4 => requests.test_some(&mut done),
        _ => {
            requests.test_all(&mut done);
        }
    }
    let shown = done
        .into_iter()
        .map(|(at, status, data)| (at, told::<T>(&status), data));
    shown.collect()
}

/// Sends from each rank to each, including itself, and completes all requests together.
fn collection<T: Element>(turn: &mut Turn) {
    let size = turn.size;
    let lengths: Vec<usize> = (0..size * size).map(|_| turn.chance.length()).collect();
    let ways: Vec<usize> = (0..4).map(|_| turn.chance.below(6)).collect();
    let sends_first = turn.chance.one_in(2);
    // rsmpi 0.8.2 reads the statuses of `wait_some` and `test_some` from the wrong places, so these
    // are not used if statuses are logged.
    let told = turn.chance.one_in(2);
    let ways: Vec<usize> = ways
        .into_iter()
        .map(|way| if told && matches!(way, 1 | 4) { 3 } else { way })
        .collect();
    let me = turn.me;
    let sent: Vec<Vec<T>> = (0..size)
        .map(|to| turn.elements(me, to, lengths[me * size + to]))
        .collect();
    let mut rooms: Vec<Vec<T>> = (0..size)
        .map(|from| vec![T::default(); lengths[from * size + me]])
        .collect();
    let mut lines = mpi::request::multiple_scope(2 * size, |scope, requests| {
        let processes: Vec<_> = (0..size as i32)
            .map(|rank| turn.comm.process_at_rank(rank))
            .collect();
        let mut received = vec![false; 2 * size];
        if sends_first {
            for (process, sent) in processes.iter().zip(&sent) {
                requests.add(process.immediate_send_with_tag(scope, &sent[..], turn.tag(0)));
            }
        }
        for (process, room) in processes.iter().zip(&mut rooms) {
            let request =
                process.immediate_receive_into_with_tag(scope, &mut room[..], turn.tag(0));
            received[requests.add(request)] = true;
        }
        if !sends_first {
            for (process, sent) in processes.iter().zip(&sent) {
                requests.add(process.immediate_send_with_tag(scope, &sent[..], turn.tag(0)));
            }
        }
        let mut done = Vec::new();
        let mut turns = 0;
        while requests.incomplete() > 0 {
            done.extend(some_done(requests, ways[turns % ways.len()]));
            turns += 1;
        }
        done.sort_by_key(|done| done.0);
        let line = |(at, status, data): (usize, String, &[T])| match received[at] && told {
            true => format!("{at} {status} {}", shown(data)),
            // The status of a send has no content.
            false => format!("{at} {}", shown(data)),
        };
        done.into_iter().map(line).collect::<Vec<_>>()
    });
    turn.seen.append(&mut lines);
}

/// Tests receives until they are complete. One of them returns its value.
fn tests<T: Element>(turn: &mut Turn) {
    let by = turn.chance.below(turn.size);
    let length = turn.chance.length();
    let tried = turn.chance.one_in(2);
    let with_data = turn.chance.one_in(2);
    let (to, from) = (
        (turn.me + by) % turn.size,
        (turn.me + turn.size - by) % turn.size,
    );
    let (next, before) = (
        turn.comm.process_at_rank(to as i32),
        turn.comm.process_at_rank(from as i32),
    );
    let value: T = turn.elements(turn.me, 0, 1)[0];
    let sent: Vec<T> = turn.elements(turn.me, 1, length);
    let mut room = vec![T::default(); length];
    let mut future = before.immediate_receive_with_tag::<T>(turn.tag(0));
    let line = mpi::request::scope(|scope| {
        let first = next.immediate_send_with_tag(scope, &value, turn.tag(0));
        let mut receive = before.immediate_receive_into_with_tag(scope, &mut room[..], turn.tag(1));
        let second = next.immediate_send_with_tag(scope, &sent[..], turn.tag(1));
        let told = loop {
            receive = match with_data {
                true => match receive.test_with_data() {
                    Ok((status, data)) => break format!("{} {}", told::<T>(&status), shown(data)),
                    Err(receive) => receive,
                },
                false => match receive.test() {
                    Ok(status) => break told::<T>(&status),
                    Err(receive) => receive,
                },
            };
        };
        let (value, status) = loop {
            if !tried {
                break future.get();
            }
            future = match future.r#try() {
                Ok(done) => break done,
                Err(future) => future,
            };
        };
        first.wait_without_status();
        let sent = shown(second.wait_for_data());
        format!(
            "{told} {} {} {sent}",
            self::told::<T>(&status),
            shown(&[value])
        )
    });
    turn.say_elements(&line, &room);
}

/// Uses guards that wait, and guards that cancel a receive whose message never comes.
fn guards<T: Element>(turn: &mut Turn) {
    let length = turn.chance.length();
    let (to, from) = (
        (turn.me + 1) % turn.size,
        (turn.me + turn.size - 1) % turn.size,
    );
    let (next, before) = (
        turn.comm.process_at_rank(to as i32),
        turn.comm.process_at_rank(from as i32),
    );
    let sent: Vec<T> = turn.elements(turn.me, 0, length);
    let (mut room, mut never, mut nor) = (vec![T::default(); length], T::default(), T::default());
    mpi::request::scope(|scope| {
        let _never = CancelGuard::from(before.immediate_receive_into_with_tag(
            scope,
            &mut never,
            turn.tag(2),
        ));
        let nor =
            turn.comm
                .any_process()
                .immediate_receive_into_with_tag(scope, &mut nor, turn.tag(3));
        let _receive = WaitGuard::from(before.immediate_receive_into_with_tag(
            scope,
            &mut room[..],
            turn.tag(0),
        ));
        let _send = WaitGuard::from(next.immediate_send_with_tag(scope, &sent[..], turn.tag(0)));
        nor.cancel();
        nor.wait_without_status();
    });
    turn.say_elements("waited for", &room);
    turn.say_elements("cancelled", &[never, nor]);
}

/// Makes collective calls while messages are in transit.
fn among_collectives<T: Element>(turn: &mut Turn) {
    let (length, root) = (turn.chance.length(), turn.rank());
    let (to, from) = (
        (turn.me + 1) % turn.size,
        (turn.me + turn.size - 1) % turn.size,
    );
    let sent: Vec<T> = turn.elements(turn.me, 0, length);
    let mut room = vec![T::default(); length];
    let mut broadcast: Vec<T> = turn.elements(turn.me, 1, 5);
    let mut ranks = vec![0_i32; turn.size];
    let status = mpi::request::scope(|scope| {
        let anyone = turn.comm.any_process();
        let receive = anyone.immediate_receive_into_with_tag(scope, &mut room[..], turn.tag(0));
        let barrier = turn.comm.immediate_barrier();
        turn.comm
            .process_at_rank(root as i32)
            .broadcast_into(&mut broadcast[..]);
        let send = turn
            .comm
            .process_at_rank(to as i32)
            .immediate_send_with_tag(scope, &sent[..], turn.tag(0));
        turn.comm.all_gather_into(&(turn.me as i32), &mut ranks[..]);
        barrier.wait_without_status();
        send.wait_without_status();
        receive.wait()
    });
    assert_eq!(status.source_rank(), from as i32);
    turn.say_elements(&told::<T>(&status), &room);
    turn.say_elements("broadcast", &broadcast);
    turn.say_elements("gathered", &ranks);
}
