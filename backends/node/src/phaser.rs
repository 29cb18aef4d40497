//! Phasers between threads: the port, and a way to wait that ends in sleep.
//!
//! # Algorithm
//! A thread that waits looks for twice as long as a wake-up costs, then sleeps. No shorter: whoever has just been woken is
//! that late at the next phase, and if the others sleep over it, they are late in turn, and so on for ever.
#![forbid(unsafe_code)]

use crate::park::{Ground, Parker, SPIN_TURNS, System};
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Poll, Wake, Waker};
use std::thread;
use tautline_core::phaser::{PhaserError, Registration};
use tautline_core::port::{Barrier, Relax};

/// Wake-ups' worth of looking before a thread sleeps.
const PATIENCE: u64 = 2;

/// Looks between two at the clock.
const CLOCK_EVERY: u32 = 16;

/// The port of phasers between threads: waits spin a little, then offer the processor to others. No barrier lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpinThenYield {
    /// Spin iterations before the first yield. Where threads share processors, few: the thread that is waited for may need
    /// this one's. A wait for several threads yields at once ([`Relax::yield_now`]).
    pub looks: u32,
}

impl Default for SpinThenYield {
    /// For threads with processors of their own.
    fn default() -> Self {
        Self { looks: SPIN_TURNS }
    }
}

impl Relax for SpinThenYield {
    #[inline]
    fn relax(&self, turn: u32) {
        if turn < self.looks {
            std::hint::spin_loop();
        } else {
            std::thread::yield_now();
        }
    }

    fn yield_now(&self, _turn: u32) {
        std::thread::yield_now();
    }
}

impl Barrier for SpinThenYield {}

/// The calling thread as one that waits at phasers: for short by looking, for long asleep. It allocates nothing once made; one
/// serves all phasers of its thread.
#[derive(Debug)]
pub struct Waiter {
    sleeper: Sleeper<System>,
    /// It stays on its thread.
    thread: PhantomData<*const ()>,
}

/// The implementation of [`Waiter`], on any ground.
#[derive(Debug)]
struct Sleeper<G> {
    bed: Arc<Bed<G>>,
    waker: Waker,
}

#[derive(Debug)]
struct Bed<G> {
    parker: Parker<G>,
    /// Written by the owner.
    sleeps: AtomicU64,
}

/// A count of the times that a [`Waiter`] went to sleep.
#[derive(Clone, Debug)]
pub struct Sleeps(Arc<Bed<System>>);

impl Sleeps {
    /// So often so far. It counts before it sleeps, so it may yet find that it need not.
    pub fn count(&self) -> u64 {
        self.0.count()
    }
}

impl<G> Bed<G> {
    fn count(&self) -> u64 {
        // ORDERING: Relaxed: a count.
        self.sleeps.load(Ordering::Relaxed)
    }
}

impl<G: Ground + Send + Sync + 'static> Wake for Bed<G> {
    fn wake(self: Arc<Self>) {
        self.parker.unpark();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.parker.unpark();
    }
}

impl Waiter {
    /// For the calling thread.
    pub fn here() -> Self {
        let parker = Parker::default();
        parker.belongs_to(thread::current());
        Self {
            sleeper: Sleeper::new(parker),
            thread: PhantomData,
        }
    }

    /// Signals and waits, each if the mode lets it: [`Registration::next_blocking`], asleep if it takes long.
    ///
    /// # Errors
    /// As [`Registration::next_blocking`].
    pub fn next<P: Relax + Barrier>(&self, task: &mut Registration<P>) -> Result<(), PhaserError> {
        self.sleeper.next(task)
    }

    /// Waits until all have signalled the phase: [`Registration::wait_blocking`], asleep if it takes long.
    ///
    /// # Errors
    /// As [`Registration::wait_blocking`].
    pub fn wait<P: Relax + Barrier>(&self, task: &mut Registration<P>) -> Result<(), PhaserError> {
        self.sleeper.wait(task)
    }

    /// How often it goes to sleep: for any thread to look at.
    pub fn sleeps(&self) -> Sleeps {
        Sleeps(Arc::clone(&self.sleeper.bed))
    }
}

impl<G: Ground + Send + Sync + 'static> Sleeper<G> {
    fn new(parker: Parker<G>) -> Self {
        let bed = Arc::new(Bed {
            parker,
            sleeps: AtomicU64::new(0),
        });
        Self {
            waker: Waker::from(Arc::clone(&bed)),
            bed,
        }
    }

    fn next<P: Relax + Barrier>(&self, task: &mut Registration<P>) -> Result<(), PhaserError> {
        let over = task.next_while(self.patience())?;
        self.sleep_unless(over, task)
    }

    fn wait<P: Relax + Barrier>(&self, task: &mut Registration<P>) -> Result<(), PhaserError> {
        let over = task.wait_while(self.patience())?;
        self.sleep_unless(over, task)
    }

    /// Whether a wait keeps polling, by its turn.
    fn patience(&self) -> impl FnMut(u32) -> bool + '_ {
        let parker = &self.bed.parker;
        let patience = PATIENCE * parker.wake_ns();
        let mut start = None;
        move |turn| {
            turn % CLOCK_EVERY != CLOCK_EVERY - 1 || {
                let now = parker.now_ns();
                now - *start.get_or_insert(now) < patience
            }
        }
    }

    fn sleep_unless<P: Relax + Barrier>(
        &self,
        over: bool,
        task: &mut Registration<P>,
    ) -> Result<(), PhaserError> {
        if over {
            return Ok(());
        }
        loop {
            if let Poll::Ready(result) = task.poll_wait(&self.waker) {
                return result;
            }
            // ORDERING: Relaxed: a count.
            self.bed.sleeps.fetch_add(1, Ordering::Relaxed);
            self.bed.parker.sleep();
        }
    }
}

#[cfg(test)]
mod tests;
