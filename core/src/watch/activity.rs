//! The current state of a worker, for threads that inspect a pool.
//!
//! # Words
//! `word`: written by the worker, read by any thread. The state and what the worker waits for are
//! in one word, so they always belong together. `suspended`: written by the worker, read by any
//! thread.

use super::state::State;
use crate::sync::{AtomicUsize, Ordering};

/// The purpose of a task's wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Awaits {
    /// The end of a fork that another worker runs.
    Fork,
    /// The end of the tasks of a scope.
    Scope,
    /// The wake-up of a future, in `block_on`.
    Future,
    /// The end of a phase.
    Phase,
}

impl Awaits {
    /// All kinds of waits, in the order of their discriminants.
    pub const ALL: [Self; 4] = [Self::Fork, Self::Scope, Self::Future, Self::Phase];

    /// Names the awaited event.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Fork => "the end of a fork",
            Self::Scope => "the end of a scope",
            Self::Future => "a future",
            Self::Phase => "the end of a phase",
        }
    }
}

/// The state of a worker, as read at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Doing {
    /// The state of the worker; `None` if no thread is this worker.
    pub state: Option<State>,
    /// The innermost wait on the worker's stack. The worker may be running another task within that
    /// wait.
    pub awaits: Option<Awaits>,
}

/// Bits for the state, and for what is awaited.
const BITS: u32 = 3;
const MASK: usize = (1 << BITS) - 1;

impl Doing {
    /// Both as numbers from 1, so that 0 stands for `None`.
    const fn pack(self) -> usize {
        let state = match self.state {
            Some(state) => state as usize + 1,
            None => 0,
        };
        let awaits = match self.awaits {
            Some(awaits) => awaits as usize + 1,
            None => 0,
        };
        state | awaits << BITS
    }

    fn unpack(word: usize) -> Self {
        let (state, awaits) = (word & MASK, word >> BITS & MASK);
        Self {
            state: state.checked_sub(1).map(|state| State::ALL[state]),
            awaits: awaits.checked_sub(1).map(|awaits| Awaits::ALL[awaits]),
        }
    }
}

/// The latest state of a worker.
#[derive(Debug)]
pub struct Activity {
    word: AtomicUsize,
    suspended: AtomicUsize,
}

impl Default for Activity {
    fn default() -> Self {
        Self::new()
    }
}

impl Activity {
    /// Creates the word of a worker that no thread is.
    pub fn new() -> Self {
        Self {
            word: AtomicUsize::new(0),
            suspended: AtomicUsize::new(0),
        }
    }

    /// Returns the worker's activity, as a hint.
    #[inline]
    pub fn get(&self) -> Doing {
        // ORDERING: Relaxed: a hint; nothing is read because of it.
        Doing::unpack(self.word.load(Ordering::Relaxed))
    }

    /// Sets the worker's activity. Called by the worker only.
    #[inline]
    pub fn set(&self, doing: Doing) {
        // ORDERING: Relaxed: publishes nothing else.
        self.word.store(doing.pack(), Ordering::Relaxed);
    }

    /// Returns the sum of what [`count_suspended`](Self::count_suspended) has added.
    pub fn suspended(&self) -> usize {
        // ORDERING: Relaxed: a hint; nothing is read because of it.
        self.suspended.load(Ordering::Relaxed)
    }

    /// Adds `change` to the count of suspended tasks. Called by the worker only.
    #[inline]
    pub fn count_suspended(&self, change: usize) {
        // ORDERING: Relaxed: only this worker writes the count, which publishes nothing else.
        let count = self.suspended.load(Ordering::Relaxed);
        // ORDERING: Relaxed: only this worker writes the count, which publishes nothing else.
        self.suspended
            .store(count.wrapping_add(change), Ordering::Relaxed);
    }
}
