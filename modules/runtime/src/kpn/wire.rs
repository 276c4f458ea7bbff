//! Building the part of a network that one scheduler runs: channels, then processes.
//!
//! Each scheduler goes through the table by itself. A channel within it is made on the spot; of
//! one between two schedulers, the first to come makes both ends and leaves the other's in the
//! [`Exchange`]. The lists of ends are gone when the last process has its own.

use std::collections::HashMap;
use std::sync::Mutex;

use super::connect::{Ends, Free, KindPort, Placed, PortEnds};
use super::maker::FarSide;
use super::network::{Class, Network};
use graphmap_executor::exec::hooks::Side;
use graphmap_executor::exec::report;
use graphmap_executor::exec::scheduler::Scheduler;
use graphmap_executor::placement::{Placement, SchedulerId, SchedulerIndex};
use graphmap_executor::sync::lock;

/// An end of a channel of any type, with what frees it if nobody takes it.
struct Loose {
    raw: *mut u8,
    free: Free,
}

impl Loose {
    fn take(mut self) -> *mut u8 {
        std::mem::replace(&mut self.raw, std::ptr::null_mut())
    }
}

impl Drop for Loose {
    fn drop(&mut self) {
        if !self.raw.is_null() {
            // SAFETY: the function belongs to the pointer, which nobody has taken.
            unsafe { (self.free)(self.raw) };
        }
    }
}

// SAFETY: only ends of channels between schedulers, of `Send` tokens, go to another thread, and
// an end is used by one thread only from when it is taken.
unsafe impl Send for Loose {}

/// Where schedulers leave each other the ends of their channels.
#[derive(Default)]
pub(crate) struct Exchange(Mutex<HashMap<u32, Loose>>);

/// Ranks, kinds and indices of the processes that live on a scheduler, by rank.
pub(crate) fn residents(
    network: &Network,
    placement: &Placement,
    me: SchedulerId,
) -> Vec<(u32, u32, u32)> {
    let mut residents = Vec::new();
    for (kind, table) in network.kinds.iter().enumerate() {
        for (index, rank) in table.ranks.iter().enumerate() {
            if placement.thread_of(rank) == me {
                residents.push((rank, kind as u32, index as u32));
            }
        }
    }
    if !residents.is_sorted() {
        residents.sort_unstable();
    }
    residents
}

/// A channel goes from one OS process to another, and its tokens cannot.
fn no_payload(network: &Network, class: &Class, number: u32, between: (usize, usize)) -> String {
    let channel = report::channel(network, number);
    let (token, (from, to)) = (class.token_name, between);
    let name = match token.contains(['<', '(', '[', '&']) {
        true => "Type",
        false => token.rsplit("::").next().unwrap_or(token),
    };
    format!(
        "{channel} goes from OS process {from} to {to}, and {token} is no payload: write \
         `graphmap_runtime::payload!({name} {{ its, fields }});` beside the type"
    )
}

/// Where the ends of a class go, of those of a port.
fn list<'a>(
    kinds: &'a mut [Vec<KindPort>],
    class: &Class,
    (kind, port): (u32, u32),
    input: bool,
) -> &'a mut PortEnds {
    let port = &mut kinds[kind as usize][port as usize];
    match (class.control, input) {
        (false, _) => &mut port.tokens,
        (true, false) => &mut port.tells,
        (true, true) => &mut port.hears,
    }
}

/// Makes the channels and processes of `scheduler`.
pub(crate) fn build(
    network: &Network,
    placement: &Placement,
    exchange: &Exchange,
    scheduler: &Scheduler,
    residents: Vec<(u32, u32, u32)>,
) -> Result<(), Vec<String>> {
    let (me, shared) = (scheduler.number(), scheduler.shared());
    let profiled = scheduler.tally().borrow().profiled;
    let formats = profiled.then_some(&network.formats);
    let mut mistakes = Vec::new();
    let mut kinds: Vec<Vec<KindPort>> = Vec::new();
    for table in &network.kinds {
        kinds.push(table.ports.iter().map(|_| KindPort::default()).collect());
    }
    for class in &network.classes {
        let (free_output, free_input) = class.maker.frees();
        for ((kind, port), input, free) in [
            (class.from, false, free_output),
            (class.to, true, free_input),
        ] {
            let known = &mut list(&mut kinds, class, (kind, port), input).port;
            let this = (class.token, class.token_name, input, free);
            let old = *known.get_or_insert(this);
            if (old.0, old.2) != (this.0, this.2) {
                let table = &network.kinds[kind as usize];
                mistakes.push(format!(
                    "port `{}` of kind {} has channels of two types or directions: {} and {}",
                    table.ports[port as usize], table.name, old.1, class.token_name
                ));
            }
        }
        if !mistakes.is_empty() {
            continue;
        }
        let home = |kind: u32, index| {
            if placement.is_one() {
                return SchedulerId(0);
            }
            let rank = network.kinds[kind as usize].ranks.get(index as usize);
            rank.map_or(SchedulerId::NONE, |rank| placement.thread_of(rank))
        };
        for (n, (from, to)) in class
            .from_index
            .iter()
            .zip(class.to_index.iter())
            .enumerate()
        {
            let homes = (home(class.from.0, from), home(class.to.0, to));
            if homes.0 != me && homes.1 != me {
                continue;
            }
            let number = class.first + n as u32;
            let here = shared.here(homes.0).zip(shared.here(homes.1));
            let make = |homes| {
                class
                    .maker
                    .make(number, n, class.capacity, homes, scheduler, formats)
            };
            let (output, input) = if homes.0 == homes.1 {
                make((SchedulerIndex(0), SchedulerIndex(0)))
            } else if let Some(homes_here) = here {
                let mut left = lock(&exchange.0);
                let (mine, theirs) = match left.remove(&number) {
                    Some(end) => (end.take(), None),
                    None => {
                        let (output, input) = make(homes_here);
                        if homes.0 == me {
                            (
                                output,
                                Some(Loose {
                                    raw: input,
                                    free: free_input,
                                }),
                            )
                        } else {
                            (
                                input,
                                Some(Loose {
                                    raw: output,
                                    free: free_output,
                                }),
                            )
                        }
                    }
                };
                left.extend(theirs.map(|end| (number, end)));
                drop(left);
                let side = if homes.0 == me {
                    Side::Write
                } else {
                    Side::Read
                };
                // SAFETY: `make` made it, of this class.
                unsafe { class.maker.register(mine, side, scheduler.registry()) };
                (mine, mine)
            } else {
                let (side, peer) = match homes.0 == me {
                    true => (Side::Write, homes.1),
                    false => (Side::Read, homes.0),
                };
                let far = FarSide { side, peer };
                let formats = &network.formats;
                let made = class
                    .maker
                    .make_far(number, n, class.capacity, far, scheduler, formats);
                let Some(end) = made else {
                    let places = (shared.os_process_of(homes.0), shared.os_process_of(homes.1));
                    mistakes.push(no_payload(network, class, number, places));
                    break;
                };
                (end, end)
            };
            if homes.0 == me {
                let slot = class.from_slot.get(n).unwrap_or(number);
                list(&mut kinds, class, class.from, false)
                    .ends
                    .push((from, slot, output));
            }
            if homes.1 == me {
                let slot = class.to_slot.get(n).unwrap_or(number);
                list(&mut kinds, class, class.to, true)
                    .ends
                    .push((to, slot, input));
            }
        }
    }
    for (table, ports) in network.kinds.iter().zip(&mut kinds) {
        let ports = table.ports.iter().zip(ports);
        let lists = ports.flat_map(|(name, port)| port.lists().map(|list| (name, list)));
        for (name, port) in lists {
            let place = |end: &Placed| (end.0, end.1);
            if !port.ends.is_sorted_by_key(place) {
                port.ends.sort_by_key(place);
            }
            if let Some(twice) = port.ends.windows(2).find(|w| place(&w[0]) == place(&w[1])) {
                let (member, slot) = place(&twice[0]);
                let kind = &table.name;
                mistakes.push(format!(
                    "port `{name}` of member {member} of kind {kind}: two channels in slot {slot}"
                ));
            }
        }
    }
    if !mistakes.is_empty() {
        return Err(mistakes);
    }
    for (id, (_, kind, index)) in residents.into_iter().enumerate() {
        let table = &network.kinds[kind as usize];
        let mut ends = Ends {
            ports: &mut kinds[kind as usize],
            names: &table.ports,
            next: 0,
            member: index,
            mistakes: &mut mistakes,
        };
        let mut process = None;
        // `connect` and the function are the user's.
        scheduler.in_the_name_of(Some((kind, index)), || {
            process = Some((table.spawn)(&mut ends, kind, index));
        });
        let Some(process) = process else {
            return Ok(()); // it panicked, which ends the run
        };
        let next = ends.next;
        scheduler.put(id, process);
        if next != table.ports.len() {
            mistakes.push(format!(
                "its struct connects {next} of {} ports",
                table.ports.len()
            ));
        }
        if let Some(first) = mistakes.first_mut() {
            *first = format!("kind {}: {first}", table.name);
            return Err(mistakes);
        }
    }
    Ok(())
}
