//! Parking on a node: spin for about one wake-up, then sleep.
//!
//! # Words
//! `permit`: set by whoever wakes, cleared by the owner.
//!
//! # Orderings
//! | id | release side | acquire side | what becomes visible | model |
//! |---|---|---|---|---|
//! | P1 | `unpark` | `try_take` | what happened before the wake-up | `parking_*` in `verify/tests/lifeline.rs` (with the model's own parking) |
//!
//! Sleeping itself is `std::thread::park`, whose token is sticky too.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};
use tautline_core::port::Relax;

/// How long to spin before sleeping: one wake-up of an idle processor, so that a short wait never
/// costs more than twice what it must. Measured 37 µs on a virtual machine, more than on bare metal.
const SPIN_BEFORE_SLEEP: Duration = Duration::from_micros(50);

/// Turns of pure spinning before the processor is offered to others.
const SPIN_TURNS: u32 = 128;

/// One thread's permit.
#[derive(Debug, Default)]
pub(crate) struct Parker {
    permit: AtomicBool,
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
            if self.try_take() {
                return;
            }
            if turn % 16 == 15 && start.elapsed() > SPIN_BEFORE_SLEEP {
                break;
            }
            relax.relax(turn);
        }
        while !self.try_take() {
            thread::park();
        }
    }

    fn try_take(&self) -> bool {
        // ORDERING: Relaxed: a look before the swap, which writes the line.
        // ORDERING: Acquire, pairs with Release in unpark (P1).
        self.permit.load(Ordering::Relaxed) && self.permit.swap(false, Ordering::Acquire)
    }

    /// Gives the permit.
    pub(crate) fn unpark(&self) {
        // ORDERING: Release, pairs with Acquire in try_take (P1).
        self.permit.store(true, Ordering::Release);
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
