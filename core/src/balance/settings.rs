//! The settings of a computation.

use crate::glb::{Config, Control};
use crate::id::{PlaceId, WorkerId};
use crate::lifeline::Crew;
use crate::port::Host;
use crate::task::{Cx, Pool};
use core::fmt;
use core::time::Duration;

/// A balanced computation among tasks: its settings, and the task that waits for it; made by
/// [`Cx::balancer`].
#[must_use = "nothing runs before `run`"]
pub struct TaskBalancer<'c, 's, 'e, P: Host, F = Unobserved> {
    pub(super) cx: &'c mut Cx<'s, 'e, P>,
    pub(super) settings: Settings<'c, F>,
}

impl<P: Host, F> fmt::Debug for TaskBalancer<'_, '_, '_, P, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskBalancer")
            .field("config", &self.settings.config)
            .finish_non_exhaustive()
    }
}

/// Parameters, limits and observers.
pub(super) struct Settings<'c, F> {
    pub(super) config: Config,
    pub(super) control: Option<&'c Control>,
    pub(super) deadline: Option<Duration>,
    pub(super) observe: F,
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
    /// Sets the parameters of [`Cx::balancer`]: the places and workers of this node, above all.
    #[must_use]
    pub fn with_balancing(self, balancing: Config) -> Self {
        self.with_extension(balancing)
    }

    /// Returns the parameters of [`Cx::balancer`]. Default: one place with a
    /// worker for each seat, as far as one place can have that number.
    pub fn balancing(&self) -> &Config {
        let default = || &ONE_PLACE[self.seats().min(Crew::MAX)];
        self.extension().unwrap_or_else(default)
    }
}

/// Observes no worker.
pub type Unobserved = fn(PlaceId, WorkerId);

impl<'s, 'e, P: Host> Cx<'s, 'e, P> {
    /// Creates a balanced computation on the workers of this pool. This task waits for it; its
    /// worker works for the computation, and for other tasks. The places and workers are those of
    /// the pool ([`Pool::balancing`]).
    ///
    /// ```
    /// # use tautline_core::{port::Host, task::Cx};
    /// # fn f<P: Host>(cx: &mut Cx<'_, '_, P>) {
    /// // The ways to climb 20 stairs by ones and twos.
    /// let run = cx.balancer().sum([20u32], |stairs, todo| {
    ///     todo.extend((1..=stairs.min(2)).map(|step| stairs - step));
    ///     u64::from(stairs == 0)
    /// });
    /// assert_eq!(run.map(|run| run.output), Ok(10_946));
    /// # }
    /// ```
    pub fn balancer(&mut self) -> TaskBalancer<'_, 's, 'e, P> {
        fn unobserved(_: PlaceId, _: WorkerId) {}
        let config = *self.pool().balancing();
        TaskBalancer {
            cx: self,
            settings: Settings {
                config,
                control: None,
                deadline: None,
                observe: unobserved,
            },
        }
    }
}

impl<'c, 's, 'e, P: Host, F> TaskBalancer<'c, 's, 'e, P, F> {
    /// Sets all parameters of the balancer.
    pub fn config(mut self, config: Config) -> Self {
        self.settings.config = config;
        self
    }

    /// Lets any thread stop the computation and observe its progress.
    pub fn control(mut self, control: &'c Control) -> Self {
        self.settings.control = Some(control);
        self
    }

    /// Stops the computation for [`Reason::Deadline`](crate::finish::Reason::Deadline) once it has
    /// run for `after`. A worker checks the time after each grain.
    pub fn deadline(mut self, after: Duration) -> Self {
        self.settings.deadline = Some(after);
        self
    }

    /// Creates the observer of each worker by `observe`, before the start.
    pub fn observed<G>(self, observe: G) -> TaskBalancer<'c, 's, 'e, P, G> {
        let Settings {
            config,
            control,
            deadline,
            ..
        } = self.settings;
        TaskBalancer {
            cx: self.cx,
            settings: Settings {
                config,
                control,
                deadline,
                observe,
            },
        }
    }
}
