//! The capabilities of a worker's machine: right ones of the standard library, and each with a
//! fault.

use super::catches;
use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::sync::{Condvar, Mutex};
use std::thread;
use std::time::Instant;
use tautline_core::WorkerId;
use tautline_core::port::{Barrier, Clock, Line, Park, Thread, Unpark, Unwind};
use tautline_verify::conform::{grows, keeps_time, meets, parks, seats, ticks, unwinds};
use tautline_verify::phased::Lines;

/// What a [`Host`] does wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    Nothing,
    /// An unpark before the park has no effect.
    NotSticky,
    /// An unpark before a thread is the worker has no effect.
    NeedsThread,
    /// An unpark reaches the other worker.
    Misdirected,
    /// One unpark in a hundred is lost.
    Forgetful,
    /// The worker is that of the process.
    OneForAll,
    /// Workers of one port are taken for those of another.
    AnyPort,
    /// A seat is lost when another one is taken.
    NotNested,
    Twice,
    Never,
    Elsewhere,
    FloorTooHigh,
    RunsBackwards,
    StandsStill,
    WrongRate,
    Unwinds,
    OtherPayload,
}

struct Host {
    fault: Fault,
    number: u64,
    permits: [Permit; 2],
    origin: Instant,
    count: AtomicU64,
}

#[derive(Default)]
struct Permit {
    is_given: Mutex<bool>,
    /// Whether its worker is a thread, and sleeps.
    sleeps: Mutex<(bool, bool)>,
    changed: Condvar,
}

thread_local! {
    static SEATS: RefCell<Vec<(u64, WorkerId)>> = const { RefCell::new(Vec::new()) };
}
static SEAT: AtomicU64 = AtomicU64::new(u64::MAX);

impl Host {
    fn new(fault: Fault) -> Self {
        static NUMBERS: AtomicU64 = AtomicU64::new(0);
        Self {
            fault,
            number: NUMBERS.fetch_add(1, SeqCst),
            permits: Default::default(),
            origin: Instant::now(),
            count: AtomicU64::new(0),
        }
    }

    fn has(&self, fault: Fault) -> bool {
        self.fault == fault
    }
}

impl Unpark for Host {
    fn unpark(&self, worker: WorkerId) {
        let other = u32::from(self.has(Fault::Misdirected));
        let permit = &self.permits[(worker.0 ^ other) as usize];
        let (is_thread, sleeps) = *permit.sleeps.lock().unwrap();
        let count = self.count.fetch_add(1, SeqCst);
        if (self.has(Fault::NotSticky) && !sleeps)
            || (self.has(Fault::NeedsThread) && !is_thread)
            || (self.has(Fault::Forgetful) && count % 100 == 99)
        {
            return;
        }
        *permit.is_given.lock().unwrap() = true;
        permit.changed.notify_all();
    }
}

impl Park for Host {
    fn park(&self, worker: WorkerId) {
        let permit = &self.permits[worker.index()];
        permit.sleeps.lock().unwrap().1 = true;
        let mut is_given = permit.is_given.lock().unwrap();
        while !*is_given {
            is_given = permit.changed.wait(is_given).unwrap();
        }
        *is_given = false;
        drop(is_given);
        permit.sleeps.lock().unwrap().1 = false;
    }
}

// SAFETY: for the suites only, which use no pool; the faults are the purpose.
unsafe impl Thread for Host {
    fn current(&self) -> Option<WorkerId> {
        if self.has(Fault::OneForAll) {
            let seat = SEAT.load(SeqCst);
            return u32::try_from(seat).ok().map(WorkerId);
        }
        let any = self.has(Fault::AnyPort);
        let mine = |seats: &Vec<(u64, WorkerId)>| {
            let seat = seats.iter().find(|(port, _)| any || *port == self.number);
            seat.map(|(_, worker)| *worker)
        };
        SEATS.with_borrow(mine)
    }

    unsafe fn set_current(&self, worker: Option<WorkerId>) {
        SEAT.store(worker.map_or(u64::MAX, |w| u64::from(w.0)), SeqCst);
        if let Some(worker) = worker {
            self.permits[worker.index()].sleeps.lock().unwrap().0 = true;
        }
        SEATS.with_borrow_mut(|seats| {
            let forget = self.has(Fault::NotNested);
            seats.retain(|(port, _)| *port != self.number && !forget);
            seats.extend(worker.map(|w| (self.number, w)));
        });
    }

    fn stack_floor(&self) -> usize {
        if self.has(Fault::FloorTooHigh) {
            usize::MAX
        } else {
            0
        }
    }

    fn on_more_stack(&self, body: &mut dyn FnMut()) {
        match self.fault {
            Fault::Never => {}
            Fault::Twice => (0..2).for_each(|_| body()),
            Fault::Elsewhere => {
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
// SAFETY: the thread that made it waits meanwhile.
unsafe impl Send for AssertSend<'_> {}

impl AssertSend<'_> {
    fn call(self) {
        (self.0)();
    }
}

impl Clock for Host {
    fn now(&self) -> u64 {
        let count = self.count.fetch_add(1, SeqCst);
        let now = self.origin.elapsed().as_nanos() as u64;
        match self.fault {
            Fault::StandsStill => 7,
            Fault::RunsBackwards if count == 5000 => now / 2,
            Fault::WrongRate => now + now / 4,
            _ => now,
        }
    }
}

// SAFETY: `catch_unwind` does not unwind; where it is not used, that is the fault.
unsafe impl Unwind for Host {
    type Payload = Box<dyn Any + Send>;

    fn catch<R>(&self, body: impl FnOnce() -> R) -> Result<R, Self::Payload> {
        match self.fault {
            Fault::Unwinds => Ok(body()),
            Fault::OtherPayload => {
                catch_unwind(AssertUnwindSafe(body)).map_err(|_| Box::new(()) as _)
            }
            _ => catch_unwind(AssertUnwindSafe(body)),
        }
    }

    fn resume(&self, payload: Self::Payload) -> ! {
        resume_unwind(payload)
    }
}

fn seat(port: &Host, worker: Option<WorkerId>) {
    // SAFETY: there is no pool.
    unsafe { port.set_current(worker) }
}

fn message(payload: &Box<dyn Any + Send>) -> Option<String> {
    payload.downcast_ref::<String>().cloned()
}

#[test]
fn the_standard_library_conforms() {
    let right = || Host::new(Fault::Nothing);
    parks(right, seat);
    seats(&right(), &right(), seat);
    grows(&right(), 1 << 20);
    ticks(&right(), std::hint::spin_loop);
    keeps_time(&right());
    unwinds(&right(), message);
    meets(&Lines::default(), 4, |_, body| body());
}

#[test]
fn parks_that_miss_their_permit_are_seen() {
    use Fault::{Forgetful, Misdirected, NeedsThread, NotSticky};
    // At the same time, since each is seen by a wait that does not end.
    thread::scope(|scope| {
        for fault in [NotSticky, NeedsThread, Misdirected, Forgetful] {
            let suite = move || parks(move || Host::new(fault), seat);
            scope.spawn(move || catches(&format!("{fault:?}"), suite));
        }
    });
}

/// One test, since one of the faults concerns the process.
#[test]
fn threads_that_are_taken_for_others_are_seen() {
    for fault in [Fault::OneForAll, Fault::AnyPort, Fault::NotNested] {
        let (port, other) = (Host::new(fault), Host::new(fault));
        catches(&format!("{fault:?}"), || seats(&port, &other, seat));
        SEATS.with_borrow_mut(Vec::clear);
    }
    for fault in [
        Fault::Twice,
        Fault::Never,
        Fault::Elsewhere,
        Fault::FloorTooHigh,
    ] {
        catches(&format!("{fault:?}"), || grows(&Host::new(fault), 1 << 16));
    }
}

#[test]
fn clocks_that_go_wrong_are_seen() {
    for fault in [Fault::RunsBackwards, Fault::StandsStill] {
        catches(&format!("{fault:?}"), || ticks(&Host::new(fault), || ()));
    }
    catches("a wrong rate", || keeps_time(&Host::new(Fault::WrongRate)));
}

#[test]
fn panics_that_are_not_caught_whole_are_seen() {
    for fault in [Fault::Unwinds, Fault::OtherPayload] {
        catches(&format!("{fault:?}"), || {
            unwinds(&Host::new(fault), message)
        });
    }
}

/// A barrier with a fault around a right one.
struct Broken {
    lines: Lines,
    fault: Wrong,
    calls: AtomicUsize,
}

thread_local! {
    static ARRIVALS: Cell<usize> = const { Cell::new(0) };
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wrong {
    /// Completes for each third thread that asks.
    Early,
    /// Does not complete when a thread leaves.
    LeaveIgnored,
    /// The line can be claimed twice.
    ClaimedTwice,
    /// It cannot be claimed again.
    KeptForEver,
    /// From the tenth phase on, threads do not wait for each other.
    ForgetsPhases,
}

impl Barrier for Broken {
    fn lines(&self) -> usize {
        self.lines.lines()
    }

    fn claim(&self) -> Option<Line> {
        let line = self.lines.claim();
        line.or((self.fault == Wrong::ClaimedTwice).then_some(Line(0)))
    }

    fn give_back(&self, line: Line) {
        if self.fault != Wrong::KeptForEver {
            self.lines.give_back(line);
        }
    }

    fn include(&self, line: Line) {
        self.lines.include(line);
    }

    fn exclude(&self, line: Line) {
        if self.fault != Wrong::LeaveIgnored {
            self.lines.exclude(line);
        }
    }

    fn arrive(&self, line: Line) {
        ARRIVALS.set(ARRIVALS.get() + 1);
        self.lines.arrive(line);
    }

    fn is_done(&self, line: Line) -> bool {
        let is_early = match self.fault {
            Wrong::Early => self.calls.fetch_add(1, SeqCst) % 3 == 2,
            Wrong::ForgetsPhases => ARRIVALS.get() > 10,
            _ => false,
        };
        is_early || self.lines.is_done(line)
    }
}

#[test]
fn barriers_that_do_not_hold_are_seen() {
    use Wrong::{ClaimedTwice, Early, ForgetsPhases, KeptForEver, LeaveIgnored};
    for fault in [
        Early,
        LeaveIgnored,
        ClaimedTwice,
        KeptForEver,
        ForgetsPhases,
    ] {
        let broken = Broken {
            lines: Lines::default(),
            fault,
            calls: AtomicUsize::new(0),
        };
        catches(&format!("{fault:?}"), || {
            meets(&broken, 3, |_, body| body())
        });
    }
}
