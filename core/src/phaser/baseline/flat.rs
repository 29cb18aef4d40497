//! The flat phaser of Habanero Java.
//!
//! # Algorithm
//! Chatterjee 2013, 6.2.3. Each task that signals has a word in one list. The first to wait becomes the master of the phase,
//! waits for every word, and lets all go on by one store. What differs:
//! - Seats in the list are used again. So a master that finds that somebody was registered meanwhile looks at all once
//!   more; the source, whose list only grows at its end, looks on.
//! - A task that nobody lets go on waits as the port says; the source's falls asleep after a while.
//!
//! # Words
//! `phase`: the master. `master`: whoever waits, once for each phase. `registrations`: whoever registers a task that signals.
//!
//! # Orderings
//! | id | release side | acquire side | what becomes visible | model |
//! |---|---|---|---|---|
//! | BF1 | `gather` stores `phase` | `is_past` | BL1 of everybody: phase order | `flat_marks` |
//! | BF2 | `enter` | `gather` | the seat that was taken | `flat_newcomers` |
#![forbid(unsafe_code)]

use super::list::{Free, List, Seat};
use super::{Member, Standing};
use crate::phaser::{Mode, Phase, PhaserError};
use crate::port::Relax;
use crate::sync::{AtomicUsize, CachePadded, Lock, Ordering};
use alloc::sync::Arc;

/// A task's place on a flat phaser.
#[derive(Debug)]
pub struct Flat<P: Relax> {
    shared: Arc<Shared<P>>,
    seat: Option<Seat>,
    standing: Standing,
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
    /// A new phaser in phase 0, with the caller registered on it, alone.
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
        Self::enter(Arc::new(shared), Standing::first(mode))
    }

    fn enter(shared: Arc<Shared<P>>, standing: Standing) -> Self {
        let seat = standing.mode.signals().then(|| {
            let mut free = shared.free.lock(&shared.port);
            let seat = shared.list.enter(&mut free, standing.signalled);
            // ORDERING: Release, pairs with Acquire in gather (BF2).
            shared.registrations.fetch_add(1, Ordering::Release);
            seat
        });
        Self {
            shared,
            seat,
            standing,
        }
    }

    /// The phase that is going on.
    pub fn phase(&self) -> Phase {
        Phase(self.shared.phase())
    }
}

impl<P: Relax> Member for Flat<P> {
    fn register(&mut self, mode: Mode) -> Result<Self, PhaserError> {
        let standing = self.standing.child(mode)?;
        Ok(Self::enter(Arc::clone(&self.shared), standing))
    }

    #[inline]
    fn signal(&mut self) -> Result<(), PhaserError> {
        let signalled = self.standing.signal()?;
        if let (Some(signalled), Some(seat)) = (signalled, &self.seat) {
            self.shared.list.signal(seat, signalled);
        }
        Ok(())
    }

    #[inline]
    fn wait_blocking(&mut self) -> Result<(), PhaserError> {
        if let Some(phase) = self.standing.wait()? {
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

    /// Makes the caller the master of `phase`, if nobody is.
    fn claim(&self, phase: usize) -> bool {
        // ORDERING: Relaxed all: who is chosen says nothing about the signals.
        let (yes, no) = (Ordering::Relaxed, Ordering::Relaxed);
        self.master.load(no) == phase
            && self
                .master
                .compare_exchange(phase, phase + 1, yes, no)
                .is_ok()
    }

    /// As the master, waits for all signals of `phase`, and ends it.
    fn gather(&self, phase: usize) {
        // ORDERING: Acquire, pairs with Release in enter (BF2): who is not seen in the list is counted later.
        let mut known = self.registrations.load(Ordering::Acquire);
        loop {
            self.list.gather(phase, &self.port);
            // ORDERING: Acquire, as above: the signals that were seen come after the registrations that their tasks made.
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
