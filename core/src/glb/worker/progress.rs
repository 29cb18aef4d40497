//! Detection of bags that make no progress.

use crate::glb::{Bag, laws};

/// The grains without a task, in a row, after which the bag counts as one whose `process` does
/// nothing: some milliseconds.
const FRUITLESS: u32 = 1 << 18;

/// The latest grains in which no task was done. Costs a grain with tasks nothing: it is recognised
/// afterwards, by the tasks of the worker.
#[derive(Default)]
pub(super) struct Progress {
    /// The tasks of the worker, and the size of its bag, at the last grain without a task.
    at: (u64, usize),
    /// The number of consecutive grains of that kind.
    grains: u32,
}

impl Progress {
    /// Records a grain of `requested` tasks in which none was done; `tasks` were before.
    ///
    /// # Panics
    /// If the bag is not empty, and did nothing in too many of them.
    #[cold]
    pub(super) fn nothing_done<B: Bag>(&mut self, bag: &B, tasks: u64, requested: usize) {
        if bag.is_empty() {
            return;
        }
        let now = (tasks, bag.len());
        // A smaller bag is progress, even if what it dropped was not counted.
        if self.at != now {
            (self.at, self.grains) = (now, 0);
        }
        self.grains += 1;
        if self.grains == FRUITLESS {
            laws::fruitless(bag, requested, FRUITLESS);
        }
    }
}
