//! What is not joined: ports that some processes of a kind lack, processes that no channel reaches.
//!
//! One mistake in a repeated module shows a million times; a few examples and the number of the
//! others tell more, and cost no more than linear time.

use crate::codes;
use crate::declared::Direction;
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::infer::Members;
use crate::nearest::nearest;
use crate::network::{Kind, KindPort, Network, PortId, ProcessId};
use crate::source::Span;
use rustc_hash::FxHashMap;

/// How many processes of those that lack a port are told singly.
const EXAMPLES: usize = 3;

/// How many ports of one kind, and how many processes without a channel, are told singly.
const MOST: usize = 10;

/// How many names a misspelt one is compared with.
const COMPARED: usize = 10_000;

/// Tells which ports of a kind are not there in all its processes.
pub(super) fn ports(
    network: &Network,
    kind: &Kind,
    members: &[Members],
    diagnostics: &mut Diagnostics,
) {
    let ports = &kind.ports;
    let lacking = (0..ports.len()).filter(|&i| (members[i].count as usize) < kind.members.len());
    let lacking: Vec<usize> = lacking.collect();
    let told = &lacking[..MOST.min(lacking.len())];
    for (i, &index) in told.iter().enumerate() {
        let more = lacking.len() - told.len();
        let note = (more > 0 && i + 1 == told.len()).then(|| {
            let name = network.name(kind.name);
            format!("{more} more ports of kind `{name}` are not there in all its processes")
        });
        port_missing(
            network,
            kind,
            &ports[index],
            members[index].example,
            note,
            diagnostics,
        );
    }
}

/// Tells which members of a kind lack a port; `note` goes with the last finding.
fn port_missing(
    network: &Network,
    kind: &Kind,
    port: &KindPort,
    example: PortId,
    note: Option<String>,
    diagnostics: &mut Diagnostics,
) {
    let lacks = |&&p: &&ProcessId| network.port(p, port.name).is_none();
    let lacking: Vec<ProcessId> = kind.members.iter().filter(lacks).copied().collect();
    let port_name = network.name(port.name);
    let kind_name = network.name(kind.name);
    // The exception may be the process that has the port: a typing error in a port's name.
    let have = kind.members.len() - lacking.len();
    if have < lacking.len() {
        let others = lacking
            .iter()
            .take(EXAMPLES)
            .flat_map(|&p| network.ports_of(p));
        let others: Vec<&str> = others
            .map(|p| network.name(network.ports[p].name))
            .collect();
        let mut finding = Diagnostic::error(
            codes::PORT_MISSING,
            format!(
                "`{}` has a port `{port_name}`, which {} of the {} processes of kind `{kind_name}` have not",
                network.process_name(network.ports[example].process),
                lacking.len(),
                kind.members.len()
            ),
        )
        .at(port.span, format!("joins port `{port_name}`"))
        .also(network.processes[lacking[0]].span, format!("`{}` has none", network.process_name(lacking[0])));
        finding = match nearest(
            port_name,
            others.iter().copied().filter(|&o| o != port_name),
        ) {
            Some(near) => finding.help(format!("did you mean port `{near}`?")),
            None => finding.help(join_or_kind(port)),
        };
        finding.notes.extend(note);
        diagnostics.push(finding);
        return;
    }
    let more = lacking.len().saturating_sub(EXAMPLES);
    let last = lacking[EXAMPLES.min(lacking.len()) - 1];
    for &process in lacking.iter().take(EXAMPLES) {
        let mut finding = Diagnostic::error(
            codes::PORT_MISSING,
            format!(
                "`{}` has no port `{port_name}`, which other processes of kind `{kind_name}` have",
                network.process_name(process)
            ),
        )
        .at(
            network.processes[process].span,
            format!("port `{port_name}` is not joined"),
        )
        .also(
            port.span,
            format!(
                "`{}` has it",
                network.process_name(network.ports[example].process)
            ),
        )
        .help(join_or_kind(port));
        if process == last {
            if more > 0 {
                finding = finding.with_note(format!("{more} more processes of the kind lack it"));
            }
            finding.notes.extend(note.clone());
        }
        diagnostics.push(finding);
    }
}

fn join_or_kind(port: &KindPort) -> &'static str {
    match port.direction {
        Direction::Input => {
            "join it; `NULL -> process [dst=port]` closes it from the start; another `kind=` makes it another function"
        }
        Direction::Output => {
            "join it; `process -> NULL [src=port]` closes it from the start; another `kind=` makes it another function"
        }
    }
}

/// Processes without any channel; one finding for each declaration.
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
    let told = &alone[..MOST.min(alone.len())];
    for (i, &id) in told.iter().enumerate() {
        let process = &network.processes[id];
        let name = network.name(process.name);
        // What was probably meant is joined, and not just another of the same kind.
        let others = network.processes.iter().take(COMPARED);
        let others = others.filter(|&(o, p)| p.kind != process.kind && is_joined(o));
        let mut finding = Diagnostic::warning(
            codes::ISOLATED_PROCESS,
            format!("no channel reaches process `{name}`"),
        )
        .at(process.span, "");
        finding = match nearest(name, others.map(|(_, p)| network.name(p.name))) {
            Some(near) => finding.help(format!("did you mean `{near}`?")),
            None => finding.help("join it to the others, or take it away"),
        };
        let more = alone.len() - told.len();
        if more > 0 && i + 1 == told.len() {
            finding = finding.with_note(format!("no channel reaches {more} more processes"));
        }
        diagnostics.push(finding);
    }
}
