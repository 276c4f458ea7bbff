//! Networks in formats that other programs read and write: GraphML, and node-link JSON of NetworkX.
//!
//! Both formats have nodes and edges with named attributes. The names and values of the attributes
//! are those of the graph language. A reader translates its text to the graph language, and
//! `graphmap_dot` reads the result. All positions are then translated back. Thus the attributes
//! have the same meaning and the same diagnostics in all formats. In the other direction, a writer
//! translates the text of [`graphmap_dot::write::to_dot`].

pub mod codes;
mod drawing;
mod expanded;
pub mod graphml;
mod index;
pub mod node_link;
mod numbers;
mod translation;

pub use translation::Load;
