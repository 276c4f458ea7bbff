//! Graphviz DOT front end: the whole language with positions, and the graphmap dialect.
