//! Ports that are missing at the first and the last instance, which `step=` does not reach.

use crate::codes;
use crate::declared::{Direction, ModuleId};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::network::{Join, Kind, KindPort, Network, PortId, ProcessId};
use crate::source::Span;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// A port of a kind, and the processes of the kind that lack it.
pub(super) struct Lack<'n> {
    pub(super) kind: &'n Kind,
    pub(super) port: &'n KindPort,
    /// Not empty, in the order of ranks.
    pub(super) lacking: Vec<ProcessId>,
    /// The port in a process that has it.
    pub(super) example: PortId,
}

impl<'n> Lack<'n> {
    /// Returns a port of a kind with the processes of the kind that lack it. At least one must lack
    /// it. `example` is the port in a process that has it.
    pub(super) fn of(
        network: &Network,
        kind: &'n Kind,
        port: &'n KindPort,
        example: PortId,
    ) -> Lack<'n> {
        let lacks = |&&p: &&ProcessId| network.port(p, port.name).is_none();
        let lacking = kind.members.iter().filter(lacks).copied().collect();
        Lack {
            kind,
            port,
            lacking,
            example,
        }
    }

    /// Returns a text such as "`c4` has no port `out`". It names the first process that lacks the
    /// port, and states the number of the others. Panics if no process lacks the port.
    fn description(&self, network: &Network) -> String {
        let first = network.process_name(self.lacking[0]);
        let port = network.name(self.port.name);
        match self.lacking.len() - 1 {
            0 => format!("`{first}` has no port `{port}`"),
            more => format!("`{first}` and {more} more have no port `{port}`"),
        }
    }
}

/// Missing ports by the span of the edge with `step=`: the output of its writers, and the input of
/// its readers.
#[derive(Default)]
pub(super) struct ChainEnds<'n>(BTreeMap<Span, [Option<Lack<'n>>; 2]>);

impl<'n> ChainEnds<'n> {
    /// Stores a port that is missing at an end of a chain: at the first or the last instance of a
    /// repeated module or node that `step=` joins.
    ///
    /// # Errors
    /// Returns the port if the cause is not a chain, or if another port is stored for the same side
    /// of the edge.
    pub(super) fn take(&mut self, network: &Network, lack: Lack<'n>) -> Result<(), Lack<'n>> {
        let Some(span) = stepping_edge(network, &lack) else {
            return Err(lack);
        };
        let side = match lack.port.direction {
            Direction::Output => 0,
            Direction::Input => 1,
        };
        let slot = &mut self.0.entry(span).or_default()[side];
        match slot {
            // Another port is missing at the same side of the edge.
            Some(_) => Err(lack),
            None => {
                *slot = Some(lack);
                Ok(())
            }
        }
    }

    /// Reports each edge with ports missing at both sides in equal numbers of processes.
    ///
    /// Returns all other ports. If only one side lacks ports, the other side is joined to another
    /// process, so that `beyond=NULL` or `wrap=true` does not help.
    pub(super) fn report(self, network: &Network, diagnostics: &mut Diagnostics) -> Vec<Lack<'n>> {
        let mut others = Vec::new();
        for (span, sides) in self.0 {
            match sides {
                [Some(out), Some(input)] if out.lacking.len() == input.lacking.len() => {
                    diagnostics.push(both_ends_missing(network, span, &out, &input));
                }
                sides => others.extend(sides.into_iter().flatten()),
            }
        }
        others
    }
}

fn both_ends_missing(
    network: &Network,
    span: Span,
    out: &Lack<'_>,
    input: &Lack<'_>,
) -> Diagnostic {
    let message = format!(
        "{} and {}: `step=` leads to no instance there",
        out.description(network),
        input.description(network)
    );
    let process = |lack: &Lack<'_>| lack.lacking[0];
    let span_of = |lack: &Lack<'_>| network.processes[process(lack)].span;
    let [end, start] = [out, input].map(|lack| network.process_name(process(lack)));
    let diagnostic = Diagnostic::error(codes::PORT_MISSING, message)
        .at(span, "joins no instance beyond the first or the last");
    let diagnostic = match span_of(input) == span_of(out) {
        true => {
            let label = format!("no step leads from `{end}` or to `{start}`");
            diagnostic.also(span_of(out), label)
        }
        false => diagnostic
            .also(span_of(out), format!("no step leads from `{end}`"))
            .also(span_of(input), format!("no step leads to `{start}`")),
    };
    diagnostic
        .help("add `beyond=NULL` to the edge to close these ports from the start")
        .help("or add `wrap=true` to the edge to join the last instance to the first; add `initial=` tokens to start such a ring")
}

/// Returns the span of the edge that joins the port, if the edge leads from one instance of a node
/// or module to another.
///
/// The processes that lack the port must be instances of the same node as the process that has it.
/// Returns `None` otherwise, if the process has no position, and if the port is not joined to a
/// single channel.
fn stepping_edge(network: &Network, lack: &Lack<'_>) -> Option<Span> {
    let node = |process: ProcessId| network.processes[process].span;
    let process = network.ports[lack.example].process;
    let of_node = |&other: &ProcessId| node(other) == node(process);
    if node(process).is_none() || !lack.lacking.iter().all(of_node) {
        return None;
    }
    // A bundle has several channels, so a single edge does not explain the missing port.
    let Join::Channel(channel) = network.ports[lack.example].join else {
        return None;
    };
    let [writer, reader] = [network.writer(channel), network.reader(channel)];
    let span = |&module: &ModuleId| network.modules[module].span;
    let steps = || {
        let around: FxHashMap<Span, ModuleId> = modules(network, writer)
            .map(|module| (span(&module), module))
            .collect();
        let mut others = modules(network, reader);
        others.any(|other| around.get(&span(&other)).is_some_and(|&one| one != other))
    };
    let steps = writer != reader && (node(writer) == node(reader) || steps());
    steps.then_some(network.channels[channel].span)
}

/// Returns the modules that contain a process, innermost first. Panics if the process does not
/// exist.
fn modules(network: &Network, process: ProcessId) -> impl Iterator<Item = ModuleId> {
    let innermost = network.processes[process].module;
    std::iter::successors(innermost, |&module| network.modules[module].parent)
}
