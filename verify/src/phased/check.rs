//! The signals of all tasks, as recorded by the programs themselves.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Counts the tasks that left a phase before others had signalled it.
#[derive(Clone, Debug, Default)]
pub struct Violations(Arc<AtomicUsize>);

impl Violations {
    /// Returns the count.
    pub fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

/// The tasks of one phaser that signal.
#[derive(Clone, Debug, Default)]
pub struct Table {
    rows: Arc<Mutex<Vec<Row>>>,
    violations: Violations,
}

#[derive(Debug)]
struct Row {
    start: usize,
    signalled: usize,
    gone: bool,
}

impl Table {
    /// Creates the table of a phaser without tasks.
    pub fn new(violations: &Violations) -> Self {
        Self {
            rows: Arc::default(),
            violations: violations.clone(),
        }
    }

    // No access to a word of the core happens under the lock, so no scheduler stops its holder.
    fn rows(&self) -> MutexGuard<'_, Vec<Row>> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a task that owes phase `start` first; returns its row.
    pub fn enter(&self, start: usize) -> usize {
        let mut rows = self.rows();
        rows.push(Row {
            start,
            signalled: start,
            gone: false,
        });
        rows.len() - 1
    }

    /// Records that the task has signalled all phases below this one.
    pub fn signal(&self, row: usize, signalled: usize) {
        self.rows()[row].signalled = signalled;
    }

    /// Records that the task owes nothing any more.
    pub fn leave(&self, row: usize) {
        self.rows()[row].gone = true;
    }

    /// Checks a task that has left the wait of `phase`.
    ///
    /// # Panics
    /// If a task owes the signal: the order of phases is violated.
    pub fn passed(&self, phase: usize) {
        let owes = |row: &Row| row.start <= phase && !row.gone && row.signalled <= phase;
        let late = self.rows().iter().position(owes);
        if let Some(late) = late {
            self.violations.0.fetch_add(1, Ordering::Relaxed);
            panic!("a task left phase {phase}, which task {late} has not signalled");
        }
    }
}
