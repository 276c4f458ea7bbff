//! Numbers at arcs: their texts, and the room that they need.

use super::contents::Contents;
use super::legend::drawn;
use crate::geometry::Size;
use crate::shown::compact;
use crate::text::width;

/// Size of the letters of numbers at arcs.
pub(crate) const LETTERS: f64 = 9.0;
/// Space between a number and a line of another arc or the border of a frame.
pub(crate) const SPACE: f64 = 2.0;
/// Maximum number of arcs with numbers.
const MOST_NUMBERS: usize = 24;
/// Minimum and maximum distance between two vertical lines of arcs.
const PITCH: (f64, f64) = (8.0, 18.0);

/// Returns the numbers of the arcs, the largest traffic first. Numbers that are all equal are in
/// the legend only.
pub(crate) fn numbers(contents: &Contents) -> Vec<String> {
    let shown = &contents.arcs[..drawn(contents)];
    let widest = shown.first().map(|arc| arc.sum.traffic);
    if shown.iter().all(|arc| Some(arc.sum.traffic) == widest) {
        return Vec::new();
    }
    let shown = shown.iter().take(MOST_NUMBERS);
    shown.map(|arc| compact(arc.sum.traffic)).collect()
}

/// Returns the distance between vertical lines of arcs at which a number is over no other line.
pub(crate) fn pitch(contents: &Contents) -> f64 {
    let widths = numbers(contents).into_iter().map(|text| size(&text).width);
    let widest = widths.fold(0.0, f64::max);
    (widest / 2.0 + SPACE + 1.0).clamp(PITCH.0, PITCH.1)
}

/// Returns the size of a number.
pub(crate) fn size(text: &str) -> Size {
    Size::new(width(text, LETTERS) + 4.0, LETTERS + 3.0)
}
