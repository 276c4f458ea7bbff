//! The command for a registry.

use crate::{Emitter, FrontEnd, Pass, Registry, cli};
use graphmap_partition::Strategy;
use std::process::ExitCode;

/// The command: verbs and options for the contents of a [`Registry`].
///
/// ```no_run
/// use graphmap::{Diagnostics, Pass, PassContext};
/// use std::process::ExitCode;
///
/// struct Heavier;
///
/// impl Pass for Heavier {
///     fn name(&self) -> &str { "heavier" }
///     fn about(&self) -> &str { "doubles the load of every process" }
///     fn run(&self, context: &mut PassContext<'_>) -> Result<(), Diagnostics> {
///         context.network.processes.values_mut().for_each(|p| p.load *= 2.0);
///         Ok(())
///     }
/// }
///
/// fn main() -> ExitCode {
///     graphmap::Tool::new().pass(Heavier).main()
/// }
/// ```
#[derive(Debug, Default)]
pub struct Tool {
    registry: Registry,
}

impl From<Registry> for Tool {
    fn from(registry: Registry) -> Tool {
        Tool { registry }
    }
}

impl Tool {
    /// Creates the command with the built-in front ends, passes and emitters.
    #[must_use]
    pub fn new() -> Tool {
        Tool::default()
    }

    /// Adds a front end. The first one reads standard input if no format is given.
    #[must_use]
    pub fn front_end(self, front_end: impl FrontEnd + Send + Sync + 'static) -> Tool {
        self.registry.front_end(front_end).into()
    }

    /// Adds a pass, which `--pass NAME` runs.
    #[must_use]
    pub fn pass(self, pass: impl Pass + Send + Sync + 'static) -> Tool {
        self.registry.pass(pass).into()
    }

    /// Adds an emitter, which `--emit NAME=PATH` runs. If several accept a path, the one that was
    /// added first writes it.
    #[must_use]
    pub fn emitter(self, emitter: impl Emitter + Send + Sync + 'static) -> Tool {
        self.registry.emitter(emitter).into()
    }

    /// Adds a strategy, which `--strategy NAME` selects.
    #[must_use]
    pub fn strategy(self, strategy: Strategy) -> Tool {
        self.registry.strategy(strategy).into()
    }

    /// Runs the command line of this OS process, and returns its exit code. Blocks until the verb
    /// ends.
    pub fn main(self) -> ExitCode {
        ExitCode::from(cli::main(&self.registry, std::env::args_os().collect()))
    }
}
