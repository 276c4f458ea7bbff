//! Asks a mapper for a mapping, and checks that its answer is one.

use crate::codes;
use crate::request::Request;
use crate::rules::Rules;
use crate::translate::Numbers;
use graphmap_kpn::arena::Id;
use graphmap_kpn::declared::ModuleId;
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::mapper::{Assignment, MapContext, Mapper, Place, Proposal, Rule, Task};
use graphmap_kpn::mapping::OsProcessId;
use graphmap_kpn::nearest::nearest;
use graphmap_kpn::network::{Network, ProcessId};
use graphmap_kpn::source::Span;
use graphmap_partition::{Constraint, Objective, Problem};
use graphmap_platform::{HostId, Platform, Slot};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Largest number of names that a help text lists, and of names that are compared for a hint.
const MOST_LISTED: usize = 8;
const MOST_COMPARED: usize = 10_000;

/// A mapping of a mapper: a number of an OS process that exists for each process.
pub(crate) struct Proposed<'a> {
    /// Name of the mapper.
    pub(crate) name: &'a str,
    /// True if the mapping was known before.
    pub(crate) is_given: bool,
    /// True if rules permuted it.
    pub(crate) is_permuted: bool,
    pub(crate) os_process: Vec<OsProcessId>,
    /// Hosts and cores of the OS processes, if the mapper chose them.
    pub(crate) bindings: Option<Bindings>,
}

/// Hosts and cores that a mapper chose for the OS processes.
pub(crate) struct Bindings {
    /// Slot of each OS process. It is not on all its cores, but on the first.
    pub(crate) slots: Vec<Slot>,
    /// Cores of each OS process. The list is empty if the mapper chose only the host.
    pub(crate) cores: Vec<Vec<u32>>,
}

/// Asks a mapper for a mapping. `problem` is the problem with the rules and the slots of the
/// platform in their usual order. Diagnostics of the mapper are added to `found`.
///
/// # Errors
/// Returns the errors of the mapper, [`codes::NOT_A_MAPPING`] if its answer does not give an
/// existing OS process to each process, and [`codes::BAD_BINDING`] if the hosts or cores in it do
/// not exist.
pub(crate) fn ask<'m>(
    mapper: &'m dyn Mapper,
    numbers: &Numbers<'_>,
    rules: &Rules<'_>,
    problem: &Problem<'_>,
    request: &Request<'_>,
    found: &mut Diagnostics,
) -> Result<Proposed<'m>, Diagnostics> {
    let (network, platform) = (numbers.network, numbers.placement.platform);
    let asked = request.os_processes.and_then(|n| u32::try_from(n).ok());
    let hardware = platform.hardware(asked);
    let task = task(numbers, rules, problem, request);
    let mut context = MapContext::new(network, &hardware, &task, found);
    let proposal = mapper.map(&mut context)?;
    let name = mapper.name();
    let is_given = mapper.is_given();
    let checker = Checker {
        subject: subject(name, is_given),
        network,
        count: task.os_processes,
    };
    let os_process = checker.os_processes(&proposal)?;
    let bindings = match &proposal.bindings[..] {
        [] => None,
        places => Some(checker.bindings(places, platform)?),
    };
    Ok(Proposed {
        name,
        is_given,
        is_permuted: false,
        os_process,
        bindings,
    })
}

/// Returns the subject of messages about the mapper with this name. If `is_given`, it is the name
/// of a mapping, and otherwise the name of a strategy.
fn subject(name: &str, is_given: bool) -> String {
    match is_given {
        true => format!("the mapping `{name}`"),
        false => format!("the strategy `{name}`"),
    }
}

fn task(
    numbers: &Numbers<'_>,
    rules: &Rules<'_>,
    problem: &Problem<'_>,
    request: &Request<'_>,
) -> Task {
    let placement = &numbers.placement;
    let number = |block: u32| placement.os_process_of[block as usize].index() as u32;
    let place = |slot: &Slot| Place {
        host: placement.platform[slot.host].name.clone(),
        cores: slot.cpu.into_iter().collect(),
    };
    let total: f64 = numbers.network.processes.values().map(|p| p.load).sum();
    let unit = total / (problem.graph.total_load() as f64).max(1.0);
    let bounds = problem.load_bounds();
    let limit = |&block: &u32| bounds[block as usize] as f64 * unit;
    let previous = problem.migration.map(|old| {
        let blocks = old.block_of.iter();
        blocks.map(|block| block.map(number)).collect()
    });
    Task {
        os_processes: placement.slots.len(),
        bindings: placement.slots.iter().map(place).collect(),
        objective: match request.objective {
            Objective::Cost => "cost",
            Objective::Bottleneck => "bottleneck",
            Objective::LargestLoad => "largest-load",
            Objective::RemoteChannels => "remote-channels",
        },
        limits: placement.block_of.iter().map(limit).collect(),
        rules: rules_of(numbers, rules, number),
        previous,
        seed: request.options.seed,
        time: request.options.time.map(|time| time.as_secs_f64()),
    }
}

/// Returns the rules and memory limits in terms of ranks and numbers of OS processes, which
/// `number` returns for a block.
fn rules_of(numbers: &Numbers<'_>, rules: &Rules<'_>, number: impl Fn(u32) -> u32) -> Vec<Rule> {
    let listed = |blocks: &[u32]| {
        let mut list: Vec<u32> = blocks.iter().map(|&b| number(b)).collect();
        list.sort_unstable();
        list
    };
    let places = |places: &[Vec<u32>]| places.iter().map(|place| listed(place)).collect();
    let mut all: Vec<Rule> = Vec::new();
    // Consecutive pins that share their blocks are one rule.
    let mut shared: Option<&Arc<[u32]>> = None;
    for constraint in &rules.constraints {
        if let Constraint::Pin { vertex, blocks } = constraint {
            match (all.last_mut(), shared) {
                (Some(Rule::Pin { processes, .. }), Some(last)) if Arc::ptr_eq(last, blocks) => {
                    processes.push(*vertex);
                }
                _ => all.push(Rule::Pin {
                    processes: vec![*vertex],
                    os_processes: listed(blocks),
                }),
            }
            shared = Some(blocks);
            continue;
        }
        all.push(match constraint {
            Constraint::Pin { .. } => unreachable!("handled above"),
            Constraint::Together { vertices } => Rule::Together {
                processes: vertices.clone(),
            },
            Constraint::Apart {
                vertices,
                places: there,
            } => Rule::Apart {
                processes: vertices.clone(),
                places: match &there[..] {
                    [] => places(&numbers.placement.alone()),
                    _ => places(there),
                },
            },
            Constraint::Count {
                vertices,
                places: there,
                least,
                most,
            } => Rule::Hold {
                processes: vertices.clone(),
                places: places(there),
                least: *least,
                most: Some(*most).filter(|&most| most < u32::MAX),
            },
            Constraint::Memory { blocks, most } => Rule::Memory {
                os_processes: listed(blocks),
                bytes: *most,
            },
            Constraint::Prefer { vertices, weight } => Rule::Prefer {
                processes: vertices.clone(),
                traffic: *weight as f64 / numbers.weights.traffic.factor,
            },
        });
    }
    for (block, machine) in (0..).zip(numbers.machine.blocks()) {
        all.extend(machine.memory.map(|bytes| Rule::Memory {
            os_processes: vec![number(block)],
            bytes,
        }));
    }
    all
}

/// Checks the answer of a mapper.
struct Checker<'a> {
    /// Subject of the messages.
    subject: String,
    network: &'a Network,
    /// Number of OS processes.
    count: usize,
}

impl Checker<'_> {
    /// Returns an error of the mapping. `what` follows the subject.
    fn wrong(&self, what: &str) -> Diagnostic {
        let message = format!("{} {what}", self.subject);
        Diagnostic::error(codes::NOT_A_MAPPING, message)
    }

    fn wrong_binding(&self, what: &str) -> Diagnostic {
        let message = format!("{} {what}", self.subject);
        Diagnostic::error(codes::BAD_BINDING, message)
    }

    /// Returns the OS process of each process, in the order of ranks.
    fn os_processes(&self, proposal: &Proposal) -> Result<Vec<OsProcessId>, Diagnostics> {
        let numbers = match &proposal.assignment {
            Assignment::Ranks(numbers) => {
                let (is, wanted) = (numbers.len(), self.network.processes.len());
                if is != wanted {
                    let what = format!(
                        "returns a list of OS processes of length {is} instead of {wanted}"
                    );
                    let help = "return the OS process of each process, in the order of ranks";
                    return Err(self.wrong(&what).help(help).into());
                }
                numbers.clone()
            }
            Assignment::Names { processes, modules } => self.by_names(processes, modules)?,
        };
        for (&number, (_, process)) in numbers.iter().zip(self.network.processes.iter()) {
            let name = self.network.name(process.name);
            self.in_range(&format!("process `{name}`"), process.span, number)?;
        }
        let numbers = numbers.into_iter();
        Ok(numbers
            .map(|n| OsProcessId::from_index(n as usize))
            .collect())
    }

    /// Returns an error if an OS process does not exist. `what` was put there.
    fn in_range(&self, what: &str, span: Span, number: u32) -> Result<(), Diagnostics> {
        if (number as usize) < self.count {
            return Ok(());
        }
        let message = format!("puts {what} into OS process {number}, which does not exist");
        let help = match self.count.checked_sub(1) {
            Some(0) => "use the number 0, or more OS processes (`-n`)".to_owned(),
            Some(last) => format!("use a number from 0 to {last}, or more OS processes (`-n`)"),
            None => "there is no OS process".to_owned(),
        };
        Err(self.wrong(&message).at(span, "").help(help).into())
    }

    /// Returns the number of the OS process of each process, in the order of ranks.
    fn by_names(
        &self,
        processes: &[(String, u32)],
        modules: &[(String, u32)],
    ) -> Result<Vec<u32>, Diagnostics> {
        let network = self.network;
        let known = |id: ProcessId| network.process_name(id);
        let ids = network.processes.ids();
        let own = self.entries("process", processes, ids.map(|id| (known(id), id)))?;
        let known = |id: ModuleId| network.name(network.modules[id].name);
        let ids = network.modules.ids();
        let of_module = self.entries("module", modules, ids.map(|id| (known(id), id)))?;
        for (&id, &number) in &of_module {
            let module = &network.modules[id];
            let name = network.name(module.name);
            self.in_range(&format!("module `{name}`"), module.span, number)?;
        }
        // A module contains later ones only.
        let mut inherited: Vec<Option<u32>> = Vec::with_capacity(network.modules.len());
        for (id, module) in network.modules.iter() {
            let outer = module.parent.and_then(|parent| inherited[parent.index()]);
            inherited.push(of_module.get(&id).copied().or(outer));
        }
        let numbers = network.processes.iter().map(|(id, process)| {
            let of_module = process.module.and_then(|m| inherited[m.index()]);
            own.get(&id).copied().or(of_module)
        });
        let numbers: Vec<Option<u32>> = numbers.collect();
        let missing = numbers.iter().zip(network.processes.values());
        let missing = missing.filter(|(number, _)| number.is_none());
        let missing: Vec<_> = missing.map(|(_, process)| process).collect();
        let Some(first) = missing.first() else {
            return Ok(numbers.into_iter().flatten().collect());
        };
        let what = format!(
            "gives no OS process to process `{}`",
            network.name(first.name)
        );
        let mut error = self.wrong(&what).at(first.span, "");
        match missing.len() - 1 {
            0 => {}
            1 => error = error.with_note("another process has none either"),
            more => error = error.with_note(format!("{more} other processes have none either")),
        }
        let help = "return an OS process for each process, or for a module that contains it";
        Err(error.help(help).into())
    }

    /// Returns the number of each element that has an entry. `known` are the names of all elements,
    /// and `what` is what they are.
    fn entries<'n, I: Copy + Ord>(
        &self,
        what: &str,
        entries: &[(String, u32)],
        known: impl Iterator<Item = (&'n str, I)>,
    ) -> Result<BTreeMap<I, u32>, Diagnostics> {
        let mut found = BTreeMap::new();
        if entries.is_empty() {
            return Ok(found);
        }
        let mut ids: BTreeMap<&str, I> = BTreeMap::new();
        let mut ambiguous = BTreeSet::new();
        for (name, id) in known {
            if ids.insert(name, id).is_some() {
                ambiguous.insert(name);
            }
        }
        for (name, number) in entries {
            let Some(&id) = ids.get(name.as_str()) else {
                let message = format!("maps {what} `{name}`, which the network does not have");
                let names = || ids.keys().copied();
                let help = match nearest(name, names().take(MOST_COMPARED)) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None if ids.is_empty() => format!("the network has no {what}"),
                    None => listed(names()),
                };
                return Err(self.wrong(&message).help(help).into());
            };
            if ambiguous.contains(name.as_str()) {
                let message = format!("maps {what} `{name}`, but several have this name");
                let help = "return the OS processes of the processes inside";
                return Err(self.wrong(&message).help(help).into());
            }
            if found.insert(id, *number).is_some() {
                let message = format!("maps {what} `{name}` twice");
                let help = "return one OS process for it";
                return Err(self.wrong(&message).help(help).into());
            }
        }
        Ok(found)
    }

    /// Returns the slots for the hosts and cores of the OS processes.
    fn bindings(&self, places: &[Place], platform: &Platform) -> Result<Bindings, Diagnostics> {
        let (is, wanted) = (places.len(), self.count);
        if is != wanted {
            let what = format!("returns a list of bindings of length {is} instead of {wanted}");
            let help = "return a host for each OS process, or omit `bindings`";
            return Err(self.wrong_binding(&what).help(help).into());
        }
        let hosts = platform.host_ids();
        let by_name: BTreeMap<&str, HostId> =
            hosts.map(|id| (platform[id].name.as_str(), id)).collect();
        let mut used: BTreeMap<HostId, u32> = BTreeMap::new();
        let mut at = Vec::with_capacity(is);
        for (o, place) in places.iter().enumerate() {
            let name = &place.host;
            let Some(&id) = by_name.get(name.as_str()) else {
                let what = format!("binds OS process {o} to host `{name}`, which does not exist");
                let names = || platform.hosts().iter().map(|h| h.name.as_str());
                let help = match nearest(name, names().take(MOST_COMPARED)) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => listed(names()),
                };
                return Err(self.wrong_binding(&what).help(help).into());
            };
            *used.entry(id).or_default() += 1;
            let host = &platform[id];
            let mut first = None;
            if host.core_count() > 0 {
                for cpu in &place.cores {
                    let mut cores = host.cores();
                    let Some(core) = cores.position(|(_, _, core)| core.cpus.contains(cpu)) else {
                        let what = format!(
                            "binds OS process {o} to core {cpu} of host `{name}`, which does not exist"
                        );
                        let cpus = host.cores().flat_map(|(_, _, core)| &core.cpus);
                        let cpus: Vec<String> = cpus.map(u32::to_string).collect();
                        let help = listed(cpus.iter().map(String::as_str));
                        return Err(self.wrong_binding(&what).help(help).into());
                    };
                    first = first.or(Some(core as u32));
                }
            }
            at.push((id, first));
        }
        for (&id, &used) in &used {
            let host = &platform[id];
            // If there are more OS processes than slots, hosts take more than their slots.
            if used > host.slots && self.count <= platform.slot_count() {
                let what = format!(
                    "binds {used} OS processes to host `{}`, which has {} slot{}",
                    host.name,
                    host.slots,
                    if host.slots == 1 { "" } else { "s" }
                );
                let help = "use other hosts, or give the host more slots";
                return Err(self.wrong_binding(&what).help(help).into());
            }
        }
        Ok(Bindings {
            slots: platform.slots_at(&at),
            cores: places.iter().map(|place| place.cores.clone()).collect(),
        })
    }
}

/// Returns a help text that lists the first of some names.
fn listed<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let mut names: Vec<&str> = names.take(MOST_LISTED + 1).collect();
    if names.len() > MOST_LISTED {
        names[MOST_LISTED] = "...";
    }
    format!("use one of: {}", names.join(", "))
}
