//! Builds the part of a network that one scheduler runs: channels, then processes.
//!
//! Each scheduler goes through the table on its own. It creates channels between its own processes
//! immediately. A channel between two schedulers is created by the first of them that reaches it,
//! which stores the other's end in the [`Exchange`]. The lists of ends are freed when the last
//! process has its ends.

use std::collections::HashMap;
use std::sync::Mutex;

use super::connect::{Ends, Free, KindPort, Placed, PortEnds};
use super::maker::{Maker, RemoteSide, Site};
use super::meter::Formats;
use super::network::{Class, KindTable, Network};
use graphmap_executor::exec::hooks::Side;
use graphmap_executor::exec::report;
use graphmap_executor::exec::scheduler::Scheduler;
use graphmap_executor::placement::{Placement, SchedulerId, SchedulerIndex};
use graphmap_executor::sync::lock;

/// Raw end of a channel of any type, with the function that frees it if it is not taken.
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
            // SAFETY: `free` belongs to the type of `raw`, and `raw` has not been taken.
            unsafe { (self.free)(self.raw) };
        }
    }
}

// SAFETY: only ends of channels between schedulers move to another thread. Their tokens are `Send`,
// and an end is used by only one thread after it was taken.
unsafe impl Send for Loose {}

/// Ends of channels that one scheduler has created for another.
#[derive(Default)]
pub(crate) struct Exchange(Mutex<HashMap<u32, Loose>>);

/// Returns the rank, kind and index of each process of a scheduler, in ascending order of rank.
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

/// Part of a network that is being built.
struct Wiring<'a> {
    network: &'a Network,
    placement: &'a Placement,
    exchange: &'a Exchange,
    scheduler: &'a Scheduler,
    me: SchedulerId,
    /// Formats to count the bytes of tokens, if the run is profiled.
    formats: Option<&'a Formats>,
    /// Ends that no process has taken, by kind and port.
    kinds: Vec<Vec<KindPort>>,
    errors: Vec<String>,
}

/// Creates the channels and processes of `scheduler`. If the code of a process panics while that
/// process is created, the run ends with this failure, and the function returns `Ok` early.
///
/// # Errors
/// Returns the inconsistencies between the network and the ports of its processes, and channels to
/// other OS processes whose tokens have no payload.
///
/// # Panics
/// If the code that makes the initial tokens of a channel panics.
pub(crate) fn build(
    network: &Network,
    placement: &Placement,
    exchange: &Exchange,
    scheduler: &Scheduler,
    residents: Vec<(u32, u32, u32)>,
) -> Result<(), Vec<String>> {
    let ports_of = |table: &KindTable| table.ports.iter().map(|_| KindPort::default()).collect();
    let profiled = scheduler.statistics().borrow().profiled;
    let mut wiring = Wiring {
        network,
        placement,
        exchange,
        scheduler,
        me: scheduler.number(),
        formats: profiled.then_some(&network.formats),
        kinds: network.kinds.iter().map(ports_of).collect(),
        errors: Vec::new(),
    };
    for class in &network.classes {
        wiring.declare(class);
        if wiring.errors.is_empty() {
            wiring.make_channels(class);
        }
    }
    wiring.sort_ends();
    wiring.make_processes(residents)
}

impl Wiring<'_> {
    /// Returns the list of the ends of a class that belong to a port. `input` is true for reading
    /// ends, which matters only for a class of control messages.
    fn list(&mut self, class: &Class, (kind, port): (u32, u32), input: bool) -> &mut PortEnds {
        let port = &mut self.kinds[kind as usize][port as usize];
        match (class.control, input) {
            (false, _) => &mut port.tokens,
            (true, false) => &mut port.control_outputs,
            (true, true) => &mut port.control_inputs,
        }
    }

    /// Records the token type of the two ports of a class. Records an error if a port has another
    /// type or direction already. All channels of a port must have the same type.
    fn declare(&mut self, class: &Class) {
        let (free_output, free_input) = class.maker.frees();
        for ((kind, port), input, free) in [
            (class.from, false, free_output),
            (class.to, true, free_input),
        ] {
            let this = (class.token, class.token_name, input, free);
            let known = &mut self.list(class, (kind, port), input).port;
            let old = *known.get_or_insert(this);
            if (old.0, old.2) != (this.0, this.2) {
                let table = &self.network.kinds[kind as usize];
                self.errors.push(format!(
                    "port `{}` of kind {} has channels of different types or directions: {} and {}",
                    table.ports[port as usize], table.name, old.1, class.token_name
                ));
            }
        }
    }

    /// Returns the scheduler of a member of a kind, or [`SchedulerId::NONE`] if the member does not
    /// exist. If the run has only one scheduler, returns that one without a check.
    fn scheduler_of(&self, kind: u32, member: u32) -> SchedulerId {
        if self.placement.is_one() {
            return SchedulerId(0);
        }
        let rank = self.network.kinds[kind as usize].ranks.get(member as usize);
        rank.map_or(SchedulerId::NONE, |rank| self.placement.thread_of(rank))
    }

    /// Creates those ends of a class that belong to this scheduler, and adds them to the lists of
    /// their ports. Stops, and records an error, at a channel to another OS process whose tokens
    /// have no payload. Panics as [`ends`](Self::ends).
    fn make_channels(&mut self, class: &Class) {
        let members = class.from_index.iter().zip(class.to_index.iter());
        for (n, (from, to)) in members.enumerate() {
            let schedulers = (
                self.scheduler_of(class.from.0, from),
                self.scheduler_of(class.to.0, to),
            );
            if schedulers.0 != self.me && schedulers.1 != self.me {
                continue;
            }
            let (number, capacity) = (class.first + n as u32, class.capacity);
            let site = Site {
                number,
                n,
                capacity,
            };
            let Some((output, input)) = self.ends(&*class.maker, site, schedulers) else {
                self.errors.push(self.no_payload(class, number, schedulers));
                break;
            };
            if schedulers.0 == self.me {
                let slot = class.from_slot.get(n).unwrap_or(number);
                let list = self.list(class, class.from, false);
                list.ends.push((from, slot, output));
            }
            if schedulers.1 == self.me {
                let slot = class.to_slot.get(n).unwrap_or(number);
                let list = self.list(class, class.to, true);
                list.ends.push((to, slot, input));
            }
        }
    }

    /// Returns the raw ends of a channel, for the writer and for the reader, and creates the
    /// channel if necessary. If only one of the two processes is on this scheduler, both are the
    /// end of that process. Returns `None` if the channel goes to another OS process and its tokens
    /// have no payload. May call user code, which makes the initial tokens.
    ///
    /// # Panics
    /// If that code panics.
    fn ends(
        &self,
        maker: &dyn Maker,
        site: Site,
        (writer, reader): (SchedulerId, SchedulerId),
    ) -> Option<(*mut u8, *mut u8)> {
        if writer == reader {
            let schedulers = (SchedulerIndex(0), SchedulerIndex(0));
            return Some(maker.make(site, schedulers, self.scheduler, self.formats));
        }
        let (side, peer) = match writer == self.me {
            true => (Side::Write, reader),
            false => (Side::Read, writer),
        };
        let shared = self.scheduler.shared();
        let end = match shared.here(writer).zip(shared.here(reader)) {
            Some(schedulers) => self.exchanged(maker, site, schedulers, side),
            None => {
                let (remote_side, formats) = (RemoteSide { side, peer }, &self.network.formats);
                maker.make_remote(site, remote_side, self.scheduler, formats)?
            }
        };
        Some((end, end))
    }

    /// Returns this scheduler's end of a channel between two schedulers of this OS process. Takes
    /// the end that the other scheduler has stored. If there is none, creates the channel and
    /// stores the other end. Adds the returned end to the registry of this scheduler. The exchange
    /// is locked meanwhile, also while user code makes the initial tokens. Panics if that code
    /// panics.
    fn exchanged(
        &self,
        maker: &dyn Maker,
        site: Site,
        schedulers: (SchedulerIndex, SchedulerIndex),
        side: Side,
    ) -> *mut u8 {
        let mut left = lock(&self.exchange.0);
        let mine = left.remove(&site.number).map(Loose::take);
        let mine = mine.unwrap_or_else(|| {
            let (output, input) = maker.make(site, schedulers, self.scheduler, self.formats);
            let (free_output, free_input) = maker.frees();
            let (mine, raw, free) = match side {
                Side::Write => (output, input, free_input),
                Side::Read => (input, output, free_output),
            };
            left.insert(site.number, Loose { raw, free });
            mine
        });
        drop(left);
        // SAFETY: `make` of the same class created the end, because a channel number belongs to one
        // class.
        unsafe { maker.register(mine, side, self.scheduler.registry()) };
        mine
    }

    /// Returns the error of a channel to another OS process whose tokens have no payload.
    fn no_payload(
        &self,
        class: &Class,
        number: u32,
        schedulers: (SchedulerId, SchedulerId),
    ) -> String {
        let channel = report::channel(self.network, number);
        let [from, to] = [schedulers.0, schedulers.1]
            .map(|scheduler| self.scheduler.shared().os_process_of(scheduler));
        let token = class.token_name;
        format!(
            "{channel} goes from OS process {from} to {to}, and {token} is not a payload: add \
             `#[derive(graphmap_runtime::Payload)]` to the type"
        )
    }

    /// Sorts the ends of each port by member and slot. Records an error for each list of ends in
    /// which a slot of a member has two channels.
    fn sort_ends(&mut self) {
        for (table, ports) in self.network.kinds.iter().zip(&mut self.kinds) {
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
                    self.errors.push(format!(
                        "port `{name}` of member {member} of kind {kind}: two channels in slot {slot}"
                    ));
                }
            }
        }
    }

    /// Creates the processes and connects their ports. If the code of a process panics meanwhile,
    /// the run ends with this failure, and the function returns `Ok` early.
    ///
    /// # Errors
    /// Returns the errors that were found before. Otherwise, returns the errors of the first
    /// process whose ports do not match the graph.
    fn make_processes(mut self, residents: Vec<(u32, u32, u32)>) -> Result<(), Vec<String>> {
        if !self.errors.is_empty() {
            return Err(self.errors);
        }
        for (id, (_, kind, index)) in residents.into_iter().enumerate() {
            let table = &self.network.kinds[kind as usize];
            let mut ends = Ends {
                ports: &mut self.kinds[kind as usize],
                names: &table.ports,
                arguments: &table.arguments,
                next: 0,
                member: index,
                errors: &mut self.errors,
            };
            let mut process = None;
            // `connect` and the function are user code.
            self.scheduler.in_the_name_of(Some((kind, index)), || {
                process = Some((table.spawn)(&mut ends, kind, index));
            });
            let Some(process) = process else {
                return Ok(()); // it panicked, which ends the run
            };
            let next = ends.next;
            self.scheduler.put(id, process);
            if next != table.ports.len() {
                let count = table.ports.len();
                let error = format!(
                    "the struct of its ports connects {next} ports, but the graph has {count}"
                );
                self.errors.push(error);
            }
            if let Some(first) = self.errors.first_mut() {
                *first = format!("kind {}: {first}", table.name);
                return Err(self.errors);
            }
        }
        Ok(())
    }
}
