//! What makes threads look at the communication workers of a world.
//!
//! # Words
//! `is_due`: set by every thread that gives a communication worker something to do and does not do it itself, cleared by the one that
//! looks. `is_left`: written by the thread of the world alone.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};
use tautline_core::port::Bell;

/// Whether communication workers have something to do, and how the thread of the world learns of it.
pub(crate) struct Attention {
    is_due: AtomicBool,
    /// Whether the thread of the world leaves its work to other threads.
    is_left: AtomicBool,
    /// What the thread of the world waits for.
    bell: Arc<dyn Bell>,
    /// Operations of all ranks that have not ended.
    pending: AtomicUsize,
}

/// An operation of all ranks that has not ended.
pub(crate) struct Pending(Arc<Attention>);

impl Pending {
    pub(crate) fn new(attention: &Arc<Attention>) -> Self {
        // ORDERING: Relaxed: a count for reports.
        attention.pending.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(attention))
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        // ORDERING: Relaxed: a count for reports.
        self.0.pending.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Attention {
    pub(super) fn new(bell: Arc<dyn Bell>) -> Self {
        Self {
            is_due: AtomicBool::new(false),
            is_left: AtomicBool::new(false),
            bell,
            pending: AtomicUsize::new(0),
        }
    }

    /// Whether an operation of all ranks has not ended.
    pub(super) fn is_pending(&self) -> bool {
        // ORDERING: Relaxed: a count for reports.
        self.pending.load(Ordering::Relaxed) > 0
    }

    /// Makes the next thread look that communicates.
    pub(crate) fn set_due(&self) {
        // ORDERING: Release, pairs with Acquire in take_due; no mutant: loom builds core alone.
        self.is_due.store(true, Ordering::Release);
    }

    /// Whether there is something to do, since the last call that has returned so.
    pub(super) fn take_due(&self) -> bool {
        // ORDERING: Relaxed: a hint, which spares the exchange below; what is missed is found by the thread's next look.
        self.is_due.load(Ordering::Relaxed)
            // ORDERING: Acquire, pairs with Release in set_due; no mutant: as there.
            && self.is_due.swap(false, Ordering::Acquire)
    }

    /// Makes the thread of the world look, soon if other threads do its work.
    pub(crate) fn notify(&self) {
        self.set_due();
        // ORDERING: SeqCst, pairs with the fence of takes_over: the thread of the world observes what was submitted or has arrived, or
        // this thread observes that it waits for the bell; no mutant: loom builds core alone.
        fence(Ordering::SeqCst);
        // ORDERING: Relaxed: the fence above orders it.
        if !self.is_left.load(Ordering::Relaxed) {
            self.bell.ring();
        }
    }

    /// The thread of the world leaves its work to other threads.
    pub(super) fn leave(&self) {
        // ORDERING: Relaxed: false meanwhile at worst, and a ring is spurious.
        self.is_left.store(true, Ordering::Relaxed);
    }

    /// The thread of the world does its work again. Returns whether it had left it: then it must look at once.
    pub(super) fn takes_over(&self) -> bool {
        // ORDERING: Relaxed: the fence below orders it.
        let was_left = self.is_left.swap(false, Ordering::Relaxed);
        if was_left {
            // ORDERING: SeqCst, pairs with the fence of notify: what was submitted before is found by the caller, or the bell is rung;
            // no mutant: loom builds core alone.
            fence(Ordering::SeqCst);
        }
        was_left
    }
}
