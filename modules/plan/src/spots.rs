//! Where OS processes are, for those who name them.

use crate::codes;
use crate::language::{Rule, Said, Where};
use crate::pattern::Pattern;
use graphmap_kpn::arena::Id;
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::mapping::OsProcessId;
use graphmap_kpn::nearest::nearest;
use graphmap_kpn::source::Span;
use graphmap_platform::{self as platform, HostId, Platform};

/// Where OS processes are, for those who name them.
pub(crate) struct Spots<'a> {
    pub(crate) platform: &'a Platform,
    /// By OS process.
    pub(crate) slots: &'a [platform::Slot],
    /// Whether the hosts have names that mean something.
    pub(crate) named: bool,
    /// How many processes there are: as many OS processes there are at the most.
    pub(crate) processes: usize,
}

/// What memory is limited.
pub(crate) struct Memory {
    /// That of OS processes.
    pub(crate) own: Vec<Option<u64>>,
    /// That of hosts: their OS processes, bytes, and where it is said.
    pub(crate) hosts: Vec<(Vec<OsProcessId>, u64, Span)>,
}

impl Spots<'_> {
    /// What memory is limited: by the platform, or by a rule, of which the last counts.
    pub(crate) fn memory(&self, rules: &[Rule], found: &mut Diagnostics) -> Memory {
        let hosts = self.platform.hosts();
        let mut of_host: Vec<Option<(u64, Span)>> = hosts
            .iter()
            .map(|h| h.memory.map(|bytes| (bytes, Span::NONE)))
            .collect();
        let mut own = vec![None; self.slots.len()];
        for rule in rules {
            let Said::Memory(places, bytes) = &rule.said else {
                continue;
            };
            for place in places {
                let there = self.of(std::slice::from_ref(place), found);
                for o in there.unwrap_or_default() {
                    match place {
                        Where::Host(_) => {
                            let host = self.slots[o.index()].host;
                            of_host[host.index()] = Some((*bytes, rule.span));
                        }
                        Where::OsProcess(..) => own[o.index()] = Some(*bytes),
                    }
                }
            }
        }
        let on = self.by_host(|_| true).into_iter();
        let hosts = on.filter_map(|there| {
            let host = self.slots[there.first()?.index()].host;
            of_host[host.index()].map(|(bytes, span)| (there, bytes, span))
        });
        Memory {
            own,
            hosts: hosts.collect(),
        }
    }

    /// The OS processes on each host that is wanted, where there are any.
    fn by_host(&self, wanted: impl Fn(HostId) -> bool) -> Vec<Vec<OsProcessId>> {
        let mut there = vec![Vec::new(); self.platform.hosts().len()];
        for (o, slot) in self.slots.iter().enumerate() {
            if wanted(slot.host) {
                there[slot.host.index()].push(OsProcessId::from_index(o));
            }
        }
        there.retain(|list| !list.is_empty());
        there
    }

    /// Each place that is named, a host or an OS process, as the OS processes in it: a list
    /// without overlaps of all hosts, and one of all OS processes. Empty without names; `None`:
    /// one is of nothing, and `found` says why.
    pub(crate) fn each(
        &self,
        places: &[Where],
        found: &mut Diagnostics,
    ) -> Option<Vec<Vec<Vec<OsProcessId>>>> {
        let (hosts, own): (Vec<Where>, Vec<Where>) = places
            .iter()
            .cloned()
            .partition(|place| matches!(place, Where::Host(_)));
        let mut lists = Vec::new();
        if !hosts.is_empty() {
            let mut wanted = vec![false; self.platform.hosts().len()];
            for o in self.of(&hosts, found)? {
                wanted[self.slots[o.index()].host.index()] = true;
            }
            lists.push(self.by_host(|host| wanted[host.index()]));
        }
        if !own.is_empty() {
            let alone = self.of(&own, found)?.into_iter().map(|o| vec![o]);
            lists.push(alone.collect());
        }
        Some(lists)
    }

    /// The OS processes at some places, ascending. `None`: there are none, and `found` says why.
    pub(crate) fn of(&self, places: &[Where], found: &mut Diagnostics) -> Option<Vec<OsProcessId>> {
        let mut here = vec![false; self.slots.len()];
        for place in places {
            match place {
                Where::Host(name) => {
                    let shown = format!("host `{}`", name.text);
                    for o in self.on(name, &shown, found)? {
                        here[o.index()] = true;
                    }
                }
                Where::OsProcess(first, last, span) => {
                    if *last as usize >= here.len() {
                        found.push(self.no_os_process(*last, *span));
                        return None;
                    }
                    here[*first as usize..=*last as usize].fill(true);
                }
            }
        }
        let all = (0..here.len()).map(OsProcessId::from_index);
        Some(all.filter(|o| here[o.index()]).collect())
    }

    /// The OS processes on the hosts of a name.
    pub(crate) fn on(
        &self,
        name: &Pattern,
        shown: &str,
        found: &mut Diagnostics,
    ) -> Option<Vec<OsProcessId>> {
        let (text, span) = (&name.text, name.span);
        if !self.named {
            let message = format!("{shown} has no effect: there are no hosts to choose from");
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
            let finding = Diagnostic::error(codes::UNKNOWN_HOST, message).at(span, "");
            let mut list: Vec<&str> = names().take(8).collect();
            list.extend((hosts.len() > 8).then_some("..."));
            found.push(match nearest(text, names()) {
                Some(near) => finding.help(format!("did you mean `{near}`?")),
                None => finding.help(format!("the hosts are: {}", list.join(", "))),
            });
            return None;
        }
        let here = |o: &OsProcessId| fits[self.slots[o.index()].host.index()];
        let all = (0..self.slots.len()).map(OsProcessId::from_index);
        let there: Vec<OsProcessId> = all.filter(here).collect();
        if there.is_empty() {
            let count = self.slots.len();
            let message = format!("host `{text}` has none of the {count} OS processes");
            let mut all = self.platform.slots_for(self.processes).into_iter();
            let first = all.position(|slot| fits[slot.host.index()]);
            let help = match first {
                Some(first) => format!("say `-n {}` or more, or list this host sooner", first + 1),
                // There are no more OS processes than processes.
                None => "list this host sooner".to_owned(),
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

    /// That there is no OS process of this number.
    pub(crate) fn no_os_process(&self, o: u32, span: Span) -> Diagnostic {
        let (count, processes) = (self.slots.len(), self.processes);
        let numbers = match count {
            0 => String::new(),
            1 => "there is one alone, 0".to_owned(),
            _ => format!("they are numbered from 0 to {}", count - 1),
        };
        let finding =
            Diagnostic::error(codes::NO_OS_PROCESS, format!("there is no OS process {o}"))
                .at(span, numbers);
        let wanted = u64::from(o) + 1;
        match (wanted <= processes as u64, processes) {
            (true, _) => finding.help(format!(
                "say `-n {wanted}` or more, or the number of another one"
            )),
            (false, 0) => finding,
            // One without a process is never made, whatever `-n` says.
            (false, _) => finding.help(format!(
                "say the number of another one: there are no more OS processes than processes, \
                 and the last can have the number {}",
                processes - 1
            )),
        }
    }
}
