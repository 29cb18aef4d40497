//! The cell: a value that is put once and then shared by all readers.
//!
//! # Words
//! `latch`: see [`latch`](super::latch). `value`: written by the put that has the claim, before the
//! latch is filled; read by threads that have observed a full latch (`latch.E1`).

use super::latch::{Latch, Waiters};
use crate::sync::UnsafeCell;
use core::fmt;
use core::mem::{self, MaybeUninit};
use core::panic::{RefUnwindSafe, UnwindSafe};

/// A data-driven future: empty, then full for ever (Chatterjee 2013, section 3.2.2).
///
/// Its size is that of the value plus two words. A task that waits for a cell which is never put
/// does not end. A runtime in which nothing else runs reports that wait, and may end it.
///
/// ```
/// use tautline_core::flow::{Ddf, NotReady};
///
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

// A cell is empty or full, and its value is not changed by a put that panics in a waker.
impl<T: UnwindSafe> UnwindSafe for Ddf<T> {}
impl<T: UnwindSafe + RefUnwindSafe> RefUnwindSafe for Ddf<T> {}

// SAFETY: the value is Send, and nodes may be finished on any thread.
unsafe impl<T: Send> Send for Ddf<T> {}
// SAFETY: a put moves the value to other threads (T: Send), which then share it (T: Sync); the
// claim admits one writer.
unsafe impl<T: Send + Sync> Sync for Ddf<T> {}

impl<T> Default for Ddf<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Ddf<T> {
    /// Creates an empty cell.
    #[cfg(not(tautline_loom))]
    pub const fn new() -> Self {
        Self {
            latch: Latch::new(),
            value: UnsafeCell::new(MaybeUninit::uninit()),
        }
    }

    /// Creates an empty cell: not `const`, since loom's constructors are not.
    #[cfg(tautline_loom)]
    pub fn new() -> Self {
        Self {
            latch: Latch::new(),
            value: UnsafeCell::new(MaybeUninit::uninit()),
        }
    }

    /// Fills the cell and releases all of its waiters, on this thread, before it returns. Any
    /// thread may call it: tasks that it releases are queued in their pool, and a worker is woken
    /// for them.
    ///
    /// ```
    /// # use tautline_core::flow::Ddf;
    /// let cell = Ddf::new();
    /// assert!(cell.put(1).is_ok());
    /// assert_eq!(cell.put(2).unwrap_err().0, 2); // returned
    /// ```
    ///
    /// By a thread that is no worker:
    /// ```
    /// # use tautline_core::{flow::Ddf, port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// static RECEIVED: Ddf<u32> = Ddf::new();
    /// std::thread::spawn(|| RECEIVED.put(42).unwrap());
    /// cx.scope(|cx| cx.spawn_when(&RECEIVED, |n, _| assert_eq!(*n, 42)));
    /// # }
    /// ```
    ///
    /// # Errors
    /// If the cell is full, or another put is filling it: returns the value.
    ///
    /// # Panics
    /// If a waiter panics when it is released. The cell is full then, and the other waiters are
    /// released.
    pub fn put(&self, value: T) -> Result<(), AlreadyFull<T>> {
        self.fill(value).map(|mut waiters| waiters.release())
    }

    /// Fills the cell as [`put`](Self::put) does, and leaves the release of its waiters to the
    /// result. A thread that shares the cell can so give it up before it runs their code.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use tautline_core::flow::Ddf;
    /// let cell = Arc::new(Ddf::new());
    /// let shared = Arc::clone(&cell);
    /// let mut waiters = shared.fill("full").unwrap();
    /// drop(shared);
    /// waiters.release();
    /// assert_eq!(Arc::into_inner(cell).and_then(Ddf::into_inner), Some("full"));
    /// ```
    ///
    /// # Errors
    /// As [`put`](Self::put).
    pub fn fill(&self, value: T) -> Result<Waiters, AlreadyFull<T>> {
        if !self.latch.claim() {
            return Err(AlreadyFull(value));
        }
        // SAFETY: the claim succeeds once, and no thread reads before the cell is full.
        self.value.with_mut(|cell| unsafe {
            (*cell).write(value);
        });
        Ok(self.latch.fill())
    }

    /// Returns the value. Never blocks.
    ///
    /// ```
    /// # use tautline_core::flow::{Ddf, NotReady};
    /// let cell = Ddf::new();
    /// assert_eq!(cell.get(), Err(NotReady));
    /// cell.put("full").unwrap();
    /// assert_eq!(cell.get(), Ok(&"full"));
    /// ```
    ///
    /// # Errors
    /// If no put has filled the cell yet.
    #[inline]
    pub fn get(&self) -> Result<&T, NotReady> {
        if !self.is_full() {
            return Err(NotReady);
        }
        // SAFETY: the cell is full, so the value was written, and is not written again.
        Ok(self.value.with(|cell| unsafe { (*cell).assume_init_ref() }))
    }

    /// Returns whether the cell is full.
    ///
    /// ```
    /// # use tautline_core::flow::Ddf;
    /// let cell = Ddf::new();
    /// cell.put(1).unwrap();
    /// assert!(cell.is_full());
    /// ```
    #[inline]
    pub fn is_full(&self) -> bool {
        self.latch.is_full()
    }

    /// Returns the value, if it was put. Drops the remaining waiters.
    ///
    /// ```
    /// # use tautline_core::flow::Ddf;
    /// let cell = Ddf::new();
    /// cell.put(vec![1, 2]).unwrap();
    /// assert_eq!(cell.into_inner(), Some(vec![1, 2]));
    /// ```
    pub fn into_inner(mut self) -> Option<T> {
        let latch = mem::replace(&mut self.latch, Latch::new());
        // SAFETY: called only if the cell was full. Its latch was replaced by an empty one, so the
        // value is moved out once.
        let out = |cell: *mut MaybeUninit<T>| unsafe { (*cell).assume_init_read() };
        latch.is_full().then(|| self.value.with_mut(out))
    }

    /// Returns the state of the cell, with which waiters register.
    #[inline]
    pub fn latch(&self) -> &Latch {
        &self.latch
    }
}

impl<T> Drop for Ddf<T> {
    fn drop(&mut self) {
        if mem::needs_drop::<T>() && self.latch.is_full() {
            // SAFETY: the cell is full, and `&mut self` is exclusive.
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

/// The error of a put to a cell that is full or being filled; contains the value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct AlreadyFull<T>(pub T);

/// Without the value, so that any put can be unwrapped.
impl<T> fmt::Debug for AlreadyFull<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AlreadyFull")
    }
}

impl<T> fmt::Display for AlreadyFull<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the cell is full: a value is put once")
    }
}

impl<T> core::error::Error for AlreadyFull<T> {}

/// The error of reading an empty cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotReady;

impl fmt::Display for NotReady {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the cell is empty: `get` requires an earlier `put`")
    }
}

impl core::error::Error for NotReady {}
