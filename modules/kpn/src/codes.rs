//! The codes of what the model finds wrong. Each has a page in the book under `docs/src/errors`.

use crate::diagnostic::Code;

/// A file in a version of its format that is not read.
pub const OTHER_VERSION: Code = Code(8);

/// Expansion makes more processes, channels or modules than there are ids for.
pub const TOO_MANY_REPLICAS: Code = Code(250);
/// Both ends of a channel are repeated, each for itself, and nothing says which meet.
pub const AMBIGUOUS_REPETITION: Code = Code(251);
/// `step=` where the ends share no (or fewer) repeated modules.
pub const STEP_WITHOUT_SCOPE: Code = Code(252);
/// `at=N` beyond the last instance.
pub const AT_OUT_OF_RANGE: Code = Code(253);
/// `at=each` for ends that are repeated differently often.
pub const EACH_COUNTS_DIFFER: Code = Code(254);
/// `at=` where neither end is repeated without the other, or `step=` past the end from everywhere.
pub const AT_WITHOUT_EFFECT: Code = Code(255);
/// Two processes or modules have one name after expansion.
pub const NAME_COLLISION: Code = Code(256);
/// Faces of one process lie in different modules.
pub const FACES_APART: Code = Code(257);

/// A network without any process.
pub const NO_PROCESS: Code = Code(301);
/// A channel from the environment to the environment.
pub const ENVIRONMENT_TO_ITSELF: Code = Code(302);
/// A port that both reads and writes.
pub const BOTH_DIRECTIONS: Code = Code(303);
/// Faces of one process say different kinds.
pub const FACES_DISAGREE: Code = Code(304);
/// An output with several channels that does not say how they share.
pub const BUNDLE_MISSING: Code = Code(305);
/// Channels at one port say different kinds of bundle.
pub const BUNDLE_CONFLICT: Code = Code(306);
/// A port joined to the environment and to a channel.
pub const ENVIRONMENT_AND_CHANNEL: Code = Code(307);
/// A port joined to the environment more than once.
pub const ENVIRONMENT_TWICE: Code = Code(308);
/// A process lacks a port that others of its kind have.
pub const PORT_MISSING: Code = Code(310);
/// A port reads in one process of a kind and writes in another.
pub const DIRECTION_CONFLICT: Code = Code(311);
/// One channel, bundle or port of a kind would carry two types.
pub const TYPE_CONFLICT: Code = Code(312);
/// A port is of different bundles in processes of one kind.
pub const KIND_BUNDLE_CONFLICT: Code = Code(313);
/// What makes the network non-deterministic (a note).
pub const NOT_DETERMINISTIC: Code = Code(314);
/// A channel from a process to itself.
pub const SELF_CHANNEL: Code = Code(315);
/// More tokens at the start than the channel holds.
pub const INITIAL_EXCEEDS_CAPACITY: Code = Code(316);
/// A process that no channel reaches.
pub const ISOLATED_PROCESS: Code = Code(317);
/// Parts of a network that do not fit together: made so by a pass or by another program.
pub const BROKEN_NETWORK: Code = Code(318);
/// A number that means nothing: not finite, negative, or a capacity of 0.
pub const BAD_NUMBER: Code = Code(319);
/// Flow control of channels that cannot have it.
pub const FLOW_WITHOUT_SENSE: Code = Code(320);
/// Flow control of some channels at a port of a kind, but not of others, or of another sort.
pub const FLOW_CONFLICT: Code = Code(321);
/// A cycle of channels (a note, if cycles are asked for).
pub const CYCLE: Code = Code(322);

/// `detail=` of a picture that is neither `processes` nor `kinds`.
pub const DETAIL: Code = Code(20);
