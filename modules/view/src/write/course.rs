//! Courses of lines: round corners, curves, arrows, and rings for the environment.

use super::xml::{At, finite};
use crate::drawing::{Path, Tip};
use crate::geometry::Point;
use std::fmt::Write;

/// Radius of the ring that stands for the environment.
pub(super) const RING: f64 = 3.0;
/// Radius of corners of lines.
const BEND: f64 = 6.0;

/// A line as texts of SVG paths, with positions in the picture.
#[derive(Debug, Default)]
pub(super) struct Course {
    pub(super) line: String,
    /// The arrow at the end. Empty without an arrow.
    pub(super) arrow: String,
    /// Centres of the rings that stand for the environment.
    pub(super) rings: Vec<Point>,
}

/// A part of a line between two points.
#[derive(Clone, Copy, Debug)]
struct Piece {
    /// Directions at its start and end, as vectors of length 1. They are equal if it is straight.
    start: Point,
    end: Point,
    curve: bool,
}

#[derive(Clone, Copy)]
enum Axis {
    Horizontal,
    Vertical,
}

/// Makes a straight end that is shorter than its arrow a part of the curve before it, so that the
/// arrow has its full length.
fn join_short_ends(points: &mut Vec<Point>, two_way: bool, arrow: f64) {
    let is_short = |points: &[Point], [tip, end, before]: [usize; 3]| {
        distance(points[tip], points[end]) < arrow
            && axis(points[tip], points[end]).is_some()
            && axis(points[end], points[before]).is_none()
    };
    let count = points.len();
    if count > 2 && is_short(points, [count - 1, count - 2, count - 3]) {
        points.remove(count - 2);
    }
    if two_way && points.len() > 2 && is_short(points, [0, 1, 2]) {
        points.remove(1);
    }
}

impl Course {
    /// Returns the course of a line whose points are relative to `at`. Curves without straight
    /// pieces are vertical at both ends if `downwards`, and horizontal otherwise. `thick` is the
    /// width of the line.
    pub(super) fn new(path: &Path, at: Point, downwards: bool, thick: f64) -> Course {
        let mut course = Course::default();
        let mut points: Vec<Point> = Vec::with_capacity(path.points.len());
        for point in &path.points {
            let point = Point::new(finite(point.x), finite(point.y)) + at;
            match points[..] {
                [.., last] if distance(last, point) < 0.05 => {}
                [.., a, b] if same_way(a, b, point) => {
                    *points.last_mut().expect("it has two points") = point;
                }
                _ => points.push(point),
            }
        }
        if path.curved {
            join_short_ends(&mut points, path.two_way, 5.0 + 2.0 * thick);
        }
        let mut pieces = pieces(&points, path.curved, downwards);
        let (Some(&first), Some(&last)) = (pieces.first(), pieces.last()) else {
            // Only a point, which is kept for the attributes of the line.
            course.line = format!("M{}", At(points.first().copied().unwrap_or(at)));
            return course;
        };
        // The directions of pieces remain, because ends are moved along them.
        let room = first.room(points[0], points[1], first.start);
        if path.ends[0] == "NULL" && room > 4.0 * RING {
            course.rings.push(points[0] + scaled(first.start, RING));
            points[0] = points[0] + scaled(first.start, 2.0 * RING);
        }
        let count = points.len();
        let (tip, way) = (points[count - 1], last.end);
        let room = last.room(points[count - 2], tip, way);
        match path.end {
            Tip::Arrow => {
                let length = (5.0 + 2.0 * thick).min(room);
                let base = tip - scaled(way, length);
                let across = scaled(Point::new(-way.y, way.x), length * 0.4);
                course.arrow =
                    format!("M{} L{} L{}", At(tip), At(base + across), At(base - across));
                // The line ends inside of the arrow, where both have the same width.
                let end = tip - scaled(way, (1.25 * thick).min(length));
                if last.curve {
                    points[count - 1] = base;
                    points.push(end);
                    pieces.push(Piece {
                        start: way,
                        end: way,
                        curve: false,
                    });
                } else {
                    points[count - 1] = end;
                }
            }
            Tip::Dot => {
                course.rings.push(tip - scaled(way, RING.min(room)));
                points[count - 1] = tip - scaled(way, (2.0 * RING).min(room));
            }
        }
        if path.two_way {
            course.begin(&mut points, &mut pieces, first, thick);
        }
        course.line = outline(&points, &pieces);
        course
    }

    /// Adds an arrow at the start of the line, whose first piece is given.
    fn begin(
        &mut self,
        points: &mut Vec<Point>,
        pieces: &mut Vec<Piece>,
        first: Piece,
        thick: f64,
    ) {
        let (tip, way) = (points[0], first.start);
        let length = (5.0 + 2.0 * thick).min(first.room(tip, points[1], way));
        let base = tip + scaled(way, length);
        let across = scaled(Point::new(-way.y, way.x), length * 0.4);
        let arrow = format!("M{} L{} L{}", At(tip), At(base + across), At(base - across));
        self.arrow += &arrow;
        let start = tip + scaled(way, (1.25 * thick).min(length));
        points[0] = start;
        if first.curve {
            points[0] = base;
            points.insert(0, start);
            let straight = Piece {
                start: way,
                end: way,
                curve: false,
            };
            pieces.insert(0, straight);
        }
    }
}

impl Piece {
    /// Returns how far an end can be moved along a direction of the piece from `a` to `b`.
    fn room(self, a: Point, b: Point, way: Point) -> f64 {
        let length = along(b - a, way);
        if self.curve { length / 2.0 } else { length }
    }
}

impl Axis {
    /// Returns the direction from `a` to `b` on this axis, as a vector of length 1.
    fn way(self, a: Point, b: Point) -> Point {
        match self {
            Axis::Horizontal => Point::new((b.x - a.x).signum(), 0.0),
            Axis::Vertical => Point::new(0.0, (b.y - a.y).signum()),
        }
    }
}

/// Returns the axis of the piece between two points, unless it is oblique.
fn axis(a: Point, b: Point) -> Option<Axis> {
    if (a.y - b.y).abs() < 0.05 {
        Some(Axis::Horizontal)
    } else if (a.x - b.x).abs() < 0.05 {
        Some(Axis::Vertical)
    } else {
        None
    }
}

fn pieces(points: &[Point], curved: bool, downwards: bool) -> Vec<Piece> {
    let axes: Vec<Option<Axis>> = points.windows(2).map(|p| axis(p[0], p[1])).collect();
    let main = if downwards {
        Axis::Vertical
    } else {
        Axis::Horizontal
    };
    let piece = |(i, ends): (usize, &[Point])| {
        let (a, b) = (ends[0], ends[1]);
        if axes[i].is_some() || !curved {
            let way = scaled(b - a, 1.0 / distance(a, b));
            return Piece {
                start: way,
                end: way,
                curve: false,
            };
        }
        let before = i.checked_sub(1).and_then(|i| axes[i]);
        let after = axes.get(i + 1).copied().flatten();
        Piece {
            start: before.or(after).unwrap_or(main).way(a, b),
            end: after.or(before).unwrap_or(main).way(a, b),
            curve: true,
        }
    };
    points.windows(2).enumerate().map(piece).collect()
}

/// Returns the text of a path through these points, with rounded corners between straight pieces.
fn outline(points: &[Point], pieces: &[Piece]) -> String {
    let mut line = format!("M{}", At(points[0]));
    for (i, piece) in pieces.iter().enumerate() {
        let (a, b) = (points[i], points[i + 1]);
        let result = match pieces.get(i + 1) {
            _ if piece.curve => {
                let first = a + scaled(piece.start, along(b - a, piece.start) / 2.0);
                let second = b - scaled(piece.end, along(b - a, piece.end) / 2.0);
                write!(line, " C{} {} {}", At(first), At(second), At(b))
            }
            Some(next) if !next.curve => {
                let room = distance(a, b).min(distance(b, points[i + 2]));
                let radius = BEND.min(room / 2.0);
                let start = b - scaled(piece.start, radius);
                let end = b + scaled(next.start, radius);
                write!(line, " L{} Q{} {}", At(start), At(b), At(end))
            }
            _ => write!(line, " L{}", At(b)),
        };
        result.expect("a String takes all that is written");
    }
    line
}

/// Returns whether `b` is on a straight way from `a` to `c`, parallel to an axis.
fn same_way(a: Point, b: Point, c: Point) -> bool {
    let (first, second) = (b - a, c - b);
    match axis(a, b) {
        Some(Axis::Horizontal) => (c.y - a.y).abs() < 0.05 && first.x * second.x > 0.0,
        Some(Axis::Vertical) => (c.x - a.x).abs() < 0.05 && first.y * second.y > 0.0,
        None => false,
    }
}

/// Returns the length of the part of a vector in a direction of length 1.
fn along(vector: Point, way: Point) -> f64 {
    vector.x * way.x + vector.y * way.y
}

fn distance(a: Point, b: Point) -> f64 {
    (b.x - a.x).hypot(b.y - a.y)
}

fn scaled(vector: Point, factor: f64) -> Point {
    Point::new(vector.x * factor, vector.y * factor)
}
