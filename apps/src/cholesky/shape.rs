//! The division of a square matrix into square tiles.

/// The rows of a square matrix, and of its tiles; those at its end may have less.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    rows: usize,
    side: usize,
}

impl Shape {
    /// Divides `rows` rows into tiles of `side`.
    ///
    /// # Panics
    /// If the side is 0.
    #[track_caller]
    pub fn new(rows: usize, side: usize) -> Self {
        assert!(side > 0, "tiles of {side} rows: at least 1");
        Self { rows, side }
    }

    /// Returns the number of rows of the matrix.
    pub fn rows(self) -> usize {
        self.rows
    }

    /// Returns the number of rows of a tile that is not at the end.
    pub fn side(self) -> usize {
        self.side
    }

    /// Returns the number of rows of tiles.
    pub fn tiles(self) -> usize {
        self.rows.div_ceil(self.side)
    }

    /// Returns the number of rows of the tiles of this row.
    pub fn extent(self, row: usize) -> usize {
        self.side.min(self.rows - row * self.side)
    }

    /// Returns the number of operations on tiles, which are tasks.
    pub fn tasks(self) -> u64 {
        let tiles = self.tiles() as u64;
        tiles * (tiles + 1) * (tiles + 2) / 6
    }

    /// Returns the number of floating-point operations, as LAPACK counts them: multiplications,
    /// additions, divisions and roots of the factorization by elements.
    pub fn operations(self) -> u64 {
        let rows = self.rows as u128;
        u64::try_from(rows * (rows + 1) * (2 * rows + 1) / 6).unwrap_or(u64::MAX)
    }

    /// Returns the tiles of the lower triangle, by rows.
    pub(super) fn lower(self) -> impl Iterator<Item = (usize, usize)> {
        (0..self.tiles()).flat_map(|i| (0..=i).map(move |j| (i, j)))
    }

    /// Returns the position of a tile in [`lower`](Self::lower).
    pub(super) fn index(self, row: usize, column: usize) -> usize {
        row * (row + 1) / 2 + column
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_tiles_have_the_rest() {
        for (rows, side, expected) in [
            (0, 5, vec![]),
            (1, 5, vec![1]),
            (5, 5, vec![5]),
            (12, 5, vec![5, 5, 2]),
        ] {
            let shape = Shape::new(rows, side);
            let extents: Vec<_> = (0..shape.tiles()).map(|i| shape.extent(i)).collect();
            assert_eq!(extents, expected);
            let places: Vec<_> = shape.lower().map(|(i, j)| shape.index(i, j)).collect();
            assert_eq!(places, (0..places.len()).collect::<Vec<_>>());
        }
    }

    #[test]
    fn operations_are_counted() {
        let counted = |rows: u64| {
            // A root, divisions below it, a multiplication and an addition of each later element.
            let step = |k: u64| 1 + k + k * (k + 1);
            (0..rows).map(step).sum::<u64>()
        };
        for rows in [0, 1, 2, 17, 100] {
            assert_eq!(Shape::new(rows, 4).operations(), counted(rows as u64));
        }
        let tasks = |tiles: usize| (0..tiles).map(|k| 1 + k + k * (k + 1) / 2).sum::<usize>();
        for tiles in [0, 1, 2, 5, 40] {
            assert_eq!(Shape::new(tiles * 3, 3).tasks(), tasks(tiles) as u64);
        }
    }
}
