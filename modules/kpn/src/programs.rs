//! Programs of processes: the executables that `program=` names.
//!
//! Processes without `program=` belong to the default program, which the launch names. An OS
//! process runs one program.

use crate::arena::Id;
use crate::codes;
use crate::declared::{Constraint, ConstraintTarget};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::mapping::{Mapped, Mapping};
use crate::network::{Network, ProcessId};
use crate::source::Span;

/// The program of a process, and the position where it is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Program<'n> {
    /// Name of the executable, as written. `None` is the default program.
    pub name: Option<&'n str>,
    /// Position of `program=`, or of the process if it has none.
    pub span: Span,
}

impl Program<'_> {
    /// Returns the name in backticks, or words for the default program.
    pub fn shown(&self) -> String {
        shown(self.name)
    }
}

/// Returns a program in backticks, or words for the default program.
pub fn shown(program: Option<&str>) -> String {
    program.map_or("the default program".to_owned(), |name| format!("`{name}`"))
}

/// Returns true if a process of the network has `program=`.
pub fn has_any(network: &Network) -> bool {
    let mut constraints = network.constraints.iter();
    constraints.any(|c| matches!(c.declared.constraint, Constraint::Program(_)))
}

/// Returns the index in [`Network::constraints`] of the `program=` of each process, in the order of
/// ranks. An entry is `None` for the default program.
///
/// The value of a process takes precedence over the values of its modules. The innermost module
/// with a value takes precedence over the others. Of several values of one process, the first is
/// used.
pub fn constraints(network: &Network) -> Vec<Option<usize>> {
    let mut of: Vec<Option<usize>> = vec![None; network.processes.len()];
    // Modules inside others have larger indices.
    let depth = |index: usize| match network.constraints[index].declared.target {
        ConstraintTarget::Node(_) => usize::MAX,
        ConstraintTarget::Module(module) => module.index(),
    };
    for (index, constraint) in network.constraints.iter().enumerate() {
        if !matches!(constraint.declared.constraint, Constraint::Program(_)) {
            continue;
        }
        for process in &constraint.processes {
            let known = &mut of[process.index()];
            if known.is_none_or(|known| depth(index) > depth(known)) {
                *known = Some(index);
            }
        }
    }
    of
}

/// Returns the program of each process, in the order of ranks.
pub fn of_processes(network: &Network) -> Vec<Program<'_>> {
    let of = constraints(network).into_iter();
    let of = of.zip(network.processes.values());
    of.map(|(index, process)| {
        let constraint = index.map(|index| &network.constraints[index].declared);
        match constraint.map(|c| (&c.constraint, c.span)) {
            Some((Constraint::Program(name), span)) => Program {
                name: Some(name),
                span,
            },
            _ => Program {
                name: None,
                span: process.span,
            },
        }
    })
    .collect()
}

/// Returns the program of each OS process of a mapping. An OS process without processes has the
/// program of the one before it, or of the one after it if it is among the first.
///
/// # Errors
/// `G0477` if processes of different programs are in one OS process. The diagnostic names the first
/// such pair.
pub fn of_os_processes<'n>(
    network: &'n Network,
    mapping: &Mapping,
) -> Result<Vec<Option<&'n str>>, Box<Diagnostic>> {
    let count = mapping.bindings.len();
    if !has_any(network) {
        return Ok(vec![None; count]);
    }
    let programs = of_processes(network);
    let mut first: Vec<Option<usize>> = vec![None; count];
    for (rank, number) in mapping.numbers().enumerate() {
        let before = *first[number as usize].get_or_insert(rank);
        if programs[before].name != programs[rank].name {
            let [one, other] =
                [before, rank].map(|r| network.process_name(ProcessId::from_index(r)));
            let (mine, its) = (programs[before], programs[rank]);
            let message = format!(
                "OS process {number} has the processes `{one}` and `{other}`, which run different \
                 programs"
            );
            return Err(Box::new(
                Diagnostic::error(codes::PROGRAMS_TOGETHER, message)
                    .at(its.span, format!("`{other}` runs {}", its.shown()))
                    .also(mine.span, format!("`{one}` runs {}", mine.shown()))
                    .help(match count {
                        1 => "map onto as many OS processes as there are programs, or more, with `-n`",
                        _ => "map again with `graphmap partition`, which keeps programs apart",
                    }),
            ));
        }
    }
    let known = |rank: &Option<usize>| rank.map(|rank| programs[rank].name);
    let mut last = first.iter().find_map(known).unwrap_or_default();
    Ok(first
        .iter()
        .map(|rank| {
            last = known(rank).unwrap_or(last);
            last
        })
        .collect())
}

/// Returns the program of each OS process of a mapped network, as [`of_os_processes`] does.
///
/// # Errors
/// As for [`of_os_processes`].
pub fn of_mapped(mapped: &Mapped) -> Result<Vec<Option<&str>>, Box<Diagnostic>> {
    of_os_processes(mapped.network(), mapped.mapping())
}

/// Reports processes with two programs, and kinds whose processes have different programs
/// (`G0476`). There is at most one diagnostic for each process and each kind.
pub(crate) fn verify(network: &Network, diagnostics: &mut Diagnostics) {
    if !has_any(network) {
        return;
    }
    let used = constraints(network);
    for (index, constraint) in network.constraints.iter().enumerate() {
        let declared = &constraint.declared;
        let (Constraint::Program(its), ConstraintTarget::Node(_)) =
            (&declared.constraint, declared.target)
        else {
            continue;
        };
        for process in &constraint.processes {
            let first = used[process.index()].filter(|used| *used != index);
            let Some(first) = first.map(|first| &network.constraints[first].declared) else {
                continue;
            };
            if first.constraint != declared.constraint {
                let name = network.process_name(*process);
                let message = format!("process `{name}` has two programs");
                let diagnostic = Diagnostic::error(codes::PROGRAMS_OF_KIND, message)
                    .at(declared.span, format!("`{its}` here"))
                    .also(first.span, "another program here")
                    .help("set one `program=` for the process");
                diagnostics.push(diagnostic);
            }
        }
    }
    let programs = of_processes(network);
    for kind in network.kinds.values() {
        let Some((one, rest)) = kind.members.split_first() else {
            continue;
        };
        let mine = programs[one.index()];
        let differs = |p: &&ProcessId| programs[p.index()].name != mine.name;
        let Some(other) = rest.iter().find(differs) else {
            continue;
        };
        let its = programs[other.index()];
        let name = network.name(kind.name);
        let label = |process: ProcessId, program: Program<'_>| {
            format!(
                "`{}` runs {}",
                network.process_name(process),
                program.shown()
            )
        };
        diagnostics.push(
            Diagnostic::error(
                codes::PROGRAMS_OF_KIND,
                format!("processes of kind `{name}` have different programs"),
            )
            .at(its.span, label(*other, its))
            .also(mine.span, label(*one, mine))
            .help("set the same `program=` for all of them, or another `kind=`"),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::breaks::read;
    use crate::declared::{ConstraintDecl, ModuleId};
    use crate::diagnostic::Severity;
    use crate::mapping::{Binding, OsProcessId};
    use crate::network::NetworkConstraint;

    fn network(constraints: &str) -> Result<Network, Vec<String>> {
        let text = format!(
            r#"{{"graphmap": 1, "modules": [{{"name": "m", "kind": "m"}}],
            "processes": [{{"name": "a", "module": 0}}, {{"name": "b", "module": 0}},
                {{"name": "w1", "kind": "w"}}, {{"name": "w2", "kind": "w"}}],
            "channels": [], "constraints": [{constraints}]}}"#
        );
        let messages = |found: Diagnostics| {
            let errors = found.into_iter().filter(|d| d.severity == Severity::Error);
            errors.map(|d| d.message).collect()
        };
        read(&text).map(|v| (*v).clone()).map_err(messages)
    }

    fn names(network: &Network) -> Vec<Option<&str>> {
        of_processes(network).iter().map(|p| p.name).collect()
    }

    #[test]
    fn the_program_of_a_process_takes_precedence_over_its_module() {
        let mut network = network(r#"{"processes": ["b"], "program": "own"}"#).unwrap();
        network.constraints.push(NetworkConstraint {
            declared: ConstraintDecl {
                target: ConstraintTarget::Module(ModuleId::from_index(0)),
                constraint: Constraint::Program("all".to_owned()),
                span: Span::NONE,
            },
            processes: vec![ProcessId::from_index(0), ProcessId::from_index(1)],
        });
        let known = [Some("all"), Some("own"), None, None];
        assert_eq!(names(&network), known);
        // The written network has the same programs without the module.
        let again = read(&crate::json::write(&network, None)).unwrap();
        assert_eq!(names(&again), known);
    }

    #[test]
    fn a_kind_with_two_programs_is_an_error() {
        let of_kind = "processes of kind `w` have different programs".to_owned();
        for constraints in [
            r#"{"processes": ["w1"], "program": "x"}"#,
            r#"{"processes": ["w1"], "program": "x"}, {"processes": ["w2"], "program": "y"}"#,
        ] {
            assert_eq!(
                network(constraints).unwrap_err(),
                std::slice::from_ref(&of_kind)
            );
        }
        let twice = r#"{"processes": ["a"], "program": "x"}, {"processes": ["a"], "program": "y"}"#;
        assert_eq!(
            network(twice).unwrap_err(),
            ["process `a` has two programs"]
        );
        let same = r#"{"processes": ["a"], "program": "x"}, {"processes": ["a"], "program": "x"}"#;
        network(same).unwrap();
    }

    #[test]
    fn an_os_process_has_one_program() {
        let network = network(r#"{"processes": ["w1", "w2"], "program": "w"}"#).unwrap();
        let of = |numbers: [usize; 4]| {
            let mapping = Mapping {
                os_process: numbers.map(OsProcessId::from_index).to_vec(),
                bindings: (0..4).map(|_| Binding::default()).collect(),
                strategy: String::new(),
            };
            of_os_processes(&network, &mapping).map_err(|d| d.message)
        };
        // OS processes 0 and 2 are empty.
        assert_eq!(
            of([3, 3, 1, 1]),
            Ok(vec![Some("w"), Some("w"), Some("w"), None])
        );
        assert_eq!(of([0, 1, 2, 3]), Ok(vec![None, None, Some("w"), Some("w")]));
        let message = "OS process 0 has the processes `a` and `w1`, which run different programs";
        assert_eq!(of([0, 1, 0, 2]), Err(message.to_owned()));
    }
}
