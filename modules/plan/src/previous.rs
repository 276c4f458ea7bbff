//! From yesterday's mapping to today's: what stays, what moves, and what that is worth.

use crate::codes;
use crate::language::{Price, Rule, Said};
use crate::translate::{Beside, Targets, Weights, shares};
use graphmap_kpn::arena::{Arena, Id};
use graphmap_kpn::diagnostic::Diagnostic;
use graphmap_kpn::mapping::{Binding, OsProcessId};
use graphmap_kpn::network::{ProcessId, Verified};
use graphmap_platform::Platform;
use std::collections::BTreeMap;

/// The mapping in use.
#[derive(Clone, Debug, PartialEq)]
pub struct Previous {
    /// The OS process each process of today's network was in; `None` for a new one.
    pub os_process: Vec<Option<OsProcessId>>,
    /// Where those OS processes were.
    pub bindings: Arena<OsProcessId, Binding>,
    /// What it costs to move a process over distance 1, in units of traffic, where no rule says it.
    pub migration: f64,
}

/// What became of a previous mapping. Costs are in the units of [`crate::Plan`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Since {
    /// Processes that are elsewhere now, and where they were.
    pub moves: Vec<Move>,
    /// Processes that have no place to stay in: they are new, or their host is gone.
    pub placed: Vec<ProcessId>,
    /// What the channels between the others would cost if nothing moved.
    pub staying: f64,
    /// What they cost now.
    pub now: f64,
    /// Largest load of an OS process relative to its share, if nothing moved.
    pub staying_balance: f64,
    /// What the moves cost: distance times the price of a move.
    pub price: f64,
}

/// A process that moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move {
    /// Which.
    pub process: ProcessId,
    /// OS process that it was in, by today's number.
    pub from: OsProcessId,
    /// OS process that it is in.
    pub to: OsProcessId,
}

impl Previous {
    /// Today's OS process for each of yesterday's: on hosts with names the one that is as many as
    /// it was on the same host, else the one of the same number.
    fn numbers(
        &self,
        targets: &Targets,
        platform: &Platform,
        named: bool,
    ) -> Vec<Option<OsProcessId>> {
        let today = &targets.slots;
        let known = named && self.bindings.values().all(|binding| binding.host.is_some());
        if !known {
            let all = self.bindings.ids();
            return all
                .map(|o| Some(o).filter(|o| o.index() < today.len()))
                .collect();
        }
        let mut on: BTreeMap<&str, Vec<OsProcessId>> = BTreeMap::new();
        // Last first, to be taken from the end.
        for (o, slot) in today.iter().enumerate().rev() {
            let host = platform[slot.host].name.as_str();
            on.entry(host).or_default().push(OsProcessId::from_index(o));
        }
        let take = |binding: &Binding| on.get_mut(binding.host.as_deref()?)?.pop();
        self.bindings.values().map(take).collect()
    }

    /// What the moves may cost: more than all of them over distance 1, and the prices.
    pub(crate) fn beside(&self, network: &Verified, rules: &[Rule], beside: &mut Beside) {
        let many = network.processes.len() as f64;
        let memory = || network.processes.values().map(|p| p.mem);
        beside.total += self.migration * many;
        beside.values.push(self.migration);
        for rule in rules {
            match rule.said {
                Said::Move(_, Price::Traffic(price)) => {
                    beside.total += price * many;
                    beside.values.push(price);
                }
                Said::Move(_, Price::Mem) => {
                    beside.total += memory().sum::<f64>();
                    beside.values.extend(memory());
                }
                _ => {}
            }
        }
    }

    /// Where each process was, as a block of today's machine, and what it costs to move it.
    pub(crate) fn homes(
        &self,
        network: &Verified,
        targets: &Targets,
        platform: &Platform,
        named: bool,
        weights: &Weights,
        prices: &[Option<f64>],
    ) -> Result<Homes, Box<Diagnostic>> {
        let (was, is) = (self.os_process.len(), network.processes.len());
        let beyond = |o: &&OsProcessId| o.index() >= self.bindings.len();
        let wrong = if was != is {
            Some(format!("it is for {was} processes, the network has {is}"))
        } else if let Some(o) = self.os_process.iter().flatten().find(beyond) {
            Some(format!("it names OS process {o}, which is not there"))
        } else if is > 0 && self.os_process.iter().all(Option::is_none) {
            Some("it knows none of the processes".to_owned())
        } else {
            None
        };
        if let Some(wrong) = wrong {
            let message = format!("the previous mapping is for another network: {wrong}");
            return Err(Box::new(Diagnostic::error(codes::PREVIOUS, message).help(
                "map without it, or take the mapping that was made for this graph",
            )));
        }
        let numbers = self.numbers(targets, platform, named);
        let mut block_of_os = vec![0; targets.os_process_of.len()];
        for (block, &o) in targets.os_process_of.iter().enumerate() {
            block_of_os[o.index()] = block as u32;
        }
        let home = |o: &Option<OsProcessId>| {
            let today = o.and_then(|o| numbers[o.index()]);
            today.map(|o| block_of_os[o.index()])
        };
        let cost = |price: &Option<f64>| {
            let price = price.unwrap_or(self.migration);
            (price * weights.traffic).round().max(0.0) as u64
        };
        Ok(Homes {
            block_of: self.os_process.iter().map(home).collect(),
            cost: prices.iter().map(cost).collect(),
        })
    }
}

/// A previous mapping in the engine's terms.
pub(crate) struct Homes {
    block_of: Vec<Option<u32>>,
    cost: Vec<u64>,
}

impl Homes {
    pub(crate) fn migration(&self) -> graphmap_partition::Migration<'_> {
        graphmap_partition::Migration {
            block_of: &self.block_of,
            cost: &self.cost,
        }
    }

    /// Compares the old mapping with a new one; `price` is what the moves cost.
    pub(crate) fn since(
        &self,
        block_of: &[u32],
        network: &Verified,
        targets: &Targets,
        weights: &Weights,
        price: u64,
    ) -> Since {
        let (mut moves, mut placed) = (Vec::new(), Vec::new());
        let machine = &targets.machine;
        let mut loads = vec![0.0; machine.len()];
        for (id, process) in network.processes.iter() {
            let is = block_of[id.index()];
            let Some(was) = self.block_of[id.index()] else {
                placed.push(id);
                continue;
            };
            loads[was as usize] += process.load;
            if was != is {
                moves.push(Move {
                    process: id,
                    from: targets.os_process_of[was as usize],
                    to: targets.os_process_of[is as usize],
                });
            }
        }
        let (mut staying, mut now) = (0.0, 0.0);
        for (id, channel) in network.channels.iter() {
            let ends = (network.writer(id).index(), network.reader(id).index());
            let (Some(a), Some(b)) = (self.block_of[ends.0], self.block_of[ends.1]) else {
                continue;
            };
            let far = |a, b| f64::from(machine.distance(a, b)) / weights.distance;
            staying += channel.traffic * far(a, b);
            now += channel.traffic * far(block_of[ends.0], block_of[ends.1]);
        }
        let each: Vec<_> = (0..machine.len()).map(OsProcessId::from_index).collect();
        let total = network.processes.values().map(|p| p.load).sum();
        let shares = shares(machine, &each, total, &loads).into_iter();
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
