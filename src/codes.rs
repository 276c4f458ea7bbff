//! Codes of the diagnostics that this crate reports itself. Each has a page in `docs/src/errors/`.

use graphmap_kpn::diagnostic::{Code, Diagnostic};
use graphmap_kpn::input::Unreadable;

/// A file cannot be read: it does not exist, is a folder, or its permissions do not allow it.
pub const CANNOT_READ: Code = Code(1);
/// A file is not UTF-8 text.
pub const NOT_TEXT: Code = Code(2);
/// A file is larger than the limit of its kind, or the texts of one run are larger than 4 GiB
/// together.
pub const TOO_LARGE: Code = Code(3);
/// No front end reads files of this format.
pub const UNKNOWN_FORMAT: Code = Code(4);
/// A file cannot be written.
pub const CANNOT_WRITE: Code = Code(5);
/// No emitter has this name, or none writes files with this path.
pub const UNKNOWN_EMITTER: Code = Code(6);
/// No pass has this name.
pub const UNKNOWN_PASS: Code = Code(10);
/// The command line combines options that exclude each other, or names something that does not
/// exist.
pub const USAGE: Code = Code(11);
/// `--check` found a file that is missing or out of date.
pub const WOULD_CHANGE: Code = Code(12);
/// A file does not contain measured weights.
pub const BAD_WEIGHTS: Code = Code(13);
/// Measured weights do not cover the whole network (a warning).
pub const WEIGHTS_MISSING: Code = Code(14);
/// A `graphmap.toml` is not TOML, or contains an invalid setting.
pub const CONFIG: Code = Code(15);
/// A graph contains an unknown diagnostic code (a warning).
pub const UNKNOWN_CODE: Code = Code(16);
/// Measured traffic does not include the data that values of some types own (a note).
pub const UNMEASURED: Code = Code(17);
/// The tool that converts pictures is missing or cannot be used (an error), or reports a problem (a
/// warning).
pub const NO_RENDER: Code = Code(21);
/// A picture of a network replaces a picture of a mapping, or the reverse (a warning).
pub const OTHER_PICTURE: Code = Code(22);
/// No pass or emitter reads an option of `--set` (an error), or none of the requested ones does (a
/// warning).
pub const UNKNOWN_OPTION: Code = Code(444);
/// A graph has no project.
pub const NO_PROJECT: Code = Code(701);
/// There is no MPI to build a program with.
pub const NO_MPI: Code = Code(707);
/// A project has no MPI link, so no launcher of MPI can start its program.
pub const NO_LINK: Code = Code(708);
/// A mapping names hosts that are not hosts of the run (an error), or has more OS processes on a
/// host than it has slots (a warning).
pub const HOSTS_MISSING: Code = Code(709);
/// A program cannot be copied to a host.
pub const NOT_COPIED: Code = Code(710);
/// A host has no known address.
pub const UNKNOWN_HOST: Code = Code(711);
/// A project is named instead of a graph file, but is not a project of ranks.
pub const NO_RANKS_SAID: Code = Code(712);
/// A mapping names cores that this host does not have: an error if an OS process has none of its
/// cores, otherwise a warning.
pub const CORES_MISSING: Code = Code(713);
/// A launcher refuses to start OS processes for root.
pub const REFUSES_ROOT: Code = Code(714);
/// The sources of the runtime cannot be unpacked, or a project cannot be linked to them.
pub const NO_SOURCES: Code = Code(715);
/// A project needs another version of the runtime, or has a copy of an older one.
pub const OTHER_RUNTIME: Code = Code(716);
/// The MPI library for programs in C cannot be built or used.
pub const NO_LIBRARY: Code = Code(719);
/// A folder contains no Cargo project whose program uses `mpi`.
pub const NO_RANKS: Code = Code(808);
/// The tool that checks programs of ranks is missing or cannot be used.
pub const NO_DOCTOR: Code = Code(813);
/// The programs that `program=` names cannot be run in this way.
pub const PROGRAMS_OF_RUN: Code = Code(478);
/// Cargo cannot be run.
pub const NO_CARGO: Code = Code(702);
/// The code of a project does not compile. Usually a function does not fit its kind.
pub const DOES_NOT_COMPILE: Code = Code(703);
/// Cargo could not build a project, for a reason other than its code.
pub const BUILD: Code = Code(704);
/// The program of a network cannot be started, or was ended by a signal.
pub const PROGRAM: Code = Code(705);
/// The compiler reports a warning in one of the user's files.
pub const COMPILER_WARNING: Code = Code(706);

/// Returns the error that the file `name` cannot be read. Its code depends on the reason: the file
/// is too large, is not text, or cannot be read at all.
pub(crate) fn cannot_read(name: &str, why: &Unreadable) -> Diagnostic {
    let code = match why {
        why if why.is_too_large() => TOO_LARGE,
        why if why.is_not_text() => NOT_TEXT,
        _ => CANNOT_READ,
    };
    Diagnostic::error(code, format!("`{name}` cannot be read: {why}"))
}
