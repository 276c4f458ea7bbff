//! Checks ports and joins.
//!
//! One pass visits all processes and ports, and each channel from both its ends. The cost is
//! dominated by accesses to memory.

use super::{Check, shown};
use crate::arena::Id;
use crate::declared::Direction;
use crate::network::{ChannelId, Closed, Join, PortId, Process, ProcessId};
use crate::source::Span;
use rustc_hash::FxHashSet;

/// Counters and state of the pass over the ports.
pub(super) struct Count {
    /// For each symbol, the process that last had a port with that name.
    last: Vec<u32>,
    /// Number of ports seen.
    ports: usize,
    /// Number of ends of channels at output ports, and at input ports.
    ends: [usize; 2],
    bundles: usize,
    closed: usize,
}

impl Check<'_> {
    pub(super) fn counts(&self) -> Count {
        Count {
            last: vec![u32::MAX; self.network.names.len()],
            ports: 0,
            ends: [0, 0],
            bundles: 0,
            closed: 0,
        }
    }

    /// Checks the ports of a process and their joins, reports violations, and adds to `count`.
    /// Processes must be checked in order.
    ///
    /// Returns false, after a report, if the owners of ports cannot be determined. The caller must
    /// then skip all further ports. Returns true after any other report.
    pub(super) fn ports(&mut self, id: ProcessId, process: &Process, count: &mut Count) -> bool {
        let n = self.network;
        let first = process.first_port as usize;
        let after = n.processes.values().as_slice().get(id.index() + 1);
        let end = after.map_or(n.ports.len(), |p| p.first_port as usize);
        let ports = n.ports.values().as_slice().get(first..end);
        let Some(ports) = ports.filter(|_| first == count.ports) else {
            self.part(process.span, |_| {
                format!(
                    "the ports of process {} do not follow those of the process before it",
                    id.index()
                )
            });
            return false;
        };
        count.ports = end;
        for (i, port) in ports.iter().enumerate() {
            let port_id = PortId::from_index(first + i);
            if port.process != id {
                self.part(process.span, |_| {
                    format!("a port of process {} names another process", id.index())
                });
                return false;
            }
            if !self.is_name(port.name) {
                self.nameless(process.span, "a port");
                continue;
            }
            let rank = id.index() as u32;
            if std::mem::replace(&mut count.last[port.name.index()], rank) == rank {
                self.part(process.span, |n| {
                    format!(
                        "process {rank} has two ports named `{}`",
                        shown(n, port.name)
                    )
                });
            }
            self.joined(port_id, process.span, count);
        }
        true
    }

    fn joined(&mut self, id: PortId, span: Span, count: &mut Count) {
        let n = self.network;
        let port = &n.ports[id];
        let side = usize::from(port.direction == Direction::Input);
        let agrees = match port.join {
            Join::Environment(closed) => {
                let in_order = closed.index() == count.closed;
                count.closed += 1;
                let of = n.closed.get(closed);
                if of.and_then(|c| c.ty).is_some_and(|ty| !self.is_name(ty)) {
                    self.nameless(span, "the type of a port");
                }
                let fits = |c: &Closed| c.bundle.is_none_or(|b| b.direction() == port.direction);
                in_order && of.is_some_and(fits)
            }
            Join::Channel(channel) => {
                count.ends[side] += 1;
                self.channel_end(channel, id, port.direction)
            }
            Join::Bundle(bundle) => {
                let of = n.bundles.get(bundle);
                let of = of.filter(|b| b.port == id && b.kind.direction() == port.direction);
                let members = of.and_then(|b| {
                    let members = &b.members;
                    n.members.get(members.start as usize..members.end as usize)
                });
                let members = members.unwrap_or_default();
                count.bundles += 1;
                count.ends[side] += members.len();
                if let Some(name) = of.and_then(|b| b.name)
                    && !self.is_name(name)
                {
                    self.nameless(span, "a bundle");
                }
                let mut last = None;
                !members.is_empty()
                    && members.iter().all(|&channel| {
                        last.replace(channel) < Some(channel)
                            && self.channel_end(channel, id, port.direction)
                    })
            }
        };
        if !agrees {
            self.part(span, |n| {
                let name = shown(n, port.name);
                let of = port.process.index();
                format!("port `{name}` of process {of} is not joined correctly")
            });
        }
    }

    /// Returns true if the channel exists and its end in this direction is at the port. If
    /// `direction` is output, also reports an invalid type or number of the channel.
    #[inline]
    fn channel_end(&mut self, id: ChannelId, port: PortId, direction: Direction) -> bool {
        let Some(channel) = self.network.channels.get(id) else {
            return false;
        };
        if direction == Direction::Input {
            return channel.to == port;
        }
        if channel.ty.is_some_and(|ty| !self.is_name(ty)) {
            self.nameless(channel.span, "the type of a channel");
        }
        self.channel_numbers(id, channel);
        channel.from == port
    }

    /// Reports ports that belong to no process. Reports closed entries, ends of channels, and
    /// bundles that no port names. Channels and bundles are not checked if an error was reported
    /// before, here or by another check of parts.
    pub(super) fn all_joined(&mut self, count: &Count) {
        let n = self.network;
        if n.ports.len() > count.ports {
            self.part(Span::NONE, |_| "some ports belong to no process".to_owned());
        }
        if n.closed.len() > count.closed {
            let what = "an edge to the environment belongs to no port";
            self.part(Span::NONE, |_| what.to_owned());
        }
        if !self.parts.is_empty() {
            return;
        }
        // Ports agree with their joins and name no end twice. If the number of named ends equals
        // the number of ends, all ends are named.
        if count.ends != [n.channels.len(); 2] {
            self.loose_channels();
        }
        if count.bundles != n.bundles.len() {
            for (id, bundle) in n.bundles.iter() {
                let port = n.ports.get(bundle.port);
                if port.is_none_or(|p| p.join != Join::Bundle(id)) {
                    self.part(bundle.span, |_| "a bundle belongs to no port".to_owned());
                }
            }
        }
    }

    fn loose_channels(&mut self) {
        let n = self.network;
        let mut joined: [FxHashSet<ChannelId>; 2] = Default::default();
        for (id, port) in n.ports.iter() {
            let side = usize::from(port.direction == Direction::Input);
            joined[side].extend(n.channels_at(id));
        }
        for (id, channel) in n.channels.iter() {
            for (side, port, done) in [(0, channel.from, "written"), (1, channel.to, "read")] {
                if joined[side].contains(&id) {
                    continue;
                }
                self.part(channel.span, |n| match n.ports.get(port) {
                    None => format!("a channel is {done} by no port"),
                    Some(p) if usize::from(p.direction == Direction::Input) != side => format!(
                        "a channel is joined to port `{}` in the wrong direction",
                        n.port_name(port)
                    ),
                    Some(_) => format!(
                        "a channel names port `{}`, but the port does not name the channel",
                        n.port_name(port)
                    ),
                });
            }
        }
    }
}
