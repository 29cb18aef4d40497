//! A finish inside one memory: one count, and whether its owner sleeps.
//!
//! # Words
//! `live`: twice the number of the body and every activity started and not yet ended, plus one if the owner
//! sleeps. Spawners add, enders subtract, the owner sets the last bit. While the owner keeps a count of its own
//! ([`reserved`](Counter::reserved)), a reserve stands for it, so that the others' count never gets to zero.
//!
//! # Orderings
//! | id | release side | acquire side | what becomes visible | model |
//! |---|---|---|---|---|
//! | F1 | `end` | the `end` that reaches zero, `is_done`, `sleep` | everything every activity did | `verify/tests/finish.rs` |

use crate::sync::{AtomicUsize, Ordering};

const ONE: usize = 2;
const ASLEEP: usize = 1;
const RESERVE: usize = ONE << (usize::BITS - 2);

/// Counts what is under way, the body of the finish included.
#[derive(Debug)]
pub struct Counter {
    live: AtomicUsize,
}

/// What an end was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum End {
    /// Something is still under way.
    More,
    /// The last; the owner is awake and will see it. The counter may be gone by now.
    Last,
    /// The last, and the owner sleeps: wake it. The counter may be gone as soon as the owner is awake.
    Wake,
}

impl Default for Counter {
    fn default() -> Self {
        Self::new()
    }
}

impl Counter {
    /// A finish whose body runs and that has started nothing yet.
    #[inline(always)]
    pub fn new() -> Self {
        Self {
            live: AtomicUsize::new(ONE),
        }
    }

    /// As [`new`](Self::new), for an owner that counts what it spawns and ends itself, without the cost of an atomic, until
    /// it [`settles`](Self::settle).
    pub fn reserved() -> Self {
        Self {
            live: AtomicUsize::new(RESERVE),
        }
    }

    /// Whether everything has ended, if the owner has spawned `own` activities more than it has ended.
    #[inline]
    pub fn would_settle(&self, own: isize) -> bool {
        // ORDERING: Acquire, pairs with AcqRel in end (F1): the owner sees what all activities did.
        self.live.load(Ordering::Acquire) == Self::owed(own)
    }

    /// The body has ended, and the owner has spawned `own` activities more than it has ended; from now on it counts as all
    /// do. True if everything has ended. The owner, once.
    pub fn settle(&self, own: isize) -> bool {
        let owed = Self::owed(own);
        // ORDERING: AcqRel, pairs with end (F1).
        self.live.fetch_sub(owed, Ordering::AcqRel) == owed
    }

    /// What the reserve is still there for.
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

    /// The body or one activity has ended. Not [`End::More`] for exactly one caller: the last. Any other
    /// caller, and the last one too unless it is the owner, must not touch the finish afterwards.
    #[inline]
    pub fn end(&self) -> End {
        // ORDERING: AcqRel, pairs with itself in other threads (F1): the last to end sees what all others did.
        match self.live.fetch_sub(ONE, Ordering::AcqRel) {
            before if before & !ASLEEP != ONE => {
                debug_assert!(before > ONE, "ended more often than spawned");
                End::More
            }
            ONE => End::Last,
            _ => End::Wake,
        }
    }

    /// Everything has ended.
    #[inline]
    pub fn is_done(&self) -> bool {
        // ORDERING: Acquire, pairs with AcqRel in end (F1): the owner sees what all activities did.
        self.live.load(Ordering::Acquire) < ONE
    }

    /// The owner is about to sleep until it is done: the last to end will be told. False if everything has
    /// ended already. Stands until the finish is dropped. The owner only.
    pub fn sleep(&self) -> bool {
        // ORDERING: Acquire, pairs with AcqRel in end (F1), if that came first; if not, that one sees the bit.
        self.live.fetch_or(ASLEEP, Ordering::Acquire) >= ONE
    }
}
