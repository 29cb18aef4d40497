//! Barrier lines: which one carries the phaser's phases, and whether it may.
//!
//! # Words
//! `software_only`: the number of registered tasks that need the tree, or that have not shown that
//! they block a thread. `line`: the number of the claimed line plus 1; set once, by a task that
//! ends a phase, and kept. `opened`: the first phase on the line; written by the task that opens
//! the window. `carried`: the phases that the line carried in earlier windows; written by the task
//! that resets the window. A phase that the line carries is recorded nowhere: the phase word lags
//! behind, and a caller that needs it updates it first (see `shared::watch`).
//!
//! # Orderings
//! | id | release side | acquire side | what becomes visible | model |
//! |---|---|---|---|---|
//! | L1 | `open` | `line` | the line as it was claimed | `window_opened_late` |
//! | Z2 | `forbid`, and the fence of `close_after` | `open` of the window, and its fence | store buffering: at least one side observes the other, so no line carries a phase of a task that is not included | `window_registrar_gone` |
#![forbid(unsafe_code)]

pub(crate) mod member;
mod window;

use crate::port::{Barrier, Line};
use crate::sync::{AtomicUsize, Ordering, full_fence};
use window::{State, Window};

/// The barrier line of a phaser and its window.
#[derive(Debug)]
pub(crate) struct Lines {
    window: Window,
    line: AtomicUsize,
    software_only: AtomicUsize,
    opened: AtomicUsize,
    carried: AtomicUsize,
}

impl Lines {
    /// Creates the state without a line: all phases are in software.
    pub(crate) fn new() -> Self {
        Self {
            window: Window::new(),
            line: AtomicUsize::new(0),
            software_only: AtomicUsize::new(0),
            opened: AtomicUsize::new(0),
            carried: AtomicUsize::new(0),
        }
    }

    /// Whether the window is in software: no line carries a phase, now or later, as far as is
    /// known.
    pub(crate) fn is_software(&self) -> bool {
        self.window.state().is_software()
    }

    /// Keeps the phaser in software on behalf of one more task.
    pub(crate) fn forbid(&self) {
        // ORDERING: Relaxed: the signal that follows (signal.S1) makes it visible to the task that
        // ends the phase.
        self.software_only.fetch_add(1, Ordering::Relaxed);
    }

    /// Withdraws one [`forbid`](Self::forbid).
    pub(crate) fn permit(&self) {
        // ORDERING: Relaxed: seen late, it only delays the use of the hardware.
        self.software_only.fetch_sub(1, Ordering::Relaxed);
    }

    /// Opens the window, so that the line carries the phases from `first` on, unless a task forbids
    /// it.
    #[inline]
    pub(crate) fn open(&self, port: &impl Barrier, first: usize) -> bool {
        if port.lines() == 0 || self.is_forbidden() || !self.window.state().is_software() {
            return false;
        }
        if self.line().is_none() {
            let Some(Line(line)) = port.claim() else {
                return false;
            };
            // ORDERING: Release, pairs with Acquire in line (L1). Failure Relaxed: it is loaded
            // where it is used.
            let (success, failure) = (Ordering::Release, Ordering::Relaxed);
            let word = usize::from(line) + 1;
            let claimed = self.line.compare_exchange(0, word, success, failure);
            if claimed.is_err() {
                port.give_back(Line(line));
            }
        }
        if !self.window.open(first) {
            return false;
        }
        // ORDERING: Relaxed: see carried_since.
        self.opened.store(first, Ordering::Relaxed);
        // ORDERING: either this side observes the task that forbids it, or the fence of close_after
        // comes later and the window is observed open there (Z2).
        full_fence();
        if self.is_forbidden() {
            self.window.withdraw(first);
            return false;
        }
        true
    }

    /// Withdraws an opening; see [`Window::withdraw`].
    pub(crate) fn withdraw(&self, first: usize) {
        self.window.withdraw(first);
    }

    fn is_forbidden(&self) -> bool {
        // ORDERING: Relaxed: tasks registered in this phase are seen by the signals of the tasks
        // that registered them (signal.S1), or after a fence (Z2).
        self.software_only.load(Ordering::Relaxed) != 0
    }

    /// Closes the window after `phase`. Called when a task deregisters that has registered others
    /// after its signal of `phase`: they are not on the line that may carry what follows.
    pub(crate) fn close_after(&self, phase: usize) {
        // ORDERING: either the task that ends the phase observes that they forbid it, or this
        // closes what `open` has opened (Z2).
        full_fence();
        self.window.close(phase + 1);
    }

    /// Resets the window after its last phase.
    fn reset(&self, state: State) {
        let carried = self.carried_since(state, usize::MAX);
        if self.window.reset(state) {
            // ORDERING: Relaxed: a statistic.
            self.carried.fetch_add(carried, Ordering::Relaxed);
        }
    }

    /// Returns the number of phases before `phase`, the current one, that the hardware has carried.
    pub(crate) fn carried(&self, phase: usize) -> usize {
        let now = self.carried_since(self.window.state(), phase);
        // ORDERING: Relaxed: a statistic.
        self.carried.load(Ordering::Relaxed) + now
    }

    /// Returns the number of those since the window was opened.
    fn carried_since(&self, state: State, phase: usize) -> usize {
        // ORDERING: Relaxed: a statistic; set before the end of the phase in which the window was
        // opened (word.B1).
        state.carried(self.opened.load(Ordering::Relaxed), phase)
    }

    /// Returns the line that carries phases of this phaser.
    pub(crate) fn line(&self) -> Option<Line> {
        // ORDERING: Acquire, pairs with Release in open (L1).
        let line = self.line.load(Ordering::Acquire);
        u8::try_from(line.checked_sub(1)?).ok().map(Line)
    }
}
