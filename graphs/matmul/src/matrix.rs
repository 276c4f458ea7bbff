//! Square matrices of whole numbers.

#[derive(Clone, Debug, PartialEq, Eq, graphmap_runtime::Payload)]
pub struct Matrix {
    size: usize,
    /// Numbers, row by row.
    numbers: Vec<i64>,
}

impl Matrix {
    /// Returns the matrix that has `number(row, column)` at each index.
    pub fn new(size: usize, number: impl Fn(usize, usize) -> i64) -> Matrix {
        let numbers = (0..size * size).map(|i| number(i / size, i % size));
        Matrix {
            size,
            numbers: numbers.collect(),
        }
    }

    /// Returns a matrix of small pseudo-random numbers that depend on `seed`.
    pub fn scrambled(size: usize, seed: u64) -> Matrix {
        Matrix::new(size, |row, column| {
            let place = (row * size + column) as u64 + seed;
            let mixed = place.wrapping_mul(0x9e37_79b9_7f4a_7c15);
            (mixed >> 57) as i64 - 64
        })
    }

    pub fn size(&self) -> usize {
        self.size
    }

    pub fn at(&self, row: usize, column: usize) -> i64 {
        self.numbers[row * self.size + column]
    }

    /// Returns one block of the matrix, which is cut into `blocks` in each direction.
    pub fn block(&self, blocks: usize, row: usize, column: usize) -> Matrix {
        let size = self.size / blocks;
        Matrix::new(size, |r, c| self.at(row * size + r, column * size + c))
    }

    /// Returns the matrix that was cut into these blocks, given row by row.
    pub fn of_blocks(parts: &[Matrix]) -> Matrix {
        let (blocks, size) = (parts.len().isqrt(), parts[0].size);
        Matrix::new(blocks * size, |r, c| {
            parts[r / size * blocks + c / size].at(r % size, c % size)
        })
    }

    /// Adds the product of two matrices to this one.
    pub fn add_product(&mut self, left: &Matrix, right: &Matrix) {
        for (row, sums) in self.numbers.chunks_exact_mut(self.size).enumerate() {
            for inner in 0..right.size {
                let factor = left.at(row, inner);
                let others = &right.numbers[inner * right.size..];
                for (sum, other) in sums.iter_mut().zip(others) {
                    *sum += factor * other;
                }
            }
        }
    }

    /// Returns the sum of the diagonal.
    pub fn trace(&self) -> i64 {
        (0..self.size).map(|i| self.at(i, i)).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_product_by_hand() {
        let left = Matrix::new(2, |r, c| [[1, 2], [3, 4]][r][c]);
        let right = Matrix::new(2, |r, c| [[5, 6], [7, 8]][r][c]);
        let mut product = Matrix::new(2, |_, _| 0);
        product.add_product(&left, &right);
        assert_eq!(product, Matrix::new(2, |r, c| [[19, 22], [43, 50]][r][c]));
    }

    #[test]
    fn blocks_make_the_whole_again() {
        let whole = Matrix::scrambled(6, 1);
        let blocks: Vec<Matrix> = (0..9).map(|i| whole.block(3, i / 3, i % 3)).collect();
        assert_eq!(Matrix::of_blocks(&blocks), whole);
    }
}
