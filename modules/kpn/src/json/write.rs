//! Writes a [`Network`] as JSON.

use super::format::VERSION;
use crate::arena::Id;
use crate::arguments::{Parameter, Value};
use crate::attributes::AttributesId;
use crate::bundles;
use crate::controls;
use crate::declared::{BundleKind, Constraint, ConstraintTarget, Direction, Flow};
use crate::mapping::{Binding, Mapping};
use crate::network::{ChannelId, Joined, Network, PortId, ProcessId};
use crate::programs;
use crate::source::{Source, Span};
use serde::ser::{Serialize, SerializeMap, Serializer};
use std::collections::BTreeMap;

/// Returns a network as JSON text, with its mapping if there is one.
///
/// The text is on one line. Control characters are escaped, so that the text is safe to print on a
/// terminal. Numbers that are not finite become `null`.
///
/// # Panics
/// Panics if an id or a symbol in the network is out of range.
pub fn write(network: &Network, mapping: Option<&Mapping>) -> String {
    // Strings and numbers can always be serialized to memory.
    let json = serde_json::to_string(&Written { network, mapping });
    controls::in_json(json.expect("a network has no odd keys"))
}

/// A network that serde can write, alone or as a part of another value.
#[derive(Clone, Copy)]
pub struct Written<'a> {
    /// Network to write.
    pub network: &'a Network,
    /// Mapping of the network, if there is one.
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
        if let Some(attributes) = attributes(network, network.attributes.graph) {
            map.serialize_entry("attributes", &attributes)?;
        }
        map.serialize_entry("modules", &Each(|| modules(network)))?;
        map.serialize_entry("processes", &Each(|| processes(network)))?;
        let named = bundles::named(network);
        map.serialize_entry("channels", &Each(|| channels(network, &named)))?;
        map.serialize_entry("constraints", &Each(|| constraints(network)))?;
        if !network.boxes.is_empty() {
            map.serialize_entry("boxes", &network.boxes)?;
        }
        if !network.environment.is_empty() {
            let variables: BTreeMap<_, _> = network
                .environment
                .iter()
                .map(|(name, value)| (name, value))
                .collect();
            map.serialize_entry("environment", &variables)?;
        }
        if !network.glue.is_empty() {
            map.serialize_entry("glue", &network.glue)?;
        }
        map.serialize_entry("kinds", &Each(|| kinds(network)))?;
        if let Some(mapping) = self.mapping {
            map.serialize_entry("mapping", &MappingJson::of(mapping))?;
        }
        map.end()
    }
}

/// A list that is created while it is written, so that a million channels are not in memory twice.
struct Each<F>(F);

impl<I: Iterator<Item: Serialize>, F: Fn() -> I> Serialize for Each<F> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq((self.0)())
    }
}

/// Index of a source, first byte, and one past the last byte.
type SpanJson = (usize, usize, usize);

fn span(network: &Network, span: Span) -> Option<SpanJson> {
    let (source, range) = network.sources.range(span)?;
    let before = |s: &Source| s.base() < source.base();
    let index = network.sources.sources().take_while(|s| before(s)).count();
    Some((index, range.start, range.end))
}

/// Attributes that are kept and not interpreted, sorted by name.
struct AttributesJson<'a> {
    network: &'a Network,
    list: AttributesId,
}

impl Serialize for AttributesJson<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.network.attribute_texts(Some(self.list)))
    }
}

fn attributes(network: &Network, list: Option<AttributesId>) -> Option<AttributesJson<'_>> {
    list.map(|list| AttributesJson { network, list })
}

#[derive(serde::Serialize)]
struct ModuleJson<'a> {
    name: &'a str,
    kind: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    attributes: Option<AttributesJson<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    span: Option<SpanJson>,
}

fn modules(network: &Network) -> impl Iterator<Item = ModuleJson<'_>> {
    network.modules.iter().map(move |(id, module)| ModuleJson {
        name: network.name(module.name),
        kind: network.name(module.kind),
        parent: module.parent.map(Id::index),
        attributes: attributes(network, network.attributes.modules.get(id)),
        span: span(network, module.span),
    })
}

#[derive(serde::Serialize)]
struct ProcessJson<'a> {
    name: &'a str,
    kind: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    module: Option<usize>,
    load: f64,
    mem: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    attributes: Option<AttributesJson<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parameters: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<Vec<serde_json::Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    span: Option<SpanJson>,
}

fn argument(value: &Value) -> serde_json::Value {
    match value {
        Value::Integer(number) => match (u64::try_from(*number), i64::try_from(*number)) {
            (Ok(number), _) => number.into(),
            (_, Ok(number)) => number.into(),
            // JSON libraries may round larger numbers.
            _ => number.to_string().into(),
        },
        Value::Float(number) => (*number).into(),
        Value::Bool(value) => (*value).into(),
        Value::Text(text) => text.as_str().into(),
    }
}

fn processes(network: &Network) -> impl Iterator<Item = ProcessJson<'_>> {
    network
        .processes
        .iter()
        .map(move |(id, process)| ProcessJson {
            name: network.name(process.name),
            kind: network.kind_name(id),
            module: process.module.map(Id::index),
            load: process.load,
            mem: process.mem,
            attributes: attributes(network, network.attributes.processes.get(id)),
            parameters: network.parameters.get(&process.kind).map(|all| {
                let all: Vec<String> = all.iter().map(Parameter::to_string).collect();
                all.join(", ")
            }),
            arguments: network
                .arguments
                .get(&id)
                .map(|all| all.iter().map(argument).collect()),
            span: span(network, process.span),
        })
}

#[derive(serde::Serialize)]
struct ChannelJson<'a> {
    /// Written as `null` for the environment, and never omitted.
    from: Option<(&'a str, &'a str)>,
    to: Option<(&'a str, &'a str)>,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    ty: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    capacity: Option<u32>,
    #[serde(skip_serializing_if = "is_zero")]
    initial: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    tag: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    traffic: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    flow: Option<Flow>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bundle: Option<BundleKind>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bundle_name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    other_bundle: Option<BundleKind>,
    #[serde(skip_serializing_if = "Option::is_none")]
    attributes: Option<AttributesJson<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    span: Option<SpanJson>,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

fn channels<'a>(
    network: &'a Network,
    named: &'a [bundles::Names],
) -> impl Iterator<Item = ChannelJson<'a>> {
    network.joins().map(move |joined| match joined {
        Joined::Channel(channel) => {
            let bundles = named.get(channel.index()).copied().unwrap_or_default();
            channel_json(network, channel, bundles)
        }
        Joined::Closed(port) => environment_json(network, port),
    })
}

fn end(network: &Network, port: PortId) -> (&str, &str) {
    let port = &network.ports[port];
    (network.process_name(port.process), network.name(port.name))
}

fn environment_json(network: &Network, port: PortId) -> ChannelJson<'_> {
    let there = Some(end(network, port));
    let (from, to) = match network.ports[port].direction {
        Direction::Input => (None, there),
        Direction::Output => (there, None),
    };
    ChannelJson {
        from,
        to,
        ty: network.port_type(port).map(|ty| network.name(ty)),
        capacity: None,
        initial: 0,
        tag: None,
        traffic: None,
        flow: None,
        bundle: network.port_bundle(port),
        bundle_name: None,
        other_bundle: None,
        attributes: attributes(network, network.port_attributes(port)),
        span: span(network, network.port_span(port)),
    }
}

fn channel_json(network: &Network, id: ChannelId, bundles: bundles::Names) -> ChannelJson<'_> {
    let channel = &network.channels[id];
    let terms = network.terms(id);
    let [bundle, other] = bundles.map(|bundle| bundle.map(|b| &network.bundles[b]));
    ChannelJson {
        from: Some(end(network, channel.from)),
        to: Some(end(network, channel.to)),
        ty: channel.ty.map(|ty| network.name(ty)),
        capacity: Some(terms.capacity),
        initial: terms.initial,
        tag: terms.tag,
        traffic: Some(channel.traffic),
        flow: terms.flow,
        bundle: bundle.map(|b| b.kind),
        bundle_name: bundle.and_then(|b| b.name).map(|name| network.name(name)),
        other_bundle: other.map(|b| b.kind),
        attributes: attributes(network, network.attributes.channels.get(id)),
        span: span(network, channel.span),
    }
}

#[derive(serde::Serialize)]
struct ConstraintJson<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    processes: Option<Vec<&'a str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    module: Option<usize>,
    #[serde(flatten)]
    requirement: Requirement<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    span: Option<SpanJson>,
}

#[derive(serde::Serialize)]
#[serde(rename_all = "lowercase")]
enum Requirement<'a> {
    Host(&'a str),
    OsProcess(u32),
    Colocate(&'a str),
    Separate(&'a str),
    Program(&'a str),
    Hold(u32, u32),
    Whole(bool),
    Prefer(f64),
}

fn constraints(network: &Network) -> impl Iterator<Item = ConstraintJson<'_>> {
    let programs = match programs::has_any(network) {
        true => programs::constraints(network),
        false => Vec::new(),
    };
    let all = network.constraints.iter().enumerate();
    all.map(move |(index, constraint)| {
        let declared = &constraint.declared;
        // The program of a module does not hold for processes with a program of their own.
        let is_program = matches!(declared.constraint, Constraint::Program(_));
        let holds = |p: &&ProcessId| !is_program || programs[p.index()] == Some(index);
        // All other constraints apply to the processes that the module had when it was resolved.
        let module = match (declared.target, &declared.constraint) {
            (ConstraintTarget::Module(m), Constraint::Whole | Constraint::Prefer(_)) => {
                Some(m.index())
            }
            _ => None,
        };
        let processes = constraint.processes.iter().filter(holds);
        let names = || processes.map(|&p| network.process_name(p)).collect();
        ConstraintJson {
            processes: module.is_none().then(names),
            module,
            requirement: match &constraint.declared.constraint {
                Constraint::Host(host) => Requirement::Host(host),
                Constraint::OsProcess(number) => Requirement::OsProcess(*number),
                Constraint::Colocate(group) => Requirement::Colocate(group),
                Constraint::Separate(group) => Requirement::Separate(group),
                Constraint::Program(program) => Requirement::Program(program),
                Constraint::Hold { least, most } => Requirement::Hold(*least, *most),
                Constraint::Whole => Requirement::Whole(true),
                Constraint::Prefer(traffic) => Requirement::Prefer(*traffic),
            },
            span: span(network, constraint.declared.span),
        }
    })
}

#[derive(serde::Serialize)]
struct KindJson<'a> {
    name: &'a str,
    members: Vec<usize>,
    ports: Vec<PortJson<'a>>,
}

#[derive(serde::Serialize)]
struct PortJson<'a> {
    name: &'a str,
    direction: Direction,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    ty: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bundle: Option<BundleKind>,
}

fn kinds(network: &Network) -> impl Iterator<Item = KindJson<'_>> {
    network.kinds.values().map(move |kind| {
        let ports = kind.ports.iter().map(|port| PortJson {
            name: network.name(port.name),
            direction: port.direction,
            ty: port.ty.map(|ty| network.name(ty)),
            bundle: port.bundle,
        });
        KindJson {
            name: network.name(kind.name),
            members: kind.members.iter().map(|m| m.index()).collect(),
            ports: ports.collect(),
        }
    })
}

#[derive(serde::Serialize)]
struct MappingJson<'a> {
    os_process: Vec<u32>,
    bindings: Vec<BindingJson<'a>>,
    strategy: &'a str,
}

#[derive(serde::Serialize)]
struct BindingJson<'a> {
    host: Option<&'a str>,
    cores: &'a [u32],
}

impl<'a> MappingJson<'a> {
    fn of(mapping: &'a Mapping) -> MappingJson<'a> {
        let binding = |binding: &'a Binding| BindingJson {
            host: binding.host.as_deref(),
            cores: &binding.cores,
        };
        MappingJson {
            os_process: mapping.numbers().collect(),
            bindings: mapping.bindings.values().map(binding).collect(),
            strategy: &mapping.strategy,
        }
    }
}
