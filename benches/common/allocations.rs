//! The number of allocations, and the memory that is kept.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering::Relaxed};

static COUNTING: AtomicBool = AtomicBool::new(false);
static COUNTED: AtomicU64 = AtomicU64::new(0);
static KEPT: AtomicI64 = AtomicI64::new(0);

#[global_allocator]
static COUNTER: Counter = Counter;

struct Counter;

// SAFETY: all is done by the system's allocator.
unsafe impl GlobalAlloc for Counter {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if COUNTING.load(Relaxed) {
            COUNTED.fetch_add(1, Relaxed);
            KEPT.fetch_add(layout.size() as i64, Relaxed);
        }
        // SAFETY: the caller's promise is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        if COUNTING.load(Relaxed) {
            KEPT.fetch_sub(layout.size() as i64, Relaxed);
        }
        // SAFETY: the caller's promise is the same.
        unsafe { System.dealloc(at, layout) }
    }
}

/// Returns what `work` and all other threads allocated while it ran.
pub(crate) fn during<R>(work: impl FnOnce() -> R) -> Asked<R> {
    let (times, bytes) = (COUNTED.load(Relaxed), KEPT.load(Relaxed));
    COUNTING.store(true, Relaxed);
    let result = work();
    COUNTING.store(false, Relaxed);
    Asked {
        result,
        times: COUNTED.load(Relaxed) - times,
        bytes: KEPT.load(Relaxed) - bytes,
    }
}

/// The allocations requested.
#[allow(dead_code, reason = "each program reads its part")]
pub(crate) struct Asked<R> {
    /// The result of the work.
    pub result: R,
    /// The number of allocations.
    pub times: u64,
    /// Bytes allocated that were not freed by the end.
    pub bytes: i64,
}
