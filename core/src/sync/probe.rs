//! Wakers that ask: a future that is polled with one can note what it waits for.
//!
//! A probe forwards each wake-up to the waker of its task, so a future may keep it as its waker. A
//! waker is recognised as that of a probe by the address of its table, which is a static; a
//! combinator that polls its parts with wakers of its own hides them.
//!
//! # Words
//! `notes`: under its lock.

use super::Lock;
use crate::port::Spin;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::mem::{self, ManuallyDrop};
use core::panic::Location;
use core::ptr;
use core::task::{RawWaker, RawWakerVTable, Waker};

/// The object that a future waits for, and the call that began the wait, if it is known.
pub type Note = (&'static str, Option<&'static Location<'static>>);

/// A waker of a task, and what the futures that were polled with it noted.
#[derive(Debug)]
pub struct Probe {
    waker: Waker,
    notes: Lock<Vec<Note>>,
}

static TABLE: RawWakerVTable = RawWakerVTable::new(share, wake, wake_by_ref, release);

impl Probe {
    /// Creates a probe that wakes as `waker` does.
    pub fn new(waker: &Waker) -> Arc<Self> {
        Arc::new(Self {
            waker: waker.clone(),
            notes: Lock::new(Vec::new()),
        })
    }

    /// Returns the waker with which a future is to be polled.
    pub fn waker(self: &Arc<Self>) -> Waker {
        // SAFETY: the functions of the table keep the contract of a waker for a pointer from an
        // `Arc`: `share` counts one more reference, `wake` and `release` give one up, and a probe
        // is Send and Sync.
        unsafe { Waker::new(Arc::into_raw(Arc::clone(self)).cast(), &TABLE) }
    }

    /// Takes the notes so far.
    pub fn take(&self) -> Vec<Note> {
        mem::take(&mut *self.notes.lock(&Spin))
    }
}

/// Notes that the caller, a future that was polled with `waker` and is pending, waits for `what`
/// since the call at `site`, if that is known. Does nothing unless `waker` is that of a [`Probe`].
#[inline]
pub fn note(waker: &Waker, what: &'static str, site: Option<&'static Location<'static>>) {
    if ptr::eq(waker.vtable(), &TABLE) {
        // SAFETY: a waker with this table has a pointer from an `Arc` of a probe, which it keeps
        // alive.
        let probe = unsafe { &*waker.data().cast::<Probe>() };
        probe.notes.lock(&Spin).push((what, site));
    }
}

unsafe fn share(data: *const ()) -> RawWaker {
    // SAFETY: the pointer is from an `Arc` of a probe, of which the waker has a reference.
    unsafe { Arc::increment_strong_count(data.cast::<Probe>()) };
    RawWaker::new(data, &TABLE)
}

unsafe fn wake(data: *const ()) {
    // SAFETY: the waker gives up its reference.
    unsafe { Arc::from_raw(data.cast::<Probe>()) }
        .waker
        .wake_by_ref();
}

unsafe fn wake_by_ref(data: *const ()) {
    // SAFETY: the waker keeps its reference.
    let probe = ManuallyDrop::new(unsafe { Arc::from_raw(data.cast::<Probe>()) });
    probe.waker.wake_by_ref();
}

unsafe fn release(data: *const ()) {
    // SAFETY: the waker gives up its reference.
    drop(unsafe { Arc::from_raw(data.cast::<Probe>()) });
}
