//! Messages between two ranks: modes of sending, ways of receiving, tags, and wildcards.

use mpi::Tag;
use mpi::point_to_point as p2p;
use mpi::traits::*;

use super::element::{Element, by_element, shown};
use super::program::Kind;
use super::step_context::{StepContext, told};

pub(crate) const KINDS: [Kind; 6] = [
    ("messages", |context| by_element!(in_order(context))),
    ("messages_by_tag", |context| by_element!(by_tag(context))),
    ("receives_first", |context| {
        by_element!(receives_first(context))
    }),
    ("ready_sends", |context| by_element!(ready(context))),
    ("funnel", |context| by_element!(funnel(context))),
    ("exchange", |context| by_element!(exchange(context))),
];

/// Message from one rank to another.
#[derive(Clone)]
pub(crate) struct Message {
    /// Number among the messages of a step.
    pub(crate) number: usize,
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) tag: Tag,
    pub(crate) length: usize,
}

impl Message {
    pub(crate) fn elements<T: Element>(&self, context: &StepContext) -> Vec<T> {
        context.elements(self.from, self.number, self.length)
    }
}

/// Draws messages. Messages with equal tags are distinguished by their order. Sometimes many
/// messages go to one rank: more than its list of waiting messages holds, or more than may wait at
/// all.
pub(crate) fn drawn(context: &mut StepContext, to_oneself: bool) -> Vec<Message> {
    let (few, many) = (1 + context.chance.below(8), 40 + context.chance.below(60));
    let one = context.rank();
    let flood = context.chance.one_in(8);
    let mut messages = Vec::new();
    for number in 0..if flood { many } else { few } {
        let (from, to) = (context.rank(), context.rank());
        let to = if flood { one } else { to };
        let tag = context.chance.below(if flood { 8 } else { 4 });
        let tag = context.tag(tag);
        let length = context.chance.length();
        let length = if flood { length % 5 } else { length };
        if from != to || to_oneself {
            messages.push(Message {
                number,
                from,
                to,
                tag,
                length,
            });
        }
    }
    messages
}

/// Returns true if a receive from any rank with this tag can only take this message.
fn is_alone(message: &Message, among: &[Message]) -> bool {
    let same = |other: &&Message| (other.to, other.tag) == (message.to, message.tag);
    among.iter().filter(same).count() == 1
}

/// Sends a message, and returns when its buffer may be used again.
fn send<T: Element>(context: &StepContext, message: &Message, mode: usize) {
    let elements = message.elements::<T>(context);
    let to = context.comm.process_at_rank(message.to as i32);
    let (data, tag) = (&elements[..], message.tag);
    match mode {
        0 => to.synchronous_send_with_tag(data, tag),
        1 if message.length < 1000 => to.buffered_send_with_tag(data, tag),
        2 => mpi::request::scope(|scope| {
            to.immediate_send_with_tag(scope, data, tag)
                .wait_without_status();
        }),
        3 => mpi::request::scope(|scope| {
            to.immediate_synchronous_send_with_tag(scope, data, tag)
                .wait_without_status();
        }),
        _ => to.send_with_tag(data, tag),
    }
}

/// Receives a message, and logs it.
fn receive<T: Element>(context: &mut StepContext, message: &Message, way: usize, anybody: bool) {
    let comm = context.comm;
    let (from, anyone) = (
        comm.process_at_rank(message.from as i32),
        comm.any_process(),
    );
    let tag = message.tag;
    // The buffer may be larger than the message.
    let mut room = vec![T::default(); message.length + way % 3];
    let (elements, status) = match way {
        0 if message.length == 1 => {
            let (value, status) = match anybody {
                true => anyone.receive_with_tag::<T>(tag),
                false => from.receive_with_tag::<T>(tag),
            };
            (vec![value], status)
        }
        1 => match anybody {
            true => anyone.receive_vec_with_tag::<T>(tag),
            false => from.receive_vec_with_tag::<T>(tag),
        },
        // Any tag: messages of one rank arrive in the order in which they were sent.
        2 => (Vec::new(), from.receive_into(&mut room[..])),
        3 => from.receive_vec::<T>(),
        4 => {
            let status = mpi::request::scope(|scope| match anybody {
                true => anyone
                    .immediate_receive_into_with_tag(scope, &mut room[..], tag)
                    .wait(),
                false => from
                    .immediate_receive_into_with_tag(scope, &mut room[..], tag)
                    .wait(),
            });
            (Vec::new(), status)
        }
        _ => match anybody {
            true => (Vec::new(), anyone.receive_into_with_tag(&mut room[..], tag)),
            false => (Vec::new(), from.receive_into_with_tag(&mut room[..], tag)),
        },
    };
    let elements = if elements.is_empty() { room } else { elements };
    context.say_elements(&told::<T>(&status), &elements);
}

/// Sends and receives messages in the same order on all ranks. Each call returns, even if sends
/// wait for their receives.
fn in_order<T: Element>(context: &mut StepContext) {
    let messages = drawn(context, false);
    for message in &messages {
        let (mode, way) = (context.chance.below(6), context.chance.below(6));
        let anybody = context.chance.one_in(2) && is_alone(message, &messages);
        if message.from == context.me {
            send::<T>(context, message, mode);
        } else if message.to == context.me {
            receive::<T>(context, message, way, anybody);
        }
    }
}

/// Begins all sends, and receives them by tag in another order.
fn by_tag<T: Element>(context: &mut StepContext) {
    let messages = drawn(context, true);
    let order = context.chance.order(messages.len());
    let synchronous = context.chance.one_in(2);
    let me = context.me;
    let mine = messages.iter().filter(|message| message.from == me);
    let sent: Vec<_> = mine
        .map(|message| (message, message.elements::<T>(context)))
        .collect();
    mpi::request::scope(|scope| {
        let mut requests = Vec::new();
        for (message, elements) in &sent {
            let to = context.comm.process_at_rank(message.to as i32);
            requests.push(match synchronous {
                true => to.immediate_synchronous_send_with_tag(scope, &elements[..], message.tag),
                false => to.immediate_send_with_tag(scope, &elements[..], message.tag),
            });
        }
        for at in order {
            // This takes the first message with the tag from the rank, which may have another
            // length.
            let message = &messages[at];
            if message.to == me {
                let from = context.comm.process_at_rank(message.from as i32);
                let (elements, status) = from.receive_vec_with_tag::<T>(message.tag);
                context.say_elements(&told::<T>(&status), &elements);
            }
        }
        for request in requests {
            request.wait_without_status();
        }
    });
}

/// Begins receives before any send. They take messages in the order in which they were begun.
fn receives_first<T: Element>(context: &mut StepContext) {
    let messages = drawn(context, false);
    let me = context.me;
    let ways: Vec<usize> = messages.iter().map(|_| context.chance.below(6)).collect();
    let modes: Vec<usize> = messages.iter().map(|_| context.chance.below(6)).collect();
    let order = context.chance.order(messages.len());
    let barrier = context.chance.one_in(3);
    let waited_any = context.chance.one_in(3);
    let taken = messages
        .iter()
        .zip(&ways)
        .filter(|(message, _)| message.to == me);
    let taken: Vec<_> = taken.collect();
    let mut rooms: Vec<Vec<T>> = taken
        .iter()
        .map(|taken| vec![T::default(); taken.0.length])
        .collect();
    let statuses = mpi::request::scope(|scope| {
        let mut requests = Vec::new();
        for ((message, way), room) in taken.iter().zip(&mut rooms) {
            let from = context.comm.process_at_rank(message.from as i32);
            requests.push(match way {
                // Any tag: the messages of this rank arrive in the order of these receives.
                0 => from.immediate_receive_into(scope, room),
                1 if is_alone(message, &messages) => {
                    let anyone = context.comm.any_process();
                    anyone.immediate_receive_into_with_tag(scope, room, message.tag)
                }
                _ => from.immediate_receive_into_with_tag(scope, room, message.tag),
            });
        }
        if barrier {
            context.comm.barrier();
        }
        for (message, mode) in messages.iter().zip(&modes) {
            if message.from == me {
                send::<T>(context, message, *mode);
            }
        }
        let mut statuses: Vec<Option<String>> = taken.iter().map(|_| None).collect();
        if waited_any {
            let mut left: Vec<usize> = (0..requests.len()).collect();
            while let Some((at, status)) = mpi::request::wait_any(&mut requests) {
                statuses[left.remove(at)] = Some(told::<T>(&status));
            }
        }
        let mut requests: Vec<_> = requests.into_iter().map(Some).collect();
        for at in order {
            if let Some(request) = requests.get_mut(at).and_then(Option::take) {
                statuses[at] = Some(told::<T>(&request.wait()));
            }
        }
        statuses
    });
    for (status, room) in statuses.iter().zip(&rooms) {
        context.say(format!(
            "{} {}",
            status.as_deref().unwrap_or("nothing"),
            shown(room)
        ));
    }
}

/// Sends in ready mode.
fn ready<T: Element>(context: &mut StepContext) {
    let by = 1 + context.chance.below(4);
    let (to, from) = (
        (context.me + by) % context.size,
        (context.me + context.size - by % context.size) % context.size,
    );
    let length = context.chance.length();
    let immediate = context.chance.one_in(2);
    let tag = context.tag(0);
    let sent: Vec<T> = context.elements(context.me, 0, length);
    let mut room = vec![T::default(); length];
    let status = mpi::request::scope(|scope| {
        let before = context.comm.process_at_rank(from as i32);
        let receive = before.immediate_receive_into_with_tag(scope, &mut room[..], tag);
        context.comm.barrier();
        let next = context.comm.process_at_rank(to as i32);
        // SAFETY: the receive has begun, because the barrier is complete.
        unsafe {
            match immediate {
                true => next
                    .immediate_ready_send_with_tag(scope, &sent[..], tag)
                    .wait_without_status(),
                false => next.ready_send_with_tag(&sent[..], tag),
            }
        }
        receive.wait()
    });
    context.say_elements(&told::<T>(&status), &room);
}

/// Sends messages from all ranks to one, which receives from any rank. The messages of each sender
/// stay in order.
fn funnel<T: Element>(context: &mut StepContext) {
    let root = context.rank();
    let each = 1 + context.chance.below(4);
    let modes: Vec<usize> = (0..each).map(|_| context.chance.below(6)).collect();
    let with_tag = context.chance.one_in(2);
    let probed = context.chance.one_in(2);
    let lengths: Vec<usize> = (0..each * context.size)
        .map(|_| context.chance.length())
        .collect();
    if context.me == root {
        let mut came: Vec<(i32, String)> = Vec::new();
        for _ in 0..each * (context.size - 1) {
            let anyone = context.comm.any_process();
            let (elements, status) = match (with_tag, probed) {
                (true, true) => anyone
                    .matched_probe_with_tag(context.tag(0))
                    .matched_receive_vec::<T>(),
                (false, true) => anyone.matched_probe().matched_receive_vec::<T>(),
                (true, false) => anyone.receive_vec_with_tag::<T>(context.tag(0)),
                (false, false) => anyone.receive_vec::<T>(),
            };
            let line = format!("{} {}", told::<T>(&status), shown(&elements));
            came.push((status.source_rank(), line));
        }
        // The sort is stable, so the messages of each rank stay in the order of arrival.
        came.sort_by_key(|came| came.0);
        for (_, line) in came {
            context.say(line);
        }
    } else {
        for (number, mode) in modes.into_iter().enumerate() {
            let tag = if with_tag { 0 } else { number };
            let (from, tag) = (context.me, context.tag(tag));
            let length = lengths[from * each + number];
            send::<T>(
                context,
                &Message {
                    number,
                    from,
                    to: root,
                    tag,
                    length,
                },
                mode,
            );
        }
    }
    // Messages of later steps must not match these receives.
    context.comm.barrier();
}

/// Sends and receives in one call, around a ring with a random stride.
fn exchange<T: Element>(context: &mut StepContext) {
    let by = context.chance.below(context.size);
    let way = context.chance.below(4);
    let length = context.chance.length();
    let (to, from) = (
        (context.me + by) % context.size,
        (context.me + context.size - by) % context.size,
    );
    let (next, before) = (
        context.comm.process_at_rank(to as i32),
        context.comm.process_at_rank(from as i32),
    );
    let tag = context.tag(0);
    let sent: Vec<T> = context.elements(context.me, 0, length);
    let mut room = sent.clone();
    match way {
        0 => {
            let value: Vec<T> = context.elements(context.me, 0, 1);
            let (value, status): (T, _) =
                p2p::send_receive_with_tags(&value[0], &next, tag, &before, tag);
            context.say_elements(&told::<T>(&status), &[value]);
        }
        1 => {
            let status =
                p2p::send_receive_replace_into_with_tags(&mut room[..], &next, tag, &before, tag);
            context.say_elements(&told::<T>(&status), &room);
        }
        2 => {
            // No other message from the same rank is in transit.
            let status = p2p::send_receive_into(&sent[..], &next, &mut room[..], &before);
            context.say_elements(&told::<T>(&status), &room);
        }
        _ => {
            room.resize(length + 2, T::default());
            let status = p2p::send_receive_into_with_tags(
                &sent[..],
                &next,
                tag,
                &mut room[..],
                &before,
                tag,
            );
            context.say_elements(&told::<T>(&status), &room);
        }
    }
}
