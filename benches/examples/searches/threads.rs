//! Ranks of several workers and no thread for messages: the workers share a queue of chunks under a
//! lock, and whichever of them polls or is out of work calls MPI, under a second lock
//! (MPI_THREAD_SERIALIZED).

use crate::account::Account;
use crate::ring::Ring;
use crate::walk::Walk;
use crate::{Found, Pace};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard};
use tautline_cli::uts::{Counts, Tree};

/// State shared by the workers of a rank.
struct Shared<'t, W> {
    tree: &'t Tree,
    pace: Pace,
    workers: usize,
    ring: Mutex<Ring>,
    queue: Mutex<Queue<W>>,
    /// The chunks of the queue, read without its lock.
    chunks: AtomicUsize,
    has_ended: AtomicBool,
}

struct Queue<W> {
    chunks: VecDeque<W>,
    /// Workers without work.
    idle: usize,
}

/// Searches the tree, of which this rank begins with `walk`.
pub(crate) fn run<W: Walk>(walk: W, tree: &Tree, pace: Pace, workers: usize) -> Found {
    let queue = Queue {
        chunks: VecDeque::from([walk]),
        idle: workers,
    };
    let shared = Shared {
        tree,
        pace,
        workers,
        ring: Mutex::new(Ring::new()),
        queue: Mutex::new(queue),
        chunks: AtomicUsize::new(1),
        has_ended: AtomicBool::new(false),
    };
    let mut found = Found::default();
    std::thread::scope(|scope| {
        let others = (1..workers).map(|_| scope.spawn(|| shared.work()));
        let others: Vec<_> = others.collect();
        let own = shared.work();
        let all = others.into_iter().map(|other| other.join());
        for (counts, account) in all.map(|done| done.expect("workers do not panic")) {
            found.counts.add(&counts);
            found.account.add(&account);
        }
        found.counts.add(&own.0);
        found.account.add(&own.1);
    });
    let mut ring = locked(&shared.ring);
    ring.leave();
    (found.asked, found.failed) = (ring.asked, ring.failed);
    found
}

impl<W: Walk> Shared<'_, W> {
    /// The body of a worker.
    fn work(&self) -> (Counts, Account) {
        let (mut walk, mut account) = (W::empty(), Account::default());
        while account.search(|| self.next(&mut walk)) {
            while walk.held() > 0 {
                walk.explore(self.pace.interval, self.tree);
                account.beside(|| {
                    self.release(&mut walk);
                    if let Ok(mut ring) = self.ring.try_lock() {
                        self.poll(&mut ring);
                    }
                });
            }
            locked(&self.queue).idle += 1;
        }
        (walk.counts(), account)
    }

    /// Shares a chunk, as long as there are fewer than workers.
    fn release(&self, walk: &mut W) {
        // ORDERING: Relaxed: a hint; the queue has a lock.
        let chunks = self.chunks.load(Ordering::Relaxed);
        if chunks < self.workers && walk.held() > 2 * self.pace.chunk {
            let chunk = walk.release(self.pace.chunk);
            self.push(chunk);
        }
    }

    fn push(&self, chunk: W) {
        let mut queue = locked(&self.queue);
        queue.chunks.push_back(chunk);
        // ORDERING: Relaxed: as above.
        self.chunks.store(queue.chunks.len(), Ordering::Relaxed);
    }

    /// The oldest chunk.
    fn pop(&self, queue: &mut Queue<W>) -> Option<W> {
        let chunk = queue.chunks.pop_front();
        // ORDERING: Relaxed: as above.
        self.chunks.store(queue.chunks.len(), Ordering::Relaxed);
        chunk
    }

    /// Answers thieves from the queue, which a received chunk joins.
    fn poll(&self, ring: &mut Ring) {
        let give = || self.pop(&mut locked(&self.queue)).map(W::encode);
        if let Some(chunk) = ring.poll(give) {
            self.push(W::decode(&chunk));
        }
    }

    /// Waits for work; false if the search has ended.
    fn next(&self, walk: &mut W) -> bool {
        loop {
            {
                let mut queue = locked(&self.queue);
                if let Some(chunk) = self.pop(&mut queue) {
                    queue.idle -= 1;
                    walk.accept(chunk);
                    return true;
                }
            }
            // ORDERING: Relaxed: nothing is read behind it but what a lock protects.
            if self.has_ended.load(Ordering::Relaxed) {
                return false;
            }
            let Ok(mut ring) = self.ring.try_lock() else {
                std::thread::yield_now();
                continue;
            };
            self.poll(&mut ring);
            let (is_empty, is_passive) = {
                let queue = locked(&self.queue);
                let is_empty = queue.chunks.is_empty();
                (is_empty, is_empty && queue.idle == self.workers)
            };
            if is_empty {
                ring.search(is_passive);
            }
            let ended = ring.has_ended() && is_passive;
            // ORDERING: Relaxed: as above.
            self.has_ended.fetch_or(ended, Ordering::Relaxed);
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("no worker panics")
}
