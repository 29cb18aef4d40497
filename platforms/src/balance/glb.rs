//! Global load balancing (`Glb`) on this machine: give tasks or a [`Bag`], call [`Glb::sum`] or [`Glb::run`].
//!
//! A place is a share of the machine with its own workers; places request work from each other at
//! random and then along lifelines. On one machine as few places as possible are best; more places
//! show how the program would perform on many machines.
#![forbid(unsafe_code)]

// First: rustdoc begins the page of `Glb` with these methods.
mod run;

#[cfg(feature = "serde")]
mod across;
mod attended;
mod forks;
mod setup;
#[cfg(feature = "sim")]
mod simulate;
mod sum;

#[cfg(feature = "serde")]
pub use across::Across;
pub use attended::Progress;

use crate::Result;
use crate::error::refuse;
use crate::execution::plan::{Plan, places_of};
use crate::execution::runtime::Runtime;
use crate::host::pinning::Pinning;
use crate::setting::spelling::Lifelines;
use crate::setting::{self, PLACES, Rules, WORKERS};
use attended::Reports;
use setup::{Ground, Setup};
use std::time::Duration;
use tautline_core::grain::GRAIN_MAX;
use tautline_core::lifeline::Crew;

pub use tautline_core::balance::Balance;
pub use tautline_core::deque::Local;
pub use tautline_core::glb::{
    Bag, Config, Control, Fairness, Grain, IntoBag, Loot, Observer, PlaceRun, Reason, Run, Share,
    State, Steal, Steals, Tally, Task, Tasks, Times, WorkerRun, laws,
};
pub use tautline_core::grain::{Rule, Tuning};
pub use tautline_core::lifeline::{AnyBound, Best, Bound, Bounding, Graph, Key, Traffic};
pub use tautline_core::{PlaceId, WorkerId};
#[cfg(feature = "sim")]
pub use tautline_sim::{Bound as GreedyBound, Outcome};

/// Global load balancing: a computation whose work is divided among all workers while it runs, and its settings.
///
/// [`sum`](Self::sum) runs tasks of one function, [`run`](Self::run) any work.
/// [`Runtime::glb`] creates one on a runtime, whose workers it shares with tasks. [`Glb::new`] has a
/// dedicated runtime with the settings of the [environment](crate::plan), by default a worker for each
/// processor that this process may use; it is started at the first run, and kept for the next ones.
///
/// ```
/// use tautline::glb::{Fairness, Graph, Steal};
/// use tautline::prelude::*;
///
/// let glb = Glb::new()
///     .places(2) // default: as few as the machine needs
///     .workers(2) // of each place; default: all processors
///     .steal(Steal::Count(7)) // default: half
///     .lifelines(Graph::Ring) // default: by the number of places
///     .random_steals(1)
///     .fairness(Fairness::Inline)
///     .seed(1)
///     .pinned(false);
/// let run = glb.sum(0..100u64, |n, _todo| n)?;
/// assert_eq!(run.output, 4950);
/// assert!(run.complete);
/// # Ok::<(), tautline::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "nothing runs before `run`"]
pub struct Glb<'a, F = Unobserved> {
    setup: Setup<'a>,
    control: Option<&'a Control>,
    reports: Option<Reports<'a>>,
    is_interruptible: bool,
    observe: F,
}

/// No worker is observed.
pub type Unobserved = fn(PlaceId, WorkerId);

impl<'a, F> Glb<'a, F> {
    /// The maximum number of workers of all places.
    pub const THREADS_MAX: usize = crate::execution::plan::WORKERS_MAX;
    /// The longest time between two polls, in tasks: a fraction of a second if they are small.
    pub const GRAIN_MAX: usize = GRAIN_MAX;

    /// Sets the number of places, 1 to [`THREADS_MAX`](Self::THREADS_MAX). Default: the runtime's.
    ///
    /// ```
    /// # use tautline::prelude::*;
    /// let run = Glb::new().places(3).workers(1).sum(0..100u64, |n, _| n)?;
    /// assert_eq!((run.output, run.places.len()), (4950, 3));
    /// # Ok::<(), tautline::Error>(())
    /// ```
    pub fn places(mut self, places: u32) -> Self {
        self.setup.renew();
        self.setup.places = Some(places);
        self
    }

    /// Sets the number of workers of each place, 1 to 64. Default: the runtime's, divided among the
    /// places.
    ///
    /// ```
    /// # use tautline::prelude::*;
    /// let config = Glb::new().places(4).workers(2).config()?;
    /// assert_eq!(config.all_workers(), 8);
    /// # Ok::<(), tautline::Error>(())
    /// ```
    pub fn workers(mut self, workers: usize) -> Self {
        self.setup.renew();
        self.setup.workers = Some(workers);
        self
    }

    /// Sets how many random requests a dry place makes before it uses its lifelines. Default:
    /// one for each doubling of the places.
    pub fn random_steals(mut self, tries: usize) -> Self {
        self.setup.rules.random_steals = Some(tries);
        self
    }

    /// Sets the lifeline graph. Default: the binary hypercube, with radix 8
    /// above 8192 places.
    pub fn lifelines(mut self, graph: Graph) -> Self {
        self.setup.rules.lifelines = Some(Lifelines::Graph(graph));
        self
    }

    /// Sets how much is taken for another place.
    pub fn steal(mut self, steal: Steal) -> Self {
        self.setup.rules.steal = Some(steal);
        self
    }

    /// Sets the tasks between two polls: a number from 1 to [`GRAIN_MAX`](Self::GRAIN_MAX), or a
    /// [`Tuning`]. Default: measured.
    ///
    /// ```
    /// # use tautline::prelude::*;
    /// use tautline::glb::Tuning;
    ///
    /// let coarse = Glb::new().grain(1023);
    /// let measured = Glb::new().grain(Tuning::default());
    /// assert_eq!(coarse.config()?.grain.initial(), 1023);
    /// # measured.config()?;
    /// # Ok::<(), tautline::Error>(())
    /// ```
    pub fn grain(mut self, grain: impl Into<Grain>) -> Self {
        self.setup.rules.grain = Some(grain.into());
        self
    }

    /// Sets which worker serves messages while all workers of a place are busy.
    pub fn fairness(mut self, fairness: Fairness) -> Self {
        self.setup.rules.fairness = Some(fairness);
        self
    }

    /// Sets the seed of the choice of victims.
    pub fn seed(mut self, seed: u64) -> Self {
        self.setup.rules.seed = Some(seed);
        self
    }

    /// Sets all parameters of the balancer to those of `config`, for the command.
    #[doc(hidden)]
    pub fn balanced_as(mut self, config: &Config) -> Self {
        self.setup.rules = Rules::of(config);
        self
    }

    /// Sets the processors of the workers of its dedicated runtime; ignored on a shared one.
    pub fn pinning(mut self, pinning: Pinning) -> Self {
        self.setup.rebuild(|builder| builder.pinning(pinning));
        self
    }

    /// Sets whether the workers of its dedicated runtime are pinned; ignored on a shared one.
    pub fn pinned(mut self, pinned: bool) -> Self {
        self.setup.rebuild(|builder| builder.pinned(pinned));
        self
    }

    /// Stops the computation for [`Reason::Deadline`] if it has not ended so long after the call of
    /// [`run`](Self::run); the result is then what has been found until then. A worker checks the
    /// time after each grain, and a task that runs is waited for: a long one should poll its [`control`](Self::control)
    /// ([the guide](crate::guide::balancing)).
    ///
    /// ```
    /// # use tautline::prelude::*;
    /// use std::time::Duration;
    /// use tautline::glb::Reason;
    ///
    /// // Work without an end.
    /// let run = Glb::new().deadline(Duration::from_millis(20)).sum([0u64], |n, todo| {
    ///     todo.push(n + 1);
    ///     1
    /// })?;
    /// assert_eq!((run.complete, run.stopped), (false, Some(Reason::Deadline)));
    /// # Ok::<(), tautline::Error>(())
    /// ```
    pub fn deadline(mut self, after: Duration) -> Self {
        self.setup.deadline = Some(after);
        self
    }

    /// Lets any thread stop the computation and observe its progress.
    ///
    /// ```
    /// # use tautline::prelude::*;
    /// use tautline::glb::{Control, Reason};
    ///
    /// let control = Control::new();
    /// let run = Glb::new().control(&control).sum([0u64], |n, todo| {
    ///     if n == 1000 {
    ///         control.stop(Reason::Found); // here by a task; any thread may
    ///     }
    ///     todo.push(n + 1);
    ///     1
    /// })?;
    /// assert_eq!(run.stopped, Some(Reason::Found));
    /// # Ok::<(), tautline::Error>(())
    /// ```
    pub fn control<'b>(self, control: &'b Control) -> Glb<'b, F>
    where
        'a: 'b,
    {
        Glb {
            setup: self.setup,
            control: Some(control),
            reports: self.reports,
            is_interruptible: self.is_interruptible,
            observe: self.observe,
        }
    }

    /// Creates an observer for every worker by `observe`.
    ///
    /// ```
    /// # #[cfg(feature = "story")] {
    /// # use tautline::prelude::*;
    /// use tautline::story::{Recorder, Trace};
    ///
    /// let observe = |_place, _worker| Recorder { life: None, trace: Some(Trace::new(1000)) };
    /// let run = Glb::new().observed(observe).sum(0..1000u64, |n, _| n)?;
    /// assert!(run.observers.iter().any(|(_, _, recorder)| recorder.trace.is_some()));
    /// # }
    /// # Ok::<(), tautline::Error>(())
    /// ```
    pub fn observed<G>(self, observe: G) -> Glb<'a, G> {
        Glb {
            setup: self.setup,
            control: self.control,
            reports: self.reports,
            is_interruptible: self.is_interruptible,
            observe,
        }
    }

    /// Returns the runtime's settings, as they will be used.
    ///
    /// # Errors
    /// As [`config`](Self::config).
    pub fn plan(&self) -> Result<Plan> {
        match &self.setup.ground {
            Ground::Lent(runtime) => Ok(runtime.plan().clone()),
            Ground::Own(builder, _) => {
                let mut builder = builder.clone();
                let workers = self.setup.workers;
                if let (Some(workers), None) = (workers, self.setup.places) {
                    // Of the one place, unless the environment sets their number.
                    within_place(workers)?;
                }
                if let Some(places) = self.setup.places {
                    *builder = builder.places(places);
                }
                if let Some(workers) = workers {
                    *builder = builder.workers(workers);
                }
                builder.plan()
            }
        }
    }

    /// Returns the runtime on which it runs: a dedicated one is started, if it had not been.
    ///
    /// ```
    /// # use tautline::prelude::*;
    /// println!("{:?}", Glb::new().workers(1).runtime()?.explain());
    /// # Ok::<(), tautline::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`config`](Self::config) and [`Builder::build`](crate::runtime::Builder::build).
    pub fn runtime(&self) -> Result<&Runtime> {
        Ok(self.started()?.0)
    }

    /// Returns all parameters of the balancer, as they will be used: with fewer workers, once its [`runtime`](Self::runtime) has
    /// started with fewer threads.
    ///
    /// ```
    /// # use tautline::prelude::*;
    /// assert_eq!(Glb::new().places(4).workers(2).config()?.places, 4);
    /// let error = Glb::new().grain(0).config().unwrap_err();
    /// assert_eq!(error.to_string(), "grain 0: from 1 to 1048576");
    /// # Ok::<(), tautline::Error>(())
    /// ```
    ///
    /// # Errors
    /// The first setting that is out of bounds.
    pub fn config(&self) -> Result<Config> {
        let config = self.config_of(&self.plan()?)?;
        Ok(match &self.setup.ground {
            Ground::Own(_, started) => match started.get() {
                Some(runtime) => on(runtime, config),
                None => config,
            },
            Ground::Lent(_) => config,
        })
    }

    fn config_of(&self, plan: &Plan) -> Result<Config> {
        let Setup {
            places, workers, ..
        } = self.setup;
        let planned = plan.balancing;
        let shape = match (places, workers) {
            (None, None) => planned,
            (Some(places), None) if places == planned.places => planned,
            _ => {
                let places = places.unwrap_or(planned.places);
                let most = Self::THREADS_MAX;
                if !(1..=most as u32).contains(&places) {
                    return refuse(PLACES.name, places, format!("from 1 to {most}"));
                }
                let workers = workers.map(|workers| (WORKERS.name, workers));
                places_of(places as usize, workers, plan.workers())?
            }
        };
        checked(self.setup.rules.or(&plan.rules).over(shape))
    }

    /// Returns the runtime, started if it had not been, and the settings of a computation on it, whose control is `alone`
    /// unless the program has set one.
    fn balance<'c>(&'c self, alone: &'c Control) -> Result<(&'c Runtime, Balance<'c, &'c F>)> {
        let (runtime, config) = self.started()?;
        let balance = Balance {
            config,
            control: self.control.unwrap_or(alone),
            deadline: self.setup.deadline,
            observe: &self.observe,
        };
        Ok((runtime, balance))
    }

    /// Returns the runtime, started if it had not been, and the parameters on it.
    fn started(&self) -> Result<(&Runtime, Config)> {
        match &self.setup.ground {
            Ground::Lent(runtime) => Ok((runtime, self.config_of(runtime.plan())?)),
            Ground::Own(_, started) => {
                let plan = self.plan()?;
                let config = self.config_of(&plan)?;
                let runtime = match started.get() {
                    Some(runtime) => runtime,
                    None => {
                        let runtime = Runtime::start(plan)?;
                        started.get_or_init(|| runtime)
                    }
                };
                Ok((runtime, on(runtime, config)))
            }
        }
    }
}

/// Returns the parameters on a dedicated runtime, which may have started with fewer workers.
fn on(runtime: &Runtime, config: Config) -> Config {
    let workers = runtime.plan().workers();
    match workers < config.all_workers() {
        true => setting::reduced(config, workers),
        false => config,
    }
}

fn within_place(workers: usize) -> Result<()> {
    if (1..=Crew::MAX).contains(&workers) {
        return Ok(());
    }
    refuse(
        WORKERS.name,
        workers,
        format!("from 1 to {} a place", Crew::MAX),
    )
}

impl Runtime {
    /// Creates a balanced computation on this runtime, with its own deadline, observers or
    /// parameters.
    ///
    /// ```
    /// # use tautline::prelude::*;
    /// let rt = Runtime::builder().workers(2).build()?;
    /// let run = rt.glb().seed(7).sum(0..100u64, |n, _| n)?;
    /// assert_eq!(run.output, 4950);
    /// # Ok::<(), tautline::Error>(())
    /// ```
    pub fn glb(&self) -> Glb<'_> {
        Glb::over(Ground::Lent(self))
    }
}

/// Returns these parameters, if they may be used on threads and in simulations.
fn checked(config: Config) -> Result<Config> {
    within_place(config.workers)?;
    match setting::check(&config) {
        Ok(()) => Ok(config),
        Err((setting, value, allowed)) => refuse(setting.name, value, allowed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Machine;

    /// The message, if the setting is refused.
    fn refusal(set: impl FnOnce(Glb<'static>) -> Glb<'static>) -> String {
        set(Glb::new())
            .config()
            .map_or_else(|e| e.to_string(), |config| format!("accepted {config:?}"))
    }

    #[test]
    fn every_refusal_names_setting_value_and_bounds() {
        for (message, expected) in [
            (refusal(|g| g.places(0)), "places 0: from 1 to 4096"),
            (refusal(|g| g.places(4097)), "places 4097: from 1 to 4096"),
            (refusal(|g| g.workers(0)), "workers 0: from 1 to 64 a place"),
            (
                refusal(|g| g.workers(65)),
                "workers 65: from 1 to 64 a place",
            ),
            (
                refusal(|g| g.places(100).workers(64)),
                "workers 64: at most 4096 workers in all, and 100 places need 6400",
            ),
            (refusal(|g| g.grain(0)), "grain 0: from 1 to 1048576"),
            (
                refusal(|g| g.steal(Steal::Count(0))),
                "steal 0: half, or a count from 1",
            ),
            (
                refusal(|g| g.lifelines(Graph::Hypercube { radix: 1 })),
                "lifelines hypercube:1: ring, full, or hypercube:H with a radix H from 2",
            ),
            (
                refusal(|g| g.workers(1).fairness(Fairness::OneCoreFree)),
                "fairness one-core-free: at least 2 workers a place: one of them only serves messages",
            ),
        ] {
            assert_eq!(message, expected);
        }
    }

    #[test]
    fn workers_are_the_processors_divided_among_the_places() {
        let machine = Machine::read("/nowhere".as_ref(), &[3, 4, 5, 6, 7, 8]);
        let workers = |places| {
            Glb::on(&machine)
                .places(places)
                .config()
                .unwrap()
                .all_workers()
        };
        assert_eq!([1, 2, 4, 7].map(workers), [6, 6, 6, 7]);
    }
}
