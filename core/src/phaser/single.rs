//! The statement that runs exactly once between the last signal of a phase and its first release.
//!
//! # Words
//! `requested`: raised, before its signal, by a task that requests a statement; `holders`: counts
//! the tasks that hold a request; incremented then, and decremented when the task no longer waits.
//! `notified`: raised by a task that finds all signals present and holds no statement. `state`:
//! changed by the task that runs the statement.
//!
//! # Orderings
//! | id | release side | acquire side | what becomes visible | model |
//! |---|---|---|---|---|
//! | C1 | `complete` | `begin`, `is_complete` | the effects of the statement, to the task that ends the phase instead | `single_word` |
//! | C2 | `release` | `is_requested` | the same, to a task that finds no holder left | `single_panics` |
#![forbid(unsafe_code)]

use crate::sync::{AtomicUsize, Ordering};

/// Progress of the newest phase, encoded as `3 * phase + {REQUESTED, DONE}`; any smaller value
/// means idle.
const REQUESTED: usize = 1;
const DONE: usize = 2;

/// The outcome of [`Single::begin`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begin {
    /// The caller must run the statement, and then call [`complete`](Single::complete).
    Do,
    /// Another task is running it.
    Wait,
    /// The statement has run.
    Done,
}

/// One word for all phases: IDLE, REQUESTED, DONE (Chatterjee 2013, 6.5: executed between the local
/// gathering and the release).
#[derive(Debug)]
#[repr(C)]
pub struct Single {
    state: AtomicUsize,
    requested: AtomicUsize,
    holders: AtomicUsize,
    notified: AtomicUsize,
}

impl Default for Single {
    fn default() -> Self {
        Self::new()
    }
}

impl Single {
    /// Creates a state without requests.
    pub fn new() -> Self {
        Self {
            state: AtomicUsize::new(0),
            requested: AtomicUsize::new(0),
            holders: AtomicUsize::new(0),
            notified: AtomicUsize::new(0),
        }
    }

    /// Requests a statement at the end of `phase`. Called by a task that has not signalled `phase`,
    /// and that calls [`release`](Self::release) before its next signal.
    pub(crate) fn request(&self, phase: usize) {
        // ORDERING: Relaxed: the signal that follows makes it visible to a task that sees all
        // signals.
        self.holders.fetch_add(1, Ordering::Relaxed);
        // ORDERING: Relaxed: published by the same signal.
        self.requested.fetch_max(phase + 1, Ordering::Relaxed);
    }

    /// Withdraws a request: this task will not run the statement. The caller must then recheck
    /// whether the phase has ended.
    pub(crate) fn release(&self) {
        // ORDERING: Release, pairs with Acquire in is_requested (C2).
        self.holders.fetch_sub(1, Ordering::Release);
    }

    /// Whether a statement is requested at the end of `phase` and a task can still run it. Called
    /// after all signals of `phase` were seen, so all requests of earlier phases are released.
    #[inline]
    pub(crate) fn is_requested(&self, phase: usize) -> bool {
        // ORDERING: Relaxed: after all signals, see `request`.
        self.requested.load(Ordering::Relaxed) == phase + 1
            // ORDERING: Acquire, pairs with Release in release (C2): the statement may have run.
            && self.holders.load(Ordering::Acquire) > 0
    }

    /// Returns true to the first task that finds all signals of `phase` and holds no statement: one
    /// notification is enough, and two such tasks must not notify each other for ever.
    pub(crate) fn notify_once(&self, phase: usize) -> bool {
        // ORDERING: Relaxed: a fence follows.
        self.notified.fetch_max(phase + 1, Ordering::Relaxed) <= phase
    }

    /// Whether the statement at the end of `phase` has run: the task that ran it may have left by a
    /// panic, without ending the phase.
    pub(crate) fn is_complete(&self, phase: usize) -> bool {
        // ORDERING: Acquire, pairs with Release in complete (C1).
        self.state.load(Ordering::Acquire) >= 3 * phase + DONE
    }

    /// Selects exactly one caller in each phase.
    pub fn begin(&self, phase: usize) -> Begin {
        let base = 3 * phase;
        // ORDERING: failure Acquire, pairs with Release in complete (C1); the first load, too.
        // ORDERING: success Relaxed: a load that acquires has read the same store.
        let (success, failure) = (Ordering::Relaxed, Ordering::Acquire);
        let mut state = self.state.load(failure);
        while state < base + REQUESTED {
            let next = base + REQUESTED;
            match self.state.compare_exchange(state, next, success, failure) {
                Ok(_) => return Begin::Do,
                Err(now) => state = now,
            }
        }
        if state == base + REQUESTED {
            return Begin::Wait;
        }
        Begin::Done
    }

    /// Records that the statement of `phase` has run.
    pub fn complete(&self, phase: usize) {
        // ORDERING: Release, pairs with Acquire in begin (C1).
        self.state.store(3 * phase + DONE, Ordering::Release);
    }

    /// Calls `body` unless it has been called for this phase; returns false while another task is
    /// running it. A panic of `body` counts as completion: it propagates in its own task, and must
    /// not block the others.
    pub(crate) fn once(&self, phase: usize, body: &mut dyn FnMut()) -> bool {
        match self.begin(phase) {
            Begin::Wait => false,
            Begin::Done => true,
            Begin::Do => {
                let _completes = Running(self, phase);
                body();
                true
            }
        }
    }
}

/// Completes the phase when dropped, by a return or by a panic.
struct Running<'a>(&'a Single, usize);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.complete(self.1);
    }
}
