//! The count of collective operations that have not ended.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A collective operation that has not ended.
pub(crate) struct Pending(Arc<AtomicUsize>);

impl Pending {
    pub(crate) fn new(count: &Arc<AtomicUsize>) -> Self {
        // ORDERING: Relaxed: the program orders it before the drop of the world.
        count.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(count))
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        // ORDERING: Release, pairs with Acquire in send_all; no mutant: as there.
        self.0.fetch_sub(1, Ordering::Release);
    }
}
