//! The signal that communication workers have something to do.
//!
//! # Algorithm
//! A rank has a progress thread, which waits for the bell of its link and then steps all communication workers. While other threads
//! step them, it is away: notifications do not wake it. Before it waits again it takes over.
//!
//! # Words
//! `is_due`: set by each thread that gives a communication worker something to do and does not step it itself, cleared by the thread
//! that will step all of them. `is_away`: written by the progress thread alone.
//!
//! # Orderings
//! | id | release side | acquire side | what becomes visible | model |
//! |---|---|---|---|---|
//! | NF1 | `set_due` | `take_due` | what the workers have to do, of each thread that has set the word since | `comm_due*` in `verify/tests/comm/turns.rs` |
//! | NF2 | `notify` sets `is_due`, then fences and loads `is_away` | `take_over` clears `is_away`, then fences; `take_due` loads `is_due` | one of them observes the other's store | `comm_take_over` there |
#![forbid(unsafe_code)]

use crate::port::Bell;
use crate::sync::{AtomicBool, Ordering, full_fence};
use alloc::sync::Arc;
use core::fmt;

/// Whether communication workers have something to do, and how the progress thread learns of it.
///
/// ```
/// use std::sync::Arc;
/// use tautline_core::comm::Notifier;
///
/// let notifier = Notifier::new(Arc::new(|| ()));
/// notifier.notify();
/// assert!(notifier.take_due() && !notifier.take_due());
/// ```
pub struct Notifier {
    is_due: AtomicBool,
    is_away: AtomicBool,
    bell: Arc<dyn Bell>,
}

impl fmt::Debug for Notifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Notifier").finish_non_exhaustive()
    }
}

impl Notifier {
    /// Creates a notifier without a signal. The progress thread waits for `bell`.
    pub fn new(bell: Arc<dyn Bell>) -> Self {
        Self {
            is_due: AtomicBool::new(false),
            is_away: AtomicBool::new(false),
            bell,
        }
    }

    /// Makes the next [`take_due`](Self::take_due) return true. Wakes no thread.
    pub fn set_due(&self) {
        // ORDERING: Release, pairs with Acquire in take_due (NF1). A swap, not a store: the thread that takes the signal then also
        // observes what precedes the earlier calls that this one covers.
        self.is_due.swap(true, Ordering::Release);
    }

    /// Returns whether there is something to do, and clears the signal: the caller must step all communication workers.
    pub fn take_due(&self) -> bool {
        // ORDERING: Relaxed load first, so that polling threads do not write the line; the fence of take_over orders it where the
        // caller will wait (NF2).
        self.is_due.load(Ordering::Relaxed)
            // ORDERING: Acquire, pairs with Release in set_due (NF1).
            && self.is_due.swap(false, Ordering::Acquire)
    }

    /// As [`set_due`](Self::set_due), and wakes the progress thread unless it is away.
    pub fn notify(&self) {
        self.set_due();
        // ORDERING: SeqCst, pairs with the fence of take_over (NF2): the progress thread observes the signal, or this thread observes
        // that it is not away.
        full_fence();
        // ORDERING: Relaxed: the fence above orders it.
        if !self.is_away.load(Ordering::Relaxed) {
            self.bell.ring();
        }
    }

    /// States that other threads step the workers, until [`take_over`](Self::take_over). Called by the progress thread.
    pub fn leave(&self) {
        // ORDERING: Relaxed: until it is visible, a notification is spurious.
        self.is_away.store(true, Ordering::Relaxed);
    }

    /// States that the progress thread, which is the caller, is notified again. It must call [`take_due`](Self::take_due) before it
    /// waits for the bell.
    pub fn take_over(&self) {
        // ORDERING: Relaxed on both: written by this thread alone; the fence below orders it.
        if self.is_away.load(Ordering::Relaxed) {
            // ORDERING: Relaxed: as above.
            self.is_away.store(false, Ordering::Relaxed);
            // ORDERING: SeqCst, pairs with the fence of notify (NF2): take_due observes the signal, or the bell is rung.
            full_fence();
        }
    }
}
