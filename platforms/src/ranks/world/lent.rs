//! What may use a world for as long as it is there.
#![forbid(unsafe_code)]

use super::Shared;
use crate::observe::watch::Awaiting;
use std::sync::{Arc, PoisonError, RwLock};

/// A world that others use, but do not keep: when its owner drops it, none of them is left as the last one, which would end the link.
#[derive(Clone, Default)]
pub(crate) struct Lent(Arc<RwLock<Option<Arc<Shared>>>>);

impl Lent {
    pub(super) fn new(shared: &Arc<Shared>) -> Self {
        Self(Arc::new(RwLock::new(Some(Arc::clone(shared)))))
    }

    /// Lets `using` use the world, unless it was dropped.
    pub(crate) fn with<R>(&self, using: impl FnOnce(&Shared) -> R) -> Option<R> {
        let lent = self.0.read().unwrap_or_else(PoisonError::into_inner);
        lent.as_deref().map(using)
    }

    /// Waits for those that use it, and ends that. Not called by one of them.
    pub(super) fn end(&self) {
        let lent = self
            .0
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        drop(lent);
    }
}

impl Awaiting for RwLock<Option<Arc<Shared>>> {
    fn is_awaiting(&self) -> bool {
        let lent = self.read().unwrap_or_else(PoisonError::into_inner);
        lent.as_deref().is_some_and(Shared::is_awaiting)
    }
}

impl Lent {
    /// Returns what may still end a wait, for reports of standstills.
    pub(super) fn awaiting(&self) -> std::sync::Weak<dyn Awaiting> {
        Arc::downgrade(&self.0) as _
    }
}
