//! The codes of the diagnostics of this crate; each has a page in the book's error index.

use graphmap_kpn::diagnostic::Code;

/// A file that places OS processes, for a mapping that names no hosts.
pub const NO_HOSTS: Code = Code(430);
/// A file that must name cores, for a mapping that names none: they were assumed.
pub const ASSUMED_CORES: Code = Code(431);
/// A binding to cores that the file has no way to say: it was left out.
pub const BINDING_LOST: Code = Code(432);
/// A host, program or argument that cannot be written into the file.
pub const NOT_PLAIN: Code = Code(433);
/// A `mapping.json` that is malformed.
pub const BAD_MAPPING: Code = Code(434);
/// A mapping for another network.
pub const OTHER_NETWORK: Code = Code(436);
/// An option with a value it does not take.
pub const BAD_OPTION: Code = Code(437);
/// An OS process without processes, which the launcher cannot start.
pub const EMPTY_OS_PROCESS: Code = Code(438);
/// Names of hosts that Open MPI refuses, or takes for another (a warning).
pub const OPEN_MPI_NAMES: Code = Code(439);
/// More ranks on a host than it has slots, where each process is an OS process, or more OS processes
/// than the host takes at most (a warning).
pub const BEYOND_SLOTS: Code = Code(440);
/// A file, or a command, that is longer than its launcher or the system reads.
pub const TOO_LONG: Code = Code(441);
/// A user, port, interface or binding of a host that a file does not say (a warning).
pub const ACCESS_LOST: Code = Code(445);
