//! Programs in C and C++ that use MPI: their compilation and their runs as coroutines.

pub(crate) mod compile;
mod library;
pub(crate) mod mpiexec;
pub(crate) mod start;

use crate::cli::args::is_standard;
use crate::cli::exit::Exit;
use crate::cli::run::args::RunArgs;
use crate::cli::session::{Outcome, Session};
use crate::cli::supervisor::{self, Bound};
use crate::cli::{child, run};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// Returns true if a file is a compiled program (ELF).
pub(crate) fn is_program(path: &Path) -> bool {
    let mut start = [0; 4];
    let is_file = path.metadata().is_ok_and(|found| found.is_file());
    is_file
        && File::open(path).is_ok_and(|mut file| file.read_exact(&mut start).is_ok())
        && start == *b"\x7fELF"
}

/// Returns true if `graphmap run` is to run a file as a compiled program: if it is one, or if the
/// number of ranks was stated for a file of another kind. The host program then reports the
/// error in the file.
pub(crate) fn is_run(args: &RunArgs, session: &Session<'_>) -> bool {
    let file = &args.file;
    let is_graph = || {
        let mut languages = session.registry.front_ends();
        is_standard(file) || file.is_dir() || languages.any(|language| language.accepts(file))
    };
    is_program(file) || args.ranks.is_some() && !is_graph()
}

/// Reports what could go wrong if a program is run as coroutines: its shared state, and the
/// functions that it lacks. Blocks until the report is written.
///
/// # Errors
/// As for [`library::find`] and [`run::program_ended`].
pub(crate) fn examine(program: &Path, session: &mut Session<'_>) -> Outcome<Exit> {
    let host = library::find(session)?.host();
    let result = supervisor::command(host.as_os_str(), Bound::Program).and_then(|mut command| {
        command.arg("--examine").arg(program);
        session.timed("examine", |_| child::run(&mut command))
    });
    run::program_ended(session, &host, result)
}
