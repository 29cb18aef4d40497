//! Who has signalled what, as the programs themselves say.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How often somebody left a phase that others had not signalled.
#[derive(Clone, Debug, Default)]
pub struct Violations(Arc<AtomicUsize>);

impl Violations {
    /// So many.
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
    /// Of a phaser without tasks.
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

    /// A task that owes phase `start` first; its number.
    pub fn enter(&self, start: usize) -> usize {
        let mut rows = self.rows();
        rows.push(Row {
            start,
            signalled: start,
            gone: false,
        });
        rows.len() - 1
    }

    /// It has signalled all phases below this one.
    pub fn signal(&self, row: usize, signalled: usize) {
        self.rows()[row].signalled = signalled;
    }

    /// It owes nothing any more.
    pub fn leave(&self, row: usize) {
        self.rows()[row].gone = true;
    }

    /// Somebody has left the wait of `phase`.
    ///
    /// # Panics
    /// If a task owes the signal: the order of phases is broken.
    pub fn passed(&self, phase: usize) {
        let owes = |row: &Row| row.start <= phase && !row.gone && row.signalled <= phase;
        let late = self.rows().iter().position(owes);
        if let Some(late) = late {
            self.violations.0.fetch_add(1, Ordering::Relaxed);
            panic!("phase {phase} was left, which task {late} has not signalled");
        }
    }
}
