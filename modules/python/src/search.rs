//! Runs the search for a mapping. Other Python threads run during the search, and Ctrl-C ends it.

use crate::diagnostics::{exception, raised};
use crate::waiting::{run_detached, run_until_signal};
use graphmap::kpn::source::SourceMap;
use graphmap::partition::{Objective, Watch};
use graphmap::plan::{self, Modules};
use graphmap::{Diagnosed, Diagnostic, Plan, Platform, Report, Request, Verified};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyString;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// The argument `hosts`.
enum Hosts {
    /// A description, or the text of a hostfile. A string that can be neither is the path of a
    /// file.
    Text(String),
    /// The path of a file with either.
    File(PathBuf),
}

/// A request for a mapping.
#[derive(Clone, Debug)]
pub(crate) struct Search(Request<'static>);

fn wrong<T>(message: String) -> PyResult<T> {
    Err(PyValueError::new_err(message))
}

impl Search {
    pub(crate) fn new(
        py: Python<'_>,
        os_processes: Option<u32>,
        strategy: &str,
        time: Option<Duration>,
        seed: u64,
        imbalance: f64,
    ) -> PyResult<Search> {
        let mut request = Request {
            os_processes: os_processes.map(|n| n as usize),
            imbalance,
            ..Request::default()
        };
        let unknown = |diagnostic: Diagnostic| {
            exception(py, Report::new(diagnostic.into(), SourceMap::new()))
        };
        request.options.strategy = plan::strategy(strategy, &[]).map_err(unknown)?;
        request.options.time = time;
        request.options.seed = seed;
        request.options.threads = thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        Ok(Search(request))
    }

    pub(crate) fn objective(mut self, name: &str) -> PyResult<Search> {
        self.0.objective = match name {
            "cost" => Objective::Cost,
            "bottleneck" => Objective::Bottleneck,
            "largest-load" => Objective::LargestLoad,
            "remote-channels" => Objective::RemoteChannels,
            _ => {
                return wrong(format!(
                    "unknown objective {name:?}: expected cost, bottleneck, largest-load or remote-channels"
                ));
            }
        };
        Ok(self)
    }

    pub(crate) fn threads(mut self, threads: Option<NonZeroUsize>) -> Search {
        self.0.options.threads = threads.unwrap_or(self.0.options.threads);
        self
    }

    pub(crate) fn modules(mut self, modules: Option<&Bound<'_, PyAny>>) -> PyResult<Search> {
        let Some(modules) = modules else {
            return Ok(self);
        };
        let word = modules.extract::<String>();
        self.0.modules = match (word.as_deref(), modules.extract::<f64>()) {
            (Ok("ignore"), _) => Modules::Ignore,
            (Ok("atom"), _) => Modules::Atom,
            (Err(_), Ok(traffic)) if traffic >= 0.0 && traffic.is_finite() => {
                Modules::Prefer(traffic)
            }
            _ => {
                return wrong(
                    "modules: expected \"ignore\", \"atom\", or a traffic of at least 0".to_owned(),
                );
            }
        };
        Ok(self)
    }

    pub(crate) fn strict_balance(mut self, strict: bool) -> Search {
        self.0.options.strict_balance = strict;
        self
    }

    /// Returns the hosts of the search. A string with `=` or a line break is a description, and any
    /// other value is the path of a file. Without `hosts`, returns one host with a placeholder
    /// name, which launchers do not get, and one slot for each requested OS process [default: 1],
    /// but at most one for each process.
    ///
    /// # Errors
    /// `GraphmapError` if the description is invalid or the file cannot be read. `TypeError` if
    /// `hosts` is neither a string nor a path. Also the errors of [`run_detached`].
    pub(crate) fn platform(
        &self,
        py: Python<'_>,
        hosts: Option<&Bound<'_, PyAny>>,
        network: &Verified,
    ) -> PyResult<Given> {
        let hosts = match hosts {
            None => None,
            Some(text) if text.is_instance_of::<PyString>() => Some(Hosts::Text(text.extract()?)),
            Some(path) => Some(Hosts::File(path.extract()?)),
        };
        let named = hosts.is_some();
        // There are never more OS processes than processes.
        let wanted = self.0.os_processes.unwrap_or(1);
        let slots = wanted.min(network.processes.len());
        let read = run_detached(py, move || match hosts {
            None => graphmap::platform(&format!("names=localhost slots={slots}")),
            Some(Hosts::Text(text)) if text.contains(['=', '\n']) => graphmap::platform(&text),
            Some(Hosts::Text(path)) => graphmap::read_platform(path),
            Some(Hosts::File(path)) => graphmap::read_platform(path),
        })?;
        let platform = read.map_err(|error| raised(py, error))?.into_value();
        Ok(Given { platform, named })
    }

    /// Runs the search, and blocks until the plan is available. Other Python threads run meanwhile.
    /// If a signal handler raises an exception, stops the search.
    ///
    /// # Errors
    /// `GraphmapError` if no plan exists. Also the errors of [`run_until_signal`].
    pub(crate) fn run(
        mut self,
        py: Python<'_>,
        network: Verified,
        given: Given,
    ) -> PyResult<Diagnosed<Plan>> {
        let enough = Arc::new(AtomicBool::new(false));
        self.0.options.watch = Some(Arc::new(Watch::new(Arc::clone(&enough))));
        self.0.named_hosts = given.named;
        let search = move || graphmap::map(&network, &given.platform, &self.0);
        let found = run_until_signal(py, search, || enough.store(true, Ordering::Relaxed))?;
        found.map_err(|error| raised(py, error))
    }
}

/// Hosts, and whether their names are for a launcher.
pub(crate) struct Given {
    platform: Platform,
    named: bool,
}
