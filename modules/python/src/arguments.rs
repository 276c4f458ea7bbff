//! Checks arguments that are numbers. Numbers of Python have no bounds. If a number is out of
//! range, the error is a `ValueError` that names the argument.

use crate::shown::shown;
use pyo3::exceptions::{PyOverflowError, PyValueError};
use pyo3::prelude::*;
use std::num::NonZeroUsize;
use std::time::Duration;

/// Upper limits of the search time and the imbalance.
const MOST_SECONDS: f64 = 1e9;
const MOST_IMBALANCE: f64 = 1000.0;
/// Upper limit of the number of search threads.
const MOST_THREADS: u64 = 1024;

pub(crate) fn os_processes(value: &Bound<'_, PyAny>) -> PyResult<Option<u32>> {
    let given = (!value.is_none()).then(|| whole("os_processes", value, 1, u32::MAX.into()));
    Ok(given.transpose()?.map(|number| number as u32))
}

pub(crate) fn seed(value: &Bound<'_, PyAny>) -> PyResult<u64> {
    whole("seed", value, 0, u64::MAX)
}

pub(crate) fn threads(value: &Bound<'_, PyAny>) -> PyResult<Option<NonZeroUsize>> {
    let given = (!value.is_none()).then(|| whole("threads", value, 1, MOST_THREADS));
    Ok(given
        .transpose()?
        .and_then(|number| NonZeroUsize::new(number as usize)))
}

pub(crate) fn time(value: &Bound<'_, PyAny>) -> PyResult<Option<Duration>> {
    if value.is_none() {
        return Ok(None);
    }
    let seconds = float(value)?;
    match seconds > 0.0 && seconds < MOST_SECONDS {
        true => Ok(Some(Duration::from_secs_f64(seconds))),
        false => wrong("time", value, "expected a number of seconds greater than 0"),
    }
}

pub(crate) fn imbalance(value: &Bound<'_, PyAny>) -> PyResult<f64> {
    let fraction = float(value)?;
    let wanted = format!("expected a number from 0 to {MOST_IMBALANCE}, such as 0.03 for 3%");
    match (0.0..=MOST_IMBALANCE).contains(&fraction) {
        true => Ok(fraction),
        false => wrong("imbalance", value, &wanted),
    }
}

fn whole(name: &str, value: &Bound<'_, PyAny>, least: u64, most: u64) -> PyResult<u64> {
    let number = match value.extract::<u64>() {
        // The number is negative, or has more than 64 bits.
        Err(error) if error.is_instance_of::<PyOverflowError>(value.py()) => None,
        number => Some(number?),
    };
    match number.filter(|number| (least..=most).contains(number)) {
        Some(number) => Ok(number),
        None => {
            let wanted = format!("expected an integer from {least} to {most}");
            wrong(name, value, &wanted)
        }
    }
}

/// Returns a float. An integer that is too large for a float becomes infinite, which the callers
/// reject.
///
/// # Errors
/// The exception of Python, if the value is not a number.
fn float(value: &Bound<'_, PyAny>) -> PyResult<f64> {
    match value.extract::<f64>() {
        Err(error) if error.is_instance_of::<PyOverflowError>(value.py()) => Ok(f64::INFINITY),
        number => number,
    }
}

fn wrong<T>(name: &str, value: &Bound<'_, PyAny>, wanted: &str) -> PyResult<T> {
    let message = format!("{name} is {}: {wanted}", shown(value));
    Err(PyValueError::new_err(message))
}
