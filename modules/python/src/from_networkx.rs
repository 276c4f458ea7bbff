//! Networks from graphs of NetworkX: nodes become processes, edges become channels.
//!
//! NetworkX has no ports and no kinds. An edge without ports gets a separate one at each end.
//! Processes without a kind are of one kind if their ports are equal. Thus any directed graph is a
//! network.

mod attributes;
mod kinds;
mod shapes;

use crate::diagnostics::{exception, raised};
use crate::network::Network;
use crate::shown::shortened;
use crate::waiting::run_detached;
use attributes::{Attributes, Kept, Read};
use graphmap::kpn::codes::NAME_COLLISION;
use graphmap::kpn::declared::BundleKind;
use graphmap::kpn::source::SourceMap;
use graphmap::{Builder, Diagnosed, Diagnostic, Diagnostics, Module, Node, Report};
use kinds::{Kind, kinds};
use pyo3::exceptions::{PyTypeError, PyUserWarning, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};
use shapes::{Edge, name_ports};
use std::collections::HashMap;
use std::ffi::CString;

/// Makes a network from a directed NetworkX graph: each node is a process, each edge a channel.
///
/// - The name of a node is `str(node)`. These attributes are used:
/// - nodes: `load`, `memory`, `kind`, `module` (`"a/b"` is `b` in `a`)
/// - edges: `traffic`, `capacity`, `initial`, `type`, `src`, `dst`, `tag`, `bundle`
/// - other attributes whose values are strings or numbers are kept as `x_NAME`; `label`, `color`
///   and `style` keep their names
///
/// `load=`, `memory=` and `traffic=` select other attributes, for example `traffic="weight"`.
///
/// An edge without `src` or `dst` has a separate port, `out` or `in`, with a number if the process
/// has several. Members of a bundle share a port. Processes without a `kind` are of one kind if
/// their ports are equal, and their names differ only in the number at the end.
///
/// With `both_ways`, each edge of an undirected graph becomes a channel in each direction, each
/// with this traffic and with separate ports.
///
/// Raises TypeError if the argument is not a graph, ValueError if the graph is undirected, and
/// GraphmapError with all errors of the network.
#[pyfunction]
#[pyo3(signature = (graph, /, *, name = None, load = "load", memory = "memory", traffic = "traffic", both_ways = false))]
pub(crate) fn from_networkx(
    graph: &Bound<'_, PyAny>,
    name: Option<String>,
    load: &str,
    memory: &str,
    traffic: &str,
    both_ways: bool,
) -> PyResult<Network> {
    let py = graph.py();
    // If NetworkX cannot be imported, `graph` is not one of its graphs.
    let class = py
        .import("networkx")
        .and_then(|networkx| networkx.getattr("Graph"));
    if !class.is_ok_and(|class| graph.is_instance(&class).unwrap_or(false)) {
        let what = graph.get_type().name()?;
        let message = format!("expected a NetworkX graph, not {what}");
        return Err(PyTypeError::new_err(message));
    }
    let directed: bool = graph.call_method0("is_directed")?.extract()?;
    if !directed && !both_ways {
        return Err(PyValueError::new_err(
            "the graph is undirected, but channels have a direction: use a DiGraph, or pass both_ways=True \
             for a channel in each direction",
        ));
    }
    if directed && both_ways {
        let message = "both_ways is for undirected graphs, but this graph is directed";
        return Err(PyValueError::new_err(message));
    }
    let mut reader = Reader {
        found: Diagnostics::new(),
        read: Read::new(load, memory, traffic),
        nodes: Vec::new(),
        edges: Vec::new(),
    };
    let index = reader.nodes(graph)?;
    reader.edges(graph, &index, both_ways)?;
    for hint in reader.read.hints() {
        let hint = CString::new(hint)
            .map_err(|_| PyValueError::new_err("the name contains a NUL character"))?;
        PyErr::warn(py, &py.get_type::<PyUserWarning>(), &hint, 1)?;
    }
    if reader.found.has_errors() {
        return Err(exception(py, Report::new(reader.found, SourceMap::new())));
    }
    let name = match name {
        Some(name) => name,
        None => name_of(graph)?,
    };
    let kept = match graph.getattr("graph")?.cast_into::<PyDict>() {
        Ok(attributes) => reader.read.graph(&attributes)?,
        Err(_) => Vec::new(),
    };
    let mut builder = reader.builder(&name);
    for (name, value) in &kept {
        builder.attribute(name, value);
    }
    let network = run_detached(py, || {
        let read = Diagnosed {
            value: builder.into(),
            report: Report::default(),
        };
        Network::checked(read)
    })?;
    network.map_err(|error| raised(py, error))
}

/// Returns the name of a graph: `str` of its attribute `name`, or `graph` if it has no name or an
/// empty name.
///
/// # Errors
/// The exception of Python, if the attribute cannot be read or `str` fails.
fn name_of(graph: &Bound<'_, PyAny>) -> PyResult<String> {
    let attributes = graph.getattr("graph")?;
    let attributes = attributes.cast_into::<PyDict>().ok();
    let name = attributes.and_then(|all| all.get_item("name").transpose());
    let name = name.transpose()?.filter(|name| !name.is_none());
    let name = name
        .map(|name| name.str()?.extract::<String>())
        .transpose()?;
    Ok(name
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| "graph".to_owned()))
}

/// A node as read from NetworkX.
struct Vertex {
    name: String,
    /// Whether the node is a string. Only then does its name imply a kind.
    is_text: bool,
    load: Option<f64>,
    memory: Option<f64>,
    kind: Option<String>,
    module: Option<String>,
    /// Attributes that are kept and not interpreted.
    kept: Vec<Kept>,
}

struct Reader<'a> {
    found: Diagnostics,
    read: Read<'a>,
    nodes: Vec<Vertex>,
    edges: Vec<Edge>,
}

impl Reader<'_> {
    /// Reads all nodes. Returns a dictionary from each node to its index. Adds a diagnostic to
    /// `found` for each invalid attribute, and for each name that occurs again.
    ///
    /// # Errors
    /// The exception of Python, if a node or its attributes cannot be read. `ValueError` if the
    /// name of a node is not Unicode text.
    fn nodes<'py>(&mut self, graph: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyDict>> {
        let index = PyDict::new(graph.py());
        let mut names: HashMap<String, usize> = HashMap::new();
        let data = graph.getattr("nodes")?.call1((true,))?;
        for item in data.try_iter()? {
            let (node, attributes): (Bound<'py, PyAny>, Bound<'py, PyDict>) = item?.extract()?;
            let name = text_of(&node)?;
            let mut said = Attributes::new(&attributes, &mut self.found);
            let whose = || format!("node `{}`", shortened(&name));
            let vertex = Vertex {
                is_text: node.is_instance_of::<PyString>(),
                load: said.number(self.read.load, &whose)?,
                memory: said.number(self.read.memory, &whose)?,
                kind: said.word("kind", &whose)?,
                module: said.word("module", &whose)?,
                name: name.clone(),
                kept: self.read.node(&attributes)?,
            };
            if names.insert(name.clone(), self.nodes.len()).is_some() {
                let message = format!("two nodes have the name `{}`", shortened(&name));
                let diagnostic = Diagnostic::error(NAME_COLLISION, message);
                self.found.push(diagnostic.help(
                    "the name of a node is `str(node)`, which is equal for 1 and \"1\": relabel one of them \
                     (`networkx.relabel_nodes`)",
                ));
            }
            index.set_item(node, self.nodes.len())?;
            self.nodes.push(vertex);
        }
        Ok(index)
    }

    fn edges(
        &mut self,
        graph: &Bound<'_, PyAny>,
        index: &Bound<'_, PyDict>,
        both_ways: bool,
    ) -> PyResult<()> {
        let arguments = PyDict::new(graph.py());
        arguments.set_item("data", true)?;
        let data = graph.getattr("edges")?.call((), Some(&arguments))?;
        for item in data.try_iter()? {
            type Item<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>, Bound<'py, PyDict>);
            let (from, to, attributes): Item<'_> = item?.extract()?;
            let place = |node: &Bound<'_, PyAny>| -> PyResult<usize> {
                let place = index.get_item(node)?;
                let place = place.map(|place| place.extract()).transpose()?;
                place.ok_or_else(|| PyValueError::new_err("an end of an edge is not a node"))
            };
            let (from, to) = (place(&from)?, place(&to)?);
            let whose = || {
                let [from, to] = [from, to].map(|end| shortened(&self.nodes[end].name));
                format!("edge `{from}` to `{to}`")
            };
            let mut said = Attributes::new(&attributes, &mut self.found);
            let edge = Edge {
                from,
                to,
                traffic: said.number(self.read.traffic, &whose)?,
                capacity: said.whole("capacity", 1, u32::MAX.into(), &whose)?,
                initial: said.whole("initial", 0, u32::MAX.into(), &whose)?,
                tag: said.whole("tag", i32::MIN.into(), i32::MAX.into(), &whose)?,
                ty: said.word("type", &whose)?,
                src: said.word("src", &whose)?,
                dst: said.word("dst", &whose)?,
                bundle: said.one_of("bundle", &whose, BundleKind::from_name, || {
                    BundleKind::ALL.map(BundleKind::name).join(", ")
                })?,
                kept: self.read.edge(&attributes)?,
            };
            if !both_ways {
                self.edges.push(edge);
                continue;
            }
            // Each direction has separate ports, because a port cannot be both read and written.
            let edge = Edge {
                src: None,
                dst: None,
                ..edge
            };
            let reversed = Edge {
                from: to,
                to: from,
                ..edge.clone()
            };
            self.edges.push(edge);
            if from != to {
                self.edges.push(reversed);
            }
        }
        Ok(())
    }

    /// Returns the network as declared by the nodes and edges that were read. The network is not
    /// checked. Unnamed ports get names, and processes without a kind get one.
    fn builder(mut self, name: &str) -> Builder {
        let names = self.nodes.iter().map(|node| node.name.as_str());
        let said = self.nodes.iter().map(|node| match &node.kind {
            Some(kind) => Kind::Explicit(kind),
            None if node.is_text => Kind::FromName,
            None => Kind::None,
        });
        name_ports(self.nodes.len(), &mut self.edges);
        let kinds = kinds(names.zip(said), &self.edges);
        let mut graph = Builder::new(name);
        let mut modules: HashMap<String, Module> = HashMap::new();
        let mut placed: Vec<Node> = Vec::with_capacity(self.nodes.len());
        for (node, kind) in self.nodes.iter().zip(&kinds) {
            let module = node.module.as_ref();
            let module = module.and_then(|path| module_of(&mut graph, &mut modules, path));
            let process = match module {
                Some(module) => graph.process_in(module, &node.name),
                None => graph.process(&node.name),
            };
            graph.kind(process, kind);
            if let Some(load) = node.load {
                graph.load(process, load);
            }
            if let Some(memory) = node.memory {
                graph.memory(process, memory);
            }
            for (name, value) in &node.kept {
                graph.process_attribute(process, name, value);
            }
            placed.push(process);
        }
        for edge in &self.edges {
            let port = |end: usize, name: &Option<String>| {
                placed[end].port(name.as_deref().unwrap_or_default())
            };
            let (from, to) = (port(edge.from, &edge.src), port(edge.to, &edge.dst));
            let mut channel = graph.channel(from, to);
            if let Some(ty) = &edge.ty {
                channel = channel.ty(ty);
            }
            if let Some(capacity) = edge.capacity {
                channel = channel.capacity(capacity);
            }
            if let Some(initial) = edge.initial {
                channel = channel.initial(initial);
            }
            if let Some(traffic) = edge.traffic {
                channel = channel.traffic(traffic);
            }
            if let Some(bundle) = edge.bundle {
                channel = channel.bundle(bundle);
            }
            for (name, value) in &edge.kept {
                channel = channel.attribute(name, value);
            }
            if let Some(tag) = edge.tag {
                channel.tag(tag);
            }
        }
        graph
    }
}

/// Returns the module of a path such as `a/b`, and creates it with the modules around it if `known`
/// does not contain them. Adds created modules to `known`. Empty parts of the path are ignored.
/// Returns `None` if no part is left.
fn module_of(
    graph: &mut Builder,
    known: &mut HashMap<String, Module>,
    path: &str,
) -> Option<Module> {
    let mut module = None;
    let mut whole = String::new();
    for part in path.split('/').filter(|part| !part.is_empty()) {
        // Only the names count: `a/b`, `a//b` and `/a/b/` are the same module.
        whole.push('/');
        whole += part;
        let found = match known.get(&whole) {
            Some(found) => *found,
            None => {
                let made = graph.module(part, module);
                known.insert(whole.clone(), made);
                made
            }
        };
        module = Some(found);
    }
    module
}

/// Returns the name of a node, `str(node)`. Returns the exception of Python if `str` or `repr`
/// fails, and `ValueError` if the name is not Unicode text.
fn text_of(node: &Bound<'_, PyAny>) -> PyResult<String> {
    let text = node.str()?;
    text.extract::<String>().or_else(|_| {
        let shown = node.repr()?;
        let shown = shown.to_string_lossy();
        let message = format!("the name of node {shown} is not Unicode text");
        Err(PyValueError::new_err(message))
    })
}
