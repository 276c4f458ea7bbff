//! A square plate, and the spread of heat over it.

/// A plate, or a block of one, with a rim of points around it that belong to the neighbours.
#[derive(Clone, Debug, PartialEq, graphmap_runtime::Payload)]
pub struct Plate {
    size: usize,
    /// Temperatures row by row, the rim included: `size + 2` points per row.
    points: Vec<f64>,
}

/// A side of a plate.
#[derive(Clone, Copy, Debug)]
pub enum Side {
    North,
    South,
    West,
    East,
}

impl Plate {
    /// Returns a plate that is hot at its northern edge and cold everywhere else.
    pub fn heated_in_the_north(size: usize) -> Plate {
        let width = size + 2;
        let mut points = vec![0.0; width * width];
        points[..width].fill(100.0);
        Plate { size, points }
    }

    /// Returns one block of the plate, which is cut into `blocks` in each direction.
    pub fn block(&self, blocks: usize, row: usize, column: usize) -> Plate {
        let size = self.size / blocks;
        let rows = row * size..row * size + size + 2;
        let points = rows.flat_map(|r| {
            let first = r * (self.size + 2) + column * size;
            &self.points[first..first + size + 2]
        });
        Plate {
            size,
            points: points.copied().collect(),
        }
    }

    /// Returns the temperatures of the plate without its rim, row by row.
    pub fn inner(&self) -> impl Iterator<Item = f64> {
        let rows = self.points.chunks(self.size + 2);
        let inner = rows.skip(1).take(self.size);
        inner.flat_map(|row| &row[1..=self.size]).copied()
    }

    /// Returns the outermost points of the block itself, which a neighbour needs.
    pub fn side(&self, side: Side) -> Vec<f64> {
        self.line(side, 1).map(|at| self.points[at]).collect()
    }

    /// Sets the rim on one side to the points of the neighbour.
    pub fn set_rim(&mut self, side: Side, rim: &[f64]) {
        for (at, &temperature) in self.line(side, 0).zip(rim) {
            self.points[at] = temperature;
        }
    }

    /// Returns the indices of the points along a side, `depth` points in from the rim.
    fn line(&self, side: Side, depth: usize) -> impl Iterator<Item = usize> + use<> {
        let width = self.size + 2;
        let far = width - 1 - depth;
        (1..width - 1).map(move |i| match side {
            Side::North => depth * width + i,
            Side::South => far * width + i,
            Side::West => i * width + depth,
            Side::East => i * width + far,
        })
    }

    /// Computes one step: each point becomes the mean of its four neighbours.
    pub fn step(&mut self) {
        let width = self.size + 2;
        let before = self.points.clone();
        for row in 1..=self.size {
            for at in row * width + 1..=row * width + self.size {
                let column = before[at - width] + before[at + width];
                self.points[at] = 0.25 * (column + (before[at - 1] + before[at + 1]));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Side::{East, North, South, West};
    use super::*;

    #[test]
    fn heat_enters_from_the_north() {
        let mut plate = Plate::heated_in_the_north(2);
        plate.step();
        assert_eq!(plate.inner().collect::<Vec<_>>(), [25.0, 25.0, 0.0, 0.0]);
    }

    #[test]
    fn blocks_that_show_their_sides_are_like_the_whole() {
        let mut whole = Plate::heated_in_the_north(4);
        let mut blocks = [0, 1, 2, 3].map(|i| whole.block(2, i / 2, i % 2));
        for _ in 0..3 {
            let sides = blocks
                .clone()
                .map(|b| [North, South, West, East].map(|s| b.side(s)));
            for (i, block) in blocks.iter_mut().enumerate() {
                let (beside, across) = (&sides[i ^ 1], &sides[i ^ 2]);
                match i % 2 {
                    0 => block.set_rim(East, &beside[West as usize]),
                    _ => block.set_rim(West, &beside[East as usize]),
                }
                match i / 2 {
                    0 => block.set_rim(South, &across[North as usize]),
                    _ => block.set_rim(North, &across[South as usize]),
                }
                block.step();
            }
            whole.step();
        }
        for (i, block) in blocks.iter().enumerate() {
            let expected: Vec<f64> = whole.block(2, i / 2, i % 2).inner().collect();
            assert_eq!(block.inner().collect::<Vec<_>>(), expected, "block {i}");
        }
    }
}
