//! Codes of the diagnostics that this crate reports itself. Each has a page in `docs/src/errors/`.

use graphmap_kpn::diagnostic::Code;

/// A file is not GraphML that can be read (an error), or a part of it is ignored (a warning).
pub const GRAPHML: Code = Code(18);
/// A file is not node-link JSON that can be read.
pub const NODE_LINK: Code = Code(19);
/// A network has a name that the format cannot express.
pub const NOT_EXPRESSIBLE: Code = Code(511);
