//! Infers the ports of kinds that are flow-controlled.
//!
//! Flow control determines the type of a port in generated code. Therefore it must be equal for all
//! channels at a port, in all processes of a kind. It is not propagated: only a channel that states
//! it is flow-controlled.

use crate::arena::Id;
use crate::codes;
use crate::declared::{BundleKind, Flow};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::network::{ChannelId, Join, KindPort, Network, PortId};
use crate::source::Span;
use rustc_hash::FxHashSet;

/// Sets the flow control of the ports of kinds. Does nothing if no channel is flow-controlled.
///
/// The first channel at a port of a kind determines its flow control. Reports ports whose channels
/// differ in it, and channels that cannot have it. `port_index` is the index of each port among the
/// ports of all kinds.
pub(super) fn infer(network: &mut Network, port_index: &[u32], diagnostics: &mut Diagnostics) {
    // Most networks have no flow control.
    if network.terms.values().all(|terms| terms.flow.is_none()) {
        return;
    }
    let total = network.kinds.values().map(|kind| kind.ports.len()).sum();
    let mut stated: Vec<Option<(Option<Flow>, ChannelId)>> = vec![None; total];
    // One diagnostic for both ends of an edge, and for all its instances.
    let mut reported: FxHashSet<u32> = FxHashSet::default();
    let mut spans: FxHashSet<Span> = FxHashSet::default();
    for (id, channel) in network.channels.iter() {
        let flow = network.terms(id).flow;
        for port in [channel.from, channel.to] {
            let at = port_index[port.index()];
            let &mut (known, first) = stated[at as usize].get_or_insert((flow, id));
            if known != flow && reported.insert(at) && spans.insert(channel.span) {
                diagnostics.push(conflict(network, port, [(first, known), (id, flow)]));
            }
        }
    }
    let mut rest = stated.iter();
    for kind in network.kinds.values_mut() {
        for (port, stated) in kind.ports.iter_mut().zip(&mut rest) {
            port.flow = stated.and_then(|(flow, _)| flow);
        }
    }
    senseless(network, port_index, diagnostics);
}

/// Reports channels that cannot be flow-controlled, once for each span.
fn senseless(network: &Network, port_index: &[u32], diagnostics: &mut Diagnostics) {
    let ports: Vec<&KindPort> = network
        .kinds
        .values()
        .flat_map(|kind| &kind.ports)
        .collect();
    let bundle = |port: PortId| ports[port_index[port.index()] as usize].bundle;
    let mut reported: FxHashSet<Span> = FxHashSet::default();
    for (id, channel) in network.channels.iter() {
        let terms = network.terms(id);
        let Some(flow) = terms.flow else { continue };
        let ends = (bundle(channel.from), bundle(channel.to));
        let Some((what, help)) = wrong(flow, ends, terms.initial) else {
            continue;
        };
        if reported.insert(channel.span) {
            let (from, to) = (
                network.port_name(channel.from),
                network.port_name(channel.to),
            );
            let message =
                format!("the channel from `{from}` to `{to}` cannot be flow-controlled: {what}");
            let mut diagnostic =
                Diagnostic::error(codes::FLOW_WITHOUT_SENSE, message).at(channel.span, "");
            for port in [channel.from, channel.to] {
                let Join::Bundle(bundle) = network.ports[port].join else {
                    continue;
                };
                let bundle = &network.bundles[bundle];
                if bundle.span != channel.span {
                    let label = format!("in a `{}` bundle", bundle.kind.name());
                    diagnostic = diagnostic.also(bundle.span, label);
                }
            }
            diagnostics.push(diagnostic.help(help));
        }
    }
}

/// Returns the reason why a channel between such ends cannot be flow-controlled, and a help text.
/// Returns `None` if it can be. `ends` are the bundles at the port of the writer and at the port of
/// the reader. `initial` is the number of initial tokens.
fn wrong(
    flow: Flow,
    ends: (Option<BundleKind>, Option<BundleKind>),
    initial: u32,
) -> Option<(String, String)> {
    let one_to_many = matches!(ends.0, Some(BundleKind::Share));
    match ends {
        (Some(kind), _) if kind != BundleKind::Share => Some((
            format!(
                "a `{}` bundle writes to its readers whether they are open or not",
                kind.name()
            ),
            format!(
                "replace `bundle={}` by `bundle=share`, or remove `flow=`",
                kind.name()
            ),
        )),
        (_, Some(kind)) if kind != BundleKind::Select => Some((
            format!(
                "a `{}` bundle reads from its writers whether they are open or not",
                kind.name()
            ),
            format!(
                "replace `bundle={}` by `bundle=select`, or remove `flow=`",
                kind.name()
            ),
        )),
        (Some(_), Some(_)) => Some((
            "it is in a `share` bundle at one end and in a `select` bundle at the other".to_owned(),
            "put a process between the writers and the readers".to_owned(),
        )),
        _ if initial > 0 => Some((
            "it must be empty until both its ends have opened it".to_owned(),
            "remove `initial=`, and write these tokens in the code of the writer".to_owned(),
        )),
        _ if flow == Flow::RoundRobin && !one_to_many => Some((
            "`round-robin` is for the readers of a `share` bundle".to_owned(),
            "set `flow=credits`".to_owned(),
        )),
        _ => None,
    }
}

fn conflict(
    network: &Network,
    port: PortId,
    [(first, was), (second, is)]: [(ChannelId, Option<Flow>); 2],
) -> Diagnostic {
    let name = network.name(network.ports[port].name);
    let kind = network.kind_name(network.ports[port].process);
    let says = |flow: Option<Flow>| match flow {
        Some(flow) => format!("has `flow={}`", quoted(flow)),
        None => "has no `flow=`".to_owned(),
    };
    let message = format!("channels at port `{name}` of kind `{kind}` differ in `flow=`");
    Diagnostic::error(codes::FLOW_CONFLICT, message)
        .at(network.channels[second].span, says(is))
        .also(network.channels[first].span, says(was))
        .help("set the same `flow=` on all of them, or on none")
        .with_note("`flow=` determines the type of the port in the generated code")
}

/// Returns the value as written in a graph. It is in double quotes if it contains a hyphen.
fn quoted(flow: Flow) -> String {
    match flow.name() {
        name if name.contains('-') => format!("\"{name}\""),
        name => name.to_owned(),
    }
}
