//! Graphviz DOT front end: parses the whole language with positions, and reads networks from the
//! graph language.
//!
//! [`decode`](decode::decode) converts bytes to text. [`parse`](parser::parse) passes the
//! statements of a text to [`Events`](events::Events). [`to_dot`](write::to_dot) writes a network
//! as DOT.

pub mod codes;
mod compose;
pub mod decode;
mod errors;
pub mod events;
pub mod fmt;
pub mod graph;
pub mod language;
pub mod lexer;
pub mod parser;
mod recent;
mod scan;
pub mod token;
pub mod write;
