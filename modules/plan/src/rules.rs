//! What a mapping must obey, from the graph, the request and its rules, as constraints of the
//! engine, each with the place where it is written.

use crate::language::{self, Of, Price, Rule, Said, Term};
use crate::names::{is_called, nobody};
use crate::pattern::Pattern;
use crate::request::{Modules, Request};
use crate::spots::Spots;
use crate::translate::{Beside, Targets, Weights};
use graphmap_kpn::arena::Id;
use graphmap_kpn::declared::{Constraint as Declared, ModuleId};
use graphmap_kpn::diagnostic::Diagnostics;
use graphmap_kpn::mapping::OsProcessId;
use graphmap_kpn::network::{KindId, ProcessId, Verified};
use graphmap_kpn::source::Span;
use graphmap_partition::Constraint;
use graphmap_platform::Platform;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The constraints of graph, request and rules, each with the place where it is written.
pub(crate) struct Rules<'a> {
    pub(crate) constraints: Vec<Constraint>,
    pub(crate) spans: Vec<Span>,
    /// What it costs to move each process, where a rule says so.
    pub(crate) prices: Vec<Option<f64>>,
    network: &'a Verified,
    targets: &'a Targets,
    weights: &'a Weights,
}

/// What draws processes together, in units of traffic: more than all of it.
pub(crate) fn beside(network: &Verified, request: &Request<'_>) -> Beside {
    let mut beside = Beside::default();
    let all = network.processes.len();
    let mut add = |traffic: f64, processes: usize| {
        beside.total += traffic * processes as f64;
        beside.values.push(traffic);
    };
    if let Modules::Prefer(traffic) = request.modules {
        add(traffic, all);
    }
    for constraint in &network.constraints {
        if let Declared::Prefer(traffic) = constraint.declared.constraint {
            add(traffic, constraint.processes.len());
        }
    }
    for rule in request.rules {
        if let Said::Prefer(_, traffic) = rule.said {
            // A process is in as many modules as lie within each other.
            add(traffic, all * (1 + deepest(network)));
        }
    }
    beside
}

/// How many modules lie within each other at the most.
fn deepest(network: &Verified) -> usize {
    let mut depth: Vec<usize> = Vec::with_capacity(network.modules.len());
    for module in network.modules.values() {
        depth.push(module.parent.map_or(0, |p| depth[p.index()] + 1));
    }
    depth.into_iter().max().unwrap_or(0)
}

impl<'a> Rules<'a> {
    pub(crate) fn of(
        network: &'a Verified,
        platform: &Platform,
        request: &Request<'_>,
        targets: &'a Targets,
        weights: &'a Weights,
        found: &mut Diagnostics,
    ) -> Rules<'a> {
        let mut rules = Rules {
            constraints: Vec::new(),
            spans: Vec::new(),
            prices: vec![None; network.processes.len()],
            network,
            targets,
            weights,
        };
        let spots = Spots {
            platform,
            slots: &targets.slots,
            named: request.named_hosts,
            processes: network.processes.len(),
        };
        rules.of_graph(&spots, found);
        rules.of_modules(request.modules);
        for rule in request.rules {
            rules.add(rule, &spots, found);
        }
        for (host, bytes, span) in spots.memory(request.rules, &mut Diagnostics::new()).hosts {
            let blocks = rules.targets.blocks(&host);
            rules.push(
                Constraint::Memory {
                    blocks,
                    most: bytes,
                },
                span,
            );
        }
        rules
    }

    fn push(&mut self, constraint: Constraint, span: Span) {
        self.constraints.push(constraint);
        self.spans.push(span);
    }

    fn pin(
        &mut self,
        vertices: impl IntoIterator<Item = u32>,
        os_processes: &[OsProcessId],
        span: Span,
    ) {
        let blocks: Arc<[u32]> = self.targets.blocks(os_processes).into();
        for vertex in vertices {
            let blocks = Arc::clone(&blocks);
            self.push(Constraint::Pin { vertex, blocks }, span);
        }
    }

    fn of_graph(&mut self, spots: &Spots<'_>, found: &mut Diagnostics) {
        let mut groups: Vec<(&Declared, Vec<u32>, Span)> = Vec::new();
        let mut held: BTreeSet<(usize, u32, u32)> = BTreeSet::new();
        let mut index: BTreeMap<(bool, &str), usize> = BTreeMap::new();
        for constraint in &self.network.constraints {
            let said = &constraint.declared;
            let vertices = constraint.processes.iter().map(|p| p.index() as u32);
            match &said.constraint {
                Declared::Host(name) => {
                    let pattern = Pattern {
                        text: name.clone(),
                        literal: true,
                        span: said.span,
                    };
                    if let Some(there) = spots.on(&pattern, &format!("`host={name}`"), found) {
                        self.pin(vertices, &there, said.span);
                    }
                }
                Declared::OsProcess(o) if (*o as usize) < spots.slots.len() => {
                    self.pin(vertices, &[OsProcessId::from_index(*o as usize)], said.span);
                }
                Declared::OsProcess(o) => {
                    found.push(spots.no_os_process(*o, said.span));
                }
                Declared::Whole => self.together(vertices.collect(), said.span),
                Declared::Prefer(traffic) => {
                    self.prefer(vertices.collect(), *traffic, said.span);
                }
                // All that say the same of one kind say one thing.
                Declared::Hold { least, most } => {
                    for process in &constraint.processes {
                        let kind = self.network.processes[*process].kind;
                        if held.insert((kind.index(), *least, *most)) {
                            self.hold_kind(kind, *least, *most, said.span);
                        }
                    }
                }
                group @ (Declared::Colocate(name) | Declared::Separate(name)) => {
                    let apart = matches!(group, Declared::Separate(_));
                    let place = *index.entry((apart, name)).or_insert(groups.len());
                    if place == groups.len() {
                        groups.push((group, Vec::new(), said.span));
                    }
                    groups[place].1.extend(vertices);
                }
            }
        }
        for (said, mut vertices, span) in groups {
            vertices.sort_unstable();
            vertices.dedup();
            if vertices.len() > 1 {
                let Declared::Separate(name) = said else {
                    self.push(Constraint::Together { vertices }, span);
                    continue;
                };
                // `replicas@node*` is the group `replicas`, apart by those hosts.
                let places = name
                    .split_once('@')
                    .map(|(_, at)| language::places(at, span));
                match places.transpose() {
                    Ok(places) => {
                        if let Some(there) = spots.each(&places.unwrap_or_default(), found) {
                            self.apart(vertices, &there, span);
                        }
                    }
                    Err(wrong) => found.push(*wrong),
                }
            }
        }
    }

    /// Each OS process holds so many processes of a kind.
    fn hold_kind(&mut self, kind: KindId, least: u32, most: u32, span: Span) {
        let members = self.network.kinds[kind].members.iter();
        let vertices = members.map(|p| p.index() as u32).collect();
        self.hold(vertices, (least, most), &[], span);
    }

    /// What the request makes of all innermost modules.
    fn of_modules(&mut self, modules: Modules) {
        if modules == Modules::Ignore {
            return;
        }
        let mut inside: Vec<Vec<u32>> = vec![Vec::new(); self.network.modules.len()];
        for (id, process) in self.network.processes.iter() {
            if let Some(module) = process.module {
                inside[module.index()].push(id.index() as u32);
            }
        }
        for (vertices, module) in inside.into_iter().zip(self.network.modules.values()) {
            match modules {
                Modules::Prefer(traffic) => self.prefer(vertices, traffic, module.span),
                Modules::Atom | Modules::Ignore => self.together(vertices, module.span),
            }
        }
    }

    fn together(&mut self, vertices: Vec<u32>, span: Span) {
        if vertices.len() > 1 {
            self.push(Constraint::Together { vertices }, span);
        }
    }

    /// No two in one of these places; by default in one OS process.
    fn apart(&mut self, vertices: Vec<u32>, there: &[Vec<Vec<OsProcessId>>], span: Span) {
        let apart = |places| Constraint::Apart {
            vertices: vertices.clone(),
            places,
        };
        self.in_places(there, Vec::new(), apart, span);
    }

    /// So many in each of these places; by default in each OS process.
    fn hold(
        &mut self,
        vertices: Vec<u32>,
        (least, most): (u32, u32),
        there: &[Vec<Vec<OsProcessId>>],
        span: Span,
    ) {
        let count = |places| Constraint::Count {
            vertices: vertices.clone(),
            places,
            least,
            most,
        };
        let all = 0..self.targets.os_process_of.len() as u32;
        self.in_places(there, all.map(|b| vec![b]).collect(), count, span);
    }

    /// A constraint for each list of places, or for some where none is said.
    fn in_places(
        &mut self,
        there: &[Vec<Vec<OsProcessId>>],
        some: Vec<Vec<u32>>,
        constraint: impl Fn(Vec<Vec<u32>>) -> Constraint,
        span: Span,
    ) {
        if there.is_empty() {
            self.push(constraint(some), span);
        }
        for places in there {
            let places = places.iter().map(|p| self.targets.blocks(p)).collect();
            self.push(constraint(places), span);
        }
    }

    fn prefer(&mut self, vertices: Vec<u32>, traffic: f64, span: Span) {
        if vertices.len() > 1 {
            let weight = (traffic * self.weights.traffic).round().max(0.0) as u64;
            self.push(Constraint::Prefer { vertices, weight }, span);
        }
    }

    /// A rule of the request.
    fn add(&mut self, rule: &Rule, spots: &Spots<'_>, found: &mut Diagnostics) {
        let span = rule.span;
        match &rule.said {
            Said::Pin(what, places) => {
                let what = self.processes(what, found);
                if let (Some(what), Some(there)) = (what, spots.of(places, found)) {
                    self.pin(what, &there, span);
                }
            }
            Said::Together(what) => {
                if let Some(vertices) = self.processes(what, found) {
                    self.together(vertices, span);
                }
            }
            Said::Apart(what, places) => {
                let vertices = self.processes(what, found).filter(|v| v.len() > 1);
                if let (Some(vertices), Some(there)) = (vertices, spots.each(places, found)) {
                    self.apart(vertices, &there, span);
                }
            }
            Said::Hold(what, least, most, places) => {
                let vertices = self.processes(what, found);
                if let (Some(vertices), Some(there)) = (vertices, spots.each(places, found)) {
                    self.hold(vertices, (*least, *most), &there, span);
                }
            }
            Said::Whole(names) => {
                for vertices in self.modules(names, found) {
                    self.together(vertices, span);
                }
            }
            Said::Prefer(names, traffic) => {
                for vertices in self.modules(names, found) {
                    self.prefer(vertices, *traffic, span);
                }
            }
            Said::Move(what, price) => {
                let network = self.network;
                for v in self.processes(what, found).into_iter().flatten() {
                    let process = &network.processes[ProcessId::from_index(v as usize)];
                    self.prices[v as usize] = Some(match price {
                        Price::Traffic(traffic) => *traffic,
                        Price::Mem => process.mem,
                    });
                }
            }
            // Part of the machine, not of the constraints.
            Said::Memory(..) => {}
        }
    }

    /// The processes that are meant, ascending. Each name must be that of at least one.
    fn processes(&self, what: &[Term], found: &mut Diagnostics) -> Option<Vec<u32>> {
        let network = self.network;
        let mut chosen = vec![false; network.processes.len()];
        let mut sound = true;
        for term in what {
            let fits: Vec<bool> = match term.of {
                Of::Process => {
                    let names = network.processes.ids().map(|p| network.process_name(p));
                    names.map(|name| term.name.matches(name)).collect()
                }
                Of::Kind => {
                    let kinds = network.kinds.values().map(|k| network.name(k.name));
                    let kinds: Vec<bool> = kinds.map(|name| term.name.matches(name)).collect();
                    let all = network.processes.values();
                    all.map(|p| kinds[p.kind.index()]).collect()
                }
                Of::Module => {
                    let mut inside = vec![false; network.processes.len()];
                    for module in self.members(std::slice::from_ref(&term.name)) {
                        module.iter().for_each(|&v| inside[v as usize] = true);
                    }
                    inside
                }
            };
            if !fits.contains(&true) {
                found.push(nobody(network, term.of, &term.name));
                sound = false;
            }
            chosen.iter_mut().zip(fits).for_each(|(c, f)| *c |= f);
        }
        let all = 0..chosen.len() as u32;
        sound.then(|| all.filter(|&v| chosen[v as usize]).collect())
    }

    /// The processes of each module that is meant; a name that is none is told.
    fn modules(&self, names: &[Pattern], found: &mut Diagnostics) -> Vec<Vec<u32>> {
        for name in names {
            if self.members(std::slice::from_ref(name)).is_empty() {
                found.push(nobody(self.network, Of::Module, name));
            }
        }
        self.members(names)
    }

    /// The processes, those of modules within included, of each module of one of these names or
    /// kinds.
    fn members(&self, names: &[Pattern]) -> Vec<Vec<u32>> {
        let network = self.network;
        let mut meant: Vec<Option<usize>> = Vec::with_capacity(network.modules.len());
        // The innermost module that is meant, around each.
        let mut nearest: Vec<Option<ModuleId>> = Vec::with_capacity(network.modules.len());
        let mut count = 0;
        for (id, module) in network.modules.iter() {
            let fits = names.iter().any(|name| is_called(network, module, name));
            meant.push(fits.then_some(count));
            count += usize::from(fits);
            let around = module.parent.and_then(|p| nearest[p.index()]);
            nearest.push(if fits { Some(id) } else { around });
        }
        let mut members = vec![Vec::new(); count];
        for (id, process) in network.processes.iter() {
            let mut module = process.module.and_then(|m| nearest[m.index()]);
            while let Some(m) = module {
                if let Some(place) = meant[m.index()] {
                    members[place].push(id.index() as u32);
                }
                let parent = network.modules[m].parent;
                module = parent.and_then(|p| nearest[p.index()]);
            }
        }
        members.retain(|m| !m.is_empty());
        members
    }
}
