//! Work set aside by the workers of a place: for each other, or for other places.
//!
//! # Words
//! `pile`: under its lock; never processed where it lies. `empty`: written under the lock, read
//! without it: a hint that costs a worker one plain load a turn. Two feeders that both read true
//! both feed, which is harmless; Finnerty's grain tuner measures how often it happens.
//!
//! # Orderings
//! | id | release side | acquire side | what becomes visible | model |
//! |---|---|---|---|---|
//! | R1 | `feed` | `is_empty` | nothing: the lock (L1) carries the pile | `reserve_*` in `verify/tests/lifeline.rs` |

use crate::port::Relax;
use crate::sync::{AtomicBool, Lock, Ordering};

/// A pile of work under a lock, with a flag that says whether a look is worth while.
/// Source: Finnerty 2022, intra-bag and inter-bag.
#[derive(Debug)]
pub struct Reserve<B> {
    empty: AtomicBool,
    pile: Lock<Option<B>>,
}

impl<B> Default for Reserve<B> {
    fn default() -> Self {
        Self::new()
    }
}

impl<B> Reserve<B> {
    /// An empty reserve.
    pub fn new() -> Self {
        Self {
            empty: AtomicBool::new(true),
            pile: Lock::new(None),
        }
    }

    /// Whether the reserve looked empty a moment ago.
    #[inline]
    pub fn is_empty(&self) -> bool {
        // ORDERING: Relaxed, a hint (R1): whoever acts on it takes the lock.
        self.empty.load(Ordering::Relaxed)
    }

    /// Adds `work`; `merge` puts it on top of what is there.
    pub fn feed(&self, work: B, merge: impl FnOnce(&mut B, B), relax: &impl Relax) {
        let mut pile = self.pile.lock(relax);
        match &mut *pile {
            Some(there) => merge(there, work),
            None => *pile = Some(work),
        }
        // ORDERING: Relaxed, under the lock (R1): the flag follows the pile.
        self.empty.store(false, Ordering::Relaxed);
    }

    /// Takes everything. Looks under the lock even if the flag says empty.
    pub fn take(&self, relax: &impl Relax) -> Option<B> {
        let mut pile = self.pile.lock(relax);
        let work = pile.take();
        // ORDERING: Relaxed, under the lock (R1): the flag follows the pile.
        self.empty.store(true, Ordering::Relaxed);
        work
    }

    /// Takes what `part` removes from the pile, leaving the rest: one thief's portion.
    pub fn take_part(
        &self,
        part: impl FnOnce(&mut B) -> Option<B>,
        relax: &impl Relax,
    ) -> Option<B> {
        let mut pile = self.pile.lock(relax);
        let portion = part(pile.as_mut()?).or_else(|| pile.take());
        // ORDERING: Relaxed, under the lock (R1): the flag follows the pile.
        self.empty.store(pile.is_none(), Ordering::Relaxed);
        portion
    }

    /// What is left when nobody uses the reserve any more.
    pub fn into_inner(self) -> Option<B> {
        self.pile.into_inner()
    }
}
