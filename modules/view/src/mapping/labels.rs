//! Positions of the numbers at arcs.

use super::layout::Laid;
use super::numbers::{SPACE, size};
use crate::geometry::{Point, Rect, Size};

/// Length of an arrowhead.
const TIP: f64 = 7.0;
/// Distance between two positions that are tried on a segment.
const STEP: f64 = 4.0;
/// Maximum number of positions on each side of the middle of a segment.
const MOST_STEPS: usize = 60;

/// Returns the rectangle of each text on its arc. It is over nothing: no box, label or border of a
/// frame, arrowhead, other arc or other text. `None` if the arc has no such place. The longest
/// segment is tried first, from its middle.
///
/// `heads` are the labels of the frames.
pub(crate) fn labels(laid: &Laid<'_>, heads: &[Rect], texts: &[String]) -> Vec<Option<Rect>> {
    let mut placed: Vec<Rect> = Vec::new();
    let whole = Rect::new(Point::default(), laid.size);
    let place = |(arc, text): (usize, &String)| {
        let size = size(text);
        let lines = laid.arcs.iter().enumerate();
        let lines = lines.filter(|(other, _)| *other != arc);
        let lines: Vec<Rect> = lines
            .flat_map(|(_, points)| points.windows(2).map(line))
            .chain(laid.arcs.iter().filter_map(|points| tip(points)))
            .collect();
        let free = |rect: &Rect| {
            let near = grown(rect, SPACE);
            let mut taken = laid.blocks.iter().chain(heads).chain(&placed);
            let mut borders = laid.frames.iter().map(|(frame, _)| frame);
            encloses(&whole, rect)
                && !taken.any(|t| overlap(t, rect))
                && !lines.iter().any(|l| overlap(l, &near))
                && borders.all(|f| !overlap(f, &near) || encloses(f, &near))
        };
        let mut segments: Vec<&[Point]> = laid.arcs[arc].windows(2).collect();
        segments.sort_by(|a, b| length(b).total_cmp(&length(a)));
        let places = segments.into_iter().flat_map(|s| {
            let steps = (length(s) / 2.0 / STEP) as usize;
            let offs = (0..=steps.min(MOST_STEPS)).flat_map(|i| [i as f64, -(i as f64)]);
            offs.map(move |off| {
                let share = 0.5 + off * STEP / length(s).max(STEP);
                let x = s[0].x + (s[1].x - s[0].x) * share - size.width / 2.0;
                let y = s[0].y + (s[1].y - s[0].y) * share - size.height / 2.0;
                Rect::new(Point::new(x, y), size)
            })
        });
        let rect = { places }.find(free);
        placed.extend(rect);
        rect
    };
    texts.iter().enumerate().map(place).collect()
}

fn length(segment: &[Point]) -> f64 {
    (segment[0].x - segment[1].x).abs() + (segment[0].y - segment[1].y).abs()
}

/// Returns a segment as a rectangle without area.
fn line(segment: &[Point]) -> Rect {
    let (a, b) = (segment[0], segment[1]);
    let size = Size::new((a.x - b.x).abs(), (a.y - b.y).abs());
    Rect::new(Point::new(a.x.min(b.x), a.y.min(b.y)), size)
}

/// Returns the rectangle of the arrowhead of an arc.
fn tip(points: &[Point]) -> Option<Rect> {
    let at = *points.last()? + Point::new(-TIP, -TIP / 2.0);
    Some(Rect::new(at, Size::new(2.0 * TIP, TIP)))
}

fn grown(rect: &Rect, by: f64) -> Rect {
    let Rect { at, size } = *rect;
    Rect::new(
        at + Point::new(-by, -by),
        Size::new(size.width + 2.0 * by, size.height + 2.0 * by),
    )
}

/// Returns whether a rectangle contains another one.
fn encloses(outer: &Rect, inner: &Rect) -> bool {
    outer.at.x <= inner.at.x
        && outer.at.y <= inner.at.y
        && inner.right() <= outer.right()
        && inner.bottom() <= outer.bottom()
}

/// Returns whether two rectangles have a common point.
pub(crate) fn overlap(a: &Rect, b: &Rect) -> bool {
    a.at.x <= b.right() && b.at.x <= a.right() && a.at.y <= b.bottom() && b.at.y <= a.bottom()
}
