//! The window of phases that the hardware carries.
//!
//! # Algorithm
//! A phaser switches to a barrier line, and back, at phases that all its tasks agree on. Chatterjee
//! 2013, 6.4, states the condition; the protocol is ours. Opening, by a member that ends phase p:
//! the line carries the phases from p + 2 on; in p + 1 all tasks include themselves. Closing, by a
//! task in phase p that has not arrived: p is the last phase on the line and *mixed*: a task that
//! the line releases waits in the tree, too. As the closing task is itself included, the line
//! cannot complete before the closing is visible to all tasks that it releases.
//!
//! # Words
//! `Window`: opened by a task that is about to end a phase, and withdrawn if another task has ended
//! it; closed by a task that is about to register another, or to signal early.
//!
//! # Orderings
//! Relaxed throughout. That the window is open is visible to all tasks that leave the phase in
//! which it was opened (word.B1); that it is closed, to all that were on the line with the closing
//! task, before the line completes (the ordering of the port).
#![forbid(unsafe_code)]

use crate::sync::{AtomicUsize, Ordering};

const SOFTWARE: usize = 0;
const OPEN: usize = 1;
/// The last phase is also the first.
const ONE: usize = 2;
/// At least the last phase and the one before.
const MORE: usize = 3;

/// The carrier of a phase, for a task that is included in the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Carrier {
    /// The tree.
    Software,
    /// The line.
    Hardware,
    /// The line, and then the tree.
    Mixed,
}

/// The range of phases on the line, possibly empty. One word: a phase, with two bits for its role.
#[derive(Debug)]
pub(crate) struct Window(AtomicUsize);

/// A value of a [`Window`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct State(usize);

impl Window {
    /// Creates a window with all phases in software.
    pub(crate) fn new() -> Self {
        Self(AtomicUsize::new(SOFTWARE))
    }

    /// Returns the current state.
    #[inline]
    pub(crate) fn state(&self) -> State {
        // ORDERING: Relaxed: see the head.
        State(self.0.load(Ordering::Relaxed))
    }

    /// Opens the window from `first` on, if all phases are in software.
    pub(crate) fn open(&self, first: usize) -> bool {
        // ORDERING: Relaxed, on failure too: see the head.
        let (success, failure) = (Ordering::Relaxed, Ordering::Relaxed);
        let open = first << 2 | OPEN;
        let opened = self.0.compare_exchange(SOFTWARE, open, success, failure);
        opened.is_ok()
    }

    /// Withdraws the opening from `first` on. Called by a task that has not signalled the phase
    /// before `first`.
    pub(crate) fn withdraw(&self, first: usize) {
        let open = first << 2 | OPEN;
        // ORDERING: Relaxed, on failure too, which means that it was closed: see the head.
        let (success, failure) = (Ordering::Relaxed, Ordering::Relaxed);
        _ = self.0.compare_exchange(open, SOFTWARE, success, failure);
    }

    /// Makes `phase`, at which the caller has not arrived, the last one; if it has not begun,
    /// resets the window.
    pub(crate) fn close(&self, phase: usize) {
        // ORDERING: Relaxed: the exchange decides.
        let mut word = self.0.load(Ordering::Relaxed);
        loop {
            let closed = State(word).closed(phase);
            if closed == word {
                return;
            }
            // ORDERING: Relaxed, on failure too: see the head.
            let (success, failure) = (Ordering::Relaxed, Ordering::Relaxed);
            match self.0.compare_exchange_weak(word, closed, success, failure) {
                Ok(_) => return,
                Err(now) => word = now,
            }
        }
    }

    /// Resets the window after its last phase, if it is still in `state`; returns false if another
    /// task has.
    pub(crate) fn reset(&self, state: State) -> bool {
        // ORDERING: Relaxed, on failure too, which means that another task has: see the head.
        let (success, failure) = (Ordering::Relaxed, Ordering::Relaxed);
        let reset = self.0.compare_exchange(state.0, SOFTWARE, success, failure);
        reset.is_ok()
    }
}

impl State {
    fn phase(self) -> usize {
        self.0 >> 2
    }

    /// Whether the line carries no phase, now or later, as far as is known.
    pub(crate) fn is_software(self) -> bool {
        self.0 == SOFTWARE
    }

    fn closed(self, phase: usize) -> usize {
        match self.0 & 3 {
            OPEN if self.phase() > phase => SOFTWARE,
            OPEN if self.phase() == phase => phase << 2 | ONE,
            OPEN => phase << 2 | MORE,
            // Another task has closed it for a later phase that has not begun.
            ONE if self.phase() > phase => SOFTWARE,
            MORE if self.phase() > phase => phase << 2 | MORE,
            _ => self.0,
        }
    }

    /// Returns the carrier of `phase`, the caller's current one.
    #[inline]
    pub(crate) fn carrier(self, phase: usize) -> Carrier {
        let last = self.phase();
        match self.0 & 3 {
            OPEN if last <= phase => Carrier::Hardware,
            ONE | MORE if last == phase => Carrier::Mixed,
            MORE if last == phase + 1 => Carrier::Hardware,
            _ => Carrier::Software,
        }
    }

    /// Returns the number of phases before `phase` that the line has carried since `first`, the
    /// phase from which the window was opened.
    pub(crate) fn carried(self, first: usize, phase: usize) -> usize {
        let last = self.phase();
        match self.0 & 3 {
            OPEN => phase.saturating_sub(last),
            MORE => last.min(phase).saturating_sub(first),
            _ => 0,
        }
    }

    /// Whether the phase after the next is the first on the line: a task that leaves `phase`
    /// includes itself.
    pub(crate) fn begins_after(self, phase: usize) -> bool {
        matches!(self.0 & 3, OPEN | ONE) && self.phase() == phase + 2
    }

    /// Whether `phase` is not before the last phase on the line.
    pub(crate) fn ends_by(self, phase: usize) -> bool {
        matches!(self.0 & 3, ONE | MORE) && self.phase() <= phase
    }
}
