//! The sleep protocol: which workers search for work and which are parked, without lost and with
//! few spurious wake-ups.
//!
//! # Algorithm
//! A thread that offers work wakes a sleeper only if no worker is searching. The last searcher that
//! finds work wakes the next sleeper, and a searcher that stops searching announces its sleep
//! *before* it checks every queue once more. The final check and the offer are read-modify-writes
//! of one word, the queue's, so at least one side observes the other.
//!
//! # Words
//! `count`: the number of sleepers in the upper half, of searchers in the lower. `state`, one per
//! worker: `ASLEEP` is set by the worker that announces its sleep, `CLAIMED` by the thread that
//! claims the right to wake it, which may be the worker itself. The claimer moves the worker from
//! the sleepers to the searchers and then sets `AWAKE`. The worker must not continue before that: a
//! searcher that is not counted could not detect that it is the last one.
//!
//! # Orderings
//! | id | release side | acquire side | what becomes visible | model |
//! |---|---|---|---|---|
//! | Q1 | `announce_sleep` | `claim` | what the sleeper did before | `sleep_*` in `verify/tests/task.rs` |
//! | Q2 | `SplitDeque::look`, or the lock of a queue, after `announce_sleep` | the offer in that queue, before `wanted` | the announcement of the sleep | `sleep_*` |
//! | Q3 | `claim` sets `AWAKE` | `is_asleep` | that the worker is counted as a searcher, and what the claimer did | `sleep_*` |
//! | Q4 | `announce_sleep` changes `count` | `found` changes it | the state of the sleepers that it counts | `sleep_chain` |

use crate::id::WorkerId;
use crate::sync::{AtomicUsize, CachePadded, Ordering};
use alloc::boxed::Box;

const SLEEPER: usize = 1 << (usize::BITS / 2);
const SEARCHER: usize = 1;
const SEARCHERS: usize = SLEEPER - 1;

const AWAKE: usize = 0;
const ASLEEP: usize = 1;
const CLAIMED: usize = 2;

/// The idle workers of a pool.
#[derive(Debug)]
pub struct Idle {
    count: CachePadded<AtomicUsize>,
    state: Box<[CachePadded<AtomicUsize>]>,
}

impl Idle {
    /// Creates the state of `workers` workers, all of which are running.
    pub fn new(workers: usize) -> Self {
        Self {
            count: CachePadded::new(AtomicUsize::new(0)),
            state: (0..workers)
                .map(|_| CachePadded::new(AtomicUsize::new(AWAKE)))
                .collect(),
        }
    }

    /// Counts a worker as a searcher.
    pub fn search(&self) {
        // ORDERING: Relaxed: a thread that sees it late causes a spurious wake-up.
        self.count.fetch_add(SEARCHER, Ordering::Relaxed);
    }

    /// Ends the search of a worker. Returns true if it was the last searcher and a worker sleeps:
    /// then the caller must [`claim`](Self::claim) a sleeper and wake it.
    #[must_use]
    pub fn found(&self) -> bool {
        // ORDERING: Acquire, pairs with Release in announce_sleep (Q4): the sleepers that are
        // counted can be claimed. Every write of the count is a read-modify-write, so later ones
        // continue each release.
        let before = self.count.fetch_sub(SEARCHER, Ordering::Acquire);
        before & SEARCHERS == SEARCHER && before >= SLEEPER
    }

    /// Makes a searcher a sleeper. It must check every queue once more before it parks.
    pub fn announce_sleep(&self, worker: WorkerId) {
        // ORDERING: Release, pairs with Acquire in claim (Q1).
        self.state[worker.index()].store(ASLEEP, Ordering::Release);
        // ORDERING: Release, pairs with Acquire in found (Q4); an offer observes it by the check
        // that follows (Q2).
        self.count.fetch_add(SLEEPER - SEARCHER, Ordering::Release);
    }

    /// Returns whether the worker must stay parked: it was not claimed yet, or its claimer has not
    /// finished.
    pub fn is_asleep(&self, worker: WorkerId) -> bool {
        // ORDERING: Acquire, pairs with Release in claim (Q3).
        self.state[worker.index()].load(Ordering::Acquire) != AWAKE
    }

    /// Returns whether a sleeper must be woken. Called after an offer of work.
    #[inline]
    pub fn wanted(&self) -> bool {
        // ORDERING: Relaxed: the AcqRel of the offer precedes it (Q2).
        let count = self.count.load(Ordering::Relaxed);
        count >= SLEEPER && count & SEARCHERS == 0
    }

    /// Makes a sleeper a searcher. A caller that gets true must unpark it, unless it is the sleeper
    /// itself.
    pub fn claim(&self, worker: WorkerId) -> bool {
        // ORDERING: Acquire, pairs with Release in announce_sleep (Q1).
        // ORDERING: failure Relaxed: nothing is read.
        let (success, failure) = (Ordering::Acquire, Ordering::Relaxed);
        let state = &self.state[worker.index()];
        // ORDERING: Relaxed: a thread that must find the sleeper has observed its announcement (Q2,
        // Q4). Saves others the exchange.
        if state.load(Ordering::Relaxed) != ASLEEP {
            return false;
        }
        let claimed = state.compare_exchange(ASLEEP, CLAIMED, success, failure);
        if claimed.is_ok() {
            // ORDERING: Relaxed: a thread that sees it late causes a spurious wake-up; the worker
            // observes it (Q3).
            self.count.fetch_sub(SLEEPER - SEARCHER, Ordering::Relaxed);
            // ORDERING: Release, pairs with Acquire in is_asleep (Q3).
            state.store(AWAKE, Ordering::Release);
        }
        claimed.is_ok()
    }
}
