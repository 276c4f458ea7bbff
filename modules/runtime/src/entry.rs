//! The whole of a generated program's `main`: the only place that prints.
#![allow(clippy::print_stderr)]

use std::env;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;

use crate::error::{Exit, RunError};
use crate::kpn::network::Network;
use crate::launcher;
use crate::options::Options;
use crate::panics;
use crate::run::run;
use crate::stats::Report;
use crate::visible::visible;

/// Runs the network with the [`Options`] in the environment, prints errors and statistics on
/// standard error, and returns one of the exit codes of [`Exit`]. The command line is the
/// program's own. A program that a launcher has started several times says so and ends.
///
/// ```no_run
/// mod wiring {
///     pub fn network() -> graphmap_runtime::Network {
///         graphmap_runtime::Network::new("farm", "farm.dot")
///     }
/// }
///
/// fn main() -> std::process::ExitCode {
///     graphmap_runtime::main(wiring::network)
/// }
/// ```
pub fn main(network: impl FnOnce() -> Network) -> ExitCode {
    if let Some(launched) = launcher::find(|name| env::var_os(name)) {
        if launched.speaks {
            eprintln!("error: {}", visible(&launched.to_string()));
        }
        return Exit::Usage.into();
    }
    panics::tell_from_here();
    let outcome = Options::from_env().and_then(|options| {
        let network = catch_unwind(AssertUnwindSafe(network)).map_err(|_| {
            RunError::Wiring(vec![
                "the function that describes the network panicked".into(),
            ])
        })?;
        let name = network.name().to_string();
        let of = name.clone();
        let options = options.on_quiet(move |block| {
            eprintln!("{of}: {}", block.quiet());
        });
        let report = run(network, &options)?;
        tell(&name, &report, &options)
    });
    match outcome {
        Ok(()) => Exit::Ok.into(),
        Err(error) => {
            eprintln!("error: {}", visible(&error.to_string()));
            error.exit().into()
        }
    }
}

fn tell(name: &str, report: &Report, options: &Options) -> Result<(), RunError> {
    let write = |file: &std::path::Path, text: String| {
        fs::write(file, text)
            .map_err(|error| RunError::File(format!("{}: cannot write: {error}", file.display())))
    };
    if let Some(file) = &options.stats_file {
        write(file, report.json_lines())?;
    } else if options.stats {
        let said = format!("{name}: what each kind did\n{report}");
        eprintln!("{}", visible(&said));
    }
    if let (Some(file), Some(profile)) = (&options.profile, report.profile()) {
        write(file, profile)?;
    }
    Ok(())
}
