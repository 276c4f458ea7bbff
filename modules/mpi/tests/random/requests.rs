//! Several requests at once, and different ways to complete them.

use mpi::request::{CancelGuard, RequestCollection, WaitGuard};
use mpi::traits::*;

use super::element::{Element, by_element, shown};
use super::program::Kind;
use super::step_context::{StepContext, told};

pub(crate) const KINDS: [Kind; 4] = [
    ("collection", |context| by_element!(collection(context))),
    ("tests", |context| by_element!(tests(context))),
    ("guards", |context| by_element!(guards(context))),
    ("among_collectives", |context| {
        by_element!(among_collectives(context))
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
fn collection<T: Element>(context: &mut StepContext) {
    let size = context.size;
    let lengths: Vec<usize> = (0..size * size).map(|_| context.chance.length()).collect();
    let ways: Vec<usize> = (0..4).map(|_| context.chance.below(6)).collect();
    let sends_first = context.chance.one_in(2);
    // rsmpi 0.8.2 reads the statuses of `wait_some` and `test_some` from the wrong places, so these
    // are not used if statuses are logged.
    let told = context.chance.one_in(2);
    let ways: Vec<usize> = ways
        .into_iter()
        .map(|way| if told && matches!(way, 1 | 4) { 3 } else { way })
        .collect();
    let me = context.me;
    let sent: Vec<Vec<T>> = (0..size)
        .map(|to| context.elements(me, to, lengths[me * size + to]))
        .collect();
    let mut rooms: Vec<Vec<T>> = (0..size)
        .map(|from| vec![T::default(); lengths[from * size + me]])
        .collect();
    let mut lines = mpi::request::multiple_scope(2 * size, |scope, requests| {
        let processes: Vec<_> = (0..size as i32)
            .map(|rank| context.comm.process_at_rank(rank))
            .collect();
        let mut received = vec![false; 2 * size];
        if sends_first {
            for (process, sent) in processes.iter().zip(&sent) {
                requests.add(process.immediate_send_with_tag(scope, &sent[..], context.tag(0)));
            }
        }
        for (process, room) in processes.iter().zip(&mut rooms) {
            let request =
                process.immediate_receive_into_with_tag(scope, &mut room[..], context.tag(0));
            received[requests.add(request)] = true;
        }
        if !sends_first {
            for (process, sent) in processes.iter().zip(&sent) {
                requests.add(process.immediate_send_with_tag(scope, &sent[..], context.tag(0)));
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
    context.seen.append(&mut lines);
}

/// Tests receives until they are complete. One of them returns its value.
fn tests<T: Element>(context: &mut StepContext) {
    let by = context.chance.below(context.size);
    let length = context.chance.length();
    let tried = context.chance.one_in(2);
    let with_data = context.chance.one_in(2);
    let (to, from) = (
        (context.me + by) % context.size,
        (context.me + context.size - by) % context.size,
    );
    let (next, before) = (
        context.comm.process_at_rank(to as i32),
        context.comm.process_at_rank(from as i32),
    );
    let value: T = context.elements(context.me, 0, 1)[0];
    let sent: Vec<T> = context.elements(context.me, 1, length);
    let mut room = vec![T::default(); length];
    let mut future = before.immediate_receive_with_tag::<T>(context.tag(0));
    let line = mpi::request::scope(|scope| {
        let first = next.immediate_send_with_tag(scope, &value, context.tag(0));
        let mut receive =
            before.immediate_receive_into_with_tag(scope, &mut room[..], context.tag(1));
        let second = next.immediate_send_with_tag(scope, &sent[..], context.tag(1));
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
    context.say_elements(&line, &room);
}

/// Uses guards that wait, and guards that cancel a receive whose message never comes.
fn guards<T: Element>(context: &mut StepContext) {
    let length = context.chance.length();
    let (to, from) = (
        (context.me + 1) % context.size,
        (context.me + context.size - 1) % context.size,
    );
    let (next, before) = (
        context.comm.process_at_rank(to as i32),
        context.comm.process_at_rank(from as i32),
    );
    let sent: Vec<T> = context.elements(context.me, 0, length);
    let (mut room, mut never, mut nor) = (vec![T::default(); length], T::default(), T::default());
    mpi::request::scope(|scope| {
        let _never = CancelGuard::from(before.immediate_receive_into_with_tag(
            scope,
            &mut never,
            context.tag(2),
        ));
        let nor = context.comm.any_process().immediate_receive_into_with_tag(
            scope,
            &mut nor,
            context.tag(3),
        );
        let _receive = WaitGuard::from(before.immediate_receive_into_with_tag(
            scope,
            &mut room[..],
            context.tag(0),
        ));
        let _send = WaitGuard::from(next.immediate_send_with_tag(scope, &sent[..], context.tag(0)));
        nor.cancel();
        nor.wait_without_status();
    });
    context.say_elements("waited for", &room);
    context.say_elements("cancelled", &[never, nor]);
}

/// Makes collective calls while messages are in transit.
fn among_collectives<T: Element>(context: &mut StepContext) {
    let (length, root) = (context.chance.length(), context.rank());
    let (to, from) = (
        (context.me + 1) % context.size,
        (context.me + context.size - 1) % context.size,
    );
    let sent: Vec<T> = context.elements(context.me, 0, length);
    let mut room = vec![T::default(); length];
    let mut broadcast: Vec<T> = context.elements(context.me, 1, 5);
    let mut ranks = vec![0_i32; context.size];
    let status = mpi::request::scope(|scope| {
        let anyone = context.comm.any_process();
        let receive = anyone.immediate_receive_into_with_tag(scope, &mut room[..], context.tag(0));
        let barrier = context.comm.immediate_barrier();
        context
            .comm
            .process_at_rank(root as i32)
            .broadcast_into(&mut broadcast[..]);
        let send = context
            .comm
            .process_at_rank(to as i32)
            .immediate_send_with_tag(scope, &sent[..], context.tag(0));
        context
            .comm
            .all_gather_into(&(context.me as i32), &mut ranks[..]);
        barrier.wait_without_status();
        send.wait_without_status();
        receive.wait()
    });
    assert_eq!(status.source_rank(), from as i32);
    context.say_elements(&told::<T>(&status), &room);
    context.say_elements("broadcast", &broadcast);
    context.say_elements("gathered", &ranks);
}
