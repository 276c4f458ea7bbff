//! Probes for messages before they are received.

use mpi::traits::*;

use super::element::{Element, by_element, shown};
use super::messages::{Message, drawn};
use super::program::Kind;
use super::step_context::{StepContext, told};

pub(crate) const KINDS: [Kind; 3] = [
    ("probes", |context| by_element!(probed(context))),
    ("matched_probes_at_once", |context| {
        by_element!(all_matched(context))
    }),
    ("probes_of_nothing", |context| by_element!(nothing(context))),
];

/// Probes for a message and receives it, with or without its tag.
fn take<T: Element>(context: &mut StepContext, message: &Message, way: usize) {
    let from = context.comm.process_at_rank(message.from as i32);
    let tag = message.tag;
    let ((elements, status), looked) = match way {
        0 => {
            let looked = from.probe();
            (from.receive_vec_with_tag::<T>(looked.tag()), Some(looked))
        }
        1 => {
            let looked = from.probe_with_tag(tag);
            let mut room = vec![T::default(); looked.count(T::equivalent_datatype()) as usize];
            let status = from.receive_into_with_tag(&mut room[..], tag);
            ((room, status), Some(looked))
        }
        2 => (from.matched_probe().matched_receive_vec::<T>(), None),
        3 => {
            let (message, looked) = from.matched_probe_with_tag(tag);
            let mut room = vec![T::default(); looked.count(T::equivalent_datatype()) as usize];
            let status = message.matched_receive_into(&mut room[..]);
            ((room, status), Some(looked))
        }
        4 => {
            let looked = loop {
                if let Some(status) = from.immediate_probe_with_tag(tag) {
                    break status;
                }
            };
            (from.receive_vec_with_tag::<T>(tag), Some(looked))
        }
        5 => {
            let (message, looked) = loop {
                if let Some(found) = from.immediate_matched_probe_with_tag(tag) {
                    break found;
                }
            };
            let mut room = vec![T::default(); looked.count(T::equivalent_datatype()) as usize + 1];
            let status = mpi::request::scope(|scope| {
                message
                    .immediate_matched_receive_into(scope, &mut room[..])
                    .wait()
            });
            ((room, status), Some(looked))
        }
        _ => {
            let looked = loop {
                if let Some(status) = from.immediate_probe() {
                    break status;
                }
            };
            (from.receive_vec::<T>(), Some(looked))
        }
    };
    let looked = looked.map_or(String::new(), |status| {
        format!("seen {} ", told::<T>(&status))
    });
    context.say(format!(
        "{looked}{} {}",
        told::<T>(&status),
        shown(&elements)
    ));
}

fn probed<T: Element>(context: &mut StepContext) {
    for message in drawn(context, false) {
        let way = context.chance.below(7);
        let synchronous = context.chance.one_in(3);
        if message.from == context.me {
            let elements = message.elements::<T>(context);
            let to = context.comm.process_at_rank(message.to as i32);
            match synchronous {
                true => to.synchronous_send_with_tag(&elements[..], message.tag),
                false => to.send_with_tag(&elements[..], message.tag),
            }
        } else if message.to == context.me {
            take::<T>(context, &message, way);
        }
    }
}

/// Matches all messages to this rank before any is received, and receives them in another order.
fn all_matched<T: Element>(context: &mut StepContext) {
    let messages = drawn(context, true);
    let order = context.chance.order(messages.len());
    let me = context.me;
    let mine = messages.iter().filter(|message| message.from == me);
    let sent: Vec<_> = mine
        .map(|message| (message, message.elements::<T>(context)))
        .collect();
    mpi::request::scope(|scope| {
        let mut requests = Vec::new();
        for (message, elements) in &sent {
            let to = context.comm.process_at_rank(message.to as i32);
            requests.push(to.immediate_send_with_tag(scope, &elements[..], message.tag));
        }
        let mut taken: Vec<_> = messages.iter().map(|_| None).collect();
        for (message, taken) in messages.iter().zip(&mut taken) {
            if message.to == me {
                let from = context.comm.process_at_rank(message.from as i32);
                *taken = Some(from.matched_probe_with_tag(message.tag));
            }
        }
        for at in order {
            if let Some((message, looked)) = taken[at].take() {
                let looked_at = told::<T>(&looked);
                let (elements, status) = (message, looked).matched_receive_vec::<T>();
                let line = format!(
                    "seen {looked_at} {} {}",
                    told::<T>(&status),
                    shown(&elements)
                );
                context.say(line);
            }
        }
        for request in requests {
            request.wait_without_status();
        }
    });
}

/// Probes for messages that have another tag, are in another communicator, or were received. No
/// probe finds them.
fn nothing<T: Element>(context: &mut StepContext) {
    let length = context.chance.length();
    let (to, from) = (
        (context.me + 1) % context.size,
        (context.me + context.size - 1) % context.size,
    );
    let sent: Vec<T> = context.elements(context.me, 0, length);
    let copy = context.comm.duplicate();
    let tag = context.tag(0);
    mpi::request::scope(|scope| {
        let request = context
            .comm
            .process_at_rank(to as i32)
            .immediate_send_with_tag(scope, &sent[..], tag);
        let before = context.comm.process_at_rank(from as i32);
        let looked = before.probe_with_tag(tag);
        context.say(told::<T>(&looked));
        let others = [
            before.immediate_probe_with_tag(context.tag(1)).is_some(),
            copy.any_process().immediate_probe().is_some(),
            copy.any_process().immediate_matched_probe().is_some(),
        ];
        let (elements, status) = before.receive_vec_with_tag::<T>(tag);
        let again = before.immediate_probe_with_tag(tag).is_some();
        context.say(format!(
            "{others:?} {again} {} {}",
            told::<T>(&status),
            shown(&elements)
        ));
        request.wait_without_status();
    });
}
