//! Queues of tasks that are bound to a domain: deques for each domain and worker.
//!
//! # Algorithm
//! Chatterjee 2013, 5.2: a worker pushes to its own deque of the domain, whether it is below that
//! domain or not; only workers below take from there. Or, the alternative named there: a domain has
//! deques for the workers below it only, and one inbox for the others ([`Outside`]). Deques are
//! [`BucketDeque`]s, which begin small, and are made when they are first pushed to. What differs: a
//! count at each domain shows whether a search can succeed.
//!
//! # Words
//! `waiting`, one per domain: incremented before a task is pushed there, decremented by the worker
//! that has taken it. `deques`: set once, by the worker that pushes; freed with the queues.
//!
//! # Orderings
//! | id | release side | acquire side | what becomes visible | model |
//! |---|---|---|---|---|
//! | Y1 | `own` sets a deque | `deque` loads it | the empty deque | `placed_*` in `verify/tests/task.rs` |
//! | Y2 | `has_tasks` changes `waiting` | `push` changes it | that the worker that checked is about to park | `placed_*`; `verify/litmus/affinity.toml` |
//! | Y3 | `push` changes `waiting` | `has_tasks` changes it | that there is a task; its push follows | `placed_*` |

use crate::deque::{BucketDeque, Inbox, Steal, Word};
use crate::hierarchy::{Domain, Hierarchy};
use crate::port::Relax;
use crate::sync::{AtomicPtr, AtomicUsize, CachePadded, Ordering};
use alloc::boxed::Box;
use core::ptr;

/// The initial sizes of a deque: slots in the first bucket, buckets in the first map.
const FIRST: (usize, usize) = (16, 4);

/// The queue of a task that is bound to a domain by a worker outside of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Outside {
    /// In a deque of the binding worker, which the domain has for every worker.
    #[default]
    Deque,
    /// In the domain's inbox: fewer deques, for programs in which such tasks are rare.
    Inbox,
}

/// The queues of all domains but the root.
pub(in crate::task) struct AffinityQueues<T: Word> {
    outside: Outside,
    domains: Box<[DomainQueues<T>]>,
}

/// The tasks bound to one domain.
struct DomainQueues<T: Word> {
    waiting: CachePadded<AtomicUsize>,
    /// By seat.
    deques: Box<[AtomicPtr<BucketDeque<T>>]>,
    inbox: Inbox<T>,
}

impl<T: Word> AffinityQueues<T> {
    pub(crate) fn new(tree: &Hierarchy, seats: usize, outside: Outside) -> Self {
        // Tasks bound to the root may run on every worker.
        let queues = |_| DomainQueues {
            waiting: CachePadded::new(AtomicUsize::new(0)),
            deques: (0..seats)
                .map(|_| AtomicPtr::new(ptr::null_mut()))
                .collect(),
            inbox: Inbox::new(),
        };
        Self {
            outside,
            domains: tree.domains().skip(1).map(queues).collect(),
        }
    }

    fn queues(&self, domain: Domain) -> &DomainQueues<T> {
        &self.domains[domain.0 as usize - 1]
    }

    /// Pushes a task that is bound to `domain`. `from` is the seat that the caller holds, if any,
    /// and whether it is below the domain.
    pub(crate) fn push(
        &self,
        domain: Domain,
        from: Option<(usize, bool)>,
        task: T,
        relax: &impl Relax,
    ) {
        let queues = self.queues(domain);
        // ORDERING: AcqRel, pairs with AcqRel in has_tasks (Y2, Y3).
        queues.waiting.fetch_add(1, Ordering::AcqRel);
        match from {
            Some((seat, below)) if below || self.outside == Outside::Deque => {
                let owner = queues.own(seat).owner();
                owner.expect("one holder per seat").push(task);
            }
            _ => queues.inbox.push(task, relax),
        }
    }

    /// Takes a task that is bound to `domain`, for `seat`, which is below it: of its own the
    /// newest, else another worker's.
    pub(crate) fn take(&self, domain: Domain, seat: usize, relax: &impl Relax) -> Option<T> {
        let queues = self.queues(domain);
        // ORDERING: Relaxed: a hint; a worker that is about to park calls has_tasks.
        if queues.waiting.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let task = queues.pop(seat).or_else(|| queues.inbox.pop(relax))?;
        // ORDERING: Relaxed: a worker that reads a stale count only searches without success.
        queues.waiting.fetch_sub(1, Ordering::Relaxed);
        Some(task)
    }

    /// As [`take`](Self::take), but takes only a `wanted` task. Other tasks are moved to the
    /// domain's inbox, from which every worker below it takes.
    pub(crate) fn take_wanted(
        &self,
        domain: Domain,
        seat: usize,
        relax: &impl Relax,
        wanted: impl Fn(&T) -> bool,
    ) -> Option<T> {
        let queues = self.queues(domain);
        // Moved tasks stay counted.
        let deques = || {
            loop {
                match queues.pop(seat)? {
                    task if wanted(&task) => return Some(task),
                    task => queues.inbox.push(task, relax),
                }
            }
        };
        let task = queues.inbox.pop_newest(relax, &wanted).or_else(deques)?;
        // ORDERING: Relaxed: a worker that reads a stale count only searches without success.
        queues.waiting.fetch_sub(1, Ordering::Relaxed);
        Some(task)
    }

    /// Returns whether `wanted` tasks may be bound to `domain`; settled against every push, as
    /// [`has_tasks`](Self::has_tasks). Ignores the unwanted tasks in the inbox only.
    ///
    /// A task that the inbox got after the count was read was announced after it, so its worker
    /// observes that this one is on standby.
    pub(crate) fn has_wanted_tasks(
        &self,
        domain: Domain,
        relax: &impl Relax,
        wanted: impl Fn(&T) -> bool,
    ) -> bool {
        let queues = self.queues(domain);
        // ORDERING: AcqRel, as in has_tasks (Y2, Y3).
        let waiting = queues.waiting.fetch_add(0, Ordering::AcqRel);
        waiting > queues.inbox.count(relax, |task| !wanted(task))
    }

    /// Returns whether tasks are bound to `domain`; settled against every push: either this returns
    /// true, or the push observes what the caller did before.
    pub(crate) fn has_tasks(&self, domain: Domain) -> bool {
        // ORDERING: AcqRel, pairs with AcqRel in push (Y2, Y3): the second of the two observes the
        // first.
        self.queues(domain).waiting.fetch_add(0, Ordering::AcqRel) > 0
    }
}

impl<T: Word> DomainQueues<T> {
    /// Takes a task from the deques: the newest of the calling `seat`, else another worker's.
    fn pop(&self, seat: usize) -> Option<T> {
        let own = || self.deque(seat)?.owner()?.pop();
        let seats = self.deques.len();
        own().or_else(|| (1..seats).find_map(|d| self.steal((seat + d) % seats)))
    }

    fn deque(&self, seat: usize) -> Option<&BucketDeque<T>> {
        // ORDERING: Acquire, pairs with Release in own (Y1).
        let deque = self.deques[seat].load(Ordering::Acquire);
        // SAFETY: set once, from a box, which is freed with the queues.
        unsafe { deque.as_ref() }
    }

    /// Returns the deque of a seat, creating it if there is none. Called by the holder of the seat
    /// only.
    fn own(&self, seat: usize) -> &BucketDeque<T> {
        if let Some(deque) = self.deque(seat) {
            return deque;
        }
        let deque = Box::into_raw(Box::new(BucketDeque::with_buckets(FIRST.0, FIRST.1)));
        // ORDERING: Release, pairs with Acquire in deque (Y1): the deque is initialized before it
        // is found.
        self.deques[seat].store(deque, Ordering::Release);
        // SAFETY: from the box above, which is freed with the queues.
        unsafe { &*deque }
    }

    fn steal(&self, seat: usize) -> Option<T> {
        let thief = self.deque(seat)?.thief();
        loop {
            match thief.steal() {
                Steal::Taken(task) => return Some(task),
                Steal::Busy => {}
                Steal::Empty => return None,
            }
        }
    }
}

impl<T: Word> Drop for DomainQueues<T> {
    fn drop(&mut self) {
        for deque in &self.deques {
            // ORDERING: Relaxed: `&mut self` implies that no other thread accesses the queues.
            let deque = deque.load(Ordering::Relaxed);
            if !deque.is_null() {
                // SAFETY: from the box in `own`, and freed only here.
                drop(unsafe { Box::from_raw(deque) });
            }
        }
    }
}
