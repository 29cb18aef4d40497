//! The set of idle workers of a place.
//!
//! # Words
//! `idle`: bit i is set while worker i has no work. Worker i sets its own bit when it leaves; a
//! thread that has work for an idle worker clears the bit and thereby owns the right to start it.
//! The number of running workers, the idle ones and whether a leaving worker is the last are read
//! from one word, so they are consistent.
//!
//! # Orderings
//! | id | release side | acquire side | what becomes visible | model |
//! |---|---|---|---|---|
//! | C1 | `leave` | `claim` | what the idle worker wrote before | `crew_*` |
//! | C2 | `leave` | `leave` of the last | what the other workers fed before they left | `crew_last_sees_all` |
//! | C3 | fence in `leave` | fence in `any_idle` | either the leaver sees the message or the sender sees the leaver idle | `crew_doorbell` |
//!
//! All models are in `verify/tests/lifeline.rs`, and litmus tests in `verify/litmus/crew.toml`.

use crate::id::WorkerId;
use crate::sync::{AtomicUsize, Ordering, fence};

/// The idle workers of one place, at most [`Crew::MAX`].
#[derive(Debug)]
pub struct Crew {
    idle: AtomicUsize,
    all: usize,
}

impl Crew {
    /// The maximum number of workers of a place; a machine with more cores requires more places.
    pub const MAX: usize = usize::BITS as usize;

    /// Returns a crew of `workers` workers, all idle.
    ///
    /// # Panics
    /// No worker, or more than [`Crew::MAX`].
    pub fn new(workers: usize) -> Self {
        assert!(
            (1..=Self::MAX).contains(&workers),
            "{workers} workers in a place: 1 to {}",
            Self::MAX
        );
        let all = usize::MAX >> (Self::MAX - workers);
        Self {
            idle: AtomicUsize::new(all),
            all,
        }
    }

    /// Returns the number of workers of the place.
    pub fn size(&self) -> usize {
        self.all.count_ones() as usize
    }

    /// Whether the place has more than one worker.
    #[inline]
    pub fn has_several(&self) -> bool {
        self.all > 1
    }

    /// Returns the number of workers with work; a hint, as all of these.
    ///
    /// ```
    /// # use tautline_core::{WorkerId, lifeline::Crew};
    /// let crew = Crew::new(2);
    /// crew.claim(WorkerId(0));
    /// assert_eq!((crew.running(), crew.size()), (1, 2));
    /// ```
    #[inline]
    pub fn running(&self) -> usize {
        self.size() - self.idle().count_ones() as usize
    }

    /// Whether all workers have work.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.idle() == 0
    }

    /// Whether all workers are idle.
    #[inline]
    pub fn is_dry(&self) -> bool {
        self.idle() == self.all
    }

    /// Claims the right to start an idle worker, preferably `first`.
    ///
    /// ```
    /// # use tautline_core::{WorkerId, lifeline::Crew};
    /// let crew = Crew::new(2);
    /// assert_eq!(crew.claim(WorkerId(1)), Some(WorkerId(1)));
    /// assert_eq!(crew.claim(WorkerId(1)), Some(WorkerId(0))); // the other one
    /// assert_eq!(crew.claim(WorkerId(1)), None);
    /// ```
    pub fn claim(&self, first: WorkerId) -> Option<WorkerId> {
        let mut idle = self.idle();
        while idle != 0 {
            let worker = if idle & bit(first) != 0 {
                first
            } else {
                WorkerId(idle.trailing_zeros())
            };
            // ORDERING: AcqRel on success, pairs with AcqRel in leave (C1): the claimer sees what
            // the idle worker left. Relaxed on failure: only the mask is used.
            match self.idle.compare_exchange_weak(
                idle,
                idle & !bit(worker),
                Ordering::AcqRel,
                Ordering::Relaxed,
            ) {
                Ok(_) => return Some(worker),
                Err(now) => idle = now,
            }
        }
        None
    }

    /// Marks `worker` as idle; returns whether it was the last one with work.
    ///
    /// A full fence follows: of a worker that then polls its inbox, and a sender that fills the
    /// inbox and then calls [`any_idle`](Self::any_idle), at least one observes the other.
    ///
    /// ```
    /// # use tautline_core::{WorkerId, lifeline::Crew};
    /// let crew = Crew::new(2);
    /// crew.claim(WorkerId(0));
    /// assert!(crew.leave(WorkerId(0))); // the last one
    /// ```
    pub fn leave(&self, worker: WorkerId) -> bool {
        // ORDERING: AcqRel, pairs with itself (C2): the last to leave sees what all others set
        // aside; and with claim (C1).
        let before = self.idle.fetch_or(bit(worker), Ordering::AcqRel);
        debug_assert_eq!(before & bit(worker), 0, "an idle worker left");
        // ORDERING: SeqCst fence, pairs with the one in any_idle (C3).
        fence(Ordering::SeqCst);
        before | bit(worker) == self.all
    }

    /// Returns an idle worker that could be woken. Must be called after the message is stored.
    pub fn any_idle(&self) -> Option<WorkerId> {
        // ORDERING: SeqCst fence, pairs with the one in leave (C3).
        fence(Ordering::SeqCst);
        let idle = self.idle();
        (idle != 0).then(|| WorkerId(idle.trailing_zeros()))
    }

    #[inline]
    fn idle(&self) -> usize {
        // ORDERING: Relaxed: a hint; callers act on it through claim or after a fence.
        self.idle.load(Ordering::Relaxed)
    }
}

/// Returns the bit of `worker`, or 0 for a thread that is not part of the crew.
const fn bit(worker: WorkerId) -> usize {
    match 1usize.checked_shl(worker.0) {
        Some(bit) => bit,
        None => 0,
    }
}
