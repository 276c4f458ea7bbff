//! Parts of a network, for Python: processes, channels and modules.

use graphmap::Verified;
use graphmap::kpn::arena::Id;
use graphmap::kpn::arguments::Value;
use graphmap::kpn::attributes::AttributesId;
use graphmap::kpn::declared::{BundleKind, ModuleId};
use graphmap::kpn::network::{ChannelId, Join, PortId, ProcessId};
use graphmap::kpn::programs;
use graphmap::kpn::source::Span;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::hash::{Hash, Hasher};
use std::ptr;

/// A part of a network, by its id. Parts are equal if they have the same id in the same network
/// object. Object identity does not suffice, because each access from Python creates a new object.
#[derive(Clone)]
pub(crate) struct Part<I> {
    network: Verified,
    id: I,
}

impl<I> Part<I> {
    /// Returns the parts of a network with these ids, in the order of the ids. `part` makes a
    /// Python object of each.
    pub(crate) fn all<T>(
        network: &Verified,
        ids: impl Iterator<Item = I>,
        part: impl Fn(Part<I>) -> T,
    ) -> Vec<T> {
        let parts = ids.map(|id| {
            let network = network.clone();
            part(Part { network, id })
        });
        parts.collect()
    }
}

impl<I: PartialEq> PartialEq for Part<I> {
    fn eq(&self, other: &Part<I>) -> bool {
        self.id == other.id && ptr::eq(self.network.network(), other.network.network())
    }
}

impl<I: Hash> Hash for Part<I> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        ptr::hash(self.network.network(), state);
        self.id.hash(state);
    }
}

/// A process of a network.
#[pyclass(frozen, eq, hash, module = "graphmap")]
#[derive(PartialEq, Hash)]
pub(crate) struct Process(pub(crate) Part<ProcessId>);

#[pymethods]
impl Process {
    /// Its unique name.
    #[getter]
    fn name(&self) -> &str {
        self.0.network.process_name(self.0.id)
    }

    /// Its number, from 0.
    #[getter]
    fn rank(&self) -> usize {
        self.0.id.index()
    }

    /// The name of its kind. Processes of a kind have the same ports and the same function.
    #[getter]
    fn kind(&self) -> &str {
        self.0.network.kind_name(self.0.id)
    }

    /// The name of the innermost module that contains it, or None.
    #[getter]
    fn module(&self) -> Option<&str> {
        let module = self.0.network.processes[self.0.id].module?;
        Some(self.0.network.name(self.0.network.modules[module].name))
    }

    /// Its compute cost, in seconds or relative to the others.
    #[getter]
    fn load(&self) -> f64 {
        self.0.network.processes[self.0.id].load
    }

    /// The memory that it needs, in bytes.
    #[getter]
    fn memory(&self) -> f64 {
        self.0.network.processes[self.0.id].mem
    }

    /// Attributes that graphmap keeps and does not interpret, as a dictionary of strings.
    #[getter]
    fn attributes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let network = &self.0.network;
        attributes(py, network, network.attributes.processes.get(self.0.id))
    }

    /// The executable that `program=` names for it, or None.
    #[getter]
    fn program(&self) -> Option<String> {
        let programs = programs::of_processes(&self.0.network);
        programs[self.0.id.index()].name.map(str::to_owned)
    }

    /// Its arguments, by the names of the parameters of its kind. Empty if the kind has none.
    #[getter]
    fn arguments<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let network = &self.0.network;
        let all = PyDict::new(py);
        let parameters = network.parameters.get(&network.processes[self.0.id].kind);
        let arguments = network.arguments.get(&self.0.id);
        for (parameter, value) in parameters
            .iter()
            .flat_map(|all| all.iter())
            .zip(arguments.into_iter().flatten())
        {
            let name = &parameter.name;
            match value {
                Value::Integer(number) => all.set_item(name, number)?,
                Value::Float(number) => all.set_item(name, number)?,
                Value::Bool(value) => all.set_item(name, value)?,
                Value::Text(text) => all.set_item(name, text)?,
            }
        }
        Ok(all)
    }

    /// The names of its ports, in the order of first appearance.
    #[getter]
    fn ports<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let ports = self.0.network.ports_of(self.0.id);
        let names = ports.map(|port| self.0.network.name(self.0.network.ports[port].name));
        PyTuple::new(py, names)
    }

    /// File, line and column of its declaration; None if it is not from a text.
    #[getter]
    fn location(&self) -> Option<(String, u32, u32)> {
        location(&self.0.network, self.0.network.processes[self.0.id].span)
    }

    /// Returns itself, because it is immutable.
    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (_known, /))]
    fn __deepcopy__(slf: Py<Self>, _known: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }

    fn __repr__(&self) -> String {
        format!("<graphmap.Process {}: {:?}>", self.rank(), self.name())
    }
}

/// A channel between ports of processes.
#[pyclass(frozen, eq, hash, module = "graphmap")]
#[derive(PartialEq, Hash)]
pub(crate) struct Channel(pub(crate) Part<ChannelId>);

impl Channel {
    fn ends(&self) -> (PortId, PortId) {
        let channel = &self.0.network.channels[self.0.id];
        (channel.from, channel.to)
    }

    fn port(&self, port: PortId) -> &str {
        self.0.network.name(self.0.network.ports[port].name)
    }
}

#[pymethods]
impl Channel {
    /// The name of the process that writes to it.
    #[getter]
    fn writer(&self) -> &str {
        self.0
            .network
            .process_name(self.0.network.writer(self.0.id))
    }

    /// The name of the process that reads from it.
    #[getter]
    fn reader(&self) -> &str {
        self.0
            .network
            .process_name(self.0.network.reader(self.0.id))
    }

    /// The port of the writer.
    #[getter]
    fn src(&self) -> &str {
        self.port(self.ends().0)
    }

    /// The port of the reader.
    #[getter]
    fn dst(&self) -> &str {
        self.port(self.ends().1)
    }

    /// The type of its tokens, or None.
    #[getter]
    fn r#type(&self) -> Option<&str> {
        let ty = self.0.network.channels[self.0.id].ty?;
        Some(self.0.network.name(ty))
    }

    /// The maximum number of tokens that it holds.
    #[getter]
    fn capacity(&self) -> u32 {
        self.0.network.terms(self.0.id).capacity
    }

    /// The number of tokens that it holds at the start.
    #[getter]
    fn initial(&self) -> u32 {
        self.0.network.terms(self.0.id).initial
    }

    /// Its MPI tag, or None.
    #[getter]
    fn tag(&self) -> Option<i32> {
        self.0.network.terms(self.0.id).tag
    }

    /// Its traffic: bytes or messages, or relative to the others.
    #[getter]
    fn traffic(&self) -> f64 {
        self.0.network.channels[self.0.id].traffic
    }

    /// Attributes that graphmap keeps and does not interpret, as a dictionary of strings.
    #[getter]
    fn attributes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let network = &self.0.network;
        attributes(py, network, network.attributes.channels.get(self.0.id))
    }

    /// The kind of the bundle that it belongs to, such as `share` or `select`, or None.
    #[getter]
    fn bundle(&self) -> Option<&'static str> {
        bundle(&self.0.network, self.0.id).map(BundleKind::name)
    }

    /// File, line and column of its declaration; None if it is not from a text.
    #[getter]
    fn location(&self) -> Option<(String, u32, u32)> {
        location(&self.0.network, self.0.network.channels[self.0.id].span)
    }

    /// Returns itself, because it is immutable.
    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (_known, /))]
    fn __deepcopy__(slf: Py<Self>, _known: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }

    fn __repr__(&self) -> String {
        let network = &self.0.network;
        let ends = <[PortId; 2]>::from(self.ends());
        let [from, to] = ends.map(|port| network.port_name(port));
        format!("<graphmap.Channel {from} -> {to}>")
    }
}

/// A module: a cluster of processes and other modules.
#[pyclass(frozen, eq, hash, module = "graphmap")]
#[derive(PartialEq, Hash)]
pub(crate) struct Module(pub(crate) Part<ModuleId>);

#[pymethods]
impl Module {
    /// Its name, which is unique in its parent.
    #[getter]
    fn name(&self) -> &str {
        self.0.network.name(self.0.network.modules[self.0.id].name)
    }

    /// The name of its kind.
    #[getter]
    fn kind(&self) -> &str {
        self.0.network.name(self.0.network.modules[self.0.id].kind)
    }

    /// The module that contains it, or None.
    #[getter]
    fn parent(&self) -> Option<Module> {
        let id = self.0.network.modules[self.0.id].parent?;
        let network = self.0.network.clone();
        Some(Module(Part { network, id }))
    }

    /// Attributes that graphmap keeps and does not interpret, as a dictionary of strings.
    #[getter]
    fn attributes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let network = &self.0.network;
        attributes(py, network, network.attributes.modules.get(self.0.id))
    }

    /// Returns itself, because it is immutable.
    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (_known, /))]
    fn __deepcopy__(slf: Py<Self>, _known: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }

    fn __repr__(&self) -> String {
        format!("<graphmap.Module {:?}>", self.name())
    }
}

/// Returns the kind of the bundle that a channel is a member of, at the end of the writer or
/// otherwise of the reader. Returns `None` if it is not a member of a bundle. Panics if the channel
/// is not in the network.
pub(crate) fn bundle(network: &Verified, channel: ChannelId) -> Option<BundleKind> {
    let channel = &network.channels[channel];
    let of = |port: PortId| match network.ports[port].join {
        Join::Bundle(bundle) => Some(network.bundles[bundle].kind),
        Join::Channel(_) | Join::Environment(_) => None,
    };
    of(channel.from).or_else(|| of(channel.to))
}

/// Returns a list of attributes as a dictionary. Panics if the list is not in the network.
///
/// # Errors
/// The exception of Python, if the dictionary cannot be created.
pub(crate) fn attributes<'py>(
    py: Python<'py>,
    network: &Verified,
    list: Option<AttributesId>,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for (name, value) in network.attribute_texts(list) {
        dict.set_item(name, value)?;
    }
    Ok(dict)
}

fn location(network: &Verified, span: Span) -> Option<(String, u32, u32)> {
    let location = network.location(span)?;
    Some((location.file, location.line, location.column))
}
