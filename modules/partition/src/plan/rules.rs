//! What a mapping must obey, from the graph, the request and its rules, as constraints of the
//! engine, each with the place where it is written.

use super::language::{Of, Place, Rule, Said, Term};
use super::pattern::Pattern;
use super::translate::{Targets, Weights};
use super::{Modules, Request, codes};
use crate::Constraint;
use graphmap_kpn::arena::Id;
use graphmap_kpn::declared::{Constraint as Declared, ModuleId};
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::nearest::nearest;
use graphmap_kpn::network::{KindId, Verified};
use graphmap_kpn::source::Span;
use graphmap_platform::{self as platform, Platform};
use std::collections::{BTreeMap, BTreeSet};

/// Where OS processes are, for those who name them.
pub(super) struct Spots<'a> {
    pub(super) platform: &'a Platform,
    /// By OS process.
    pub(super) places: &'a [platform::Place],
    /// Whether the hosts have names that mean something.
    pub(super) named: bool,
}

impl Spots<'_> {
    /// The memory of each OS process: its share of that of its host, or what a rule says.
    pub(super) fn memory(&self, rules: &[Rule], found: &mut Diagnostics) -> Vec<Option<u64>> {
        let hosts = self.platform.hosts();
        let mut of_host: Vec<Option<u64>> = hosts.iter().map(|h| h.memory).collect();
        let mut own = vec![None; self.places.len()];
        for rule in rules {
            let Said::Memory(places, bytes) = &rule.said else {
                continue;
            };
            for place in places {
                let there = self.of(std::slice::from_ref(place), found);
                for o in there.unwrap_or_default() {
                    match place {
                        Place::Host(_) => {
                            of_host[self.places[o as usize].host as usize] = Some(*bytes);
                        }
                        Place::OsProcess(..) => own[o as usize] = Some(*bytes),
                    }
                }
            }
        }
        let mut sharing = vec![0_u64; hosts.len()];
        for place in self.places {
            sharing[place.host as usize] += 1;
        }
        let share = |place: &platform::Place| {
            let host = place.host as usize;
            of_host[host].map(|memory| memory / sharing[host])
        };
        let shares = self.places.iter().map(share);
        own.into_iter().zip(shares).map(|(o, s)| o.or(s)).collect()
    }

    /// The OS processes at some places, ascending. `None`: there are none, and `found` says why.
    fn of(&self, places: &[Place], found: &mut Diagnostics) -> Option<Vec<u32>> {
        let mut here = vec![false; self.places.len()];
        for place in places {
            match place {
                Place::Host(name) => {
                    let shown = format!("host `{}`", name.text);
                    for o in self.on(name, &shown, found)? {
                        here[o as usize] = true;
                    }
                }
                Place::OsProcess(first, last, span) => {
                    if *last as usize >= here.len() {
                        found.push(no_os_process(*last, here.len(), *span));
                        return None;
                    }
                    here[*first as usize..=*last as usize].fill(true);
                }
            }
        }
        let all = 0..here.len() as u32;
        Some(all.filter(|&o| here[o as usize]).collect())
    }

    /// The OS processes on the hosts of a name.
    fn on(&self, name: &Pattern, shown: &str, found: &mut Diagnostics) -> Option<Vec<u32>> {
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
        let here = |o: &u32| fits[self.places[*o as usize].host as usize];
        let there: Vec<u32> = (0..self.places.len() as u32).filter(here).collect();
        if there.is_empty() {
            let count = self.places.len();
            let message = format!("host `{text}` has none of the {count} OS processes");
            found.push(
                Diagnostic::error(codes::UNKNOWN_HOST, message)
                    .at(span, "")
                    .help("OS processes take the slots in the order of the hostfile: say a larger `-n`, or list this host sooner"),
            );
            return None;
        }
        Some(there)
    }
}

fn no_os_process(o: u32, count: usize, span: Span) -> Diagnostic {
    Diagnostic::error(codes::NO_OS_PROCESS, format!("there is no OS process {o}"))
        .at(span, format!("they are numbered from 0 to {}", count - 1))
        .help(format!(
            "say `-n {}` or more, or the number of another one",
            u64::from(o) + 1
        ))
}

/// The constraints of graph, request and rules, each with the place where it is written.
pub(super) struct Rules<'a> {
    pub(super) constraints: Vec<Constraint>,
    pub(super) spans: Vec<Span>,
    network: &'a Verified,
    targets: &'a Targets,
    weights: &'a Weights,
}

impl<'a> Rules<'a> {
    pub(super) fn of(
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
            network,
            targets,
            weights,
        };
        let spots = Spots {
            platform,
            places: &targets.places,
            named: request.named_hosts,
        };
        rules.of_graph(&spots, found);
        rules.of_modules(request.modules);
        for rule in request.rules {
            rules.add(rule, &spots, found);
        }
        rules
    }

    fn push(&mut self, constraint: Constraint, span: Span) {
        self.constraints.push(constraint);
        self.spans.push(span);
    }

    fn pin(&mut self, vertices: impl IntoIterator<Item = u32>, os_processes: &[u32], span: Span) {
        let blocks = self.targets.blocks(os_processes);
        for vertex in vertices {
            let blocks = blocks.clone();
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
                Declared::OsProcess(o) if (*o as usize) < spots.places.len() => {
                    self.pin(vertices, &[*o], said.span);
                }
                Declared::OsProcess(o) => {
                    found.push(no_os_process(*o, spots.places.len(), said.span));
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
                let constraint = match said {
                    Declared::Separate(_) => Constraint::Apart { vertices },
                    _ => Constraint::Together { vertices },
                };
                self.push(constraint, span);
            }
        }
    }

    /// Each OS process holds so many processes of a kind.
    fn hold_kind(&mut self, kind: KindId, least: u32, most: u32, span: Span) {
        let members = self.network.kinds[kind].members.iter();
        let vertices = members.map(|p| p.index() as u32).collect();
        let blocks = (0..self.targets.place_of.len() as u32).collect();
        let held = Constraint::Count {
            vertices,
            blocks,
            least,
            most,
        };
        self.push(held, span);
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
            Said::Apart(what) => {
                if let Some(vertices) = self.processes(what, found).filter(|v| v.len() > 1) {
                    self.push(Constraint::Apart { vertices }, span);
                }
            }
            Said::Hold(what, least, most, places) => {
                let everywhere: Vec<u32> = (0..spots.places.len() as u32).collect();
                let there = match places.is_empty() {
                    true => Some(everywhere),
                    false => spots.of(places, found),
                };
                if let (Some(vertices), Some(there)) = (self.processes(what, found), there) {
                    let held = Constraint::Count {
                        vertices,
                        blocks: self.targets.blocks(&there),
                        least: *least,
                        most: *most,
                    };
                    self.push(held, span);
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
                found.push(self.nobody(term.of, &term.name));
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
                found.push(self.nobody(Of::Module, name));
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
            let (name, kind) = (network.name(module.name), network.name(module.kind));
            let fits = names.iter().any(|n| n.matches(name) || n.matches(kind));
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

    /// A name of nothing.
    fn nobody(&self, of: Of, name: &Pattern) -> Diagnostic {
        let network = self.network;
        let (word, mut known): (_, Vec<&str>) = match of {
            Of::Process => (
                "process",
                network
                    .processes
                    .ids()
                    .map(|p| network.process_name(p))
                    .collect(),
            ),
            Of::Kind => (
                "kind of process",
                network
                    .kinds
                    .values()
                    .map(|k| network.name(k.name))
                    .collect(),
            ),
            Of::Module => (
                "module",
                network
                    .modules
                    .values()
                    .flat_map(|m| [network.name(m.kind), network.name(m.name)])
                    .collect(),
            ),
        };
        let message = format!("there is no {word} `{}`", name.text);
        let mut finding = Diagnostic::error(codes::NOBODY, message).at(name.span, "");
        let other = |of: Of, word: &str| {
            let is = match of {
                Of::Kind => network
                    .kinds
                    .values()
                    .any(|k| name.matches(network.name(k.name))),
                _ => network.modules.values().any(|m| {
                    name.matches(network.name(m.name)) || name.matches(network.name(m.kind))
                }),
            };
            is.then(|| format!("a {word} of this name is `{word}:{}`", name.text))
        };
        if of == Of::Process {
            finding.help.extend(other(Of::Kind, "kind"));
            finding.help.extend(other(Of::Module, "module"));
        }
        if !finding.help.is_empty() {
            return finding;
        }
        // A hint is not worth a search through a million names.
        known.truncate(10_000);
        if let Some(near) = nearest(&name.text, known.iter().copied()) {
            return finding.help(format!("did you mean `{near}`?"));
        }
        let mut seen = BTreeSet::new();
        known.retain(|name| seen.insert(*name));
        let more = if known.len() > 8 { " ..." } else { "" };
        known.truncate(8);
        match known.is_empty() {
            true => finding.help(format!("the network has no {word}")),
            false => finding.help(format!("there are: {}{more}", known.join(", "))),
        }
    }
}
