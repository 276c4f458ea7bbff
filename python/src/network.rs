//! A checked network, for Python: what it consists of, and what can be made of it.

use crate::REGISTRY;
use crate::diagnostics::{all, raised};
use crate::files::Files;
use crate::plan::Plan;
use crate::search::Search;
use crate::to_networkx;
use graphmap::kpn::arena::Id;
use graphmap::kpn::declared::{BundleKind, Declared, ModuleId};
use graphmap::kpn::json;
use graphmap::kpn::network::{ChannelId, Join, PortId, ProcessId};
use graphmap::kpn::source::Span;
use graphmap::{Diagnosed, Error, Options, Report, Verified};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use std::path::PathBuf;
use std::sync::Arc;

/// A network of processes that was checked and found sound: `read`, `read_text` and `from_networkx` make it.
///
/// Its length is the number of its processes.
#[pyclass(frozen, module = "graphmap")]
pub(crate) struct Network {
    pub(crate) network: Verified,
    found: Arc<Report>,
}

impl Network {
    /// Checks what was read.
    pub(crate) fn checked(read: Diagnosed<Declared>) -> Result<Network, Error> {
        let Diagnosed { value, report } = read;
        Ok(Network::with(graphmap::check(value)?, report))
    }

    /// A network with what was found before it was checked, and then.
    fn with(checked: Diagnosed<Verified>, before: Report) -> Network {
        let Diagnosed { value, report } = checked;
        let mut found = before.diagnostics().clone();
        found.append(report.diagnostics().clone());
        let found = Report::new(found, value.sources.clone());
        Network {
            network: value,
            found: Arc::new(found),
        }
    }
}

#[pymethods]
impl Network {
    /// The name of the graph.
    #[getter]
    fn name(&self) -> &str {
        &self.network.name
    }

    /// Its processes in the order of their ranks.
    #[getter]
    fn processes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let processes: Vec<Process> = self
            .network
            .processes
            .ids()
            .map(|id| self.process(id))
            .collect();
        PyList::new(py, processes)
    }

    /// Its channels in the order of the source.
    #[getter]
    fn channels<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let channels = self.network.channels.ids().map(|id| Channel {
            network: self.network.clone(),
            id,
        });
        PyList::new(py, channels.collect::<Vec<_>>())
    }

    /// Its modules; one that holds others comes before them.
    #[getter]
    fn modules<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let modules = self.network.modules.ids().map(|id| Module {
            network: self.network.clone(),
            id,
        });
        PyList::new(py, modules.collect::<Vec<_>>())
    }

    /// Warnings and notes of reading and checking it.
    #[getter]
    fn warnings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        all(py, &self.found)
    }

    /// Looks for a mapping of its processes onto OS processes and hosts.
    ///
    /// `hosts` is a description such as `hosts=2:cores=4`, the text of a hostfile (of more than one line), or the path
    /// of a file with either; without it, it is one host. `os_processes` is how many of them there are to be,
    /// else one for each slot of the hosts (without hosts: one). `strategy` is `auto`, `fast`, `stack`, `round-robin`,
    /// `metis` or `ilp`; `objective` is `cost` (traffic times distance), `bottleneck`, `largest-load` or
    /// `remote-channels`. With `time`, in seconds, it searches so long on `threads` (else all cores); without it the
    /// result depends on the seed alone. `imbalance` is by how much an OS process may exceed its share of the load,
    /// 0.03 for 3%; what cannot be kept is raised with a warning, or an error if `strict_balance`. `modules` says what
    /// modules mean: `ignore`, `atom` (each stays in one OS process), or the traffic that is to keep each together.
    ///
    /// Other Python threads run while it searches. Ctrl-C ends it.
    ///
    /// Raises GraphmapError where the hosts or the request are wrong and where there is no such mapping, ValueError
    /// where an argument is out of range.
    #[pyo3(signature = (hosts = None, os_processes = None, strategy = "auto", time = None, seed = 0, imbalance = 0.03, *,
                        objective = "cost", threads = None, strict_balance = false, modules = None))]
    #[allow(clippy::too_many_arguments)] // Most by name.
    fn map(
        slf: Bound<'_, Self>,
        hosts: Option<&Bound<'_, PyAny>>,
        os_processes: Option<u32>,
        strategy: &str,
        time: Option<f64>,
        seed: u64,
        imbalance: f64,
        objective: &str,
        threads: Option<usize>,
        strict_balance: bool,
        modules: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Plan> {
        let py = slf.py();
        let search = Search::new(py, os_processes, strategy, time, seed, imbalance)?
            .objective(objective)?
            .threads(threads)?
            .modules(modules)?
            .strict_balance(strict_balance);
        let network = &slf.get().network;
        let platform = search.platform(py, hosts, network)?;
        let plan = search.run(py, network.clone(), platform)?;
        Ok(Plan::new(plan, slf.unbind()))
    }

    /// The network after a pass, `weights` say (measured loads and traffic: `weights.from` names the file).
    ///
    /// Raises GraphmapError where there is no such pass, and where it fails.
    #[pyo3(signature = (name, /, options = None))]
    fn transform(&self, py: Python<'_>, name: &str, options: Option<Options>) -> PyResult<Network> {
        let options = options.unwrap_or_default();
        let network = self.network.clone();
        let done = py.detach(|| REGISTRY.transform(network, name, &options));
        let done = done.map_err(|error| raised(py, error))?;
        Ok(Network::with(done, Report::clone(&self.found)))
    }

    /// A picture of it as SVG, with all its processes, or its kinds where there are too many to be told apart.
    fn to_svg(&self, py: Python<'_>) -> String {
        py.detach(|| graphmap::to_svg(&self.network))
    }

    /// It as a drawing in DOT, with everything that is repeated written out; `read_text` reads it back.
    fn to_dot(&self, py: Python<'_>) -> String {
        py.detach(|| graphmap::to_dot(&self.network))
    }

    /// It as JSON; `read_text` reads it back.
    fn to_json(&self, py: Python<'_>) -> String {
        py.detach(|| json::write(&self.network, None) + "\n")
    }

    /// It as a `networkx.MultiDiGraph`, with the attributes that `from_networkx` reads.
    fn to_networkx<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_networkx::graph(py, &self.network)
    }

    /// The files of an emitter with all processes in one OS process: `network.emit("wiring.rs")`; see Plan.emit.
    #[pyo3(signature = (path, /, emitter = None, options = None))]
    fn emit(
        &self,
        py: Python<'_>,
        path: PathBuf,
        emitter: Option<&str>,
        options: Option<Options>,
    ) -> PyResult<Files> {
        let mapped = graphmap::collocate(self.network.clone());
        Files::emitted(py, &mapped, path, emitter, options)
    }

    /// What a notebook shows.
    fn _repr_svg_(&self, py: Python<'_>) -> String {
        self.to_svg(py)
    }

    /// Pickled, it is JSON: places are then those of that text, and what was found before is not told again.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let read = py.import("graphmap")?.getattr("read_text")?;
        let arguments = (self.to_json(py), "json", &self.network.name);
        (read, arguments).into_pyobject(py)
    }

    fn __len__(&self) -> usize {
        self.network.processes.len()
    }

    /// A network without processes is none, so every one is true.
    fn __bool__(&self) -> bool {
        true
    }

    fn __repr__(&self) -> String {
        let (processes, channels) = (self.network.processes.len(), self.network.channels.len());
        let name = &self.network.name;
        format!("<graphmap.Network {name:?}: {processes} processes, {channels} channels>")
    }
}

impl Network {
    fn process(&self, id: ProcessId) -> Process {
        Process {
            network: self.network.clone(),
            id,
        }
    }
}

/// A process of a network.
#[pyclass(frozen, module = "graphmap")]
pub(crate) struct Process {
    network: Verified,
    id: ProcessId,
}

#[pymethods]
impl Process {
    /// Its name, which no other process has.
    #[getter]
    fn name(&self) -> &str {
        self.network.process_name(self.id)
    }

    /// Its number, from 0.
    #[getter]
    fn rank(&self) -> usize {
        self.id.index()
    }

    /// The name of its kind: processes of one have the same ports and the same function.
    #[getter]
    fn kind(&self) -> &str {
        self.network.kind_name(self.id)
    }

    /// The name of the innermost module it lies in; None in none.
    #[getter]
    fn module(&self) -> Option<&str> {
        let module = self.network.processes[self.id].module?;
        Some(self.network.name(self.network.modules[module].name))
    }

    /// What it costs to compute, in seconds or relative to the others.
    #[getter]
    fn load(&self) -> f64 {
        self.network.processes[self.id].load
    }

    /// Memory that it needs, in bytes.
    #[getter]
    fn memory(&self) -> f64 {
        self.network.processes[self.id].mem
    }

    /// The names of its ports, in the order of first appearance.
    #[getter]
    fn ports<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let ports = self.network.ports_of(self.id);
        let names = ports.map(|port| self.network.name(self.network.ports[port].name));
        PyTuple::new(py, names)
    }

    /// File, line and column of its declaration; None where it stands in no text.
    #[getter]
    fn location(&self) -> Option<(String, u32, u32)> {
        location(&self.network, self.network.processes[self.id].span)
    }

    fn __repr__(&self) -> String {
        format!("<graphmap.Process {}: {:?}>", self.rank(), self.name())
    }
}

/// A channel between ports of processes.
#[pyclass(frozen, module = "graphmap")]
pub(crate) struct Channel {
    network: Verified,
    id: ChannelId,
}

impl Channel {
    fn ends(&self) -> (PortId, PortId) {
        let channel = &self.network.channels[self.id];
        (channel.from, channel.to)
    }

    fn port(&self, port: PortId) -> &str {
        self.network.name(self.network.ports[port].name)
    }
}

#[pymethods]
impl Channel {
    /// The name of the process that writes it.
    #[getter]
    fn writer(&self) -> &str {
        self.network.process_name(self.network.writer(self.id))
    }

    /// The name of the process that reads it.
    #[getter]
    fn reader(&self) -> &str {
        self.network.process_name(self.network.reader(self.id))
    }

    /// The port that writes it.
    #[getter]
    fn src(&self) -> &str {
        self.port(self.ends().0)
    }

    /// The port that reads it.
    #[getter]
    fn dst(&self) -> &str {
        self.port(self.ends().1)
    }

    /// The type of its tokens; None where it says none.
    #[getter]
    fn r#type(&self) -> Option<&str> {
        let ty = self.network.channels[self.id].ty?;
        Some(self.network.name(ty))
    }

    /// How many tokens it holds at the most.
    #[getter]
    fn capacity(&self) -> u32 {
        self.network.terms(self.id).capacity
    }

    /// How many tokens it holds at the start.
    #[getter]
    fn initial(&self) -> u32 {
        self.network.terms(self.id).initial
    }

    /// Its MPI tag; None where it has none.
    #[getter]
    fn tag(&self) -> Option<i32> {
        self.network.terms(self.id).tag
    }

    /// Its traffic: bytes or messages, or relative to the others.
    #[getter]
    fn traffic(&self) -> f64 {
        self.network.channels[self.id].traffic
    }

    /// How it works with the others of a port that it shares with them, `share` or `select` say; None where it
    /// shares none.
    #[getter]
    fn bundle(&self) -> Option<&'static str> {
        bundle(&self.network, self.id).map(BundleKind::name)
    }

    /// File, line and column of its declaration; None where it stands in no text.
    #[getter]
    fn location(&self) -> Option<(String, u32, u32)> {
        location(&self.network, self.network.channels[self.id].span)
    }

    fn __repr__(&self) -> String {
        let network = &self.network;
        let ends = <[PortId; 2]>::from(self.ends());
        let [from, to] = ends.map(|port| network.port_name(port));
        format!("<graphmap.Channel {from} -> {to}>")
    }
}

/// A module: processes, and other modules, that belong together.
#[pyclass(frozen, module = "graphmap")]
pub(crate) struct Module {
    network: Verified,
    id: ModuleId,
}

#[pymethods]
impl Module {
    /// Its name, which no other module of the same parent has.
    #[getter]
    fn name(&self) -> &str {
        self.network.name(self.network.modules[self.id].name)
    }

    /// The name of its kind.
    #[getter]
    fn kind(&self) -> &str {
        self.network.name(self.network.modules[self.id].kind)
    }

    /// The module that it lies in; None in none.
    #[getter]
    fn parent(&self) -> Option<Module> {
        let id = self.network.modules[self.id].parent?;
        Some(Module {
            network: self.network.clone(),
            id,
        })
    }

    fn __repr__(&self) -> String {
        format!("<graphmap.Module {:?}>", self.name())
    }
}

/// The kind of the bundle that a channel is a member of, at whichever of its ends.
pub(crate) fn bundle(network: &Verified, channel: ChannelId) -> Option<BundleKind> {
    let channel = &network.channels[channel];
    let of = |port: PortId| match network.ports[port].join {
        Join::Bundle(bundle) => Some(network.bundles[bundle].kind),
        Join::Channel(_) | Join::Environment(_) => None,
    };
    of(channel.from).or_else(|| of(channel.to))
}

fn location(network: &Verified, span: Span) -> Option<(String, u32, u32)> {
    let location = network.location(span)?;
    Some((location.file, location.line, location.column))
}
