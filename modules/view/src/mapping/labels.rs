//! Positions of the numbers at arcs.

use super::layout::Laid;
use crate::geometry::{Point, Rect, Size};
use crate::text::width;

/// Size of the letters of numbers at arcs.
pub(crate) const LETTERS: f64 = 9.0;
/// Length of an arrowhead.
const TIP: f64 = 7.0;
/// Positions along a segment at which a number may be, as shares of its length.
const SHARES: [f64; 7] = [0.5, 0.35, 0.65, 0.2, 0.8, 0.08, 0.92];

/// Returns the rectangle of each text, which is beside no box, label of a frame or other text, and
/// on its arc. `None` if there is no such place. Of the possible places it takes one that hides the
/// fewest arrowheads and segments of other arcs.
///
/// `heads` are the labels of the frames.
pub(crate) fn labels(laid: &Laid<'_>, heads: &[Rect], texts: &[String]) -> Vec<Option<Rect>> {
    let mut placed: Vec<Rect> = Vec::new();
    let place = |(arc, text): (usize, &String)| {
        let size = Size::new(width(text, LETTERS) + 4.0, LETTERS + 3.0);
        let mut best: Option<(usize, Rect)> = None;
        for segment in laid.arcs[arc].windows(2) {
            for share in SHARES {
                let at = between(segment[0], segment[1], share);
                let corner = Point::new(at.x - size.width / 2.0, at.y - size.height / 2.0);
                let rect = Rect::new(corner, size);
                let mut taken = laid.blocks.iter().chain(heads).chain(&placed);
                let outside = rect.at.x < 0.0
                    || rect.at.y < 0.0
                    || rect.right() > laid.size.width
                    || rect.bottom() > laid.size.height;
                if outside || taken.any(|t| overlap(t, &rect)) {
                    continue;
                }
                let hidden = hidden(laid, arc, &rect);
                if best.is_none_or(|(least, _)| hidden < least) {
                    best = Some((hidden, rect));
                }
            }
        }
        let rect = best.map(|(_, rect)| rect);
        placed.extend(rect);
        rect
    };
    texts.iter().enumerate().map(place).collect()
}

/// Returns the number of segments of other arcs in a rectangle. An arrowhead counts as two more.
fn hidden(laid: &Laid<'_>, arc: usize, rect: &Rect) -> usize {
    let others = laid
        .arcs
        .iter()
        .enumerate()
        .filter(|(other, _)| *other != arc);
    let segments = others.flat_map(|(_, points)| points.windows(2));
    let thin = |s: &[Point]| {
        let at = Point::new(s[0].x.min(s[1].x), s[0].y.min(s[1].y));
        let size = Size::new((s[0].x - s[1].x).abs(), (s[0].y - s[1].y).abs());
        Rect::new(at, size)
    };
    let lines = segments.filter(|s| overlap(&thin(s), rect)).count();
    let tips = laid.arcs.iter().filter_map(|points| points.last());
    let tip = |end: &&Point| {
        let at = Point::new(end.x - TIP, end.y - TIP / 2.0);
        overlap(&Rect::new(at, Size::new(2.0 * TIP, TIP)), rect)
    };
    lines + 2 * tips.filter(tip).count()
}

fn between(a: Point, b: Point, share: f64) -> Point {
    Point::new(a.x + (b.x - a.x) * share, a.y + (b.y - a.y) * share)
}

/// Returns whether two rectangles have a common point.
pub(crate) fn overlap(a: &Rect, b: &Rect) -> bool {
    a.at.x <= b.right() && b.at.x <= a.right() && a.at.y <= b.bottom() && b.at.y <= a.bottom()
}
