//! Pictures of a network, before it is mapped and after.
//!
//! [`draw`] draws a [`picture::Picture`] as SVG without Graphviz: the nodes of a graph, the kinds,
//! all processes, or samples of a large network. The contents ([`picture`]) get positions
//! ([`layout`]), and the result ([`drawing`]) is written as text ([`write`](mod@write)).
//!
//! [`dot::MappedDot`] writes an annotated Graphviz file of a mapping. [`svg::Svg`] writes a picture
//! of it that does not need Graphviz.

mod assemble;
mod colour;
pub mod dot;
pub mod drawing;
mod edges;
mod family;
mod fold;
pub mod geometry;
mod labels;
pub mod layout;
mod mapping;
pub mod picture;
mod scene;
mod scopes;
mod shown;
pub mod svg;
mod text;
#[cfg(test)]
mod vision;
pub mod write;

pub use assemble::MOST_FOLDED;
pub use colour::Colour;
pub use scene::{Flow, Host, OsProcess, Scene, SceneNode};
pub(crate) use shown::count;
pub use shown::{Detail, MOST_PROCESSES};

/// Returns a picture as SVG.
///
/// # Panics
/// Panics if an index in the picture is out of range, or if a parent does not precede its children.
#[must_use]
pub fn draw(picture: &picture::Picture) -> String {
    write::to_svg(&layout::layout(picture))
}
