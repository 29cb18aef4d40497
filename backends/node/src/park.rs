//! Parking on a node: spin for about what a wake-up costs, which is measured at each, then sleep.
//!
//! The permit is [`Permit`], which loom has checked; sleeping is `std::thread::park`, whose token is
//! sticky too.

use std::io;
use std::ops::RangeInclusive;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};
use tautline_core::port::Relax;
use tautline_core::sync::Permit;

/// What a wake-up is taken to cost before one has been measured.
const FIRST_GUESS_NS: u64 = 50_000;

/// What a wake-up can cost; beyond, the sleeper waited for a processor, or its caller did.
const WAKE_NS: RangeInclusive<u64> = 2_000..=200_000;

/// A new measurement counts one part in so many.
const MEMORY: u64 = 4;

/// Turns of pure spinning before the processor is offered to others.
pub(crate) const SPIN_TURNS: u32 = 128;

/// One worker's permit.
#[derive(Debug)]
pub(crate) struct Parker {
    permit: Permit,
    owner: Mutex<Option<Thread>>,
    origin: Instant,
    /// When it was last called; written by the callers.
    called_ns: AtomicU64,
    /// What a wake-up costs, a running mean; written by the owner.
    wake_ns: AtomicU64,
}

impl Default for Parker {
    fn default() -> Self {
        Self {
            permit: Permit::new(),
            owner: Mutex::default(),
            origin: Instant::now(),
            called_ns: AtomicU64::new(0),
            wake_ns: AtomicU64::new(FIRST_GUESS_NS),
        }
    }
}

impl Parker {
    /// Names the thread that will park here. Before it parks.
    pub(crate) fn belongs_to(&self, thread: Thread) {
        *self.owner.lock().expect("held only to name") = Some(thread);
    }

    /// Blocks the owner until there is a permit, and takes it: spins for as long as a wake-up costs, so that
    /// no wait costs more than twice what it must, then sleeps.
    pub(crate) fn park(&self, relax: &impl Relax) {
        let (start, patience) = (Instant::now(), Duration::from_nanos(self.wake_ns()));
        for turn in 0.. {
            if self.permit.try_take() {
                return;
            }
            if turn % 16 == 15 && start.elapsed() > patience {
                break;
            }
            relax.relax(turn);
        }
        self.sleep();
    }

    /// Puts the owner to sleep until there is a permit, takes it, and measures what waking up cost.
    pub(crate) fn sleep(&self) {
        let mut slept = false;
        while !self.permit.try_take() {
            thread::park();
            slept = true;
        }
        if slept {
            // ORDERING: Relaxed: the permit came after; a time that is off by a call is a time all the same.
            let called = self.called_ns.load(Ordering::Relaxed);
            let cost = self.now_ns().saturating_sub(called);
            let cost = cost.clamp(*WAKE_NS.start(), *WAKE_NS.end());
            let mean = (self.wake_ns() * (MEMORY - 1) + cost) / MEMORY;
            // ORDERING: Relaxed: a number on its own.
            self.wake_ns.store(mean, Ordering::Relaxed);
        }
    }

    /// What a wake-up of the owner costs, in nanoseconds.
    pub(crate) fn wake_ns(&self) -> u64 {
        // ORDERING: Relaxed: a number on its own.
        self.wake_ns.load(Ordering::Relaxed)
    }

    /// Gives the permit.
    pub(crate) fn unpark(&self) {
        // ORDERING: Relaxed: see sleep.
        self.called_ns.store(self.now_ns(), Ordering::Relaxed);
        self.permit.give();
        if let Some(owner) = &*self.owner.lock().expect("held only to name") {
            owner.unpark();
        }
    }

    fn now_ns(&self) -> u64 {
        self.origin.elapsed().as_nanos() as u64
    }
}

/// Spins a little, then offers the processor to others.
pub(crate) fn relax(turn: u32) {
    if turn < SPIN_TURNS {
        std::hint::spin_loop()
    } else {
        thread::yield_now()
    }
}

/// How long a sleeper is left alone before it is woken, so that its processor sleeps too.
const SOUND_SLEEP: Duration = Duration::from_millis(1);

/// How long it takes each of `times` times until a thread that sleeps in its parker runs again, with the
/// thread asleep for long before.
///
/// # Errors
/// A thread that the system would not start.
pub fn wakes(times: usize) -> io::Result<Vec<Duration>> {
    let (parker, woken) = (Parker::default(), Mutex::new(Vec::with_capacity(times)));
    thread::scope(|scope| {
        let sleeper = || {
            for _ in 0..times {
                parker.sleep();
                woken
                    .lock()
                    .expect("held only to store")
                    .push(Instant::now());
            }
        };
        let sleeper = thread::Builder::new().spawn_scoped(scope, sleeper)?;
        parker.belongs_to(sleeper.thread().clone());
        let mut latencies = Vec::with_capacity(times);
        for round in 0..times {
            // What is measured is waking a thread that has slept for long: not to wait for something.
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
        Ok(latencies)
    })
}
