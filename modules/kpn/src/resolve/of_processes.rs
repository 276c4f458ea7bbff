//! Arguments of processes.

use crate::arena::Id;
use crate::arguments::{Argument, ArgumentList, GivenArgument, Value, given_value};
use crate::codes;
use crate::declared::ArgumentsDecl;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::nearest::nearest;
use crate::network::{KindId, Network, ProcessId};
use rustc_hash::{FxHashMap, FxHashSet};

/// Sets the arguments of processes and the parameters of kinds. `process_of` has the process of
/// each node. Reports nodes of one process with different arguments, and processes of one kind with
/// different parameters, once for each kind. Then replaces the given values, first of kinds, then
/// of single processes.
pub(super) fn arguments(
    network: &mut Network,
    all: Vec<ArgumentsDecl>,
    process_of: &[ProcessId],
    given: &[GivenArgument],
    diagnostics: &mut Diagnostics,
) {
    let mut reported: FxHashSet<KindId> = FxHashSet::default();
    let mut of_process: FxHashMap<ProcessId, usize> = FxHashMap::default();
    let mut first: FxHashMap<KindId, usize> = FxHashMap::default();
    for (at, one) in all.iter().enumerate() {
        let process = process_of[one.node.index()];
        let kind = network.processes[process].kind;
        let values: Vec<Value> = one
            .list
            .arguments
            .iter()
            .filter_map(|argument| match argument {
                Argument::Value(value) => Some(value.clone()),
                Argument::Formula(_) => None,
            })
            .collect();
        let other = *first.entry(kind).or_insert(at);
        if all[other].list.parameters != one.list.parameters && reported.insert(kind) {
            diagnostics.push(differ(network, kind, &one.list, &all[other].list));
        }
        if let Some(&before) = of_process.get(&process)
            && network.arguments.get(&process) != Some(&values)
        {
            let name = network.process_name(process);
            let message = format!("two nodes of the process `{name}` have different arguments");
            diagnostics.push(
                Diagnostic::error(codes::PARAMETERS_DIFFER, message)
                    .at(one.list.span, "one node")
                    .also(all[before].list.span, "the other node")
                    .help("set `args=` on one of its nodes only"),
            );
        }
        of_process.insert(process, at);
        network.arguments.insert(process, values);
        network
            .parameters
            .entry(kind)
            .or_insert_with(|| one.list.parameters.clone());
    }
    for (&kind, &at) in &first {
        let mut members = network.kinds[kind].members.iter();
        let without = members.find(|member| !of_process.contains_key(member));
        if let Some(&process) = without
            && reported.insert(kind)
        {
            let name = network.process_name(process);
            let of = network.name(network.kinds[kind].name);
            let message =
                format!("`{name}` has no arguments, but other processes of kind `{of}` have");
            diagnostics.push(
                Diagnostic::error(codes::PARAMETERS_DIFFER, message)
                    .at(network.processes[process].span, "this process")
                    .also(all[at].list.span, "arguments of another")
                    .help("set `params=` and `args=` on all nodes of the kind"),
            );
        }
    }
    let (of_kinds, of_processes): (Vec<_>, Vec<_>) =
        (given.iter()).partition(|one| kind_named(network, &one.of).is_some());
    for one in of_kinds.into_iter().chain(of_processes) {
        if let Err(error) = replace(network, one) {
            diagnostics.push(*error);
        }
    }
}

fn differ(network: &Network, kind: KindId, one: &ArgumentList, other: &ArgumentList) -> Diagnostic {
    let name = network.name(network.kinds[kind].name);
    let message = format!("processes of kind `{name}` have different parameters");
    Diagnostic::error(codes::PARAMETERS_DIFFER, message)
        .at(one.parameters_span, "one of them")
        .also(other.parameters_span, "another")
        .help("set the same `params=` on all nodes of the kind, or `kind=` on some of them")
}

fn kind_named(network: &Network, name: &str) -> Option<KindId> {
    let mut kinds = network.kinds.iter();
    kinds.find_map(|(id, kind)| (network.name(kind.name) == name).then_some(id))
}

/// Number of processes that an unknown name is compared with.
const COMPARED: usize = 10_000;

/// Returns the error that neither a kind nor a process has the name, with a similar name or the
/// kinds that have parameters.
fn unknown(network: &Network, given: &GivenArgument) -> Diagnostic {
    let GivenArgument { of, parameter, .. } = given;
    let message =
        format!("`{of}` is neither a kind nor a process, but `-A` sets its `{parameter}`");
    let error = Diagnostic::error(codes::BAD_ARGUMENT, message);
    let has_parameters = |id: &KindId| network.parameters.contains_key(id);
    let kinds = network.kinds.ids().filter(has_parameters);
    let kinds: Vec<&str> = kinds
        .map(|id| network.name(network.kinds[id].name))
        .collect();
    let all: Vec<String> = kinds.iter().map(|kind| format!("`{kind}`")).collect();
    let processes = network.processes.values().take(COMPARED);
    let processes = processes.filter(|process| has_parameters(&process.kind));
    let names = processes.map(|process| network.name(process.name));
    match nearest(of, kinds.iter().copied().chain(names)) {
        Some(near) => error.help(format!("did you mean `{near}`?")),
        None if all.is_empty() => error.help("no kind has parameters"),
        None => error.help(format!("the kinds with parameters are {}", all.join(", "))),
    }
}

/// Replaces the argument of a process, or of all processes of a kind.
fn replace(network: &mut Network, given: &GivenArgument) -> Result<(), Box<Diagnostic>> {
    let GivenArgument {
        of,
        parameter,
        value,
    } = given;
    let members = match kind_named(network, of) {
        Some(kind) => network.kinds[kind].members.clone(),
        None => network
            .processes
            .ids()
            .filter(|&process| network.process_name(process) == of)
            .collect(),
    };
    let Some(&first) = members.first() else {
        return Err(Box::new(unknown(network, given)));
    };
    let kind = network.processes[first].kind;
    let parameters = network.parameters.get(&kind);
    let parameters = parameters.map_or(&[][..], |parameters| parameters);
    let Some(at) = parameters.iter().position(|known| known.name == *parameter) else {
        let message = format!("`{of}` has no parameter `{parameter}`");
        let mut error = Diagnostic::error(codes::BAD_ARGUMENT, message);
        if !parameters.is_empty() {
            let names: Vec<&str> = parameters.iter().map(|known| &*known.name).collect();
            error = error.help(format!("its parameters are {}", names.join(", ")));
        }
        return Err(Box::new(error));
    };
    let value = given_value(&parameters[at], value)?;
    for process in members {
        if let Some(known) = network
            .arguments
            .get_mut(&process)
            .and_then(|all| all.get_mut(at))
        {
            *known = value.clone();
        }
    }
    Ok(())
}
