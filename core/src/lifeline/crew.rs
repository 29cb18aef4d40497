//! Which workers of a place are idle.
//!
//! # Words
//! `idle`: bit i is set while worker i has no work. Worker i sets its own bit when it leaves;
//! whoever has work for an idle worker clears the bit and so owns the right to start that worker.
//! The number of running workers, the stack of idle ones and "I was the last to leave" are one word,
//! so they cannot disagree.
//!
//! # Orderings
//! | id | release side | acquire side | what becomes visible | model |
//! |---|---|---|---|---|
//! | C1 | `leave` | `claim` | what the idle worker left behind | `crew_*` |
//! | C2 | `leave` | `leave` of the last | what the others set aside before they left | `crew_last_sees_all` |
//! | C3 | fence in `leave` | fence in `any_idle` | either the leaver sees the message or the sender sees the leaver idle | `crew_doorbell` |
//!
//! All models are in `verify/tests/lifeline.rs`.

use crate::id::WorkerId;
use crate::sync::{AtomicUsize, Ordering, fence};

/// The idle workers of one place, at most [`Crew::MAX`].
#[derive(Debug)]
pub struct Crew {
    idle: AtomicUsize,
    everybody: usize,
}

impl Crew {
    /// Workers that one place can have; more cores want more places.
    pub const MAX: usize = usize::BITS as usize;

    /// `workers` workers, all idle.
    ///
    /// # Panics
    /// No worker, or more than [`Crew::MAX`].
    pub fn new(workers: usize) -> Self {
        assert!(
            (1..=Self::MAX).contains(&workers),
            "{workers} workers in a place: 1 to {}",
            Self::MAX
        );
        let everybody = usize::MAX >> (Self::MAX - workers);
        Self {
            idle: AtomicUsize::new(everybody),
            everybody,
        }
    }

    /// How many workers the place has.
    pub fn size(&self) -> usize {
        self.everybody.count_ones() as usize
    }

    /// The place has more than one worker.
    #[inline]
    pub fn has_several(&self) -> bool {
        self.everybody > 1
    }

    /// How many workers had work a moment ago.
    #[inline]
    pub fn running(&self) -> usize {
        self.size() - self.idle().count_ones() as usize
    }

    /// All workers had work a moment ago.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.idle() == 0
    }

    /// No worker had work a moment ago.
    #[inline]
    pub fn is_dry(&self) -> bool {
        self.idle() == self.everybody
    }

    /// The right to start one idle worker, `first` if it is idle.
    pub fn claim(&self, first: WorkerId) -> Option<WorkerId> {
        let mut idle = self.idle();
        while idle != 0 {
            let worker = if idle & bit(first) != 0 {
                first
            } else {
                WorkerId(idle.trailing_zeros())
            };
            // ORDERING: AcqRel on success, pairs with AcqRel in leave (C1): the claimer sees what the idle
            // worker left. Relaxed on failure: only the mask is used.
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

    /// `worker` has no work left. True if it was the last that had any.
    ///
    /// A full fence follows, so that a worker which then looks at its inbox and a sender which fills
    /// that inbox and then calls [`any_idle`](Self::any_idle) cannot miss each other.
    pub fn leave(&self, worker: WorkerId) -> bool {
        // ORDERING: AcqRel, pairs with itself (C2): the last to leave sees what all others set aside; and with
        // claim (C1).
        let before = self.idle.fetch_or(bit(worker), Ordering::AcqRel);
        debug_assert_eq!(before & bit(worker), 0, "an idle worker left");
        // ORDERING: SeqCst fence, pairs with the one in any_idle (C3).
        fence(Ordering::SeqCst);
        before | bit(worker) == self.everybody
    }

    /// A worker that could be woken, if any is idle. To be called after the message is in place.
    pub fn any_idle(&self) -> Option<WorkerId> {
        // ORDERING: SeqCst fence, pairs with the one in leave (C3).
        fence(Ordering::SeqCst);
        let idle = self.idle();
        (idle != 0).then(|| WorkerId(idle.trailing_zeros()))
    }

    #[inline]
    fn idle(&self) -> usize {
        // ORDERING: Relaxed: a look; whoever acts on it does so through claim or after a fence.
        self.idle.load(Ordering::Relaxed)
    }
}

/// A thread that is not of the crew has no bit.
const fn bit(worker: WorkerId) -> usize {
    match 1usize.checked_shl(worker.0) {
        Some(bit) => bit,
        None => 0,
    }
}
