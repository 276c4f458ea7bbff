//! Verification: what must hold before a network is mapped, emitted or run.
//!
//! A [`Verified`] network has these properties. Each has a code (see the book, or `graphmap
//! explain`); all findings of a network are reported in one run.
//!
//! 1. There is a process (`G0301`).
//! 2. Each port of a kind is there in all its processes, joined to a channel, a bundle or the
//!    environment, as [`crate::resolve`] has made sure of each that is there (`G0310`).
//! 3. A port of a kind has one direction (`G0311`), one type (`G0312`) and is of one kind of bundle
//!    (`G0313`) in all processes of the kind. Where one process has a bundle, a single channel in
//!    another is a bundle of one, and the environment a bundle of none.
//! 4. A channel carries one type: that of the ports at both its ends. A type said anywhere holds
//!    for all that is connected with it through channels and kinds; where none is said,
//!    [`KindPort::ty`] is `None` all through (`G0312`).
//! 5. No channel holds more tokens at the start than its capacity (`G0316`).
//!
//! Not errors, but told: what makes the network non-deterministic, `select` and `share` bundles
//! (a note, `G0314`); a channel from a process to itself (a warning, `G0315`): the process waits
//! for ever once it reads before it writes, or fills the channel; a process that no channel reaches
//! (a warning, `G0317`). Whether a cycle of channels blocks depends on what its processes do first
//! (a demand driven farm is full of legal cycles), so nothing is said of cycles but what is
//! certain, which is property 5; a run finds the rest.

use crate::arena::Id;
use crate::codes;
use crate::declared::{BundleKind, Direction};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::nearest::nearest;
use crate::network::{Join, Kind, KindId, KindPort, Network, PortId, ProcessId, Verified};
use crate::source::Span;
use rustc_hash::FxHashMap;

mod types;

/// How many findings of one code about one port of a kind are told singly.
const EXAMPLES: usize = 3;

/// Checks a network and fills in what follows from it: the ports of each kind, and the types of
/// channels that say none.
///
/// # Errors
/// All findings, if one of them is an error; else notes and warnings come with the result.
pub fn verify(mut network: Network) -> Result<(Verified, Diagnostics), Diagnostics> {
    let mut diagnostics = Diagnostics::new();
    if network.processes.is_empty() {
        diagnostics.push(
            Diagnostic::error(codes::NO_PROCESS, "the network has no process").help(
                "a node is a process: `producer -> consumer;` declares two and a channel between them",
            ),
        );
    }
    let kind_of_port = kinds(&mut network, &mut diagnostics);
    types::infer(&mut network, &kind_of_port, &mut diagnostics);
    channels(&network, &mut diagnostics);
    isolated(&network, &mut diagnostics);
    if diagnostics.has_errors() {
        return Err(diagnostics);
    }
    Ok((Verified::new(network), diagnostics))
}

/// Fills the ports of each kind and checks that its members agree. Gives the index within its kind
/// for each port.
fn kinds(network: &mut Network, diagnostics: &mut Diagnostics) -> Vec<u32> {
    let mut kind_of_port = vec![0; network.ports.len()];
    let kinds: Vec<KindId> = network.kinds.ids().collect();
    for id in kinds {
        let kind = &network.kinds[id];
        let mut ports: Vec<KindPort> = Vec::new();
        let mut first: Vec<PortId> = Vec::new();
        let mut found: FxHashMap<_, usize> = FxHashMap::default();
        let mut have: Vec<u32> = Vec::new();
        // One finding about a port of a kind is enough: its processes may be a million.
        let mut told: Vec<bool> = Vec::new();
        for &process in &kind.members {
            for port in network.ports_of(process) {
                let p = &network.ports[port];
                let bundle = match p.join {
                    Join::Bundle(b) => Some(network.bundles[b].kind),
                    Join::Channel(_) | Join::Environment => None,
                };
                let index = *found.entry(p.name).or_insert_with(|| {
                    let (name, direction, span) = (p.name, p.direction, p.span);
                    ports.push(KindPort {
                        name,
                        direction,
                        ty: None,
                        bundle,
                        span,
                    });
                    first.push(port);
                    have.push(0);
                    told.push(false);
                    ports.len() - 1
                });
                kind_of_port[port.index()] = index as u32;
                have[index] += 1;
                let known = &mut ports[index];
                if known.direction != p.direction && !std::mem::replace(&mut told[index], true) {
                    diagnostics.push(direction_conflict(network, first[index], port));
                }
                match (known.bundle, bundle) {
                    (None, Some(_)) => {
                        known.bundle = bundle;
                        first[index] = port;
                    }
                    (Some(a), Some(b)) if a != b && !std::mem::replace(&mut told[index], true) => {
                        diagnostics.push(bundle_conflict(network, first[index], port, a, b));
                    }
                    _ => {}
                }
            }
        }
        for (index, port) in ports.iter().enumerate() {
            if (have[index] as usize) < kind.members.len() {
                missing(network, kind, port, first[index], diagnostics);
            }
            if port.bundle.is_some_and(|b| !b.is_deterministic()) {
                diagnostics.push(not_deterministic(network, first[index], port));
            }
        }
        network.kinds[id].ports = ports;
    }
    kind_of_port
}

fn direction_conflict(network: &Network, a: PortId, b: PortId) -> Diagnostic {
    let says = |port: PortId| match network.ports[port].direction {
        Direction::Input => format!("`{}` reads", network.port_name(port)),
        Direction::Output => format!("`{}` writes", network.port_name(port)),
    };
    Diagnostic::error(
        codes::DIRECTION_CONFLICT,
        format!(
            "port `{}` of kind `{}` reads in one process and writes in another",
            network.name(network.ports[b].name),
            network.kind_name(network.ports[b].process)
        ),
    )
    .at(network.ports[b].span, says(b))
    .also(network.ports[a].span, says(a))
    .help("all processes of a kind run one function: turn the channel round, or give one of them another `kind=`")
}

fn bundle_conflict(
    network: &Network,
    a: PortId,
    b: PortId,
    was: BundleKind,
    is: BundleKind,
) -> Diagnostic {
    Diagnostic::error(
        codes::KIND_BUNDLE_CONFLICT,
        format!(
            "port `{}` of kind `{}` is a `{}` bundle in one process and a `{}` bundle in another",
            network.name(network.ports[b].name),
            network.kind_name(network.ports[b].process),
            was.name(),
            is.name()
        ),
    )
    .at(
        network.ports[b].span,
        format!("`{}` is of `{}`", network.port_name(b), is.name()),
    )
    .also(
        network.ports[a].span,
        format!("`{}` is of `{}`", network.port_name(a), was.name()),
    )
    .help("say the same `bundle=` for both, or give one of the processes another `kind=`")
}

fn not_deterministic(network: &Network, example: PortId, port: &KindPort) -> Diagnostic {
    let kind = port.bundle.unwrap_or(BundleKind::Select);
    let of = network.kind_name(network.ports[example].process);
    let name = network.name(port.name);
    let message = match kind.direction() {
        Direction::Input => {
            format!("the order in which `{of}` reads from port `{name}` is not determined")
        }
        Direction::Output => {
            format!("which process gets a token from port `{name}` of `{of}` is not determined")
        }
    };
    let span = match network.ports[example].join {
        Join::Bundle(b) => network.bundles[b].span,
        Join::Channel(_) | Join::Environment => port.span,
    };
    Diagnostic::note(codes::NOT_DETERMINISTIC, message)
        .at(
            span,
            format!("a `{}` bundle takes whoever is ready", kind.name()),
        )
        .with_note(
            "the result of a run may depend on timing; all other kinds of bundle are deterministic",
        )
}

/// Tells which members of a kind lack a port.
fn missing(
    network: &Network,
    kind: &Kind,
    port: &KindPort,
    example: PortId,
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
        diagnostics.push(finding);
        return;
    }
    for &process in lacking.iter().take(EXAMPLES) {
        let more = lacking.len().saturating_sub(EXAMPLES);
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
        if process == lacking[EXAMPLES.min(lacking.len()) - 1] && more > 0 {
            finding = finding.with_note(format!("{more} more processes of the kind lack it"));
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

fn channels(network: &Network, diagnostics: &mut Diagnostics) {
    let mut told: FxHashMap<(Span, u16), ()> = FxHashMap::default();
    for (id, channel) in network.channels.iter() {
        let (writer, reader) = (network.writer(id), network.reader(id));
        // One finding for one edge of the source, however often it was repeated.
        if writer == reader
            && told
                .insert((channel.span, codes::SELF_CHANNEL.0), ())
                .is_none()
        {
            diagnostics.push(
                Diagnostic::warning(
                    codes::SELF_CHANNEL,
                    format!("a channel joins `{}` to itself", network.process_name(writer)),
                )
                .at(channel.span, "")
                .help("the process waits for ever when it reads this channel empty or writes it full; a local variable does the same without"),
            );
        }
        if channel.initial > channel.capacity
            && told
                .insert((channel.span, codes::INITIAL_EXCEEDS_CAPACITY.0), ())
                .is_none()
        {
            diagnostics.push(
                Diagnostic::error(
                    codes::INITIAL_EXCEEDS_CAPACITY,
                    format!(
                        "the channel starts with {} tokens, but holds {}",
                        channel.initial, channel.capacity
                    ),
                )
                .at(
                    channel.span,
                    format!(
                        "from `{}` to `{}`",
                        network.port_name(channel.from),
                        network.port_name(channel.to)
                    ),
                )
                .help(format!("say `capacity={}` or more", channel.initial)),
            );
        }
    }
}

/// Processes without any channel; one finding for each declaration.
fn isolated(network: &Network, diagnostics: &mut Diagnostics) {
    let mut told: FxHashMap<Span, ()> = FxHashMap::default();
    if network.processes.len() < 2 {
        return;
    }
    for (id, process) in network.processes.iter() {
        let joined = network
            .ports_of(id)
            .any(|p| network.ports[p].join != Join::Environment);
        if joined || told.insert(process.span, ()).is_some() {
            continue;
        }
        let name = network.name(process.name);
        let names = network
            .processes
            .values()
            .filter(|p| p.name != process.name)
            .take(10_000);
        let finding = Diagnostic::warning(
            codes::ISOLATED_PROCESS,
            format!("no channel reaches process `{name}`"),
        )
        .at(process.span, "");
        diagnostics.push(match nearest(name, names.map(|p| network.name(p.name))) {
            Some(near) => finding.help(format!("did you mean `{near}`?")),
            None => finding.help("join it to the others, or take it away"),
        });
    }
}
