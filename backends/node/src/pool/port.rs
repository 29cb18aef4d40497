//! The threads of this process as the host of a pool.

use crate::fence;
use crate::park::{self, Parker};
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Instant;
use tautline_core::port::{Clock, Fence, Park, Relax, Thread, Unwind};
use tautline_core::sync::light_fence;
use tautline_core::{PlaceId, WorkerId};

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
}

impl Node {
    /// A port for `workers` workers.
    pub(super) fn new(workers: usize) -> Self {
        static NODES: AtomicU64 = AtomicU64::new(0);
        Self {
            // ORDERING: Relaxed: a number of its own is all that is wanted.
            number: NODES.fetch_add(1, Ordering::Relaxed),
            parkers: (0..workers).map(|_| Parker::default()).collect(),
            origin: Instant::now(),
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

// SAFETY: `membarrier` has each thread of the process execute a full fence between two instructions of its program, so
// that a light fence need only keep the compiler from exchanging them.
unsafe impl Fence for Node {
    #[inline(always)]
    fn light_fence(&self) {
        // ORDERING: SeqCst, as in the trait.
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

impl Park for Node {
    fn park(&self, _place: PlaceId, worker: WorkerId) {
        self.parkers[worker.index()].sleep();
    }

    fn unpark(&self, _place: PlaceId, worker: WorkerId) {
        self.parkers[worker.index()].unpark();
    }

    fn patience(&self, _place: PlaceId, worker: WorkerId) -> u64 {
        self.parkers[worker.index()].wake_ns()
    }
}

impl Thread for Node {
    fn here(&self) -> Option<WorkerId> {
        let mine = |&(port, worker): &Post| (port == self.number).then_some(worker);
        let here = HERE.get()?;
        mine(&here).or_else(|| OUTSIDE.with_borrow(|outside| outside.iter().find_map(mine)))
    }

    fn be(&self, worker: Option<WorkerId>) {
        let here = HERE.get();
        let is_mine = here.is_some_and(|(port, _)| port == self.number);
        match (worker, here) {
            (Some(worker), _) => {
                self.parkers[worker.index()].belongs_to(thread::current());
                if let (false, Some(outer)) = (is_mine, here) {
                    OUTSIDE.with_borrow_mut(|outside| outside.push(outer));
                }
                HERE.set(Some((self.number, worker)));
            }
            (None, _) if is_mine => HERE.set(OUTSIDE.with_borrow_mut(Vec::pop)),
            (None, _) => {}
        }
    }

    fn stack_floor(&self) -> usize {
        let here = ptr::from_ref(&self).addr();
        stacker::remaining_stack().map_or(0, |left| here - left + RESERVE_BYTES.min(left / 2))
    }

    fn on_more_stack(&self, body: &mut dyn FnMut()) {
        stacker::grow(PIECE_BYTES, body);
    }
}

impl Unwind for Node {
    type Payload = Box<dyn Any + Send>;

    fn catch<R>(&self, body: impl FnOnce() -> R) -> Result<R, Self::Payload> {
        catch_unwind(AssertUnwindSafe(body))
    }

    fn resume(&self, payload: Self::Payload) -> ! {
        resume_unwind(payload)
    }
}
