//! Phasers between threads: the port, and a wait that spins first and then parks.
//!
//! # Algorithm
//! A waiting thread spins for twice the cost of a wake-up, then parks. Not less: a thread that
//! has just been woken is that late in the next phase, and if the others park because of it, they
//! are late in turn, and so on for ever.
#![forbid(unsafe_code)]

use crate::arch;
use crate::park::{Ground, Parker, System};
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Poll, Wake, Waker};
use std::thread;
use tautline_core::phaser::{PhaserError, Registration};
use tautline_core::port::{Barrier, Relax};

/// The time for which a thread spins before it parks, in costs of a wake-up.
const PATIENCE: u64 = 2;

/// Failed polls between two readings of the clock.
const CLOCK_EVERY: u32 = 16;

/// The port of phasers between threads: waits spin briefly, then yield. No barrier lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SpinThenYield {
    /// Spin iterations before the first yield. Where threads share processors, few: the awaited
    /// thread may need this thread's processor. A wait for several threads yields at once
    /// ([`Relax::yield_now`]).
    pub spins: u32,
}

impl Default for SpinThenYield {
    /// For threads with dedicated processors.
    fn default() -> Self {
        Self {
            spins: arch::spins(),
        }
    }
}

impl Relax for SpinThenYield {
    #[inline]
    fn relax(&self, turn: u32) {
        if turn < self.spins {
            arch::pause();
        } else {
            std::thread::yield_now();
        }
    }

    fn yield_now(&self, _turn: u32) {
        std::thread::yield_now();
    }
}

impl Barrier for SpinThenYield {}

/// The calling thread's means of waiting at phasers: spins for a short wait, parks in a long one. A
/// waiter allocates only when it is made; one serves all phasers of its thread.
#[derive(Debug)]
pub struct Waiter {
    inner: SpinThenPark<System>,
    /// Keeps the waiter on its thread.
    thread: PhantomData<*const ()>,
}

/// The implementation of [`Waiter`], on any system.
#[derive(Debug)]
struct SpinThenPark<G> {
    thread: Arc<Parked<G>>,
    waker: Waker,
}

/// The thread as its wakers see it.
#[derive(Debug)]
struct Parked<G> {
    parker: Parker<G>,
    /// Written by the thread.
    sleeps: AtomicU64,
}

/// A count of the times that a [`Waiter`] parked its thread.
#[derive(Clone, Debug)]
pub struct Sleeps(Arc<Parked<System>>);

impl Sleeps {
    /// The count so far. It is incremented before the thread parks, so the last one may return at
    /// once.
    pub fn count(&self) -> u64 {
        self.0.count()
    }
}

impl<G> Parked<G> {
    fn count(&self) -> u64 {
        // ORDERING: Relaxed: a statistic.
        self.sleeps.load(Ordering::Relaxed)
    }
}

impl<G: Ground + Send + Sync + 'static> Wake for Parked<G> {
    fn wake(self: Arc<Self>) {
        self.parker.unpark();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.parker.unpark();
    }
}

impl Waiter {
    /// The waiter of the calling thread.
    pub fn here() -> Self {
        let parker = Parker::default();
        parker.belongs_to(thread::current());
        Self {
            inner: SpinThenPark::new(parker),
            thread: PhantomData,
        }
    }

    /// Signals and waits, each if the mode permits it: [`Registration::next_blocking`], parked in a
    /// long wait.
    ///
    /// # Errors
    /// As [`Registration::next_blocking`].
    pub fn next<P: Relax + Barrier>(&self, task: &mut Registration<P>) -> Result<(), PhaserError> {
        self.inner.next(task)
    }

    /// Waits until all tasks have signalled the phase: [`Registration::wait_blocking`], parked in a
    /// long wait.
    ///
    /// # Errors
    /// As [`Registration::wait_blocking`].
    pub fn wait<P: Relax + Barrier>(&self, task: &mut Registration<P>) -> Result<(), PhaserError> {
        self.inner.wait(task)
    }

    /// The number of times that the thread has parked, for any thread to read.
    pub fn sleeps(&self) -> Sleeps {
        Sleeps(Arc::clone(&self.inner.thread))
    }
}

impl<G: Ground + Send + Sync + 'static> SpinThenPark<G> {
    fn new(parker: Parker<G>) -> Self {
        let thread = Arc::new(Parked {
            parker,
            sleeps: AtomicU64::new(0),
        });
        Self {
            waker: Waker::from(Arc::clone(&thread)),
            thread,
        }
    }

    fn next<P: Relax + Barrier>(&self, task: &mut Registration<P>) -> Result<(), PhaserError> {
        let over = task.next_while(self.patience())?;
        self.park_unless(over, task)
    }

    fn wait<P: Relax + Barrier>(&self, task: &mut Registration<P>) -> Result<(), PhaserError> {
        let over = task.wait_while(self.patience())?;
        self.park_unless(over, task)
    }

    /// Whether a wait keeps polling, by its turn.
    fn patience(&self) -> impl FnMut(u32) -> bool + '_ {
        let parker = &self.thread.parker;
        let patience = PATIENCE * parker.wake_ns();
        let mut start = None;
        move |turn| {
            turn % CLOCK_EVERY != CLOCK_EVERY - 1 || {
                let now = parker.now_ns();
                now - *start.get_or_insert(now) < patience
            }
        }
    }

    fn park_unless<P: Relax + Barrier>(
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
            // ORDERING: Relaxed: a statistic.
            self.thread.sleeps.fetch_add(1, Ordering::Relaxed);
            self.thread.parker.sleep();
        }
    }
}

#[cfg(test)]
mod tests;
