//! A complete backend for threads of std, as `docs/backend.md` of the repository shows it.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex};
use std::time::Instant;
use tautline_core::WorkerId;
use tautline_core::port::{Clock, Fence, Park, Relax, Thread, Unpark, Unwind, Watch};
use tautline_core::task::{Cx, Pool};

/// A node: threads that park, panics that unwind.
pub struct Node {
    number: u64,
    origin: Instant,
    permits: Vec<(Mutex<bool>, Condvar)>,
}

impl Node {
    /// Creates a port for `workers` workers.
    pub fn new(workers: usize) -> Self {
        static NUMBERS: AtomicU64 = AtomicU64::new(0);
        Self {
            number: NUMBERS.fetch_add(1, Ordering::Relaxed),
            origin: Instant::now(),
            permits: (0..workers).map(|_| Default::default()).collect(),
        }
    }
}

thread_local! {
    // The calling thread's worker of each port, by the number of the port.
    static HERE: RefCell<Vec<(u64, WorkerId)>> = const { RefCell::new(Vec::new()) };
}

impl Clock for Node {
    fn now(&self) -> u64 {
        self.origin.elapsed().as_nanos() as u64
    }
}

impl Unpark for Node {
    fn unpark(&self, worker: WorkerId) {
        let (permit, changed) = &self.permits[worker.index()];
        *permit.lock().unwrap() = true;
        changed.notify_one();
    }
}

impl Park for Node {
    fn park(&self, worker: WorkerId) {
        let (permit, changed) = &self.permits[worker.index()];
        let permit = permit.lock().unwrap();
        *changed.wait_while(permit, |is_there| !*is_there).unwrap() = false;
    }
}

impl Relax for Node {
    fn relax(&self, _turn: u32) {
        std::thread::yield_now();
    }
}

// SAFETY: both halves are full fences, as provided.
unsafe impl Fence for Node {}

// SAFETY: only `set_current` changes the variable of a thread. The provided methods state no limit
// of the stack and call on the present stack, so deep recursion overflows the stack as it does
// without a pool.
unsafe impl Thread for Node {
    fn current(&self) -> Option<WorkerId> {
        HERE.with_borrow(|here| {
            let mine = here.iter().find(|(port, _)| *port == self.number);
            mine.map(|(_, worker)| *worker)
        })
    }

    unsafe fn set_current(&self, worker: Option<WorkerId>) {
        HERE.with_borrow_mut(|here| {
            here.retain(|(port, _)| *port != self.number);
            here.extend(worker.map(|worker| (self.number, worker)));
        });
    }
}

impl Watch for Node {}

// SAFETY: `catch_unwind` does not unwind.
unsafe impl Unwind for Node {
    type Payload = Box<dyn Any + Send>;

    fn catch<R>(&self, body: impl FnOnce() -> R) -> Result<R, Self::Payload> {
        catch_unwind(AssertUnwindSafe(body))
    }

    fn resume(&self, payload: Self::Payload) -> ! {
        resume_unwind(payload)
    }
}

/// Runs `body` with `workers` workers: a thread becomes one by acquiring a seat.
pub fn run<'e, R>(workers: usize, body: impl for<'s> FnOnce(&mut Cx<'s, 'e, Node>) -> R) -> R {
    let pool = Pool::new(Node::new(workers), workers);
    std::thread::scope(|threads| {
        for worker in 1..workers as u32 {
            let pool = &pool;
            threads.spawn(move || pool.with_seat(WorkerId(worker), |seat| seat.attend()));
        }
        let result = pool.with_seat(WorkerId(0), |seat| seat.run(body));
        pool.close();
        result.expect("the seat of worker 0 is free")
    })
}
