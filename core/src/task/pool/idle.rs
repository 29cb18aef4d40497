//! Which workers look for work and which sleep, so that no work is left to nobody and nobody is woken for nothing.
//!
//! # Algorithm
//! Whoever offers work wakes a sleeper only if nobody is searching: a searcher that finds work and was the last
//! one wakes the next, and one that gives up announces its sleep *before* it looks at every queue once more.
//! The last look and the offer are changes of one word, the queue's, so one of the two sees the other.
//!
//! # Words
//! `count`: the number of sleepers in the upper half, of searchers in the lower. `state`, one a worker: `ASLEEP`
//! is set by the worker that lies down, `CLAIMED` by whoever claims the right to wake it, itself included; the
//! claimer moves it from the sleepers to the searchers and then sets `AWAKE`. Before that the worker must not go
//! on: a searcher that is not counted as one would not know that it is the last.
//!
//! # Orderings
//! | id | release side | acquire side | what becomes visible | model |
//! |---|---|---|---|---|
//! | W1 | `lie_down` | `claim` | what the sleeper did before | `sleep_*` in `verify/tests/task.rs` |
//! | W2 | `SplitDeque::look`, or the lock of a queue, after `lie_down` | the offer in that queue, before `wanted` | the announcement of the sleep | `sleep_*` |
//! | W3 | `claim` sets `AWAKE` | `is_asleep` | that the worker counts as a searcher, and what the claimer did | `sleep_*` |
//! | W4 | `lie_down` changes `count` | `found` changes it | the state of the sleepers that it counts | `sleep_chain` |

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
    /// `workers` workers, all at work.
    pub fn new(workers: usize) -> Self {
        Self {
            count: CachePadded::new(AtomicUsize::new(0)),
            state: (0..workers)
                .map(|_| CachePadded::new(AtomicUsize::new(AWAKE)))
                .collect(),
        }
    }

    /// A worker has nothing to do and begins to search.
    pub fn search(&self) {
        // ORDERING: Relaxed: who sees it late wakes somebody for nothing.
        self.count.fetch_add(SEARCHER, Ordering::Relaxed);
    }

    /// A searcher has something else to do now. True if nobody searches any more while somebody sleeps:
    /// then it must [`claim`](Self::claim) a sleeper and wake it.
    #[must_use]
    pub fn found(&self) -> bool {
        // ORDERING: Acquire, pairs with Release in lie_down (W4): the sleepers that are counted can be claimed. Every write of
        // the count is a read-modify-write, so each stays visible through those after it.
        let before = self.count.fetch_sub(SEARCHER, Ordering::Acquire);
        before & SEARCHERS == SEARCHER && before >= SLEEPER
    }

    /// A searcher lies down. It must look at every queue once more before it sleeps.
    pub fn lie_down(&self, worker: WorkerId) {
        // ORDERING: Release, pairs with Acquire in claim (W1).
        self.state[worker.index()].store(ASLEEP, Ordering::Release);
        // ORDERING: Release, pairs with Acquire in found (W4); an offer sees it by the look that follows (W2).
        self.count.fetch_add(SLEEPER - SEARCHER, Ordering::Release);
    }

    /// Whether the worker has to stay where it is: nobody has claimed it yet, or the one who did is about to wake it.
    pub fn is_asleep(&self, worker: WorkerId) -> bool {
        // ORDERING: Acquire, pairs with Release in claim (W3).
        self.state[worker.index()].load(Ordering::Acquire) != AWAKE
    }

    /// Whether work just offered needs a sleeper to be woken. After the offer.
    #[inline]
    pub fn wanted(&self) -> bool {
        // ORDERING: Relaxed: the offer's own AcqRel came before (W2).
        let count = self.count.load(Ordering::Relaxed);
        count >= SLEEPER && count & SEARCHERS == 0
    }

    /// Makes a sleeper a searcher. The one who gets true owes it a wake-up, unless it is the sleeper itself.
    pub fn claim(&self, worker: WorkerId) -> bool {
        // ORDERING: Acquire, pairs with Release in lie_down (W1).
        // ORDERING: failure Relaxed: nothing is done.
        let (yes, no) = (Ordering::Acquire, Ordering::Relaxed);
        let state = &self.state[worker.index()];
        // ORDERING: Relaxed: a thread that must find the sleeper has seen it lie down (W2, W4). Spares others the exchange.
        if state.load(Ordering::Relaxed) != ASLEEP {
            return false;
        }
        let mine = state.compare_exchange(ASLEEP, CLAIMED, yes, no).is_ok();
        if mine {
            // ORDERING: Relaxed: who sees it late wakes somebody for nothing; the worker itself sees it (W3).
            self.count.fetch_sub(SLEEPER - SEARCHER, Ordering::Relaxed);
            // ORDERING: Release, pairs with Acquire in is_asleep (W3).
            state.store(AWAKE, Ordering::Release);
        }
        mine
    }
}
