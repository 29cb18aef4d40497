//! The plate, a step of its rows, and the sequential program.

use crate::stencil::{Part, relax};

/// The temperature above the plate; those on its other sides are 0, as is that of the plate at
/// first.
const HOT: f64 = 1.0;

/// A square plate, and the condition that ends the computation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HotPlate {
    /// Rows, and cells of each; at least 1.
    pub size: usize,
    /// The computation ends after a step whose largest change is below this.
    pub change: f64,
    /// The most steps, at least 1.
    pub steps: u64,
}

/// The state after the last step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settled {
    /// The number of steps.
    pub steps: u64,
    /// The largest change of a temperature in the last step.
    pub change: f64,
    /// A hash of the bits of all temperatures and of their positions.
    pub checksum: u64,
}

impl HotPlate {
    /// Returns the number of cells.
    pub fn cells(&self) -> u64 {
        (self.size as u64).saturating_mul(self.size as u64)
    }

    /// Returns the most bytes of all ranks together: the states of two steps, and a copy of one,
    /// from which they are made and which is hashed.
    pub fn bytes(&self) -> u64 {
        self.cells().saturating_mul(3 * 8)
    }

    /// Whether the last step of `settled` had a largest change below the bound.
    pub fn is_settled(&self, settled: &Settled) -> bool {
        settled.change < self.change
    }

    /// Whether the computation ends after step number `steps`, whose largest change was `change`.
    pub(super) fn ends(&self, steps: u64, change: f64) -> bool {
        change < self.change || steps >= self.steps
    }

    /// Returns the row above the plate.
    pub(super) fn above(&self) -> Vec<f64> {
        vec![HOT; self.size]
    }

    /// Returns the row below the plate.
    pub(super) fn below(&self) -> Vec<f64> {
        vec![0.0; self.size]
    }

    /// Returns the hash of `cells`, whose first row is `first`. Those of all rows are added.
    pub(super) fn checksum(&self, first: usize, cells: &[f64]) -> u64 {
        Part::of(first, cells, self.size).heat().checksum
    }
}

/// Computes a row from its last state, and from those of its neighbours; returns the largest
/// change.
pub(super) fn step(above: &[f64], own: &[f64], below: &[f64], out: &mut [f64]) -> f64 {
    relax(above, own, below, out);
    largest_change(own, out)
}

/// Returns the largest difference. Lanes are independent, so the compiler uses vector registers.
fn largest_change(old: &[f64], new: &[f64]) -> f64 {
    const LANES: usize = 8;
    // Cheaper than `f64::max`, which handles NaN; no temperature is NaN.
    let larger = |most: f64, (old, new): (&f64, &f64)| {
        let change = (new - old).abs();
        if change > most { change } else { most }
    };
    let (old_lanes, old_rest) = old.as_chunks::<LANES>();
    let (new_lanes, new_rest) = new.as_chunks::<LANES>();
    let mut most = [0.0; LANES];
    for (old, new) in old_lanes.iter().zip(new_lanes) {
        for (most, pair) in most.iter_mut().zip(old.iter().zip(new)) {
            *most = larger(*most, pair);
        }
    }
    let rest = old_rest.iter().zip(new_rest).fold(0.0, larger);
    most.into_iter().fold(rest, f64::max)
}

/// Computes a plate on the calling thread.
pub fn sequential(plate: &HotPlate) -> Settled {
    let size = plate.size;
    let (above, below) = (plate.above(), plate.below());
    let mut cells = vec![0.0; size * size];
    let mut next = cells.clone();
    let mut steps = 0;
    loop {
        let mut change = 0.0_f64;
        for (row, out) in next.chunks_mut(size).enumerate() {
            let at = |row: usize| cells.get(row * size..(row + 1) * size);
            let own = at(row).expect("a row of the plate");
            let above = row.checked_sub(1).and_then(at).unwrap_or(&above);
            let below = at(row + 1).unwrap_or(&below);
            change = change.max(step(above, own, below, out));
        }
        std::mem::swap(&mut cells, &mut next);
        steps += 1;
        if plate.ends(steps, change) {
            let checksum = plate.checksum(0, &cells);
            return Settled {
                steps,
                change,
                checksum,
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_change_is_found_in_every_place() {
        for length in 0..20 {
            let old = vec![1.0; length];
            assert_eq!(largest_change(&old, &old), 0.0);
            for at in 0..length {
                for value in [0.5, 1.5] {
                    let mut new = old.clone();
                    new[at] = value;
                    new[length / 2] += 0.25 * f64::from(u8::from(at != length / 2));
                    assert_eq!(largest_change(&old, &new), 0.5, "{at} of {length}");
                }
            }
        }
    }
}
