//! Emitted files, for Python: a mapping from paths to contents that can be written.

use crate::diagnostics::{all, raised};
use crate::registry::REGISTRY;
use crate::waiting::{run_detached, run_until_signal};
use graphmap::{Fate, Mapped, Options, Report};
use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::pyclass::CompareOp;
use pyo3::types::{PyBytes, PyDict, PyIterator, PyList, PyMapping, PyTuple};
use std::ffi::OsStr;
use std::path::PathBuf;
use std::sync::Arc;

/// Generated files that are not yet written: a mapping from paths to contents.
#[pyclass(frozen, mapping, module = "graphmap")]
pub(crate) struct Files {
    files: Arc<graphmap::Files>,
    found: Arc<Report>,
}

impl Files {
    /// Returns the files of the named emitter, or of the emitter for `path` if `emitter` is `None`.
    /// Writes no files. Blocks until they are made. Other Python threads run meanwhile.
    ///
    /// # Errors
    /// `GraphmapError` if the emitter does not exist or fails. Also the errors of [`run_detached`].
    pub(crate) fn emitted(
        py: Python<'_>,
        mapped: Mapped,
        path: PathBuf,
        emitter: Option<&str>,
        options: Option<Options>,
    ) -> PyResult<Files> {
        let emitter = emitter.map(str::to_owned);
        let make = move || match (emitter, options) {
            (None, None) => REGISTRY.emit(&mapped, path),
            (Some(emitter), options) => {
                let options = options.unwrap_or_default();
                REGISTRY.emit_as(&emitter, &mapped, path, &options, None)
            }
            (None, Some(options)) => {
                // Without an emitter for the path, `emit` returns the error.
                let emitter = REGISTRY.emitter_of(&path).map(|emitter| emitter.name());
                match emitter {
                    Some(emitter) => REGISTRY.emit_as(emitter, &mapped, path, &options, None),
                    None => REGISTRY.emit(&mapped, path),
                }
            }
        };
        let made = run_detached(py, make)?.map_err(|error| raised(py, error))?;
        Ok(Files {
            files: Arc::new(made.value),
            found: Arc::new(made.report),
        })
    }

    /// Returns the content of the file at `path` as a string, which is empty if there is no such
    /// file. Bytes that are not UTF-8 are replaced.
    pub(crate) fn text(&self, path: &str) -> String {
        let file = self.files.get(path);
        let bytes = file.map_or(&[][..], |file| &file.content);
        String::from_utf8_lossy(bytes).into_owned()
    }

    /// Returns the paths as OS strings, so that names that are not Unicode survive a round trip
    /// through Python.
    fn paths(&self) -> Vec<&OsStr> {
        let paths = self.files.iter();
        paths.map(|(path, _)| path.as_os_str()).collect()
    }
}

#[pymethods]
impl Files {
    /// Warnings and notes of the emitter.
    #[getter]
    fn warnings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        all(py, &self.found)
    }

    /// The paths, in order.
    fn keys<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        PyList::new(py, self.paths())
    }

    /// The contents, in the order of the paths.
    fn values<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let files = self.files.iter();
        PyList::new(py, files.map(|(_, file)| PyBytes::new(py, &file.content)))
    }

    /// Paths with their contents, in the order of the paths.
    fn items<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let contents = self.files.iter();
        let contents = contents.map(|(_, file)| PyBytes::new(py, &file.content));
        let items: Vec<_> = self.paths().into_iter().zip(contents).collect();
        PyList::new(py, items)
    }

    /// Writes the files; see graphmap.write.
    pub(crate) fn write<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let files = Arc::clone(&self.files);
        // On Ctrl-C, the call waits a while for the files to be written. It does not wait forever,
        // because a pipe may have no reader.
        let fates = run_until_signal(py, move || graphmap::write(&files), || ())?;
        let dict = PyDict::new(py);
        for (path, fate) in fates.map_err(|error| raised(py, error))? {
            let fate = match fate {
                Fate::Unchanged => "unchanged",
                Fate::Kept => "kept",
                Fate::Created => "created",
                Fate::Replaced => "replaced",
                Fate::Special => "special",
                _ => "written",
            };
            dict.set_item(path.as_os_str(), fate)?;
        }
        Ok(dict)
    }

    fn __len__(&self) -> usize {
        self.files.iter().len()
    }

    fn __contains__(&self, path: &Bound<'_, PyAny>) -> bool {
        let path = path.extract::<PathBuf>();
        path.is_ok_and(|path| self.files.get(path).is_some())
    }

    fn __getitem__<'py>(&self, py: Python<'py>, path: PathBuf) -> PyResult<Bound<'py, PyBytes>> {
        let file = self.files.get(&path);
        let file = file.ok_or_else(|| PyKeyError::new_err(path.into_os_string()))?;
        Ok(PyBytes::new(py, &file.content))
    }

    /// The content of a path, or the default if the path is not in the mapping.
    #[pyo3(signature = (path, default = None, /))]
    fn get<'py>(
        &self,
        path: &Bound<'py, PyAny>,
        default: Option<Bound<'py, PyAny>>,
    ) -> Option<Bound<'py, PyAny>> {
        let file = path.extract::<PathBuf>().ok();
        let file = file.and_then(|path| self.files.get(path));
        file.map_or(default, |file| {
            Some(PyBytes::new(path.py(), &file.content).into_any())
        })
    }

    /// Equal to any mapping with the same paths and contents.
    fn __eq__<'py>(&self, other: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = other.py();
        let Ok(other) = other.cast::<PyMapping>() else {
            return Ok(py.NotImplemented().into_bound(py));
        };
        let (own, its) = (
            PyDict::from_sequence(self.items(py)?.as_any())?,
            PyDict::new(py),
        );
        its.update(other)?;
        own.rich_compare(its, CompareOp::Eq)
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        self.keys(py)?.try_iter()
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
        let paths = self.files.iter();
        let paths: Vec<_> = paths.map(|(path, _)| path.display().to_string()).collect();
        format!("<graphmap.Files {}>", paths.join(", "))
    }
}
