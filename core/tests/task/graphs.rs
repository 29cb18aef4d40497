//! Data-driven tasks in random graphs and in long chains.

use super::WORKERS;
use super::crew::on;
use super::data_driven::cells;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

/// A graph of cells: for each cell, the cells that it is computed from, all of which precede it.
struct Graph(Vec<Vec<usize>>);

/// Returns the next pseudo-random number.
fn next(seed: &mut u64) -> u64 {
    *seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (*seed ^ (*seed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z ^ (z >> 27)
}

impl Graph {
    fn random(cells: usize, seed: &mut u64) -> Self {
        let mut before = |at: usize| {
            let many = next(seed) as usize % 5;
            // Mostly near ones, so that there are long chains, and some that are far.
            let mut one = |_| {
                let reach = if next(seed) % 8 == 0 { at } else { at.min(20) };
                at - 1 - next(seed) as usize % reach
            };
            if at == 0 {
                Vec::new()
            } else {
                (0..many).map(&mut one).collect()
            }
        };
        Self((0..cells).map(&mut before).collect())
    }

    fn value(at: usize, inputs: impl Iterator<Item = u64>) -> u64 {
        let fold = |sum: u64, x: u64| sum.rotate_left(5).wrapping_mul(0x2545_f491_4f6c_dd1d) ^ x;
        inputs.fold(at as u64 + 1, fold)
    }

    /// Computes the values sequentially.
    fn values(&self) -> Vec<u64> {
        let mut values = Vec::with_capacity(self.0.len());
        for (at, inputs) in self.0.iter().enumerate() {
            let value = Self::value(at, inputs.iter().map(|&input| values[input]));
            values.push(value);
        }
        values
    }

    /// Returns a random order in which the tasks are spawned.
    fn shuffled(&self, seed: &mut u64) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.0.len()).collect();
        for at in (1..order.len()).rev() {
            order.swap(at, next(seed) as usize % (at + 1));
        }
        order
    }
}

/// Graphs of up to 10^5 cells, spawned in any order: every task runs once, every value is right.
#[test]
fn random_graphs_come_out_right() {
    for (size, graphs) in [(1_000, 10), (10_000, 3), (100_000, 1)] {
        for workers in WORKERS {
            for graph in 0..graphs {
                let mut seed = (size + graph) as u64;
                let graph = Graph::random(size, &mut seed);
                let order = graph.shuffled(&mut seed);
                let (cells, runs) = (cells::<u64>(size), AtomicUsize::new(0));
                on(workers, |cx| {
                    for at in order {
                        let inputs = graph.0[at].iter().map(|&input| &cells[input]);
                        let (cells, runs) = (&cells, &runs);
                        cx.spawn_when(inputs.collect::<Vec<_>>(), move |values, _| {
                            runs.fetch_add(1, SeqCst);
                            let value = Graph::value(at, values.into_iter().copied());
                            cells[at].put(value).unwrap();
                        });
                    }
                });
                assert_eq!(runs.into_inner(), size);
                let values = cells.into_iter().map(|cell| cell.into_inner().unwrap());
                assert!(values.eq(graph.values()), "{size} cells, {workers} workers");
            }
        }
    }
}

/// The depth of the stack is independent of the length of a chain.
#[test]
fn long_chains_do_not_nest() {
    const LONG: usize = 100_000;
    for workers in [1, 4] {
        let cells = cells::<usize>(LONG);
        on(workers, |cx| {
            for pair in cells.windows(2) {
                cx.spawn_when(&pair[0], |&before, _| pair[1].put(before + 1).unwrap());
            }
            cells[0].put(0).unwrap();
        });
        assert_eq!(cells[LONG - 1].get(), Ok(&(LONG - 1)));
    }
}
