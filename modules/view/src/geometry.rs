//! Points, sizes and rectangles. Units are those of SVG; `y` grows downwards.

use std::ops::{Add, Sub};

/// A position, or the vector between two positions.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Point {
    /// Distance from the left side.
    pub x: f64,
    /// Distance from the top.
    pub y: f64,
}

/// Width and height.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Size {
    /// Width, not negative.
    pub width: f64,
    /// Height, not negative.
    pub height: f64,
}

/// A rectangle whose sides are parallel to the axes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rect {
    /// Upper left corner.
    pub at: Point,
    /// Width and height.
    pub size: Size,
}

/// Side of a rectangle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Side {
    /// The side where `x` is smallest.
    Left,
    /// The side where `x` is largest.
    Right,
    /// The side where `y` is smallest.
    Top,
    /// The side where `y` is largest.
    Bottom,
}

impl Point {
    /// Returns the point with these coordinates.
    pub const fn new(x: f64, y: f64) -> Point {
        Point { x, y }
    }

    /// Exchanges `x` and `y`.
    #[must_use]
    pub const fn transposed(self) -> Point {
        Point::new(self.y, self.x)
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

impl Size {
    /// Returns the size with this width and height.
    pub const fn new(width: f64, height: f64) -> Size {
        Size { width, height }
    }

    /// Exchanges width and height.
    #[must_use]
    pub const fn transposed(self) -> Size {
        Size::new(self.height, self.width)
    }
}

impl Rect {
    /// Returns the rectangle with this upper left corner and size.
    pub const fn new(at: Point, size: Size) -> Rect {
        Rect { at, size }
    }

    /// Returns the `x` of the right side.
    pub fn right(&self) -> f64 {
        self.at.x + self.size.width
    }

    /// Returns the `y` of the bottom side.
    pub fn bottom(&self) -> f64 {
        self.at.y + self.size.height
    }

    /// Returns the middle of the rectangle.
    pub fn centre(&self) -> Point {
        Point::new(
            self.at.x + self.size.width / 2.0,
            self.at.y + self.size.height / 2.0,
        )
    }

    /// Exchanges the axes.
    #[must_use]
    pub const fn transposed(self) -> Rect {
        Rect::new(self.at.transposed(), self.size.transposed())
    }
}

impl Side {
    /// Returns the side after the axes are exchanged.
    #[must_use]
    pub const fn transposed(self) -> Side {
        match self {
            Side::Left => Side::Top,
            Side::Top => Side::Left,
            Side::Right => Side::Bottom,
            Side::Bottom => Side::Right,
        }
    }

    /// Returns the side on the other end of the rectangle.
    #[must_use]
    pub const fn opposite(self) -> Side {
        match self {
            Side::Left => Side::Right,
            Side::Right => Side::Left,
            Side::Top => Side::Bottom,
            Side::Bottom => Side::Top,
        }
    }
}
