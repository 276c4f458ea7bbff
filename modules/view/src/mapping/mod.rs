//! Picture of a mapping as SVG, without Graphviz.
//!
//! Hosts, sockets, caches and cores are nested frames, as far as the hardware is known. OS
//! processes are boxes in them, with their kinds, load and traffic. Arcs between boxes are coloured
//! by the class of distance. A matrix shows the traffic of all pairs.
//!
//! [`traffic`] and [`place`] compute the numbers from a [`Scene`], and [`contents`] the elements.
//! [`fold`] determines which OS processes share a box. [`layout`] computes positions, with
//! [`grid`], [`route`] and [`gap`], and [`draw`] writes the SVG.

mod block;
mod contents;
mod draw;
mod fold;
mod gap;
mod grid;
mod labels;
mod layout;
mod legend;
mod matrix;
mod numbers;
mod place;
mod route;
mod style;
mod traffic;

#[cfg(test)]
mod tests;

use crate::Scene;
use contents::{Contents, MOST_ARCS};
use draw::RATIO;
use graphmap_kpn::hardware::Hardware;
use grid::Shape;
use layout::{Laid, layout};
use matrix::Matrix;
use traffic::Traffic;

/// Number of crossings that are as bad as a picture of twice the size.
const CROSSINGS: f64 = 150.0;
/// Maximum numbers of groups and of columns that the layout tries.
const MOST_GROUPS: usize = 8;
const MOST_COLUMNS: usize = 4;

/// Returns the SVG document for a scene. `name` is the title.
///
/// # Panics
/// Panics if an index in the scene is out of range.
pub(crate) fn draw(name: &str, scene: &Scene, hardware: Option<&Hardware>) -> String {
    let traffic = Traffic::of(scene);
    let contents = Contents::of(scene, hardware, &traffic);
    let matrix =
        Some(Matrix::of(scene, &traffic)).filter(|m| m.rows.len() > 1 && !m.cells.is_empty());
    let legend = legend::legend(scene, &contents, 0);
    let summary = draw::summary(scene, &contents);
    let laid = best(&contents, |laid| {
        draw::size(laid, matrix.as_ref(), &legend, &summary)
    });
    draw::draw(name, scene, &contents, &laid, matrix.as_ref())
}

/// Returns the layout whose picture is small, has about the preferred ratio of width to height, and
/// few crossings. Its arcs cross no frames but those of their boxes. A layout with one or two
/// columns in each group has this property, because each of its boxes is beside a gap that is
/// outside of all frames.
fn best<'a>(
    contents: &'a Contents,
    picture: impl Fn(&Laid<'_>) -> crate::geometry::Size,
) -> Laid<'a> {
    let widest = contents.frames.iter().map(most_in_a_row).max().unwrap_or(1);
    let groups = 1..=contents.frames.len().clamp(1, MOST_GROUPS);
    let shapes = groups.flat_map(|groups| {
        let columns = 1..=widest.clamp(1, MOST_COLUMNS);
        columns.map(move |columns| Shape { groups, columns })
    });
    let judged = shapes.map(|shape| {
        let laid = layout(contents, shape, MOST_ARCS);
        let size = picture(&laid);
        let ratio = size.width / size.height / RATIO;
        let room = size.width * size.height * ratio.max(1.0 / ratio);
        let cost = room * (1.0 + laid.crossings() as f64 / CROSSINGS);
        ((laid.foreign, cost), laid)
    });
    let least = judged.min_by(|(a, _), (b, _)| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let one = Shape {
        groups: 1,
        columns: 1,
    };
    least.map_or_else(|| layout(contents, one, MOST_ARCS), |(_, laid)| laid)
}

fn most_in_a_row(frame: &contents::Frame) -> usize {
    let inner = frame.frames.iter().map(most_in_a_row).max();
    frame.blocks.len().max(inner.unwrap_or(0))
}
