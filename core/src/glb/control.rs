//! A running computation, seen from outside.
//!
//! # Words
//! `stopped`: set once by anyone. `done`: workers add what they have done since they last added.
//!
//! # Orderings
//! None: both words are watched, nothing is read through them.

use crate::sync::{AtomicBool, AtomicUsize, Ordering};

/// Stops a computation early, and tells how far it is.
#[derive(Debug)]
pub struct Control {
    stopped: AtomicBool,
    done: AtomicUsize,
}

impl Default for Control {
    fn default() -> Self {
        Self::new()
    }
}

impl Control {
    /// Not stopped, nothing done.
    pub fn new() -> Self {
        Self {
            stopped: AtomicBool::new(false),
            done: AtomicUsize::new(0),
        }
    }

    /// Every place stops at its next look outside; the result is then partial.
    pub fn stop(&self) {
        // ORDERING: Relaxed: the flag itself is the message.
        self.stopped.store(true, Ordering::Relaxed);
    }

    /// [`stop`](Self::stop) was called.
    #[inline]
    pub fn is_stopped(&self) -> bool {
        // ORDERING: Relaxed: the flag itself is the message.
        self.stopped.load(Ordering::Relaxed)
    }

    /// Tasks done so far, a few milliseconds old.
    pub fn done(&self) -> usize {
        // ORDERING: Relaxed: a number to look at.
        self.done.load(Ordering::Relaxed)
    }

    pub(super) fn add_done(&self, tasks: usize) {
        // ORDERING: Relaxed: a number to look at.
        self.done.fetch_add(tasks, Ordering::Relaxed);
    }
}
