//! Graphviz DOT front end: the whole language with positions, and the graphmap dialect.
//!
//! [`decode`](decode::decode) makes text of bytes, [`parse`](parser::parse) tells the
//! [`Events`](events::Events) of a text. [`to_dot`](write::to_dot) writes a network.

pub mod codes;
mod compose;
pub mod decode;
pub mod dialect;
pub mod events;
pub mod fmt;
pub mod graph;
pub mod lexer;
mod mistakes;
pub mod parser;
mod recent;
mod scan;
pub mod token;
pub mod write;
