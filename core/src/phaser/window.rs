//! Which phases the hardware carries.
//!
//! # Algorithm
//! A phaser goes over to a barrier line, and back, at phases that all its tasks agree on. Chatterjee 2013, 6.4, says when it should;
//! how is ours. Opening, by a member that ends phase p: from p + 2 on the line carries; p + 1 is there for everybody to include
//! itself. Closing, by a task in phase p that has not arrived: p is the last phase on the line and *mixed*: whoever is released by the
//! line waits in the tree too. As the task that closes is itself included, the line cannot complete before the closing is visible to
//! all it releases.
//!
//! # Words
//! `word`: opened by whoever is about to end a phase, and withdrawn if somebody else has; closed by a task that is about to register
//! another, or to signal early.
//!
//! # Orderings
//! Relaxed throughout. That it is open is seen by all who leave the phase in which it was opened (B1 of the tree); that it is closed
//! by all who were on the line with the one who closed it, before the line completes (the port's own ordering).
#![forbid(unsafe_code)]

use crate::sync::{AtomicUsize, Ordering};

const SOFTWARE: usize = 0;
const OPEN: usize = 1;
/// The last phase is also the first.
const ONE: usize = 2;
/// The last phase and the one before, at least.
const MORE: usize = 3;

/// What carries a phase, for a task that is included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// The tree.
    Software,
    /// The line.
    Hardware,
    /// The line, and then the tree.
    Mixed,
}

/// The phases from one to another, if any. One word: the phase, with two bits that say which it is.
#[derive(Debug)]
pub struct Window(AtomicUsize);

/// What a window was when it was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State(usize);

impl Default for Window {
    fn default() -> Self {
        Self::new()
    }
}

impl Window {
    /// All phases in software.
    pub fn new() -> Self {
        Self(AtomicUsize::new(SOFTWARE))
    }

    /// What it is now.
    #[inline]
    pub fn state(&self) -> State {
        // ORDERING: Relaxed: see the head.
        State(self.0.load(Ordering::Relaxed))
    }

    /// Opens it from `first` on, if it is shut.
    pub fn open(&self, first: usize) -> bool {
        // ORDERING: Relaxed, on failure too: see the head.
        let (yes, no) = (Ordering::Relaxed, Ordering::Relaxed);
        let open = first << 2 | OPEN;
        self.0.compare_exchange(SOFTWARE, open, yes, no).is_ok()
    }

    /// Takes back that it was opened from `first` on. By a task that has not signalled the phase before that.
    pub fn withdraw(&self, first: usize) {
        let open = first << 2 | OPEN;
        // ORDERING: Relaxed, on failure too, which says that it was closed: see the head.
        let (yes, no) = (Ordering::Relaxed, Ordering::Relaxed);
        _ = self.0.compare_exchange(open, SOFTWARE, yes, no);
    }

    /// Makes `phase`, which the caller has not arrived at, the last one, or shuts it if it has not begun.
    pub fn close(&self, phase: usize) {
        // ORDERING: Relaxed: the exchange decides.
        let mut word = self.0.load(Ordering::Relaxed);
        loop {
            let closed = State(word).closed(phase);
            if closed == word {
                return;
            }
            // ORDERING: Relaxed, on failure too: see the head.
            let (yes, no) = (Ordering::Relaxed, Ordering::Relaxed);
            match self.0.compare_exchange_weak(word, closed, yes, no) {
                Ok(_) => return,
                Err(now) => word = now,
            }
        }
    }

    /// Shuts it after its last phase, if it is still `state`; false if somebody else has.
    pub fn reset(&self, state: State) -> bool {
        // ORDERING: Relaxed, on failure too, which says that somebody else has: see the head.
        let (yes, no) = (Ordering::Relaxed, Ordering::Relaxed);
        self.0.compare_exchange(state.0, SOFTWARE, yes, no).is_ok()
    }
}

impl State {
    fn phase(self) -> usize {
        self.0 >> 2
    }

    /// Shut: no phase is, or will be, carried by the line as far as is known.
    pub fn is_shut(self) -> bool {
        self.0 == SOFTWARE
    }

    fn closed(self, phase: usize) -> usize {
        match self.0 & 3 {
            OPEN if self.phase() > phase => SOFTWARE,
            OPEN if self.phase() == phase => phase << 2 | ONE,
            OPEN => phase << 2 | MORE,
            // It was closed for a later phase that has not begun.
            ONE if self.phase() > phase => SOFTWARE,
            MORE if self.phase() > phase => phase << 2 | MORE,
            _ => self.0,
        }
    }

    /// What carries `phase`, which is the caller's.
    #[inline]
    pub fn carrier(self, phase: usize) -> Carrier {
        let last = self.phase();
        match self.0 & 3 {
            OPEN if last <= phase => Carrier::Hardware,
            ONE | MORE if last == phase => Carrier::Mixed,
            MORE if last == phase + 1 => Carrier::Hardware,
            _ => Carrier::Software,
        }
    }

    /// How many phases the line has carried before `phase`, `first` being the one that it began with.
    pub fn carried(self, first: usize, phase: usize) -> usize {
        let last = self.phase();
        match self.0 & 3 {
            OPEN => phase.saturating_sub(last),
            MORE => last.min(phase).saturating_sub(first),
            _ => 0,
        }
    }

    /// The phase after the next is the first one on the line: a task that leaves `phase` includes itself.
    pub fn begins_after(self, phase: usize) -> bool {
        matches!(self.0 & 3, OPEN | ONE) && self.phase() == phase + 2
    }

    /// It ends with `phase`, or before it.
    pub fn ends_by(self, phase: usize) -> bool {
        matches!(self.0 & 3, ONE | MORE) && self.phase() <= phase
    }
}
