//! A port on loom's threads, and a pool on it.

use loom::cell::UnsafeCell;
use loom::sync::Notify;
use loom::sync::atomic::AtomicUsize as Flag;
use loom::sync::atomic::Ordering::{AcqRel, Acquire};
use loom::thread;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use tautline_core::WorkerId;
use tautline_core::port::{Clock, Fence, Park, Relax, Thread, Unpark, Unwind, Watch};
use tautline_core::sync::{Permit, full_fence};
use tautline_core::task::{Cx, Pool};
use tautline_verify::model::Turns;

/// The context of a task.
pub(crate) type Cxt<'s, 'e> = Cx<'s, 'e, Machine>;

/// The payload of a panic.
pub(crate) type Payload = Box<dyn Any + Send>;

/// A word that one thread writes and another reads.
#[derive(Default)]
pub(crate) struct Cell(UnsafeCell<usize>);

// SAFETY: loom reports accesses that race.
unsafe impl Sync for Cell {}
// SAFETY: loom reports accesses that race.
unsafe impl Send for Cell {}

impl Cell {
    pub(crate) fn set(&self, value: usize) {
        // SAFETY: loom reports accesses that race.
        self.0.with_mut(|v| unsafe { *v = value });
    }

    pub(crate) fn get(&self) -> usize {
        // SAFETY: loom reports accesses that race.
        self.0.with(|v| unsafe { *v })
    }
}

/// A parker with a sticky permit, as in the node backend. (Loom's own parking loses a wake-up that
/// finds its thread in a spinning wait.)
#[derive(Default)]
pub(crate) struct Parker(Permit, Notify);

impl Parker {
    pub(crate) fn sleep(&self) {
        while !self.0.try_take() {
            self.1.wait();
        }
    }

    pub(crate) fn wake(&self) {
        self.0.give();
        self.1.notify();
    }
}

/// The port. Its patience is zero, so that a worker that finds nothing parks immediately.
pub(crate) struct Machine {
    parkers: Vec<Parker>,
    /// Whether it has a heavy fence.
    can_fence: bool,
    /// Whether a worker yields when it reads the clock, after a heavy fence, and after it has woken
    /// another.
    yields: bool,
    /// Written when the machine is dropped: a later access races with that.
    alive: Cell,
}

impl Drop for Machine {
    fn drop(&mut self) {
        self.alive.set(1);
    }
}

impl Machine {
    pub(crate) fn new(workers: usize) -> Self {
        Self {
            parkers: (0..workers).map(|_| Parker::default()).collect(),
            can_fence: true,
            yields: false,
            alive: Cell::default(),
        }
    }

    /// Creates a machine whose workers' private tasks are published by their owners only.
    pub(crate) fn without_heavy_fence(workers: usize) -> Self {
        let mut machine = Self::new(workers);
        machine.can_fence = false;
        machine
    }

    /// Creates a machine whose functions yield, so that other threads run in them without a
    /// preemption.
    pub(crate) fn yielding(workers: usize) -> Self {
        let mut machine = Self::new(workers);
        machine.yields = true;
        machine
    }

    fn step(&self) {
        if self.yields {
            thread::yield_now();
        }
    }
}

impl Clock for Machine {
    fn now(&self) -> u64 {
        self.step();
        0
    }
}

// SAFETY: full fences, the light one as provided.
unsafe impl Fence for Machine {
    fn heavy_fence(&self) -> bool {
        full_fence();
        self.step();
        self.can_fence
    }
}

impl Relax for Machine {
    fn relax(&self, turn: u32) {
        Turns(1).relax(turn);
    }
}

impl Unpark for Machine {
    fn unpark(&self, worker: WorkerId) {
        assert_eq!(self.alive.get(), 0, "the machine was dropped");
        self.parkers[worker.index()].wake();
        // Twice: the woken worker reads the clock, and so yields, before it searches.
        self.step();
        self.step();
    }
}

impl Park for Machine {
    fn park(&self, worker: WorkerId) {
        self.parkers[worker.index()].sleep();
    }
}

loom::thread_local! {
    static HERE: std::cell::Cell<Option<WorkerId>> = std::cell::Cell::new(None);
}

// SAFETY: each of loom's threads acts as the worker that was set; a model has one machine at a
// time.
unsafe impl Thread for Machine {
    fn current(&self) -> Option<WorkerId> {
        HERE.with(std::cell::Cell::get)
    }

    unsafe fn set_current(&self, worker: Option<WorkerId>) {
        HERE.with(|here| here.set(worker));
    }
}

impl Watch for Machine {}

/// The payload of a cancellation.
struct Cancellation;

// SAFETY: `catch_unwind` does not unwind.
unsafe impl Unwind for Machine {
    type Payload = Payload;

    fn catch<R>(&self, body: impl FnOnce() -> R) -> Result<R, Payload> {
        catch_unwind(AssertUnwindSafe(body))
    }

    fn resume(&self, payload: Payload) -> ! {
        resume_unwind(payload)
    }

    fn cancellation(&self) -> Option<Self::Payload> {
        Some(Box::new(Cancellation))
    }

    fn is_cancellation(&self, payload: &Self::Payload) -> bool {
        payload.is::<Cancellation>()
    }
}

/// The number of tasks that have begun, and a wait for them.
pub(crate) struct Rendezvous {
    begun: Flag,
    call: Notify,
}

impl Rendezvous {
    pub(crate) fn new() -> Self {
        Self {
            begun: Flag::new(0),
            call: Notify::new(),
        }
    }

    pub(crate) fn begin(&self) {
        self.begun.fetch_add(1, AcqRel);
        self.call.notify();
    }

    pub(crate) fn wait(&self, tasks: usize) {
        while self.begun.load(Acquire) < tasks {
            self.call.wait();
        }
    }
}

/// Panics with `number`, without a message.
pub(crate) fn fail(number: usize) -> ! {
    resume_unwind(Box::new(number))
}

/// Returns the number of a panic made by [`fail`]; resumes any other.
pub(crate) fn number_of(payload: Payload) -> usize {
    match payload.downcast::<usize>() {
        Ok(number) => *number,
        Err(other) => resume_unwind(other),
    }
}

/// Runs `body` on worker 0 while `others` workers attend; returns its result or its panic, when all
/// have left.
pub(crate) fn with_others<'e, R>(
    others: usize,
    body: impl for<'s> FnOnce(&mut Cxt<'s, 'e>) -> R,
) -> Result<R, Payload> {
    let pool = Pool::new(Machine::new(others + 1), others + 1);
    with_others_of(pool, body)
}

/// The same in an existing pool.
pub(crate) fn with_others_of<'e, R>(
    pool: Pool<Machine>,
    body: impl for<'s> FnOnce(&mut Cxt<'s, 'e>) -> R,
) -> Result<R, Payload> {
    let others = pool.seats() - 1;
    let pool = Arc::new(pool);
    let attending: Vec<_> = (1..=others)
        .map(|w| {
            let pool = Arc::clone(&pool);
            thread::spawn(move || {
                let sat = pool.with_seat(WorkerId(w as u32), |seat| seat.attend());
                sat.expect("no other thread requests the seat");
            })
        })
        .collect();
    let outcome = pool.with_seat(WorkerId(0), |seat| {
        catch_unwind(AssertUnwindSafe(|| seat.run(body)))
    });
    let outcome = outcome.expect("no other thread requests the seat");
    pool.close();
    attending.into_iter().for_each(|a| a.join().unwrap());
    outcome
}

/// Overwrites the stack that earlier calls have used: a stale read finds no object that loom knows.
#[inline(never)]
pub(crate) fn overwrite_stack() {
    let mut rubbish = [0xaau8; 8192];
    std::hint::black_box(&mut rubbish);
}
