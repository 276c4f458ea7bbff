//! Graphviz DOT front end: the whole language with positions, and the graphmap dialect.
//!
//! [`decode`](decode::decode) makes text of bytes, [`parse`](parser::parse) tells the
//! [`Events`](events::Events) of a text.

pub mod codes;
pub mod decode;
pub mod events;
pub mod lexer;
mod mistakes;
pub mod parser;
pub mod token;
