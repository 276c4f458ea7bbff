//! The warning that the balance limit was raised, with its reason in terms of the graph.

use crate::codes;
use crate::failure::{Reporter, process};
use graphmap_kpn::diagnostic::Diagnostic;
use graphmap_kpn::source::Span;
use graphmap_partition::{Constraint, Problem, Solution};
use std::collections::BTreeMap;

/// Returns the warning ([`codes::IMBALANCE`]) that the balance limit was raised. It says how far
/// the fullest block is above its share, and whether that is proved to be unavoidable.
///
/// `imbalance` is the requested limit, where 0.03 is 3%. `what` names the result ("mapping"), and
/// `block` one of its parts ("OS process").
pub(crate) fn raised(
    solution: &Solution,
    imbalance: f64,
    (what, block): (&str, &str),
) -> Diagnostic {
    let percent = (imbalance * 1e6).round() / 1e4;
    let how = match solution.unavoidable {
        true => format!("no {what} keeps the balance limit of {percent}%"),
        false => format!("no {what} within the balance limit of {percent}% was found"),
    };
    let over = (solution.evaluation.balance * 1000.0 - 1000.0).round() / 10.0;
    let message = format!("{how}: the fullest {block} is {over}% above its even share");
    let diagnostic = Diagnostic::warning(codes::IMBALANCE, message);
    match solution.unavoidable {
        true => diagnostic,
        false => {
            diagnostic.with_note("it is not proved that none exists; more `--time` may find one")
        }
    }
}

impl Reporter<'_> {
    /// Adds the reason and a help text to the warning. The reason is a heavy process, or a group
    /// that must be together, and otherwise only the limits. Notes name the OS processes whose
    /// limit was raised, and the limit of the others.
    pub(crate) fn why_raised(
        &self,
        diagnostic: Diagnostic,
        problem: &Problem<'_>,
        solution: &Solution,
    ) -> Diagnostic {
        let processes = || self.numbers.network.processes.values();
        let total: f64 = processes().map(|p| p.load).sum();
        let unit = total / (problem.graph.total_load() as f64).max(1.0);
        let (wanted, limits) = (problem.load_bounds(), &solution.limits);
        let largest = |blocks: &[u32]| {
            let bounds = blocks.iter().map(|&b| limits.bounds[b as usize]);
            let of = |bound: Option<u64>| limit(bound.unwrap_or(0) as f64 * unit);
            let (least, most) = (of(bounds.clone().min()), of(bounds.max()));
            match least == most {
                true => most,
                // Limits differ because the OS processes have different speeds.
                false => format!("{least} to {most}"),
            }
        };
        let blocks = 0..wanted.len() as u32;
        let (raised, others): (Vec<u32>, Vec<u32>) =
            blocks.partition(|&b| limits.bounds[b as usize] > wanted[b as usize]);
        let most = wanted.iter().max().copied().unwrap_or(0) as f64 * unit;
        let heaviest = processes().max_by(|a, b| a.load.total_cmp(&b.load));
        if let Some((span, vertices)) = self.heaviest_group(problem) {
            let load: f64 = vertices
                .iter()
                .map(|&v| self.numbers.network.processes[process(v)].load)
                .sum();
            // The group is the reason even if it consists of one heavy process and some light ones.
            if load > most && heaviest.is_some_and(|p| load > p.load) {
                let (load, most) = (limit(load), limit(most));
                let list = self.names(&vertices);
                let said = format!(
                    "{list} must be together; their load is {load}, but the balance limit is {most}"
                );
                let diagnostic = match span {
                    Span::NONE => diagnostic.with_note(said),
                    span => diagnostic.at(span, said),
                };
                let note = format!(
                    "the other OS processes may have a load of at most {} each",
                    largest(&others)
                );
                let diagnostic = match others.is_empty() {
                    true => diagnostic,
                    false => diagnostic.with_note(note),
                };
                return diagnostic
                    .help("use fewer OS processes, or remove the rule that keeps these processes together");
            }
        }
        if let Some(process) = heaviest.filter(|p| p.load > most) {
            let (load, most) = (process.load, limit(most));
            let label = format!("its load is {load}, but the balance limit is {most}");
            let diagnostic = diagnostic.at(process.span, label);
            let note = self.note_on_heavy(problem, solution, (&raised, &others), &largest);
            let diagnostic = note.into_iter().fold(diagnostic, Diagnostic::with_note);
            return diagnostic
                .help("use fewer OS processes, or divide its work among several processes");
        }
        match (raised.is_empty(), others.is_empty()) {
            (true, _) => diagnostic
                .with_note(format!("an OS process may have a load of at most {}", largest(&others)))
                .help("use fewer OS processes, or remove a rule that keeps processes together"),
            (false, true) => diagnostic
                .with_note(format!(
                    "because of constraints or uneven loads, an OS process may have a load of {} instead of {}",
                    largest(&raised),
                    limit(most)
                ))
                .help(
                    "use fewer OS processes, remove a constraint, or use a larger `--imbalance`",
                ),
            (false, false) => diagnostic
                .with_note(format!(
                    "because of constraints or memory, {} may have a load of up to {}; the others \
                     may have at most {} each",
                    self.os_processes(&raised),
                    largest(&raised),
                    largest(&others)
                ))
                .help(
                    "use fewer OS processes, or remove a constraint",
                ),
        }
    }

    /// Returns the heaviest group of processes that rules keep together, and the position of the
    /// first rule about this group. Returns `None` if no rule keeps processes together. Of equally
    /// heavy groups, returns the one whose rule comes first.
    fn heaviest_group(&self, problem: &Problem<'_>) -> Option<(Span, Vec<u32>)> {
        let group = problem.groups();
        let mut loads = vec![0; group.len()];
        for (v, &g) in (0..).zip(&group) {
            loads[g as usize] += problem.graph.load(v);
        }
        let rules = problem.constraints.iter().zip(&self.rules.spans).rev();
        let joined = rules.filter_map(|(constraint, &span)| match constraint {
            Constraint::Together { vertices } => Some((span, group[*vertices.first()? as usize])),
            _ => None,
        });
        let (span, heaviest) = joined.max_by_key(|&(_, g)| loads[g as usize])?;
        let members = (0..).zip(&group).filter(|&(_, &g)| g == heaviest);
        Some((span, members.map(|(v, _)| v).collect()))
    }

    /// Returns a note on the OS processes that heavy processes occupy and on the limits of the
    /// others.
    ///
    /// `raised` contains the blocks whose limit was raised, and `others` the other blocks.
    /// `largest` formats the limits of some blocks. Returns `None` if no process is that heavy, and
    /// `raised` or `others` is empty.
    fn note_on_heavy(
        &self,
        problem: &Problem<'_>,
        solution: &Solution,
        (raised, others): (&[u32], &[u32]),
        largest: &dyn Fn(&[u32]) -> String,
    ) -> Option<String> {
        let (graph, limits) = (problem.graph, &solution.limits);
        // For each OS process: its load that the limits do not count, and its heaviest process.
        let mut heavy = BTreeMap::new();
        for (v, &b) in (0..).zip(&solution.block_of) {
            let (count, heaviest) = heavy.entry(b).or_insert((0, v));
            *count += i128::from(graph.load(v)) - i128::from(limits.load(graph, v));
            if graph.load(v) > graph.load(*heaviest) {
                *heaviest = v;
            }
        }
        heavy.retain(|_, (more, _)| *more > 0);
        let free = |blocks: &[u32]| -> Vec<u32> {
            let blocks = blocks.iter().filter(|b| !heavy.contains_key(b));
            blocks.copied().collect()
        };
        let names: Vec<u32> = heavy.values().map(|&(_, v)| v).collect();
        let takes = match names.len() {
            0 if raised.is_empty() || others.is_empty() => return None,
            0 => {
                return Some(format!(
                    "only {} may have a larger load, up to {}; the others may have at most {} each",
                    self.os_processes(raised),
                    largest(raised),
                    largest(others)
                ));
            }
            1 => "it occupies one OS process".to_owned(),
            _ => format!("{} occupy one OS process each", self.names(&names)),
        };
        Some(match (free(raised), free(others)) {
            (raised, others) if raised.is_empty() && others.is_empty() => takes,
            (raised, others) if raised.is_empty() || others.is_empty() => format!(
                "{takes}; the others share the remaining load, at most {} each",
                largest(&[raised, others].concat())
            ),
            (raised, others) => format!(
                "{takes}; {} may have a load of up to {}, and the others at most {} each",
                self.os_processes(&raised),
                largest(&raised),
                largest(&others)
            ),
        })
    }
}

/// Formats a limit of loads with two decimals, and with more below 0.1, to show three digits of it.
/// The maximum is 12 decimals, also for 0.
fn limit(most: f64) -> String {
    let places = if most < 0.1 {
        2.0 - most.log10().floor()
    } else {
        2.0
    };
    format!("{most:.*}", places.clamp(2.0, 12.0) as usize)
}
