//! Threads as harts, condition variables as their wake-up bits.

use std::cell::Cell;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tautline_core::port::{Clock, Relax};
use tautline_manycore::Board;

const NS_A_TICK: u64 = 100;

thread_local! {
    static HART: Cell<usize> = const { Cell::new(0) };
}

/// Makes the calling thread this hart.
pub(crate) fn be(hart: usize) {
    HART.set(hart);
}

#[derive(Debug, Default)]
struct Bit {
    is_set: Mutex<bool>,
    changed: Condvar,
}

/// A board of threads, whose ticks are of 0.1 microseconds, as those of many boards.
#[derive(Debug)]
pub(crate) struct Threads {
    origin: Instant,
    bits: Vec<Bit>,
}

impl Threads {
    pub(crate) fn new(harts: usize) -> Self {
        Self {
            origin: Instant::now(),
            bits: (0..harts).map(|_| Bit::default()).collect(),
        }
    }
}

impl Clock for Threads {
    fn now(&self) -> u64 {
        self.origin.elapsed().as_nanos() as u64 / NS_A_TICK
    }

    fn ticks_per_second(&self) -> f64 {
        1e9 / NS_A_TICK as f64
    }
}

impl Relax for Threads {
    fn relax(&self, turn: u32) {
        self.doze(turn);
    }
}

// SAFETY: each thread of a test has a distinct hart; the limits of the stack are those provided.
unsafe impl Board for Threads {
    const REST_TICKS: u64 = 200;
    const WAKE_TICKS: u64 = 200;

    fn hart(&self) -> usize {
        HART.get()
    }

    fn ring(&self, hart: usize) {
        let bit = &self.bits[hart];
        *bit.is_set.lock().unwrap_or_else(PoisonError::into_inner) = true;
        bit.changed.notify_one();
    }

    fn rest(&self, within: Option<u64>) {
        let bit = &self.bits[HART.get()];
        let is_set = bit.is_set.lock().unwrap_or_else(PoisonError::into_inner);
        // A test that hangs must fail: no wait here takes minutes.
        let within = within.map(|ticks| Duration::from_nanos(ticks * NS_A_TICK));
        let within = within.unwrap_or(Duration::from_secs(60));
        let waited = bit
            .changed
            .wait_timeout_while(is_set, within, |is_set| !*is_set);
        let (mut is_set, end) = waited.unwrap_or_else(PoisonError::into_inner);
        assert!(
            !end.timed_out() || within.as_secs() < 60,
            "no hart wakes this one"
        );
        *is_set = false;
    }
}
