//! Work set aside by the workers of a place: for each other, or for other places.
//!
//! A worker that is alone at its place and serves messages itself sets nothing aside for other
//! places: it divides its bag on request. That is later, and so better, than Finnerty's reserve,
//! which is used wherever another thread may have to answer. A worker takes half of the reserve,
//! not all: otherwise every take empties it, and the split/merge rule of [`grain`](crate::grain)
//! has nothing to count.
//!
//! # Words
//! `pile`: under its lock; never processed in place. `empty`: written under the lock, read without
//! it: a hint that costs a worker one plain load per turn. Two feeders that both read true both
//! feed, which is harmless; Finnerty's grain tuner measures its frequency, by the traffic
//! counted under the lock.
//!
//! # Orderings
//! | id | release side | acquire side | what becomes visible | model |
//! |---|---|---|---|---|
//! | R1 | `feed` | `is_empty` | nothing: the lock (lock.L1) carries the pile | `reserve_*` in `verify/tests/lifeline.rs` |

use crate::port::Relax;
use crate::sync::{AtomicBool, Lock, Ordering};

/// A pile of work under a lock, with a hint whether it is empty. Source: Finnerty 2022, intra-bag
/// and inter-bag.
#[derive(Debug)]
pub struct Reserve<B> {
    empty: AtomicBool,
    pile: Lock<Pile<B>>,
}

/// The counters of a reserve.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "wire", derive(serde::Serialize, serde::Deserialize))]
pub struct Traffic {
    /// Times that work was added.
    pub fed: u64,
    /// Times that work was taken.
    pub split: u64,
    /// Times that this left it empty.
    pub emptied: u64,
}

#[derive(Debug)]
struct Pile<B> {
    work: Option<B>,
    traffic: Traffic,
}

impl<B> Default for Reserve<B> {
    fn default() -> Self {
        Self::new()
    }
}

impl<B> Reserve<B> {
    /// Creates an empty reserve.
    pub fn new() -> Self {
        Self {
            empty: AtomicBool::new(true),
            pile: Lock::new(Pile {
                work: None,
                traffic: Traffic::default(),
            }),
        }
    }

    /// Whether the reserve was empty recently; a hint.
    #[inline]
    pub fn is_empty(&self) -> bool {
        // ORDERING: Relaxed, a hint (R1): callers that act on it take the lock.
        self.empty.load(Ordering::Relaxed)
    }

    /// Adds `work`; `merge` adds it to the existing work.
    ///
    /// ```
    /// # use tautline_core::{lifeline::Reserve, port::Spin};
    /// let reserve = Reserve::new();
    /// reserve.feed(vec![1, 2, 3, 4], |all, more| all.extend(more), &Spin);
    /// assert!(!reserve.is_empty());
    /// ```
    pub fn feed(&self, work: B, merge: impl FnOnce(&mut B, B), relax: &impl Relax) {
        let mut pile = self.pile.lock(relax);
        match &mut pile.work {
            Some(there) => merge(there, work),
            none => *none = Some(work),
        }
        pile.traffic.fed += 1;
        // ORDERING: Relaxed, under the lock (R1): the flag follows the pile.
        self.empty.store(false, Ordering::Relaxed);
    }

    /// Takes the work that `part` removes from the pile, and leaves the rest; takes everything if
    /// it removes nothing. Checks under the lock, regardless of the hint.
    ///
    /// ```
    /// # use tautline_core::{lifeline::Reserve, port::Spin};
    /// let reserve = Reserve::new();
    /// reserve.feed(vec![1, 2, 3, 4], |all, more| all.extend(more), &Spin);
    /// let half = reserve.take(|all| Some(all.split_off(2)), &Spin);
    /// assert_eq!(half, Some(vec![3, 4]));
    /// ```
    pub fn take(&self, part: impl FnOnce(&mut B) -> Option<B>, relax: &impl Relax) -> Option<B> {
        let mut pile = self.pile.lock(relax);
        let portion = part(pile.work.as_mut()?).or_else(|| pile.work.take());
        let is_empty = pile.work.is_none();
        pile.traffic.split += 1;
        pile.traffic.emptied += u64::from(is_empty);
        // ORDERING: Relaxed, under the lock (R1): the flag follows the pile.
        self.empty.store(is_empty, Ordering::Relaxed);
        portion
    }

    /// Returns the counters so far.
    ///
    /// ```
    /// # use tautline_core::{lifeline::Reserve, port::Spin};
    /// let reserve = Reserve::new();
    /// reserve.feed(vec![1, 2, 3, 4], |all, more| all.extend(more), &Spin);
    /// let traffic = reserve.traffic(&Spin);
    /// println!("{traffic:?}");
    /// ```
    pub fn traffic(&self, relax: &impl Relax) -> Traffic {
        self.pile.lock(relax).traffic
    }

    /// Returns the remaining work and the traffic of a reserve that is no longer in use.
    pub fn into_inner(self) -> (Option<B>, Traffic) {
        let Pile { work, traffic } = self.pile.into_inner();
        (work, traffic)
    }
}
