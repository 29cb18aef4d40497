//! The ports of the core on any board.
//!
//! A hart sleeps until its wake-up bit is set; the bit is sticky, which is a permit, but parking
//! and the barrier lines both need it. So the bit only states that a cause exists. The cause is
//! recorded before: the permit of a worker, or the episode of a line; each waiter polls its own. A
//! bit that the other kind of waiter consumes costs a poll, and no wake-up is lost: `tests/port.rs`
//! waits without a clock, so that a lost wake-up hangs the test, as does the board's program.
//!
//! # Words
//! `worker`, one a hart, private: the worker that the hart is. `hart`, one a worker: written by the
//! hart that becomes it, read by harts that wake it. `permit`, one a worker: set by harts that wake
//! it, taken by the hart that is it.
//!
//! # Orderings
//! | id | release side | acquire side | what becomes visible | model |
//! |---|---|---|---|---|
//! | P1 | `unpark`: permit, full fence, hart | `be`: hart, full fence, permit | to the waker the hart, or to the hart the permit | `awake_early` in `verify/tests/manycore.rs` |

use crate::{Board, LINES, Lines};
use alloc::boxed::Box;
use core::convert::Infallible;
use tautline_core::WorkerId;
use tautline_core::port::{
    Barrier, Clock, Fence, Line, Park, Relax, Thread, Unpark, Unwind, Watch,
};
use tautline_core::sync::{AtomicUsize, CachePadded, Ordering, Permit, full_fence};

/// Neither a worker nor a hart.
const NONE: usize = usize::MAX;

/// One worker: its permit, and the hart that it is, if any.
#[derive(Debug)]
struct Post {
    permit: Permit,
    hart: AtomicUsize,
}

/// Harts that run one pool's workers, and the barrier lines between them.
#[derive(Debug)]
pub struct Manycore<B> {
    board: B,
    lines: Lines,
    worker: Box<[CachePadded<AtomicUsize>]>,
    posts: Box<[CachePadded<Post>]>,
}

impl<B: Board> Manycore<B> {
    /// Creates the ports of `harts` harts for `workers` workers.
    ///
    /// # Panics
    /// More harts than a word has bits.
    pub fn new(board: B, harts: usize, workers: usize) -> Self {
        let none = || AtomicUsize::new(NONE);
        let post = || Post {
            permit: Permit::new(),
            hart: none(),
        };
        Self {
            board,
            lines: Lines::new(harts),
            worker: (0..harts).map(|_| CachePadded::new(none())).collect(),
            posts: (0..workers).map(|_| CachePadded::new(post())).collect(),
        }
    }

    /// Returns the board.
    pub fn board(&self) -> &B {
        &self.board
    }

    /// Returns the number of harts.
    pub fn harts(&self) -> usize {
        self.worker.len()
    }
}

impl<B: Board> Clock for Manycore<B> {
    fn now(&self) -> u64 {
        self.board.now()
    }

    fn ticks_per_second(&self) -> f64 {
        self.board.ticks_per_second()
    }
}

impl<B: Board> Relax for Manycore<B> {
    fn relax(&self, turn: u32) {
        self.board.relax(turn);
    }
}

/// Suspend and awake. The wake-up bit of the hart is not a permit, since barrier lines set it, too:
/// a woken hart checks its permit, and rests on without one.
impl<B: Board> Unpark for Manycore<B> {
    fn unpark(&self, worker: WorkerId) {
        let post = &self.posts[worker.index()];
        post.permit.give();
        // ORDERING: full fence, pairs with the one in set_current (P1): the permit is set before
        // the hart is read.
        full_fence();
        // ORDERING: Relaxed: after the fence (P1).
        match post.hart.load(Ordering::Relaxed) {
            NONE => {}
            hart => self.board.ring(hart),
        }
    }
}

impl<B: Board> Park for Manycore<B> {
    fn park(&self, worker: WorkerId) {
        while !self.posts[worker.index()].permit.try_take() {
            self.board.rest(None);
        }
    }

    fn patience(&self, _worker: WorkerId) -> u64 {
        B::WAKE_TICKS
    }
}

// SAFETY: full fences, as provided: a hart cannot force another one to execute a fence.
unsafe impl<B: Board> Fence for Manycore<B> {}

// SAFETY: a hart is the worker that `set_current` stored under its number, which is unique as
// `Board` requires; the limits of the stack are the board's.
unsafe impl<B: Board> Thread for Manycore<B> {
    fn current(&self) -> Option<WorkerId> {
        // ORDERING: Relaxed: private to the hart.
        let worker = self.worker.get(self.board.hart())?.load(Ordering::Relaxed);
        (worker != NONE).then_some(WorkerId(worker as u32))
    }

    unsafe fn set_current(&self, worker: Option<WorkerId>) {
        let hart = self.board.hart();
        let before = self.current();
        let now = worker.map_or(NONE, WorkerId::index);
        // ORDERING: Relaxed: private to the hart.
        self.worker[hart].store(now, Ordering::Relaxed);
        if let Some(before) = before {
            // ORDERING: Relaxed: a waker that sees it late wakes a hart spuriously.
            self.posts[before.index()]
                .hart
                .store(NONE, Ordering::Relaxed);
        }
        if let Some(worker) = worker {
            // ORDERING: Relaxed: before the fence (P1).
            self.posts[worker.index()]
                .hart
                .store(hart, Ordering::Relaxed);
            // ORDERING: full fence, pairs with the one in unpark (P1): the hart is stored before it
            // checks its permit.
            full_fence();
        }
    }

    fn stack_floor(&self) -> usize {
        self.board.stack_floor()
    }

    fn on_more_stack(&self, body: &mut dyn FnMut()) {
        self.board.on_more_stack(body);
    }
}

impl<B: Board> Watch for Manycore<B> {}

/// There is no unwinding: a panic ends the board.
// SAFETY: nothing unwinds.
unsafe impl<B: Board> Unwind for Manycore<B> {
    type Payload = Infallible;

    fn catch<R>(&self, body: impl FnOnce() -> R) -> Result<R, Infallible> {
        Ok(body())
    }

    fn resume(&self, payload: Infallible) -> ! {
        match payload {}
    }
}

impl<B: Board> Barrier for Manycore<B> {
    fn lines(&self) -> usize {
        LINES
    }

    fn claim(&self) -> Option<Line> {
        self.lines.claim()
    }

    fn give_back(&self, line: Line) {
        self.lines.give_back(line);
    }

    fn include(&self, line: Line) {
        self.lines.include(self.board.hart(), line);
    }

    fn exclude(&self, line: Line) {
        self.lines.exclude(self.board.hart(), line, &self.board);
    }

    fn arrive(&self, line: Line) {
        self.lines.arrive(self.board.hart(), line, &self.board);
    }

    fn is_done(&self, line: Line) -> bool {
        self.lines.is_done(self.board.hart(), line)
    }
}
