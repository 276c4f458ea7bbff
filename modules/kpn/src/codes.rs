//! Codes of diagnostics about the model. Each has a page in the book, in `docs/src/errors`.

use crate::diagnostic::Code;

/// A file has a version of its format that cannot be read.
pub const OTHER_VERSION: Code = Code(8);

/// An expression is malformed or has no value, or a list does not define sizes.
pub const BAD_EXPRESSION: Code = Code(230);
/// An expression uses a size that is not defined.
pub const UNDEFINED_SIZE: Code = Code(231);
/// A size is defined by itself, or twice.
pub const BAD_DEFINITION: Code = Code(232);
/// A channel is at the wrong side of a module port, or names a port of it.
pub const MODULE_PORT_MISUSED: Code = Code(233);
/// A module port is joined on one side only.
pub const MODULE_PORT_UNJOINED: Code = Code(234);
/// A channel crosses the border of a closed module without a module port.
pub const CLOSED_MODULE: Code = Code(235);
/// The edges on the two sides of a module port contradict each other.
pub const PORT_SIDES_DIFFER: Code = Code(236);
/// A module port of the graph itself leads to the environment (a note).
pub const OPEN_PORT: Code = Code(237);
/// A graph cannot be included.
pub const NOT_INCLUDED: Code = Code(239);
/// A channel ends at a module port that an included graph does not have.
pub const INCLUDED_PORT: Code = Code(240);
/// A value is given for a size that the graph does not have.
pub const UNUSED_SIZE: Code = Code(241);
/// `replicas="+"` is the smallest number, because the OS processes are unknown (a note).
pub const LEAST_REPLICAS: Code = Code(248);

/// Attributes of the user have more different names than the limit.
pub const TOO_MANY_ATTRIBUTES: Code = Code(243);

/// The expanded graph exceeds a limit: processes, channels, modules, names, or nesting.
pub const TOO_MANY_REPLICAS: Code = Code(250);
/// A node has more or fewer arguments than parameters.
pub const ARGUMENTS_MISMATCH: Code = Code(244);
/// A parameter has no known type, or an argument is not a value of its type.
pub const BAD_ARGUMENT: Code = Code(245);
/// Nodes of a process or processes of a kind have different parameters or arguments.
pub const PARAMETERS_DIFFER: Code = Code(246);
/// Both ends of a channel are repeated independently, and `at=` is missing.
pub const AMBIGUOUS_REPETITION: Code = Code(251);
/// `step=` has more numbers than the ends share repeated modules.
pub const STEP_WITHOUT_SCOPE: Code = Code(252);
/// `at=N` is beyond the last instance.
pub const AT_OUT_OF_RANGE: Code = Code(253);
/// `at=each` joins ends with different numbers of instances.
pub const EACH_COUNTS_DIFFER: Code = Code(254);
/// `at=` has no end that is repeated alone, or `step=` leads past the end from every instance.
pub const AT_WITHOUT_EFFECT: Code = Code(255);
/// Two processes or modules have the same name after expansion.
pub const NAME_COLLISION: Code = Code(256);
/// Nodes of a split process are repeated differently or are in different modules.
pub const FACES_APART: Code = Code(257);

/// The network has no process.
pub const NO_PROCESS: Code = Code(301);
/// A channel joins the environment to itself.
pub const ENVIRONMENT_TO_ITSELF: Code = Code(302);
/// A port both reads and writes.
pub const BOTH_DIRECTIONS: Code = Code(303);
/// Nodes of a split process have different kinds.
pub const FACES_DISAGREE: Code = Code(304);
/// An output has several channels, but no `bundle=`.
pub const BUNDLE_MISSING: Code = Code(305);
/// Channels at one port have different values of `bundle=`.
pub const BUNDLE_CONFLICT: Code = Code(306);
/// A port is joined to the environment and to a channel.
pub const ENVIRONMENT_AND_CHANNEL: Code = Code(307);
/// A port is joined to the environment more than once.
pub const ENVIRONMENT_TWICE: Code = Code(308);
/// A process lacks a port that others of its kind have.
pub const PORT_MISSING: Code = Code(310);
/// A port reads in one process of a kind and writes in another.
pub const DIRECTION_CONFLICT: Code = Code(311);
/// A channel, a bundle or a port of a kind has two types.
pub const TYPE_CONFLICT: Code = Code(312);
/// A port is in different kinds of bundles in processes of one kind.
pub const KIND_BUNDLE_CONFLICT: Code = Code(313);
/// The network is not deterministic (a note).
pub const NOT_DETERMINISTIC: Code = Code(314);
/// A channel joins a process to itself.
pub const SELF_CHANNEL: Code = Code(315);
/// A channel has more initial tokens than its capacity.
pub const INITIAL_EXCEEDS_CAPACITY: Code = Code(316);
/// No channel reaches a process.
pub const ISOLATED_PROCESS: Code = Code(317);
/// Parts of a network do not fit together, because of a pass or another program.
pub const BROKEN_NETWORK: Code = Code(318);
/// A number is outside its range, for example not finite, negative, or a capacity of 0.
pub const BAD_NUMBER: Code = Code(319);
/// A channel cannot be flow-controlled.
pub const FLOW_WITHOUT_SENSE: Code = Code(320);
/// Channels at a port of a kind differ in flow control.
pub const FLOW_CONFLICT: Code = Code(321);
/// A cycle of channels (a note, on request).
pub const CYCLE: Code = Code(322);

/// Processes of a kind have different programs.
pub const PROGRAMS_OF_KIND: Code = Code(476);
/// Processes of different programs are in one OS process, or cannot be kept apart.
pub const PROGRAMS_TOGETHER: Code = Code(477);

/// `detail=` of a picture is unknown.
pub const DETAIL: Code = Code(20);
/// A container or its boxes are not valid.
pub const BAD_CONTAINER: Code = Code(464);
