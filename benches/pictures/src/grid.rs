//! A uniform grid over the plane, for queries by position.

use crate::geometry::{Point, Rect};

pub struct Grid {
    at: Point,
    cell: f64,
    columns: usize,
    rows: usize,
    cells: Vec<Vec<u32>>,
}

impl Grid {
    /// Returns an empty grid over `area`, with about as many cells as elements are expected.
    pub fn new(area: Rect, expected: usize) -> Grid {
        let area = if area.is_empty() {
            Rect::new(0.0, 0.0, 1.0, 1.0)
        } else {
            area
        };
        let cells = expected.clamp(1, 1 << 20) as f64;
        let (width, height) = (area.width().max(1.0), area.height().max(1.0));
        // The second term bounds the number of cells of an area that is almost a line.
        let cell = (width * height / cells)
            .sqrt()
            .max(width.max(height) / cells)
            .max(1.0);
        let (columns, rows) = (
            (width / cell).ceil() as usize,
            (height / cell).ceil() as usize,
        );
        Grid {
            at: Point::new(area.left, area.top),
            cell,
            columns,
            rows,
            cells: vec![Vec::new(); columns * rows],
        }
    }

    fn column(&self, x: f64) -> usize {
        (((x - self.at.x) / self.cell).max(0.0) as usize).min(self.columns - 1)
    }

    fn row(&self, y: f64) -> usize {
        (((y - self.at.y) / self.cell).max(0.0) as usize).min(self.rows - 1)
    }

    /// Returns the cell that contains a point.
    pub fn cell_of(&self, p: Point) -> usize {
        self.row(p.y) * self.columns + self.column(p.x)
    }

    /// Adds an element to all cells that a rectangle meets.
    pub fn add(&mut self, element: usize, rect: &Rect) {
        for row in self.row(rect.top)..=self.row(rect.bottom) {
            for column in self.column(rect.left)..=self.column(rect.right) {
                self.cells[row * self.columns + column].push(element as u32);
            }
        }
    }

    /// Calls `visit` for each element in the cells that a rectangle meets, possibly several times.
    pub fn near(&self, rect: &Rect, mut visit: impl FnMut(usize)) {
        for row in self.row(rect.top)..=self.row(rect.bottom) {
            for column in self.column(rect.left)..=self.column(rect.right) {
                for &element in &self.cells[row * self.columns + column] {
                    visit(element as usize);
                }
            }
        }
    }

    /// Calls `visit` with each cell that a segment meets, row by row.
    pub fn along(&self, a: Point, b: Point, mut visit: impl FnMut(usize)) {
        let (a, b) = if a.y <= b.y { (a, b) } else { (b, a) };
        for row in self.row(a.y)..=self.row(b.y) {
            // The part of the segment inside of the row. The first and last row are unbounded.
            let top = self.at.y + row as f64 * self.cell;
            let bottom = top + self.cell;
            let x_at = |y: f64| {
                if b.y - a.y < 1e-9 {
                    return None;
                }
                let t = (y - a.y) / (b.y - a.y);
                Some(a.x + (b.x - a.x) * t)
            };
            let from = if a.y < top && row > 0 {
                x_at(top)
            } else {
                None
            }
            .unwrap_or(a.x);
            let last = row + 1 == self.rows;
            let to = if b.y > bottom && !last {
                x_at(bottom)
            } else {
                None
            }
            .unwrap_or(b.x);
            for column in self.column(from.min(to))..=self.column(from.max(to)) {
                visit(row * self.columns + column);
            }
        }
    }

    pub fn add_segment(&mut self, element: usize, a: Point, b: Point) {
        let mut cells = Vec::new();
        self.along(a, b, |cell| cells.push(cell));
        for cell in cells {
            self.cells[cell].push(element as u32);
        }
    }

    /// Returns the elements of each cell.
    pub fn cells(&self) -> impl Iterator<Item = (usize, &[u32])> {
        self.cells.iter().map(Vec::as_slice).enumerate()
    }
}
