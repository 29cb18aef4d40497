//! Choice of the threads that run turns, on one thread: a driver whose waits and parks act as other
//! threads would.

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use tautline_core::port::{Clock, Relax};
use tautline_core::progress::{Driver, Pace, Pending, Progress};

/// The acts of a test in place of a turn, a wait or a park, and the calls.
struct Scripted<'a> {
    exchange: Act<'a, bool>,
    wait: Act<'a, Option<bool>>,
    park: Act<'a, ()>,
    calls: RefCell<Vec<&'static str>>,
    now: Cell<u64>,
}

type Act<'a, R> = Box<dyn Fn() -> R + 'a>;

impl Scripted<'_> {
    fn new() -> Self {
        Self {
            exchange: Box::new(|| false),
            wait: Box::new(|| Some(false)),
            park: Box::new(|| ()),
            calls: RefCell::default(),
            now: Cell::new(0),
        }
    }

    fn called(&self, what: &'static str) {
        self.calls.borrow_mut().push(what);
    }

    fn calls(&self) -> Vec<&'static str> {
        self.calls.take()
    }
}

impl Clock for Scripted<'_> {
    fn now(&self) -> u64 {
        self.now.replace(self.now.get() + 1)
    }
}

impl Relax for Scripted<'_> {
    fn relax(&self, _: u32) {
        self.called("relax");
    }

    fn yield_now(&self, _: u32) {
        self.called("yield");
    }
}

impl Driver for Scripted<'_> {
    fn exchange(&self) -> bool {
        self.called("turn");
        (self.exchange)()
    }

    fn step(&self) -> bool {
        self.called("step");
        true
    }

    fn flush(&self) {
        self.called("flush");
    }

    fn wait(&self, _: u64) -> Option<bool> {
        self.called("wait");
        (self.wait)()
    }

    fn park(&self, _: u64) {
        self.called("park");
        (self.park)();
    }

    fn unpark(&self) {
        self.called("unpark");
    }

    fn contain<R>(&self, turn: impl FnOnce() -> R) -> Option<R> {
        catch_unwind(AssertUnwindSafe(turn)).ok()
    }
}

/// Three polls between two readings of the clock, which advances with each.
const PACE: Pace = Pace {
    polling: 2,
    polls: 3,
    dedicated: 2,
    take_over: 1,
    look: 1,
};

fn progress() -> (Progress, Arc<AtomicUsize>) {
    let rings = Arc::new(AtomicUsize::new(0));
    let bell = Arc::clone(&rings);
    let ring = move || _ = bell.fetch_add(1, Relaxed);
    (Progress::new(Arc::new(ring), PACE), rings)
}

#[test]
fn a_turn_steps_the_workers_if_they_are_due() {
    let (progress, rings) = progress();
    let driver = Scripted::new();
    assert!(!progress.turn(&driver));
    assert_eq!(driver.calls(), ["turn"]);
    progress.set_due();
    assert_eq!(rings.load(Relaxed), 0);
    assert!(progress.look(&driver) && !progress.look(&driver));
    assert_eq!(driver.calls(), ["turn", "step", "flush", "turn"]);
}

#[test]
fn a_notification_rings_unless_the_progress_thread_is_away() {
    let (progress, rings) = progress();
    let mut driver = Scripted::new();
    driver.park = Box::new(|| {
        progress.notify();
        assert_eq!(rings.load(Relaxed), 0, "it is away");
    });
    driver.wait = Box::new(|| {
        progress.notify();
        assert_eq!(rings.load(Relaxed), 1, "it waits for the bell");
        progress.end(false, &Scripted::new());
        Some(false)
    });
    // Another thread runs turns, and then does no more.
    progress.turn(&Scripted::new());
    progress.run(&driver, || driver.called("attend"));
    let calls = driver.calls();
    assert_eq!(calls[..2], ["attend", "park"]);
    let then = ["attend", "step", "flush", "wait", "step", "flush"];
    assert_eq!(calls[2..], then);
    assert!(progress.ends() && !progress.has_panicked());
}

/// After the channels have ended, a wait for the bell returns at once.
#[test]
fn a_progress_thread_without_channels_is_parked() {
    let (progress, _) = progress();
    let mut driver = Scripted::new();
    driver.wait = Box::new(|| None);
    driver.park = Box::new(|| progress.end(false, &Scripted::new()));
    progress.run(&driver, || ());
    assert_eq!(driver.calls(), ["wait", "park"]);
}

#[test]
fn a_thread_that_hands_over_is_not_waited_for() {
    let (progress, _) = progress();
    let mut driver = Scripted::new();
    driver.wait = Box::new(|| {
        progress.end(true, &Scripted::new());
        Some(true)
    });
    progress.turn(&Scripted::new());
    progress.hand_over(&driver);
    assert_eq!(driver.calls(), ["unpark"]);
    progress.run(&driver, || ());
    assert_eq!(driver.calls(), ["wait"]);
    assert!(progress.has_panicked());
}

#[test]
fn a_waiting_thread_polls_and_hands_over_if_nothing_moves() {
    let (progress, _) = progress();
    let driver = Scripted::new();
    progress.poll_until(&driver, || false);
    let calls = driver.calls();
    // The clock is read for the first time after three polls: from then on it waits for two more
    // ticks.
    for (three, then) in calls.chunks(6).zip(["yield", "yield", "unpark"]) {
        assert_eq!(three, ["turn", "relax", "turn", "relax", "turn", then]);
    }
    assert_eq!(calls.len(), 18);
}

#[test]
fn a_waiting_thread_polls_on_while_something_moves() {
    let (progress, _) = progress();
    let mut driver = Scripted::new();
    driver.exchange = Box::new(|| true);
    let turns = Cell::new(0);
    progress.poll_until(&driver, || turns.replace(turns.get() + 1) == 20);
    assert_eq!(driver.calls(), ["turn"; 20]);
}

/// The other one hands over for it.
#[test]
fn a_thread_that_finds_another_one_polling_runs_no_turns() {
    let (progress, _) = progress();
    let other = Scripted::new();
    let mut driver = Scripted::new();
    driver.exchange = Box::new(|| {
        progress.poll_until(&other, || false);
        true
    });
    let turns = Cell::new(0);
    progress.poll_until(&driver, || turns.replace(turns.get() + 1) == 1);
    assert_eq!(other.calls(), ["yield"; 2]);
}

#[test]
fn a_turn_that_panics_lets_others_poll() {
    let (progress, _) = progress();
    let mut driver = Scripted::new();
    driver.exchange = Box::new(|| std::panic::resume_unwind(Box::new(())));
    let turns = Cell::new(0);
    progress.poll_until(&driver, || turns.replace(turns.get() + 1) == 2);
    assert_eq!(driver.calls(), ["turn"; 2]);
}

#[test]
fn a_dedicated_thread_alone_runs_turns() {
    let (progress, rings) = progress();
    let driver = Scripted::new();
    assert!(!progress.delegate());
    progress.dedicate(true, &driver);
    assert_eq!(
        (driver.calls(), rings.swap(0, Relaxed)),
        (vec!["unpark"], 1)
    );
    progress.poll_until(&driver, || false);
    assert!(!progress.look(&driver) && progress.delegate());
    assert_eq!(rings.swap(0, Relaxed), 1, "it may not have noticed yet");
    let mut looks = 0;
    progress.run(&driver, || {
        looks += 1;
        if looks == 2 {
            assert!(progress.delegate());
            assert_eq!(rings.load(Relaxed), 0, "it polls");
            progress.end(false, &Scripted::new());
        }
    });
    let calls = driver.calls();
    let first = ["turn", "step", "flush", "turn", "relax", "yield"];
    assert_eq!((&calls[..6], &calls[6..]), (&first[..], &first[..]));
}

#[test]
fn operations_are_pending_until_they_are_dropped() {
    let (progress, rings) = progress();
    let progress = Arc::new(progress);
    let both = [0, 1].map(|_| Pending::new(&progress));
    assert!(progress.is_pending());
    drop(both);
    assert!(!progress.is_pending() && !progress.take_given_up());
    progress.give_up();
    assert_eq!(rings.load(Relaxed), 1);
    assert!(progress.take_given_up() && !progress.take_given_up());
}
