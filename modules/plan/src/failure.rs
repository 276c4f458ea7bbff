//! Reasons why a network cannot be mapped, in terms of the graph.

use crate::codes;
use crate::even::EVEN;
use crate::rules::Rules;
use crate::translate::Numbers;
use graphmap_kpn::arena::Id;
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::nearest::nearest;
use graphmap_kpn::network::ProcessId;
use graphmap_kpn::source::Span;
use graphmap_partition::{Conflict, Constraint, Error, Part, Strategy, strategies};
use std::collections::BTreeMap;

/// Largest number of positions of a conflict that are shown.
const SHOWN: usize = 12;

/// Returns the diagnostic for an error of the engine other than a conflict, if the result was to be
/// a mapping of a network. The code is as in [`of_engine`].
pub(crate) fn of_mapping(error: &Error) -> Diagnostic {
    let help =
        "check `load=`, `mem=` and `traffic=` of the graph and the distances of the platform";
    of_engine(error, "mapping", help)
}

/// Returns the diagnostic for an error of the engine other than a conflict.
///
/// The code is [`codes::SOLVER`] if a solver or the caller's own strategy failed, and
/// [`codes::WEIGHTS`] for any other error. `what` is the result that was to be computed, such as
/// "mapping". `help` is used only with [`codes::WEIGHTS`].
pub(crate) fn of_engine(error: &Error, what: &str, help: &str) -> Diagnostic {
    let (code, message, help) = match error {
        Error::Solver(said) => (
            codes::SOLVER,
            format!("the solver failed: {said}"),
            "use `--strategy auto`, which needs no solver",
        ),
        Error::Strategy { .. } => (
            codes::SOLVER,
            error.to_string(),
            "correct the strategy, or use `--strategy auto`",
        ),
        // Input that the engine refuses, or an error that is added later. Both keep the engine's
        // text.
        _ => (
            codes::WEIGHTS,
            format!("the {what} cannot be computed: {error}"),
            help,
        ),
    };
    Diagnostic::error(code, message).help(help)
}

/// Returns a copy of the strategy with a name. A strategy in `own` takes precedence over one of the
/// engine. Names are case-sensitive.
///
/// # Errors
/// [`codes::UNKNOWN_STRATEGY`] if the name is unknown, or if the strategy is not compiled in. For
/// an unknown name, the diagnostic suggests the nearest name, or lists all names if none is near.
#[allow(clippy::result_large_err)] // Called once per plan.
pub fn strategy(name: &str, own: &[Strategy]) -> Result<Strategy, Diagnostic> {
    if let Some(strategy) = own.iter().find(|s| s.name == name) {
        return Ok(strategy.clone());
    }
    if name == EVEN {
        return Ok(crate::even::strategy().clone());
    }
    let (message, help) = match Strategy::named(name) {
        Ok(strategy) => return Ok(strategy),
        Err(Error::LeftOut { name, feature }) => (
            format!("this graphmap was built without the strategy `{name}`"),
            format!("build graphmap with the feature `{feature}`, or use `--strategy auto`"),
        ),
        Err(_) => {
            let mut known: Vec<&str> = own.iter().map(|s| &*s.name).collect();
            known.extend(strategies().map(|s| &*s.name));
            known.push(EVEN);
            let help = match nearest(name, known.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("use one of: {}", known.join(", ")),
            };
            (format!("there is no strategy `{name}`"), help)
        }
    };
    Err(Diagnostic::error(codes::UNKNOWN_STRATEGY, message).help(help))
}

/// Returns the number of blocks and the warnings about it.
///
/// The number is `asked` if it is given, otherwise the number of slots, and 1 if neither is given.
/// It is at least 1, but not more than `most`, which may be 0. The pair of strings names blocks and
/// their contents in messages, in the plural. `idle` is a note that says why more than `most`
/// blocks are of no use.
///
/// There is a warning if `asked` (or 1 if it is 0) is larger than `most`. There is another warning
/// if the returned number is larger than the number of slots.
pub(crate) fn count(
    asked: Option<usize>,
    slots: Option<usize>,
    most: usize,
    (blocks, vertices): (&str, &str),
    idle: &str,
) -> (usize, Diagnostics) {
    let mut found = Diagnostics::new();
    let wanted = asked.or(slots).unwrap_or(1).max(1);
    let n = wanted.min(most);
    if asked.is_some() && n < wanted {
        let message = format!("{wanted} {blocks} are requested for {n} {vertices}; {n} are used");
        let warning = Diagnostic::warning(codes::FEWER_PROCESSES, message);
        found.push(warning.with_note(idle).help("use a smaller `-n`"));
    }
    if let Some(slots) = slots.filter(|slots| n > *slots) {
        let message = format!(
            "{n} {blocks} are mapped onto {slots} slots; hosts are used again from the first"
        );
        let diagnostic = Diagnostic::warning(codes::OVERCOMMITTED, message);
        found.push(diagnostic.help("give the hosts more slots, or use a smaller `-n`"));
    }
    (n, found)
}

/// Formats errors of the engine in terms of the graph.
pub(crate) struct Reporter<'a> {
    pub(crate) rules: &'a Rules<'a>,
    pub(crate) numbers: &'a Numbers<'a>,
}

/// Where a mapping comes from.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Origin {
    /// A strategy found it.
    Search,
    /// It was known before.
    Known,
    /// Rules permuted it.
    Permuted,
}

impl Reporter<'_> {
    pub(crate) fn failure(&self, error: &Error) -> Diagnostic {
        match error {
            Error::Infeasible(conflict) => self.infeasible(conflict),
            _ => of_mapping(error),
        }
    }

    fn infeasible(&self, conflict: &Conflict) -> Diagnostic {
        let how = match conflict.proved {
            true => "there is no feasible mapping",
            false => "no feasible mapping was found",
        };
        let why = self.translate(&conflict.reason);
        let diagnostic = Diagnostic::error(codes::INFEASIBLE, format!("{how}: {why}"));
        let (mut diagnostic, shown) =
            self.located(diagnostic, &conflict.parts, ["the conflict involves"; 2]);
        if conflict.proved && !conflict.minimal && shown > 1 {
            diagnostic =
                diagnostic.with_note("some of these may not be necessary for the conflict");
        }
        if !conflict.proved {
            let note = "it is not proved that none exists; more `--time` may find one";
            diagnostic = diagnostic.with_note(note);
        }
        let even = conflict
            .parts
            .iter()
            .any(|part| matches!(part, Part::Balance(_)));
        let constrained = conflict
            .parts
            .iter()
            .any(|p| matches!(p, Part::Constraint(_)));
        // More hosts cannot help if processes are pinned to different places and kept together.
        let is_contradiction = conflict.parts.iter().all(|part| match *part {
            Part::Constraint(c) => matches!(
                self.rules.constraints[c],
                Constraint::Pin { .. } | Constraint::Together { .. }
            ),
            _ => false,
        });
        let is_of_even =
            |part: &Part| matches!(part, Part::Constraint(c) if self.rules.even.contains(c));
        if conflict.parts.iter().any(is_of_even) {
            return diagnostic
                .with_note("the processes of each kind are spread evenly over equal OS processes")
                .help("change the rule, or use `--strategy fast`, which does not spread evenly");
        }
        diagnostic.help(match (even, constrained) {
            (false, _) if is_contradiction => "remove one of these constraints",
            (false, _) => "remove a constraint, or use more or larger hosts",
            (true, true) => {
                "remove a constraint, use a larger `--imbalance`, use fewer OS processes, or omit \
                 `--strict-balance` to get the most even mapping"
            }
            (true, false) => {
                "use a larger `--imbalance`, use fewer OS processes, or omit `--strict-balance` to \
                 get the most even mapping"
            }
        })
    }

    /// Returns the error that the mapping of a mapper breaks rules, with the positions of the rules.
    /// `name` is the name of the mapper, or of a mapping that was known before.
    pub(crate) fn broken(&self, name: &str, origin: Origin, parts: &[Part]) -> Diagnostic {
        let rules = match parts.len() {
            1 => "a rule".to_owned(),
            n => format!("{n} rules"),
        };
        let (whose, help) = match origin {
            Origin::Permuted => (
                "permuted mapping",
                "permute processes that the rules treat alike, such as those of one module: \
                 `module:NAME=random:6`",
            ),
            Origin::Known => (
                "mapping",
                "change the mapping or the rule, or omit `--mapping` to search for a mapping",
            ),
            Origin::Search => (
                "mapping of the strategy",
                "correct the strategy, change the rule, or use `--strategy auto`",
            ),
        };
        let message = format!("the {whose} `{name}` breaks {rules}");
        let diagnostic = Diagnostic::error(codes::BREAKS_RULE, message);
        let (diagnostic, _) = self.located(
            diagnostic,
            parts,
            ["the mapping breaks", "the mapping exceeds"],
        );
        diagnostic.help(help)
    }

    /// Adds the positions and descriptions of constraints to a diagnostic, and notes. Also returns
    /// the number of positions. A note on constraints that are not shown begins with `involves`,
    /// and a note on a limit with `exceeds`.
    fn located(
        &self,
        mut diagnostic: Diagnostic,
        parts: &[Part],
        [involves, exceeds]: [&str; 2],
    ) -> (Diagnostic, usize) {
        let mut places: BTreeMap<Span, Vec<&Constraint>> = BTreeMap::new();
        let mut heavy = Vec::new();
        let mut bounds = ["memory", "slots", "balance limit"].map(|what| (what, Vec::new()));
        for part in parts {
            match *part {
                // A constraint of the platform has no position in a text.
                Part::Constraint(c) if self.rules.spans[c] == Span::NONE => {
                    diagnostic = diagnostic.with_note(self.describe(&[&self.rules.constraints[c]]));
                }
                Part::Constraint(c) => {
                    let list = places.entry(self.rules.spans[c]).or_default();
                    list.push(&self.rules.constraints[c]);
                }
                Part::Vertex(v) => {
                    let span = self.numbers.network.processes[process(v)].span;
                    heavy.push((span, format!("`{}`", self.name(v))));
                }
                Part::Memory(b) => bounds[0].1.push(b),
                Part::Slots(b) => bounds[1].1.push(b),
                Part::Balance(b) => bounds[2].1.push(b),
            }
        }
        let said = places.into_iter();
        let said = said.map(|(span, list)| (span, self.describe(&list)));
        let all: Vec<(Span, String)> = said.chain(heavy).collect();
        for (i, (span, text)) in all.iter().take(SHOWN).enumerate() {
            diagnostic = match i {
                0 => diagnostic.at(*span, text),
                _ => diagnostic.also(*span, text),
            };
        }
        if all.len() > SHOWN {
            let more = all.len() - SHOWN;
            diagnostic = diagnostic.with_note(format!("{involves} {more} more constraints"));
        }
        for (what, blocks) in bounds.iter().filter(|(_, blocks)| !blocks.is_empty()) {
            let whose = self.os_processes(blocks);
            diagnostic = diagnostic.with_note(format!("{exceeds} the {what} of {whose}"));
        }
        (diagnostic, all.len())
    }

    /// Replaces the words of the engine in a text by those of the user. "vertex 3" and "block 3"
    /// become the name of that process or OS process if it exists. Otherwise only the words
    /// "vertex", "vertices", "block" and "blocks" are replaced.
    fn translate(&self, reason: &str) -> String {
        let mut said: Vec<String> = Vec::new();
        let mut words = reason.split(' ').peekable();
        while let Some(word) = words.next() {
            let number = words.peek().and_then(|next| next.parse::<u32>().ok());
            said.push(match (word, number) {
                // A user's strategy may report a vertex or a block that does not exist.
                ("vertex", Some(v)) if (v as usize) < self.numbers.network.processes.len() => {
                    words.next();
                    format!("process `{}`", self.name(v))
                }
                ("block", Some(b)) if (b as usize) < self.numbers.machine.len() => {
                    words.next();
                    self.numbers.placement.name(b)
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
        self.numbers.network.process_name(process(v))
    }

    /// Formats the names of the processes of some vertices: "`a`, `b` and `c`". Of more than four,
    /// only the first three are named: "`a`, `b`, `c` and 3 more". Panics if a vertex does not
    /// exist.
    pub(crate) fn names(&self, vertices: &[u32]) -> String {
        let shown = if vertices.len() > 4 {
            3
        } else {
            vertices.len()
        };
        let (shown, more) = vertices.split_at(shown);
        let mut names: Vec<String> = shown
            .iter()
            .map(|v| format!("`{}`", self.name(*v)))
            .collect();
        names.extend((!more.is_empty()).then(|| format!("{} more", more.len())));
        listed(&names)
    }

    /// Formats the numbers of the OS processes of some blocks: "OS processes 0, 2-4 and 7". The
    /// numbers ascend without duplicates. One number gives "OS process 3", and none gives "no OS
    /// process". Panics if a block does not exist.
    pub(crate) fn os_processes(&self, blocks: &[u32]) -> String {
        let os_process_of = &self.numbers.placement.os_process_of;
        let numbers = blocks.iter().map(|&b| os_process_of[b as usize].index());
        let mut numbers: Vec<usize> = numbers.collect();
        numbers.sort_unstable();
        numbers.dedup();
        let ranges = numbers.chunk_by(|a, b| a + 1 == *b).map(|run| match run {
            [only] => only.to_string(),
            _ => format!("{}-{}", run[0], run[run.len() - 1]),
        });
        let ranges: Vec<String> = ranges.collect();
        match numbers.len() {
            0 => "no OS process".to_owned(),
            1 => format!("OS process {}", ranges[0]),
            _ => format!("OS processes {}", listed(&ranges)),
        }
    }

    /// Returns the name of the host of the first of some blocks, in backticks. All blocks should be
    /// on one host. Panics if there is no block.
    fn host(&self, blocks: &[u32]) -> String {
        let placement = &self.numbers.placement;
        format!(
            "`{}`",
            placement.platform[placement.slot(blocks[0]).host].name
        )
    }

    /// Returns the name of a host, in backticks, if `blocks` are all blocks on that host, each
    /// once.
    ///
    /// Returns `None` otherwise. Also returns `None` if the host has only one OS process, or if all
    /// OS processes are on it. Panics if `blocks` is empty.
    fn whole_host(&self, blocks: &[u32]) -> Option<String> {
        let placement = &self.numbers.placement;
        let host = placement.slot(blocks[0]).host;
        let here = placement
            .slots
            .iter()
            .filter(|slot| slot.host == host)
            .count();
        let whole = blocks.len() == here && blocks.iter().all(|&b| placement.slot(b).host == host);
        (whole && here > 1 && here < placement.slots.len()).then(|| self.host(blocks))
    }

    /// Formats where a rule holds. A place is the list of its blocks, and `which` is "each" or
    /// "one".
    ///
    /// If a place has several blocks, all places are shown as hosts: "on `node1`", "on one of
    /// `node1`, `node2`", or for more than four "on one of 7 hosts". Otherwise all places are shown
    /// as OS processes: "in OS process 3", "in one of OS processes 2-4", or "in one OS process" if
    /// these are all.
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
            n if n == self.numbers.placement.os_process_of.len() => {
                format!("in {which} OS process")
            }
            0 | 1 => format!("in {}", self.os_processes(&blocks)),
            _ => format!("in {which} of {}", self.os_processes(&blocks)),
        }
    }

    /// Describes the constraints that were written at one position, separated by semicolons. Pins
    /// come first, and those to the same blocks are described together. Of more than three
    /// descriptions, only the first two and the number of the others are shown.
    fn describe(&self, constraints: &[&Constraint]) -> String {
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
                    said.push(format!("{} must be together", self.names(vertices)));
                }
                Constraint::Apart { vertices, places } => {
                    let list = self.names(vertices);
                    said.push(match &places[..] {
                        [] => format!("{list} must be apart"),
                        _ => format!("no two of {list} may be {}", self.there("one", places)),
                    });
                }
                Constraint::Memory { blocks, most } => {
                    let (host, most) = (self.host(blocks), size(*most));
                    said.push(format!("{host} has {most} of memory"));
                }
                Constraint::Prefer { vertices, .. } => {
                    said.push(format!("{} should be together", self.names(vertices)));
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
                    let list = self.names(vertices);
                    let place = self.there("each", places);
                    let be = if *least == 0 { "may" } else { "must" };
                    said.push(format!("{many} of {list} {be} be {place}"));
                }
            }
        }
        let pins = pinned.iter().map(|(blocks, vertices)| {
            let place = match self.whole_host(blocks) {
                Some(host) => format!("on {host}"),
                None if blocks.len() > 1 => format!("in one of {}", self.os_processes(blocks)),
                None => format!("in {}", self.os_processes(blocks)),
            };
            format!("{} must be {place}", self.names(vertices))
        });
        let all: Vec<String> = pins.chain(said).collect();
        match all.len() {
            0..=3 => all.join("; "),
            n => format!("{}; and {} more", all[..2].join("; "), n - 2),
        }
    }
}

pub(crate) fn process(vertex: u32) -> ProcessId {
    ProcessId::from_index(vertex as usize)
}

/// Formats a list: "a, b and c". One item is returned unchanged, and no item gives an empty text.
fn listed(all: &[String]) -> String {
    match all {
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        _ => all.concat(),
    }
}

/// Formats a number of bytes with the largest of the units T, G, M and K (powers of 1024) that
/// divides it, such as "64G". Without such a unit, and for 0, the result is like "1000 bytes".
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
