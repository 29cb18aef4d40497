//! The pool: all workers of one node, and the way in.

use super::Cx;
use super::idle::Idle;
use super::job::Task;
use super::worker::Worker;
use crate::deque::Inbox;
use crate::id::{PlaceId, WorkerId};
use crate::port::Host;
use crate::sync::{AtomicBool, AtomicUsize, CachePadded, Ordering};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::cell::Cell;
use core::ptr::NonNull;

/// The workers of one node, who run each other's tasks.
///
/// It starts no threads: whoever wants to be a worker takes a [`Seat`].
pub struct Pool<P: Host> {
    port: P,
    workers: Box<[CachePadded<Worker<P>>]>,
    /// By worker: whom it robs, nearest first, twice over, so that any place is a start.
    victims: Box<[Box<[WorkerId]>]>,
    pub(super) idle: Idle,
    /// Tasks from threads that are no workers.
    pub(super) injected: Inbox<Task<P>>,
    /// Workers from this number on rest.
    wanted: AtomicUsize,
    closed: AtomicBool,
    /// Threads from outside that are bringing a task in.
    visitors: AtomicUsize,
}

impl<P: Host> Pool<P> {
    /// A pool of `workers` seats.
    ///
    /// # Panics
    /// No worker, or more than half a machine word can count.
    pub fn new(port: P, workers: usize) -> Self {
        let most = (1 << (usize::BITS / 2 - 1)) - 1;
        assert!(
            (1..=most).contains(&workers),
            "{workers} workers: 1 to {most}"
        );
        let id = |w: usize| WorkerId(w as u32);
        let victims = (0..workers).map(|me| {
            let others: Vec<_> = (1..workers).map(|d| id((me + d) % workers)).collect();
            [&others[..], &others[..]].concat().into()
        });
        Self {
            port,
            workers: (0..workers)
                .map(|w| CachePadded::new(Worker::new(id(w))))
                .collect(),
            victims: victims.collect(),
            idle: Idle::new(workers),
            injected: Inbox::new(),
            wanted: AtomicUsize::new(workers),
            closed: AtomicBool::new(false),
            visitors: AtomicUsize::new(0),
        }
    }

    /// The machine under the pool.
    #[inline(always)]
    pub fn port(&self) -> &P {
        &self.port
    }

    /// How many seats there are.
    pub fn seats(&self) -> usize {
        self.workers.len()
    }

    /// Takes a seat for the calling thread, if nobody holds it.
    pub fn seat(&self, worker: WorkerId) -> Option<Seat<'_, P>> {
        let worker = self.workers.get(worker.index())?;
        worker.hold(self).then(|| {
            let before = self.port.here();
            self.port.be(Some(worker.id()));
            Seat { worker, before }
        })
    }

    /// Lets workers from number `workers` on rest as soon as they have nothing to do, or work again.
    pub fn want(&self, workers: usize) {
        // ORDERING: Relaxed: the permits that follow carry it.
        self.wanted.store(workers, Ordering::Relaxed);
        self.wake_all();
    }

    /// How many workers shall work.
    pub fn wanted(&self) -> usize {
        // ORDERING: Relaxed: a number on its own.
        self.wanted.load(Ordering::Relaxed).min(self.seats())
    }

    pub(super) fn wants(&self, worker: WorkerId) -> bool {
        worker.index() < self.wanted()
    }

    /// Ends [`Seat::attend`] of all workers.
    pub fn close(&self) {
        // ORDERING: Release, pairs with Acquire in is_closed: what led to the end is seen.
        self.closed.store(true, Ordering::Release);
        self.wake_all();
    }

    /// The pool has been closed.
    pub fn is_closed(&self) -> bool {
        // ORDERING: Acquire, pairs with Release in close.
        self.closed.load(Ordering::Acquire)
    }

    fn wake_all(&self) {
        for worker in &self.workers {
            self.idle.claim(worker.id());
            self.port.unpark(PlaceId::HOME, worker.id());
        }
    }

    #[inline(always)]
    pub(super) fn worker(&self, worker: WorkerId) -> &Worker<P> {
        &self.workers[worker.index()]
    }

    pub(super) fn workers(&self) -> &[CachePadded<Worker<P>>] {
        &self.workers
    }

    /// Whom that worker robs, in order, each search beginning elsewhere.
    pub(super) fn victims(&self, worker: WorkerId, start: &Cell<usize>) -> &[WorkerId] {
        let order = &self.victims[worker.index()];
        let others = order.len() / 2;
        if others == 0 {
            return &[];
        }
        let first = start.get() % others;
        start.set(first + 1);
        &order[first..first + others]
    }

    /// Wakes the nearest sleeper, if there is one.
    #[cold]
    pub(super) fn wake(&self, near: WorkerId) {
        let order = &self.victims[near.index()];
        for &worker in &order[..order.len() / 2] {
            if self.idle.claim(worker) {
                self.port.unpark(PlaceId::HOME, worker);
                return;
            }
        }
    }

    /// Puts a task where the calling thread's are, so that it runs next if that thread is a worker.
    pub(super) fn schedule(&self, task: Task<P>) {
        match self.port.here() {
            Some(worker) => self.worker(worker).offer(task),
            None => self.inject(task),
        }
    }

    /// As [`schedule`](Self::schedule), but the task runs as soon as the one that is at work here ends or suspends.
    pub(super) fn schedule_next(task: Task<P>) {
        let pool = NonNull::from(task.scope().pool());
        // SAFETY: the task keeps the pool.
        let pool = unsafe { pool.as_ref() };
        match pool.port.here() {
            Some(worker) => pool.worker(worker).set_next(task),
            None => pool.inject(task),
        }
    }

    /// Brings a task in from any thread. The task is what keeps the pool alive until then.
    pub(super) fn inject(&self, task: Task<P>) {
        // ORDERING: Relaxed: the lock of the queue carries it to whoever runs the task and then lets the pool go.
        self.visitors.fetch_add(1, Ordering::Relaxed);
        self.injected.push(task, &self.port);
        if self.idle.wanted() {
            self.wake_any();
        }
        // ORDERING: Release, pairs with Acquire in drop: the visitor's last touch.
        self.visitors.fetch_sub(1, Ordering::Release);
    }

    fn wake_any(&self) {
        let claimed = |w: &&CachePadded<Worker<P>>| self.idle.claim(w.id());
        if let Some(worker) = self.workers.iter().find(claimed) {
            self.port.unpark(PlaceId::HOME, worker.id());
        }
    }
}

impl<P: Host> Drop for Pool<P> {
    fn drop(&mut self) {
        let mut turn = 0;
        // ORDERING: Acquire, pairs with Release in inject: a visitor's task may have ended before its visit.
        while self.visitors.load(Ordering::Acquire) > 0 {
            self.port.relax(turn);
            turn += 1;
        }
    }
}

/// A thread's place among the workers of a pool; dropping it gives it up.
pub struct Seat<'p, P: Host> {
    worker: &'p Worker<P>,
    /// What the thread was before.
    before: Option<WorkerId>,
}

impl<P: Host> Seat<'_, P> {
    /// Works for the others until the pool is closed or wants fewer workers.
    pub fn attend(&self) {
        self.worker.attend();
    }

    /// Runs `body` as a task of its own, and returns when it and all that it spawned have ended.
    ///
    /// # Panics
    /// With the first panic of `body` or of a task.
    pub fn run<'e, R>(&self, body: impl for<'s> FnOnce(&mut Cx<'s, 'e, P>) -> R) -> R {
        self.worker.settle();
        Cx::enter(self.worker, body)
    }
}

impl<P: Host> Drop for Seat<'_, P> {
    fn drop(&mut self) {
        self.worker.pool().port().be(self.before);
        self.worker.leave();
    }
}
