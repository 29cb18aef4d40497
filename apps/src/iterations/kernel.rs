//! Loops that compute something, and one that only takes its time.

use super::Times;
use crate::random::SplitMix;
use std::fmt;
use std::hint::black_box;
use std::time::Instant;

/// The width of the Mandelbrot picture, and its greatest number of steps a point.
const COLUMNS: usize = 512;
const STEPS: u32 = 200;
/// Entries of the matrix for each of its rows, in the mean.
const ENTRIES: usize = 16;

/// A loop over the rows of a picture or of a matrix.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Kernel {
    /// Rows of the Mandelbrot set: the costs of neighbours are alike.
    Mandelbrot {
        /// The number of rows.
        rows: usize,
    },
    /// A sparse matrix by a vector, whose rows have lengths of a power law (R-MAT: Chakrabarti,
    /// Zhan, Faloutsos 2004).
    Sparse(Matrix),
}

/// A matrix in compressed rows, and a vector.
#[derive(Clone, Debug)]
pub struct Matrix {
    /// By row, and one more: where its entries begin.
    first: Vec<usize>,
    columns: Vec<usize>,
    vector: Vec<f64>,
}

impl Kernel {
    /// The names of the kernels.
    pub const NAMES: [&str; 2] = ["mandelbrot", "sparse"];

    /// Creates the kernel `name` with `rows` iterations.
    ///
    /// # Errors
    /// If there is no kernel of this name, with the names that exist.
    pub fn named(name: &str, rows: usize) -> Result<Self, String> {
        match name {
            "mandelbrot" => Ok(Self::Mandelbrot { rows }),
            "sparse" => Ok(Self::Sparse(Matrix::generate(rows))),
            _ => Err(format!("a kernel: {}", Self::NAMES.join(", "))),
        }
    }

    /// Returns the number of iterations.
    pub fn len(&self) -> usize {
        match self {
            Self::Mandelbrot { rows } => *rows,
            Self::Sparse(matrix) => matrix.first.len() - 1,
        }
    }

    /// Whether there are no iterations.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Executes iteration `row`, and returns its result.
    pub fn run(&self, row: usize) -> f64 {
        match self {
            Self::Mandelbrot { rows } => f64::from(mandelbrot(row as f64 / *rows as f64)),
            Self::Sparse(matrix) => matrix.row(row),
        }
    }

    /// Executes all iterations in order, and measures each.
    pub fn measure(&self) -> Times {
        let measured = |row| {
            let start = Instant::now();
            black_box(self.run(row));
            start.elapsed().as_nanos() as u64
        };
        Times::new((0..self.len()).map(measured))
    }
}

/// The steps of all points of a row at the height `y`, from 0 to 1.
fn mandelbrot(y: f64) -> u32 {
    let y = 2.0 * y - 1.0;
    let point = |column: usize| {
        let x = 3.0 * column as f64 / COLUMNS as f64 - 2.0;
        let (mut a, mut b) = (0.0f64, 0.0f64);
        let escapes = (0..STEPS).find(|_| {
            (a, b) = (a * a - b * b + x, 2.0 * a * b + y);
            a * a + b * b > 4.0
        });
        escapes.unwrap_or(STEPS)
    };
    (0..COLUMNS).map(point).sum()
}

impl Matrix {
    /// R-MAT with the usual probabilities 0.57, 0.19, 0.19, 0.05; rows beyond `rows` are drawn
    /// again.
    fn generate(rows: usize) -> Self {
        let mut random = SplitMix::new(1);
        let levels = rows.next_power_of_two().trailing_zeros();
        let mut by_row = vec![Vec::new(); rows];
        let mut entries = 0;
        while entries < ENTRIES * rows {
            let (mut row, mut column) = (0, 0);
            for _ in 0..levels {
                let unit = random.unit();
                row = 2 * row + usize::from(unit >= 0.76);
                column = 2 * column + usize::from((0.57..0.76).contains(&unit) || unit >= 0.95);
            }
            if row < rows && column < rows {
                by_row[row].push(column);
                entries += 1;
            }
        }
        let mut first = vec![0];
        for row in &by_row {
            first.push(first[first.len() - 1] + row.len());
        }
        Self {
            first,
            columns: by_row.concat(),
            vector: (0..rows).map(|i| 1.0 / (i + 1) as f64).collect(),
        }
    }

    fn row(&self, row: usize) -> f64 {
        let entries = &self.columns[self.first[row]..self.first[row + 1]];
        entries.iter().map(|&column| self.vector[column]).sum()
    }
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Mandelbrot { .. } => Self::NAMES[0],
            Self::Sparse(_) => Self::NAMES[1],
        })
    }
}

/// Computes for `ns` nanoseconds, by the clock.
pub fn spin(ns: u64) {
    let start = Instant::now();
    while (start.elapsed().as_nanos() as u64) < ns {
        std::hint::spin_loop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_have_as_many_rows_as_requested() {
        for name in Kernel::NAMES {
            let kernel = Kernel::named(name, 100).unwrap();
            assert_eq!((kernel.len(), kernel.to_string()), (100, name.to_owned()));
            assert_eq!(kernel.measure().len(), 100);
        }
        assert!(
            Kernel::named("gauss", 1)
                .unwrap_err()
                .contains("mandelbrot")
        );
    }

    #[test]
    fn all_entries_of_the_matrix_are_in_a_row() {
        let matrix = Matrix::generate(100);
        assert_eq!(matrix.first[100], 100 * ENTRIES);
        assert!(matrix.columns.iter().all(|&column| column < 100));
        let longest = (0..100)
            .map(|row| matrix.first[row + 1] - matrix.first[row])
            .max();
        assert!(longest.unwrap() > 4 * ENTRIES, "a power law has long rows");
    }
}
