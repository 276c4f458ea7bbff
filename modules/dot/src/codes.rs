//! Codes of the diagnostics of this front end: `G01xx` about DOT, `G02xx` about the graph language.

use graphmap_kpn::diagnostic::Code;

/// A token that the grammar does not allow at its position.
pub const UNEXPECTED: Code = Code(101);
/// A character that is allowed only in quotes.
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
/// Text after the graph that does not begin another graph.
pub const AFTER_GRAPH: Code = Code(111);
/// A number directly followed by a name, which makes two words (a warning).
pub const SPLIT_NUMBER: Code = Code(112);
/// The file is not text.
pub const NOT_TEXT: Code = Code(113);
/// A keyword used as a name.
pub const KEYWORD: Code = Code(114);
/// Edges between groups that expand to more than the limit.
pub const TOO_MANY_EDGES: Code = Code(115);
/// A `;` where no statement ends.
pub const EMPTY_STATEMENT: Code = Code(116);
/// The text is not UTF-8 and was read as Latin-1.
pub const LATIN1: Code = Code(117);
/// The file is too large.
pub const TOO_LARGE: Code = Code(118);
/// An HTML string that is a name and begins like an arrow (a warning).
pub const ARROW_IN_HTML: Code = Code(119);

/// `graph` where channels need `digraph`.
pub const UNDIRECTED: Code = Code(201);
/// Parallel edges that `strict` merges.
pub const STRICT: Code = Code(202);
/// An attribute that neither the graph language nor Graphviz has for the element (a warning).
pub const UNKNOWN_ATTRIBUTE: Code = Code(203);
/// An attribute with nearly the name of one of the graph language (a warning).
pub const MISSPELT_ATTRIBUTE: Code = Code(204);
/// An attribute of the graph language on an element that does not take it.
pub const MISPLACED_ATTRIBUTE: Code = Code(205);
/// A value that is not of the attribute's type, or is out of its range.
pub const BAD_VALUE: Code = Code(206);
/// An attribute of clusters on a subgraph that is not a cluster.
pub const NOT_A_CLUSTER: Code = Code(207);
/// `cluster=true` after the first node of its subgraph.
pub const LATE_CLUSTER: Code = Code(208);
/// A node in two modules that do not nest.
pub const TWO_MODULES: Code = Code(209);
/// A bundle declared twice.
pub const BUNDLE_TWICE: Code = Code(210);
/// A member of a bundle that names a node that does not exist.
pub const UNKNOWN_MEMBER: Code = Code(211);
/// A bundle whose members do not fit its kind.
pub const BUNDLE_SHAPE: Code = Code(212);
/// A bundle with one writer and no explicit kind.
pub const BUNDLE_KIND_MISSING: Code = Code(213);
/// Two bundles joined to each other.
pub const BUNDLE_TO_BUNDLE: Code = Code(214);
/// Two names for one port.
pub const PORT_TWICE: Code = Code(215);
/// A node called `null` in other letters than `NULL` (a warning).
pub const LOWERCASE_NULL: Code = Code(216);
/// Several graphs in one file.
pub const SEVERAL_GRAPHS: Code = Code(217);
/// The port of a member without the process of that member.
pub const PORT_WITHOUT_MEMBER: Code = Code(218);
/// An attribute with two different values on one element.
pub const CONTRADICTION: Code = Code(219);
/// A node with the name of a cluster or a module.
pub const NODE_LIKE_CLUSTER: Code = Code(220);
/// A node that occurs only in edges, with nearly the name of a declared node (a warning).
pub const SLIP: Code = Code(221);
/// Boxes, glue functions or environment variables, which the written format does not have (a
/// warning).
pub const LOST: Code = Code(222);
/// A `for=` that is not a list of loops, or does not fit to the other attributes.
pub const BAD_LOOP: Code = Code(238);
/// `replicas="+"` without a limit on the processes in an OS process, or without space for one.
pub const NOTHING_LIMITS: Code = Code(247);
/// `attributes=` declares a name that graphmap or Graphviz uses.
pub const ATTRIBUTE_TAKEN: Code = Code(242);
