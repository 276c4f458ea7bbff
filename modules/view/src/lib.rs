//! Pictures of a network, before it is mapped and after.
//!
//! [`network::draw`] draws a [`picture::Picture`] as SVG without Graphviz. The picture shows a
//! network as nodes and flows: the nodes of the graph, the kinds, or all processes.
//!
//! [`dot::MappedDot`] writes an annotated Graphviz file. [`svg::Svg`] writes a picture that does
//! not need Graphviz. Both show the same [`Scene`]: hosts, OS processes, nodes, and flows between
//! nodes. A large network is shown by kinds, because ten thousand nodes are not readable, and
//! layout programs cannot place them.

mod assemble;
mod colour;
pub mod contents;
pub mod dot;
pub mod drawing;
mod edges;
mod family;
mod fold;
pub mod geometry;
mod labels;
mod layers;
pub mod layout;
mod mapping;
pub mod network;
pub mod picture;
mod scene;
mod scopes;
mod shown;
pub mod svg;
mod text;
pub mod write;

pub use assemble::MOST_FOLDED;
pub use colour::Colour;
pub use scene::{Flow, Host, OsProcess, Scene, SceneNode};
pub(crate) use shown::count;
pub use shown::{Detail, MOST_PROCESSES};
