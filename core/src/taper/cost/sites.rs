//! The cost functions of a program's loops, by call site.
//!
//! # Algorithm
//! A table of fixed capacity: a key may be in four slots, and takes its own, or a free one, or the
//! first that is not in use. The search reads the keys only. A lookup tries the lock of one slot
//! and never waits: of two executions of a loop at a time, one uses the cost function and the other
//! runs without. The lock is held for a whole execution, whose parts share the slot.
//!
//! # Words
//! `key`: 0 if the slot is free; written by the holder of the slot's lock. All accesses are
//! relaxed: without the lock, the key is a hint.

use super::function::{CostFunction, Samples};
use crate::sync::{AtomicUsize, Guard, Lock, Ordering};

/// Slots in which a key may be.
const WINDOW: usize = 4;

#[cfg(not(any(tautline_loom, tautline_shuttle)))]
const _: () = assert!(size_of::<Slot>() <= 4096, "a call site takes 4 KiB");

/// The history of one call site.
#[derive(Debug)]
pub struct Site {
    /// The times of earlier executions.
    pub cost: CostFunction,
    /// The samples of this execution.
    pub samples: Lock<Samples>,
    /// The number of executions of about this many iterations that were begun.
    pub runs: u32,
    /// Iterations with which the next execution begins to search for the size of a block; 0 before
    /// there was one.
    pub tried: u64,
}

impl Default for Site {
    fn default() -> Self {
        Self {
            cost: CostFunction::default(),
            samples: Lock::new(Samples::default()),
            runs: 0,
            tried: 0,
        }
    }
}

impl Site {
    /// Prepares for an execution of `n` iterations, the first one if earlier ones do not compare.
    pub fn prepare(&mut self, n: u64) {
        if self.cost.prepare(n) {
            self.runs = 1;
        }
    }
}

/// A place for one call site.
#[derive(Debug)]
pub struct Slot {
    key: AtomicUsize,
    site: Lock<Site>,
}

impl Default for Slot {
    fn default() -> Self {
        Self {
            key: AtomicUsize::new(0),
            site: Lock::new(Site::default()),
        }
    }
}

/// The call sites of one pool, in lent memory.
///
/// ```
/// # use tautline_core::taper::{Sites, Slot};
/// let slots: [Slot; 4] = Default::default();
/// let sites = Sites::new(&slots);
/// let site = sites.get(7).expect("no other execution");
/// assert!(sites.get(7).is_none(), "in use");
/// assert!(sites.get(8).is_some());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Sites<'a>(&'a [Slot]);

impl<'a> Sites<'a> {
    /// Creates a table of as many call sites as there are slots.
    pub const fn new(slots: &'a [Slot]) -> Self {
        Self(slots)
    }

    /// Returns the slot of `key`, unless another execution uses it, or all slots where it may be.
    /// The key 0 has no slot.
    pub fn get(self, key: usize) -> Option<Guard<'a, Site>> {
        if self.0.is_empty() || key == 0 {
            return None;
        }
        // Fibonacci hashing (Knuth 1973, 6.4).
        let first = (key.wrapping_mul(0x9e37_79b9) >> 16) % self.0.len();
        let window = || (first..first + WINDOW).map(|at| &self.0[at % self.0.len()]);
        for slot in window() {
            // ORDERING: Relaxed: a hint; another read under the lock decides.
            let found = slot.key.load(Ordering::Relaxed);
            if found == key || found == 0 {
                // A free slot in use is maybe becoming this key's.
                return slot.site.try_lock().map(|site| slot.assign(key, site));
            }
        }
        let (slot, site) = window().find_map(|slot| Some((slot, slot.site.try_lock()?)))?;
        Some(slot.assign(key, site))
    }
}

impl Slot {
    /// Begins an execution of the loop `key`, and forgets another one's times.
    fn assign<'a>(&'a self, key: usize, mut site: Guard<'a, Site>) -> Guard<'a, Site> {
        // ORDERING: Relaxed: written only under the lock, which this thread holds.
        if self.key.load(Ordering::Relaxed) != key {
            // ORDERING: Relaxed: as the load above.
            self.key.store(key, Ordering::Relaxed);
            *site = Site::default();
        }
        site.runs = site.runs.wrapping_add(1);
        site
    }
}
