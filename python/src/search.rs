//! Looks for a mapping while Python waits: its other threads run, and Ctrl-C ends the search.

use crate::diagnostics::{exception, raised};
use graphmap::kpn::source::SourceMap;
use graphmap::partition::{Objective, Watch};
use graphmap::plan::{self, Modules};
use graphmap::{Diagnosed, Diagnostic, Plan, Platform, Report, Request, Verified};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyString;
use std::num::NonZeroUsize;
use std::panic::resume_unwind;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// How often it is looked whether a signal has come.
const LOOK: Duration = Duration::from_millis(20);
/// How long a search that was ended is waited for; one that does not listen goes on without us.
const END: Duration = Duration::from_secs(2);
/// The stack of a search: what a main thread has.
const STACK: usize = 8 << 20;
/// The largest time and the largest imbalance that the engine is asked for.
const MOST_SECONDS: f64 = 1e9;
const MOST_IMBALANCE: f64 = 1000.0;
/// The most threads to search on.
const MOST_THREADS: usize = 1024;

/// What is to be run on: in words, or a file.
enum Hosts {
    /// A description, or the text of a hostfile; the path of a file where it can be neither.
    Text(String),
    /// The path of a file with either.
    File(PathBuf),
}

/// What is asked for.
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
        time: Option<f64>,
        seed: u64,
        imbalance: f64,
    ) -> PyResult<Search> {
        if os_processes == Some(0) {
            return wrong("os_processes is 0: at least 1 is wanted".to_owned());
        }
        if time.is_some_and(|time| !(time > 0.0 && time < MOST_SECONDS)) {
            return wrong("time wants seconds, more than 0".to_owned());
        }
        if !(0.0..=MOST_IMBALANCE).contains(&imbalance) {
            return wrong(format!(
                "imbalance wants a number from 0 to {MOST_IMBALANCE}: 0.03 for 3%"
            ));
        }
        let mut request = Request {
            os_processes: os_processes.map(|n| n as usize),
            imbalance,
            ..Request::default()
        };
        let unknown =
            |finding: Diagnostic| exception(py, Report::new(finding.into(), SourceMap::new()));
        request.options.strategy = plan::strategy(strategy, &[]).map_err(unknown)?;
        request.options.time = time.map(Duration::from_secs_f64);
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
                    "there is no objective {name:?}: it is cost, bottleneck, largest-load or remote-channels"
                ));
            }
        };
        Ok(self)
    }

    pub(crate) fn threads(mut self, threads: Option<usize>) -> PyResult<Search> {
        if let Some(threads) = threads {
            let threads = NonZeroUsize::new(threads).filter(|n| n.get() <= MOST_THREADS);
            let Some(threads) = threads else {
                return wrong(format!("threads wants a number from 1 to {MOST_THREADS}"));
            };
            self.0.options.threads = threads;
        }
        Ok(self)
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
                    "modules wants \"ignore\", \"atom\", or a traffic of at least 0".to_owned(),
                );
            }
        };
        Ok(self)
    }

    pub(crate) fn strict_balance(mut self, strict: bool) -> Search {
        self.0.options.strict_balance = strict;
        self
    }

    /// The hosts that are meant. Where none are told, it is one without a name that a launcher knows.
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
        let read = py.detach(|| match hosts {
            None => graphmap::platform(&format!("names=localhost slots={slots}")),
            Some(Hosts::Text(text)) if text.contains(['=', '\n']) => graphmap::platform(&text),
            Some(Hosts::Text(path)) => graphmap::read_platform(path),
            Some(Hosts::File(path)) => graphmap::read_platform(path),
        });
        let platform = read.map_err(|error| raised(py, error))?.into_value();
        Ok(Given { platform, named })
    }

    /// The plan.
    pub(crate) fn run(
        mut self,
        py: Python<'_>,
        network: Verified,
        given: Given,
    ) -> PyResult<Diagnosed<Plan>> {
        let enough = Arc::new(AtomicBool::new(false));
        self.0.options.watch = Some(Arc::new(Watch::new(Arc::clone(&enough))));
        self.0.named_hosts = given.named;
        let (done, mut wait) = channel();
        let search = move || {
            // Whoever was ended does not listen any more.
            let _ = done.send(graphmap::map(&network, &given.platform, &self.0));
        };
        let thread = thread::Builder::new().stack_size(STACK);
        let thread = thread.name("graphmap".to_owned()).spawn(search)?;
        loop {
            let result;
            (wait, result) = waited(py, wait, LOOK);
            match result {
                Ok(found) => return found.map_err(|error| raised(py, error)),
                Err(RecvTimeoutError::Timeout) => {
                    if let Err(signal) = py.check_signals() {
                        enough.store(true, Ordering::Relaxed);
                        let _ = waited(py, wait, END);
                        return Err(signal);
                    }
                }
                Err(RecvTimeoutError::Disconnected) => match thread.join() {
                    Err(panic) => resume_unwind(panic),
                    Ok(()) => return Err(PyRuntimeError::new_err("the search gave nothing")),
                },
            }
        }
    }
}

/// Hosts, and whether they have names that a launcher knows.
pub(crate) struct Given {
    platform: Platform,
    named: bool,
}

/// Waits without the interpreter, so that its other threads run.
fn waited<T: Send>(
    py: Python<'_>,
    wait: Receiver<T>,
    time: Duration,
) -> (Receiver<T>, Result<T, RecvTimeoutError>) {
    py.detach(move || {
        let result = wait.recv_timeout(time);
        (wait, result)
    })
}
