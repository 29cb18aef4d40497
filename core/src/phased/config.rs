//! Builders of phasers of tasks.

use crate::phaser::Config;
use crate::port::Host;
use crate::task::{Pool, TaskCx};

impl<P: Host> Pool<P> {
    /// Sets how phasers of tasks are built by default.
    #[must_use]
    pub fn with_phasers(self, phasers: Config) -> Self {
        self.with_extension(phasers)
    }

    /// Returns how phasers of tasks are built.
    pub fn phasers(&self) -> Config {
        self.extension().copied().unwrap_or_default()
    }
}

impl<P: Host> TaskCx<'_, '_, P> {
    /// Returns how phasers of the pool are built.
    pub(super) fn phasers(&self) -> Config {
        self.pool().phasers()
    }
}
