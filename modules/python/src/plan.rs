//! A plan, for Python: the mapping that was found, and its quality.

use crate::diagnostics::all;
use crate::files::Files;
use graphmap::kpn::arena::Id;
use graphmap::kpn::programs;
use graphmap::{Diagnosed, Options, Report};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use std::collections::HashSet;
use std::hash::{Hash, Hasher};
use std::path::PathBuf;
use std::sync::Arc;

/// A mapping of a network onto OS processes and hosts, with its quality. Costs and traffic are in
/// the units of the graph and of the distances of the platform.
#[pyclass(frozen, module = "graphmap")]
pub(crate) struct Plan {
    plan: graphmap::Plan,
    found: Arc<Report>,
    /// The `Network` object. It is untyped because `network.rs` depends on this file.
    network: Py<PyAny>,
}

impl Plan {
    pub(crate) fn new(found: Diagnosed<graphmap::Plan>, network: Py<PyAny>) -> Plan {
        Plan {
            plan: found.value,
            found: Arc::new(found.report),
            network,
        }
    }

    fn mapping(&self) -> &graphmap::Mapping {
        self.plan.mapped.mapping()
    }
}

#[pymethods]
impl Plan {
    /// The network that was mapped.
    #[getter]
    fn network(&self, py: Python<'_>) -> Py<PyAny> {
        self.network.clone_ref(py)
    }

    /// The number of the OS process of each process, by rank.
    #[getter]
    fn os_process<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, self.mapping().numbers())
    }

    /// The number of the OS process of each process, by name.
    #[getter]
    fn by_name<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let network = self.plan.mapped.network();
        let dict = PyDict::new(py);
        for id in network.processes.ids() {
            dict.set_item(network.process_name(id), self.mapping().of(id).index())?;
        }
        Ok(dict)
    }

    /// The OS processes, in the order of their numbers.
    #[getter]
    fn os_processes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let network = self.plan.mapped.network();
        let mut names = vec![Vec::new(); self.mapping().bindings.len()];
        for id in network.processes.ids() {
            names[self.mapping().of(id).index()].push(network.process_name(id).to_owned());
        }
        // A plan never has several programs in an OS process.
        let programs = programs::of_mapped(&self.plan.mapped).unwrap_or_default();
        let bindings = self.mapping().bindings.values().zip(names).enumerate();
        let all = bindings.map(|(number, (binding, processes))| OsProcess {
            program: programs.get(number).copied().flatten().map(str::to_owned),
            number,
            host: binding.host.clone(),
            cores: binding.cores.clone(),
            load: self.plan.loads[number],
            share: self.plan.shares[number],
            processes,
        });
        PyList::new(py, all.collect::<Vec<_>>())
    }

    /// The names of the hosts of the OS processes; empty if the hosts have no names for a launcher.
    #[getter]
    fn hosts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let bindings = self.mapping().bindings.values();
        let mut hosts: Vec<&str> = bindings
            .filter_map(|binding| binding.host.as_deref())
            .collect();
        let mut known = HashSet::new();
        hosts.retain(|host| known.insert(*host));
        PyList::new(py, hosts)
    }

    /// The cost: traffic times distance, summed over channels.
    #[getter]
    fn cost(&self) -> f64 {
        self.plan.cost
    }

    /// The cost, plus the cost of preferences that do not hold and of moves. For the objective
    /// `remote-channels`, the number of these channels takes the place of the cost.
    #[getter]
    fn minimized(&self) -> f64 {
        self.plan.minimized
    }

    /// No mapping within all limits has a smaller `minimized`.
    #[getter]
    fn lower_bound(&self) -> f64 {
        self.plan.lower_bound
    }

    /// Upper bound on the relative distance from the optimum, 0.1 for 10%; 0 if the mapping is
    /// proved optimal.
    #[getter]
    fn gap(&self) -> f64 {
        self.plan.gap
    }

    /// True if it is proved that no mapping is better.
    #[getter]
    fn proved(&self) -> bool {
        self.plan.proved
    }

    /// The largest load of an OS process relative to its share.
    #[getter]
    fn balance(&self) -> f64 {
        self.plan.balance
    }

    /// The factor by which the balance limit was raised, or None.
    #[getter]
    fn raised(&self) -> Option<f64> {
        self.plan.raised
    }

    /// The largest traffic that enters or leaves one host.
    #[getter]
    fn bottleneck(&self) -> f64 {
        self.plan.bottleneck
    }

    /// The number of channels between different OS processes.
    #[getter]
    fn remote_channels(&self) -> u64 {
        self.plan.remote_channels
    }

    /// The name of the strategy.
    #[getter]
    fn strategy(&self) -> &str {
        &self.mapping().strategy
    }

    /// The costs of other strategies, by name.
    #[getter]
    fn others<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for other in &self.plan.others {
            dict.set_item(&*other.strategy, other.cost)?;
        }
        Ok(dict)
    }

    /// Warnings and notes of the search.
    #[getter]
    fn warnings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        all(py, &self.found)
    }

    /// Returns a picture as SVG: hosts, OS processes, and the traffic between them.
    fn to_svg(&self, py: Python<'_>) -> PyResult<String> {
        self.one(py, "plan.svg")
    }

    /// Returns the mapping as `mapping.json`, for launchers and `graphmap run --mapping`.
    fn mapping_json(&self, py: Python<'_>) -> PyResult<String> {
        self.one(py, "mapping.json")
    }

    /// Returns the files of an emitter: the named one, or the one for this path: `wiring.rs`,
    /// `hostfile`, `rankfile`, `mapping.json`, `.svg`, `mapped.dot` and others. `graphmap.write`
    /// writes the files. `options` are set as by `--set`.
    ///
    /// Raises GraphmapError if the emitter does not exist or fails.
    #[pyo3(signature = (path, /, emitter = None, options = None))]
    fn emit(
        &self,
        py: Python<'_>,
        path: PathBuf,
        emitter: Option<&str>,
        options: Option<Options>,
    ) -> PyResult<Files> {
        Files::emitted(py, self.plan.mapped.clone(), path, emitter, options)
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

    fn __repr__(&self) -> String {
        let (network, plan) = (self.plan.mapped.network(), &self.plan);
        let known = match plan.proved {
            true => "proved to be the best".to_owned(),
            false if plan.preferences => {
                format!(
                    "minimized {}, at least {}",
                    plan.minimized, plan.lower_bound
                )
            }
            false => format!("at least {}", plan.lower_bound),
        };
        format!(
            "<graphmap.Plan of {:?}: {} processes in {} OS processes, cost {} ({known})>",
            network.name,
            network.processes.len(),
            self.mapping().bindings.len(),
            plan.cost,
        )
    }
}

impl Plan {
    /// Returns the file at `path` that the emitter for this path makes, as a string. Blocks until
    /// it is made. Other Python threads run meanwhile.
    ///
    /// # Errors
    /// As for [`Files::emitted`].
    fn one(&self, py: Python<'_>, path: &str) -> PyResult<String> {
        let files = Files::emitted(py, self.plan.mapped.clone(), path.into(), None, None)?;
        Ok(files.text(path))
    }
}

/// An OS process of a plan.
#[pyclass(frozen, get_all, eq, hash, module = "graphmap")]
#[derive(PartialEq)]
pub(crate) struct OsProcess {
    /// Its number, from 0.
    number: usize,
    /// Its host, or None if the launcher chooses it.
    host: Option<String>,
    /// Its cores; empty if it is not bound.
    cores: Vec<u32>,
    /// The load of its processes.
    load: f64,
    /// Its load relative to its even share.
    share: f64,
    /// The executable that `program=` names for its processes, or None.
    program: Option<String>,
    /// The names of its processes, in the order of ranks.
    processes: Vec<String>,
}

impl Hash for OsProcess {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.number, &self.host, &self.processes).hash(state);
    }
}

#[pymethods]
impl OsProcess {
    fn __len__(&self) -> usize {
        self.processes.len()
    }

    /// Always true, also without processes.
    fn __bool__(&self) -> bool {
        true
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
        let on = self.host.as_ref().map(|host| format!(" on {host}"));
        let (number, on, n) = (self.number, on.unwrap_or_default(), self.processes.len());
        format!("<graphmap.OsProcess {number}{on}: {n} processes>")
    }
}
