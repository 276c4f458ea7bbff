//! graphmap for Python: `import graphmap`. Each stage of the library is a method of the object that
//! the stage before returns. The stubs in `graphmap.pyi` repeat the doc comments of this crate for
//! Python's tools.

mod arguments;
mod diagnostics;
mod files;
mod from_networkx;
mod network;
mod parts;
mod plan;
mod registry;
mod search;
mod shown;
mod to_networkx;
mod waiting;

use diagnostics::{Diagnostic, GraphmapError, Place, raised};
use files::Files;
use graphmap::ReadOptions;
use network::Network;
use parts::{Channel, Module, Process};
use plan::{OsProcess, Plan};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};
use registry::REGISTRY;
use std::collections::BTreeMap;
use std::path::PathBuf;
use waiting::run_detached;

/// Reads and checks the graph file at a path. The extension selects the language: `.dot`, `.gv`,
/// `.json` or `.graphml`. `sizes` replaces sizes of the graph. Included files are searched in the
/// folder of the file that includes them, then in the folders `include`.
///
/// Raises GraphmapError with all errors of the file.
#[pyfunction]
#[pyo3(signature = (path, /, *, sizes = None, include = None))]
fn read(
    py: Python<'_>,
    path: PathBuf,
    sizes: Option<BTreeMap<String, i64>>,
    include: Option<Vec<PathBuf>>,
) -> PyResult<Network> {
    let options = options(sizes, include);
    let network = run_detached(py, move || {
        Network::checked(REGISTRY.read_with(path, &options)?)
    })?;
    network.map_err(|error| raised(py, error))
}

fn options(sizes: Option<BTreeMap<String, i64>>, include: Option<Vec<PathBuf>>) -> ReadOptions {
    ReadOptions {
        sizes: sizes.unwrap_or_default().into_iter().collect(),
        folders: include.unwrap_or_default(),
        ..ReadOptions::default()
    }
}

/// Reads and checks a string or bytes in a language: `dot`, `json`, `graphml` or `node-link`.
/// `name` is the name of the text in diagnostics, and its folder is the first in which included
/// files are searched. `sizes` and `include` are as for `read`.
///
/// Raises GraphmapError with all errors of the text.
#[pyfunction]
#[pyo3(signature = (text, /, format = "dot", name = "<text>", *, sizes = None, include = None))]
fn read_text(
    text: &Bound<'_, PyAny>,
    format: &str,
    name: &str,
    sizes: Option<BTreeMap<String, i64>>,
    include: Option<Vec<PathBuf>>,
) -> PyResult<Network> {
    let py = text.py();
    let bytes = match text.cast::<PyBytes>() {
        Ok(bytes) => bytes.as_bytes().to_vec(),
        Err(_) => text.extract::<String>()?.into_bytes(),
    };
    let (format, name) = (format.to_owned(), name.to_owned());
    let options = options(sizes, include);
    let read = move || Network::checked(REGISTRY.read_text_with(&format, &name, bytes, &options)?);
    let network = run_detached(py, read)?;
    network.map_err(|error| raised(py, error))
}

/// Writes files, each by a rename. Writes none of them if one cannot be written. Returns the result
/// for each path: `created`, `replaced`, `unchanged`, `kept` (the file exists and belongs to the
/// user) or `special` (a device or a pipe, to which the content was written).
///
/// Raises GraphmapError for the first file that cannot be written.
#[pyfunction]
#[pyo3(signature = (files, /))]
fn write<'py>(py: Python<'py>, files: &Files) -> PyResult<Bound<'py, PyDict>> {
    files.write(py)
}

#[pymodule]
#[pyo3(name = "graphmap", gil_used = false)]
fn package(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    let about = "Reads, checks, maps and draws networks of parallel processes.";
    module.setattr("__doc__", about)?;
    // `add` also extends `__all__`, whose names the package around this module exports.
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    let error = py.get_type::<GraphmapError>();
    // An exception that no stage raised has no diagnostics.
    error.setattr("diagnostics", PyTuple::empty(py))?;
    module.add("GraphmapError", error)?;
    module.add_class::<Diagnostic>()?;
    module.add_class::<Place>()?;
    module.add_class::<Network>()?;
    module.add_class::<Process>()?;
    module.add_class::<Channel>()?;
    module.add_class::<Module>()?;
    module.add_class::<Plan>()?;
    module.add_class::<OsProcess>()?;
    module.add_class::<Files>()?;
    module.add_function(wrap_pyfunction!(read, module)?)?;
    module.add_function(wrap_pyfunction!(read_text, module)?)?;
    module.add_function(wrap_pyfunction!(write, module)?)?;
    module.add_function(wrap_pyfunction!(from_networkx::from_networkx, module)?)?;
    // Makes `isinstance(files, Mapping)` true.
    let mapping = py.import("collections.abc")?.getattr("Mapping")?;
    mapping.call_method1("register", (py.get_type::<Files>(),))?;
    Ok(())
}
