//! Attributes of nodes and edges: valid values, and diagnostics for invalid ones.

use crate::shown::{shortened, shown};
use graphmap::kpn::attributes::{MOST_NAMES, OF_ELEMENTS, PREFIX};
use graphmap::kpn::diagnostic::Code;
use graphmap::kpn::nearest::nearest;
use graphmap::{Diagnostic, Diagnostics};
use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFloat, PyInt, PyString};
use std::collections::{BTreeMap, HashSet};

/// Number of the diagnostic code for a value that does not fit its attribute.
const BAD_VALUE: u16 = 206;

/// Attributes of edges that are read, besides the traffic.
const OF_EDGES: [&str; 7] = ["capacity", "initial", "type", "src", "dst", "tag", "bundle"];
/// Attributes of nodes that are read, besides load and memory.
const OF_NODES: [&str; 2] = ["kind", "module"];

/// Attributes that are read, and attributes of the graph without an effect.
pub(super) struct Read<'a> {
    pub(super) load: &'a str,
    pub(super) memory: &'a str,
    pub(super) traffic: &'a str,
    /// Names of the attributes that are kept, at most [`MOST_NAMES`].
    names: HashSet<String>,
    /// Attributes without an effect, each with the known attribute that was probably meant.
    of_nodes: BTreeMap<String, Option<&'a str>>,
    of_edges: BTreeMap<String, Option<&'a str>>,
}

impl<'a> Read<'a> {
    pub(super) fn new(load: &'a str, memory: &'a str, traffic: &'a str) -> Read<'a> {
        Read {
            load,
            memory,
            traffic,
            names: HashSet::new(),
            of_nodes: BTreeMap::new(),
            of_edges: BTreeMap::new(),
        }
    }

    /// Returns the attributes of a node that are kept and have no effect. Records their names, each
    /// with the known name that it resembles. At most 1000 are recorded for all nodes.
    ///
    /// # Errors
    /// The exception of Python, if `str` of a value fails.
    pub(super) fn node(&mut self, attributes: &Bound<'_, PyDict>) -> PyResult<Vec<Kept>> {
        let known = [self.load, self.memory].into_iter().chain(OF_NODES);
        others(attributes, known, &mut self.names, &mut self.of_nodes)
    }

    /// Returns the attributes of an edge that are kept and have no effect. Records their names,
    /// each with the known name that it resembles. At most 1000 are recorded for all edges.
    ///
    /// # Errors
    /// The exception of Python, if `str` of a value fails.
    pub(super) fn edge(&mut self, attributes: &Bound<'_, PyDict>) -> PyResult<Vec<Kept>> {
        let known = [self.traffic].into_iter().chain(OF_EDGES);
        others(attributes, known, &mut self.names, &mut self.of_edges)
    }

    /// Returns the attributes of the graph that are kept: all but its name.
    ///
    /// # Errors
    /// The exception of Python, if `str` of a value fails.
    pub(super) fn graph(&mut self, attributes: &Bound<'_, PyDict>) -> PyResult<Vec<Kept>> {
        let known = ["name"].into_iter();
        others(attributes, known, &mut self.names, &mut BTreeMap::new())
    }

    /// Returns a sentence for each attribute without an effect that is probably misspelled.
    /// Attributes of nodes come first, sorted by name.
    pub(super) fn hints(&self) -> Vec<String> {
        let nodes = self
            .of_nodes
            .iter()
            .map(|(name, meant)| ("nodes", name, meant));
        let edges = self
            .of_edges
            .iter()
            .map(|(name, meant)| ("edges", name, meant));
        let hint = |(whose, name, meant): (&str, &String, &Option<&str>)| {
            let meant = (*meant)?;
            let (name, meant) = (shortened(name).replace('\0', "?"), meant.replace('\0', "?"));
            Some(format!(
                "attribute `{name}` of {whose} has no effect; did you mean `{meant}`?"
            ))
        };
        nodes.chain(edges).filter_map(hint).collect()
    }
}

/// An attribute that is kept and not interpreted: its name and its value.
pub(super) type Kept = (String, String);

/// Returns the attributes that are not `known`, and records their names in `found`. Omits names
/// that are not text, and values that are neither text nor a number. The names get the prefix `x_`,
/// except names of Graphviz that graphmap keeps. Adds them to `names`, and omits a name if there
/// are too many others.
fn others<'a>(
    attributes: &Bound<'_, PyDict>,
    known: impl Iterator<Item = &'a str> + Clone,
    names: &mut HashSet<String>,
    found: &mut BTreeMap<String, Option<&'a str>>,
) -> PyResult<Vec<Kept>> {
    /// Maximum number of names that are recorded.
    const MOST: usize = 1000;
    let mut kept = Vec::new();
    for (name, value) in attributes {
        let Ok(text) = name.cast::<PyString>() else {
            continue;
        };
        let name = text.to_string_lossy();
        if known.clone().any(|known| known == name) {
            continue;
        }
        let number = value.is_instance_of::<PyInt>() || value.is_instance_of::<PyFloat>();
        if (number || value.is_instance_of::<PyString>())
            && let Ok(value) = value.str()?.extract::<String>()
            && text.extract::<&str>().is_ok()
        {
            let free = name.starts_with(PREFIX) || OF_ELEMENTS.contains(&name.as_ref());
            let prefix = if free { "" } else { PREFIX };
            let name = format!("{prefix}{name}");
            if names.len() < MOST_NAMES && !names.contains(&name) {
                names.insert(name.clone());
            }
            if names.contains(&name) {
                kept.push((name, value));
            }
        }
        if !found.contains_key(name.as_ref()) && found.len() < MOST {
            let meant = nearest(&name, known.clone());
            found.insert(name.into_owned(), meant);
        }
    }
    Ok(kept)
}

/// The attributes of one node or edge.
pub(super) struct Attributes<'a, 'py> {
    attributes: &'a Bound<'py, PyDict>,
    found: &'a mut Diagnostics,
}

impl<'a, 'py> Attributes<'a, 'py> {
    pub(super) fn new(
        attributes: &'a Bound<'py, PyDict>,
        found: &'a mut Diagnostics,
    ) -> Attributes<'a, 'py> {
        Attributes { attributes, found }
    }

    /// Returns the value of an attribute, or `None` if it is absent. `None` in Python counts as
    /// absent. Returns an exception of Python as an error.
    fn value(&self, name: &str) -> PyResult<Option<Bound<'py, PyAny>>> {
        let value = self.attributes.get_item(name)?;
        Ok(value.filter(|value| !value.is_none()))
    }

    /// Returns the attribute `name` as a finite number of at least 0.
    ///
    /// Returns `None` if the attribute is absent. Also returns `None`, with an error in the
    /// diagnostics, if the value is not such a number. `whose` names the node or the edge. Returns
    /// an exception of Python as an error only if it must not be caught, such as
    /// `KeyboardInterrupt`, or if the attribute cannot be looked up.
    pub(super) fn number(
        &mut self,
        name: &str,
        whose: &dyn Fn() -> String,
    ) -> PyResult<Option<f64>> {
        let Some(value) = self.value(name)? else {
            return Ok(None);
        };
        match fitting(&value, value.extract::<f64>())? {
            Some(number) if number.is_finite() && number >= 0.0 => Ok(Some(number)),
            _ => self.misfit(name, whose, &value, "a number of at least 0"),
        }
    }

    /// Returns the attribute `name` as an integer from `least` to `most`. Integers of NumPy count.
    ///
    /// Returns `None` if the attribute is absent. Also returns `None`, with an error in the
    /// diagnostics, if the value is not such an integer, or does not fit into `T`. `whose` names
    /// the node or the edge. Returns an exception of Python as an error only if it must not be
    /// caught, such as `KeyboardInterrupt`, or if the attribute cannot be looked up.
    pub(super) fn whole<T: TryFrom<i64>>(
        &mut self,
        name: &str,
        least: i64,
        most: i64,
        whose: &dyn Fn() -> String,
    ) -> PyResult<Option<T>> {
        let Some(value) = self.value(name)? else {
            return Ok(None);
        };
        // Integers of NumPy are not `int`, but have `__index__`.
        let whole = value.is_instance_of::<PyInt>() || value.hasattr("__index__")?;
        let number = match whole {
            true => fitting(&value, value.extract::<i64>())?,
            false => None,
        };
        let number = number.filter(|number| (least..=most).contains(number));
        match number.and_then(|number| T::try_from(number).ok()) {
            Some(number) => Ok(Some(number)),
            None => {
                let wanted = format!("an integer from {least} to {most}");
                self.misfit(name, whose, &value, &wanted)
            }
        }
    }

    /// Returns the attribute `name` as a nonempty string.
    ///
    /// Returns `None` if the attribute is absent. Also returns `None`, with an error in the
    /// diagnostics, if the value is not such a string. `whose` names the node or the edge. Returns
    /// an exception of Python as an error only if the attribute cannot be looked up.
    pub(super) fn word(
        &mut self,
        name: &str,
        whose: &dyn Fn() -> String,
    ) -> PyResult<Option<String>> {
        let Some(value) = self.value(name)? else {
            return Ok(None);
        };
        match value.extract::<String>() {
            Ok(text) if !text.is_empty() => Ok(Some(text)),
            _ => self.misfit(name, whose, &value, "a nonempty string"),
        }
    }

    /// Returns the meaning of the attribute `name`, a word, from `of`. `all` returns the list of
    /// valid words.
    ///
    /// Returns `None` if the attribute is absent. Also returns `None`, with an error in the
    /// diagnostics, if the value is not a word with a meaning. `whose` names the node or the edge.
    /// Returns an exception of Python as an error only if the attribute cannot be looked up.
    pub(super) fn one_of<T>(
        &mut self,
        name: &str,
        whose: &dyn Fn() -> String,
        of: impl Fn(&str) -> Option<T>,
        all: impl Fn() -> String,
    ) -> PyResult<Option<T>> {
        let Some(value) = self.value(name)? else {
            return Ok(None);
        };
        match value.extract::<String>().ok().and_then(|word| of(&word)) {
            Some(meant) => Ok(Some(meant)),
            None => self.misfit(name, whose, &value, &format!("one of {}", all())),
        }
    }

    fn misfit<T>(
        &mut self,
        name: &str,
        whose: &dyn Fn() -> String,
        value: &Bound<'_, PyAny>,
        wanted: &str,
    ) -> PyResult<Option<T>> {
        let message = format!(
            "{}: `{name}` is {}: expected {wanted}",
            whose(),
            shown(value)
        );
        self.found.push(Diagnostic::error(Code(BAD_VALUE), message));
        Ok(None)
    }
}

/// Returns the result of an extraction from `value`. Returns `None` if the extraction failed with
/// an `Exception` of Python, usually because the value has another type. Any other exception, such
/// as `KeyboardInterrupt`, is returned as an error.
fn fitting<T>(value: &Bound<'_, PyAny>, taken: PyResult<T>) -> PyResult<Option<T>> {
    match taken {
        Err(other) if !other.is_instance_of::<PyException>(value.py()) => Err(other),
        taken => Ok(taken.ok()),
    }
}
