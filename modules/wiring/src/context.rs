//! Data of a skeleton: the network as tables.
//!
//! The book (`skeletons.md`) documents the fields for authors of skeletons, and a test compares its
//! table with this model. [`Model::VERSION`] increases when a field changes its meaning.

use crate::arguments::{ParameterModel, parameters};
use crate::attributes::{AttributeModel, attributes};
use crate::classes::{Class, classes};
use crate::codes;
use crate::glue::GlueModel;
use crate::identifier::{Case, Identifiers, Language, kinds_in_c};
use crate::module_classes::{ModuleClassModel, ModuleClasses};
use crate::names::{self, NamesModel};
use crate::payload::{self, UNTYPED};
use crate::positions::positions;
use crate::sequence;
use crate::signature::{self, PortSignature};
use crate::structure::Structure;
use graphmap_kpn::arena::Id;
use graphmap_kpn::declared::{Direction, Flow};
use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
use graphmap_kpn::names::Symbol;
use graphmap_kpn::network::{Kind, KindPort, Network};
use graphmap_kpn::placed::processes_hash;
use graphmap_kpn::source::Span;
use rustc_hash::FxHashMap;
use serde::Serialize;
use std::collections::BTreeSet;

/// Data of a skeleton.
#[derive(Clone, Debug, Serialize)]
pub struct Model {
    /// Version of this format: [`Model::VERSION`].
    pub version: u32,
    /// The graph as a whole.
    pub graph: GraphModel,
    /// Structure of the network.
    pub structure: Structure,
    /// Types that the project's `types.rs` defines, sorted.
    pub types: Vec<TypeModel>,
    /// Rust types of the channels, each once, in the order of their first channel.
    pub payloads: Vec<String>,
    /// Kinds, in the order of their first process.
    pub kinds: Vec<KindModel>,
    /// Classes of modules: the modules of one kind at the same depth. A class comes after the
    /// classes of the modules around its own.
    pub modules: Vec<ModuleClassModel>,
    /// Classes of channels, in the order of their first channel.
    pub channels: Vec<ClassModel>,
    /// Glue functions, if the network has any.
    pub glue: Option<GlueModel>,
}

/// The graph as a whole.
#[derive(Clone, Debug, Serialize)]
pub struct GraphModel {
    /// Its name.
    pub name: String,
    /// Its file, without folders.
    pub file: String,
    /// Number of processes.
    pub processes: usize,
    /// Number of channels.
    pub channels: usize,
    /// Number of ports of kinds that are bundles.
    pub bundles: usize,
    /// Hash of the names, kinds and ranks of the processes. Launch files set `GRAPHMAP_PLACED` to
    /// it.
    pub placed: String,
    /// Its attributes of the user. Each has one value.
    pub attributes: Vec<AttributeModel>,
}

/// A type that the project's `types.rs` defines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TypeModel {
    /// Its name.
    pub name: String,
    /// Whether it is the type of channels without `type=`.
    pub untyped: bool,
    /// Whether its spelling differs from Rust's convention for types.
    pub odd: bool,
}

/// A kind of processes.
#[derive(Clone, Debug, Serialize)]
pub struct KindModel {
    /// Its name.
    pub name: String,
    /// Its identifier as a Rust function, module, variable and file.
    pub function: String,
    /// Its identifier as a Rust type.
    pub type_name: String,
    /// Its identifier in C.
    pub c: String,
    /// Number of processes of the kind.
    pub count: usize,
    /// Ranks of its processes, a sequence.
    pub ranks: String,
    /// Names of its processes.
    pub names: NamesModel,
    /// Innermost module of each of its processes, as a sequence of numbers. Modules are numbered
    /// from 1 through all classes of modules; 0 means no module. Empty if no process is in a
    /// module.
    pub modules: String,
    /// Its ports, in the order of first appearance.
    pub ports: Vec<PortModel>,
    /// Its parameters, with the arguments of its processes.
    pub parameters: Vec<ParameterModel>,
    /// Identifier of its arguments as a Rust type. Empty if it has no parameters.
    pub arguments_type: String,
    /// Line of its first process, from 1, or 0 if the process has no position in a text.
    pub line: u32,
    /// Column of its first process, from 1.
    pub column: u32,
    /// Lines of its processes, a sequence.
    pub lines: String,
    /// Columns of its processes, a sequence.
    pub columns: String,
    /// Attributes of the user of its processes.
    pub attributes: Vec<AttributeModel>,
    /// Its ports in one line. The next generation compares the new ports with this line.
    pub signature: String,
}

/// A port of a kind.
#[derive(Clone, Debug, Serialize)]
pub struct PortModel {
    /// Its name.
    pub name: String,
    /// Its identifier as a Rust field.
    pub field: String,
    /// Its identifier in C.
    pub c: String,
    /// `input` or `output`.
    pub direction: Direction,
    /// `select`, `gather`, `reduce`, `broadcast`, `scatter`, `switch`, `share`, or `None`.
    pub bundle: Option<&'static str>,
    /// How its channels are flow-controlled: `credits` or `round-robin`. `None` if they are not.
    pub flow: Option<&'static str>,
    /// The bundle or, without one, the direction. `flow_` precedes it if the channels are
    /// flow-controlled.
    pub word: &'static str,
    /// Rust payload type as written in generated code. Empty if the type of the graph is not a Rust
    /// type.
    pub rust_type: String,
    /// Payload type as written in the graph.
    pub type_name: Option<String>,
}

/// One end of a class of channels.
#[derive(Clone, Debug, Serialize)]
pub struct EndModel {
    /// Index in [`Model::kinds`].
    pub kind: usize,
    /// Index in the ports of the kind.
    pub port: usize,
    /// The kind's function.
    pub function: String,
    /// The kind's identifier in C.
    pub c_kind: String,
    /// The port's name.
    pub port_name: String,
    /// The port's identifier in C.
    pub c_port: String,
    /// The kind's name.
    pub kind_name: String,
    /// The kind of bundle at this end, for this port.
    pub bundle: Option<&'static str>,
    /// Number of the process among those of its kind, for each channel, as a sequence.
    pub index: String,
    /// Number of the member in the bundle, for each channel, as a sequence. Empty if the port is
    /// not a bundle.
    pub slot: String,
}

/// Class of channels that differ only in the processes that they join.
#[derive(Clone, Debug, Serialize)]
pub struct ClassModel {
    /// The writing end.
    pub from: EndModel,
    /// The reading end.
    pub to: EndModel,
    /// Rust payload type. Empty if the type of the graph is not a Rust type.
    pub rust_type: String,
    /// Payload type as written in the graph.
    pub type_name: Option<String>,
    /// Capacity of each channel, in tokens.
    pub capacity: u32,
    /// Number of initial tokens of each channel.
    pub initial: u32,
    /// MPI tag.
    pub tag: Option<i32>,
    /// How they are flow-controlled: `credits` or `round-robin`. `None` if they are not.
    pub flow: Option<&'static str>,
    /// Number of channels.
    pub count: usize,
    /// Lines of their declarations, a sequence.
    pub line: String,
    /// Columns of their declarations, a sequence.
    pub column: String,
    /// Their attributes of the user.
    pub attributes: Vec<AttributeModel>,
}

impl Model {
    /// Version of the format.
    pub const VERSION: u32 = 1;

    /// Returns the tables of a verified network for the structure that the skeleton uses. Pushes
    /// warnings to `diagnostics`. Linear in the size of the network.
    ///
    /// # Errors
    /// Returns an error for each payload type that is not a Rust type.
    pub fn new(
        network: &Network,
        structure: Structure,
        diagnostics: &mut Diagnostics,
    ) -> Result<Model, Diagnostics> {
        let types = Types::of(network);
        if !types.errors.is_empty() {
            return Err(types.errors);
        }
        Ok(Model::with_types(network, structure, types, diagnostics))
    }

    /// Returns an error for each payload type of a network that is not a Rust type. The result is
    /// empty if all are.
    pub fn wrong_types(network: &Network) -> Diagnostics {
        Types::of(network).errors
    }

    /// Returns one note if some channels have a type and others have none. Returns `None` if all
    /// channels have a type, or none has. A channel without a type carries a placeholder type,
    /// which is rarely intended in a graph that has types.
    pub fn partly_typed(network: &Network) -> Option<Diagnostic> {
        let channels = network.channels.values();
        let mut untyped = channels.filter(|channel| channel.ty.is_none());
        let (first, all) = (untyped.next()?.span, network.channels.len());
        let count = 1 + untyped.count();
        let (have, carry) = match count {
            1 => ("has", "carries"),
            _ => ("have", "carry"),
        };
        let message = format!("{count} of {all} channels {have} no type and {carry} `{UNTYPED}`");
        let diagnostic = Diagnostic::note(codes::PARTLY_TYPED, message);
        let label = if count > 1 { "the first of them" } else { "" };
        (count < all).then(|| {
            diagnostic.at(first, label).help(format!(
                "add `type=` to the channel, or define `{UNTYPED}` in src/types.rs of the project"
            ))
        })
    }

    /// Returns the same as [`Model::new`], for a target that may not be Rust. Types of the graph
    /// can be any text. `rust_type` is empty for a type that is not a Rust type.
    pub fn of_any_types(
        network: &Network,
        structure: Structure,
        diagnostics: &mut Diagnostics,
    ) -> Model {
        Model::with_types(network, structure, Types::of(network), diagnostics)
    }

    fn with_types(
        network: &Network,
        structure: Structure,
        types: Types,
        diagnostics: &mut Diagnostics,
    ) -> Model {
        let modules = ModuleClasses::of(network);
        let kinds = kinds(network, &types, &modules, diagnostics);
        let channels: Vec<ClassModel> = classes(network)
            .into_iter()
            .map(|class| channel_class(network, &kinds, &types, class))
            .collect();
        let mut payloads: Vec<String> = Vec::new();
        for channel in &channels {
            if !channel.rust_type.is_empty() && !payloads.contains(&channel.rust_type) {
                payloads.push(channel.rust_type.clone());
            }
        }
        let ports_of_kinds = network.kinds.values().flat_map(|kind| &kind.ports);
        let file = network.sources.sources().next();
        let file = file.map_or("", |source| source.name());
        Model {
            version: Model::VERSION,
            graph: GraphModel {
                name: network.name.clone(),
                file: file_name(file).to_owned(),
                processes: network.processes.len(),
                channels: network.channels.len(),
                bundles: ports_of_kinds.filter(|port| port.bundle.is_some()).count(),
                placed: processes_hash(network),
                attributes: attributes(network, || std::iter::once(network.attributes.graph)),
            },
            structure,
            types: types.own.into_iter().map(TypeModel::new).collect(),
            payloads,
            kinds,
            modules: modules.into_models(network),
            channels,
            glue: GlueModel::of(network),
        }
    }
}

impl TypeModel {
    fn new(name: String) -> TypeModel {
        TypeModel {
            untyped: name == UNTYPED,
            odd: name.contains('_') || !name.starts_with(|c: char| c.is_ascii_uppercase()),
            name,
        }
    }

    /// Returns an initial definition of the type for `types.rs`: a unit struct, or an alias of
    /// `u64` for the type of channels without `type=`.
    pub fn stub(&self) -> String {
        match self.untyped {
            true => format!("pub type {} = u64;", self.name),
            false => format!(
                "#[derive(Clone, Debug, Default, PartialEq, graphmap_runtime::Payload)] \
                 pub struct {};",
                self.name
            ),
        }
    }
}

/// Returns the last part of a path. Folders can be separated by `/` or `\`.
fn file_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or(path)
}

/// Payload types that were parsed so far.
#[derive(Default)]
struct Types {
    rust: FxHashMap<Symbol, String>,
    own: BTreeSet<String>,
    untyped: bool,
    errors: Diagnostics,
}

impl Types {
    fn of(network: &Network) -> Types {
        let mut types = Types::default();
        for kind in network.kinds.values() {
            for port in &kind.ports {
                types.read(network, port.ty, port.span);
            }
        }
        for channel in network.channels.values() {
            types.read(network, channel.ty, channel.span);
        }
        types
    }

    fn read(&mut self, network: &Network, ty: Option<Symbol>, span: Span) {
        let Some(symbol) = ty else {
            if !self.untyped {
                self.untyped = true;
                self.own.insert(UNTYPED.to_owned());
            }
            return;
        };
        if self.rust.contains_key(&symbol) {
            return;
        }
        let text = network.name(symbol);
        let rust = match payload::parse(text) {
            Ok(payload) => {
                self.own.extend(payload.own);
                payload.rust
            }
            Err(error) => {
                let message = format!("`{text}` is not a payload type: {error}");
                let column = text[..error.offset].chars().count() + 1;
                let place = network.types.get(&symbol).copied().unwrap_or(span);
                let help = match error.instead {
                    Some(instead) => format!("use `type=\"{instead}\"`"),
                    None => {
                        "use a Rust type such as `f64`, `Vec<u8>` or `crate::shapes::Edge`, or a \
                         type of the project such as `Task`"
                            .to_owned()
                    }
                };
                self.errors.push(
                    Diagnostic::error(codes::PAYLOAD_TYPE, message)
                        .at(place, format!("error at character {column} of the type"))
                        .help(help),
                );
                String::new()
            }
        };
        self.rust.insert(symbol, rust);
    }

    fn rust(&self, ty: Option<Symbol>) -> String {
        match ty {
            Some(symbol) => self.rust[&symbol].clone(),
            None => format!("types::{UNTYPED}"),
        }
    }
}

/// Names that generated Rust code itself uses in the scope of the kinds.
const RESERVED_FUNCTIONS: &[&str] = &["net", "network", "types", "rt", "ends", "main", "structure"];
/// Types of the prelude that payload types can name.
const RESERVED_TYPES: &[&str] = &["Box", "Option", "Result", "Self", "String", "Vec"];
fn kinds(
    network: &Network,
    types: &Types,
    modules: &ModuleClasses,
    diagnostics: &mut Diagnostics,
) -> Vec<KindModel> {
    let mut functions = Identifiers::new(Language::Rust, RESERVED_FUNCTIONS);
    let mut type_names = Identifiers::new(Language::Rust, RESERVED_TYPES);
    let c_names = kinds_in_c(network.kinds.values().map(|kind| network.name(kind.name)));
    let spans: Vec<Span> = network.processes.values().map(|p| p.span).collect();
    let positions = positions(&network.sources, &spans);
    let mut kinds = Vec::with_capacity(network.kinds.len());
    for ((id, kind), c) in network.kinds.iter().zip(c_names) {
        let name = network.name(kind.name);
        let (function, free) = functions.take(name, Case::Snake);
        if !free {
            diagnostics.push(
                Diagnostic::warning(
                    codes::NAME_TAKEN,
                    format!(
                        "the kind `{name}` is named `{function}` in the code, because its own name \
                         is already used"
                    ),
                )
                .at(kind.span, "the first process of the kind")
                .help(
                    "give it a `kind=` that differs from others in more than case and punctuation",
                ),
            );
        }
        let sequence = |value: &dyn Fn(usize) -> u32| {
            let values: Vec<u32> = kind.members.iter().map(|p| value(p.index())).collect();
            sequence::encode(&values)
        };
        let parameters = parameters(network, id);
        let ports = ports(network, kind, types, !parameters.is_empty(), diagnostics);
        let signature: Vec<PortSignature> = ports
            .iter()
            .map(|port| PortSignature {
                word: port.word.to_owned(),
                name: port.name.clone(),
                rust_type: port.rust_type.clone(),
            })
            .collect();
        let (line, column) = kind
            .members
            .first()
            .map_or((0, 0), |p| positions[p.index()]);
        kinds.push(KindModel {
            name: name.to_owned(),
            function,
            type_name: type_names.take(name, Case::Camel).0,
            arguments_type: String::new(),
            parameters,
            c,
            count: kind.members.len(),
            ranks: sequence(&|rank| rank as u32),
            names: names::names(kind.members.len(), || {
                kind.members.iter().map(|&p| network.process_name(p))
            }),
            modules: modules.around(network, kind),
            ports,
            line,
            column,
            lines: sequence(&|rank| positions[rank].0),
            columns: sequence(&|rank| positions[rank].1),
            attributes: attributes(network, || {
                let lists = &network.attributes.processes;
                kind.members.iter().map(|&process| lists.get(process))
            }),
            signature: signature::print(name, &signature),
        });
    }
    // The kinds have their own names first.
    for kind in kinds.iter_mut().filter(|kind| !kind.parameters.is_empty()) {
        let name = format!("{} args", kind.name);
        kind.arguments_type = type_names.take(&name, Case::Camel).0;
    }
    kinds
}

fn ports(
    network: &Network,
    kind: &Kind,
    types: &Types,
    has_arguments: bool,
    diagnostics: &mut Diagnostics,
) -> Vec<PortModel> {
    let reserved: &[&str] = if has_arguments { &["args"] } else { &[] };
    let mut fields = Identifiers::new(Language::Rust, reserved);
    let reserved: &[&str] = if has_arguments {
        &["index", "args"]
    } else {
        &["index"]
    };
    let mut c_fields = Identifiers::new(Language::C, reserved);
    let kind_name = network.name(kind.name);
    let port = |port: &KindPort| {
        let name = network.name(port.name);
        let (field, free) = fields.take(name, Case::Snake);
        if !free {
            diagnostics.push(
                Diagnostic::warning(
                    codes::NAME_TAKEN,
                    format!(
                        "the port `{name}` of `{kind_name}` is named `{field}` in the code, \
                         because its own name is already used"
                    ),
                )
                .at(port.span, "first used here")
                .help("give it a name that differs from others in more than case and punctuation"),
            );
        }
        let bundle = port.bundle.map(|bundle| bundle.name());
        PortModel {
            name: name.to_owned(),
            field,
            c: c_fields.take(name, Case::Kept).0,
            direction: port.direction,
            bundle,
            flow: port.flow.map(Flow::name),
            word: word(port),
            rust_type: types.rust(port.ty),
            type_name: port.ty.map(|ty| network.name(ty).to_owned()),
        }
    };
    kind.ports.iter().map(port).collect()
}

/// Returns the word for a port in the code: the name of its bundle, or `input` or `output` without
/// one. For a flow-controlled port it is `flow_select`, `flow_share`, `flow_input` or
/// `flow_output`.
fn word(port: &KindPort) -> &'static str {
    match (port.flow, port.bundle, port.direction) {
        (None, Some(bundle), _) => bundle.name(),
        (None, None, Direction::Input) => "input",
        (None, None, Direction::Output) => "output",
        // Verification rejects flow control on all other bundles.
        (Some(_), Some(_), Direction::Input) => "flow_select",
        (Some(_), Some(_), Direction::Output) => "flow_share",
        (Some(_), None, Direction::Input) => "flow_input",
        (Some(_), None, Direction::Output) => "flow_output",
    }
}

/// Returns the model of a class of channels. `kinds` are the models of all kinds, by their index.
fn channel_class(
    network: &Network,
    kinds: &[KindModel],
    types: &Types,
    class: Class,
) -> ClassModel {
    let end = |end: crate::classes::ClassEnd, index: String, slot: String| {
        let kind = &kinds[end.kind.index()];
        let port = &kind.ports[end.port as usize];
        EndModel {
            kind: end.kind.index(),
            port: end.port as usize,
            function: kind.function.clone(),
            c_kind: kind.c.clone(),
            port_name: port.name.clone(),
            c_port: port.c.clone(),
            kind_name: kind.name.clone(),
            bundle: port.bundle,
            index,
            slot,
        }
    };
    ClassModel {
        from: end(class.from, class.from_index, class.from_slot),
        to: end(class.to, class.to_index, class.to_slot),
        rust_type: types.rust(class.ty),
        type_name: class.ty.map(|ty| network.name(ty).to_owned()),
        capacity: class.capacity,
        initial: class.initial,
        tag: class.tag,
        flow: class.flow.map(Flow::name),
        count: class.count,
        line: class.line,
        column: class.column,
        attributes: class.attributes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_file_is_the_last_part_of_its_path() {
        assert_eq!(file_name("graphs/farm.dot"), "farm.dot");
        assert_eq!(file_name(r"c:\graphs\farm.dot"), "farm.dot");
        assert_eq!(file_name("<stdin>"), "<stdin>");
    }
}
