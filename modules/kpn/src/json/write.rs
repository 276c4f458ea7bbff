//! [`Network`] -> JSON.

use super::VERSION;
use crate::arena::Id;
use crate::declared::Constraint;
use crate::mapping::Mapping;
use crate::network::{ChannelId, Join, Network, PortId};
use crate::source::Span;
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};
use serde_json::{Value, json};

/// A network as JSON text, on one line for each element.
///
/// `mapping` is written too where there is one.
pub fn write(network: &Network, mapping: Option<&Mapping>) -> String {
    // Writing to memory what consists of strings and numbers cannot fail.
    serde_json::to_string(&Written { network, mapping }).expect("a network has no odd keys")
}

/// A network to be written by serde, as a whole or as a part of something larger.
#[derive(Clone, Copy)]
pub struct Written<'a> {
    /// The network.
    pub network: &'a Network,
    /// Its mapping, where there is one.
    pub mapping: Option<&'a Mapping>,
}

impl Serialize for Written<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let network = self.network;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("graphmap", &VERSION)?;
        map.serialize_entry("name", &network.name)?;
        let sources: Vec<&str> = network.sources.sources().map(|s| s.name()).collect();
        map.serialize_entry("sources", &sources)?;
        if let Some((skeleton, _)) = &network.skeleton {
            map.serialize_entry("skeleton", skeleton)?;
        }
        map.serialize_entry("modules", &Each(|| modules(network)))?;
        map.serialize_entry("processes", &Each(|| processes(network)))?;
        map.serialize_entry("channels", &Each(|| channels(network)))?;
        map.serialize_entry("constraints", &Each(|| constraints(network)))?;
        map.serialize_entry("kinds", &Each(|| kinds(network)))?;
        if let Some(mapping) = self.mapping {
            let place = |p: &crate::mapping::Place| json!({"host": p.host, "cores": p.cores});
            let places: Vec<Value> = mapping.places.iter().map(place).collect();
            map.serialize_entry(
                "mapping",
                &json!({
                    "os_process": mapping.os_process,
                    "places": places,
                    "strategy": mapping.strategy,
                }),
            )?;
        }
        map.end()
    }
}

/// A list made while it is written: a million channels are never all in memory as JSON values.
struct Each<F>(F);

impl<I: Iterator<Item = Value>, F: Fn() -> I> Serialize for Each<F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        for value in (self.0)() {
            list.serialize_element(&value)?;
        }
        list.end()
    }
}

fn span(network: &Network, span: Span) -> Value {
    let Some((source, range)) = network.sources.range(span) else {
        return Value::Null;
    };
    let before = |s: &crate::source::Source| s.base() < source.base();
    let index = network.sources.sources().take_while(|s| before(s)).count();
    json!([index, range.start, range.end])
}

/// An object without the fields that say nothing.
fn object(fields: Value) -> Value {
    match fields {
        Value::Object(map) => map.into_iter().filter(|(_, v)| !v.is_null()).collect(),
        other => other,
    }
}

fn modules(network: &Network) -> impl Iterator<Item = Value> {
    network.modules.values().map(move |module| {
        object(json!({
            "name": network.name(module.name),
            "kind": network.name(module.kind),
            "parent": module.parent.map(Id::index),
            "span": span(network, module.span),
        }))
    })
}

fn processes(network: &Network) -> impl Iterator<Item = Value> {
    network.processes.iter().map(move |(id, process)| {
        object(json!({
            "name": network.name(process.name),
            "kind": network.kind_name(id),
            "module": process.module.map(Id::index),
            "load": process.load,
            "mem": process.mem,
            "span": span(network, process.span),
        }))
    })
}

/// Channels, and between them the ports joined to the environment where they stood in the source:
/// the order of a process's ports must survive the round trip.
fn channels(network: &Network) -> impl Iterator<Item = Value> {
    let mut environment: Vec<PortId> = network
        .ports
        .iter()
        .filter(|(_, port)| port.join == Join::Environment)
        .map(|(id, _)| id)
        .collect();
    environment.sort_by_key(|&port| network.ports[port].span);
    let mut environment = environment.into_iter().peekable();
    let mut channels = network.channels.iter().peekable();
    std::iter::from_fn(move || {
        let next_channel = channels.peek().map(|(_, c)| c.span);
        let sooner = |port: &PortId| next_channel.is_none_or(|c| network.ports[*port].span < c);
        if let Some(port) = environment.next_if(sooner) {
            return Some(environment_value(network, port));
        }
        let (id, _) = channels.next()?;
        Some(channel_value(network, id))
    })
}

fn end(network: &Network, port: PortId) -> Value {
    let port = &network.ports[port];
    json!([network.process_name(port.process), network.name(port.name)])
}

fn environment_value(network: &Network, port: PortId) -> Value {
    use crate::declared::Direction;
    let at = span(network, network.ports[port].span);
    // The environment's end is said, not left out: `null` has a meaning here.
    let (from, to) = match network.ports[port].direction {
        Direction::Input => (Value::Null, end(network, port)),
        Direction::Output => (end(network, port), Value::Null),
    };
    let mut value = json!({"from": from, "to": to});
    if !at.is_null() {
        value["span"] = at;
    }
    value
}

fn channel_value(network: &Network, id: ChannelId) -> Value {
    let channel = &network.channels[id];
    let bundle =
        [channel.from, channel.to]
            .into_iter()
            .find_map(|port| match network.ports[port].join {
                Join::Bundle(bundle) => Some(&network.bundles[bundle]),
                _ => None,
            });
    object(json!({
        "from": end(network, channel.from),
        "to": end(network, channel.to),
        "type": channel.ty.map(|ty| network.name(ty)),
        "capacity": channel.capacity,
        "initial": channel.initial,
        "tag": channel.tag,
        "traffic": channel.traffic,
        "bundle": bundle.map(|b| b.kind.name()),
        "bundle_name": bundle.and_then(|b| b.name).map(|name| network.name(name)),
        "span": span(network, channel.span),
    }))
}

fn constraints(network: &Network) -> impl Iterator<Item = Value> {
    network.constraints.iter().map(move |constraint| {
        let processes = constraint.processes.iter();
        let processes: Vec<&str> = processes.map(|&p| network.process_name(p)).collect();
        let (key, value) = match &constraint.declared.constraint {
            Constraint::Host(host) => ("host", json!(host)),
            Constraint::OsProcess(number) => ("osprocess", json!(number)),
            Constraint::Colocate(group) => ("colocate", json!(group)),
            Constraint::Separate(group) => ("separate", json!(group)),
        };
        object(json!({
            "processes": processes,
            key: value,
            "span": span(network, constraint.declared.span),
        }))
    })
}

fn kinds(network: &Network) -> impl Iterator<Item = Value> {
    network.kinds.values().map(move |kind| {
        let ports = kind.ports.iter().map(|port| {
            object(json!({
                "name": network.name(port.name),
                "direction": port.direction,
                "type": port.ty.map(|ty| network.name(ty)),
                "bundle": port.bundle.map(|b| b.name()),
            }))
        });
        json!({
            "name": network.name(kind.name),
            "members": kind.members.iter().map(|m| m.index()).collect::<Vec<_>>(),
            "ports": ports.collect::<Vec<_>>(),
        })
    })
}
