//! The codes of what this front end finds: `G01xx` about the language, `G02xx` about the dialect.

use graphmap_kpn::diagnostic::Code;

/// Something stands where the grammar wants something else.
pub const UNEXPECTED: Code = Code(101);
/// A character that can only stand between quotes.
pub const STRAY_CHARACTER: Code = Code(102);
/// A quoted string without its closing quote.
pub const UNCLOSED_STRING: Code = Code(103);
/// An HTML string without its last `>`.
pub const UNCLOSED_HTML: Code = Code(104);
/// A `/*` without its `*/`.
pub const UNCLOSED_COMMENT: Code = Code(105);
/// A `{` without its `}`.
pub const UNCLOSED_BRACE: Code = Code(106);
/// A `[` without its `]`.
pub const UNCLOSED_BRACKET: Code = Code(107);
/// An attribute without a value.
pub const NO_VALUE: Code = Code(108);
/// `--` in a digraph or `->` in a graph.
pub const WRONG_OPERATOR: Code = Code(109);
/// A file without a graph.
pub const NO_GRAPH: Code = Code(110);
/// Something that is no graph follows the graph.
pub const AFTER_GRAPH: Code = Code(111);
/// A number that runs into a name, which makes two words of it.
pub const SPLIT_NUMBER: Code = Code(112);
/// The file is not text.
pub const NOT_TEXT: Code = Code(113);
/// A keyword used as a name.
pub const KEYWORD: Code = Code(114);
/// Edges between groups come to more than can be held.
pub const TOO_MANY_EDGES: Code = Code(115);
/// A `;` where no statement ends.
pub const EMPTY_STATEMENT: Code = Code(116);
/// The text is not UTF-8 and was read as Latin-1.
pub const LATIN1: Code = Code(117);
