//! Positions of all elements of a picture.
//!
//! The contents are adapted to the layouts ([`arrange`]). Each group is a scope ([`nesting`]). The sides of ports are decided outside in, from the
//! structure only ([`plan`]). Then scopes are laid out inside out, each by its shape, and their
//! positions are added outside in ([`place`]).

mod arrange;
mod layered;
mod matrix;
mod nesting;
mod place;
mod plan;
mod scope;
mod sizes;

use crate::contents::Picture;
use crate::drawing::Drawing;

/// Returns the positions of all elements of a picture.
///
/// # Panics
/// Panics if an index in the picture is out of range, or if a parent does not precede its children.
#[must_use]
pub fn layout(picture: &Picture) -> Drawing {
    let picture = arrange::arranged(picture);
    let nesting = nesting::Nesting::of(&picture);
    let plan = plan::Plan::of(&picture, &nesting);
    place::place(&picture, &nesting, plan)
}
