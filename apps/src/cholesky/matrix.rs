//! Symmetric matrices: drawn, or read from files.

use super::{Shape, Tile, mixed};

/// A symmetric matrix, of which the lower triangle is used.
#[derive(Clone, Debug, PartialEq)]
pub enum Matrix {
    /// Drawn elements: see [`drawn`](Self::drawn).
    Drawn {
        /// The number of rows.
        rows: usize,
        /// The seed of the generator.
        seed: u64,
    },
    /// The elements of a file.
    Read(Entries),
}

/// The elements of a lower triangle that are not 0.
#[derive(Clone, Debug, PartialEq)]
pub struct Entries {
    rows: usize,
    /// Row, column and value, by rows.
    entries: Vec<(u32, u32, f64)>,
}

impl Entries {
    /// Creates the matrix of these elements: row, column and value, from 0, on or below the
    /// diagonal, each at most once.
    pub(super) fn new(rows: usize, mut entries: Vec<(u32, u32, f64)>) -> Self {
        entries.sort_unstable_by_key(|&(row, column, _)| (row, column));
        Self { rows, entries }
    }

    /// Returns the elements of a row whose columns are from `first` to before `end`.
    fn of_row(&self, row: u32, first: u32, end: u32) -> &[(u32, u32, f64)] {
        let before = |key| {
            self.entries
                .partition_point(|entry| (entry.0, entry.1) < key)
        };
        &self.entries[before((row, first))..before((row, end))]
    }
}

impl Matrix {
    /// Returns a matrix with elements between -1/2 and 1/2, and that much more than the number of
    /// rows on the diagonal: positive definite, by Gershgorin's theorem. It depends on the seed
    /// alone, and so does each element of rows that smaller matrices have, but for the diagonal.
    pub fn drawn(rows: usize, seed: u64) -> Self {
        Self::Drawn { rows, seed }
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        match self {
            Self::Drawn { rows, .. } => *rows,
            Self::Read(entries) => entries.rows,
        }
    }

    /// Returns a tile of the lower triangle; one on the diagonal is 0 above it.
    ///
    /// # Panics
    /// If the matrix has another number of rows than `shape`.
    #[track_caller]
    pub fn tile(&self, shape: Shape, i: usize, j: usize) -> Tile {
        assert_eq!(self.rows(), shape.rows(), "the shape of another matrix");
        let (rows, columns) = (shape.extent(i), shape.extent(j));
        let (top, left) = (i * shape.side(), j * shape.side());
        let mut tile = vec![0.0; rows * columns];
        match self {
            &Self::Drawn { rows: all, seed } => {
                for (at, value) in tile.iter_mut().enumerate() {
                    let (row, column) = (top + at % rows, left + at / rows);
                    if row >= column {
                        *value = element(all, seed, row, column);
                    }
                }
            }
            Self::Read(entries) => {
                for row in top..top + rows {
                    let found = entries.of_row(row as u32, left as u32, (left + columns) as u32);
                    for &(_, column, value) in found {
                        tile[(column as usize - left) * rows + row - top] = value;
                    }
                }
            }
        }
        tile
    }
}

/// Returns an element of a drawn matrix.
fn element(rows: usize, seed: u64, row: usize, column: usize) -> f64 {
    let bits = mixed(mixed(seed) ^ ((row as u64) << 32 | column as u64));
    let drawn = (bits >> 11) as f64 / (1_u64 << 53) as f64 - 0.5;
    match row == column {
        true => drawn + rows as f64,
        false => drawn,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns all elements of the lower triangle, by rows.
    fn elements(matrix: &Matrix, side: usize) -> Vec<f64> {
        let shape = Shape::new(matrix.rows(), side);
        let mut all = Vec::new();
        for row in 0..matrix.rows() {
            for column in 0..=row {
                let (i, j) = (row / side, column / side);
                let tile = matrix.tile(shape, i, j);
                all.push(tile[column % side * shape.extent(i) + row % side]);
            }
        }
        all
    }

    #[test]
    fn elements_do_not_depend_on_tiles() {
        let entries = [
            (0, 0, 4.0),
            (5, 2, 1.5),
            (5, 5, -3.0),
            (6, 0, 7.0),
            (6, 6, 1.0),
        ];
        let read = Entries::new(7, entries.into_iter().rev().collect());
        for matrix in [Matrix::drawn(7, 3), Matrix::Read(read)] {
            let whole = elements(&matrix, 7);
            for side in [1, 2, 3, 6, 100] {
                assert_eq!(elements(&matrix, side), whole);
            }
            if let Matrix::Read(_) = &matrix {
                for (row, column, value) in entries {
                    assert_eq!(whole[(row * (row + 1) / 2 + column) as usize], value);
                }
                assert_eq!(
                    whole.iter().filter(|value| **value != 0.0).count(),
                    entries.len()
                );
            }
        }
    }

    #[test]
    fn drawn_elements_are_spread() {
        let rows = 200;
        let all = elements(&Matrix::drawn(rows, 1), 64);
        let below: Vec<_> = all.iter().filter(|value| value.abs() <= 0.5).collect();
        assert_eq!(below.len(), all.len() - rows, "the diagonal is larger");
        let mean = below.iter().copied().sum::<f64>() / below.len() as f64;
        let square = below.iter().map(|value| *value * *value).sum::<f64>() / below.len() as f64;
        assert!(
            mean.abs() < 0.01 && (square - 1.0 / 12.0).abs() < 0.003,
            "{mean} {square}"
        );
        assert_ne!(all, elements(&Matrix::drawn(rows, 2), 64));
        let smaller = elements(&Matrix::drawn(3, 1), 3);
        assert_eq!(
            (smaller[1], smaller[3], smaller[4]),
            (all[1], all[3], all[4])
        );
    }
}
