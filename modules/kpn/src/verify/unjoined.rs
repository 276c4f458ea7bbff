//! Missing joins: ports that some processes of a kind lack, and processes without channels.
//!
//! An error in a repeated module can occur a million times. Therefore the diagnostics contain a few
//! examples and a count. The time is linear.

use super::chain_ends::{ChainEnds, Lack};
use crate::arena::Id;
use crate::codes;
use crate::declared::{Direction, ModuleId};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::infer::Members;
use crate::nearest::nearest;
use crate::network::{Network, ProcessId};
use crate::source::{Source, Span};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// Number of processes that are reported singly for each missing port.
const EXAMPLES: usize = 3;

/// Number of ports of a kind, and of processes without a channel, that are reported singly.
const MOST: usize = 10;

/// Number of processes that lack a port and are compared with others by name.
const SEARCHES: usize = 100;

/// Number of names that a misspelt name is compared with.
const COMPARED: usize = 10_000;

/// Reports ports of kinds that some processes of the kind lack, at most [`MOST`] ports of each
/// kind. A note states the number of the other ports.
///
/// `members` contains the entries of the ports of all kinds, in order.
pub(super) fn ports(network: &Network, members: &[Members], diagnostics: &mut Diagnostics) {
    let mut chain_ends = ChainEnds::default();
    let mut lacks: BTreeMap<usize, (Vec<Lack>, usize)> = BTreeMap::new();
    let mut of_all = members;
    for (id, kind) in network.kinds.iter() {
        let (members, rest) = of_all.split_at(kind.ports.len());
        of_all = rest;
        let ports = kind.ports.iter().zip(members);
        let mut lacking = ports.filter(|(_, here)| (here.count as usize) < kind.members.len());
        let reported: Vec<_> = lacking.by_ref().take(MOST).collect();
        let more = lacking.count();
        for (port, members) in reported {
            let lack = Lack::of(network, kind, port, members.example);
            // With so large a number of missing ports, the cause is not the end of a chain.
            let lack = if more > 0 {
                Err(lack)
            } else {
                chain_ends.take(network, lack)
            };
            if let Err(lack) = lack {
                lacks
                    .entry(id.index())
                    .or_insert((Vec::new(), more))
                    .0
                    .push(lack);
            }
        }
    }
    for lack in chain_ends.report(network, diagnostics) {
        let kind = network.processes[lack.lacking[0]].kind;
        lacks.entry(kind.index()).or_default().0.push(lack);
    }
    let mut searches = SEARCHES;
    for (of_kind, more) in lacks.into_values() {
        let (of_graphs, of_kind): (Vec<Lack<'_>>, Vec<Lack<'_>>) =
            (of_kind.into_iter()).partition(|lack| is_of_two_graphs(network, lack));
        if let Some(first) = of_graphs.first() {
            // The note on the last lack of the kind counts the ports beyond the limit.
            let beyond = if of_kind.is_empty() { more } else { 0 };
            let more = of_graphs.len() - 1 + beyond;
            diagnostics.push(kind_of_two_graphs(network, first, more));
        }
        for (i, lack) in of_kind.iter().enumerate() {
            let note = (more > 0 && i + 1 == of_kind.len()).then(|| {
                let name = network.name(lack.kind.name);
                format!("not shown: {more} more ports that some processes of kind `{name}` lack")
            });
            port_missing(network, lack, note, &mut searches, diagnostics);
        }
    }
}

/// Returns true if a port is in one graph, and all processes that lack it are in other ones.
fn is_of_two_graphs(network: &Network, lack: &Lack<'_>) -> bool {
    let graph = |process: ProcessId| {
        let source = network.sources.source(network.processes[process].span);
        source.map(Source::base)
    };
    let has = graph(network.ports[lack.example].process);
    has.is_some()
        && (lack.lacking.iter()).all(|&other| graph(other).is_some_and(|g| Some(g) != has))
}

/// Returns the diagnostic for a kind that two graphs use with different ports, of which one
/// includes the other, or both are included. `more` is the number of further ports that differ.
fn kind_of_two_graphs(network: &Network, lack: &Lack<'_>, more: usize) -> Diagnostic {
    let kind = network.name(lack.kind.name);
    let port = network.name(lack.port.name);
    let lacking = lack.lacking[0];
    let example = network.process_name(network.ports[lack.example].process);
    let message = format!(
        "`{}` has no port `{port}`, but `{example}` of another graph, which is of the same kind \
         `{kind}`, has it",
        network.process_name(lacking)
    );
    let error = Diagnostic::error(codes::PORT_MISSING, message)
        .at(network.processes[lacking].span, "no edge joins the port")
        .also(lack.port.span, format!("`{example}` has it"))
        .help(format!(
            "if they run different functions, rename the kind where a graph is included: \
             `kinds=\"{kind}=...\"` at the node with `use=`"
        ))
        .help("otherwise give the processes of both graphs the same ports");
    match more {
        0 => error,
        1 => error.with_note("not shown: 1 more port in which they differ"),
        more => error.with_note(format!("not shown: {more} more ports in which they differ")),
    }
}

/// Reports the processes of a kind that lack a port. If fewer processes have the port than lack it,
/// this is one diagnostic. Otherwise it is one for each process, at most [`EXAMPLES`].
///
/// `note` is added to the last diagnostic. `searches` is the number of further searches for
/// misspelt names, and is decreased.
fn port_missing(
    network: &Network,
    lack: &Lack<'_>,
    note: Option<String>,
    searches: &mut usize,
    diagnostics: &mut Diagnostics,
) {
    let Lack {
        kind,
        port,
        lacking,
        example,
    } = lack;
    let port_name = network.name(port.name);
    let kind_name = network.name(kind.name);
    // If few processes have the port, the name of the port is probably misspelt there.
    let have = kind.members.len() - lacking.len();
    if have < lacking.len() {
        let others = lacking
            .iter()
            .take(EXAMPLES)
            .flat_map(|&p| network.ports_of(p));
        let others: Vec<&str> = others
            .map(|p| network.name(network.ports[p].name))
            .collect();
        let mut diagnostic = Diagnostic::error(
            codes::PORT_MISSING,
            format!(
                "`{}` has port `{port_name}`, which {} of the {} processes of kind `{kind_name}` lack",
                network.process_name(network.ports[*example].process),
                lacking.len(),
                kind.members.len()
            ),
        )
        .at(port.span, "this edge joins it")
        .also(network.processes[lacking[0]].span, format!("`{}` lacks it", network.process_name(lacking[0])));
        diagnostic = match nearest(
            port_name,
            others.iter().copied().filter(|&o| o != port_name),
        ) {
            Some(near) => diagnostic.help(format!("did you mean port `{near}`?")),
            None => misspelt(network, lack, lacking[0], searches, diagnostic)
                .help(join_or_kind(lack, network, lacking)),
        };
        diagnostic.notes.extend(note);
        diagnostics.push(diagnostic);
        return;
    }
    let more = lacking.len().saturating_sub(EXAMPLES);
    let last = lacking[EXAMPLES.min(lacking.len()) - 1];
    for &process in lacking.iter().take(EXAMPLES) {
        let mut diagnostic = Diagnostic::error(
            codes::PORT_MISSING,
            format!(
                "`{}` has no port `{port_name}`, which other processes of kind `{kind_name}` have",
                network.process_name(process)
            ),
        )
        .at(network.processes[process].span, "no edge joins the port")
        .also(
            port.span,
            format!(
                "`{}` has it",
                network.process_name(network.ports[*example].process)
            ),
        );
        diagnostic = misspelt(network, lack, process, searches, diagnostic).help(join_or_kind(
            lack,
            network,
            &[process],
        ));
        if process == last {
            if more > 0 {
                diagnostic = diagnostic.with_note(format!(
                    "not shown: {more} more processes of this kind that lack the port"
                ));
            }
            diagnostic.notes.extend(note.clone());
        }
        diagnostics.push(diagnostic);
    }
}

/// Returns the diagnostic. Adds a process with a similar name to it, if one is found among the
/// first [`COMPARED`]. That process must be of another kind, have the missing port in its
/// direction, and have no port of `process`. Does nothing if `searches` is 0, and otherwise
/// decrements it.
///
/// Probably both names denote the same process, and one is misspelt.
fn misspelt(
    network: &Network,
    lack: &Lack<'_>,
    process: ProcessId,
    searches: &mut usize,
    diagnostic: Diagnostic,
) -> Diagnostic {
    if *searches == 0 {
        return diagnostic;
    }
    *searches -= 1;
    let own = |id: ProcessId| network.port(id, lack.port.name);
    let complements = |&(id, other): &(ProcessId, &crate::network::Process)| {
        network.processes[process].kind != other.kind
            && own(id).is_some_and(|port| network.ports[port].direction == lack.port.direction)
            && network
                .ports_of(process)
                .all(|port| network.port(id, network.ports[port].name).is_none())
    };
    let others = network.processes.iter().take(COMPARED).filter(complements);
    let others: Vec<(&str, Span)> = others
        .map(|(_, other)| (network.name(other.name), other.span))
        .collect();
    let name = network.process_name(process);
    let near = nearest(name, others.iter().map(|&(name, _)| name));
    match others.iter().find(|(other, _)| near == Some(other)) {
        Some((other, span)) => diagnostic
            .also(*span, format!("`{other}` has such a port"))
            .help(format!("did you mean `{name}` instead of `{other}`?")),
        None => diagnostic,
    }
}

/// Returns a help text: to close the port of `processes` by edges, or to set another kind. The
/// other kind is omitted for instances of one node. For more than [`EXAMPLES`] processes, or if an
/// edge cannot be written, the text shows the general form of the edge.
fn join_or_kind(lack: &Lack<'_>, network: &Network, processes: &[ProcessId]) -> String {
    let (port, few) = (lack.port, processes.len() <= EXAMPLES);
    let edges = processes
        .iter()
        .map(|&process| edge(network, lack, process));
    let edges: Option<Vec<Closing>> = edges.take(EXAMPLES).collect();
    let kind = ", or set another `kind=`";
    match edges {
        Some(edges) if few => {
            let repeated = edges.iter().any(|edge| edge.repeated);
            let inside = edges.iter().any(|edge| edge.selects && edge.in_cluster);
            let mut texts: Vec<String> = edges
                .into_iter()
                .map(|edge| format!("`{};`", edge.text))
                .collect();
            // Instances of a repeated graph have the same edge.
            texts.dedup();
            // All instances of a node have the same kind.
            let kind = if repeated { "" } else { kind };
            let place = if inside {
                " outside of all clusters"
            } else {
                ""
            };
            format!(
                "join the port, or close it from the start with {}{place}{kind}",
                texts.join(" ")
            )
        }
        _ => {
            let edge = match port.direction {
                Direction::Input => "NULL -> process [dst=port]",
                Direction::Output => "process -> NULL [src=port]",
            };
            format!("join the port, or close it from the start with `{edge}`{kind}")
        }
    }
}

/// An edge that joins a port to the environment.
struct Closing {
    text: String,
    /// True if the node has several instances.
    repeated: bool,
    /// True if the edge contains `at=`.
    selects: bool,
    /// True if the node is in a cluster of its file.
    in_cluster: bool,
}

/// Returns the edge that joins a port of a process to the environment, if it is written outside of
/// all clusters of the file that contains the node.
///
/// Returns `None` if the text of the graph does not show the name of the node, or if the name of
/// the port contains a dot, a quote or a backslash.
fn edge(network: &Network, lack: &Lack<'_>, process: ProcessId) -> Option<Closing> {
    let span = network.processes[process].span;
    let node = network.sources.text(span);
    let is_id = |text: &str| {
        let mut letters = text.chars();
        letters
            .next()
            .is_some_and(|c| c.is_alphabetic() || c == '_')
            && letters.all(|c| c.is_alphanumeric() || c == '_')
    };
    let is_quoted = node.len() > 2 && node.starts_with('"') && node.ends_with('"');
    let port = network.name(lack.port.name);
    // A port of a split process is named at one of its nodes.
    if !(is_id(node) || is_quoted) || port.contains(['.', '"', '\\']) {
        return None;
    }
    let port = match is_id(port) {
        true => port.to_owned(),
        false => format!("\"{port}\""),
    };
    // `at=` counts the instances inside the graph that contains the node.
    let mut included = Included::of(network, span);
    let file = included.around(process);
    let (mut before, mut all, mut repeated) = (0, 0, false);
    for &other in &lack.kind.members {
        if network.processes[other].span != span {
            continue;
        }
        repeated |= other != process;
        if included.around(other) == file {
            all += 1;
            before += usize::from(other.index() < process.index());
        }
    }
    let at = match all > 1 {
        true => format!(", at={}", before + 1),
        false => String::new(),
    };
    let text = match lack.port.direction {
        Direction::Input => format!("NULL -> {node} [dst={port}{at}]"),
        Direction::Output => format!("{node} -> NULL [src={port}{at}]"),
    };
    Some(Closing {
        text,
        repeated,
        selects: all > 1,
        in_cluster: network.processes[process].module != file,
    })
}

/// The modules that stand for included graphs, for the instances of one node.
struct Included<'n> {
    network: &'n Network,
    /// Start of the text that contains the node. `None` if there is only one text.
    base: Option<u32>,
    /// Results for modules, because modules may nest deeply.
    known: FxHashMap<ModuleId, Option<ModuleId>>,
}

impl<'n> Included<'n> {
    fn of(network: &'n Network, node: Span) -> Included<'n> {
        let several = network.sources.sources().nth(1).is_some();
        let source = network.sources.source(node).filter(|_| several);
        Included {
            network,
            base: source.map(Source::base),
            known: FxHashMap::default(),
        }
    }

    /// Returns the innermost module around a process that stands for an included graph, or `None`
    /// if the process is not in one. The position of such a module is in another text.
    fn around(&mut self, process: ProcessId) -> Option<ModuleId> {
        let (network, own) = (self.network, self.base?);
        let mut passed = Vec::new();
        let mut next = network.processes[process].module;
        let found = loop {
            let Some(module) = next else {
                break None;
            };
            if let Some(known) = self.known.get(&module) {
                break *known;
            }
            passed.push(module);
            let (span, sources) = (network.modules[module].span, &network.sources);
            let base = sources.source(span).map(Source::base);
            if base.is_some_and(|base| base != own) {
                break Some(module);
            }
            next = network.modules[module].parent;
        };
        self.known
            .extend(passed.into_iter().map(|module| (module, found)));
        found
    }
}

/// Warns of processes without channels, once for each declaration and at most [`MOST`] times. A
/// note states the number of the others. A port joined to the environment is not a channel. A
/// network of one process is not checked.
pub(super) fn processes(network: &Network, diagnostics: &mut Diagnostics) {
    if network.processes.len() < 2 {
        return;
    }
    let is_joined = |id: ProcessId| {
        let mut ports = network.ports_of(id);
        ports.any(|p| !network.ports[p].is_closed())
    };
    let mut seen: FxHashMap<Span, ()> = FxHashMap::default();
    let mut alone: Vec<ProcessId> = Vec::new();
    for (id, process) in network.processes.iter() {
        if !is_joined(id) && (process.span.is_none() || seen.insert(process.span, ()).is_none()) {
            alone.push(id);
        }
    }
    let reported = &alone[..MOST.min(alone.len())];
    for (i, &id) in reported.iter().enumerate() {
        let process = &network.processes[id];
        let name = network.name(process.name);
        // Suggest a process that is joined and is of another kind.
        let others = network.processes.iter().take(COMPARED);
        let others = others.filter(|&(o, p)| p.kind != process.kind && is_joined(o));
        let mut diagnostic = Diagnostic::warning(
            codes::ISOLATED_PROCESS,
            format!("no channel reaches process `{name}`"),
        )
        .at(process.span, "");
        diagnostic = match nearest(name, others.map(|(_, p)| network.name(p.name))) {
            Some(near) => diagnostic.help(format!("did you mean `{near}`?")),
            None => diagnostic.help("join it to other processes, or remove it"),
        };
        let more = alone.len() - reported.len();
        if more > 0 && i + 1 == reported.len() {
            diagnostic = diagnostic.with_note(format!(
                "not shown: {more} more processes without a channel"
            ));
        }
        diagnostics.push(diagnostic);
    }
}
