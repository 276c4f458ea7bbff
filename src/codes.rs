//! The codes of diagnostics that this crate makes itself. Each has a page in `docs/src/errors/`.

use graphmap_kpn::diagnostic::{Code, Diagnostic};
use graphmap_kpn::input::Unreadable;

/// A file cannot be read: it is missing, a folder, or not ours to read.
pub const CANNOT_READ: Code = Code(1);
/// A file is not text in UTF-8.
pub const NOT_TEXT: Code = Code(2);
/// The texts of one run are larger than 4 GiB together.
pub const TOO_LARGE: Code = Code(3);
/// No front end reads files of this kind.
pub const UNKNOWN_FORMAT: Code = Code(4);
/// A file cannot be written.
pub const CANNOT_WRITE: Code = Code(5);
/// No emitter goes by this name, or none writes files of this kind.
pub const UNKNOWN_EMITTER: Code = Code(6);
/// No pass goes by this name.
pub const UNKNOWN_PASS: Code = Code(10);
/// The command line asks for what does not go together, or for something that is not there.
pub const USAGE: Code = Code(11);
/// `--check` found a file that is not as it would be written.
pub const WOULD_CHANGE: Code = Code(12);
/// A file that should hold measured weights does not.
pub const BAD_WEIGHTS: Code = Code(13);
/// Measured weights that do not know all of the network.
pub const WEIGHTS_MISSING: Code = Code(14);
/// A `graphmap.toml` that is not TOML, or says what cannot be.
pub const CONFIG: Code = Code(15);
/// A drawing speaks of a finding that is not there.
pub const UNKNOWN_CODE: Code = Code(16);
/// Measured traffic in bytes that are not those of all that was sent.
pub const UNMEASURED: Code = Code(17);
/// An option by `--set` that nothing reads, or nothing of what is asked for (a warning).
pub const UNKNOWN_OPTION: Code = Code(444);
/// There is no project with the code of a graph.
pub const NO_PROJECT: Code = Code(701);
/// There is no MPI to build a program with.
pub const NO_MPI: Code = Code(707);
/// A project whose program no launcher of MPI can start.
pub const NO_LINK: Code = Code(708);
/// A mapping that names hosts which are not among those of the run, or places more on one than it has slots (a warning).
pub const HOSTS_MISSING: Code = Code(709);
/// A host that a program cannot be copied to.
pub const NOT_COPIED: Code = Code(710);
/// A host that nothing is known to be the address of.
pub const UNKNOWN_HOST: Code = Code(711);
/// A project that is named instead of a graph, and is of no ranks.
pub const NO_RANKS_SAID: Code = Code(712);
/// A mapping that names cores which this host does not have (an error where an OS process has none of its own, else a warning).
pub const CORES_MISSING: Code = Code(713);
/// A launcher that refuses to start anything for root.
pub const REFUSES_ROOT: Code = Code(714);
/// The sources of the runtime cannot be unpacked, or a project cannot be linked to them.
pub const NO_SOURCES: Code = Code(715);
/// A project needs another version of the runtime, or has a copy of an older one.
pub const OTHER_RUNTIME: Code = Code(716);
/// A folder without a Cargo project whose program uses `mpi`.
pub const NO_RANKS: Code = Code(808);
/// The tool that checks programs of ranks is missing or cannot be used.
pub const NO_DOCTOR: Code = Code(813);
/// Cargo cannot be run.
pub const NO_CARGO: Code = Code(702);
/// The code of a project does not compile: most often a function that does not fit its kind.
pub const DOES_NOT_COMPILE: Code = Code(703);
/// Cargo finds something wrong that is not the code.
pub const BUILD: Code = Code(704);
/// The program of a network cannot be started, or was ended by a signal.
pub const PROGRAM: Code = Code(705);
/// The compiler warns of something in a file of the user's.
pub const COMPILER_WARNING: Code = Code(706);

/// The finding that a file cannot be read.
pub(crate) fn cannot_read(name: &str, why: &Unreadable) -> Diagnostic {
    let code = match why {
        why if why.is_too_large() => TOO_LARGE,
        why if why.is_not_text() => NOT_TEXT,
        _ => CANNOT_READ,
    };
    Diagnostic::error(code, format!("`{name}` cannot be read: {why}"))
}
