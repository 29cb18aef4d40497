//! The threads of this process as the host of a pool.

use super::Watcher;
use crate::fence;
use crate::park::{self, Parker};
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Instant;
use tautline_core::WorkerId;
use tautline_core::port::{Clock, Fence, Park, Relax, Thread, Unpark, Unwind, Watch};
use tautline_core::sync::light_fence;
use tautline_core::watch::State;

/// What is kept free below the deepest fork, for what it calls, in bytes.
const RESERVE_BYTES: usize = 128 << 10;

/// A further piece of stack, in bytes. Only what is touched takes memory.
const PIECE_BYTES: usize = 64 << 20;

/// Which worker of which port's pool, by number: an address may be used again.
type Post = (u64, WorkerId);

thread_local! {
    /// What this thread is.
    static HERE: Cell<Option<Post>> = const { Cell::new(None) };
    /// What it is besides, in tasks that are further out.
    static OUTSIDE: RefCell<Vec<Post>> = const { RefCell::new(Vec::new()) };
}

/// One node: threads that park, panics that unwind, stacks that grow.
#[derive(Debug)]
pub struct Node {
    number: u64,
    parkers: Box<[Parker]>,
    origin: Instant,
    watcher: Option<Watcher>,
}

impl Node {
    /// A port for `workers` workers.
    pub(super) fn new(workers: usize, watcher: Option<Watcher>) -> Self {
        static NODES: AtomicU64 = AtomicU64::new(0);
        Self {
            // ORDERING: Relaxed: a number of its own is all that is wanted.
            number: NODES.fetch_add(1, Ordering::Relaxed),
            parkers: (0..workers).map(|_| Parker::default()).collect(),
            origin: Instant::now(),
            watcher,
        }
    }
}

/// Whether the system has so much memory for this process, without a promise: [`stacker::grow`] panics if it has not, which
/// would be told to the user.
#[cfg(unix)]
fn is_room_for(bytes: usize) -> bool {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    let kind = libc::MAP_PRIVATE | libc::MAP_ANON;
    // SAFETY: asks for memory of its own, anywhere.
    let piece = unsafe { libc::mmap(ptr::null_mut(), bytes, access, kind, -1, 0) };
    if piece == libc::MAP_FAILED {
        return false;
    }
    // SAFETY: mapped above, and used by nothing.
    unsafe { libc::munmap(piece, bytes) };
    true
}

#[cfg(not(unix))]
fn is_room_for(_bytes: usize) -> bool {
    true
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

// SAFETY: `membarrier` has each thread of the process execute a full fence between two instructions of its program, so
// that a light fence need only keep the compiler from exchanging them.
unsafe impl Fence for Node {
    #[inline(always)]
    fn light_fence(&self) {
        // ORDERING: SeqCst, as in the trait; no mutant: model checkers have no heavy fence of this kind.
        light_fence();
    }

    fn heavy_fence(&self) -> bool {
        fence::heavy()
    }
}

impl Relax for Node {
    fn relax(&self, turn: u32) {
        park::relax(turn);
    }
}

impl Unpark for Node {
    fn unpark(&self, worker: WorkerId) {
        self.parkers[worker.index()].unpark();
    }
}

impl Park for Node {
    fn park(&self, worker: WorkerId) {
        self.parkers[worker.index()].sleep();
    }

    fn patience(&self, worker: WorkerId) -> u64 {
        self.parkers[worker.index()].wake_ns()
    }
}

// SAFETY: a post is this thread's own, made and removed by `set_current`, whose callers say what is true; the floor is that of the piece of
// stack that the thread is on, and a little; `grow` calls on this thread, and only the body's panic is passed on.
unsafe impl Thread for Node {
    fn current(&self) -> Option<WorkerId> {
        let mine = |&(port, worker): &Post| (port == self.number).then_some(worker);
        let here = HERE.get()?;
        mine(&here).or_else(|| OUTSIDE.with_borrow(|outside| outside.iter().find_map(mine)))
    }

    unsafe fn set_current(&self, worker: Option<WorkerId>) {
        let here = HERE.get();
        let is_mine = |&(port, _): &Post| port == self.number;
        if let Some(worker) = worker {
            self.parkers[worker.index()].belongs_to(thread::current());
            if let Some(outer) = here.filter(|here| !is_mine(here)) {
                OUTSIDE.with_borrow_mut(|outside| outside.push(outer));
            }
            HERE.set(Some((self.number, worker)));
        } else if here.as_ref().is_some_and(is_mine) {
            HERE.set(OUTSIDE.with_borrow_mut(Vec::pop));
        } else {
            // Not the innermost one: coroutines need not give seats up in the order of a stack.
            OUTSIDE.with_borrow_mut(|outside| outside.retain(|post| !is_mine(post)));
        }
    }

    fn stack_floor(&self) -> usize {
        let here = ptr::from_ref(&self).addr();
        stacker::remaining_stack().map_or(0, |left| here - left + RESERVE_BYTES.min(left / 2))
    }

    fn on_more_stack(&self, body: &mut dyn FnMut()) {
        if !is_room_for(PIECE_BYTES) {
            return;
        }
        let mut begun = false;
        let grown = catch_unwind(AssertUnwindSafe(|| {
            stacker::grow(PIECE_BYTES, || {
                begun = true;
                body();
            });
        }));
        match grown {
            Err(payload) if begun => resume_unwind(payload),
            // Refused after all, since another thread was faster.
            _ => {}
        }
    }
}

impl Watch for Node {
    #[inline]
    fn is_watching(&self) -> bool {
        self.watcher.is_some()
    }

    #[inline]
    fn enter(&self, worker: WorkerId, state: Option<State>) {
        if let Some(Watcher(changed)) = &self.watcher {
            changed(worker, state);
        }
    }
}

// SAFETY: `catch_unwind` does not unwind.
unsafe impl Unwind for Node {
    type Payload = Box<dyn Any + Send>;

    fn catch<R>(&self, body: impl FnOnce() -> R) -> Result<R, Self::Payload> {
        catch_unwind(AssertUnwindSafe(body))
    }

    // Inlined, so that forks do not keep a port for it in a register.
    #[inline]
    fn resume(&self, payload: Self::Payload) -> ! {
        resume_unwind(payload)
    }
}
