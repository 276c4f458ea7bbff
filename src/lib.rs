//! The graphmap command as a library.
//!
//! [`Tool::new`] knows all front ends, passes and emitters of graphmap; add your own and you have
//! your own graphmap:
//!
//! ```no_run
//! use graphmap::{Diagnostics, Pass, PassContext};
//! use std::process::ExitCode;
//!
//! struct Heavier;
//!
//! impl Pass for Heavier {
//!     fn name(&self) -> &str { "heavier" }
//!     fn about(&self) -> &str { "doubles the load of every process" }
//!     fn run(&self, context: &mut PassContext<'_>) -> Result<(), Diagnostics> {
//!         context.network.processes.values_mut().for_each(|p| p.load *= 2.0);
//!         Ok(())
//!     }
//! }
//!
//! fn main() -> ExitCode {
//!     graphmap::Tool::new().pass(Heavier).main()
//! }
//! ```

mod cargo;
mod child;
mod cli;
mod codes;
mod compiler;
mod dot;
mod emitters;
mod frontend;
mod plugins;
mod signals;
mod supervisor;
mod weights;

pub use frontend::FrontEnd;
pub use graphmap_kpn::diagnostic::{Diagnostic, Diagnostics};
pub use graphmap_kpn::emit::{EmitContext, Emitter, Files};
pub use graphmap_kpn::pass::{Pass, PassContext};

/// The model that front ends, passes and emitters work on.
pub use graphmap_kpn as kpn;

use std::process::ExitCode;

/// The command: what it reads, what it can do, what it writes.
pub struct Tool {
    front_ends: Vec<Box<dyn FrontEnd>>,
    passes: Vec<Box<dyn Pass>>,
    emitters: Vec<Box<dyn Emitter>>,
}

impl Default for Tool {
    fn default() -> Tool {
        Tool::new()
    }
}

impl Tool {
    /// With all that graphmap brings along.
    pub fn new() -> Tool {
        let mut tool = Tool::empty()
            .front_end(frontend::Dot)
            .front_end(frontend::Json)
            .pass(weights::Weights)
            .emitter(graphmap_view::dot::MappedDot)
            .emitter(graphmap_view::svg::Svg)
            .emitter(graphmap_wiring::emitters::ModelEmitter);
        for emitter in graphmap_wiring::emitters::built_in() {
            tool = tool.emitter(emitter);
        }
        for emitter in graphmap_binding::emitters() {
            tool.emitters.push(emitter);
        }
        // The last one: it takes every `*.json`.
        tool.emitter(emitters::Json)
    }

    /// With nothing.
    pub fn empty() -> Tool {
        Tool {
            front_ends: Vec::new(),
            passes: Vec::new(),
            emitters: Vec::new(),
        }
    }

    /// Adds a front end. The first one reads standard input where no format is said.
    pub fn front_end(mut self, front_end: impl FrontEnd + 'static) -> Tool {
        self.front_ends.push(Box::new(front_end));
        self
    }

    /// Adds a pass, to be asked for with `--pass NAME`.
    pub fn pass(mut self, pass: impl Pass + 'static) -> Tool {
        self.passes.push(Box::new(pass));
        self
    }

    /// Adds an emitter, to be asked for with `--emit NAME=PATH`. Where several accept a path, the
    /// first that was added writes it.
    pub fn emitter(mut self, emitter: impl Emitter + 'static) -> Tool {
        self.emitters.push(Box::new(emitter));
        self
    }

    /// Does what the command line says.
    pub fn main(self) -> ExitCode {
        ExitCode::from(cli::main(&self, std::env::args_os().collect()))
    }

    pub(crate) fn front_ends(&self) -> impl Iterator<Item = &dyn FrontEnd> {
        self.front_ends.iter().map(|f| &**f)
    }

    pub(crate) fn passes(&self) -> impl Iterator<Item = &dyn Pass> {
        self.passes.iter().map(|p| &**p)
    }

    pub(crate) fn emitters(&self) -> impl Iterator<Item = &dyn Emitter> {
        self.emitters.iter().map(|e| &**e)
    }
}
