//! A finish inside one memory: one counter, and whether its owner sleeps.
//!
//! # Words
//! `live`: twice the number of live activities, the body included, plus one if the owner sleeps.
//! Spawners add, activities subtract when they end, the owner sets the last bit. While the owner
//! keeps a private count ([`reserved`](Counter::reserved)), a reserve stands for it, so that the
//! shared count never reaches zero.
//!
//! # Orderings
//! | id | release side | acquire side | what becomes visible | model |
//! |---|---|---|---|---|
//! | F1 | `end` | the `end` that reaches zero, `is_done`, `sleep` | everything every activity did | `verify/tests/finish.rs` |

use crate::sync::{AtomicUsize, Ordering};

const ONE: usize = 2;
const ASLEEP: usize = 1;
const RESERVE: usize = ONE << (usize::BITS - 2);

/// Counts live activities, the body of the finish included.
#[derive(Debug)]
pub struct Counter {
    live: AtomicUsize,
}

/// The outcome of an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum End {
    /// Another activity is live.
    More,
    /// The last one has ended; the owner is awake and will observe it. The counter may have been
    /// freed.
    Last,
    /// The last one has ended, and the owner sleeps: the caller must wake it. The counter may be
    /// freed as soon as the owner is awake.
    Wake,
}

impl Default for Counter {
    fn default() -> Self {
        Self::new()
    }
}

impl Counter {
    /// Creates a finish whose body runs, without other activities.
    #[inline(always)]
    pub fn new() -> Self {
        Self {
            live: AtomicUsize::new(ONE),
        }
    }

    /// As [`new`](Self::new), for an owner that counts the activities that it spawns and ends
    /// privately, without atomic operations, until it [`settles`](Self::settle).
    pub fn reserved() -> Self {
        Self {
            live: AtomicUsize::new(RESERVE),
        }
    }

    /// Whether all activities have ended, if the owner has spawned `own` activities more than it
    /// has ended.
    #[inline]
    pub fn would_settle(&self, own: isize) -> bool {
        // ORDERING: Acquire, pairs with AcqRel in end (F1): the owner observes what all activities
        // did.
        self.live.load(Ordering::Acquire) == Self::owed(own)
    }

    /// Ends the body and the private count of the owner, which has spawned `own` activities more
    /// than it has ended; from now on it uses the shared count. Returns true if all activities have
    /// ended. Called once, by the owner.
    pub fn settle(&self, own: isize) -> bool {
        let owed = Self::owed(own);
        // ORDERING: AcqRel, pairs with end (F1).
        self.live.fetch_sub(owed, Ordering::AcqRel) == owed
    }

    /// Returns the part of the count that stands for the owner.
    #[inline]
    fn owed(own: isize) -> usize {
        RESERVE.wrapping_sub((own as usize).wrapping_mul(ONE))
    }

    /// Registers an activity. Must be called before the activity is visible to the thread that runs
    /// it, from an activity that is itself registered and has not ended.
    #[inline]
    pub fn spawn(&self) {
        // ORDERING: Relaxed: the count cannot reach zero while the caller, itself counted, runs.
        let before = self.live.fetch_add(ONE, Ordering::Relaxed);
        debug_assert!(before >= ONE, "spawned into a finish that has ended");
    }

    /// Ends the body or one activity. Exactly one caller, the last one, gets a result other than
    /// [`End::More`]. No caller may access the finish afterwards, except the owner if it is the
    /// last one.
    #[inline]
    pub fn end(&self) -> End {
        // ORDERING: AcqRel, pairs with itself in other threads (F1): the last one to end observes
        // what all others did.
        match self.live.fetch_sub(ONE, Ordering::AcqRel) {
            before if before & !ASLEEP != ONE => {
                debug_assert!(before > ONE, "ended more often than spawned");
                End::More
            }
            ONE => End::Last,
            _ => End::Wake,
        }
    }

    /// Whether all activities have ended.
    #[inline]
    pub fn is_done(&self) -> bool {
        // ORDERING: Acquire, pairs with AcqRel in end (F1): the owner observes what all activities
        // did.
        self.live.load(Ordering::Acquire) < ONE
    }

    /// Announces that the owner is about to sleep: the last activity to end will return
    /// [`End::Wake`]. Returns false if all have ended already. Called by the owner only; holds
    /// until the finish is dropped.
    pub fn sleep(&self) -> bool {
        // ORDERING: Acquire, pairs with AcqRel in end (F1), if that precedes; otherwise that one
        // observes the bit.
        self.live.fetch_or(ASLEEP, Ordering::Acquire) >= ONE
    }
}
