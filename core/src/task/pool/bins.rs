//! Tasks that are bound to a domain: deques for each domain and worker.
//!
//! # Algorithm
//! Chatterjee 2013, 5.2: a worker pushes to its own deque of the domain, whether it is below that domain or not;
//! only workers below take from there. Or, the alternative named there: a domain has deques for the workers below
//! it only, and one inbox for the others ([`Outside`]). Deques are [`BucketDeque`]s, which begin small, and are made when
//! they are first pushed to. What differs: a count at each domain says whether a search is worth it.
//!
//! # Words
//! `waiting`, one a domain: raised before a task is pushed there, lowered by whoever has taken it. `deques`: set
//! once, by the worker that pushes; freed with the bins.
//!
//! # Orderings
//! | id | release side | acquire side | what becomes visible | model |
//! |---|---|---|---|---|
//! | N1 | `push` sets a deque | `steal` loads it | the empty deque | `placed_*` in `verify/tests/task.rs` |
//! | N2 | `look` changes `waiting` | `push` changes it | that the one who looked is about to sleep | `placed_*` |
//! | N3 | `push` changes `waiting` | `look` changes it | that there is a task; its push follows | `placed_*` |

use crate::deque::{BucketDeque, Inbox, Steal};
use crate::hierarchy::{Domain, Hierarchy};
use crate::port::{Host, Relax};
use crate::sync::{AtomicPtr, AtomicUsize, CachePadded, Ordering};
use crate::task::Outside;
use crate::task::job::Task;
use alloc::boxed::Box;
use core::ptr;

/// Slots in the first bucket of a deque, and buckets in its first map.
const FIRST: (usize, usize) = (16, 4);

type Deque<P> = BucketDeque<Task<P>>;

/// All tasks of a pool that are bound to domains.
pub(in crate::task) struct Bins<P: Host> {
    outside: Outside,
    domains: Box<[Bin<P>]>,
}

/// The tasks bound to one domain.
struct Bin<P: Host> {
    waiting: CachePadded<AtomicUsize>,
    /// By seat.
    deques: Box<[AtomicPtr<Deque<P>>]>,
    inbox: Inbox<Task<P>>,
}

impl<P: Host> Bins<P> {
    pub fn new(tree: &Hierarchy, seats: usize, outside: Outside) -> Self {
        // Tasks of the root are everybody's.
        let bin = |_| Bin {
            waiting: CachePadded::new(AtomicUsize::new(0)),
            deques: (0..seats)
                .map(|_| AtomicPtr::new(ptr::null_mut()))
                .collect(),
            inbox: Inbox::new(),
        };
        Self {
            outside,
            domains: tree.domains().skip(1).map(bin).collect(),
        }
    }

    fn bin(&self, domain: Domain) -> &Bin<P> {
        &self.domains[domain.0 as usize - 1]
    }

    /// Binds a task to `domain`, from a seat and whether that is below the domain, or from no seat. Only the holder of the
    /// seat.
    pub fn push(
        &self,
        domain: Domain,
        from: Option<(usize, bool)>,
        task: Task<P>,
        relax: &impl Relax,
    ) {
        let bin = self.bin(domain);
        // ORDERING: AcqRel, pairs with AcqRel in look (N2, N3).
        bin.waiting.fetch_add(1, Ordering::AcqRel);
        match from {
            Some((seat, below)) if below || self.outside == Outside::Deque => {
                let owner = bin.own(seat).owner();
                owner.expect("one holder a seat").push(task);
            }
            _ => bin.inbox.push(task, relax),
        }
    }

    /// A task bound to `domain`, for `seat`, which is below it: its own, newest first, then the others'.
    pub fn take(&self, domain: Domain, seat: usize, relax: &impl Relax) -> Option<Task<P>> {
        let bin = self.bin(domain);
        // ORDERING: Relaxed: a hint; who goes to sleep looks again.
        if bin.waiting.load(Ordering::Relaxed) == 0 {
            return None;
        }
        let task = bin.pop(seat).or_else(|| bin.inbox.pop(relax))?;
        // ORDERING: Relaxed: who sees it late searches for nothing.
        bin.waiting.fetch_sub(1, Ordering::Relaxed);
        Some(task)
    }

    /// As [`take`](Self::take), but only a `wanted` task. Others are moved to the domain's inbox, where workers that may run
    /// them look too.
    pub fn take_wanted(
        &self,
        domain: Domain,
        seat: usize,
        relax: &impl Relax,
        wanted: impl Fn(&Task<P>) -> bool,
    ) -> Option<Task<P>> {
        let bin = self.bin(domain);
        // Those that are moved stay counted.
        let deques = || {
            loop {
                match bin.pop(seat)? {
                    task if wanted(&task) => return Some(task),
                    task => bin.inbox.push(task, relax),
                }
            }
        };
        let task = bin.inbox.pop_newest(relax, &wanted).or_else(deques)?;
        // ORDERING: Relaxed: a worker that sees it late searches in vain.
        bin.waiting.fetch_sub(1, Ordering::Relaxed);
        Some(task)
    }

    /// Whether tasks are bound to `domain` that may be `wanted`, settled against every push: all but those that the inbox
    /// holds and that are not.
    ///
    /// A task that the inbox got after the count was read was announced after it, so its worker sees that this one rests.
    pub fn look_wanted(
        &self,
        domain: Domain,
        relax: &impl Relax,
        wanted: impl Fn(&Task<P>) -> bool,
    ) -> bool {
        let bin = self.bin(domain);
        // ORDERING: AcqRel, as in look (N2, N3).
        let waiting = bin.waiting.fetch_add(0, Ordering::AcqRel);
        waiting > bin.inbox.count(relax, |task| !wanted(task))
    }

    /// Whether tasks are bound to `domain`, settled against every push.
    pub fn look(&self, domain: Domain) -> bool {
        // ORDERING: AcqRel, pairs with AcqRel in push (N2, N3): whoever comes second sees what the other did before.
        self.bin(domain).waiting.fetch_add(0, Ordering::AcqRel) > 0
    }
}

impl<P: Host> Bin<P> {
    /// A task from the deques: of `seat`, which asks, the newest first, then the others'.
    fn pop(&self, seat: usize) -> Option<Task<P>> {
        let own = || self.deque(seat)?.owner()?.pop();
        let seats = self.deques.len();
        own().or_else(|| (1..seats).find_map(|d| self.rob((seat + d) % seats)))
    }

    fn deque(&self, seat: usize) -> Option<&Deque<P>> {
        // ORDERING: Acquire, pairs with Release in own (N1).
        let deque = self.deques[seat].load(Ordering::Acquire);
        // SAFETY: set once, freed with the bins.
        unsafe { deque.as_ref() }
    }

    /// The deque of a seat, made if need be. Only the holder of the seat.
    fn own(&self, seat: usize) -> &Deque<P> {
        if let Some(deque) = self.deque(seat) {
            return deque;
        }
        let deque = Box::into_raw(Box::new(Deque::with_buckets(FIRST.0, FIRST.1)));
        // ORDERING: Release, pairs with Acquire in deque (N1): it is made before it is found.
        self.deques[seat].store(deque, Ordering::Release);
        // SAFETY: from a box, just above; freed with the bins.
        unsafe { &*deque }
    }

    fn rob(&self, seat: usize) -> Option<Task<P>> {
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

impl<P: Host> Drop for Bin<P> {
    fn drop(&mut self) {
        for deque in &self.deques {
            // ORDERING: Relaxed: `&mut self` says that all other threads are done.
            let deque = deque.load(Ordering::Relaxed);
            if !deque.is_null() {
                // SAFETY: from a box, in `own`, and here only.
                drop(unsafe { Box::from_raw(deque) });
            }
        }
    }
}
