//! Diagnostics as Python objects, and the exception that contains them.

use graphmap::kpn::diagnostic::{Label, Severity};
use graphmap::kpn::source::SourceMap;
use graphmap::{Diagnostics, Error, Report};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

pyo3::create_exception!(
    graphmap,
    GraphmapError,
    PyValueError,
    "All errors of a file, a network or a request.\n\n\
     `str` shows each diagnostic with its source lines; `diagnostics` has the diagnostics as objects."
);

/// Returns the exception (`GraphmapError`) for the error of a stage, with its diagnostics.
pub(crate) fn raised(py: Python<'_>, error: Error) -> PyErr {
    exception(py, error.into_report())
}

/// Returns the exception (`GraphmapError`) for a report with at least one error. If its attribute
/// `diagnostics` cannot be set, returns the exception of that failure.
pub(crate) fn exception(py: Python<'_>, report: Report) -> PyErr {
    let exception = GraphmapError::new_err(report.to_string().trim_end().to_owned());
    let found = all(py, &Arc::new(report));
    let set = found.and_then(|found| exception.value(py).setattr("diagnostics", found));
    set.map_or_else(|failed| failed, |()| exception)
}

/// Returns all diagnostics of a report in its order. Returns the exception of Python if no tuple
/// can be made of them.
pub(crate) fn all<'py>(py: Python<'py>, report: &Arc<Report>) -> PyResult<Bound<'py, PyTuple>> {
    let found = report.diagnostics().iter().enumerate();
    let found: Vec<Diagnostic> = found
        .map(|(index, found)| Diagnostic::of(report, index, found))
        .collect();
    PyTuple::new(py, found)
}

/// A diagnostic: an error, a warning or a note. `str` shows it with its source lines.
#[pyclass(frozen, eq, hash, module = "graphmap")]
pub(crate) struct Diagnostic {
    /// Its code, such as `G0305`; `graphmap explain G0305` explains it.
    #[pyo3(get)]
    code: String,
    /// `error`, `warning` or `note`.
    #[pyo3(get)]
    severity: String,
    /// Its message, one sentence.
    #[pyo3(get)]
    message: String,
    place: Option<Place>,
    also: Vec<Place>,
    help: Vec<String>,
    notes: Vec<String>,
    shown: Shown,
}

/// Source of the text that shows a diagnostic with its source lines.
enum Shown {
    /// The diagnostic with this index in a report. The text is rendered on demand, because a report
    /// may have thousands of diagnostics, and only a few are shown.
    One(Arc<Report>, usize),
    /// Text of a diagnostic that was unpickled.
    Text(String),
}

impl PartialEq for Diagnostic {
    fn eq(&self, other: &Diagnostic) -> bool {
        self.said() == other.said()
    }
}

impl Hash for Diagnostic {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.said().hash(state);
    }
}

impl Diagnostic {
    /// Returns the fields that equality and hashes use. The shown text only adds source lines.
    fn said(&self) -> impl PartialEq + Hash + '_ {
        let (place, also) = (&self.place, &self.also);
        let words = (&self.code, &self.severity, &self.message);
        (words, place, also, &self.help, &self.notes)
    }

    fn of(report: &Arc<Report>, index: usize, found: &graphmap::Diagnostic) -> Diagnostic {
        let place = |label: &Label| Place::of(label, report.sources());
        let severity = match found.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        };
        Diagnostic {
            code: found.code.to_string(),
            severity: severity.to_owned(),
            message: found.message.clone(),
            place: found.primary.as_ref().and_then(place),
            also: found.secondary.iter().filter_map(place).collect(),
            help: found.help.clone(),
            notes: found.notes.clone(),
            shown: Shown::One(Arc::clone(report), index),
        }
    }
}

#[pymethods]
impl Diagnostic {
    /// Restores a pickled object.
    #[new]
    #[allow(clippy::too_many_arguments)] // They match `__getnewargs__`.
    fn new(
        code: String,
        severity: String,
        message: String,
        place: Option<PyRef<'_, Place>>,
        also: Vec<PyRef<'_, Place>>,
        help: Vec<String>,
        notes: Vec<String>,
        shown: String,
    ) -> Diagnostic {
        Diagnostic {
            code,
            severity,
            message,
            place: place.map(|place| place.clone()),
            also: also.iter().map(|place| Place::clone(place)).collect(),
            help,
            notes,
            shown: Shown::Text(shown),
        }
    }

    fn __getnewargs__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let texts = |texts: &[String]| PyList::new(py, texts);
        let arguments = (
            (&self.code, &self.severity, &self.message).into_pyobject(py)?,
            (self.place(), self.also(py)?).into_pyobject(py)?,
            (texts(&self.help)?, texts(&self.notes)?, self.__str__()).into_pyobject(py)?,
        );
        let all = arguments.0.add(arguments.1)?.add(arguments.2)?;
        Ok(all.cast_into::<PyTuple>()?)
    }

    /// Its position; None if it is not about a text.
    #[getter]
    fn place(&self) -> Option<Place> {
        self.place.clone()
    }

    /// Other related positions.
    #[getter]
    fn also<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.also.clone())
    }

    /// The name of its text.
    #[getter]
    fn file(&self) -> Option<&str> {
        self.place.as_ref().map(|place| place.file.as_str())
    }

    /// Its line, from 1.
    #[getter]
    fn line(&self) -> Option<u32> {
        self.place.as_ref().map(|place| place.line)
    }

    /// Its column in characters, from 1.
    #[getter]
    fn column(&self) -> Option<u32> {
        self.place.as_ref().map(|place| place.column)
    }

    /// Advice on how to fix it.
    #[getter]
    fn help<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.help)
    }

    /// Additional facts.
    #[getter]
    fn notes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.notes)
    }

    fn __str__(&self) -> String {
        match &self.shown {
            Shown::Text(text) => text.clone(),
            Shown::One(report, index) => {
                let one = report.diagnostics().iter().nth(*index).cloned();
                let one = one.map(Diagnostics::from).unwrap_or_default();
                let one = Report::new(one, report.sources().clone());
                one.to_string().trim_end().to_owned()
            }
        }
    }

    fn __repr__(&self) -> String {
        let (severity, code) = (&self.severity, &self.code);
        let place = self.place.as_ref();
        let place = place.map(|place| format!(" at {}", place.shown()));
        let place = place.unwrap_or_default();
        format!("<{severity} {code}{place}: {}>", self.message)
    }
}

/// A range of a text, with a label.
#[pyclass(frozen, get_all, eq, hash, module = "graphmap")]
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Place {
    /// The name of the text, such as the path of a file.
    pub(crate) file: String,
    /// Its first line, from 1.
    pub(crate) line: u32,
    /// Its first column in characters, from 1.
    pub(crate) column: u32,
    /// Its last line.
    pub(crate) end_line: u32,
    /// The column after its last character.
    pub(crate) end_column: u32,
    /// The label; often empty.
    pub(crate) text: String,
}

impl Place {
    fn of(label: &Label, sources: &SourceMap) -> Option<Place> {
        let (source, range) = sources.range(label.span)?;
        let (line, column) = source.line_column(range.start as u32);
        let (end_line, end_column) = source.line_column(range.end as u32);
        Some(Place {
            file: source.name().to_owned(),
            line,
            column,
            end_line,
            end_column,
            text: label.text.clone(),
        })
    }

    fn shown(&self) -> String {
        format!("{}:{}:{}", self.file, self.line, self.column)
    }
}

#[pymethods]
impl Place {
    /// Restores a pickled object.
    #[new]
    fn new(
        file: String,
        line: u32,
        column: u32,
        end_line: u32,
        end_column: u32,
        text: String,
    ) -> Place {
        Place {
            file,
            line,
            column,
            end_line,
            end_column,
            text,
        }
    }

    fn __getnewargs__(&self) -> (&str, u32, u32, u32, u32, &str) {
        let (file, text) = (&self.file, &self.text);
        (
            file,
            self.line,
            self.column,
            self.end_line,
            self.end_column,
            text,
        )
    }

    fn __repr__(&self) -> String {
        format!("<Place {}>", self.shown())
    }
}
