//! What was found, for Python: diagnostics as objects, and the exception that has them.

use graphmap::kpn::diagnostic::{Label, Severity};
use graphmap::kpn::source::SourceMap;
use graphmap::{Error, Report};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use std::sync::Arc;

pyo3::create_exception!(
    graphmap,
    GraphmapError,
    PyValueError,
    "All that is wrong with a file, a network or a request.\n\n\
     Its text shows each finding with the lines that it is about; `diagnostics` has them as objects."
);

/// The exception for what made a stage fail.
pub(crate) fn raised(py: Python<'_>, error: Error) -> PyErr {
    exception(py, error.into_report())
}

/// The exception for findings of which one at least is an error.
pub(crate) fn exception(py: Python<'_>, report: Report) -> PyErr {
    let exception = GraphmapError::new_err(report.to_string().trim_end().to_owned());
    let found = all(py, &Arc::new(report));
    let set = found.and_then(|found| exception.value(py).setattr("diagnostics", found));
    set.map_or_else(|failed| failed, |()| exception)
}

/// The findings of a report, errors and all others.
pub(crate) fn all<'py>(py: Python<'py>, report: &Arc<Report>) -> PyResult<Bound<'py, PyTuple>> {
    let found = (0..report.diagnostics().len()).map(|index| Diagnostic {
        report: Arc::clone(report),
        index,
    });
    PyTuple::new(py, found)
}

/// A finding: an error, a warning or a note. `str` shows it with the lines that it is about.
#[pyclass(frozen, module = "graphmap")]
pub(crate) struct Diagnostic {
    report: Arc<Report>,
    index: usize,
}

impl Diagnostic {
    fn diagnostic(&self) -> &graphmap::Diagnostic {
        let mut all = self.report.diagnostics().iter();
        all.nth(self.index).expect("made from this report")
    }

    fn primary(&self) -> Option<Place> {
        let label = self.diagnostic().primary.as_ref()?;
        Place::of(label, self.report.sources())
    }
}

#[pymethods]
impl Diagnostic {
    /// Its code, such as `G0305`: `graphmap explain G0305` tells more.
    #[getter]
    fn code(&self) -> String {
        self.diagnostic().code.to_string()
    }

    /// `error`, `warning` or `note`.
    #[getter]
    fn severity(&self) -> &'static str {
        match self.diagnostic().severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        }
    }

    /// What is the matter, in one sentence.
    #[getter]
    fn message(&self) -> &str {
        &self.diagnostic().message
    }

    /// Where it is; None where no text is to blame.
    #[getter]
    fn place(&self) -> Option<Place> {
        self.primary()
    }

    /// The other places that have to do with it.
    #[getter]
    fn also<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let labels = self.diagnostic().secondary.iter();
        let places = labels.filter_map(|label| Place::of(label, self.report.sources()));
        PyTuple::new(py, places.collect::<Vec<_>>())
    }

    /// The name of the text it is in.
    #[getter]
    fn file(&self) -> Option<String> {
        self.primary().map(|place| place.file)
    }

    /// Its line, from 1.
    #[getter]
    fn line(&self) -> Option<u32> {
        self.primary().map(|place| place.line)
    }

    /// Its column in characters, from 1.
    #[getter]
    fn column(&self) -> Option<u32> {
        self.primary().map(|place| place.column)
    }

    /// What can be done about it.
    #[getter]
    fn help<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.diagnostic().help)
    }

    /// What else is to be known of it.
    #[getter]
    fn notes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.diagnostic().notes)
    }

    fn __str__(&self) -> String {
        let one = Report::new(
            self.diagnostic().clone().into(),
            self.report.sources().clone(),
        );
        one.to_string().trim_end().to_owned()
    }

    fn __repr__(&self) -> String {
        let (severity, code) = (self.severity(), self.code());
        let place = self.primary().map(|place| format!(" at {}", place.shown()));
        let place = place.unwrap_or_default();
        format!("<{severity} {code}{place}: {}>", self.message())
    }
}

/// A stretch of a text, and what is said of it.
#[pyclass(frozen, get_all, module = "graphmap")]
pub(crate) struct Place {
    /// The name of the text: the path of a file, say.
    pub(crate) file: String,
    /// Its first line, from 1.
    pub(crate) line: u32,
    /// Its first column in characters, from 1.
    pub(crate) column: u32,
    /// Its last line.
    pub(crate) end_line: u32,
    /// The column behind it.
    pub(crate) end_column: u32,
    /// What is said of it; often nothing.
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
    fn __repr__(&self) -> String {
        format!("<Place {}>", self.shown())
    }
}
