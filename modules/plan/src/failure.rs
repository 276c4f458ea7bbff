//! What keeps a network from being mapped, in the words of the graph.

use crate::codes;
use crate::rules::Rules;
use crate::translate::Numbers;
use graphmap_kpn::arena::Id;
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::nearest::nearest;
use graphmap_kpn::network::ProcessId;
use graphmap_kpn::source::Span;
use graphmap_partition::{Conflict, Constraint, Error, Part, Solution, Strategy, strategies};
use std::collections::BTreeMap;

/// How many places of a conflict are shown.
const SHOWN: usize = 12;

pub(crate) fn weights_error(error: &Error) -> Diagnostic {
    Diagnostic::error(
        codes::WEIGHTS,
        format!("the mapping cannot be computed: {error}"),
    )
    .help("check `load=`, `mem=` and `traffic=` of the graph and the distances of the platform")
}

/// That a solver failed.
pub(crate) fn solver(said: &str) -> Diagnostic {
    Diagnostic::error(codes::SOLVER, format!("the solver failed: {said}"))
        .help("use `--strategy auto`, which needs none")
}

/// That a strategy of somebody's own failed.
pub(crate) fn of_strategy(error: &Error) -> Diagnostic {
    Diagnostic::error(codes::SOLVER, error.to_string())
        .help("the mistake is in the strategy; `auto` takes every network")
}

/// The strategy of a name: one of somebody's `own`, or of the engine.
///
/// # Errors
/// [`codes::UNKNOWN_STRATEGY`], with the name that is nearest; also where a strategy is not compiled in.
#[allow(clippy::result_large_err)] // Once a plan.
pub fn strategy(name: &str, own: &[Strategy]) -> Result<Strategy, Diagnostic> {
    if let Some(strategy) = own.iter().find(|s| s.name == name) {
        return Ok(strategy.clone());
    }
    let (message, help) = match Strategy::named(name) {
        Ok(strategy) => return Ok(strategy),
        Err(Error::LeftOut { name, feature }) => (
            format!("this graphmap was built without the strategy `{name}`"),
            format!(
                "build it with the feature `{feature}`, or use `--strategy auto`, which does without"
            ),
        ),
        Err(_) => {
            let all: Vec<Strategy> = own.iter().cloned().chain(strategies().cloned()).collect();
            let known: Vec<&str> = all.iter().map(|s| &*s.name).collect();
            let help = match nearest(name, known.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("there are: {}", known.join(", ")),
            };
            (format!("there is no strategy `{name}`"), help)
        }
    };
    Err(Diagnostic::error(codes::UNKNOWN_STRATEGY, message).help(help))
}

/// What is to be said of there being more OS processes than slots, or fewer than were asked for; `called` are
/// they and what they hold, and `idle` is why there are not more of them than of that.
pub(crate) fn numbers(
    (wanted, n): (usize, usize),
    slots: Option<usize>,
    called: (&str, &str),
    idle: &str,
) -> Diagnostics {
    let mut found = Diagnostics::new();
    let (blocks, vertices) = called;
    if n < wanted {
        let message = format!("{wanted} {blocks} for {n} {vertices}: {n} are used");
        found.push(Diagnostic::warning(codes::FEWER_PROCESSES, message).help(idle));
    }
    if let Some(slots) = slots.filter(|slots| n > *slots) {
        let message = format!("{n} {blocks} on {slots} slots: hosts are used again from the first");
        let finding = Diagnostic::warning(codes::OVERCOMMITTED, message);
        found.push(finding.help("give the hosts more slots, or say a smaller `-n`"));
    }
    found
}

/// That the balance bound was raised, and what came of it; `what` is asked for, onto `block`s.
pub(crate) fn raised(
    solution: &Solution,
    imbalance: f64,
    (what, block): (&str, &str),
) -> Diagnostic {
    let percent = (imbalance * 1e6).round() / 1e4;
    let how = match solution.unavoidable {
        true => format!("no {what} keeps the balance bound of {percent}%"),
        false => format!("no {what} within the balance bound of {percent}% was found"),
    };
    let over = (solution.evaluation.balance * 1000.0 - 1000.0).round() / 10.0;
    let message = format!("{how}: the fullest {block} is {over}% above its share");
    let finding = Diagnostic::warning(codes::IMBALANCE, message);
    match solution.unavoidable {
        true => finding,
        false => finding.with_note("that none keeps it is not proved: more `--time` may find one"),
    }
}

/// What for: the heaviest process may be too heavy for every OS process.
pub(crate) fn what_for(finding: Diagnostic, imbalance: f64, numbers: &Numbers<'_>) -> Diagnostic {
    let processes = || numbers.network.processes.values();
    let total: f64 = processes().map(|p| p.load).sum();
    let speeds = numbers.machine.blocks().iter().map(|b| f64::from(b.speed));
    let fastest = speeds.clone().fold(0.0, f64::max) / speeds.sum::<f64>();
    let most = total * fastest * (1.0 + imbalance);
    let heaviest = processes().max_by(|a, b| a.load.total_cmp(&b.load));
    let Some(process) = heaviest.filter(|p| p.load > most) else {
        return finding.help(
            "constraints and uneven loads leave no choice: use fewer OS processes, give up a \
             constraint, or say a larger `--imbalance`",
        );
    };
    let (load, most) = (process.load, limit(most));
    let label = format!("its load is {load}, and no OS process is to have more than {most}");
    let help = "a process cannot be split: use fewer OS processes, or say a larger `--imbalance`";
    finding.at(process.span, label).help(help)
}

/// Puts what the engine says into words.
pub(crate) struct Teller<'a> {
    pub(crate) rules: &'a Rules<'a>,
    pub(crate) numbers: &'a Numbers<'a>,
}

impl Teller<'_> {
    pub(crate) fn failure(&self, error: &Error) -> Diagnostic {
        match error {
            Error::Solver(said) => solver(said),
            Error::Strategy { .. } => of_strategy(error),
            Error::Infeasible(conflict) => self.infeasible(conflict),
            // Input that the engine refuses, and whatever else it may come to say, in its own words.
            _ => weights_error(error),
        }
    }

    fn infeasible(&self, conflict: &Conflict) -> Diagnostic {
        let how = match conflict.proved {
            true => "there is no feasible mapping",
            false => "no feasible mapping was found",
        };
        let why = self.words(&conflict.reason);
        let mut finding = Diagnostic::error(codes::INFEASIBLE, format!("{how}: {why}"));
        let mut places: BTreeMap<Span, Vec<&Constraint>> = BTreeMap::new();
        let mut heavy = Vec::new();
        let (mut memory, mut slots, mut balance) = (Vec::new(), Vec::new(), Vec::new());
        for part in &conflict.parts {
            match *part {
                // What the platform says has no place in a text.
                Part::Constraint(c) if self.rules.spans[c] == Span::NONE => {
                    finding = finding.with_note(self.says(&[&self.rules.constraints[c]]));
                }
                Part::Constraint(c) => {
                    let list = places.entry(self.rules.spans[c]).or_default();
                    list.push(&self.rules.constraints[c]);
                }
                Part::Vertex(v) => heavy.push(v),
                Part::Memory(b) => memory.push(b),
                Part::Slots(b) => slots.push(b),
                Part::Balance(b) => balance.push(b),
            }
        }
        let said = places
            .into_iter()
            .map(|(span, list)| (span, self.says(&list)));
        let process =
            |&v: &u32| self.numbers.network.processes[ProcessId::from_index(v as usize)].span;
        let heavy = heavy
            .iter()
            .map(|v| (process(v), format!("`{}`", self.name(*v))));
        let all: Vec<(Span, String)> = said.chain(heavy).collect();
        for (i, (span, text)) in all.iter().take(SHOWN).enumerate() {
            finding = match i {
                0 => finding.at(*span, text),
                _ => finding.also(*span, text),
            };
        }
        if all.len() > SHOWN {
            let more = all.len() - SHOWN;
            finding = finding.with_note(format!("{more} more constraints take part"));
        }
        let even = !balance.is_empty();
        for (what, blocks) in [
            ("memory", memory),
            ("slots", slots),
            ("balance bound", balance),
        ] {
            if !blocks.is_empty() {
                let whose = self.os_processes(&blocks);
                finding = finding.with_note(format!("the {what} of {whose} takes part"));
            }
        }
        if conflict.proved && !conflict.minimal && all.len() > 1 {
            finding = finding.with_note("perhaps not all of these are needed for the conflict");
        }
        if !conflict.proved {
            finding =
                finding.with_note("that none exists is not proved: more `--time` may find one");
        }
        finding.help(match (even, all.is_empty()) {
        (false, _) => "give up one of these, or use more or larger hosts",
        (true, false) => "give up one of these, or say a larger `--imbalance`",
        (true, true) => "say a larger `--imbalance`, or use fewer OS processes; without `--strict-balance` the most even mapping is taken",
    })
    }

    /// What the engine says of vertices and blocks, said of processes and OS processes.
    fn words(&self, reason: &str) -> String {
        let mut said: Vec<String> = Vec::new();
        let mut words = reason.split(' ').peekable();
        while let Some(word) = words.next() {
            let number = words.peek().and_then(|next| next.parse::<u32>().ok());
            said.push(match (word, number) {
                // A strategy of somebody's own may speak of what is not there.
                ("vertex", Some(v)) if (v as usize) < self.numbers.network.processes.len() => {
                    words.next();
                    let process = ProcessId::from_index(v as usize);
                    format!("process `{}`", self.numbers.network.process_name(process))
                }
                ("block", Some(b)) if (b as usize) < self.numbers.machine.len() => {
                    words.next();
                    self.numbers.spots.name(b)
                }
                ("vertex", _) => "process".to_owned(),
                ("vertices", _) => "processes".to_owned(),
                ("block", _) => "OS process".to_owned(),
                ("blocks", _) => "OS processes".to_owned(),
                _ => word.to_owned(),
            });
        }
        said.join(" ")
    }

    fn name(&self, v: u32) -> &str {
        self.numbers
            .network
            .process_name(ProcessId::from_index(v as usize))
    }

    /// "`a`, `b` and 3 more".
    fn names(&self, vertices: &[u32]) -> String {
        let named = |v: &u32| format!("`{}`", self.name(*v));
        match vertices {
            [] => "nothing".to_owned(),
            [one] => named(one),
            [first @ .., last] if vertices.len() <= 4 => {
                let first: Vec<String> = first.iter().map(named).collect();
                format!("{} and {}", first.join(", "), named(last))
            }
            _ => {
                let first: Vec<String> = vertices[..3].iter().map(named).collect();
                let more = vertices.len() - 3;
                format!("{} and {more} more", first.join(", "))
            }
        }
    }

    /// "OS processes 0, 2-4 and 7".
    fn os_processes(&self, blocks: &[u32]) -> String {
        let mut numbers: Vec<usize> = blocks
            .iter()
            .map(|&b| self.numbers.spots.os_process_of[b as usize].index())
            .collect();
        numbers.sort_unstable();
        numbers.dedup();
        let ranges = numbers.chunk_by(|a, b| a + 1 == *b).map(|run| match run {
            [only] => only.to_string(),
            _ => format!("{}-{}", run[0], run[run.len() - 1]),
        });
        let ranges: Vec<String> = ranges.collect();
        match ranges.split_last() {
            None => "no OS process".to_owned(),
            Some((only, [])) if numbers.len() == 1 => format!("OS process {only}"),
            Some((only, [])) => format!("OS processes {only}"),
            Some((last, first)) => format!("OS processes {} and {last}", first.join(", ")),
        }
    }

    /// The name of the host that all these OS processes are on.
    fn host(&self, blocks: &[u32]) -> String {
        let host = blocks.first().map(|&b| self.numbers.spots.slot(b).host);
        host.map_or(String::new(), |h| {
            format!("`{}`", self.numbers.spots.platform[h].name)
        })
    }

    /// That name, where these are several and all that there are on it.
    fn whole_host(&self, blocks: &[u32]) -> Option<String> {
        let host = |b: u32| self.numbers.spots.slot(b).host;
        let first = host(*blocks.first()?);
        let all = self.numbers.spots.slots.iter().filter(|p| p.host == first);
        let whole = blocks.len() == all.count() && blocks.iter().all(|&b| host(b) == first);
        (whole && blocks.len() > 1 && blocks.len() < self.numbers.spots.slots.len())
            .then(|| self.host(blocks))
    }

    /// "in each OS process", "on one of `node1`, `node2`".
    fn there(&self, which: &str, places: &[Vec<u32>]) -> String {
        if places.iter().any(|p| p.len() > 1) {
            let hosts: Vec<String> = places.iter().take(4).map(|p| self.host(p)).collect();
            return match (&hosts[..], places.len()) {
                ([host], _) => format!("on {host}"),
                (_, 0..=4) => format!("on {which} of {}", hosts.join(", ")),
                (_, many) => format!("on {which} of {many} hosts"),
            };
        }
        let blocks = places.concat();
        match blocks.len() {
            n if n == self.numbers.spots.os_process_of.len() => format!("in {which} OS process"),
            0 | 1 => format!("in {}", self.os_processes(&blocks)),
            _ => format!("in {which} of {}", self.os_processes(&blocks)),
        }
    }

    /// What all constraints of one place say.
    fn says(&self, constraints: &[&Constraint]) -> String {
        let mut pinned: Vec<(&[u32], Vec<u32>)> = Vec::new();
        let mut said = Vec::new();
        for constraint in constraints {
            match constraint {
                Constraint::Pin { vertex, blocks } => {
                    match pinned.iter_mut().find(|(known, _)| *known == &blocks[..]) {
                        Some((_, vertices)) => vertices.push(*vertex),
                        None => pinned.push((blocks, vec![*vertex])),
                    }
                }
                Constraint::Together { vertices } => {
                    said.push(format!("{} together", self.names(vertices)));
                }
                Constraint::Apart { vertices, places } => {
                    let whom = self.names(vertices);
                    said.push(match &places[..] {
                        [] => format!("{whom} apart"),
                        _ => format!("no two of {whom} {}", self.there("one", places)),
                    });
                }
                Constraint::Memory { blocks, most } => {
                    said.push(format!(
                        "{} has {} of memory",
                        self.host(blocks),
                        size(*most)
                    ));
                }
                Constraint::Prefer { vertices, .. } => {
                    said.push(format!("{} rather together", self.names(vertices)));
                }
                Constraint::Count {
                    vertices,
                    places,
                    least,
                    most,
                } => {
                    let many = match (least, most) {
                        (least, most) if least == most => format!("exactly {least}"),
                        (0, most) => format!("at most {most}"),
                        (least, &u32::MAX) => format!("at least {least}"),
                        (least, most) => format!("{least} to {most}"),
                    };
                    let whom = self.names(vertices);
                    let place = self.there("each", places);
                    said.push(format!("{many} of {whom} {place}"));
                }
            }
        }
        let pins = pinned.iter().map(|(blocks, vertices)| {
            let place = match self.whole_host(blocks) {
                Some(host) => format!("on {host}"),
                None if blocks.len() > 1 => format!("in one of {}", self.os_processes(blocks)),
                None => format!("in {}", self.os_processes(blocks)),
            };
            format!("{} {place}", self.names(vertices))
        });
        let all: Vec<String> = pins.chain(said).collect();
        match all.len() {
            0..=3 => all.join("; "),
            n => format!("{}; and {} more", all[..2].join("; "), n - 2),
        }
    }
}

/// A bound on loads, as exactly as it takes to tell it from 0.
fn limit(most: f64) -> String {
    let places = if most < 0.1 {
        2.0 - most.log10().floor()
    } else {
        2.0
    };
    format!("{most:.*}", places.clamp(2.0, 12.0) as usize)
}

/// "64G" as the rule says it, where that is exact.
fn size(bytes: u64) -> String {
    let unit = [('T', 40), ('G', 30), ('M', 20), ('K', 10)];
    let exact = unit
        .iter()
        .find(|(_, bits)| bytes > 0 && bytes.trailing_zeros() >= *bits);
    match exact {
        Some((unit, bits)) => format!("{}{unit}", bytes >> bits),
        None => format!("{bytes} bytes"),
    }
}
