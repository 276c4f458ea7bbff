//! The codes of what wiring and projects find wrong. Each has a page in the book under
//! `docs/src/errors`.

use graphmap_kpn::diagnostic::Code;

/// A payload type that Rust cannot read.
pub const PAYLOAD_TYPE: Code = Code(601);
/// Two names of the graph become one name in the code.
pub const NAME_TAKEN: Code = Code(602);
/// No skeleton of that name.
pub const NO_SKELETON: Code = Code(603);
/// A skeleton that cannot be read: no such folder, no UTF-8, not a template.
pub const BAD_SKELETON: Code = Code(604);
/// A skeleton that fails on this network.
pub const SKELETON_FAILED: Code = Code(605);
/// `skeleton=` names a structure that the network does not have.
pub const NOT_THAT_STRUCTURE: Code = Code(606);
/// A function no longer fits the ports of its kind.
pub const FUNCTION_OUTDATED: Code = Code(607);
/// A file of functions whose kind is gone.
pub const FUNCTION_WITHOUT_KIND: Code = Code(608);
/// A type of the graph that `types.rs` does not define.
pub const TYPE_MISSING: Code = Code(610);
/// A folder that is no project, or a project of another graph.
pub const NOT_A_PROJECT: Code = Code(613);
/// Functions that are stubs: nobody has written them yet.
pub const BLANK: Code = Code(614);
/// A kind whose file does not define its function.
pub const FUNCTION_MISSING: Code = Code(609);
/// A function whose signature is not that of its kind.
pub const FUNCTION_MISFIT: Code = Code(618);
/// Something that the graph says of channels and the wiring does not heed (a warning).
pub const NOT_HEEDED: Code = Code(446);
/// Something that the target of the skeleton cannot express.
pub const NOT_EXPRESSIBLE: Code = Code(612);
/// A `families.toml` that cannot be read.
pub const BAD_FAMILIES: Code = Code(615);
/// A family, emitter or ending of a user's that belongs to somebody else.
pub const FAMILY_TAKEN: Code = Code(616);
/// A kind whose name is too long for a file.
pub const NAME_TOO_LONG: Code = Code(619);
/// A family whose projects cannot be made.
pub const NO_PROJECT_OF_FAMILY: Code = Code(617);
/// Channels without a type beside others with one.
pub const PARTLY_TYPED: Code = Code(620);
