//! Queens on a square board, one in each row, none of which attacks another.

/// A board whose first rows are filled.
///
/// A set bit of `straight`, `leftward` or `rightward` marks a column of the next row that a queen
/// above attacks.
#[derive(Clone, Copy, Debug, graphmap_runtime::Payload)]
pub struct Board {
    size: u32,
    queens: u32,
    straight: u32,
    leftward: u32,
    rightward: u32,
}

impl Board {
    /// Returns an empty board.
    pub fn new(size: u32) -> Board {
        Board {
            size,
            queens: 0,
            straight: 0,
            leftward: 0,
            rightward: 0,
        }
    }

    /// Returns the boards with one more queen, in the next row.
    pub fn next(self) -> impl Iterator<Item = Board> {
        let attacked = self.straight | self.leftward | self.rightward;
        let columns = (0..self.size).map(|column| 1 << column);
        let free = columns.filter(move |column| attacked & column == 0);
        free.map(move |column| Board {
            size: self.size,
            queens: self.queens + 1,
            straight: self.straight | column,
            leftward: (self.leftward | column) << 1,
            rightward: (self.rightward | column) >> 1,
        })
    }

    /// Returns the number of ways to fill the rest of the board.
    pub fn ways(self) -> u64 {
        if self.queens == self.size {
            return 1;
        }
        self.next().map(Board::ways).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_boards_are_as_known() {
        let known = [1, 1, 0, 0, 2, 10, 4, 40, 92];
        for (size, ways) in (0..).zip(known) {
            assert_eq!(Board::new(size).ways(), ways, "{size}");
        }
    }
}
