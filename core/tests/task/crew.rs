//! Threads of the test as the workers of a pool.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::io::{Write, stderr};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::process::abort;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering::SeqCst};
use std::sync::{Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};
use tautline_core::WorkerId;
use tautline_core::port::{Clock, Fence, Park, Relax, Thread, Unpark, Unwind, Watch};
use tautline_core::task::Pool;

/// The context of the tasks of these tests.
pub(crate) type Cx<'s, 'e> = tautline_core::task::Cx<'s, 'e, Crew>;

/// The time limit of a wait. Only a failing test waits so long.
const PATIENCE: Duration = Duration::from_secs(60);

/// Waits until `holds` returns true.
///
/// # Panics
/// If it does not within the time limit.
pub(crate) fn wait_until(what: &str, holds: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < deadline, "timed out: {what}");
        thread::yield_now();
    }
}

/// Called in each iteration of a wait.
type OnRelax = Box<dyn Fn(u32)>;

thread_local! {
    static HERE: Cell<(*const Crew, Option<WorkerId>)> = const { Cell::new((ptr::null(), None)) };
}

thread_local! {
    /// The time that the calling thread has spent, in nanoseconds, and its number of clock
    /// readings.
    static SPENT: Cell<u64> = const { Cell::new(0) };
    static READS: Cell<u64> = const { Cell::new(0) };
}

/// Advances the calling thread's clock, on a crew of [`Crew::spending`].
pub(crate) fn spend(ns: u64) {
    SPENT.set(SPENT.get() + ns);
}

/// Returns how often the calling thread has read the clock.
pub(crate) fn reads() -> u64 {
    READS.get()
}

thread_local! {
    static ON_RELAX: RefCell<Option<OnRelax>> = const { RefCell::new(None) };
}

/// Calls `act` with the turn of each wait iteration of the calling thread, while `body` runs.
pub(crate) fn when_relaxing<R>(act: impl Fn(u32) + 'static, body: impl FnOnce() -> R) -> R {
    ON_RELAX.set(Some(Box::new(act)));
    let result = body();
    ON_RELAX.set(None);
    result
}

/// The permit of a worker.
#[derive(Default)]
struct Permit {
    given: Mutex<bool>,
    bell: Condvar,
    /// Parked, or about to be; changed under the lock.
    parked: AtomicBool,
}

/// The method of the port that panics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Fault {
    None,
    Clock,
    Relax,
    Park,
    Unpark,
}

/// The fault of every port of this process, for tests that run in a separate process.
static FAULT: AtomicU8 = AtomicU8::new(Fault::None as u8);

/// Makes all ports of this process fail at that method from now on.
pub(crate) fn fail_at(fault: Fault) {
    FAULT.store(fault as u8, SeqCst);
}

fn may_fail_at(fault: Fault) {
    assert!(FAULT.load(SeqCst) != fault as u8, "broken: {fault:?}");
}

/// A port that uses threads only.
pub(crate) struct Crew {
    permits: Box<[Permit]>,
    origin: Instant,
    /// Nanoseconds of a tick; 0 if each thread has a clock that shows what it has [spent](spend).
    tick: u32,
    /// Whether cancelled loops unwind.
    unwinds: bool,
}

impl Crew {
    pub(crate) fn new(workers: usize) -> Self {
        Self::ticking(workers, 1)
    }

    /// As [`new`](Self::new), with a clock that ticks every `tick` nanoseconds.
    pub(crate) fn ticking(workers: usize, tick: u32) -> Self {
        Self {
            tick,
            unwinds: true,
            permits: (0..workers).map(|_| Permit::default()).collect(),
            origin: Instant::now(),
        }
    }

    /// As [`new`](Self::new), with clocks that only [`spend`] advances. Idle workers do not park.
    pub(crate) fn spending(workers: usize) -> Self {
        Self::ticking(workers, 0)
    }

    /// Makes cancelled loops run to their ends, as on a machine without unwinding.
    pub(crate) fn without_cancellation(self) -> Self {
        Self {
            unwinds: false,
            ..self
        }
    }

    /// Returns whether the worker is parked, without a permit that would end that.
    pub(crate) fn is_parked(&self, worker: WorkerId) -> bool {
        let Permit { given, parked, .. } = &self.permits[worker.index()];
        let given = given.lock().unwrap();
        !*given && parked.load(SeqCst)
    }
}

impl Clock for Crew {
    fn now(&self) -> u64 {
        may_fail_at(Fault::Clock);
        READS.set(READS.get() + 1);
        let elapsed = self.origin.elapsed().as_nanos() as u64;
        elapsed.checked_div(self.tick.into()).unwrap_or(SPENT.get())
    }

    fn ticks_per_second(&self) -> f64 {
        1e9 / f64::from(self.tick.max(1))
    }
}

// SAFETY: full fences, as provided.
unsafe impl Fence for Crew {}

impl Relax for Crew {
    fn relax(&self, turn: u32) {
        may_fail_at(Fault::Relax);
        ON_RELAX.with_borrow(|act| act.iter().for_each(|act| act(turn)));
        thread::yield_now();
    }
}

impl Unpark for Crew {
    fn unpark(&self, worker: WorkerId) {
        may_fail_at(Fault::Unpark);
        let Permit { given, bell, .. } = &self.permits[worker.index()];
        *given.lock().unwrap() = true;
        bell.notify_one();
    }
}

impl Park for Crew {
    fn park(&self, worker: WorkerId) {
        may_fail_at(Fault::Park);
        let Permit {
            given,
            bell,
            parked,
        } = &self.permits[worker.index()];
        let given = given.lock().unwrap();
        parked.store(true, SeqCst);
        let wait = bell.wait_timeout_while(given, PATIENCE, |given| !*given);
        let (mut given, timeout) = wait.unwrap();
        if timeout.timed_out() {
            // Not by a panic, which the pool would not propagate out of a wait, nor the test's
            // harness show then.
            _ = writeln!(stderr(), "worker {} is parked for ever", worker.0);
            abort();
        }
        *given = false;
        parked.store(false, SeqCst);
    }
}

// SAFETY: a thread acts as the worker that was set through this port, which is not moved while a
// seat is held.
unsafe impl Thread for Crew {
    fn current(&self) -> Option<WorkerId> {
        let (crew, worker) = HERE.get();
        worker.filter(|_| ptr::eq(crew, self))
    }

    unsafe fn set_current(&self, worker: Option<WorkerId>) {
        HERE.set((self, worker));
    }
}

impl Watch for Crew {}

/// The payload of a cancellation.
struct Cancellation;

// SAFETY: `catch_unwind` does not unwind.
unsafe impl Unwind for Crew {
    type Payload = Box<dyn Any + Send>;

    fn catch<R>(&self, body: impl FnOnce() -> R) -> Result<R, Self::Payload> {
        catch_unwind(AssertUnwindSafe(body))
    }

    fn resume(&self, payload: Self::Payload) -> ! {
        resume_unwind(payload)
    }

    fn cancellation(&self) -> Option<Self::Payload> {
        self.unwinds
            .then(|| Box::new(Cancellation) as Self::Payload)
    }

    fn is_cancellation(&self, payload: &Self::Payload) -> bool {
        payload.is::<Cancellation>()
    }
}

/// Closes the pool, however the test ends.
struct Closing<'p>(&'p Pool<Crew>);

impl Drop for Closing<'_> {
    fn drop(&mut self) {
        self.0.close();
    }
}

/// Runs `body` on a pool of `workers` workers, of which the caller is one.
pub(crate) fn on<'e, R>(workers: usize, body: impl for<'s> FnOnce(&mut Cx<'s, 'e>) -> R) -> R {
    within(workers, |pool| run_on(pool, body))
}

/// Runs `body` on worker 0 of a pool.
pub(crate) fn run_on<'e, R>(
    pool: &Pool<Crew>,
    body: impl for<'s> FnOnce(&mut Cx<'s, 'e>) -> R,
) -> R {
    let ran = pool.with_seat(WorkerId(0), |seat| seat.run(body));
    ran.expect("a free seat")
}

/// Makes the calling thread a worker of a pool until the pool is closed.
pub(crate) fn attend(pool: &Pool<Crew>, worker: u32) {
    let attended = pool.with_seat(WorkerId(worker), |seat| seat.attend());
    attended.expect("a free seat");
}

/// Calls `body` with a pool in which the seats from 1 on are held.
pub(crate) fn within<R>(workers: usize, body: impl FnOnce(&Pool<Crew>) -> R) -> R {
    within_crew(Crew::new(workers), workers, body)
}

/// As [`within`], with this crew.
pub(crate) fn within_crew<R>(crew: Crew, workers: usize, body: impl FnOnce(&Pool<Crew>) -> R) -> R {
    let pool = &Pool::new(crew, workers);
    thread::scope(|threads| {
        let _closing = Closing(pool);
        for worker in 1..workers {
            threads.spawn(move || attend(pool, worker as u32));
        }
        body(pool)
    })
}

/// Returns the payload of a panic of `act`, if it panics: the word, or "another".
pub(crate) fn panic_of<R>(act: impl FnOnce() -> R) -> Option<&'static str> {
    let payload = catch_unwind(AssertUnwindSafe(act)).err()?;
    match payload.downcast::<&str>() {
        Ok(word) => Some(*word),
        Err(other) => {
            // Its drop may panic.
            std::mem::forget(other);
            Some("another")
        }
    }
}
