//! The count of collective operations that have not ended, for reports of deadlocks.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A collective operation that has not ended.
pub(crate) struct Pending(Arc<AtomicUsize>);

impl Pending {
    pub(crate) fn new(count: &Arc<AtomicUsize>) -> Self {
        // ORDERING: Relaxed: a count for reports.
        count.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(count))
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        // ORDERING: Relaxed: a count for reports.
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
