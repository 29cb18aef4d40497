//! The plate: its first state, a step of a row, and its heat.

use crate::random::SplitMix;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// The value of the cells above the plate; those on its other sides are 0.
const HOT: f64 = 1.0;

/// A plate that is computed for a number of steps. Its first state is drawn from a seed, with
/// values from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plate {
    /// The cells of a row, at least 1.
    pub width: usize,
    /// The rows.
    pub height: usize,
    /// The steps.
    pub steps: u64,
    /// The seed of the first state.
    pub seed: u64,
}

impl Plate {
    /// Returns the number of cells that are computed in all steps.
    pub fn cells(&self) -> u64 {
        self.width as u64 * self.height as u64 * self.steps
    }

    /// Returns the first state of `rows`.
    pub(super) fn first(&self, rows: Range<usize>) -> Vec<f64> {
        let mut cells = Vec::with_capacity(rows.len() * self.width);
        for row in rows {
            // A generator for each row, of which the first number is as random as the others.
            let mut random = SplitMix::new(SplitMix::new(self.seed ^ row as u64).next());
            cells.extend((0..self.width).map(|_| random.unit()));
        }
        cells
    }

    /// Returns the row above the plate.
    pub(super) fn above(&self) -> Vec<f64> {
        vec![HOT; self.width]
    }

    /// Returns the row below the plate.
    pub(super) fn below(&self) -> Vec<f64> {
        vec![0.0; self.width]
    }
}

/// Computes a row from its last state, and from those of its neighbours.
pub(crate) fn relax(above: &[f64], own: &[f64], below: &[f64], out: &mut [f64]) {
    let last = own.len() - 1;
    let at = |column: usize| own.get(column).copied().unwrap_or(0.0);
    // The same order of additions in all columns, so that all divisions of a plate have the same
    // bits.
    let mean = |column: usize, left: f64, right: f64| {
        ((above[column] + below[column]) + (left + right)) * 0.25
    };
    out[0] = mean(0, 0.0, at(1));
    if last == 0 {
        return;
    }
    out[last] = mean(last, at(last - 1), 0.0);
    // Slices of one length, so that no access is checked and several columns are computed at once.
    let (left, right) = (&own[..last - 1], &own[2..]);
    let (above, below) = (&above[1..last], &below[1..last]);
    let rows = above.iter().zip(below);
    let columns = left.iter().zip(right);
    let out = out[1..last].iter_mut();
    for ((out, (above, below)), (left, right)) in out.zip(rows).zip(columns) {
        *out = ((above + below) + (left + right)) * 0.25;
    }
}

/// The state of a plate in three numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Heat {
    /// The sum of all cells.
    pub sum: f64,
    /// The greatest cell.
    pub max: f64,
    /// A hash of the bits of all cells and of their positions.
    pub checksum: u64,
}

/// The heat of some rows, one after the other.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// The sum of each row. They are added in the order of rows, so that all divisions of a plate
    /// have the same bits.
    sums: Vec<f64>,
    max: f64,
    checksum: u64,
}

impl Part {
    /// Returns the heat of `cells`, whose first row is `first`.
    pub(crate) fn of(first: usize, cells: &[f64], width: usize) -> Self {
        let mut part = Self::default();
        for (row, cells) in (first..).zip(cells.chunks(width)) {
            part.sums.push(cells.iter().sum());
            part.max = cells.iter().copied().fold(part.max, f64::max);
            let mixed = |hash, cell: &f64| SplitMix::new(hash ^ cell.to_bits()).next();
            let hash = cells.iter().fold(row as u64, mixed);
            part.checksum = part.checksum.wrapping_add(hash);
        }
        part
    }

    /// Adds the rows that follow.
    pub(super) fn append(&mut self, next: Self) {
        self.sums.extend(next.sums);
        self.max = self.max.max(next.max);
        self.checksum = self.checksum.wrapping_add(next.checksum);
    }

    /// Returns the heat of all rows.
    pub(crate) fn heat(&self) -> Heat {
        Heat {
            sum: self.sums.iter().sum(),
            max: self.max,
            checksum: self.checksum,
        }
    }
}

/// Computes a plate on the calling thread.
pub fn sequential(plate: &Plate) -> Heat {
    let width = plate.width;
    let (above, below) = (plate.above(), plate.below());
    let mut cells = plate.first(0..plate.height);
    let mut next = cells.clone();
    for _ in 0..plate.steps {
        for (row, out) in next.chunks_mut(width).enumerate() {
            let at = |row: usize| &cells[row * width..][..width];
            let above = row.checked_sub(1).map_or(&*above, at);
            let below = match row + 1 < plate.height {
                true => at(row + 1),
                false => &below,
            };
            relax(above, at(row), below, out);
        }
        std::mem::swap(&mut cells, &mut next);
    }
    Part::of(0, &cells, width).heat()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Computes by indices, and checks for each neighbour whether it exists.
    fn naive(plate: &Plate) -> Vec<f64> {
        let (width, height) = (plate.width as isize, plate.height as isize);
        let mut cells = plate.first(0..plate.height);
        for _ in 0..plate.steps {
            let at = |row: isize, column: isize| match (row, column) {
                (-1, _) => 1.0,
                _ if row == height || column < 0 || column == width => 0.0,
                _ => cells[(row * width + column) as usize],
            };
            let mean = |index: isize| {
                let (row, column) = (index / width, index % width);
                let rows = at(row - 1, column) + at(row + 1, column);
                let columns = at(row, column - 1) + at(row, column + 1);
                (rows + columns) / 4.0
            };
            cells = (0..width * height).map(mean).collect();
        }
        cells
    }

    #[test]
    fn rows_are_computed_as_by_indices() {
        for (width, height) in [(1, 1), (1, 5), (2, 1), (3, 3), (4, 7), (17, 9)] {
            for steps in [0, 1, 2, 13] {
                let plate = Plate {
                    width,
                    height,
                    steps,
                    seed: 5,
                };
                let expected = Part::of(0, &naive(&plate), width).heat();
                assert_eq!(sequential(&plate), expected, "{plate:?}");
            }
        }
    }

    #[test]
    fn parts_are_combined_to_the_same_bits() {
        let plate = Plate {
            width: 5,
            height: 8,
            steps: 0,
            seed: 1,
        };
        let mut cells = plate.first(0..8);
        assert_eq!(plate.first(3..8), cells[15..]);
        // The greatest is in the first part.
        cells[2] = 1.5;
        let mut part = Part::of(0, &cells[..15], 5);
        part.append(Part::of(3, &cells[15..], 5));
        assert_eq!(part, Part::of(0, &cells, 5));
        // Rows in another place are another plate.
        assert_ne!(Part::of(1, &cells, 5).heat().checksum, part.heat().checksum);
        assert_eq!(part.heat().max, 1.5);
    }
}
