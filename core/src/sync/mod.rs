//! Atomics, cells and locks: the only module of the crate that accesses them directly.
//!
//! All shared state of the crate uses these types, so that a build with `--cfg tautline_loom`
//! replaces them by those of the loom model checker, and one with `--cfg tautline_shuttle` by those
//! of the shuttle scheduler, in whose runs every access can be observed. SeqCst *accesses* are not
//! used anywhere (loom treats them as AcqRel): `fence(SeqCst)` is.

mod cache_line;
mod fence;
mod lock;
#[cfg(tautline_loom)]
mod modelled;
mod permit;
#[cfg(feature = "alloc")]
mod probe;
#[cfg(tautline_shuttle)]
mod watched;

pub use cache_line::CacheLine;
pub use fence::{full_fence, light_fence};
pub use lock::{Guard, Lock};
pub use permit::Permit;
#[cfg(feature = "alloc")]
pub use probe::{Note, Probe, note};

#[cfg(not(any(tautline_loom, tautline_shuttle)))]
pub use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, Ordering};

#[cfg(not(any(tautline_loom, tautline_shuttle, tautline_tsan)))]
pub use core::sync::atomic::fence;

#[cfg(tautline_tsan)]
pub use fence::fence;

#[cfg(tautline_shuttle)]
pub use watched::{
    Access, AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, Ordering, UnsafeCell, Watch, fence,
    point, watch,
};

#[cfg(tautline_loom)]
pub use modelled::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, FreedPtr, Ordering, fence};

/// An `AtomicPtr` that its owner frees as soon as its value permits: with loom, freeing it is a
/// write.
#[cfg(not(tautline_loom))]
pub use AtomicPtr as FreedPtr;

pub use crossbeam_utils::CachePadded;

#[cfg(tautline_loom)]
pub use loom::cell::UnsafeCell;

/// A cell whose accesses loom observes. Without loom it is `core::cell::UnsafeCell`.
#[cfg(not(any(tautline_loom, tautline_shuttle)))]
#[derive(Debug, Default)]
pub struct UnsafeCell<T>(core::cell::UnsafeCell<T>);

#[cfg(not(any(tautline_loom, tautline_shuttle)))]
impl<T> UnsafeCell<T> {
    /// Creates a cell with `value`.
    pub const fn new(value: T) -> Self {
        Self(core::cell::UnsafeCell::new(value))
    }

    /// Calls `f` with a pointer for reading.
    #[inline(always)]
    pub fn with<R>(&self, f: impl FnOnce(*const T) -> R) -> R {
        f(self.0.get())
    }

    /// Calls `f` with a pointer for writing.
    #[inline(always)]
    pub fn with_mut<R>(&self, f: impl FnOnce(*mut T) -> R) -> R {
        f(self.0.get())
    }

    /// Returns the value of the cell.
    pub fn into_inner(self) -> T {
        self.0.into_inner()
    }
}
