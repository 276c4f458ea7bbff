//! Converts networks to graphs of NetworkX.

use crate::parts::bundle;
use graphmap::Verified;
use graphmap::kpn::attributes::{AttributesId, OF_ELEMENTS, PREFIX};
use graphmap::kpn::declared::{BundleKind, ModuleId};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Returns a `networkx.MultiDiGraph` with the attributes that `from_networkx` reads. Nodes are the
/// names of the processes.
///
/// # Errors
/// The exception of Python, if NetworkX cannot be imported or fails.
pub(crate) fn graph<'py>(py: Python<'py>, network: &Verified) -> PyResult<Bound<'py, PyAny>> {
    let about = PyDict::new(py);
    about.set_item("name", &network.name)?;
    set_attributes(network, network.attributes.graph, &about)?;
    let class = py.import("networkx")?.getattr("MultiDiGraph")?;
    let graph = class.call((), Some(&about))?;
    for id in network.processes.ids() {
        let process = &network.processes[id];
        let said = PyDict::new(py);
        said.set_item("load", process.load)?;
        said.set_item("memory", process.mem)?;
        said.set_item("kind", network.kind_name(id))?;
        if let Some(module) = process.module {
            said.set_item("module", path(network, module))?;
        }
        set_attributes(network, network.attributes.processes.get(id), &said)?;
        graph.call_method("add_node", (network.process_name(id),), Some(&said))?;
    }
    for (id, channel) in network.channels.iter() {
        let said = PyDict::new(py);
        let port = |port| network.name(network.ports[port].name);
        let terms = network.terms(id);
        said.set_item("traffic", channel.traffic)?;
        said.set_item("capacity", terms.capacity)?;
        said.set_item("initial", terms.initial)?;
        said.set_item("src", port(channel.from))?;
        said.set_item("dst", port(channel.to))?;
        if let Some(ty) = channel.ty {
            said.set_item("type", network.name(ty))?;
        }
        if let Some(tag) = terms.tag {
            said.set_item("tag", tag)?;
        }
        if let Some(kind) = bundle(network, id) {
            said.set_item("bundle", BundleKind::name(kind))?;
        }
        set_attributes(network, network.attributes.channels.get(id), &said)?;
        let [from, to] = [network.writer(id), network.reader(id)];
        let ends = [from, to].map(|end| network.process_name(end));
        graph.call_method("add_edge", (ends[0], ends[1]), Some(&said))?;
    }
    Ok(graph)
}

/// Adds the attributes of a list to a dictionary. Names of the user get the prefix `x_`, unless
/// they have it.
fn set_attributes(
    network: &Verified,
    list: Option<AttributesId>,
    said: &Bound<'_, PyDict>,
) -> PyResult<()> {
    for (name, value) in network.attribute_texts(list) {
        if name.starts_with(PREFIX) || OF_ELEMENTS.contains(&name) {
            said.set_item(name, value)?;
        } else {
            said.set_item(format!("{PREFIX}{name}"), value)?;
        }
    }
    Ok(())
}

/// Returns the names of a module and of the modules around it, from the outside to the inside:
/// `a/b`. Panics if the module is not in the network.
fn path(network: &Verified, module: ModuleId) -> String {
    let parents = std::iter::successors(Some(module), |id| network.modules[*id].parent);
    let names = parents.map(|id| network.name(network.modules[id].name));
    let mut names: Vec<&str> = names.collect();
    names.reverse();
    names.join("/")
}
