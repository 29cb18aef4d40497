//! The settings of a computation.

use crate::glb::{Config, Control};
use crate::id::{PlaceId, WorkerId};
use crate::lifeline::Crew;
use crate::port::Host;
use crate::task::Pool;
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

/// By the number of seats: the parameters of a pool for which they were not set.
static ONE_PLACE: [Config; Crew::MAX + 1] = {
    let mut all = [Config::DEFAULT; Crew::MAX + 1];
    let mut seats = 0;
    while seats < all.len() {
        all[seats] = Config::DEFAULT.divided(1, seats);
        seats += 1;
    }
    all
};

impl<P: Host> Pool<P> {
    /// Sets the parameters of [`Cx::balance`](crate::task::Cx::balance): the places and workers of this node, above all.
    #[must_use]
    pub fn with_balancing(self, balancing: Config) -> Self {
        self.with_extension(balancing)
    }

    /// Returns the parameters of [`Cx::balance`](crate::task::Cx::balance). Default: one place with a
    /// worker for each seat, as far as one place can have that number.
    pub fn balancing(&self) -> &Config {
        let default = || &ONE_PLACE[self.seats().min(Crew::MAX)];
        self.extension().unwrap_or_else(default)
    }
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
