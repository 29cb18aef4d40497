//! Atomics under loom: those of loom, with orderings that can be weakened at run time ([`weaken`]).
//!
//! # Algorithm
//! Each access passes its ordering through [`weaken`], by the place in the code that calls it, and
//! then is an access of loom. Nothing else is added, so the executions of a model are those without
//! this module.

mod freed;
mod weaken;

pub use freed::FreedPtr;
pub use loom::sync::atomic::Ordering;

use core::panic::Location;
use loom::sync::atomic;
use weaken::{reach, weakened};

/// The only ordering of an access that has one.
const ONLY: &str = "order";
const SUCCESS: &str = "success";
const FAILURE: &str = "failure";

/// As `core::sync::atomic::fence`.
#[track_caller]
pub fn fence(order: Ordering) {
    let site = Location::caller();
    reach(site, ONLY, order);
    if let Some(order) = weakened(site, ONLY, order) {
        // ORDERING: as passed by the caller, or a weaker one.
        atomic::fence(order);
    }
}

/// Reports an access, and returns the ordering that it has.
#[track_caller]
fn passed(order: Ordering) -> Ordering {
    let site = Location::caller();
    reach(site, ONLY, order);
    // ORDERING: Relaxed: an access cannot be left out.
    weakened(site, ONLY, order).unwrap_or(Ordering::Relaxed)
}

/// Returns the orderings that a compare-exchange has.
#[track_caller]
fn passed_both(success: Ordering, failure: Ordering) -> (Ordering, Ordering) {
    let site = Location::caller();
    // ORDERING: Relaxed: an access cannot be left out.
    let of = |role, order| weakened(site, role, order).unwrap_or(Ordering::Relaxed);
    (of(SUCCESS, success), of(FAILURE, failure))
}

/// Reports a compare-exchange, of which one ordering counts.
#[track_caller]
fn ended<T>(result: &Result<T, T>, success: Ordering, failure: Ordering) {
    let (role, order) = match result {
        Ok(_) => (SUCCESS, success),
        Err(_) => (FAILURE, failure),
    };
    reach(Location::caller(), role, order);
}

/// The operations that all words have in common.
macro_rules! accesses {
    ($atomic:ident, $word:ty) => {
        #[track_caller]
        pub fn new(value: $word) -> Self {
            Self(atomic::$atomic::new(value))
        }

        #[track_caller]
        pub fn load(&self, order: Ordering) -> $word {
            self.0.load(passed(order))
        }

        #[track_caller]
        pub fn store(&self, value: $word, order: Ordering) {
            self.0.store(value, passed(order));
        }

        #[track_caller]
        pub fn compare_exchange(
            &self,
            current: $word,
            new: $word,
            success: Ordering,
            failure: Ordering,
        ) -> Result<$word, $word> {
            let (yes, no) = passed_both(success, failure);
            let result = self.0.compare_exchange(current, new, yes, no);
            ended(&result, success, failure);
            result
        }

        #[track_caller]
        pub fn compare_exchange_weak(
            &self,
            current: $word,
            new: $word,
            success: Ordering,
            failure: Ordering,
        ) -> Result<$word, $word> {
            self.compare_exchange(current, new, success, failure)
        }
    };
}

/// Read-modify-write operations, with the names of `core`.
macro_rules! updates {
    ($word:ty: $($name:ident)+) => {
        $(#[track_caller]
        pub fn $name(&self, value: $word, order: Ordering) -> $word {
            self.0.$name(value, passed(order))
        })+
    };
}

/// As `core::sync::atomic::AtomicBool`.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct AtomicBool(atomic::AtomicBool);

#[allow(missing_docs, reason = "as in core")]
impl AtomicBool {
    accesses!(AtomicBool, bool);
    updates!(bool: swap fetch_or fetch_and);
}

/// As `core::sync::atomic::AtomicU32`.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct AtomicU32(atomic::AtomicU32);

#[allow(missing_docs, reason = "as in core")]
impl AtomicU32 {
    accesses!(AtomicU32, u32);
    updates!(u32: swap);
}

/// As `core::sync::atomic::AtomicUsize`.
#[derive(Debug, Default)]
#[repr(transparent)]
pub struct AtomicUsize(atomic::AtomicUsize);

#[allow(missing_docs, reason = "as in core")]
impl AtomicUsize {
    accesses!(AtomicUsize, usize);
    updates!(usize: swap fetch_add fetch_sub fetch_and fetch_or fetch_xor fetch_max fetch_min);

    #[track_caller]
    pub fn with_mut<R>(&mut self, f: impl FnOnce(&mut usize) -> R) -> R {
        self.0.with_mut(f)
    }
}

/// As `core::sync::atomic::AtomicPtr`.
#[derive(Debug)]
#[repr(transparent)]
pub struct AtomicPtr<T>(atomic::AtomicPtr<T>);

#[allow(missing_docs, reason = "as in core")]
impl<T> AtomicPtr<T> {
    accesses!(AtomicPtr, *mut T);
    updates!(*mut T: swap);

    #[track_caller]
    pub fn with_mut<R>(&mut self, f: impl FnOnce(&mut *mut T) -> R) -> R {
        self.0.with_mut(f)
    }
}
