//! Uses of a progress engine that end when its world is dropped.
#![forbid(unsafe_code)]

use super::ProgressEngine;
use crate::observe::watch::Awaiting;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

/// An engine that others use, but do not keep: when the owner of the world drops it, none of them
/// is left as the last one, which would end the link.
#[derive(Clone, Default)]
pub(crate) struct Handle(Arc<RwLock<Option<Arc<ProgressEngine>>>>);

impl Handle {
    pub(crate) fn new(engine: &Arc<ProgressEngine>) -> Self {
        Self(Arc::new(RwLock::new(Some(Arc::clone(engine)))))
    }

    /// Lets `using` use the engine, unless its world was dropped.
    pub(crate) fn with<R>(&self, using: impl FnOnce(&ProgressEngine) -> R) -> Option<R> {
        let engine = self.0.read().unwrap_or_else(PoisonError::into_inner);
        engine.as_deref().map(using)
    }

    /// Waits for those that use it, and ends that. Not called by one of them.
    pub(crate) fn end(&self) {
        let engine = self
            .0
            .write()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        drop(engine);
    }
}

impl Awaiting for RwLock<Option<Arc<ProgressEngine>>> {
    fn is_awaiting(&self) -> bool {
        let engine = self.read().unwrap_or_else(PoisonError::into_inner);
        engine.as_deref().is_some_and(ProgressEngine::is_awaiting)
    }

    fn report(&self, least: Duration) -> Vec<String> {
        let engine = self.read().unwrap_or_else(PoisonError::into_inner);
        let here = engine.as_deref().filter(|engine| engine.patience.is_here());
        here.map_or_else(Vec::new, |engine| engine.patience.report(engine, least))
    }
}

impl Handle {
    /// Returns the source of events that may still end a wait, for reports of deadlocks.
    pub(crate) fn awaiting(&self) -> std::sync::Weak<dyn Awaiting> {
        Arc::downgrade(&self.0) as _
    }
}
