//! A worker: a seat of a pool, its queues, and the search of its own and of other workers' queues.
//!
//! # Words
//! `held`: set by the thread that acquires the seat, cleared by the same thread. `standby`: written
//! by the holder, read by threads that inject or bind tasks.
//!
//! # Orderings
//! | id | release side | acquire side | what becomes visible | model |
//! |---|---|---|---|---|
//! | H1 | `release` clears `held` | `acquire` sets it | what the previous holder of the seat did | `seat_handover` in `verify/tests/task.rs` |

mod blocks;
pub(super) mod help;
mod queues;
mod raid;
mod search;
mod stack;
mod stall;
mod watch;

pub use blocks::{Block, Blocks};

use super::job::Task;
use super::pool::Pool;
use super::wait::{Wait, no_unwind};
use crate::deque::Inbox;
use crate::deque::split::{End, Index, Pushed, SplitDeque};
use crate::id::WorkerId;
use crate::port::Host;
use crate::sync::{AtomicBool, Ordering};
use crate::watch::Activity;
use core::cell::Cell;
use core::ptr::{self, NonNull};
use queues::{Injected, Queue, Queues};
use stack::Stack;
use stall::Frame;

/// The number of tasks of one worker that can be in its deque. Further spawned tasks go to the
/// overflow queue, and further forks are called.
#[cfg(not(tautline_loom))]
pub(super) const SLOTS: usize = 1024;
#[cfg(tautline_loom)]
pub(super) const SLOTS: usize = 4;

/// One in this many searches of a worker that is in one wait at most begins with the pool's queue,
/// so that tasks from outside start though others never end. Inside of further waits they would
/// delay the waiting tasks.
const INJECTED_EVERY: u32 = 64;

/// One seat of a pool. The thread that holds it acts as the worker.
pub(super) struct Worker<P: Host> {
    id: WorkerId,
    tasks: SplitDeque<Task<P>, SLOTS>,
    overflow: Inbox<Task<P>>,
    held: AtomicBool,
    /// Whether the worker is on standby: parked outside of the sleep protocol of
    /// [`Idle`](super::Idle), and to be unparked only for tasks that are injected or bound to a
    /// domain.
    standby: AtomicBool,
    /// The state of the worker, for inspection.
    activity: Activity,
    /// The pool that the worker is part of. Accessed by the holder only, as are the fields below.
    pool: Cell<*const Pool<P>>,
    stack: Stack,
    /// The start of the next search for a victim.
    start: Cell<usize>,
    /// The number of searches for a task.
    finds: Cell<u32>,
    /// The wait mode of the running task, if its scope is isolated.
    isolation: Cell<Wait>,
    /// The innermost wait of a task on this worker's stack.
    waits: Cell<Option<Frame<P>>>,
    /// The port's count of unparks when the worker checked last whether all workers rest, if they
    /// did.
    pub quiet: Cell<Option<u64>>,
    /// The last inquiry that this worker has put to its tasks.
    asked: Cell<usize>,
    /// A task that is to run before any other.
    next: Cell<Option<Task<P>>>,
    /// The memory of the tasks that are spawned here.
    pub(super) blocks: Blocks,
}

// SAFETY: only the holder accesses the cells and the owner's end of the deque, and what one holder
// did happens-before the next one acquires the seat (H1). All other fields are Sync.
unsafe impl<P: Host> Sync for Worker<P> {}
// SAFETY: no field is tied to a thread while the seat is not held.
unsafe impl<P: Host> Send for Worker<P> {}

/// Restores the isolation of the worker when a task of an isolated scope ends.
pub(super) struct Isolation<'w, P: Host> {
    worker: &'w Worker<P>,
    before: Wait,
}

impl<P: Host> Drop for Isolation<'_, P> {
    fn drop(&mut self) {
        self.worker.isolation.set(self.before);
    }
}

impl<P: Host> Worker<P> {
    pub(super) fn new(id: WorkerId) -> Self {
        Self {
            id,
            tasks: SplitDeque::new(),
            overflow: Inbox::new(),
            held: AtomicBool::new(false),
            standby: AtomicBool::new(false),
            activity: Activity::new(),
            pool: Cell::new(ptr::null()),
            stack: Stack::default(),
            start: Cell::new(0),
            finds: Cell::new(0),
            isolation: Cell::new(Wait::Help),
            waits: Cell::new(None),
            quiet: Cell::new(None),
            asked: Cell::new(0),
            next: Cell::new(None),
            blocks: Blocks::new(id),
        }
    }

    /// Acquires the seat for the calling thread. Returns false if it is held.
    pub(super) fn acquire(&self, pool: &Pool<P>) -> bool {
        // ORDERING: Acquire, pairs with Release in release (H1): what the previous holder did is
        // visible. ORDERING: failure Relaxed: nothing is read.
        let (success, failure) = (Ordering::Acquire, Ordering::Relaxed);
        let held = self.held.compare_exchange(false, true, success, failure);
        if held.is_err() {
            return false;
        }
        self.pool.set(pool);
        self.measure_stack();
        true
    }

    /// Measures the stack of the calling thread, which holds the seat.
    pub(super) fn measure_stack(&self) {
        self.stack.measure(self.pool().port());
    }

    /// Releases the seat. The queues must be empty, see [`inject_all`](Self::inject_all).
    pub(super) fn release(&self) {
        // ORDERING: Release, pairs with Acquire in acquire (H1).
        self.held.store(false, Ordering::Release);
    }

    /// Returns whether the seat is held.
    pub(super) fn is_held(&self) -> bool {
        // ORDERING: Relaxed: a hint.
        self.held.load(Ordering::Relaxed)
    }

    #[inline(always)]
    pub(super) fn id(&self) -> WorkerId {
        self.id
    }

    #[inline(always)]
    pub(super) fn pool(&self) -> &Pool<P> {
        // SAFETY: set when the seat was acquired; the holder borrows the pool.
        unsafe { &*self.pool.get() }
    }

    /// Returns the owner's end of the deque. Called by the holder only.
    #[inline(always)]
    pub(super) fn own(&self) -> End<'_, Task<P>, SLOTS> {
        // SAFETY: all callers run on the holder's thread, and a seat has one holder.
        unsafe { End::of(&self.tasks) }
    }

    /// Returns whether a frame at `address` is too deep to fork.
    #[inline(always)]
    pub(super) fn is_below_floor(&self, address: usize) -> bool {
        self.stack.is_below_floor(address)
    }

    /// Calls `body` on a further piece of stack.
    ///
    /// # Panics
    /// If no memory is left for it.
    #[cold]
    pub(super) fn on_more_stack<R>(&self, body: impl FnOnce() -> R) -> R {
        let (mut body, mut result) = (Some(body), None);
        let mut once = || result = body.take().map(|body| body());
        self.stack.extend(self.pool().port(), &mut once);
        let Some(result) = result else {
            panic!("the stack is used up, and there is no memory for more of it");
        };
        result
    }

    /// Returns the wait mode that a nested `run` on this worker inherits.
    pub(super) fn isolation(&self) -> Wait {
        self.isolation.get()
    }

    /// Records that a task runs whose scope waits by `wait`, until the guard is dropped.
    #[inline]
    pub(super) fn isolate(&self, wait: Wait) -> Option<Isolation<'_, P>> {
        (wait != Wait::Help).then(|| Isolation {
            worker: self,
            before: self.isolation.replace(wait),
        })
    }

    /// Makes `task` run as soon as the running one ends or suspends.
    pub(super) fn set_next(&self, task: Task<P>) {
        if let Some(before) = self.next.replace(Some(task)) {
            self.offer(before);
        }
    }

    /// Runs the tasks that were set to run next. Returns false if there was none.
    pub(super) fn run_next(&self) -> bool {
        let mut any = false;
        while let Some(task) = self.next.take() {
            task.run_once(self, self.id);
            any = true;
        }
        any
    }

    /// Returns whether tasks are queued here or in the pool, as a hint.
    pub(super) fn has_waiting(&self) -> bool {
        Queues::has_waiting(self)
    }

    /// Returns whether a task is set to run next.
    pub(super) fn has_next(&self) -> bool {
        let next = self.next.take();
        let any = next.is_some();
        self.next.set(next);
        any
    }

    /// Moves the task that was set to run next to the queue, where a wait finds it.
    fn offer_next(&self) {
        if let Some(task) = self.next.take() {
            self.offer(task);
        }
    }

    /// Queues a task that any worker may take.
    pub(super) fn offer(&self, task: Task<P>) {
        if let Err(full) = self.own().push_public(task) {
            self.overflow.push(full.0, self.pool().port());
        }
        self.notify_offer();
    }

    /// Wakes a worker if the work that has just been offered requires it.
    #[inline]
    pub(super) fn notify_offer(&self) {
        let pool = self.pool();
        if pool.idle.wanted() {
            pool.wake(self.id);
        }
    }

    /// Pushes a fork at `index`, the owner's end. If it returns false, the caller must call
    /// [`admit_fork`](Self::admit_fork).
    #[inline(always)]
    pub(super) fn push_fork(&self, index: Index, task: Task<P>) -> bool {
        self.own().push_private(index, task, self.pool().port())
    }

    /// Makes room for the fork after the one at `index`, and publishes forks if thieves requested
    /// them. Returns false if there is none: then the fork at `index` was removed.
    pub(super) fn admit_fork(&self, index: Index) -> bool {
        let pushed = self.own().admit(index, self.pool().port());
        if pushed == Some(Pushed::Published) {
            // The fork is in the deque, and no guard protects its frame yet.
            no_unwind(|| self.notify_offer());
        }
        pushed.is_some()
    }

    /// Pops the newest task of the deque.
    fn pop(&self) -> Option<Task<P>> {
        // The deque contains forks, and no guard protects the frame of one that is being joined.
        let published = || no_unwind(|| self.notify_offer());
        self.own().pop(self.pool().port(), published)
    }

    /// Takes a task, in the order of [`Queues`], but an injected one first once in
    /// [`INJECTED_EVERY`] searches. Also returns the worker from which it was taken.
    fn find(&self) -> Option<(Task<P>, WorkerId)> {
        let finds = self.finds.get();
        self.finds.set(finds.wrapping_add(1));
        if finds % INJECTED_EVERY == INJECTED_EVERY - 1
            && self.is_outermost()
            && let Some(found) = Injected::take(self)
        {
            return Some(found);
        }
        Queues::take(self)
    }

    /// Moves the tasks in this worker's queues, which belong to other workers' scopes, to the
    /// pool's.
    pub(super) fn inject_all(&self) {
        self.offer_next();
        while let Some(task) = Queues::take_left(self) {
            self.pool().inject(task);
        }
    }

    /// Returns a pointer for a [`Cx`](super::Cx), which exists only while the seat is held.
    pub(super) fn pointer(&self) -> NonNull<Self> {
        NonNull::from(self)
    }
}
