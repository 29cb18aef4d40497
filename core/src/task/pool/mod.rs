//! The pool: all workers of one node, and the way in.

mod bins;
mod idle;

pub use idle::Idle;

use super::job::Task;
use super::worker::Worker;
use super::{Cx, Outside};
use crate::deque::Inbox;
use crate::hierarchy::{Domain, Hierarchy};
use crate::id::WorkerId;
use crate::phaser;
use crate::port::Host;
use crate::sync::{AtomicBool, AtomicUsize, CachePadded, Ordering};
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use bins::Bins;
use core::cell::Cell;
use core::marker::PhantomData;
use core::ptr::NonNull;

/// Victims that are equally far, group by group.
type Groups = Box<[Box<[WorkerId]>]>;

/// The workers of one node, who run each other's tasks.
///
/// It starts no threads: a thread becomes a worker by taking a [seat](Self::with_seat).
pub struct Pool<P: Host> {
    port: P,
    workers: Box<[CachePadded<Worker<P>>]>,
    /// The memories of the node, and which of the tree's workers a seat is.
    tree: Hierarchy,
    stands: Box<[u32]>,
    /// By seat: whom it robs, the nearest first, in groups that are equally far, each twice over, so that any place is a
    /// start.
    victims: Box<[Groups]>,
    pub(super) bins: Bins<P>,
    pub(super) idle: Idle,
    /// Tasks from threads that are no workers.
    pub(super) injected: Inbox<Task<P>>,
    /// Workers from this number on rest.
    wanted: AtomicUsize,
    closed: AtomicBool,
    /// Threads from outside that are bringing a task in.
    visitors: AtomicUsize,
    /// How phasers of tasks are built.
    phasers: phaser::Config,
    /// Scopes with phasers so far.
    phased: AtomicUsize,
}

/// Whom a seat robs, in groups that are equally far.
fn victims(tree: &Hierarchy, stands: &[u32], me: usize) -> Groups {
    let mut groups: BTreeMap<u32, Vec<WorkerId>> = BTreeMap::new();
    for other in (1..stands.len()).map(|d| (me + d) % stands.len()) {
        let distance = tree.distance(stands[me], stands[other]);
        groups
            .entry(distance)
            .or_default()
            .push(WorkerId(other as u32));
    }
    let twice = |group: Vec<WorkerId>| [&group[..], &group[..]].concat().into();
    groups.into_values().map(twice).collect()
}

impl<P: Host> Pool<P> {
    /// A pool of `workers` seats, all equally near.
    ///
    /// # Panics
    /// No worker, or more than half a machine word can count.
    pub fn new(port: P, workers: usize) -> Self {
        let tree = Hierarchy::single(workers as u32).expect("at least one worker");
        Self::on(port, tree, (0..workers as u32).collect(), Outside::Deque)
    }

    /// A pool on the memories of `tree`: each seat stands where the worker of the tree does that `stands` gives for it.
    /// Tasks that are bound to a place from outside it are kept as `outside` says.
    ///
    /// # Panics
    /// No seat, or more than half a machine word can count; a worker that is not in the tree.
    pub fn on(port: P, tree: Hierarchy, stands: Vec<u32>, outside: Outside) -> Self {
        let (most, seats) = ((1 << (usize::BITS / 2 - 1)) - 1, stands.len());
        assert!((1..=most).contains(&seats), "{seats} workers: 1 to {most}");
        let worker = |w| CachePadded::new(Worker::new(WorkerId(w as u32)));
        Self {
            port,
            workers: (0..seats).map(worker).collect(),
            victims: (0..seats).map(|w| victims(&tree, &stands, w)).collect(),
            bins: Bins::new(&tree, seats, outside),
            tree,
            stands: stands.into(),
            idle: Idle::new(seats),
            injected: Inbox::new(),
            wanted: AtomicUsize::new(seats),
            closed: AtomicBool::new(false),
            visitors: AtomicUsize::new(0),
            phasers: phaser::Config::default(),
            phased: AtomicUsize::new(0),
        }
    }

    /// Phasers of tasks are built so, unless they are asked for otherwise.
    #[must_use]
    pub fn with_phasers(mut self, phasers: phaser::Config) -> Self {
        self.phasers = phasers;
        self
    }

    /// A number for a scope, from 1.
    pub(super) fn number_scope(&self) -> usize {
        // ORDERING: Relaxed: a count.
        self.phased.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// How phasers of tasks are built.
    pub fn phasers(&self) -> phaser::Config {
        self.phasers
    }

    /// The memories of the node.
    pub fn tree(&self) -> &Hierarchy {
        &self.tree
    }

    /// Whether the tree has one place only.
    pub(super) fn is_flat(&self) -> bool {
        self.tree.len() == 1
    }

    /// The place of the tree that a worker hangs on.
    pub fn leaf_of(&self, worker: WorkerId) -> Domain {
        self.tree.leaf_of(self.stands[worker.index()])
    }

    /// Where a worker looks for tasks that are bound to a place, its leaf first, without the root, whose tasks are
    /// everybody's.
    pub(super) fn path(&self, worker: WorkerId) -> impl Iterator<Item = Domain> {
        let path = self.tree.path(self.stands[worker.index()]);
        path.take_while(|&place| place != Domain::ROOT)
    }

    fn is_below(&self, worker: WorkerId, place: Domain) -> bool {
        self.tree
            .subtree(place)
            .contains(&self.stands[worker.index()])
    }

    /// Binds a task to a place: only workers below it will run it.
    pub(super) fn bind(&self, place: Domain, task: Task<P>) {
        if place == Domain::ROOT {
            return Self::schedule(task);
        }
        let bind = |pool: &Self| {
            let here = pool.port.current();
            let from = here.map(|w| (w.index(), pool.is_below(w, place)));
            pool.bins.push(place, from, task, &pool.port);
            pool.wake_below(place);
            let below = pool.workers.iter().filter(|w| pool.is_below(w.id(), place));
            for worker in below.filter(|w| w.is_apart()) {
                pool.port.unpark(worker.id());
            }
        };
        // SAFETY: the caller borrows the pool for longer.
        unsafe { Self::visit(NonNull::from(self), bind) };
    }

    fn wake_below(&self, place: Domain) {
        let mut below = self.workers.iter().filter(|w| self.is_below(w.id(), place));
        if let Some(worker) = below.find(|w| self.idle.claim(w.id())) {
            self.port.unpark(worker.id());
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

    /// Calls `body` with the seat of that worker, which the calling thread holds until `body` has returned. `None`, and
    /// `body` is dropped, if there is no such seat, another thread holds it, or the calling thread has one in this pool.
    ///
    /// A seat is lent, never given. A task that runs on it cannot give it up:
    /// ```compile_fail,E0507
    /// # use tautline_core::{WorkerId, port::Host, task::Pool};
    /// fn f<P: Host>(pool: &Pool<P>) {
    ///     pool.with_seat(WorkerId(0), |seat| seat.run(|_| drop(*seat)));
    /// }
    /// ```
    /// It cannot be forgotten,
    /// ```compile_fail,E0507
    /// # use tautline_core::{WorkerId, port::Host, task::Pool};
    /// fn f<P: Host>(pool: &Pool<P>) {
    ///     pool.with_seat(WorkerId(0), |seat| std::mem::forget(*seat));
    /// }
    /// ```
    /// nor kept longer than one that the thread took after it,
    /// ```compile_fail,E0521
    /// # use tautline_core::{WorkerId, port::Host, task::Pool};
    /// fn f<P: Host>(pool: &Pool<P>, other: &Pool<P>) {
    ///     let mut kept = None;
    ///     other.with_seat(WorkerId(0), |_| pool.with_seat(WorkerId(0), |seat| kept = Some(seat)));
    /// }
    /// ```
    /// nor used by another thread:
    /// ```compile_fail,E0277
    /// # use tautline_core::{WorkerId, port::Host, task::Pool};
    /// fn f<P: Host>(pool: &Pool<P>) {
    ///     pool.with_seat(WorkerId(0), |seat| {
    ///         std::thread::scope(|s| _ = s.spawn(|| seat.run(|_| ())));
    ///     });
    /// }
    /// ```
    /// The pool stays where it is meanwhile:
    /// ```compile_fail,E0505
    /// # use tautline_core::{WorkerId, port::Host, task::Pool};
    /// fn f<P: Host>(pool: Pool<P>) {
    ///     pool.with_seat(WorkerId(0), |seat| seat.run(|_| drop(pool)));
    /// }
    /// ```
    /// The same without the mistakes is accepted:
    /// ```
    /// # use tautline_core::{WorkerId, port::Host, task::Pool};
    /// fn f<P: Host>(pool: Pool<P>) {
    ///     let ran = pool.with_seat(WorkerId(0), |seat| seat.run(|cx| cx.join(|_| 1, |_| 2)));
    ///     assert_eq!(ran, Some((1, 2)));
    ///     drop(pool);
    /// }
    /// ```
    pub fn with_seat<R>(
        &self,
        worker: WorkerId,
        body: impl FnOnce(&Seat<'_, P>) -> R,
    ) -> Option<R> {
        let worker = self.workers.get(worker.index())?;
        let free = self.port.current().is_none() && worker.hold(self);
        free.then(|| {
            // SAFETY: the calling thread holds the seat, until its drop below has told the port.
            unsafe { self.port.set_current(Some(worker.id())) };
            body(&Seat {
                worker,
                one_thread: PhantomData,
            })
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
            self.port.unpark(worker.id());
        }
    }

    /// Whether the worker that asks is the only one.
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

    /// Whom that worker robs, the nearest first, each search beginning elsewhere among equals.
    pub(super) fn victims(
        &self,
        worker: WorkerId,
        start: &Cell<usize>,
    ) -> impl Iterator<Item = WorkerId> {
        let turn = start.replace(start.get().wrapping_add(1));
        self.victims[worker.index()].iter().flat_map(move |group| {
            let size = group.len() / 2;
            let first = turn % size;
            group[first..first + size].iter().copied()
        })
    }

    /// Wakes the nearest sleeper, if there is one.
    #[cold]
    pub(super) fn wake(&self, near: WorkerId) {
        let order = self.victims[near.index()].iter();
        let mut others = order.flat_map(|group| &group[..group.len() / 2]);
        if let Some(&worker) = others.find(|w| self.idle.claim(**w)) {
            self.port.unpark(worker);
        }
    }

    /// Gives a task away: to the worker that the calling thread is, by `own`, or else to all.
    fn give(task: Task<P>, own: impl FnOnce(&Worker<P>, Task<P>)) {
        let pool = NonNull::from(task.scope().pool());
        // SAFETY: the task keeps the pool until it is given away.
        let here = unsafe { pool.as_ref() }.port.current();
        match here {
            // SAFETY: that worker's seat keeps the pool, also after that.
            Some(worker) => own(unsafe { pool.as_ref() }.worker(worker), task),
            // SAFETY: the task keeps the pool.
            None => unsafe { Self::bring(pool, task) },
        }
    }

    /// Puts a task where the calling thread's are, so that it runs next if that thread is a worker.
    pub(super) fn schedule(task: Task<P>) {
        Self::give(task, Worker::offer);
    }

    /// As [`schedule`](Self::schedule), but behind all others: the task is a future that was woken while it ran. What follows a
    /// fork is not behind them.
    pub(super) fn schedule_last(task: Task<P>) {
        Self::give(task, |worker, task| {
            if worker.has_next() {
                worker.offer(task);
            } else {
                worker.pool().inject(task);
            }
        });
    }

    /// As [`schedule`](Self::schedule), but the task runs as soon as the one that is at work here ends or suspends.
    pub(super) fn schedule_next(task: Task<P>) {
        Self::give(task, Worker::set_next);
    }

    /// Gives a task to all.
    pub(super) fn inject(&self, task: Task<P>) {
        // SAFETY: the caller borrows the pool for longer.
        unsafe { Self::bring(NonNull::from(self), task) };
    }

    /// Brings a task in from any thread.
    ///
    /// # Safety
    /// As [`visit`](Self::visit).
    unsafe fn bring(pool: NonNull<Self>, task: Task<P>) {
        let bring = |pool: &Self| {
            pool.injected.push(task, &pool.port);
            if pool.idle.wanted() {
                pool.wake_any();
            }
            // It may be what one of them waits for, and the others may be busy for long.
            for worker in pool.workers.iter().filter(|w| w.is_apart()) {
                pool.port.unpark(worker.id());
            }
        };
        // SAFETY: promised by the caller.
        unsafe { Self::visit(pool, bring) };
    }

    /// Does what may end the last task that keeps the pool, and still needs the pool then.
    ///
    /// # Safety
    /// As [`visit`](Self::visit).
    pub(super) unsafe fn keep(pool: NonNull<Self>, act: impl FnOnce()) {
        // SAFETY: promised by the caller.
        let here = unsafe { pool.as_ref() }.port.current();
        match here {
            // A worker's seat keeps it.
            Some(_) => act(),
            // SAFETY: promised by the caller.
            None => unsafe { Self::visit(pool, |_| act()) },
        }
    }

    /// Does what gives a task away, and still needs the pool then: until it is given, the task is what keeps the pool. After
    /// the visit the pool may be gone, hence no `&self`, which would claim that it is there until this returns.
    ///
    /// # Safety
    /// The caller must have a task or a share of a scope that keeps the pool until `give` gives it away, or keep the pool for
    /// longer.
    unsafe fn visit(pool: NonNull<Self>, give: impl FnOnce(&Self)) {
        // SAFETY: kept by what the caller has, and from here on until the visit ends by the drop, which waits for it.
        let visitors = unsafe { &(*pool.as_ptr()).visitors };
        // ORDERING: Relaxed: the queue carries it to whoever runs the task and then lets the pool go.
        visitors.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the visit keeps it.
        give(unsafe { pool.as_ref() });
        // ORDERING: Release, pairs with Acquire in drop: the visitor's last touch.
        visitors.fetch_sub(1, Ordering::Release);
    }

    fn wake_any(&self) {
        let claimed = |w: &&CachePadded<Worker<P>>| self.idle.claim(w.id());
        if let Some(worker) = self.workers.iter().find(claimed) {
            self.port.unpark(worker.id());
        }
    }
}

impl<P: Host> Drop for Pool<P> {
    fn drop(&mut self) {
        let mut turn = 0;
        // ORDERING: Acquire, pairs with Release in visit: a visitor's task may have ended before its visit.
        while self.visitors.load(Ordering::Acquire) > 0 {
            self.port.relax(turn);
            turn += 1;
        }
    }
}

impl<P: Host> Pool<P> {
    /// Runs `body` as a scope of its own inside the task that is at work on the calling thread, isolated if that task is,
    /// and returns when it and all that it spawned have ended.
    ///
    /// # Errors
    /// The calling thread is no worker of this pool: `body`.
    ///
    /// # Panics
    /// With the first panic of `body` or of a task.
    pub fn run_inside<'e, R, B>(&self, body: B) -> Result<R, B>
    where
        B: for<'s> FnOnce(&mut Cx<'s, 'e, P>) -> R,
    {
        match self.port.current() {
            Some(worker) => Ok(Cx::enter(self.worker(worker), body)),
            None => Err(body),
        }
    }
}

/// A thread's place among the workers of a pool, lent by [`Pool::with_seat`].
///
/// It stays on its thread.
///
/// ```compile_fail,E0277
/// fn sent<T: Send>() {}
/// fn any<P: tautline_core::port::Host>() {
///     sent::<tautline_core::task::Seat<'static, P>>();
/// }
/// ```
pub struct Seat<'p, P: Host> {
    worker: &'p Worker<P>,
    one_thread: PhantomData<*mut ()>,
}

impl<P: Host> Seat<'_, P> {
    /// Works for the others until the pool is closed; rests while it wants fewer workers.
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
        self.worker.hand_over();
        // SAFETY: the calling thread holds this seat, and gives it up next.
        unsafe { self.worker.pool().port().set_current(None) };
        self.worker.leave();
    }
}
