//! Parking on a node: spin for about one wake-up, then sleep.
//!
//! The permit is [`Permit`], which loom has checked; sleeping is `std::thread::park`, whose token is
//! sticky too.

use std::io;
use std::sync::{Mutex, OnceLock};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};
use tautline_core::port::Relax;
use tautline_core::sync::Permit;

/// How long to spin before sleeping: one wake-up of an idle processor, so that a short wait never
/// costs more than twice what it must. Measured 37 µs on a virtual machine, more than on bare metal.
const SPIN_BEFORE_SLEEP: Duration = Duration::from_micros(50);

/// Turns of pure spinning before the processor is offered to others.
const SPIN_TURNS: u32 = 128;

/// One thread's permit.
#[derive(Debug, Default)]
pub(crate) struct Parker {
    permit: Permit,
    thread: OnceLock<Thread>,
}

impl Parker {
    /// Names the thread that will park here. Before anybody parks or unparks.
    pub(crate) fn belongs_to(&self, thread: Thread) {
        self.thread.set(thread).expect("a parker has one owner");
    }

    /// Blocks the owner until there is a permit, and takes it.
    pub(crate) fn park(&self, relax: &impl Relax) {
        let start = Instant::now();
        for turn in 0.. {
            if self.permit.try_take() {
                return;
            }
            if turn % 16 == 15 && start.elapsed() > SPIN_BEFORE_SLEEP {
                break;
            }
            relax.relax(turn);
        }
        while !self.permit.try_take() {
            thread::park();
        }
    }

    /// Gives the permit.
    pub(crate) fn unpark(&self) {
        self.permit.give();
        self.thread
            .get()
            .expect("parkers are named before the start")
            .unpark();
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
                parker.park(&Yielding);
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
            thread::sleep(20 * SPIN_BEFORE_SLEEP);
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

/// Waiting as workers do.
struct Yielding;

impl Relax for Yielding {
    fn relax(&self, turn: u32) {
        relax(turn);
    }
}
