//! Verification: what must hold before a network is mapped, emitted or run.
//!
//! A [`Verified`] network has these properties. Each has a code (see the book, or `graphmap
//! explain`); all findings of a network are reported in one run.
//!
//! 0. Its parts fit together and its numbers mean something: see [`crate::integrity`] (`G0318`,
//!    `G0319`).
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
//! 6. All channels at a port of a kind are flow-controlled in the same way, or none (`G0321`). Those that
//!    are have no tokens at the start, and many ends at one side at the most, in a `share` or `select`
//!    bundle (`G0320`).
//!
//! Reported, but not errors: `select` and `share` bundles and flow-controlled channels, which make
//! the network non-deterministic (a note, `G0314`); a channel from a process to itself (a warning,
//! `G0315`): the process waits for ever once it reads before it writes, or fills the channel; a
//! process that no channel reaches (a warning, `G0317`). Whether a cycle of channels blocks depends
//! on the first actions of its processes (a demand driven farm has several legal cycles). So cycles
//! are not verified; [`crate::cycles`] lists them, and a run finds those that block.

use crate::codes;
use crate::declared::{BundleKind, Direction};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::infer::Inferred;
use crate::network::{Join, KindPort, Network, PortId, Terms, Verified};
use crate::source::Span;
use rustc_hash::{FxHashMap, FxHashSet};

mod rim;
mod unjoined;

/// Checks a network.
///
/// # Errors
/// All findings, those of the inference included, if one of them is an error; else notes and warnings
/// come with the result.
pub fn verify(inferred: Inferred) -> Result<(Verified, Diagnostics), Diagnostics> {
    let Inferred {
        network,
        members,
        findings: mut diagnostics,
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
    if diagnostics.has_errors() {
        return Err(diagnostics);
    }
    // What is wrong about flow control is told before, and alone.
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

/// The same of flow-controlled channels that no such bundle tells of.
fn come_and_go(network: &Network, diagnostics: &mut Diagnostics) {
    let mut told = FxHashSet::default();
    for channel in network.channels.values() {
        if network.terms[channel.terms].flow.is_none() {
            continue;
        }
        let ends = [channel.from, channel.to];
        let is_told = |port: PortId| match network.ports[port].join {
            Join::Bundle(bundle) => !network.bundles[bundle].kind.is_deterministic(),
            Join::Channel(_) | Join::Environment(_) => false,
        };
        // One finding for one edge of the source, however often it was repeated.
        if ends.into_iter().any(is_told) || !told.insert(channel.span) {
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

fn channels(network: &Network, diagnostics: &mut Diagnostics) {
    let mut told: FxHashMap<(Span, u16), ()> = FxHashMap::default();
    for channel in network.channels.values() {
        let process = |port: PortId| network.ports[port].process;
        let (writer, reader) = (process(channel.from), process(channel.to));
        // One finding for one edge of the source, however often it was repeated.
        if writer == reader
            && told
                .insert((channel.span, codes::SELF_CHANNEL.0), ())
                .is_none()
        {
            diagnostics.push(
                Diagnostic::warning(
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
                ),
            );
        }
        let Terms {
            capacity, initial, ..
        } = network.terms[channel.terms];
        if initial > capacity
            && told
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
