//! A spin lock for short critical sections off the hot path: reserves, inboxes, protocol state.
//!
//! # Words
//! `held`: set by the thread that acquires the lock, cleared by its guard.
//!
//! # Orderings
//! | id | release side | acquire side | what becomes visible | model |
//! |---|---|---|---|---|
//! | L1 | `Guard::drop` stores false | `try_lock` sets it | everything done to `value` under the lock | `verify/tests/sync.rs` |

use super::{AtomicBool, Ordering, UnsafeCell};
use crate::port::Relax;
use core::marker::PhantomData;
use core::ops::{Deref, DerefMut};

/// A value that one thread at a time may access. Waiters call [`Relax`], so the port determines the
/// cost of waiting.
#[derive(Debug)]
pub struct Lock<T> {
    held: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: the lock lends `&mut T` to one thread at a time, which is sending `T` between threads.
unsafe impl<T: Send> Sync for Lock<T> {}
// SAFETY: moving the lock moves the value.
unsafe impl<T: Send> Send for Lock<T> {}

impl<T> Lock<T> {
    /// Creates a free lock around `value`.
    #[cfg(not(tautline_loom))]
    pub const fn new(value: T) -> Self {
        Self {
            held: AtomicBool::new(false),
            value: UnsafeCell::new(value),
        }
    }

    /// Creates a free lock around `value`.
    #[cfg(tautline_loom)]
    pub fn new(value: T) -> Self {
        Self {
            held: AtomicBool::new(false),
            value: UnsafeCell::new(value),
        }
    }

    /// Acquires the lock, relaxing between attempts.
    ///
    /// ```
    /// # use tautline_core::{port::Spin, sync::Lock};
    /// let lock = Lock::new(1);
    /// *lock.lock(&Spin) += 1;
    /// assert_eq!(lock.into_inner(), 2);
    /// ```
    #[inline]
    pub fn lock(&self, relax: &impl Relax) -> Guard<'_, T> {
        let mut turn = 0;
        loop {
            if let Some(guard) = self.try_lock() {
                return guard;
            }
            relax.relax(turn);
            turn = turn.saturating_add(1);
        }
    }

    /// Acquires the lock if it is free.
    ///
    /// ```
    /// # use tautline_core::sync::Lock;
    /// let lock = Lock::new(1);
    /// let guard = lock.try_lock();
    /// assert!(guard.is_some() && lock.try_lock().is_none());
    /// ```
    #[inline]
    pub fn try_lock(&self) -> Option<Guard<'_, T>> {
        // ORDERING: Acquire, pairs with Release in Guard::drop (L1): the last holder's writes are
        // visible.
        // ORDERING: failure Relaxed: nothing is read.
        let (success, failure) = (Ordering::Acquire, Ordering::Relaxed);
        let taken = self.held.compare_exchange(false, true, success, failure);
        taken.is_ok().then(|| Guard {
            lock: self,
            value: PhantomData,
        })
    }

    /// Consumes the lock, which no thread can hold any more, and returns the value.
    ///
    /// ```
    /// # use tautline_core::sync::Lock;
    /// let lock = Lock::new(1);
    /// assert_eq!(lock.into_inner(), 1);
    /// ```
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

/// The right to access the value of a [`Lock`]; dropping it releases the lock.
///
/// ```compile_fail
/// use tautline_core::sync::Guard;
/// fn shared<T: Sync>() {}
/// shared::<Guard<'static, core::cell::Cell<u32>>>();
/// ```
#[derive(Debug)]
pub struct Guard<'a, T> {
    lock: &'a Lock<T>,
    /// A guard may be shared between threads only if the value may.
    value: PhantomData<&'a mut T>,
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        // SAFETY: the guard exists, so this thread holds the lock and no other thread accesses the
        // value.
        self.lock.value.with(|p| unsafe { &*p })
    }
}

impl<T> DerefMut for Guard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as in deref, and the guard is borrowed mutably.
        self.lock.value.with_mut(|p| unsafe { &mut *p })
    }
}

impl<T> Drop for Guard<'_, T> {
    fn drop(&mut self) {
        // ORDERING: Release, pairs with Acquire in try_lock (L1): the next holder observes all
        // writes to the value.
        self.lock.held.store(false, Ordering::Release);
    }
}
