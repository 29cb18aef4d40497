//! One of the harts, as the parts that run on all of them see it.

use crate::Chip;
use core::sync::atomic::{AtomicUsize, Ordering};
use tautline_core::WorkerId;
use tautline_core::port::{Clock, Park, Relax, Unpark};

const NS_A_TICK: u64 = 100;

/// The number of times that a hart has come to the common barrier.
static MET: AtomicUsize = AtomicUsize::new(0);

/// One of the harts.
#[derive(Clone, Copy)]
pub struct Hart<'c> {
    /// The ports.
    pub chip: &'c Chip,
    /// The number of the hart, and that of its worker.
    pub hart: usize,
}

impl Hart<'_> {
    /// Returns the worker that a hart is here.
    pub fn worker(self, hart: usize) -> WorkerId {
        WorkerId(hart as u32)
    }

    /// Returns the duration of `body`.
    pub fn time_ns(self, body: impl FnOnce()) -> u64 {
        let start = self.chip.now();
        body();
        NS_A_TICK * (self.chip.now() - start)
    }

    /// Sleeps until awoken.
    pub fn suspend(self) {
        self.chip.park(self.worker(self.hart));
    }

    /// Awakes a hart.
    pub fn awake(self, worker: WorkerId) {
        self.chip.unpark(worker);
    }

    /// Waits until `done` returns true.
    pub fn wait(self, done: impl Fn() -> bool) {
        let mut turn = 0;
        while !done() {
            self.chip.relax(turn);
            turn += 1;
        }
    }

    /// Waits until all harts have come here.
    pub fn meet(self) {
        let harts = self.chip.harts();
        let all = MET.fetch_add(1, Ordering::AcqRel) / harts * harts + harts;
        self.wait(|| MET.load(Ordering::Acquire) >= all);
    }
}
