//! Parking on a node: spin for about what a wake-up costs, which is measured at each, then sleep.
//!
//! The permit is [`Permit`], which loom has checked; sleeping is `std::thread::park`, whose token
//! is sticky too.

use std::io;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};
use tautline_core::sync::Permit;

/// The assumed cost of a wake-up before one has been measured.
const FIRST_GUESS_NS: u64 = 50_000;

/// The largest cost of a wake-up that is believed; beyond, the sleeper or its waker waited for a
/// processor.
const WAKE_NS: RangeInclusive<u64> = 2_000..=200_000;

/// The weight of a new measurement is one part in this many.
const MEMORY: u64 = 4;

/// A clock and a thread that can sleep: those of the system, or of a test in virtual time.
pub(crate) trait Ground {
    /// Returns the time in nanoseconds since some moment; for any thread.
    fn now_ns(&self) -> u64;

    /// Blocks the calling thread, the owner, until [`wake`](Self::wake) has been called since the
    /// last return. May return spuriously.
    fn sleep(&self);

    /// As [`sleep`](Self::sleep), for at most about this long.
    fn sleep_at_most(&self, limit: Duration);

    /// Wakes the owner, or makes its next sleep return at once.
    fn wake(&self);
}

/// The system's clock, and the token of `std::thread::park`.
#[derive(Debug)]
pub(crate) struct System {
    owner: Mutex<Option<Thread>>,
    origin: Instant,
}

impl Default for System {
    fn default() -> Self {
        Self {
            owner: Mutex::default(),
            origin: Instant::now(),
        }
    }
}

impl Ground for System {
    fn now_ns(&self) -> u64 {
        self.origin.elapsed().as_nanos() as u64
    }

    fn sleep(&self) {
        thread::park();
    }

    fn sleep_at_most(&self, limit: Duration) {
        thread::park_timeout(limit);
    }

    fn wake(&self) {
        if let Some(owner) = &*self.owner.lock().expect("held only to name") {
            owner.unpark();
        }
    }
}

/// A worker's permit.
#[derive(Debug)]
pub(crate) struct Parker<G = System> {
    permit: Permit,
    ground: G,
    /// The time at which its owner was last woken; written by the wakers.
    called_ns: AtomicU64,
    /// The cost of a wake-up, a running mean; written by the owner.
    wake_ns: AtomicU64,
}

impl Default for Parker {
    fn default() -> Self {
        Self::on(System::default())
    }
}

impl Parker {
    /// Names the thread that parks here. Must precede its first sleep.
    pub(crate) fn belongs_to(&self, thread: Thread) {
        *self.ground.owner.lock().expect("held only to name") = Some(thread);
    }
}

impl<G: Ground> Parker<G> {
    /// Creates a parker without a permit.
    pub(crate) fn on(ground: G) -> Self {
        Self {
            permit: Permit::new(),
            ground,
            called_ns: AtomicU64::new(0),
            wake_ns: AtomicU64::new(FIRST_GUESS_NS),
        }
    }

    /// Puts the owner to sleep until the permit is available, takes it, and measures what waking up
    /// cost.
    pub(crate) fn sleep(&self) {
        let mut slept = false;
        while !self.permit.try_take() {
            self.ground.sleep();
            slept = true;
        }
        if slept {
            self.measure();
        }
    }

    /// As [`sleep`](Self::sleep), for at most about `limit`. Returns whether that has elapsed,
    /// without the permit.
    pub(crate) fn sleep_at_most(&self, limit: Duration) -> bool {
        let (start, limit) = (self.now_ns(), limit.as_nanos() as u64);
        let mut slept = false;
        while !self.permit.try_take() {
            let left = limit.saturating_sub(self.now_ns() - start);
            if left == 0 {
                return true;
            }
            self.ground.sleep_at_most(Duration::from_nanos(left));
            slept = true;
        }
        if slept {
            self.measure();
        }
        false
    }

    /// Measures the cost of the wake-up that has just ended a sleep.
    fn measure(&self) {
        // ORDERING: Relaxed: the permit came after; a time of another wake-up is a valid time, too.
        let called = self.called_ns.load(Ordering::Relaxed);
        let cost = self.now_ns().saturating_sub(called);
        let cost = cost.clamp(*WAKE_NS.start(), *WAKE_NS.end());
        let mean = (self.wake_ns() * (MEMORY - 1) + cost) / MEMORY;
        // ORDERING: Relaxed: the number publishes nothing else.
        self.wake_ns.store(mean, Ordering::Relaxed);
    }

    /// Returns when the owner was unparked last, as a hint.
    pub(crate) fn called_ns(&self) -> u64 {
        // ORDERING: Relaxed: a hint.
        self.called_ns.load(Ordering::Relaxed)
    }

    /// Returns the cost of a wake-up of the owner, in nanoseconds.
    pub(crate) fn wake_ns(&self) -> u64 {
        // ORDERING: Relaxed: the number publishes nothing else.
        self.wake_ns.load(Ordering::Relaxed)
    }

    /// Makes the permit available.
    pub(crate) fn unpark(&self) {
        // ORDERING: Relaxed: see sleep.
        self.called_ns.store(self.now_ns(), Ordering::Relaxed);
        self.permit.give();
        self.ground.wake();
    }

    /// Returns the time in nanoseconds since the parker was made or before.
    pub(crate) fn now_ns(&self) -> u64 {
        self.ground.now_ns()
    }
}

/// The time for which a sleeper is left alone before it is woken, so that its processor sleeps,
/// too.
const SOUND_SLEEP: Duration = Duration::from_millis(1);

/// Measures `times` times the delay until a thread that sleeps in its parker runs again,
/// where the thread has slept for long before.
///
/// # Errors
/// A thread that the system would not start.
pub fn wakes(times: usize) -> io::Result<Vec<Duration>> {
    let parker: Parker = Parker::default();
    let shared = Arc::new((parker, Mutex::new(Vec::with_capacity(times))));
    let of_sleeper = Arc::clone(&shared);
    // The type of what the threads of a pool run, so that their start is compiled once.
    let sleep: Box<dyn FnOnce() + Send> = Box::new(move || {
        let (parker, woken) = &*of_sleeper;
        for _ in 0..times {
            parker.sleep();
            woken
                .lock()
                .expect("held only to store")
                .push(Instant::now());
        }
    });
    let sleeper = thread::Builder::new().spawn(sleep)?;
    let (parker, woken) = &*shared;
    parker.belongs_to(sleeper.thread().clone());
    let mut latencies = Vec::with_capacity(times);
    for round in 0..times {
        // A sleep, since the system reports no event once a parked thread's processor is idle.
        thread::sleep(SOUND_SLEEP);
        let called = Instant::now();
        parker.unpark();
        let at = loop {
            match woken.lock().expect("held only to store").get(round) {
                Some(&at) => break at,
                None => thread::yield_now(),
            }
        };
        latencies.push(at.saturating_duration_since(called));
    }
    sleeper.join().expect("it only sleeps");
    Ok(latencies)
}
