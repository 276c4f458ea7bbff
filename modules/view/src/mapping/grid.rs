//! Boxes in columns and rows, and their vertical positions.

use super::block::{head, height};
use super::contents::{Contents, Frame, Level};

/// Distance between two ports of a side, and between two lanes of a corridor. Boxes and ports are
/// at multiples of it.
pub(crate) const PITCH: f64 = 6.0;
/// Distance of the ports on left sides from the multiples of the pitch, so that arcs from the two
/// sides of a gap are never on the same line.
pub(crate) const LEFT_SHIFT: f64 = 3.0;
/// Distance of the first lane of a corridor from the boxes below it. Lanes of corridors are not on
/// a line with ports.
const CORRIDOR: f64 = 7.5;
/// Space below the contents of a frame, and between frames.
const MARGIN: f64 = 8.0;

/// Number of groups, and of columns in each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) groups: usize,
    pub(crate) columns: usize,
}

/// Position of a box in the columns.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cell {
    /// Column of the picture. The gap on its left has the same number.
    pub(crate) column: usize,
    /// Row, over all groups. The corridor above it has the same number.
    pub(crate) row: usize,
    /// Frame of the host.
    pub(crate) root: usize,
}

/// Part of a group, from top to bottom.
pub(crate) enum Piece<'a> {
    Open(&'a Frame),
    Row { row: usize, blocks: Vec<usize> },
    Close,
}

/// Boxes and frames in columns, without positions.
pub(crate) struct Grid<'a> {
    pub(crate) shape: Shape,
    pub(crate) cells: Vec<Cell>,
    /// Group of each row.
    pub(crate) rows: Vec<usize>,
    pub(crate) groups: Vec<Vec<Piece<'a>>>,
    /// First row of each frame and the row after its last one, in the order in which frames are
    /// opened.
    spans: Vec<(usize, usize)>,
    /// Least heights of boxes.
    heights: Vec<f64>,
}

/// Vertical positions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Vertical {
    /// Upper sides of the boxes, and lower sides.
    pub(crate) blocks: Vec<(f64, f64)>,
    /// First lanes of the corridors above the rows.
    pub(crate) rows: Vec<f64>,
    /// Upper and lower sides of frames, in the order in which frames are opened.
    pub(crate) frames: Vec<(f64, f64)>,
    /// Lower end of the corridor above all frames.
    pub(crate) top: f64,
    /// Upper end of the corridor below all frames.
    pub(crate) bottom: f64,
    pub(crate) height: f64,
}

/// Corridor of a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Corridor {
    Top,
    Bottom,
    Row(usize),
}

/// Room that routes need.
#[derive(Clone, Debug, Default)]
pub(crate) struct Needs {
    /// Number of ports on the fuller side of each box.
    pub(crate) ports: Vec<usize>,
    /// Number of lanes of the corridors of rows.
    pub(crate) rows: Vec<usize>,
    pub(crate) top: usize,
    pub(crate) bottom: usize,
}

impl<'a> Grid<'a> {
    pub(crate) fn of(contents: &'a Contents, shape: Shape) -> Grid<'a> {
        let mut grid = Grid {
            shape,
            cells: vec![Cell::default(); contents.blocks.len()],
            rows: Vec::new(),
            groups: Vec::new(),
            spans: Vec::new(),
            heights: contents.blocks.iter().map(height).collect(),
        };
        let tall: Vec<f64> = contents
            .frames
            .iter()
            .map(|f| grid.frame_height(f))
            .collect();
        let mut left: f64 = tall.iter().sum();
        let mut frames = contents.frames.iter().zip(&tall).enumerate().peekable();
        for group in 0..shape.groups {
            let fair = left / (shape.groups - group) as f64;
            let (mut pieces, mut used) = (Vec::new(), 0.0);
            // A frame belongs to the group that contains its middle.
            while let Some((root, (frame, tall))) =
                frames.next_if(|(_, (_, t))| used == 0.0 || used + **t / 2.0 <= fair)
            {
                used += tall;
                grid.open(&mut pieces, frame, group, root);
            }
            left -= used;
            grid.groups.push(pieces);
        }
        // Rounding may leave the last frame.
        for (root, (frame, _)) in frames {
            let mut pieces = grid.groups.pop().unwrap_or_default();
            grid.open(&mut pieces, frame, shape.groups - 1, root);
            grid.groups.push(pieces);
        }
        grid
    }

    fn frame_height(&self, frame: &Frame) -> f64 {
        let rows = frame.blocks.chunks(self.shape.columns);
        let row = |blocks: &[usize]| self.row_height(blocks) + 2.0 * MARGIN;
        let inner: f64 = frame.frames.iter().map(|f| self.frame_height(f)).sum();
        rows.map(row).sum::<f64>() + inner + head(frame) + 2.0 * MARGIN
    }

    fn row_height(&self, blocks: &[usize]) -> f64 {
        blocks.iter().map(|&b| self.heights[b]).fold(0.0, f64::max)
    }

    fn open(&mut self, pieces: &mut Vec<Piece<'a>>, frame: &'a Frame, group: usize, root: usize) {
        pieces.push(Piece::Open(frame));
        let (span, first) = (self.spans.len(), self.rows.len());
        self.spans.push((first, first));
        for blocks in frame.blocks.chunks(self.shape.columns) {
            let row = self.rows.len();
            self.rows.push(group);
            for (i, &block) in blocks.iter().enumerate() {
                self.cells[block] = Cell {
                    column: group * self.shape.columns + i,
                    row,
                    root,
                };
            }
            let blocks = blocks.to_vec();
            pieces.push(Piece::Row { row, blocks });
        }
        for inner in &frame.frames {
            self.open(pieces, inner, group, root);
        }
        pieces.push(Piece::Close);
        self.spans[span].1 = self.rows.len();
    }

    /// Returns the number of frames that a route between two rows crosses although neither row is
    /// in them. A gap inside of a group, and a corridor above a row, are inside of frames.
    pub(crate) fn foreign(
        &self,
        gaps: [usize; 2],
        corridor: Option<Corridor>,
        ends: [usize; 2],
    ) -> usize {
        let mut crossed = Vec::new();
        for (gap, (own, other)) in gaps
            .into_iter()
            .zip([(ends[0], ends[1]), (ends[1], ends[0])])
        {
            if gap.is_multiple_of(self.shape.columns) {
                continue;
            }
            let to = match corridor {
                None => other,
                Some(Corridor::Row(row)) => row,
                Some(Corridor::Top) => self.rows.partition_point(|g| *g < self.rows[own]),
                // A frame without rows may be below the last row.
                Some(Corridor::Bottom) => self.rows.partition_point(|g| *g <= self.rows[own]),
            };
            crossed.push((own.min(to), own.max(to)));
        }
        if let Some(Corridor::Row(row)) = corridor {
            crossed.push((row, row));
        }
        let foreign = |&&(first, end): &&(usize, usize)| {
            crossed.iter().any(|run| run.0 < end && first <= run.1)
                && !ends.into_iter().any(|row| first <= row && row < end)
        };
        self.spans.iter().filter(foreign).count()
    }

    /// Returns the number of gaps. Gaps 0 and the last are outside of the columns.
    pub(crate) fn gaps(&self) -> usize {
        self.shape.groups * self.shape.columns + 1
    }

    /// Returns the vertical positions with the room that routes need.
    pub(crate) fn vertical(&self, needs: &Needs) -> Vertical {
        let mut all = Vertical {
            blocks: vec![(0.0, 0.0); self.cells.len()],
            rows: vec![0.0; self.rows.len()],
            ..Vertical::default()
        };
        let snapped = |y: f64| (y / PITCH).ceil() * PITCH;
        all.top = snapped(room(needs.top));
        let mut bottom = all.top;
        for (group, pieces) in self.groups.iter().enumerate() {
            // Corridors of neighbouring groups meet in a gap, where they must not be on a line.
            let shift = if group % 2 == 0 { 0.0 } else { PITCH / 2.0 };
            let mut y = all.top;
            let mut open = Vec::new();
            for piece in pieces {
                match piece {
                    Piece::Open(frame) => {
                        y += MARGIN;
                        open.push(all.frames.len());
                        all.frames.push((y, y));
                        y += head(frame);
                    }
                    Piece::Row { row, blocks } => {
                        let lanes = needs.rows.get(*row).copied().unwrap_or(0);
                        y = snapped(y + room(lanes).max(MARGIN));
                        all.rows[*row] = y - CORRIDOR - shift;
                        let top = y;
                        for &block in blocks {
                            let ports = needs.ports.get(block).copied().unwrap_or(0) + 2;
                            let ports = ports as f64 * PITCH;
                            let bottom = snapped(top + self.heights[block].max(ports));
                            all.blocks[block] = (top, bottom);
                            y = y.max(bottom);
                        }
                    }
                    Piece::Close => {
                        y += MARGIN;
                        if let Some(frame) = open.pop() {
                            all.frames[frame].1 = y;
                        }
                    }
                }
            }
            bottom = bottom.max(y);
        }
        all.bottom = snapped(bottom);
        all.height = all.bottom + room(needs.bottom);
        all
    }
}

/// Returns the height of a corridor with some lanes.
fn room(lanes: usize) -> f64 {
    if lanes == 0 {
        return 0.0;
    }
    lanes as f64 * PITCH + CORRIDOR + PITCH / 2.0
}

impl Vertical {
    /// Returns the position of a lane of a corridor. Lane 0 is nearest to the boxes.
    pub(crate) fn corridor(&self, corridor: Corridor, lane: usize) -> f64 {
        let off = lane as f64 * PITCH;
        match corridor {
            Corridor::Top => self.top - CORRIDOR - off,
            Corridor::Bottom => self.bottom + CORRIDOR + off,
            Corridor::Row(row) => self.rows[row] - off,
        }
    }
}

/// Returns whether a group has frames of caches, sockets and hosts.
pub(crate) fn levels(pieces: &[Piece<'_>]) -> [bool; 3] {
    let mut levels = [false; 3];
    for piece in pieces {
        if let Piece::Open(frame) = piece {
            levels[match frame.level {
                Level::Cache => 0,
                Level::Socket => 1,
                Level::Host => 2,
            }] = true;
        }
    }
    levels
}
