//! Codes of the diagnostics of this crate. Each code has a page in the error index of the book.

use graphmap_kpn::diagnostic::Code;

/// A file that places OS processes was requested, but the mapping lacks the name of a host.
pub const NO_HOSTS: Code = Code(430);
/// A file that must name cores was requested, but the mapping names none. Cores were assumed.
pub const ASSUMED_CORES: Code = Code(431);
/// A binding to cores that the format of the file cannot express, and that was omitted.
pub const BINDING_LOST: Code = Code(432);
/// A host, program or argument that cannot be written into the file.
pub const NOT_PLAIN: Code = Code(433);
/// A `mapping.json` that is malformed.
pub const BAD_MAPPING: Code = Code(434);
/// A mapping for another network.
pub const OTHER_NETWORK: Code = Code(436);
/// An option with an invalid value.
pub const BAD_OPTION: Code = Code(437);
/// An OS process without processes, which the launcher cannot start.
pub const EMPTY_OS_PROCESS: Code = Code(438);
/// Names of hosts that Open MPI refuses or confuses with one another (a warning).
pub const OPEN_MPI_NAMES: Code = Code(439);
/// A host or core with more OS processes than it should have (a warning): beyond the slots of a
/// host if each process is an OS process, beyond its `max_slots`, or several on one core.
pub const BEYOND_SLOTS: Code = Code(440);
/// A file or command that is longer than its launcher or the system accepts.
pub const TOO_LONG: Code = Code(441);
/// Glue functions that FG-MPI's mapping function does not call (a warning).
pub const GLUE_LOST: Code = Code(449);
/// A user, port, interface or binding of a host that the file does not contain (a warning).
pub const ACCESS_LOST: Code = Code(445);
