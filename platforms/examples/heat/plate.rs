//! The rows of a plate that a rank has.
use std::sync::Mutex;

/// Rows and columns, without the edges.
pub(crate) const SIZE: usize = 32;

/// Rows from 1 on, with one of each neighbour, before and after a step.
pub(crate) struct Plate([Vec<Mutex<Vec<f64>>>; 2]);

impl Plate {
    /// Returns rows with these temperatures.
    pub(crate) fn new(rows: usize, temperature: impl Fn(usize) -> f64) -> Self {
        let row = |row| Mutex::new(vec![temperature(row); SIZE + 2]);
        Self([(); 2].map(|()| (0..rows + 2).map(row).collect()))
    }

    pub(crate) fn get(&self, step: u32, row: usize) -> Vec<f64> {
        self.0[step as usize % 2][row].lock().unwrap().clone()
    }

    pub(crate) fn set(&self, step: u32, row: usize, temperatures: Vec<f64>) {
        *self.0[step as usize % 2][row].lock().unwrap() = temperatures;
    }

    /// Returns a row's temperatures after a step, and the largest change.
    pub(crate) fn relax(&self, step: u32, row: usize) -> (Vec<f64>, f64) {
        let [above, own, below] = [row - 1, row, row + 1].map(|row| self.get(step, row));
        let mut next = own.clone();
        for x in 1..=SIZE {
            next[x] = (above[x] + below[x] + own[x - 1] + own[x + 1]) / 4.0;
        }
        let changes = next.iter().zip(&own).map(|(new, old)| (new - old).abs());
        let most = changes.fold(0.0, f64::max);
        (next, most)
    }
}
