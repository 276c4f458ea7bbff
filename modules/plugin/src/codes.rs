//! The codes of errors of plug-ins. Each has a page in `docs/src/errors/`.

use graphmap_kpn::diagnostic::Code;

/// The executable could not be started.
pub const CANNOT_START: Code = Code(501);
/// The executable did not end in time and was killed.
pub const TIMED_OUT: Code = Code(502);
/// The executable exited with a failure, or was killed by a signal.
pub const DIED: Code = Code(503);
/// The reply does not conform to the protocol.
pub const BAD_REPLY: Code = Code(504);
/// The reply contains a file outside the folder of the output.
pub const FILE_OUTSIDE: Code = Code(506);
/// A diagnostic that an executable reports.
pub const REPORTED: Code = Code(507);
/// The reply of a front end contains no network.
pub const NO_NETWORK: Code = Code(510);

/// All codes of this crate.
pub const ALL: [Code; 7] = [
    CANNOT_START,
    TIMED_OUT,
    DIED,
    BAD_REPLY,
    FILE_OUTSIDE,
    REPORTED,
    NO_NETWORK,
];
