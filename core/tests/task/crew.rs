//! Threads of the test as the workers of a pool.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::ptr;
use std::sync::{Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};
use tautline_core::port::{Clock, Fence, Park, Relax, Thread, Unwind};
use tautline_core::task::Pool;
use tautline_core::{PlaceId, WorkerId};

/// What the tasks of these tests are given.
pub type Cx<'s, 'e> = tautline_core::task::Cx<'s, 'e, Crew>;

/// How long to wait for what must come. Only a failing test waits so long.
const PATIENCE: Duration = Duration::from_secs(60);

/// Waits until `holds`.
///
/// # Panics
/// It does not come.
pub fn wait_until(what: &str, holds: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < deadline, "waited in vain: {what}");
        thread::yield_now();
    }
}

thread_local! {
    static HERE: Cell<(*const Crew, Option<WorkerId>)> = const { Cell::new((ptr::null(), None)) };
}

/// One a worker: whether it may go on.
#[derive(Default)]
struct Permit {
    given: Mutex<bool>,
    bell: Condvar,
}

/// A machine with nothing but threads.
pub struct Crew {
    permits: Box<[Permit]>,
    origin: Instant,
}

impl Crew {
    pub fn new(workers: usize) -> Self {
        Self {
            permits: (0..workers).map(|_| Permit::default()).collect(),
            origin: Instant::now(),
        }
    }
}

impl Clock for Crew {
    fn now(&self) -> u64 {
        self.origin.elapsed().as_nanos() as u64
    }
}

// SAFETY: full fences, as provided.
unsafe impl Fence for Crew {}

impl Relax for Crew {
    fn relax(&self, _turn: u32) {
        thread::yield_now();
    }
}

impl Park for Crew {
    fn park(&self, _place: PlaceId, worker: WorkerId) {
        let Permit { given, bell } = &self.permits[worker.index()];
        let wait = bell.wait_timeout_while(given.lock().unwrap(), PATIENCE, |given| !*given);
        let (mut given, timeout) = wait.unwrap();
        assert!(!timeout.timed_out(), "worker {} sleeps for ever", worker.0);
        *given = false;
    }

    fn unpark(&self, _place: PlaceId, worker: WorkerId) {
        let Permit { given, bell } = &self.permits[worker.index()];
        *given.lock().unwrap() = true;
        bell.notify_one();
    }
}

impl Thread for Crew {
    fn here(&self) -> Option<WorkerId> {
        let (crew, worker) = HERE.get();
        worker.filter(|_| ptr::eq(crew, self))
    }

    fn be(&self, worker: Option<WorkerId>) {
        HERE.set((self, worker));
    }
}

impl Unwind for Crew {
    type Payload = Box<dyn Any + Send>;

    fn catch<R>(&self, body: impl FnOnce() -> R) -> Result<R, Self::Payload> {
        catch_unwind(AssertUnwindSafe(body))
    }

    fn resume(&self, payload: Self::Payload) -> ! {
        resume_unwind(payload)
    }
}

/// Ends the attendance of the others, however the test ends.
struct Closing<'p>(&'p Pool<Crew>);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// Runs `body` on a pool of `workers`, the caller one of them.
pub fn on<'e, R>(workers: usize, body: impl for<'s> FnOnce(&mut Cx<'s, 'e>) -> R) -> R {
    within(workers, |pool| pool.seat(WorkerId(0)).unwrap().run(body))
}

/// Calls `body` with a pool in which the seats from 1 on are taken.
pub fn within<R>(workers: usize, body: impl FnOnce(&Pool<Crew>) -> R) -> R {
    let pool = &Pool::new(Crew::new(workers), workers);
    thread::scope(|threads| {
        let _closing = Closing(pool);
        for worker in 1..workers {
            threads.spawn(move || pool.seat(WorkerId(worker as u32)).unwrap().attend());
        }
        body(pool)
    })
}

/// What `act` panics with, if it panics: the word, or "another".
pub fn panic_of<R>(act: impl FnOnce() -> R) -> Option<&'static str> {
    let payload = catch_unwind(AssertUnwindSafe(act)).err()?;
    match payload.downcast::<&str>() {
        Ok(word) => Some(*word),
        Err(other) => {
            // It may panic when it is dropped.
            std::mem::forget(other);
            Some("another")
        }
    }
}
