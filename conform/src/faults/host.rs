//! Threads of the standard library, right or with a fault.
//!
//! [`Host`] implements the capabilities that the suites need and no further ones, so that no pool
//! can be created on a broken implementation.

use super::Broken;
use crate::{Threads, grows, keeps_time, parks, seats, ticks, unwinds};
use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;
use tautline_core::WorkerId;
use tautline_core::port::{Clock, Park, Thread, Unpark, Unwind};

/// A fault of a [`Host`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// An unpark before the park has no effect.
    NotSticky,
    /// An unpark before a thread is the worker has no effect.
    NeedsThread,
    /// An unpark reaches the other worker.
    Misdirected,
    /// One unpark in a hundred is lost.
    Forgetful,
    /// All threads are the worker that one of them was made.
    OneForAll,
    /// Workers of one port are taken for those of another.
    AnyPort,
    /// A seat is lost when another one is taken.
    NotNested,
    /// A call on more stack is made twice.
    Twice,
    /// A call on more stack is not made.
    Never,
    /// A call on more stack is made by another thread.
    Elsewhere,
    /// The stack seems to be full already.
    FloorTooHigh,
    /// One reading of the clock is half of what it should be.
    RunsBackwards,
    /// The clock does not advance.
    StandsStill,
    /// The clock runs at three quarters of its rate.
    WrongRate,
    /// `catch` does not catch.
    Unwinds,
    /// The payload of a panic is replaced.
    OtherPayload,
}

/// The capabilities of a machine for two workers, by the standard library.
#[derive(Debug)]
pub struct Host {
    fault: Option<Fault>,
    number: u64,
    permits: [Permit; 2],
    origin: Instant,
    /// Calls so far.
    calls: AtomicU64,
    /// The worker that a thread was made last.
    seat: Mutex<Option<WorkerId>>,
}

#[derive(Debug, Default)]
struct Permit {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    is_given: bool,
    /// Whether a thread is the worker.
    is_thread: bool,
    is_parked: bool,
}

impl Permit {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

thread_local! {
    /// The calling thread's workers, by the number of the port.
    static SEATS: RefCell<Vec<(u64, WorkerId)>> = const { RefCell::new(Vec::new()) };
}

impl Host {
    /// Creates a port; without a fault, it conforms.
    pub fn new(fault: Option<Fault>) -> Self {
        static NUMBERS: AtomicU64 = AtomicU64::new(0);
        Self {
            fault,
            number: NUMBERS.fetch_add(1, SeqCst),
            permits: Default::default(),
            origin: Instant::now(),
            calls: AtomicU64::new(0),
            seat: Mutex::new(None),
        }
    }

    /// Makes the calling thread act as a worker, or as none.
    pub fn seat(&self, worker: Option<WorkerId>) {
        // SAFETY: no pool can be created on this port, so no memory depends on it.
        unsafe { self.set_current(worker) }
    }

    fn has(&self, fault: Fault) -> bool {
        self.fault == Some(fault)
    }
}

impl Unpark for Host {
    fn unpark(&self, worker: WorkerId) {
        let other = u32::from(self.has(Fault::Misdirected));
        let permit = &self.permits[(worker.0 ^ other) as usize];
        let call = self.calls.fetch_add(1, SeqCst);
        let mut state = permit.state();
        let is_lost = (self.has(Fault::NotSticky) && !state.is_parked)
            || (self.has(Fault::NeedsThread) && !state.is_thread)
            || (self.has(Fault::Forgetful) && call % 100 == 99);
        state.is_given |= !is_lost;
        permit.changed.notify_all();
    }
}

impl Park for Host {
    fn park(&self, worker: WorkerId) {
        let permit = &self.permits[worker.index()];
        let mut state = permit.state();
        state.is_parked = true;
        let parked = permit.changed.wait_while(state, |state| !state.is_given);
        let mut state = parked.unwrap_or_else(PoisonError::into_inner);
        (state.is_given, state.is_parked) = (false, false);
    }
}

// SAFETY: not met by intent where there is a fault; no pool can be created on this port.
unsafe impl Thread for Host {
    fn current(&self) -> Option<WorkerId> {
        if self.has(Fault::OneForAll) {
            return *self.seat.lock().unwrap_or_else(PoisonError::into_inner);
        }
        let any = self.has(Fault::AnyPort);
        let mine = |seats: &Vec<(u64, WorkerId)>| {
            let seat = seats.iter().find(|(port, _)| any || *port == self.number);
            seat.map(|(_, worker)| *worker)
        };
        SEATS.with_borrow(mine)
    }

    unsafe fn set_current(&self, worker: Option<WorkerId>) {
        *self.seat.lock().unwrap_or_else(PoisonError::into_inner) = worker;
        if let Some(worker) = worker {
            self.permits[worker.index()].state().is_thread = true;
        }
        SEATS.with_borrow_mut(|seats| {
            let forgets = self.has(Fault::NotNested);
            seats.retain(|(port, _)| *port != self.number && !forgets);
            seats.extend(worker.map(|worker| (self.number, worker)));
        });
    }

    fn stack_floor(&self) -> usize {
        match self.fault {
            Some(Fault::FloorTooHigh) => usize::MAX,
            _ => 0,
        }
    }

    fn on_more_stack(&self, body: &mut dyn FnMut()) {
        match self.fault {
            Some(Fault::Never) => {}
            Some(Fault::Twice) => (0..2).for_each(|_| body()),
            Some(Fault::Elsewhere) => {
                let body = AssertSend(body);
                thread::scope(|scope| {
                    scope.spawn(move || body.call());
                });
            }
            _ => body(),
        }
    }
}

struct AssertSend<'a>(&'a mut dyn FnMut());

// SAFETY: used by one thread at a time: the one that lent the body waits until the other has ended.
unsafe impl Send for AssertSend<'_> {}

impl AssertSend<'_> {
    fn call(self) {
        (self.0)();
    }
}

impl Clock for Host {
    fn now(&self) -> u64 {
        let call = self.calls.fetch_add(1, SeqCst);
        let now = self.origin.elapsed().as_nanos() as u64;
        match self.fault {
            Some(Fault::StandsStill) => 7,
            Some(Fault::RunsBackwards) if call == 5000 => now / 2,
            // Slow, not fast: a preemption between two readings makes any clock seem slower.
            Some(Fault::WrongRate) => now - now / 4,
            _ => now,
        }
    }
}

// SAFETY: `catch_unwind` does not unwind; where it is not used, that is the fault, and no pool can
// be created on this port.
unsafe impl Unwind for Host {
    type Payload = Box<dyn Any + Send>;

    fn catch<R>(&self, body: impl FnOnce() -> R) -> Result<R, Self::Payload> {
        match self.fault {
            Some(Fault::Unwinds) => Ok(body()),
            Some(Fault::OtherPayload) => {
                catch_unwind(AssertUnwindSafe(body)).map_err(|_| Box::new(()) as _)
            }
            _ => catch_unwind(AssertUnwindSafe(body)),
        }
    }

    fn resume(&self, payload: Self::Payload) -> ! {
        resume_unwind(payload)
    }
}

/// Returns the message of a panic with a `String`.
pub fn message(payload: &Box<dyn Any + Send>) -> Option<String> {
    payload.downcast_ref::<String>().cloned()
}

pub(super) fn broken() -> Vec<Broken> {
    use Fault::*;
    let judged = |suite, faults: &[Fault], judge: fn(Fault)| {
        let broken = |fault| Broken::new(suite, fault, move || judge(fault));
        faults.iter().copied().map(broken).collect::<Vec<_>>()
    };
    [
        judged(
            ("Park", "parks"),
            &[NotSticky, NeedsThread, Misdirected, Forgetful],
            |fault| parks(&Threads, move || Host::new(Some(fault)), Host::seat),
        ),
        judged(
            ("Thread", "seats"),
            &[OneForAll, AnyPort, NotNested],
            |fault| {
                seats(&Threads, || Host::new(Some(fault)), Host::seat);
            },
        ),
        judged(
            ("Thread", "grows"),
            &[Twice, Never, Elsewhere, FloorTooHigh],
            |fault| grows(&Host::new(Some(fault)), Host::seat, 1 << 16),
        ),
        judged(("Clock", "ticks"), &[RunsBackwards, StandsStill], |fault| {
            ticks(&Host::new(Some(fault)), || ());
        }),
        judged(("Clock", "keeps_time"), &[WrongRate], |fault| {
            keeps_time(&Threads, &Host::new(Some(fault)));
        }),
        judged(("Unwind", "unwinds"), &[Unwinds, OtherPayload], |fault| {
            unwinds(&Host::new(Some(fault)), message);
        }),
    ]
    .into_iter()
    .flatten()
    .collect()
}
