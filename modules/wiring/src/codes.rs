//! Codes of diagnostics of wiring and projects. Each has a page in the book, in `docs/src/errors`.

use graphmap_kpn::diagnostic::Code;

/// A payload type is not a Rust type.
pub const PAYLOAD_TYPE: Code = Code(601);
/// Two names of the graph become the same name in the code.
pub const NAME_TAKEN: Code = Code(602);
/// A skeleton does not exist.
pub const NO_SKELETON: Code = Code(603);
/// A skeleton cannot be read: its folder does not exist, it is not UTF-8, or it is not a template.
pub const BAD_SKELETON: Code = Code(604);
/// Rendering a skeleton fails for this network.
pub const SKELETON_FAILED: Code = Code(605);
/// `skeleton=` names a structure that the network does not have.
pub const NOT_THAT_STRUCTURE: Code = Code(606);
/// A function no longer fits the ports of its kind.
pub const FUNCTION_OUTDATED: Code = Code(607);
/// A file of functions has no kind.
pub const FUNCTION_WITHOUT_KIND: Code = Code(608);
/// `types.rs` does not define a type of the graph.
pub const TYPE_MISSING: Code = Code(610);
/// A folder is not a project, or is a project of another graph.
pub const NOT_A_PROJECT: Code = Code(613);
/// Functions are still stubs.
pub const STUBS: Code = Code(614);
/// The file of a kind does not define its function.
pub const FUNCTION_MISSING: Code = Code(609);
/// The signature of a function does not fit its kind.
pub const FUNCTION_MISFIT: Code = Code(618);
/// The wiring ignores an attribute of channels (a warning).
pub const ATTRIBUTE_IGNORED: Code = Code(446);
/// The target of a skeleton does not support a feature of the graph.
pub const NOT_EXPRESSIBLE: Code = Code(612);
/// A `families.toml` cannot be read.
pub const BAD_FAMILIES: Code = Code(615);
/// A program has no code for a kind that exists with the given sizes.
pub const KIND_NOT_BUILT: Code = Code(717);
/// With the given sizes, a kind has other ports than in the program.
pub const PORT_NOT_BUILT: Code = Code(718);
/// A name of a user's family is already in use.
pub const FAMILY_TAKEN: Code = Code(616);
/// The name of a kind is too long for a file.
pub const NAME_TOO_LONG: Code = Code(619);
/// A project of a family cannot be made.
pub const NO_PROJECT_OF_FAMILY: Code = Code(617);
/// Some channels have a type and others have none.
pub const PARTLY_TYPED: Code = Code(620);
