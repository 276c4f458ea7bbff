//! OS processes on their hosts, as rules name them, and the corresponding blocks of the engine.

use crate::codes;
use crate::language::{OsProcessSet, Rule, RuleKind};
use crate::pattern::Pattern;
use graphmap_kpn::arena::Id;
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::mapping::{Binding, OsProcessId};
use graphmap_kpn::nearest::nearest;
use graphmap_kpn::source::Span;
use graphmap_partition::Constraint;
use graphmap_platform::{Platform, Slot};
use std::collections::BTreeMap;

/// OS processes on their hosts.
pub(crate) struct Placement<'a> {
    pub(crate) platform: &'a Platform,
    /// True if launchers know the names of the hosts.
    pub(crate) named: bool,
    /// Number of processes, which is the maximum number of OS processes.
    processes: usize,
    /// The slot of each OS process.
    pub(crate) slots: Vec<Slot>,
    /// OS process of each block. Blocks are numbered along the tree of hosts, and OS processes in
    /// the order of the hostfile.
    pub(crate) os_process_of: Vec<OsProcessId>,
    /// Block of each OS process.
    pub(crate) block_of: Vec<u32>,
}

impl<'a> Placement<'a> {
    /// Numbers the blocks of OS processes. `slots` are the slots of the OS processes on the
    /// platform. `named` is true if launchers know the names of the hosts. `processes` is the
    /// number of processes of the network.
    pub(crate) fn of(
        platform: &'a Platform,
        slots: Vec<Slot>,
        named: bool,
        processes: usize,
    ) -> Self {
        let n = slots.len();
        let mut os_process_of: Vec<OsProcessId> = (0..n).map(OsProcessId::from_index).collect();
        os_process_of.sort_by_key(|o| {
            let [cache, socket, host, group] = slots[o.index()].path;
            [group, host, socket, cache]
        });
        let mut block_of = vec![0; n];
        for (block, o) in os_process_of.iter().enumerate() {
            block_of[o.index()] = block as u32;
        }
        Placement {
            platform,
            named,
            processes,
            slots,
            os_process_of,
            block_of,
        }
    }

    /// Returns the numbers of all blocks, ascending from 0.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = u32> + use<> {
        0..self.slots.len() as u32
    }

    /// Returns the slot of a block's OS process. Panics if there is no such block.
    pub(crate) fn slot(&self, block: u32) -> &Slot {
        &self.slots[self.os_process_of[block as usize].index()]
    }

    /// Returns the speed of each OS process. OS processes on one slot share its speed.
    pub(crate) fn speeds(&self) -> Vec<f64> {
        let slot = |slot: &Slot| (slot.host, slot.slot);
        let mut uses: BTreeMap<_, f64> = BTreeMap::new();
        for used in &self.slots {
            *uses.entry(slot(used)).or_default() += 1.0;
        }
        let speed = |used: &Slot| used.speed / uses[&slot(used)];
        self.slots.iter().map(speed).collect()
    }

    pub(crate) fn name(&self, block: u32) -> String {
        format!("OS process {}", self.os_process_of[block as usize])
    }

    /// Returns the host and the cores of each OS process, in the order of OS processes. The host is
    /// `None` if launchers do not know its name. There is one core, or none if the cores are
    /// unknown.
    pub(crate) fn bindings<T: FromIterator<Binding>>(&self) -> T {
        let binding = |slot: &Slot| Binding {
            host: self.named.then(|| self.platform[slot.host].name.clone()),
            cores: slot.cpu.into_iter().collect(),
        };
        self.slots.iter().map(binding).collect()
    }

    /// Returns the names of the used hosts, each once, in the order of their first OS processes.
    /// The names are returned even if launchers do not know them.
    pub(crate) fn hosts(&self) -> Vec<String> {
        let mut seen = vec![false; self.platform.hosts().len()];
        let hosts = self.slots.iter().map(|slot| slot.host);
        let first = hosts.filter(|h| !std::mem::replace(&mut seen[h.index()], true));
        first.map(|h| self.platform[h].name.clone()).collect()
    }

    /// Returns memory limits in bytes: one for each single block, and constraints for hosts with
    /// the positions of their rules.
    ///
    /// Only a rule limits a single block. The limit of a block without such a rule is `None`. A
    /// rule or the platform limits a host. If several rules limit the same block or host, the last
    /// one applies. It replaces the platform's limit of a host, which has the position
    /// [`Span::NONE`]. Hosts without a block have no constraint. For a place that does not exist,
    /// adds a diagnostic to `found`, and ignores the place.
    pub(crate) fn memory(
        &self,
        rules: &[Rule],
        found: &mut Diagnostics,
    ) -> (Vec<Option<u64>>, Vec<(Constraint, Span)>) {
        let hosts = self.platform.hosts().iter();
        let mut of_host: Vec<Option<(u64, Span)>> = hosts
            .map(|h| h.memory.map(|bytes| (bytes, Span::NONE)))
            .collect();
        let mut own = vec![None; self.slots.len()];
        for rule in rules {
            let RuleKind::Memory(places, bytes) = &rule.kind else {
                continue;
            };
            for place in places {
                for block in self.at([place], found).unwrap_or_default() {
                    match place {
                        OsProcessSet::Host(_) => {
                            let host = self.slot(block).host;
                            of_host[host.index()] = Some((*bytes, rule.span));
                        }
                        OsProcessSet::OsProcess(..) => own[block as usize] = Some(*bytes),
                    }
                }
            }
        }
        let on = self.by_host(self.blocks()).into_iter();
        let hosts = on.filter_map(|blocks| {
            let (most, span) = of_host[self.slot(blocks[0]).host.index()]?;
            Some((Constraint::Memory { blocks, most }, span))
        });
        (own, hosts.collect())
    }

    /// Groups blocks by host, in the order of the hosts. Omits hosts without one of the blocks. The
    /// blocks of each host keep their order.
    fn by_host(&self, blocks: impl IntoIterator<Item = u32>) -> Vec<Vec<u32>> {
        let mut there = vec![Vec::new(); self.platform.hosts().len()];
        for block in blocks {
            there[self.slot(block).host.index()].push(block);
        }
        there.retain(|list| !list.is_empty());
        there
    }

    /// Returns each OS process as a place: a list that contains only its block. Blocks ascend.
    pub(crate) fn alone(&self) -> Vec<Vec<u32>> {
        self.blocks().map(|block| vec![block]).collect()
    }

    /// Returns lists of places. A place is a host or an OS process, as the list of its blocks.
    ///
    /// The hosts among `places` form one list without overlaps, and the OS processes form another,
    /// sorted by their numbers. If `places` is empty, the only list is `all`. Returns `None`, with
    /// a diagnostic in `found`, if a place does not exist or a host has no block. If hosts are
    /// named although launchers do not know their names, that diagnostic is only a warning.
    pub(crate) fn each(
        &self,
        places: &[OsProcessSet],
        all: Vec<Vec<u32>>,
        found: &mut Diagnostics,
    ) -> Option<Vec<Vec<Vec<u32>>>> {
        let (hosts, own): (Vec<&OsProcessSet>, Vec<&OsProcessSet>) = places
            .iter()
            .partition(|place| matches!(place, OsProcessSet::Host(_)));
        let mut lists = Vec::new();
        if !hosts.is_empty() {
            lists.push(self.by_host(self.at(hosts, found)?));
        }
        if !own.is_empty() {
            let mut blocks = self.at(own, found)?;
            blocks.sort_by_key(|&b| self.os_process_of[b as usize]);
            lists.push(blocks.into_iter().map(|block| vec![block]).collect());
        }
        if places.is_empty() {
            lists.push(all);
        }
        Some(lists)
    }

    /// Returns the blocks at any of some places, ascending without duplicates.
    ///
    /// Returns `None` at the first place that does not exist or has no block, with a diagnostic in
    /// `found`. It is a warning for a host if launchers do not know the names of the hosts, and
    /// otherwise an error.
    pub(crate) fn at<'w>(
        &self,
        places: impl IntoIterator<Item = &'w OsProcessSet>,
        found: &mut Diagnostics,
    ) -> Option<Vec<u32>> {
        let mut here = vec![false; self.slots.len()];
        for place in places {
            let there = match place {
                OsProcessSet::Host(name) => {
                    self.on(name, &format!("host `{}`", name.text), found)?
                }
                OsProcessSet::OsProcess(first, last, span) => {
                    let Some(there) = self.block_of.get(*first as usize..=*last as usize) else {
                        found.push(self.no_os_process(*last, *span));
                        return None;
                    };
                    there.to_vec()
                }
            };
            there.iter().for_each(|&block| here[block as usize] = true);
        }
        Some(self.blocks().filter(|&b| here[b as usize]).collect())
    }

    /// Returns the blocks on the hosts that a name matches, ascending. `shown` is the name in
    /// messages.
    ///
    /// Returns `None`, with a diagnostic in `found`, if there are no such blocks. The diagnostic is
    /// a warning if launchers do not know the names of the hosts, and otherwise an error
    /// ([`codes::UNKNOWN_HOST`]).
    pub(crate) fn on(
        &self,
        name: &Pattern,
        shown: &str,
        found: &mut Diagnostics,
    ) -> Option<Vec<u32>> {
        let (text, span) = (&name.text, name.span);
        if !self.named {
            let message = format!("{shown} has no effect because no hosts are given");
            found.push(
                Diagnostic::warning(codes::HOST_IGNORED, message)
                    .at(span, "")
                    .help("name the hosts with `--hosts`"),
            );
            return None;
        }
        let hosts = self.platform.hosts();
        let fits: Vec<bool> = hosts.iter().map(|h| name.matches(&h.name)).collect();
        if !fits.contains(&true) {
            let names = || hosts.iter().map(|h| h.name.as_str());
            let message = format!("there is no host `{text}`");
            let diagnostic = Diagnostic::error(codes::UNKNOWN_HOST, message).at(span, "");
            let mut list: Vec<&str> = names().take(8).collect();
            list.extend((hosts.len() > 8).then_some("..."));
            found.push(match nearest(text, names()) {
                Some(near) => diagnostic.help(format!("did you mean `{near}`?")),
                None => diagnostic.help(format!("use one of the hosts: {}", list.join(", "))),
            });
            return None;
        }
        let here = |&block: &u32| fits[self.slot(block).host.index()];
        let there: Vec<u32> = self.blocks().filter(here).collect();
        if there.is_empty() {
            let count = self.slots.len();
            let message = format!("host `{text}` runs none of the {count} OS processes");
            let mut all = self.platform.slots_for(self.processes).into_iter();
            let first = all.position(|slot| fits[slot.host.index()]);
            let help = match first {
                Some(first) => format!("use `-n {}` or more, or list this host earlier", first + 1),
                // There are never more OS processes than processes.
                None => "list this host earlier".to_owned(),
            };
            found.push(
                Diagnostic::error(codes::UNKNOWN_HOST, message)
                    .at(span, "")
                    .with_note("OS processes take the slots in the order of the hostfile")
                    .help(help),
            );
            return None;
        }
        Some(there)
    }

    /// Returns the error that OS process `o` does not exist ([`codes::NO_OS_PROCESS`]).
    pub(crate) fn no_os_process(&self, o: u32, span: Span) -> Diagnostic {
        let (count, processes) = (self.slots.len(), self.processes);
        let numbers = match count {
            0 => String::new(),
            1 => "the only OS process is 0".to_owned(),
            _ => format!("the OS processes are numbered from 0 to {}", count - 1),
        };
        let diagnostic =
            Diagnostic::error(codes::NO_OS_PROCESS, format!("there is no OS process {o}"))
                .at(span, numbers);
        let wanted = u64::from(o) + 1;
        match (wanted <= processes as u64, processes) {
            (true, _) => diagnostic.help(format!("use `-n {wanted}` or more, or another number")),
            (false, 0) => diagnostic,
            // An OS process without a process is never created, even with a larger `-n`.
            (false, _) => diagnostic.help(format!(
                "use a number up to {}; there are never more OS processes than processes",
                processes - 1
            )),
        }
    }
}
