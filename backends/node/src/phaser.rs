//! Phasers between threads: the port, and a way to wait that ends in sleep.
//!
//! # Algorithm
//! A thread that waits looks for twice as long as a wake-up costs, then sleeps. No shorter: whoever has just been woken is
//! that late at the next phase, and if the others sleep over it, they are late in turn, and so on for ever.
#![forbid(unsafe_code)]

use crate::park::{Parker, relax};
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Poll, Wake, Waker};
use std::thread;
use std::time::{Duration, Instant};
use tautline_core::phaser::{PhaserError, Registration};
use tautline_core::port::{Barrier, Relax};

/// Wake-ups' worth of looking before a thread sleeps.
const PATIENCE: u32 = 2;

/// Looks between two at the clock.
const CLOCK_EVERY: u32 = 16;

/// The port of phasers between threads: waits spin a little, then offer the processor to others. No barrier lines.
#[derive(Clone, Copy, Debug, Default)]
pub struct SpinThenYield;

impl Relax for SpinThenYield {
    #[inline]
    fn relax(&self, turn: u32) {
        relax(turn);
    }
}

impl Barrier for SpinThenYield {}

/// The calling thread as one that waits at phasers: for short by looking, for long asleep. It allocates nothing once made; one
/// serves all phasers of its thread.
#[derive(Debug)]
pub struct Waiter {
    bed: Arc<Bed>,
    waker: Waker,
    /// It stays on its thread.
    thread: PhantomData<*const ()>,
}

#[derive(Debug, Default)]
struct Bed {
    parker: Parker,
    /// Written by the owner.
    sleeps: AtomicU64,
}

impl Wake for Bed {
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
        let bed = Arc::new(Bed::default());
        bed.parker.belongs_to(thread::current());
        Self {
            waker: Waker::from(Arc::clone(&bed)),
            bed,
            thread: PhantomData,
        }
    }

    /// Signals and waits, each if the mode lets it: [`Registration::next_blocking`], asleep if it takes long.
    ///
    /// # Errors
    /// As [`Registration::next_blocking`].
    pub fn next<P: Relax + Barrier>(&self, task: &mut Registration<P>) -> Result<(), PhaserError> {
        let over = task.next_while(self.patience())?;
        self.sleep_unless(over, task)
    }

    /// Waits until all have signalled the phase: [`Registration::wait_blocking`], asleep if it takes long.
    ///
    /// # Errors
    /// As [`Registration::wait_blocking`].
    pub fn wait<P: Relax + Barrier>(&self, task: &mut Registration<P>) -> Result<(), PhaserError> {
        let over = task.wait_while(self.patience())?;
        self.sleep_unless(over, task)
    }

    /// How often it went to sleep.
    pub fn sleeps(&self) -> u64 {
        // ORDERING: Relaxed: the thread's own.
        self.bed.sleeps.load(Ordering::Relaxed)
    }

    fn patience(&self) -> impl FnMut(u32) -> bool + use<> {
        let patience = Duration::from_nanos(self.bed.parker.wake_ns()) * PATIENCE;
        let mut start = None;
        move |turn| {
            turn % CLOCK_EVERY != CLOCK_EVERY - 1
                || start.get_or_insert_with(Instant::now).elapsed() < patience
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
mod tests {
    use super::*;
    use std::sync::mpsc::channel;
    use tautline_core::phaser::{Config, Mode};

    fn two() -> (Registration<SpinThenYield>, Registration<SpinThenYield>) {
        let one = Registration::create(SpinThenYield, Mode::SignalWait, Config::default());
        let mut one = one.unwrap();
        let other = one.register(Mode::SignalWait).unwrap();
        (one, other)
    }

    /// Returns when `bed`'s owner has gone to sleep more than so often.
    fn until_asleep(bed: &Bed, before: u64) {
        while bed.sleeps.load(Ordering::Relaxed) <= before {
            thread::yield_now();
        }
    }

    /// The other comes only when the one sleeps, each time.
    #[test]
    fn who_waits_long_sleeps_and_is_woken() {
        const PHASES: u64 = 50;
        let (mut one, mut other) = two();
        thread::scope(|scope| {
            let (here, bed) = channel();
            let sleeper = scope.spawn(move || {
                let waiter = Waiter::here();
                here.send(Arc::clone(&waiter.bed)).unwrap();
                for _ in 0..PHASES {
                    waiter.next(&mut one).unwrap();
                }
                waiter.sleeps()
            });
            let bed = bed.recv().unwrap();
            for phase in 0..PHASES {
                until_asleep(&bed, phase);
                other.next_blocking().unwrap();
                assert_eq!(other.signalled().0 as u64, phase + 1);
            }
            let sleeps = sleeper.join().unwrap();
            assert!(sleeps >= PHASES, "{sleeps}");
            assert!(bed.parker.wake_ns() > 0);
        });
    }

    /// One sleep is not followed by others: after it, two threads that meet again and again sleep at most once in a hundred
    /// phases, as soon as nobody takes their processors away for as long as that.
    #[test]
    fn a_sleep_is_not_followed_by_others() {
        const PHASES: u64 = 1000;
        const ROUNDS: usize = 2000;
        let worst = (0..ROUNDS).map(|_| {
            let (mut one, mut other) = two();
            thread::scope(|scope| {
                let (here, bed) = channel();
                let late = scope.spawn(move || {
                    let waiter = Waiter::here();
                    let bed: Arc<Bed> = bed.recv().unwrap();
                    until_asleep(&bed, 0);
                    (0..PHASES).for_each(|_| waiter.next(&mut other).unwrap());
                    waiter.sleeps()
                });
                let waiter = Waiter::here();
                here.send(Arc::clone(&waiter.bed)).unwrap();
                (0..PHASES).for_each(|_| waiter.next(&mut one).unwrap());
                waiter.sleeps() + late.join().unwrap()
            })
        });
        let mut sleeps = worst.inspect(|&sleeps| assert!(sleeps > 0, "the first one"));
        assert!(sleeps.any(|sleeps| sleeps <= 1 + PHASES / 100));
    }
}
