//! Comparison with a previous mapping: processes that stay or move, and the costs of both.

use crate::codes;
use crate::placement::Placement;
use crate::translate::{Numbers, shares};
use graphmap_kpn::arena::{Arena, Id};
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::mapping::{Binding, OsProcessId};
use graphmap_kpn::network::ProcessId;
use std::collections::BTreeMap;

/// The mapping in use.
#[derive(Clone, Debug, PartialEq)]
pub struct Previous {
    /// Previous OS process of each process of the network. `None` for a new process.
    pub os_process: Vec<Option<OsProcessId>>,
    /// Hosts and cores of the previous OS processes.
    pub bindings: Arena<OsProcessId, Binding>,
    /// Cost of moving a process over distance 1, in units of traffic. A rule can replace it.
    pub migration: f64,
}

/// Changes from a previous mapping. Costs are in the units of [`crate::Plan`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Since {
    /// Processes that move, with their previous OS process.
    pub moves: Vec<Move>,
    /// Processes without a previous OS process, because they are new or their OS process no longer
    /// exists.
    pub placed: Vec<ProcessId>,
    /// Cost of the channels between processes that are not in `placed`, if no process moved.
    pub staying: f64,
    /// Cost of the same channels now.
    pub now: f64,
    /// Largest load of an OS process relative to its even share, if no process moved.
    pub staying_balance: f64,
    /// Cost of the moves: distance times the price of a move.
    pub price: f64,
}

/// A process that moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move {
    /// The process.
    pub process: ProcessId,
    /// Previous OS process, by its current number.
    pub from: OsProcessId,
    /// OS process in the new mapping.
    pub to: OsProcessId,
}

impl Previous {
    /// Returns the current block of each previous OS process.
    ///
    /// On named hosts, the n-th previous OS process of a host becomes the n-th current one of that
    /// host, or `None` if there are fewer. If the hosts are not named, or if a previous OS process
    /// has no host, each OS process keeps its number. The block is `None` if that number no longer
    /// exists.
    fn blocks(&self, placement: &Placement<'_>) -> Vec<Option<u32>> {
        if !placement.named || self.bindings.values().any(|b| b.host.is_none()) {
            let same = |o: OsProcessId| placement.block_of.get(o.index()).copied();
            return self.bindings.ids().map(same).collect();
        }
        let mut on: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
        // In reverse order, because `take` removes entries from the end.
        for (slot, &block) in placement.slots.iter().zip(&placement.block_of).rev() {
            let host = placement.platform[slot.host].name.as_str();
            on.entry(host).or_default().push(block);
        }
        let take = |binding: &Binding| on.get_mut(binding.host.as_deref()?)?.pop();
        self.bindings.values().map(take).collect()
    }

    /// Returns the block of the current machine in which each process was. The block is `None` for
    /// a new process, and for a process whose OS process no longer exists.
    ///
    /// # Errors
    /// [`codes::PREVIOUS`] if the number of processes differs from the network, or if an OS process
    /// does not exist in `bindings`. Also if the network has processes, but none of them had an OS
    /// process.
    pub(crate) fn previous_blocks(
        &self,
        numbers: &Numbers<'_>,
    ) -> Result<Vec<Option<u32>>, Diagnostics> {
        let (was, is) = (self.os_process.len(), numbers.network.processes.len());
        let beyond = |o: &&OsProcessId| o.index() >= self.bindings.len();
        let wrong = if was != is {
            format!("it has {was} processes, but the network has {is}")
        } else if let Some(o) = self.os_process.iter().flatten().find(beyond) {
            format!("it names OS process {o}, which does not exist")
        } else if is > 0 && self.os_process.iter().all(Option::is_none) {
            "it contains none of the processes".to_owned()
        } else {
            let blocks = self.blocks(&numbers.placement);
            let previous_block = |o: &Option<OsProcessId>| o.and_then(|o| blocks[o.index()]);
            return Ok(self.os_process.iter().map(previous_block).collect());
        };
        let message = format!("the previous mapping is for another network: {wrong}");
        let diagnostic = Diagnostic::error(codes::PREVIOUS, message);
        let help = "map without it, or use a mapping of this graph";
        Err(diagnostic.help(help).into())
    }
}

impl Since {
    /// Compares the previous block of each process (`was`, `None` if it had none) with its current
    /// one (`is`). `price` is the cost of the moves in units of the engine. Panics if one of them
    /// has no entry for a process with a channel.
    pub(crate) fn of(numbers: &Numbers<'_>, was: &[Option<u32>], is: &[u32], price: u64) -> Since {
        let Numbers {
            network,
            weights,
            placement,
            machine,
        } = numbers;
        let os_process_of = &placement.os_process_of;
        let (mut moves, mut placed) = (Vec::new(), Vec::new());
        let mut loads = vec![0.0; machine.len()];
        for (((process, said), was), &is) in network.processes.iter().zip(was).zip(is) {
            let Some(was) = was.map(|block| os_process_of[block as usize]) else {
                placed.push(process);
                continue;
            };
            loads[was.index()] += said.load;
            let is = os_process_of[is as usize];
            if was != is {
                moves.push(Move {
                    process,
                    from: was,
                    to: is,
                });
            }
        }
        let (mut staying, mut now) = (0.0, 0.0);
        for (id, channel) in network.channels.iter() {
            let (from, to) = (network.writer(id).index(), network.reader(id).index());
            if let (Some(a), Some(b)) = (was[from], was[to]) {
                let distance = |a, b| f64::from(machine.distance(a, b)) / weights.distance;
                staying += channel.traffic * distance(a, b);
                now += channel.traffic * distance(is[from], is[to]);
            }
        }
        let total = network.processes.values().map(|p| p.load).sum();
        let shares = shares(machine, os_process_of, total, &loads).into_iter();
        Since {
            moves,
            placed,
            staying,
            now,
            staying_balance: shares.fold(0.0, f64::max),
            price: weights.cost(price),
        }
    }
}
