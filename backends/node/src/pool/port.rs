//! The threads of this process as the host of a pool.

use super::{Idle, StallWatch, Stalling, Watched, Watcher};
use crate::arch;
use crate::fence;
use crate::park::Parker;
use crate::process::{abandon, generation};
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::mem::ManuallyDrop;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use tautline_core::WorkerId;
use tautline_core::port::{Clock, Fence, Park, Relax, Thread, Unpark, Unwind, Watch};
use tautline_core::watch::{Passage, Stall, State};

/// A worker of the pool of a certain port, identified by number: an address may be reused.
type Post = (u64, WorkerId);

thread_local! {
    /// The worker that this thread is.
    static HERE: Cell<Option<Post>> = const { Cell::new(None) };
    /// The workers that it is besides, in outer tasks. Without a destructor, so that those of other
    /// values may enter a pool; the memory is freed when it is empty.
    static OUTSIDE: ManuallyDrop<RefCell<Vec<Post>>> =
        const { ManuallyDrop::new(RefCell::new(Vec::new())) };
}

/// Changes the workers that the calling thread is in outer tasks.
fn change_outside<R>(change: impl FnOnce(&mut Vec<Post>) -> R) -> R {
    OUTSIDE.with(|outside| {
        let mut outside = outside.borrow_mut();
        let changed = change(&mut outside);
        if outside.is_empty() {
            *outside = Vec::new();
        }
        changed
    })
}

/// One node: threads that park, panics that unwind, stacks that grow.
#[derive(Debug)]
pub struct Node {
    number: u64,
    parkers: Box<[Parker]>,
    origin: Instant,
    /// Turns of a wait before it yields the processor.
    spins: u32,
    watcher: Option<Watcher>,
    stalls: Option<StallWatch>,
    idle: Option<Idle>,
    /// The limit of a wait of each worker before it is checked, in nanoseconds; 0: it has none.
    limits_ns: Box<[AtomicU64]>,
    /// Whether a deadlock was reported; only the first one is.
    has_reported: AtomicBool,
    /// The process of its workers.
    generation: u64,
}

impl Node {
    /// A port for `workers` workers.
    pub(super) fn new(workers: usize, watcher: Option<Watcher>) -> Self {
        static NODES: AtomicU64 = AtomicU64::new(0);
        Self {
            // ORDERING: Relaxed: only the uniqueness of the number matters.
            number: NODES.fetch_add(1, Ordering::Relaxed),
            parkers: (0..workers).map(|_| Parker::default()).collect(),
            origin: Instant::now(),
            spins: arch::spins(),
            watcher,
            stalls: None,
            idle: None,
            limits_ns: (0..workers).map(|_| AtomicU64::new(0)).collect(),
            has_reported: AtomicBool::new(false),
            generation: generation(),
        }
    }

    /// Has waits checked that do not end.
    pub(super) fn with_stalls(mut self, stalls: Option<StallWatch>) -> Self {
        self.stalls = stalls;
        self
    }

    /// Gives workers something to do that have found no task.
    pub(super) fn with_idle(mut self, idle: Option<Idle>) -> Self {
        self.idle = idle;
        self
    }

    /// Leaves that to others, as a worker sleeps.
    fn leave(&self) {
        if let Some(idle) = &self.idle {
            (idle.leave)();
        }
    }

    /// Limits the waits of a thread that becomes this worker.
    fn limit_waits(&self, worker: WorkerId) {
        // ORDERING: Relaxed: a worker that misses it checks its waits once more.
        if let Some(watch) = self
            .stalls
            .as_ref()
            .filter(|_| !self.has_reported.load(Ordering::Relaxed))
        {
            let limit = watch.limit.as_nanos() as u64;
            // ORDERING: Relaxed: the number publishes nothing else.
            self.limits_ns[worker.index()].store(limit, Ordering::Relaxed);
        }
    }

    /// Lets the worker of the calling thread check its waits half as often.
    fn check_more_rarely(&self) {
        if let Some(worker) = self.current() {
            let limit = &self.limits_ns[worker.index()];
            // ORDERING: Relaxed: the number publishes nothing else; an end of the checks in between
            // must not be lost.
            _ = limit.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |limit| {
                Some(limit.saturating_mul(2))
            });
        }
    }
}

/// Whether the calling thread is a worker of some pool.
pub(super) fn is_worker() -> bool {
    HERE.get().is_some()
}

impl Clock for Node {
    fn now(&self) -> u64 {
        self.origin.elapsed().as_nanos() as u64
    }
}

// SAFETY: where it returns true, the heavy fence makes each thread of the process execute a full
// fence between two instructions of its program, so that a light fence need only prevent reordering
// by the compiler; or both are full fences.
unsafe impl Fence for Node {
    #[inline(always)]
    fn light_fence(&self) {
        fence::light();
    }

    fn heavy_fence(&self) -> bool {
        fence::heavy()
    }
}

impl Relax for Node {
    fn relax(&self, turn: u32) {
        if turn < self.spins {
            arch::pause();
        } else {
            self.assert_peers();
            thread::yield_now();
        }
    }
}

impl Unpark for Node {
    fn unpark(&self, worker: WorkerId) {
        self.parkers[worker.index()].unpark();
    }
}

impl Park for Node {
    #[inline]
    fn assert_peers(&self) {
        if self.generation != generation() {
            abandon();
        }
    }

    fn park(&self, worker: WorkerId) {
        self.assert_peers();
        self.leave();
        self.parkers[worker.index()].sleep();
    }

    fn park_in_wait(&self, worker: WorkerId) -> bool {
        // ORDERING: Relaxed: the number publishes nothing else.
        match self.limits_ns[worker.index()].load(Ordering::Relaxed) {
            0 => {
                self.park(worker);
                false
            }
            limit => {
                self.assert_peers();
                self.leave();
                self.parkers[worker.index()].sleep_at_most(Duration::from_nanos(limit))
            }
        }
    }

    #[inline]
    fn idle(&self, _: WorkerId) -> bool {
        self.idle.as_ref().is_some_and(|idle| (idle.act)())
    }

    fn unparks(&self) -> u64 {
        let calls = self.parkers.iter().map(|parker| parker.called_ns());
        calls.max().unwrap_or(0)
    }

    fn patience(&self, worker: WorkerId) -> u64 {
        let least = self.idle.as_ref().map_or(0, |idle| idle.patience_ns);
        self.parkers[worker.index()].wake_ns().max(least)
    }
}

// SAFETY: a post is private to its thread, and changed by `set_current` only, whose callers
// guarantee that it is right; the floor is that of the current piece of stack plus a reserve;
// `grow` calls on this thread, and only a panic of the body is passed on.
unsafe impl Thread for Node {
    fn current(&self) -> Option<WorkerId> {
        let mine = |&(port, worker): &Post| (port == self.number).then_some(worker);
        let here = HERE.get()?;
        mine(&here).or_else(|| OUTSIDE.with(|outside| outside.borrow().iter().find_map(mine)))
    }

    unsafe fn set_current(&self, worker: Option<WorkerId>) {
        let here = HERE.get();
        let is_mine = |&(port, _): &Post| port == self.number;
        if let Some(worker) = worker {
            self.parkers[worker.index()].belongs_to(thread::current());
            self.limit_waits(worker);
            if let Some(outer) = here.filter(|here| !is_mine(here)) {
                change_outside(|outside| outside.push(outer));
            }
            HERE.set(Some((self.number, worker)));
        } else if here.as_ref().is_some_and(is_mine) {
            HERE.set(change_outside(Vec::pop));
        } else {
            // Not the innermost one: coroutines need not leave seats in the order of a stack.
            change_outside(|outside| outside.retain(|post| !is_mine(post)));
        }
    }

    fn stack_floor(&self) -> usize {
        super::stack::floor()
    }

    #[cfg(feature = "deep-recursion")]
    fn on_more_stack(&self, body: &mut dyn FnMut()) {
        super::stack::on_more(body);
    }
}

impl Watch for Node {
    #[inline]
    fn is_watching(&self) -> bool {
        self.watcher.is_some()
    }

    #[inline]
    fn enter(&self, worker: WorkerId, state: Option<State>) {
        if let Some(Watcher(report)) = &self.watcher {
            report(worker, Watched::Entered(state));
        }
    }

    #[inline]
    fn stole(&self, thief: WorkerId, victim: WorkerId) {
        if let Some(Watcher(report)) = &self.watcher {
            report(thief, Watched::Stole(victim));
        }
    }

    #[inline]
    fn loot(&self, worker: WorkerId, passage: Passage) {
        if let Some(Watcher(report)) = &self.watcher {
            report(worker, Watched::Loot(passage));
        }
    }

    fn stalled(&self, stall: &Stall) -> bool {
        let Some(watch) = &self.stalls else {
            return false;
        };
        // It has nothing to do.
        let act = match stall.is_idle() {
            true => Stalling::Awaited,
            false => (watch.act)(stall),
        };
        match act {
            Stalling::Awaited => self.check_more_rarely(),
            Stalling::Reported => {
                // ORDERING: Relaxed, both: a worker that misses it checks its waits once more.
                self.has_reported.store(true, Ordering::Relaxed);
                let limits = self.limits_ns.iter();
                // ORDERING: Relaxed, as above.
                limits.for_each(|limit| limit.store(0, Ordering::Relaxed));
            }
            Stalling::End => {}
        }
        act == Stalling::End
    }
}

/// The payload of a cancellation. Private, so that no panic of a program has it.
struct Cancellation;

// SAFETY: `catch_unwind` does not unwind.
unsafe impl Unwind for Node {
    type Payload = Box<dyn Any + Send>;

    fn catch<R>(&self, body: impl FnOnce() -> R) -> Result<R, Self::Payload> {
        catch_unwind(AssertUnwindSafe(body))
    }

    // Inlined, so that forks do not keep the port for it in a register.
    #[inline]
    fn resume(&self, payload: Self::Payload) -> ! {
        resume_unwind(payload)
    }

    fn cancellation(&self) -> Option<Self::Payload> {
        // Of a type without a size: no allocation.
        cfg!(panic = "unwind").then(|| Box::new(Cancellation) as Self::Payload)
    }

    fn is_cancellation(&self, payload: &Self::Payload) -> bool {
        payload.is::<Cancellation>()
    }

    fn text<'p>(&self, payload: &'p Self::Payload) -> Option<&'p str> {
        let literal = payload.downcast_ref::<&str>().copied();
        literal.or_else(|| payload.downcast_ref::<String>().map(String::as_str))
    }
}
