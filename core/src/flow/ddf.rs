//! The cell: a value that is put once, and then there for all.
//!
//! # Words
//! `latch`: see [`latch`](super::latch). `value`: written by the put that has the claim, before the latch is filled; read by
//! whoever saw it full.

use super::Latch;
use crate::sync::UnsafeCell;
use core::fmt;
use core::mem::{self, MaybeUninit};

/// A data-driven future: empty, then full for ever (Chatterjee 2013, section 3.2.2).
///
/// Besides the value it is two words.
///
/// ```
/// use tautline_core::flow::{Ddf, NotReady};
/// static ANSWER: Ddf<u32> = Ddf::new();
/// assert_eq!(ANSWER.get(), Err(NotReady));
/// assert_eq!(ANSWER.put(42), Ok(()));
/// assert_eq!(ANSWER.get(), Ok(&42));
/// assert_eq!(ANSWER.put(43).unwrap_err().0, 43);
/// ```
///
/// Threads that share a cell share its value:
///
/// ```compile_fail
/// fn shared<T: Sync>() {}
/// shared::<tautline_core::flow::Ddf<core::cell::Cell<u32>>>();
/// ```
pub struct Ddf<T> {
    latch: Latch,
    value: UnsafeCell<MaybeUninit<T>>,
}

// SAFETY: the cell owns the value, and nodes in it may be finished on any thread.
unsafe impl<T: Send> Send for Ddf<T> {}
// SAFETY: a put sends the value to the cell's threads, and then all of them read it; who may write is claimed.
unsafe impl<T: Send + Sync> Sync for Ddf<T> {}

impl<T> Default for Ddf<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Ddf<T> {
    /// An empty cell.
    #[cfg(not(tautline_loom))]
    pub const fn new() -> Self {
        Self {
            latch: Latch::new(),
            value: UnsafeCell::new(MaybeUninit::uninit()),
        }
    }

    /// As without loom, where it is const.
    #[cfg(tautline_loom)]
    pub fn new() -> Self {
        Self {
            latch: Latch::new(),
            value: UnsafeCell::new(MaybeUninit::uninit()),
        }
    }

    /// Fills the cell and releases all who wait for it, on this thread, before it returns.
    ///
    /// # Errors
    /// If the cell is full, or another put is filling it: gives the value back.
    ///
    /// # Panics
    /// If a waiter panics when it is released; the value is in, and the other waiters are released all the same.
    pub fn put(&self, value: T) -> Result<(), AlreadyFull<T>> {
        if !self.latch.claim() {
            return Err(AlreadyFull(value));
        }
        // SAFETY: the claim is ours for ever, and nobody reads before the cell is full.
        self.value.with_mut(|cell| unsafe {
            (*cell).write(value);
        });
        self.latch.fill();
        Ok(())
    }

    /// The value. Never waits.
    ///
    /// # Errors
    /// If no put has filled the cell yet.
    #[inline]
    pub fn get(&self) -> Result<&T, NotReady> {
        if !self.is_full() {
            return Err(NotReady);
        }
        // SAFETY: the cell is full, so the value was written before, and nothing writes it again.
        Ok(self.value.with(|cell| unsafe { (*cell).assume_init_ref() }))
    }

    /// Whether the value is there.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.latch.is_full()
    }

    /// The value, if it was put. Drops those who still wait.
    pub fn into_inner(mut self) -> Option<T> {
        let latch = mem::replace(&mut self.latch, Latch::new());
        // SAFETY: the cell was full. It counts as empty from here on, so the value is moved out once.
        let out = |cell: *mut MaybeUninit<T>| unsafe { (*cell).assume_init_read() };
        latch.is_full().then(|| self.value.with_mut(out))
    }

    /// The state of the cell, which waiters register with.
    #[inline]
    pub fn latch(&self) -> &Latch {
        &self.latch
    }
}

impl<T> Drop for Ddf<T> {
    fn drop(&mut self) {
        if mem::needs_drop::<T>() && self.latch.is_full() {
            // SAFETY: the cell is full and nobody else has it.
            self.value
                .with_mut(|cell| unsafe { (*cell).assume_init_drop() });
        }
    }
}

impl<T: fmt::Debug> fmt::Debug for Ddf<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.get() {
            Ok(value) => f.debug_tuple("Ddf").field(value).finish(),
            Err(NotReady) => f.write_str("Ddf(empty)"),
        }
    }
}

/// The cell was full, or about to be; here is the value back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AlreadyFull<T>(pub T);

impl<T> fmt::Display for AlreadyFull<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the cell is full: a value is put once")
    }
}

impl<T: fmt::Debug> core::error::Error for AlreadyFull<T> {}

/// The cell was empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotReady;

impl fmt::Display for NotReady {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the cell is empty: get comes after the put")
    }
}

impl core::error::Error for NotReady {}
