//! The pool: the workers of one node, and the queues that they share.
//!
//! # Words
//! `closed`: set once. `wanted`: set by [`Pool::want`]. `visitors`: the number of threads outside
//! of the pool that are in [`Pool::visit`]. `scopes`: the number of scope numbers that were
//! assigned.
//!
//! # Orderings
//! | id | release side | acquire side | what becomes visible | model |
//! |---|---|---|---|---|
//! | H2 | `close` sets `closed` | `is_closed` | what happens-before the close | `pool_closed` in `verify/tests/task.rs` |
//! | H3 | `visit` decrements `visitors` | the drop of the pool | the visitor's last access | `visitor_leaves` in `verify/tests/task.rs` |

mod affinity;
mod extensions;
mod idle;
mod inspect;
mod schedule;
mod stall;
mod victims;

pub use affinity::Outside;
pub use idle::Idle;
pub use inspect::Inspection;

use super::job::{Header, Task};
use super::scope::{Scope, ScopePool};
use super::worker::Worker;
use crate::deque::Inbox;
use crate::hierarchy::{Domain, Hierarchy};
use crate::id::WorkerId;
use crate::port::Host;
use crate::sync::{AtomicBool, AtomicUsize, CachePadded, Ordering};
use crate::taper::{Sites, Slot};
use crate::watch::Site;
use affinity::AffinityQueues;
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::cell::Cell;
use core::ptr::NonNull;
use extensions::Extensions;
use stall::Stalls;
use victims::Victims;

/// The number of loops whose times are kept, 4 KiB each; no model has one.
const SITES: usize = if cfg!(any(tautline_loom, tautline_shuttle)) {
    0
} else {
    32
};

/// A scope of tasks that run in a pool.
pub(super) type TaskScope<P> = Scope<Pool<P>>;

/// The workers of one node, which run each other's tasks.
///
/// A pool starts no threads: a thread becomes a worker by acquiring a [seat](Self::with_seat).
pub struct Pool<P: Host> {
    port: P,
    workers: Box<[CachePadded<Worker<P>>]>,
    /// The memories of the node.
    tree: Hierarchy,
    /// By seat: the worker of the tree at whose leaf it is.
    positions: Box<[u32]>,
    /// By seat.
    victims: Box<[Victims]>,
    pub(super) affinity: AffinityQueues<Task<P>>,
    pub(super) idle: Idle,
    /// Tasks from threads outside of the pool, and tasks that workers have passed on.
    pub(super) injected: Inbox<Task<P>>,
    /// Workers from this number on are to be on standby.
    wanted: AtomicUsize,
    closed: AtomicBool,
    visitors: AtomicUsize,
    scopes: AtomicUsize,
    /// The times of the loops of this pool: no extension, since the search for one would be a part
    /// of the start of a small loop.
    sites: Box<[Slot]>,
    pub(super) stalls: Stalls,
    extensions: Extensions,
}

impl<P: Host> Pool<P> {
    /// Creates a pool of `workers` seats at equal distances.
    ///
    /// # Panics
    /// If `workers` is zero, or too large for half a machine word.
    pub fn new(port: P, workers: usize) -> Self {
        let tree = Hierarchy::single(workers as u32).expect("at least one worker");
        Self::on(port, tree, (0..workers as u32).collect(), Outside::Deque)
    }

    /// Creates a pool on the memories of `tree`, with one seat per element of `positions`: the
    /// worker of the tree at whose leaf the seat is. Tasks that are bound to a domain by workers
    /// outside of it are queued as `outside` determines.
    ///
    /// # Panics
    /// If there is no seat, or too many for half a machine word, or a position is not in the tree.
    pub fn on(port: P, tree: Hierarchy, positions: Vec<u32>, outside: Outside) -> Self {
        let (most, seats) = ((1 << (usize::BITS / 2 - 1)) - 1, positions.len());
        assert!((1..=most).contains(&seats), "{seats} workers: 1 to {most}");
        let worker = |w| CachePadded::new(Worker::new(WorkerId(w as u32)));
        let victims = |seat| Victims::new(&tree, &positions, seat);
        Self {
            port,
            workers: (0..seats).map(worker).collect(),
            victims: (0..seats).map(victims).collect(),
            affinity: AffinityQueues::new(&tree, seats, outside),
            tree,
            positions: positions.into(),
            idle: Idle::new(seats),
            injected: Inbox::new(),
            wanted: AtomicUsize::new(seats),
            closed: AtomicBool::new(false),
            visitors: AtomicUsize::new(0),
            scopes: AtomicUsize::new(0),
            sites: (0..SITES).map(|_| Slot::default()).collect(),
            stalls: Stalls::new(),
            extensions: Extensions::new(),
        }
    }

    /// Returns whether tasks wait that the worker of the calling thread would run next.
    pub(super) fn has_waiting(&self) -> bool {
        match self.port.current() {
            Some(worker) => self.worker(worker).has_waiting(),
            None => !self.injected.is_empty(),
        }
    }

    /// Returns the cost functions of the loops of this pool.
    pub(crate) fn sites(&self) -> Sites<'_> {
        Sites::new(&self.sites)
    }

    /// Returns the memories of the node.
    pub fn tree(&self) -> &Hierarchy {
        &self.tree
    }

    /// Returns whether the tree has only one domain.
    pub(super) fn is_flat(&self) -> bool {
        self.tree.len() == 1
    }

    /// Returns the leaf of the tree at which a worker is.
    pub fn leaf_of(&self, worker: WorkerId) -> Domain {
        self.tree.leaf_of(self.positions[worker.index()])
    }

    /// Returns the domains whose bound tasks a worker may run: from its leaf upwards, without the
    /// root.
    pub(super) fn path(&self, worker: WorkerId) -> impl Iterator<Item = Domain> {
        let path = self.tree.path(self.positions[worker.index()]);
        path.take_while(|&domain| domain != Domain::ROOT)
    }

    /// Returns the position of a worker among the leaves of the tree; 0 for other threads.
    pub(super) fn position(&self, worker: Option<WorkerId>) -> usize {
        worker.map_or(0, |worker| self.positions[worker.index()] as usize)
    }

    /// Returns the machine under the pool.
    #[inline(always)]
    pub fn port(&self) -> &P {
        &self.port
    }

    /// Returns the number of seats.
    pub fn seats(&self) -> usize {
        self.workers.len()
    }

    /// Sets the number of workers that run tasks: workers from this number on enter standby as soon
    /// as they find no work.
    pub fn want(&self, workers: usize) {
        // ORDERING: Relaxed: published by the permits below.
        self.wanted.store(workers, Ordering::Relaxed);
        self.wake_all();
    }

    /// Returns the number of workers that are to run tasks.
    pub fn wanted(&self) -> usize {
        // ORDERING: Relaxed: the number publishes nothing else.
        self.wanted.load(Ordering::Relaxed).min(self.seats())
    }

    pub(super) fn wants(&self, worker: WorkerId) -> bool {
        worker.index() < self.wanted()
    }

    /// Ends [`Seat::attend`](super::Seat::attend) of all workers.
    pub fn close(&self) {
        // ORDERING: Release, pairs with Acquire in is_closed (H2).
        self.closed.store(true, Ordering::Release);
        self.wake_all();
    }

    /// Returns whether the pool was closed.
    pub fn is_closed(&self) -> bool {
        // ORDERING: Acquire, pairs with Release in close (H2).
        self.closed.load(Ordering::Acquire)
    }

    /// Returns whether the calling worker is the only one.
    pub(super) fn has_one_worker(&self) -> bool {
        self.workers.iter().filter(|w| w.is_held()).count() == 1
    }

    #[inline(always)]
    pub(super) fn worker(&self, worker: WorkerId) -> &Worker<P> {
        &self.workers[worker.index()]
    }

    pub(super) fn workers(&self) -> &[CachePadded<Worker<P>>] {
        &self.workers
    }

    /// Returns the victims of a worker, the nearest first. Each search begins at another one of
    /// those at equal distances; `start` counts the searches.
    pub(super) fn victims(
        &self,
        worker: WorkerId,
        start: &Cell<usize>,
    ) -> impl Iterator<Item = WorkerId> {
        let turn = start.replace(start.get().wrapping_add(1));
        self.victims[worker.index()].from(turn)
    }
}

impl<P: Host> Drop for Pool<P> {
    fn drop(&mut self) {
        let mut turn = 0;
        // ORDERING: Acquire, pairs with Release in visit (H3): a visitor's task may have ended
        // before its visit.
        while self.visitors.load(Ordering::Acquire) > 0 {
            self.port.relax(turn);
            turn += 1;
        }
    }
}

// SAFETY: a pool is dropped after its seats and visits, which outlive the scopes that they keep.
unsafe impl<P: Host> ScopePool for Pool<P> {
    type Port = P;
    type Waiting = Header<P>;

    #[inline(always)]
    fn port(&self) -> &P {
        &self.port
    }

    fn new_scope_number(&self) -> usize {
        // ORDERING: Relaxed: a counter, which publishes nothing else.
        self.scopes.fetch_add(1, Ordering::Relaxed) + 1
    }

    unsafe fn claim(task: NonNull<Header<P>>) -> bool {
        // SAFETY: the caller holds the lock of the members, of which the task is one.
        unsafe { Header::claim(task) }
    }

    unsafe fn site(task: NonNull<Header<P>>) -> Site {
        // SAFETY: the caller holds the lock of the members, of which the task is one.
        unsafe { Header::waits_at(task) }
    }

    unsafe fn cancel(task: NonNull<Header<P>>) {
        // SAFETY: the caller has claimed the task, and calls this once.
        unsafe { Header::cancel(task) }
    }
}
