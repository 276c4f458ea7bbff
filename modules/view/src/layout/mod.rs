//! Positions of all elements of a picture.
//!
//! The contents are adapted to the layouts (`arrange`, `junctions`). Each group is a scope
//! (`nesting`). The sides of ports are decided outside in, from the structure only (`plan`). Then
//! scopes are laid out inside out, each by its shape, and their positions are added outside in
//! (`place`).

mod arrange;
mod junctions;
mod layered;
mod matrix;
mod nesting;
mod place;
mod plan;
mod scope;
mod sizes;
mod wraps;

use crate::drawing::Drawing;
use crate::picture::Picture;
use wraps::{LARGE, Wraps};

/// Longest side of a picture in relation to the other.
const LONGEST: f64 = 4.0;

/// Ratio up to which space at the right or below makes up for a side that is too long.
const NEARLY: f64 = 8.0;

/// Returns the positions of all elements of a picture.
///
/// # Panics
/// Panics if an index in the picture is out of range, or if a parent does not precede its children.
#[must_use]
pub fn layout(picture: &Picture) -> Drawing {
    let mut best = laid_out(picture, Wraps::Large);
    if picture.nodes.len() < LARGE {
        return best;
    }
    for wraps in [Wraps::Whole, Wraps::All] {
        if length(&best) <= LONGEST {
            return best;
        }
        let other = laid_out(picture, wraps);
        if length(&other) < length(&best) {
            best = other;
        }
    }
    if length(&best) <= NEARLY {
        best.size.width = best.size.width.max(best.size.height / LONGEST);
        best.size.height = best.size.height.max(best.size.width / LONGEST);
    }
    best
}

fn laid_out(picture: &Picture, wraps: Wraps) -> Drawing {
    let picture = &arrange::arranged(picture, wraps != Wraps::Large);
    let nesting = nesting::Nesting::of(picture);
    let plan = plan::Plan::of(picture, &nesting);
    place::place(picture, &nesting, plan, wraps)
}

/// Returns the length of the longer side in relation to the other.
fn length(drawing: &Drawing) -> f64 {
    let ratio = drawing.size.width / drawing.size.height.max(1.0);
    ratio.max(1.0 / ratio)
}
