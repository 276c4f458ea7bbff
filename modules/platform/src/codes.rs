//! The codes of the diagnostics of this crate; each has a page in the book's error index.

use graphmap_kpn::diagnostic::Code;

/// A file that names no host.
pub const NO_HOST: Code = Code(410);
/// A line of another dialect than the one the file is read as.
pub const WRONG_DIALECT: Code = Code(411);
/// A host given twice.
pub const DUPLICATE_HOST: Code = Code(412);
/// A count of zero.
pub const ZERO: Code = Code(413);
/// A word that should be a number.
pub const NOT_A_NUMBER: Code = Code(414);
/// A number, or a platform, that is too large.
pub const TOO_LARGE: Code = Code(415);
/// A word that cannot be the name of a host.
pub const BAD_NAME: Code = Code(416);
/// A key or word the dialect does not know.
pub const UNKNOWN_WORD: Code = Code(417);
/// A bracket without its partner.
pub const BRACKETS: Code = Code(418);
/// A range of host numbers that is empty or malformed.
pub const BAD_RANGE: Code = Code(419);
/// Variables of the environment that are missing or contradict each other.
pub const ENVIRONMENT: Code = Code(420);
/// Levels of a synthetic platform in the wrong order, or lists of the wrong length.
pub const LEVELS: Code = Code(421);
/// Distances that are too many, too few, or shrink towards the outside.
pub const DISTANCES: Code = Code(422);
/// A text that is not well-formed XML.
pub const XML: Code = Code(423);
/// XML that is not a topology of hwloc 2 or 3.
pub const TOPOLOGY: Code = Code(424);
/// A machine whose description cannot be read.
pub const LOCAL: Code = Code(425);
/// A host with fewer slots at most than at least.
pub const MAX_SLOTS: Code = Code(426);
/// A host whose number of slots is not given and was assumed.
pub const ASSUMED_SLOTS: Code = Code(427);
/// A user, port, interface or binding of a host that no launcher takes, or a second one (a warning).
pub const BAD_ACCESS: Code = Code(428);
/// Cores of several kinds whose speeds are not known (a warning).
pub const CORE_KINDS: Code = Code(429);
/// A topology without the name of its host (a warning).
pub const NO_HOST_NAME: Code = Code(448);
/// A heterogeneous job of Slurm, of which `srun` starts on one component only (a warning).
pub const HET_JOB: Code = Code(447);
