//! GraphML.
//!
//! A node is a process, and a node with a graph inside is a module. `<data>` elements are
//! attributes: the `attr.name` of their key is the name in the graph language. `sourceport` and
//! `targetport` of an edge are the attributes `src` and `dst`. The node `NULL` is the environment,
//! and need not be declared. The attribute `order` of a node is a number: nodes and modules
//! are sorted by it, and those without it follow in the order of the file. It is written if ranks
//! are not in the order of the modules.
//!
//! Documents with a document type declaration are refused, so that no entity is expanded and no
//! other file is read.

mod read;
mod write;

pub use read::read;
pub use write::write;
