//! The settings of a computation.

use crate::glb::{Config, Control};
use crate::id::{PlaceId, WorkerId};
use core::time::Duration;

/// The settings of a balanced computation among tasks: parameters, limits and observers.
#[derive(Debug)]
pub struct Balance<'c, F = Unobserved> {
    /// The balancer's parameters.
    pub config: Config,
    /// Stops the computation, and reports its progress.
    pub control: &'c Control,
    /// The run time after which the computation is stopped for
    /// [`Reason::Deadline`](crate::finish::Reason::Deadline). A worker checks the time after each
    /// grain.
    pub deadline: Option<Duration>,
    /// Creates the observer of a worker. Called once for each worker before the start.
    pub observe: F,
}

/// Observes no worker.
pub type Unobserved = fn(PlaceId, WorkerId);

impl<'c> Balance<'c> {
    /// Creates settings with these parameters and without observers.
    pub fn new(config: Config, control: &'c Control) -> Self {
        fn unobserved(_: PlaceId, _: WorkerId) {}
        Self {
            config,
            control,
            deadline: None,
            observe: unobserved,
        }
    }
}
