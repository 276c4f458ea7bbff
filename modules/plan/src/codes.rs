//! Codes of the diagnostics of this crate.

use graphmap_kpn::diagnostic::Code;

/// A strategy with this name does not exist.
pub const UNKNOWN_STRATEGY: Code = Code(450);
/// `host=` names a host that the platform lacks.
pub const UNKNOWN_HOST: Code = Code(451);
/// `osprocess=` names an OS process that does not exist.
pub const NO_OS_PROCESS: Code = Code(452);
/// `host=` in a graph that is mapped without hosts (a warning).
pub const HOST_IGNORED: Code = Code(453);
/// More OS processes than slots (a warning).
pub const OVERCOMMITTED: Code = Code(454);
/// Fewer processes than requested OS processes (a warning).
pub const FEWER_PROCESSES: Code = Code(455);
/// No feasible mapping.
pub const INFEASIBLE: Code = Code(456);
/// The balance bound had to be raised (a warning).
pub const IMBALANCE: Code = Code(457);
/// Weights or options that the engine cannot compute with.
pub const WEIGHTS: Code = Code(458);
/// A solver, or a user's strategy, failed.
pub const SOLVER: Code = Code(459);
/// A previous mapping that is for another network or platform.
pub const PREVIOUS: Code = Code(460);
/// A strategy that did not complete its search, such as a solver without time (a warning).
pub const UNFINISHED: Code = Code(463);
/// A rule with a syntax error.
pub const BAD_RULE: Code = Code(461);
/// A rule about a process, kind or module that does not exist.
pub const NOBODY: Code = Code(462);
/// The answer of a mapper does not give an OS process to each process.
pub const NOT_A_MAPPING: Code = Code(512);
/// The mapping of a mapper breaks a rule.
pub const BREAKS_RULE: Code = Code(513);
/// The answer of a mapper has hosts or cores that do not exist.
pub const BAD_BINDING: Code = Code(514);
/// No box may hold a process.
pub const BOX_MISSING: Code = Code(465);
/// The number of OS processes is not that of the boxes.
pub const BOX_COUNT: Code = Code(466);
/// A list of numbers is not a permutation.
pub const BAD_PERMUTATION: Code = Code(467);
