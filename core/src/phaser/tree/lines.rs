//! Barrier lines: which one carries the phaser's phases, and whether it may.
//!
//! # Words
//! `hindrances`: how many are registered that the hardware cannot carry, or that have not shown that they block a thread. `line`: the
//! number of the claimed line plus 1; set once, by whoever ends a phase, and kept. `opened`: the first phase on the line; by whoever
//! opens the window. `carried`: phases that the line had before; by whoever shuts the window. A phase that the line carries is written
//! down nowhere: the tree's word stays behind, and who needs it brings it up (see `watch`).
//!
//! # Orderings
//! | id | release side | acquire side | what becomes visible | model |
//! |---|---|---|---|---|
//! | L1 | `open_window` | `line` | the line as it was claimed | `window_opened_late` |
#![forbid(unsafe_code)]

use super::Tree;
use crate::phaser::window::State;
use crate::port::{Barrier, Line, Relax};
use crate::sync::{Ordering, full_fence};

impl<P: Relax + Barrier> Tree<P> {
    /// Somebody came who keeps the phaser off the hardware.
    pub fn hinder(&self) {
        // ORDERING: Relaxed: who ends a phase sees it by the signal that follows (S1).
        self.hindrances.fetch_add(1, Ordering::Relaxed);
    }

    /// One of those does not any more.
    pub fn unhinder(&self) {
        // ORDERING: Relaxed: seen late, the hardware is used later.
        self.hindrances.fetch_sub(1, Ordering::Relaxed);
    }

    /// Lets the line carry the phases from `first` on, if nothing stands against it.
    #[inline]
    pub(super) fn open_window(&self, first: usize) -> bool {
        if self.port.lines() == 0 || self.is_hindered() || !self.window.state().is_shut() {
            return false;
        }
        if self.line().is_none() {
            let Some(Line(line)) = self.port.claim() else {
                return false;
            };
            // ORDERING: Release, pairs with Acquire in line (L1). Failure Relaxed: it is loaded where it is used.
            let (yes, no) = (Ordering::Release, Ordering::Relaxed);
            let line_word = usize::from(line) + 1;
            if self.line.compare_exchange(0, line_word, yes, no).is_err() {
                self.port.give_back(Line(line));
            }
        }
        if !self.window.open(first) {
            return false;
        }
        // ORDERING: Relaxed: see carried_since.
        self.opened.store(first, Ordering::Relaxed);
        // ORDERING: either this sees who hinders, or the fence of shut_after comes later and the window is seen open there (Z2).
        full_fence();
        if self.is_hindered() {
            self.window.withdraw(first);
            return false;
        }
        true
    }

    fn is_hindered(&self) -> bool {
        // ORDERING: Relaxed: those who came in this phase are seen by their registrars' signals (S1), or after a fence (Z2).
        self.hindrances.load(Ordering::Relaxed) != 0
    }

    /// A task goes that has registered others after its signal of `phase`: they are not on the line that may carry what follows.
    pub fn shut_after(&self, phase: usize) {
        // ORDERING: either whoever ends the phase sees that they hinder, or this closes what open_window has opened (Z2).
        full_fence();
        self.window.close(phase + 1);
    }

    /// Shuts the window, after its last phase.
    pub fn reset_window(&self, state: State) {
        let carried = self.carried_since(state, usize::MAX);
        if self.window.reset(state) {
            // ORDERING: Relaxed: a count.
            self.carried.fetch_add(carried, Ordering::Relaxed);
        }
    }

    /// Phases that the hardware has carried, before `phase`, which is going on.
    pub fn in_hardware(&self, phase: usize) -> usize {
        let now = self.carried_since(self.window.state(), phase);
        // ORDERING: Relaxed: a count.
        self.carried.load(Ordering::Relaxed) + now
    }

    /// How many of them since the window was opened.
    fn carried_since(&self, state: State, phase: usize) -> usize {
        // ORDERING: Relaxed: a count; set before the end of the phase in which the window was opened (B1).
        state.carried(self.opened.load(Ordering::Relaxed), phase)
    }
}

impl<P: Barrier> Tree<P> {
    /// The line that carries phases of this phaser.
    pub fn line(&self) -> Option<Line> {
        // ORDERING: Acquire, pairs with Release in open_window (L1).
        let line = self.line.load(Ordering::Acquire);
        u8::try_from(line.checked_sub(1)?).ok().map(Line)
    }
}
