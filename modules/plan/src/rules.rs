//! Constraints of a mapping. They come from the graph, from the request, and from its rules. Each
//! has the position where it is written.

use crate::boxes;
use crate::codes;
use crate::even;
use crate::language::{self, NameKind, Order, Price, Rule, RuleKind, Term};
use crate::names::{is_called, no_match};
use crate::pattern::Pattern;
use crate::permute::permute;
use crate::request::{Modules, Request};
use crate::translate::{ExtraWeights, Numbers};
use graphmap_kpn::arena::Id;
use graphmap_kpn::containers::Boxes;
use graphmap_kpn::declared::Constraint as Declared;
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::mapping::OsProcessId;
use graphmap_kpn::network::{ProcessId, Verified};
use graphmap_kpn::source::Span;
use graphmap_partition::Constraint;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::slice;
use std::sync::Arc;

/// Constraints of graph, request and rules, each with the position where it is written.
pub(crate) struct Rules<'a> {
    pub(crate) constraints: Vec<Constraint>,
    pub(crate) spans: Vec<Span>,
    /// Cost of moving each process, if a rule sets it.
    pub(crate) prices: Vec<Option<f64>>,
    /// True if the OS processes are divided among several programs.
    pub(crate) divided: bool,
    /// Constraints that spread the processes of each class evenly.
    pub(crate) even: Range<usize>,
    numbers: &'a Numbers<'a>,
}

/// Returns an upper bound on the sum of preferences and prices of moves at distance 1, and the
/// single values. The unit is traffic. Prices of moves count only if the request has a previous
/// mapping.
pub(crate) fn extra_weights(network: &Verified, request: &Request<'_>) -> ExtraWeights {
    let mut extra_weights = ExtraWeights::default();
    let all = network.processes.len();
    if let Modules::Prefer(traffic) = request.modules {
        extra_weights.add(traffic, all);
    }
    for constraint in &network.constraints {
        if let Declared::Prefer(traffic) = constraint.declared.constraint {
            extra_weights.add(traffic, constraint.processes.len());
        }
    }
    for rule in request.rules {
        if let RuleKind::Prefer(_, traffic) = rule.kind {
            // A process belongs to each of the modules that contain it.
            extra_weights.add(traffic, all * (1 + deepest(network)));
        }
    }
    let Some(previous) = request.previous else {
        return extra_weights;
    };
    extra_weights.add(previous.migration, all);
    for rule in request.rules {
        match rule.kind {
            RuleKind::Move(_, Price::Traffic(price)) => extra_weights.add(price, all),
            RuleKind::Move(_, Price::Mem) => {
                let memory = network.processes.values().map(|p| p.mem);
                extra_weights.total += memory.clone().sum::<f64>();
                extra_weights.values.extend(memory);
            }
            _ => {}
        }
    }
    extra_weights
}

/// Returns the maximum nesting depth of modules. It is 0 if no module is inside another, or if
/// there are no modules.
fn deepest(network: &Verified) -> usize {
    let mut depth: Vec<usize> = Vec::with_capacity(network.modules.len());
    for module in network.modules.values() {
        depth.push(module.parent.map_or(0, |p| depth[p.index()] + 1));
    }
    depth.into_iter().max().unwrap_or(0)
}

impl<'a> Rules<'a> {
    /// Collects all constraints: of the graph, of its modules, of the rules, and then `hosts`, the
    /// memory limits of hosts. Also sets the prices of moves.
    ///
    /// Leaves out a rule or a constraint of the graph with a name or place that does not exist, and
    /// adds a diagnostic to `found`. Only rules about modules (`whole` and `prefer`) still apply to
    /// the other names in them.
    pub(crate) fn of(
        numbers: &'a Numbers<'a>,
        request: &Request<'_>,
        boxes: &[Boxes],
        hosts: Vec<(Constraint, Span)>,
        found: &mut Diagnostics,
    ) -> Rules<'a> {
        let mut rules = Rules {
            constraints: Vec::new(),
            spans: Vec::new(),
            prices: vec![None; numbers.network.processes.len()],
            divided: false,
            even: 0..0,
            numbers,
        };
        rules.of_graph(found);
        rules.of_modules(request.modules);
        for rule in request.rules {
            rules.add(rule, found);
        }
        let even = even::is_even(request, boxes);
        if even || !boxes.is_empty() {
            rules.of_boxes(boxes, even, found);
        }
        for (constraint, span) in hosts {
            rules.push(constraint, span);
        }
        rules
    }

    /// Adds the limits of boxes. If `even`, also adds that each class of processes is spread
    /// evenly.
    fn of_boxes(&mut self, boxes: &[Boxes], even: bool, found: &mut Diagnostics) {
        let (network, placement) = (self.numbers.network, &self.numbers.placement);
        // Alone, the limits have a mapping with these counts. Other rules may need that OS
        // processes that are alike exchange their counts.
        let is_alone = self.constraints.is_empty();
        let packing = boxes::pack(network, placement, boxes, found);
        let speeds = placement.speeds();
        let counts = even.then(|| {
            let sizes = packing
                .classes
                .iter()
                .map(|class| class.vertices.len() as u64);
            let sizes: Vec<u64> = sizes.collect();
            even::pack(&sizes, &packing.limits, &speeds)
        });
        for (constraint, span) in packing.constraints {
            self.push(constraint, span);
        }
        // Without a packing, the search finds out whether there is a mapping.
        let counts = counts.flatten().unwrap_or_default();
        let alike = even::alike(&packing.limits, &speeds);
        let first = self.constraints.len();
        for (class, counts) in packing.classes.iter().zip(counts) {
            let mut of_range: BTreeMap<(u64, u64), Vec<Vec<u32>>> = BTreeMap::new();
            for group in &alike {
                let of_group = group.iter().map(|o| counts[*o]);
                let least = of_group.clone().min().unwrap_or(0);
                let most = of_group.max().unwrap_or(0);
                for &o in group {
                    let range = match is_alone {
                        true => (counts[o], counts[o]),
                        false => (least, most),
                    };
                    let place = vec![placement.block_of[o]];
                    of_range.entry(range).or_default().push(place);
                }
            }
            for ((least, most), places) in of_range {
                let count = Constraint::Count {
                    vertices: class.vertices.clone(),
                    places,
                    least: least as u32,
                    most: most as u32,
                };
                self.push(count, Span::NONE);
            }
        }
        self.even = first..self.constraints.len();
    }

    pub(crate) fn push(&mut self, constraint: Constraint, span: Span) {
        self.constraints.push(constraint);
        self.spans.push(span);
    }

    fn of_graph(&mut self, found: &mut Diagnostics) {
        let (network, placement) = (self.numbers.network, &self.numbers.placement);
        let mut groups: Vec<(&Declared, Vec<u32>, Span)> = Vec::new();
        let mut held: BTreeSet<(usize, u32, u32)> = BTreeSet::new();
        let mut index: BTreeMap<(bool, &str), usize> = BTreeMap::new();
        for constraint in &network.constraints {
            let (declared, span) = (&constraint.declared.constraint, constraint.declared.span);
            let vertices = vertices(&constraint.processes);
            match declared {
                Declared::Host(name) => {
                    let pattern = Pattern {
                        text: name.clone(),
                        literal: true,
                        span,
                    };
                    if let Some(there) = placement.on(&pattern, &format!("`host={name}`"), found) {
                        self.pin(vertices, there, span);
                    }
                }
                Declared::OsProcess(o) => match placement.block_of.get(*o as usize) {
                    Some(&block) => self.pin(vertices, vec![block], span),
                    None => found.push(placement.no_os_process(*o, span)),
                },
                Declared::Whole => self.together(vertices, span),
                Declared::Prefer(traffic) => self.prefer(vertices, *traffic, span),
                // The OS processes are divided among the programs when all constraints are known.
                Declared::Program(_) => {}
                // Equal limits for one kind are one constraint.
                Declared::Hold { least, most } => {
                    for process in &constraint.processes {
                        let kind = network.processes[*process].kind;
                        if held.insert((kind.index(), *least, *most)) {
                            let all = self::vertices(&network.kinds[kind].members);
                            self.hold(all, (*least, *most), vec![placement.alone()], span);
                        }
                    }
                }
                Declared::Colocate(name) | Declared::Separate(name) => {
                    let apart = matches!(declared, Declared::Separate(_));
                    let place = *index.entry((apart, name)).or_insert(groups.len());
                    if place == groups.len() {
                        groups.push((declared, Vec::new(), span));
                    }
                    groups[place].1.extend(vertices);
                }
            }
        }
        for (declared, mut vertices, span) in groups {
            vertices.sort_unstable();
            vertices.dedup();
            match declared {
                Declared::Separate(name) if vertices.len() > 1 => {
                    // `replicas@node*` is the group `replicas`, of which no two may be on the same
                    // such host.
                    let places = name
                        .split_once('@')
                        .map(|(_, at)| language::places(at, span));
                    match places.transpose() {
                        Ok(places) => {
                            let places = places.unwrap_or_default();
                            if let Some(there) = placement.each(&places, Vec::new(), found) {
                                self.apart(vertices, there, span);
                            }
                        }
                        Err(wrong) => found.push(*wrong),
                    }
                }
                Declared::Separate(_) => {}
                _ => self.together(vertices, span),
            }
        }
    }

    /// Adds a constraint for each module with at least two processes directly in it, as the request
    /// specifies: they must be together, or they should be. Processes in nested modules count only
    /// for the innermost one. Adds nothing for [`Modules::Ignore`].
    fn of_modules(&mut self, modules: Modules) {
        if modules == Modules::Ignore {
            return;
        }
        let network = self.numbers.network;
        let mut inside: Vec<Vec<u32>> = vec![Vec::new(); network.modules.len()];
        for (id, process) in network.processes.iter() {
            if let Some(module) = process.module {
                inside[module.index()].push(id.index() as u32);
            }
        }
        for (vertices, module) in inside.into_iter().zip(network.modules.values()) {
            match modules {
                Modules::Prefer(traffic) => self.prefer(vertices, traffic, module.span),
                Modules::Atom | Modules::Ignore => self.together(vertices, module.span),
            }
        }
    }

    fn pin(&mut self, vertices: Vec<u32>, blocks: Vec<u32>, span: Span) {
        let blocks: Arc<[u32]> = blocks.into();
        for vertex in vertices {
            let blocks = Arc::clone(&blocks);
            self.push(Constraint::Pin { vertex, blocks }, span);
        }
    }

    fn together(&mut self, vertices: Vec<u32>, span: Span) {
        if vertices.len() > 1 {
            self.push(Constraint::Together { vertices }, span);
        }
    }

    /// Adds constraints that no two of `vertices` are in the same place of a list, one for each
    /// list. If a list is empty, its places are the OS processes.
    fn apart(&mut self, vertices: Vec<u32>, there: Vec<Vec<Vec<u32>>>, span: Span) {
        for places in there {
            let vertices = vertices.clone();
            self.push(Constraint::Apart { vertices, places }, span);
        }
    }

    /// Adds constraints on the number of vertices in each place of a list, one for each list.
    fn hold(
        &mut self,
        vertices: Vec<u32>,
        (least, most): (u32, u32),
        there: Vec<Vec<Vec<u32>>>,
        span: Span,
    ) {
        for places in there {
            let count = Constraint::Count {
                vertices: vertices.clone(),
                places,
                least,
                most,
            };
            self.push(count, span);
        }
    }

    fn prefer(&mut self, vertices: Vec<u32>, traffic: f64, span: Span) {
        if vertices.len() > 1 {
            let weight = self.numbers.weights.traffic.units(traffic);
            self.push(Constraint::Prefer { vertices, weight }, span);
        }
    }

    /// Applies a rule of the request: adds its constraints, or sets the prices of moves. Memory
    /// rules are ignored here, because they belong to the machine.
    ///
    /// If a name or place of the rule does not exist, adds a diagnostic to `found` and leaves the
    /// rule out. A rule about modules still applies to the modules that exist.
    fn add(&mut self, rule: &Rule, found: &mut Diagnostics) {
        let (network, placement) = (self.numbers.network, &self.numbers.placement);
        let span = rule.span;
        match &rule.kind {
            RuleKind::Pin(what, places) => {
                let what = self.processes(what, found);
                if let (Some(what), Some(there)) = (what, placement.at(places, found)) {
                    self.pin(what, there, span);
                }
            }
            RuleKind::Together(what) => {
                if let Some(vertices) = self.processes(what, found) {
                    self.together(vertices, span);
                }
            }
            RuleKind::Apart(what, places) => {
                let vertices = self.processes(what, found).filter(|v| v.len() > 1);
                let there = placement.each(places, Vec::new(), found);
                if let (Some(vertices), Some(there)) = (vertices, there) {
                    self.apart(vertices, there, span);
                }
            }
            RuleKind::Hold(what, least, most, places) => {
                let vertices = self.processes(what, found);
                let there = placement.each(places, placement.alone(), found);
                if let (Some(vertices), Some(there)) = (vertices, there) {
                    self.hold(vertices, (*least, *most), there, span);
                }
            }
            RuleKind::Whole(names) => {
                for vertices in self.modules(names, found) {
                    self.together(vertices, span);
                }
            }
            RuleKind::Prefer(names, traffic) => {
                for vertices in self.modules(names, found) {
                    self.prefer(vertices, *traffic, span);
                }
            }
            RuleKind::Move(what, price) => {
                for v in self.processes(what, found).into_iter().flatten() {
                    self.prices[v as usize] = Some(match price {
                        Price::Traffic(traffic) => *traffic,
                        Price::Mem => network.processes[ProcessId::from_index(v as usize)].mem,
                    });
                }
            }
            // A property of the machine, and the OS processes themselves: not constraints.
            RuleKind::Memory(..)
            | RuleKind::Permute(..)
            | RuleKind::Container(_)
            | RuleKind::Boxes(_) => {}
        }
    }

    /// Applies the permutations of a request to a mapping. Returns false if there are none.
    pub(crate) fn permute(
        &self,
        request: &Request<'_>,
        os_process: &mut [OsProcessId],
        found: &mut Diagnostics,
    ) -> bool {
        let mut any = false;
        for rule in request.rules {
            let RuleKind::Permute(what, order) = &rule.kind else {
                continue;
            };
            any = true;
            let Some(processes) = self.processes(what, found) else {
                continue;
            };
            let permuted = match order {
                Order::Known(permutation) => {
                    let network = self.numbers.network;
                    permute(network, &processes, permutation, rule.span, os_process)
                }
                Order::File(path, span) => {
                    let message = format!("the numbers of `{path}` were not read");
                    Err(Box::new(
                        Diagnostic::error(codes::BAD_PERMUTATION, message).at(*span, ""),
                    ))
                }
            };
            if let Err(error) = permuted {
                found.push(*error);
            }
        }
        any
    }

    /// Returns the processes that the terms match, ascending and without duplicates. Returns
    /// `None`, with an error in `found` for each term that matches none, if there is such a term.
    fn processes(&self, what: &[Term], found: &mut Diagnostics) -> Option<Vec<u32>> {
        let network = self.numbers.network;
        let (mut chosen, mut sound) = (Vec::new(), true);
        for Term { of, name } in what {
            let before = chosen.len();
            match of {
                NameKind::Process => {
                    let ids = network.processes.ids();
                    let meant = ids.filter(|&p| name.matches(network.process_name(p)));
                    chosen.extend(meant.map(|p| p.index() as u32));
                }
                NameKind::Kind => {
                    let kinds = network.kinds.values();
                    let meant = kinds.filter(|k| name.matches(network.name(k.name)));
                    chosen.extend(meant.flat_map(|kind| vertices(&kind.members)));
                }
                NameKind::Module => chosen.extend(self.members(slice::from_ref(name)).concat()),
            }
            if chosen.len() == before {
                found.push(no_match(network, *of, name));
                sound = false;
            }
        }
        chosen.sort_unstable();
        chosen.dedup();
        sound.then_some(chosen)
    }

    /// Returns the processes of each module that a name matches. Adds an error to `found` for each
    /// name that matches no module with processes.
    fn modules(&self, names: &[Pattern], found: &mut Diagnostics) -> Vec<Vec<u32>> {
        for name in names {
            if self.members(slice::from_ref(name)).is_empty() {
                found.push(no_match(self.numbers.network, NameKind::Module, name));
            }
        }
        self.members(names)
    }

    /// Returns the processes, ascending, of each module whose name or kind matches, including
    /// processes of nested modules. Modules without processes are omitted.
    fn members(&self, names: &[Pattern]) -> Vec<Vec<u32>> {
        let network = self.numbers.network;
        // `around` contains, for each matching module, the index of the next matching module around
        // it. `nearest` contains, for each module, the index of the innermost matching module that
        // is or contains it.
        let mut around: Vec<Option<usize>> = Vec::new();
        let mut nearest: Vec<Option<usize>> = Vec::with_capacity(network.modules.len());
        for module in network.modules.values() {
            let mut place = module.parent.and_then(|p| nearest[p.index()]);
            if names.iter().any(|name| is_called(network, module, name)) {
                around.push(place);
                place = Some(around.len() - 1);
            }
            nearest.push(place);
        }
        let mut members = vec![Vec::new(); around.len()];
        for (id, process) in network.processes.iter() {
            let mut place = process.module.and_then(|m| nearest[m.index()]);
            while let Some(meant) = place {
                members[meant].push(id.index() as u32);
                place = around[meant];
            }
        }
        members.retain(|m| !m.is_empty());
        members
    }
}

fn vertices(processes: &[ProcessId]) -> Vec<u32> {
    processes.iter().map(|p| p.index() as u32).collect()
}
