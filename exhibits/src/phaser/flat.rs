//! The flat phaser of Habanero Java.
//!
//! # Algorithm
//! Chatterjee 2013, 6.2.3. Each task that signals has a word in one list. The first task to wait
//! becomes the master of the phase, waits for every word, and releases all tasks by one store. What
//! differs:
//! - Seats in the list are reused. Therefore a master that finds that a task was registered
//!   in between examines all seats again; the source, whose list only grows at its end, continues
//!   from there.
//! - A waiting task spins or yields as the port defines; the source's parks after a while.
//!
//! # Words
//! `phase`: written by the master. `master`: claimed by a waiting task, once in each phase.
//! `registrations`: incremented when a task that signals is registered.
//!
//! # Orderings
//! | id | release side | acquire side | what becomes visible | model |
//! |---|---|---|---|---|
//! | BF1 | `gather` stores `phase` | `is_past` | the signals of all tasks (list.BL1): phase order | `flat_marks` |
//! | BF2 | `enter` | `gather` | the seat that was taken | `flat_newcomers` |
#![forbid(unsafe_code)]

use super::error::BaselineError;
use super::list::{Free, List, Seat};
use super::member::{Member, Progress};
use alloc::sync::Arc;
use tautline_core::phaser::{Mode, Phase, PhaserError};
use tautline_core::port::Relax;
use tautline_core::sync::{AtomicUsize, CachePadded, Lock, Ordering};

/// A task's registration on a flat phaser.
#[derive(Debug)]
pub struct Flat<P: Relax> {
    shared: Arc<Shared<P>>,
    seat: Option<Seat>,
    progress: Progress,
}

#[derive(Debug)]
struct Shared<P> {
    phase: CachePadded<AtomicUsize>,
    master: CachePadded<AtomicUsize>,
    registrations: CachePadded<AtomicUsize>,
    list: List,
    free: Lock<Free>,
    port: P,
}

impl<P: Relax> Flat<P> {
    /// Creates a phaser in phase 0, with the caller as its only registered task.
    pub fn create(port: P, mode: Mode) -> Self {
        let word = || CachePadded::new(AtomicUsize::new(0));
        let shared = Shared {
            phase: word(),
            master: word(),
            registrations: word(),
            list: List::new(32),
            free: Lock::new(Free::default()),
            port,
        };
        Self::enter(Arc::new(shared), Progress::first(mode))
    }

    fn enter(shared: Arc<Shared<P>>, progress: Progress) -> Self {
        let seat = progress.mode.signals().then(|| {
            let mut free = shared.free.lock(&shared.port);
            let seat = shared.list.enter(&mut free, progress.signalled);
            // ORDERING: Release, pairs with Acquire in gather (BF2).
            shared.registrations.fetch_add(1, Ordering::Release);
            seat
        });
        Self {
            shared,
            seat,
            progress,
        }
    }

    /// Returns the current phase.
    pub fn phase(&self) -> Phase {
        Phase(self.shared.phase())
    }
}

impl<P: Relax> Member for Flat<P> {
    fn register(&mut self, mode: Mode) -> Result<Self, BaselineError> {
        let progress = self.progress.child(mode)?;
        Ok(Self::enter(Arc::clone(&self.shared), progress))
    }

    #[inline]
    fn signal(&mut self) -> Result<(), PhaserError> {
        let signalled = self.progress.signal()?;
        if let (Some(signalled), Some(seat)) = (signalled, &self.seat) {
            self.shared.list.signal(seat, signalled);
        }
        Ok(())
    }

    #[inline]
    fn wait_blocking(&mut self) -> Result<(), PhaserError> {
        if let Some(phase) = self.progress.wait()? {
            self.shared.wait(phase);
        }
        Ok(())
    }
}

impl<P: Relax> Drop for Flat<P> {
    fn drop(&mut self) {
        if let Some(seat) = self.seat.take() {
            let shared = &*self.shared;
            shared.list.leave(&seat);
            let mut free = shared.free.lock(&shared.port);
            shared.list.free(&mut free, seat);
        }
    }
}

impl<P: Relax> Shared<P> {
    #[inline]
    fn phase(&self) -> usize {
        // ORDERING: Acquire, pairs with Release in gather (BF1).
        self.phase.load(Ordering::Acquire)
    }

    #[inline]
    fn wait(&self, phase: usize) {
        if self.phase() > phase {
            return;
        }
        if self.claim(phase) {
            return self.gather(phase);
        }
        let mut turn = 0;
        while self.phase() <= phase {
            self.port.relax(turn);
            turn = turn.saturating_add(1);
        }
    }

    /// Makes the caller the master of `phase`, unless it has one.
    fn claim(&self, phase: usize) -> bool {
        // ORDERING: Relaxed, on failure too: the choice is independent of the signals.
        let (success, failure) = (Ordering::Relaxed, Ordering::Relaxed);
        self.master.load(failure) == phase
            && self
                .master
                .compare_exchange(phase, phase + 1, success, failure)
                .is_ok()
    }

    /// Gathers all signals of `phase` as its master, and ends it.
    fn gather(&self, phase: usize) {
        // ORDERING: Acquire, pairs with Release in enter (BF2): a task that is not seen in
        // the list is counted later.
        let mut known = self.registrations.load(Ordering::Acquire);
        loop {
            self.list.gather(phase, &self.port);
            // ORDERING: Acquire, pairs with Release in enter (BF2): the signals that were seen
            // follow the registrations that their tasks made.
            let now = self.registrations.load(Ordering::Acquire);
            if now == known {
                break;
            }
            known = now;
        }
        // ORDERING: Release, pairs with Acquire in phase (BF1).
        self.phase.store(phase + 1, Ordering::Release);
    }
}
