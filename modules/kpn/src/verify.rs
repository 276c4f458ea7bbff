//! Verification: properties that a network must have before it is mapped, emitted or run.
//!
//! A [`Verified`] network has these properties. Each has a code (see the book, or
//! `graphmap explain`). All diagnostics of a network are reported in one run.
//!
//! 0. Its parts fit together, and its numbers are valid: see [`crate::integrity`] (`G0318`,
//!    `G0319`).
//! 1. It has at least one process (`G0301`).
//! 2. Each port of a kind exists in all processes of the kind (`G0310`). [`crate::resolve`] joins
//!    each port to a channel, a bundle or the environment.
//! 3. A port of a kind has one direction (`G0311`), one type (`G0312`) and one kind of bundle
//!    (`G0313`) in all processes of the kind. If one process has a bundle, a single channel in
//!    another process is a bundle of one channel, and the environment is a bundle without channels.
//! 4. A channel has one type, which is the type of the ports at both its ends (`G0312`). A type
//!    given anywhere holds for everything that is connected through channels and kinds. If no type
//!    is given, [`KindPort::ty`] is `None` everywhere.
//! 5. The initial tokens of a channel do not exceed its capacity (`G0316`).
//! 6. All channels at a port of a kind have the same flow control, or none (`G0321`).
//!    Flow-controlled channels have no initial tokens, and many ends at one side only, in a `share`
//!    or `select` bundle (`G0320`).
//! 7. The processes of a kind have one program, and a process has at most one `program=` of its own
//!    (`G0476`).
//!
//! The following are reported, but are not errors:
//!
//! - `select` and `share` bundles and flow-controlled channels make the network non-deterministic
//!   (a note, `G0314`).
//! - A channel joins a process to itself (a warning, `G0315`). The process deadlocks if it reads
//!   the channel while it is empty, or writes it while it is full.
//! - No channel reaches a process (a warning, `G0317`).
//!
//! Cycles of channels are not verified. Whether a cycle blocks depends on the first actions of its
//! processes: a demand-driven farm has several legal cycles. [`crate::cycles`] lists them, and a
//! run finds those that block.

use crate::codes;
use crate::declared::{BundleKind, Direction};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::infer::Inferred;
use crate::network::{Join, KindPort, Network, PortId, ProcessId, Terms, Verified};
use crate::programs;
use crate::source::Span;
use rustc_hash::{FxHashMap, FxHashSet};

mod chain_ends;
mod unjoined;

/// Verifies a network. On success, returns it with all notes and warnings.
///
/// # Errors
/// Returns all diagnostics, including those of the inference, if one of them is an error.
pub fn verify(inferred: Inferred) -> Result<(Verified, Diagnostics), Diagnostics> {
    let Inferred {
        network,
        members,
        mut diagnostics,
    } = inferred;
    if network.processes.is_empty() {
        diagnostics.push(
            Diagnostic::error(codes::NO_PROCESS, "the network has no process").help(
                "add nodes and edges: `producer -> consumer;` declares two processes and a channel",
            ),
        );
    }
    unjoined::ports(&network, &members, &mut diagnostics);
    let mut of_all = &members[..];
    for kind in network.kinds.values() {
        let (members, rest) = of_all.split_at(kind.ports.len());
        of_all = rest;
        for (port, member) in kind.ports.iter().zip(members) {
            if port.bundle.is_some_and(|b| !b.is_deterministic()) {
                diagnostics.push(not_deterministic(&network, member.example, port));
            }
        }
    }
    channels(&network, &mut diagnostics);
    unjoined::processes(&network, &mut diagnostics);
    programs::verify(&network, &mut diagnostics);
    if diagnostics.has_errors() {
        return Err(diagnostics);
    }
    // Inference reports errors of flow control. These notes are for networks without errors.
    come_and_go(&network, &mut diagnostics);
    Ok((Verified::new(network), diagnostics))
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
        Join::Channel(_) | Join::Environment(_) => port.span,
    };
    let label = match kind.direction() {
        Direction::Input => format!(
            "a `{}` bundle takes the token that is there first",
            kind.name()
        ),
        Direction::Output => format!("a `{}` bundle gives a token to a ready reader", kind.name()),
    };
    Diagnostic::note(codes::NOT_DETERMINISTIC, message)
        .at(span, label)
        .with_note(
            "the result of a run may depend on timing; only `select` and `share` bundles and \
             `flow=` are not deterministic",
        )
}

/// Adds a note for each flow-controlled channel that is not in a `select` or `share` bundle, once
/// for each span.
fn come_and_go(network: &Network, diagnostics: &mut Diagnostics) {
    let mut reported = FxHashSet::default();
    for channel in network.channels.values() {
        if network.terms[channel.terms].flow.is_none() {
            continue;
        }
        let ends = [channel.from, channel.to];
        let is_reported = |port: PortId| match network.ports[port].join {
            Join::Bundle(bundle) => !network.bundles[bundle].kind.is_deterministic(),
            Join::Channel(_) | Join::Environment(_) => false,
        };
        // An edge of the source may stand for many channels. It gets one diagnostic.
        if ends.into_iter().any(is_reported) || !reported.insert(channel.span) {
            continue;
        }
        let [writer, reader] = ends.map(|port| network.port_name(port));
        let message = format!(
            "when `{writer}` and `{reader}` see each other open or close is not determined"
        );
        diagnostics.push(
            Diagnostic::note(codes::NOT_DETERMINISTIC, message)
                .at(
                    channel.span,
                    "a channel with `flow=` is opened and closed at both ends",
                )
                .with_note("the result of a run may depend on timing; without `flow=` it does not"),
        );
    }
}

/// Returns true if another process is an instance of the same node.
fn is_repeated(network: &Network, process: ProcessId) -> bool {
    let members = &network.kinds[network.processes[process].kind].members;
    let index = members.partition_point(|&member| member < process);
    let others = [index.wrapping_sub(1), index + 1];
    let span = network.processes[process].span;
    let mut others = others.iter().filter_map(|&other| members.get(other));
    !span.is_none() && others.any(|&other| network.processes[other].span == span)
}

fn channels(network: &Network, diagnostics: &mut Diagnostics) {
    let mut reported: FxHashMap<(Span, u16), ()> = FxHashMap::default();
    for channel in network.channels.values() {
        let process = |port: PortId| network.ports[port].process;
        let (writer, reader) = (process(channel.from), process(channel.to));
        // An edge of the source may stand for many channels. It gets one diagnostic.
        if writer == reader
            && reported
                .insert((channel.span, codes::SELF_CHANNEL.0), ())
                .is_none()
        {
            let warning = Diagnostic::warning(
                codes::SELF_CHANNEL,
                format!(
                    "a channel joins `{}` to itself",
                    network.process_name(writer)
                ),
            )
            .at(channel.span, "")
            .help("use a local variable instead of the channel")
            .with_note(
                "the process deadlocks if it reads the channel while it is empty or writes it \
                 while it is full",
            );
            let node = network.sources.edge_to_itself(channel.span);
            diagnostics.push(match node.filter(|_| is_repeated(network, writer)) {
                Some(node) => warning.help(format!(
                    "or write `{node} -> {node} [step=1]` to join each instance to the next"
                )),
                None => warning,
            });
        }
        let Terms {
            capacity, initial, ..
        } = network.terms[channel.terms];
        if initial > capacity
            && reported
                .insert((channel.span, codes::INITIAL_EXCEEDS_CAPACITY.0), ())
                .is_none()
        {
            diagnostics.push(
                Diagnostic::error(
                    codes::INITIAL_EXCEEDS_CAPACITY,
                    format!(
                        "the channel has {initial} initial tokens, but its capacity is {capacity}"
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
                .help(format!("set `capacity={initial}` or more")),
            );
        }
    }
}
