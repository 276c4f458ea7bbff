//! A checked network, for Python: its parts, and the operations on it.

use crate::arguments;
use crate::diagnostics::{all, raised};
use crate::files::Files;
use crate::parts::{Channel, Module, Part, Process, attributes};
use crate::plan::Plan;
use crate::registry::REGISTRY;
use crate::search::Search;
use crate::to_networkx;
use crate::waiting::run_detached;
use graphmap::kpn::declared::Declared;
use graphmap::kpn::json;
use graphmap::{Diagnosed, Error, Options, Report, Verified};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// A network of processes that has passed all checks, from `read`, `read_text` or `from_networkx`.
///
/// Its length is the number of its processes.
#[pyclass(frozen, module = "graphmap")]
pub(crate) struct Network {
    pub(crate) network: Verified,
    found: Arc<Report>,
}

impl Network {
    /// Checks a network that was read. Keeps the warnings of the reader and of the check.
    ///
    /// # Errors
    /// All errors of the network.
    pub(crate) fn checked(read: Diagnosed<Declared>) -> Result<Network, Error> {
        let Diagnosed { value, report } = read;
        Ok(Network::with(graphmap::check(value)?, report))
    }

    /// Creates a network with the diagnostics of the stages before and of the check.
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

    /// Its processes, in the order of their ranks.
    #[getter]
    fn processes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let ids = self.network.processes.ids();
        PyList::new(py, Part::all(&self.network, ids, Process))
    }

    /// Its channels, in the order of the source.
    #[getter]
    fn channels<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let ids = self.network.channels.ids();
        PyList::new(py, Part::all(&self.network, ids, Channel))
    }

    /// Its modules; a module comes before the modules inside it.
    #[getter]
    fn modules<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let ids = self.network.modules.ids();
        PyList::new(py, Part::all(&self.network, ids, Module))
    }

    /// Attributes of the graph that graphmap keeps and does not interpret, as a dictionary of
    /// strings.
    #[getter]
    fn attributes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        attributes(py, &self.network, self.network.attributes.graph)
    }

    /// Warnings and notes from reading and checking it.
    #[getter]
    fn warnings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        all(py, &self.found)
    }

    /// Searches for a mapping of the processes onto OS processes and hosts.
    ///
    /// - `hosts`: a description such as `hosts=2:cores=4`, the text of a hostfile (more than one
    ///   line), or the path of a file with either [default: one host].
    /// - `os_processes`: the number of OS processes [default: one for each slot of the hosts;
    ///   without hosts, 1].
    /// - `strategy`: `auto`, `fast`, `stack`, `round-robin`, `metis` or `ilp`.
    /// - `objective`: `cost` (traffic times distance), `bottleneck`, `largest-load` or
    ///   `remote-channels`.
    /// - `time`: search time in seconds. Without it, the result depends only on the seed.
    /// - `threads`: the number of threads of a search with `time` [default: all cores].
    /// - `imbalance`: the tolerance by which an OS process may exceed its share of the load, 0.03
    ///   for 3%.
    /// - `strict_balance`: if the balance limit cannot be kept, raise an error. Otherwise the limit
    ///   is raised with a warning.
    /// - `modules`: the meaning of modules: `ignore`, `atom` (each stays in one OS process), or the
    ///   traffic that keeps each together.
    ///
    /// Other Python threads run during the search. Ctrl-C ends it.
    ///
    /// Raises GraphmapError if the hosts or the request are wrong, or no mapping exists, and
    /// ValueError if an argument is out of range.
    #[pyo3(signature = (hosts = None, os_processes = None, strategy = "auto", time = None, seed = 0, imbalance = 0.03, *,
                        objective = "cost", threads = None, strict_balance = false, modules = None))]
    #[allow(clippy::too_many_arguments)] // Most are keyword-only or optional.
    fn map(
        slf: Bound<'_, Self>,
        hosts: Option<&Bound<'_, PyAny>>,
        #[pyo3(from_py_with = arguments::os_processes)] os_processes: Option<u32>,
        strategy: &str,
        #[pyo3(from_py_with = arguments::time)] time: Option<Duration>,
        #[pyo3(from_py_with = arguments::seed)] seed: u64,
        #[pyo3(from_py_with = arguments::imbalance)] imbalance: f64,
        objective: &str,
        #[pyo3(from_py_with = arguments::threads)] threads: Option<NonZeroUsize>,
        strict_balance: bool,
        modules: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Plan> {
        let py = slf.py();
        let search = Search::new(py, os_processes, strategy, time, seed, imbalance)?
            .objective(objective)?
            .threads(threads)
            .modules(modules)?
            .strict_balance(strict_balance);
        let network = &slf.get().network;
        let platform = search.platform(py, hosts, network)?;
        let plan = search.run(py, network.clone(), platform)?;
        Ok(Plan::new(plan, slf.into_any().unbind()))
    }

    /// Returns the network after a pass. For example, `network.transform("weights", {"weights":
    /// "profile.json"})` sets the loads and the traffic that `graphmap run --profile` measured.
    /// `options` are set as by `--set`.
    ///
    /// Raises GraphmapError if the pass does not exist or fails.
    #[pyo3(signature = (name, /, options = None))]
    fn transform(&self, py: Python<'_>, name: &str, options: Option<Options>) -> PyResult<Network> {
        let options = options.unwrap_or_default();
        let network = self.network.clone();
        let name = name.to_owned();
        let done = run_detached(py, move || REGISTRY.transform(network, &name, &options))?;
        let done = done.map_err(|error| raised(py, error))?;
        Ok(Network::with(done, Report::clone(&self.found)))
    }

    /// Returns a picture as SVG, with all processes, or with kinds if there are too many processes.
    fn to_svg(&self, py: Python<'_>) -> PyResult<String> {
        let network = self.network.clone();
        run_detached(py, move || graphmap::to_svg(&network))
    }

    /// Returns the network as DOT without repetitions, which `read_text` reads.
    fn to_dot(&self, py: Python<'_>) -> PyResult<String> {
        let network = self.network.clone();
        run_detached(py, move || graphmap::to_dot(&network))
    }

    /// Returns the network as JSON, which `read_text` reads.
    fn to_json(&self, py: Python<'_>) -> PyResult<String> {
        let network = self.network.clone();
        run_detached(py, move || json::write(&network, None) + "\n")
    }

    /// Returns the network as a `networkx.MultiDiGraph`, with the attributes that `from_networkx`
    /// uses.
    fn to_networkx<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_networkx::graph(py, &self.network)
    }

    /// Returns the files of an emitter, with all processes in one OS process:
    /// `network.emit("wiring.rs")`. See Plan.emit.
    #[pyo3(signature = (path, /, emitter = None, options = None))]
    fn emit(
        &self,
        py: Python<'_>,
        path: PathBuf,
        emitter: Option<&str>,
        options: Option<Options>,
    ) -> PyResult<Files> {
        let mapped = graphmap::collocate(self.network.clone());
        Files::emitted(py, mapped, path, emitter, options)
    }

    /// The picture that a notebook shows.
    fn _repr_svg_(&self, py: Python<'_>) -> PyResult<String> {
        self.to_svg(py)
    }

    /// Returns itself, because it is immutable.
    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    #[pyo3(signature = (_known, /))]
    fn __deepcopy__(slf: Py<Self>, _known: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }

    /// Returns the network as JSON, for pickle. Positions then refer to that JSON, and earlier
    /// warnings are lost.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let read = py.import("graphmap")?.getattr("read_text")?;
        let arguments = (self.to_json(py)?, "json", &self.network.name);
        (read, arguments).into_pyobject(py)
    }

    fn __len__(&self) -> usize {
        self.network.processes.len()
    }

    /// Always true, because a network has at least one process.
    fn __bool__(&self) -> bool {
        true
    }

    fn __repr__(&self) -> String {
        let (processes, channels) = (self.network.processes.len(), self.network.channels.len());
        let name = &self.network.name;
        format!("<graphmap.Network {name:?}: {processes} processes, {channels} channels>")
    }
}
