//! Reports constructs that the notation does not have.

use super::refused::{Refused, is_name, is_text};
use graphmap_kpn::arguments::{ParameterType, Value};
use graphmap_kpn::attributes::AttributesId;
use graphmap_kpn::declared::{BundleKind, Constraint, Flow};
use graphmap_kpn::network::{Join, Kind, KindId, Network, PortId};
use graphmap_kpn::source::Span;
use rustc_hash::FxHashSet;

/// Attributes that function mappings give to processes.
pub(super) const OF_FUNCTION: [&str; 2] = ["function", "header"];

/// Reports all constructs of a network, apart from modules and boxes.
pub(super) fn check(network: &Network, refused: &mut Refused) {
    if !is_name(&network.name) {
        let message = match network.name.as_str() {
            "" => "the graph has no name".to_owned(),
            name => format!("the name `{name}` of the graph is not a name of (CM)2PI"),
        };
        refused.report(
            message,
            Span::NONE,
            "name the graph, with letters, digits and `_`",
        );
    }
    if let Some((_, span)) = &network.skeleton {
        refused.construct("skeletons", *span);
    }
    attributes(network, network.attributes.graph, Span::NONE, refused);
    for (id, module) in network.modules.iter() {
        attributes(
            network,
            network.attributes.modules.get(id),
            module.span,
            refused,
        );
    }
    for constraint in &network.constraints {
        let what = match constraint.declared.constraint {
            Constraint::Program(_) => "programs of processes",
            _ => "constraints on the mapping",
        };
        refused.construct(what, constraint.declared.span);
    }
    for (id, kind) in network.kinds.iter() {
        of_kind(network, id, kind, refused);
    }
    ports(network, refused);
    channels(network, refused);
}

fn attributes(network: &Network, list: Option<AttributesId>, span: Span, refused: &mut Refused) {
    for (name, _) in network.attribute_texts(list) {
        refused.construct(&format!("attributes `{name}`"), span);
    }
}

fn of_kind(network: &Network, id: KindId, kind: &Kind, refused: &mut Refused) {
    let name = network.name(kind.name);
    named("kind", name, kind.span, refused);
    for port in &kind.ports {
        named("port", network.name(port.name), port.span, refused);
        if port.ty.is_some() {
            refused.construct("types of channels", port.span);
        }
    }
    for parameter in network
        .parameters
        .get(&id)
        .into_iter()
        .flat_map(|all| &**all)
    {
        named("parameter", &parameter.name, kind.span, refused);
        let is_known = parameter.ty == ParameterType::Text || parameter.ty.name() == "i64";
        if !is_known {
            let ty = parameter.ty.name();
            refused.construct(&format!("parameters of the type `{ty}`"), kind.span);
        }
    }
    let Some(&first) = kind.members.first() else {
        return;
    };
    let list = |process| network.attributes.processes.get(process);
    let texts = |process| network.attribute_texts(list(process));
    for &process in &kind.members {
        let span = network.processes[process].span;
        let of = &network.processes[process];
        if of.load != 1.0 {
            refused.construct("loads of processes", span);
        }
        if of.mem != 0.0 {
            refused.construct("memory of processes", span);
        }
        if network.arguments.get(&process) != network.arguments.get(&first) {
            let message = format!("two processes of the kind `{name}` have different arguments");
            refused.report(
                message,
                span,
                "give them equal arguments, or different kinds",
            );
        }
        let is_same = list(process) == list(first) || texts(process).eq(texts(first));
        if process != first && is_same {
            continue;
        }
        let (known, other): (Vec<_>, Vec<_>) =
            texts(process).partition(|(name, _)| OF_FUNCTION.contains(name));
        for (name, _) in other {
            refused.construct(&format!("attributes `{name}`"), span);
        }
        if known.len() == 1 {
            refused.construct("functions without headers", span);
        }
        if known.iter().any(|(_, text)| !is_text(text)) {
            refused.construct("texts with quotes and line breaks", span);
        }
        if !is_same {
            let message = format!("two processes of the kind `{name}` have different functions");
            refused.report(
                message,
                span,
                "give them equal functions, or different kinds",
            );
        }
    }
    for value in network.arguments.get(&first).into_iter().flatten() {
        if matches!(value, Value::Text(text) if !is_text(text)) {
            refused.construct("texts with quotes and line breaks", kind.span);
        }
    }
}

/// Reports a name that the notation cannot have.
pub(super) fn named(what: &str, name: &str, span: Span, refused: &mut Refused) {
    if !is_name(name) {
        let message = format!("the name `{name}` of a {what} is not a name of (CM)2PI");
        refused.report(message, span, "use letters, digits and `_`");
    }
}

fn ports(network: &Network, refused: &mut Refused) {
    for (id, port) in network.ports.iter() {
        let span = network.port_span(id);
        if network.port_type(id).is_some() {
            refused.construct("types of channels", span);
        }
        attributes(network, network.port_attributes(id), span, refused);
        let kind = network.port_bundle(id);
        let is_known = |kind| matches!(kind, BundleKind::Select | BundleKind::Share);
        if let Some(kind) = kind.filter(|kind| !is_known(*kind)) {
            refused.construct(
                &format!("`{}` bundles", kind.name()),
                bundle_span(network, id),
            );
        }
        if let Join::Bundle(bundle) = port.join
            && network.bundles[bundle].name.is_some()
        {
            refused.construct("names of bundles", network.bundles[bundle].span);
        }
    }
}

fn bundle_span(network: &Network, port: PortId) -> Span {
    match network.ports[port].join {
        Join::Bundle(bundle) => network.bundles[bundle].span,
        _ => network.port_span(port),
    }
}

fn channels(network: &Network, refused: &mut Refused) {
    let mut known = FxHashSet::default();
    for (id, channel) in network.channels.iter() {
        let (terms, span) = (network.terms(id), channel.span);
        attributes(network, network.attributes.channels.get(id), span, refused);
        if channel.ty.is_some() {
            refused.construct("types of channels", span);
        }
        if terms.initial != 0 {
            refused.construct("initial tokens", span);
        }
        if channel.traffic != 1.0 {
            refused.construct("traffic of channels", span);
        }
        if terms.flow == Some(Flow::RoundRobin) {
            refused.construct("flow control in a cyclic order", span);
        }
        if i32::try_from(terms.capacity).is_err() {
            let what = format!("capacities of more than {} tokens", i32::MAX);
            refused.construct(&what, span);
        }
        if !known.insert((channel.from, channel.to, terms.tag)) {
            refused.construct(
                "two channels between the same ports with the same tag",
                span,
            );
        }
    }
}
