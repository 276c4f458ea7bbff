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
use crate::network::{Join, KindId, KindPort, Network, PortId, Verified};
use crate::source::Span;
use rustc_hash::FxHashMap;

mod types;
mod unjoined;

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
    unjoined::processes(&network, &mut diagnostics);
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
        unjoined::ports(network, kind, &ports, &first, &have, diagnostics);
        for (index, port) in ports.iter().enumerate() {
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
