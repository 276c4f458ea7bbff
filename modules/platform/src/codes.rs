//! The codes of this crate's diagnostics. Each has a page in the error index of the book.

use graphmap_kpn::diagnostic::Code;

/// A file that names no host.
pub const NO_HOST: Code = Code(410);
/// A line in a format other than the one in which the file is read.
pub const WRONG_FORMAT: Code = Code(411);
/// A host that occurs twice.
pub const DUPLICATE_HOST: Code = Code(412);
/// A count of zero.
pub const ZERO: Code = Code(413);
/// A word that should be a number.
pub const NOT_A_NUMBER: Code = Code(414);
/// A number, or a platform, that is too large.
pub const TOO_LARGE: Code = Code(415);
/// A word that cannot be the name of a host.
pub const BAD_NAME: Code = Code(416);
/// A key or word that the format does not define.
pub const UNKNOWN_WORD: Code = Code(417);
/// A bracket without its counterpart.
pub const BRACKETS: Code = Code(418);
/// A range of host numbers that is empty or malformed.
pub const BAD_RANGE: Code = Code(419);
/// Environment variables that are missing or contradict each other.
pub const ENVIRONMENT: Code = Code(420);
/// Levels of a synthetic platform in the wrong order, or lists of the wrong length.
pub const LEVELS: Code = Code(421);
/// Distances that are too many, too few, or decrease towards the outermost level.
pub const DISTANCES: Code = Code(422);
/// A text that is not well-formed XML.
pub const XML: Code = Code(423);
/// XML that is not a topology of hwloc 2 or 3.
pub const TOPOLOGY: Code = Code(424);
/// A machine whose description in `/sys` and `/proc` cannot be read.
pub const LOCAL: Code = Code(425);
/// A host whose maximum number of slots is below its number of slots.
pub const MAX_SLOTS: Code = Code(426);
/// A host whose number of slots is not given, so that it is assumed (a warning).
pub const ASSUMED_SLOTS: Code = Code(427);
/// A user, port, interface or binding that no launcher accepts, or a second, different one (a
/// warning).
pub const BAD_ACCESS: Code = Code(428);
/// Cores of several kinds whose speeds are unknown (a warning).
pub const CORE_KINDS: Code = Code(429);
/// A topology without the name of its host (a warning).
pub const NO_HOST_NAME: Code = Code(448);
/// A heterogeneous Slurm job. `srun` starts programs on its first component only (a warning).
pub const HET_JOB: Code = Code(447);
