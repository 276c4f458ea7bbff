//! Points, rectangles and curves.

use std::ops::{Add, Mul, Sub};

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Point {
    pub x: f64,
    pub y: f64,
}

impl Point {
    pub fn new(x: f64, y: f64) -> Point {
        Point { x, y }
    }

    pub fn distance(self, other: Point) -> f64 {
        (self - other).length()
    }

    /// Returns the distance from a segment.
    pub fn distance_to(self, a: Point, b: Point) -> f64 {
        let way = b - a;
        let square = way.dot(way);
        let part = if square > 0.0 {
            (way.dot(self - a) / square).clamp(0.0, 1.0)
        } else {
            0.0
        };
        self.distance(a + way * part)
    }

    pub fn length(self) -> f64 {
        self.x.hypot(self.y)
    }

    /// Returns the `z` of the cross product.
    pub fn cross(self, other: Point) -> f64 {
        self.x * other.y - self.y * other.x
    }

    pub fn dot(self, other: Point) -> f64 {
        self.x * other.x + self.y * other.y
    }
}

impl Add for Point {
    type Output = Point;

    fn add(self, other: Point) -> Point {
        Point::new(self.x + other.x, self.y + other.y)
    }
}

impl Sub for Point {
    type Output = Point;

    fn sub(self, other: Point) -> Point {
        Point::new(self.x - other.x, self.y - other.y)
    }
}

impl Mul<f64> for Point {
    type Output = Point;

    fn mul(self, factor: f64) -> Point {
        Point::new(self.x * factor, self.y * factor)
    }
}

/// A rectangle whose sides are parallel to the axes. Empty if it has no point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rect {
    pub left: f64,
    pub top: f64,
    pub right: f64,
    pub bottom: f64,
}

impl Rect {
    pub const EMPTY: Rect = Rect {
        left: f64::INFINITY,
        top: f64::INFINITY,
        right: f64::NEG_INFINITY,
        bottom: f64::NEG_INFINITY,
    };

    pub fn new(left: f64, top: f64, width: f64, height: f64) -> Rect {
        Rect {
            left,
            top,
            right: left + width,
            bottom: top + height,
        }
    }

    pub fn around(points: impl IntoIterator<Item = Point>) -> Rect {
        let mut rect = Rect::EMPTY;
        for p in points {
            rect.left = rect.left.min(p.x);
            rect.top = rect.top.min(p.y);
            rect.right = rect.right.max(p.x);
            rect.bottom = rect.bottom.max(p.y);
        }
        rect
    }

    pub fn corners(&self) -> [Point; 4] {
        [
            Point::new(self.left, self.top),
            Point::new(self.right, self.top),
            Point::new(self.right, self.bottom),
            Point::new(self.left, self.bottom),
        ]
    }

    pub fn is_empty(&self) -> bool {
        self.left > self.right || self.top > self.bottom
    }

    pub fn width(&self) -> f64 {
        (self.right - self.left).max(0.0)
    }

    pub fn height(&self) -> f64 {
        (self.bottom - self.top).max(0.0)
    }

    pub fn centre(&self) -> Point {
        Point::new(
            (self.left + self.right) / 2.0,
            (self.top + self.bottom) / 2.0,
        )
    }

    #[must_use]
    pub fn union(&self, other: &Rect) -> Rect {
        Rect {
            left: self.left.min(other.left),
            top: self.top.min(other.top),
            right: self.right.max(other.right),
            bottom: self.bottom.max(other.bottom),
        }
    }

    /// Returns the rectangle with each side moved outwards.
    #[must_use]
    pub fn grown(&self, by: f64) -> Rect {
        Rect {
            left: self.left - by,
            top: self.top - by,
            right: self.right + by,
            bottom: self.bottom + by,
        }
    }

    pub fn contains(&self, p: Point) -> bool {
        self.left <= p.x && p.x <= self.right && self.top <= p.y && p.y <= self.bottom
    }

    pub fn encloses(&self, other: &Rect) -> bool {
        self.left <= other.left
            && self.top <= other.top
            && other.right <= self.right
            && other.bottom <= self.bottom
    }

    /// Returns true if both have a point in common.
    pub fn meets(&self, other: &Rect) -> bool {
        !self.is_empty()
            && !other.is_empty()
            && self.left <= other.right
            && other.left <= self.right
            && self.top <= other.bottom
            && other.top <= self.bottom
    }

    /// Returns true if the segment has a point inside (clipping by Liang and Barsky).
    pub fn meets_segment(&self, a: Point, b: Point) -> bool {
        if self.is_empty() {
            return false;
        }
        let step = b - a;
        let (mut from, mut to) = (0.0_f64, 1.0_f64);
        let sides = [
            (-step.x, a.x - self.left),
            (step.x, self.right - a.x),
            (-step.y, a.y - self.top),
            (step.y, self.bottom - a.y),
        ];
        for (towards, room) in sides {
            if towards == 0.0 {
                if room < 0.0 {
                    return false;
                }
            } else if towards < 0.0 {
                from = from.max(room / towards);
            } else {
                to = to.min(room / towards);
            }
        }
        from <= to
    }
}

/// Appends points of a cubic Bézier curve after its start, at most a quarter of a pixel from it.
pub fn curve(points: &mut Vec<Point>, [a, b, c, d]: [Point; 4]) {
    let bend = (a - b * 2.0 + c).length().max((b - c * 2.0 + d).length());
    let count = (6.0 * bend / (8.0 * 0.25)).sqrt().ceil().clamp(1.0, 200.0) as usize;
    for i in 1..=count {
        let t = i as f64 / count as f64;
        let s = 1.0 - t;
        points.push(
            a * (s * s * s) + b * (3.0 * s * s * t) + c * (3.0 * s * t * t) + d * (t * t * t),
        );
    }
}
