//! The codes of what goes wrong with plug-ins. Each has a page in `docs/src/errors/`.

use graphmap_kpn::diagnostic::Code;

/// The executable could not be started.
pub const CANNOT_START: Code = Code(501);
/// The executable did not end in time and was killed.
pub const TIMED_OUT: Code = Code(502);
/// The executable ended with a failure, or by a signal.
pub const DIED: Code = Code(503);
/// The reply is not what the protocol has.
pub const BAD_REPLY: Code = Code(504);
/// The reply writes a file outside of the folder of the output.
pub const FILE_OUTSIDE: Code = Code(506);
/// What an executable reports.
pub const REPORTED: Code = Code(507);
