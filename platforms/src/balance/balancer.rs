//! The builder of a balanced computation: where it runs, and its settings.
#![forbid(unsafe_code)]

// First: rustdoc begins the page of `Balancer` with these methods.
mod run;

#[cfg(feature = "serde")]
mod across;
mod attended;
mod forks;
#[cfg(feature = "sim")]
mod simulated;

#[cfg(feature = "serde")]
pub use across::Across;
pub use attended::Progress;
#[cfg(feature = "sim")]
pub use simulated::Simulated;

use super::{Config, Control, Fairness, Grain, Graph, PlaceId, Steal, TaskBalancer, WorkerId};
use crate::Result;
use crate::error::refuse;
use crate::execution::plan::{Plan, WORKERS_MAX, places_of};
use crate::execution::runtime::{Cx, Runtime, global};
use crate::setting::spelling::Lifelines;
use crate::setting::{PLACES, Rules, WORKERS, checked};
use attended::Reports;
use std::time::Duration;
use tautline_core::grain::GRAIN_MAX;
use tautline_node::pool::Node;

/// A computation whose work is divided among all workers while it runs, with its settings.
///
/// [`Runtime::balancer`] and [`balancer`](crate::balancer()) create one; in a task it is
/// [`Cx::balancer`](tautline_core::task::Cx::balancer). [`sum`](Self::sum) runs tasks of one
/// function, [`run`](Self::run) any work; [`across`](Self::across) is the same over ranks,
/// [`simulated`](Self::simulated) in virtual time. It may run any number of times.
///
/// ```
/// use tautline::balance::{Fairness, Graph, Steal};
/// use tautline::prelude::*;
///
/// let rt = Runtime::new()?;
/// let balancer = rt
///     .balancer()
///     .places(2) // default: as few as the machine needs
///     .workers(2) // of each place; default: all of the runtime
///     .steal(Steal::Count(7)) // default: half
///     .lifelines(Graph::Ring) // default: by the number of places
///     .random_steals(1)
///     .fairness(Fairness::Inline)
///     .seed(1);
/// let run = balancer.sum(0..100u64, |n, _todo| n)?;
/// assert_eq!(run.output, 4950);
/// assert!(run.complete);
/// # Ok::<(), tautline::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "nothing runs before `run`"]
pub struct Balancer<'a, F = Unobserved> {
    /// The global runtime, if it is not set.
    runtime: Option<&'a Runtime>,
    places: Option<u32>,
    workers: Option<usize>,
    rules: Rules,
    deadline: Option<Duration>,
    control: Option<&'a Control>,
    reports: Option<Reports<'a>>,
    is_interruptible: bool,
    observe: F,
}

/// The type of the observers of an unobserved run.
pub type Unobserved = fn(PlaceId, WorkerId);

fn unobserved(_: PlaceId, _: WorkerId) {}

/// Creates a balanced computation on the [`global`] runtime, which its first run starts.
///
/// ```
/// # use tautline::prelude::*;
/// let run = tautline::balancer().sum(1..=10u64, |n, _todo| n)?;
/// assert_eq!(run.output, 55);
/// # Ok::<(), tautline::Error>(())
/// ```
pub fn balancer() -> Balancer<'static> {
    Balancer::on(None)
}

impl Runtime {
    /// Creates a balanced computation on this runtime, whose workers it shares with tasks.
    ///
    /// ```
    /// # use tautline::prelude::*;
    /// let rt = Runtime::builder().workers(2).build()?;
    /// let run = rt.balancer().seed(7).sum(0..100u64, |n, _| n)?;
    /// assert_eq!(run.output, 4950);
    /// # Ok::<(), tautline::Error>(())
    /// ```
    pub fn balancer(&self) -> Balancer<'_> {
        Balancer::on(Some(self))
    }
}

impl<'a> Balancer<'a> {
    fn on(runtime: Option<&'a Runtime>) -> Self {
        Self {
            runtime,
            places: None,
            workers: None,
            rules: Rules::default(),
            deadline: None,
            control: None,
            reports: None,
            is_interruptible: false,
            observe: unobserved as Unobserved,
        }
    }
}

impl<'a, F> Balancer<'a, F> {
    /// The maximum number of workers of all places.
    pub const THREADS_MAX: usize = WORKERS_MAX;
    /// The longest time between two polls, in tasks: a fraction of a second if they are small.
    pub const GRAIN_MAX: usize = GRAIN_MAX;

    /// Sets the number of places, 1 to [`THREADS_MAX`](Self::THREADS_MAX). Default: the runtime's.
    ///
    /// ```
    /// # use tautline::prelude::*;
    /// let run = tautline::balancer().places(3).workers(1).sum(0..100u64, |n, _| n)?;
    /// assert_eq!((run.output, run.places.len()), (4950, 3));
    /// # Ok::<(), tautline::Error>(())
    /// ```
    pub fn places(mut self, places: u32) -> Self {
        self.places = Some(places);
        self
    }

    /// Sets the number of workers of each place, 1 to 64. Default: the runtime's, divided among the
    /// places.
    ///
    /// ```
    /// # use tautline::prelude::*;
    /// let config = tautline::balancer().places(4).workers(2).config()?;
    /// assert_eq!(config.all_workers(), 8);
    /// # Ok::<(), tautline::Error>(())
    /// ```
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = Some(workers);
        self
    }

    /// Sets how many random requests a dry place makes before it uses its lifelines. Default:
    /// one for each doubling of the places.
    pub fn random_steals(mut self, tries: usize) -> Self {
        self.rules.random_steals = Some(tries);
        self
    }

    /// Sets the lifeline graph. Default: the binary hypercube, with radix 8
    /// above 8192 places.
    pub fn lifelines(mut self, graph: Graph) -> Self {
        self.rules.lifelines = Some(Lifelines::Graph(graph));
        self
    }

    /// Sets how much is taken for another place.
    pub fn steal(mut self, steal: Steal) -> Self {
        self.rules.steal = Some(steal);
        self
    }

    /// Sets the tasks between two polls: a number from 1 to [`GRAIN_MAX`](Self::GRAIN_MAX), or a
    /// [`Tuning`](crate::balance::Tuning). Default: measured.
    ///
    /// ```
    /// # use tautline::prelude::*;
    /// use tautline::balance::Tuning;
    ///
    /// let coarse = tautline::balancer().grain(1023);
    /// let measured = tautline::balancer().grain(Tuning::default());
    /// assert_eq!(coarse.config()?.grain.initial(), 1023);
    /// # measured.config()?;
    /// # Ok::<(), tautline::Error>(())
    /// ```
    pub fn grain(mut self, grain: impl Into<Grain>) -> Self {
        self.rules.grain = Some(grain.into());
        self
    }

    /// Sets which worker serves messages while all workers of a place are busy.
    pub fn fairness(mut self, fairness: Fairness) -> Self {
        self.rules.fairness = Some(fairness);
        self
    }

    /// Sets the seed of the choice of victims.
    pub fn seed(mut self, seed: u64) -> Self {
        self.rules.seed = Some(seed);
        self
    }

    /// Sets all parameters of the balancer to those of `config`, for the command.
    #[doc(hidden)]
    pub fn balanced_as(mut self, config: &Config) -> Self {
        self.rules = Rules::of(config);
        self
    }

    /// Stops the computation for [`Reason::Deadline`](crate::balance::Reason::Deadline) if it has
    /// not ended so long after the call of [`run`](Self::run); the result is then what has been
    /// found until then. A worker checks the time after each grain, and a task that runs is waited
    /// for: a long one should poll its [`control`](Self::control) ([the
    /// guide](crate::guide::balancing)).
    ///
    /// ```
    /// # use tautline::prelude::*;
    /// use std::time::Duration;
    /// use tautline::balance::Reason;
    ///
    /// // Work without an end.
    /// let run = tautline::balancer().deadline(Duration::from_millis(20)).sum([0u64], |n, todo| {
    ///     todo.push(n + 1);
    ///     1
    /// })?;
    /// assert_eq!((run.complete, run.stopped), (false, Some(Reason::Deadline)));
    /// # Ok::<(), tautline::Error>(())
    /// ```
    pub fn deadline(mut self, after: Duration) -> Self {
        self.deadline = Some(after);
        self
    }

    /// Lets any thread stop the computation and observe its progress.
    ///
    /// ```
    /// # use tautline::prelude::*;
    /// use tautline::balance::{Control, Reason};
    ///
    /// let control = Control::new();
    /// let run = tautline::balancer().control(&control).sum([0u64], |n, todo| {
    ///     if n == 1000 {
    ///         control.stop(Reason::Found); // here by a task; any thread may
    ///     }
    ///     todo.push(n + 1);
    ///     1
    /// })?;
    /// assert_eq!(run.stopped, Some(Reason::Found));
    /// # Ok::<(), tautline::Error>(())
    /// ```
    pub fn control<'b>(self, control: &'b Control) -> Balancer<'b, F>
    where
        'a: 'b,
    {
        Balancer {
            control: Some(control),
            ..self
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
    /// let run = tautline::balancer().observed(observe).sum(0..1000u64, |n, _| n)?;
    /// assert!(run.observers.iter().any(|(_, _, recorder)| recorder.trace.is_some()));
    /// # }
    /// # Ok::<(), tautline::Error>(())
    /// ```
    pub fn observed<G>(self, observe: G) -> Balancer<'a, G> {
        let Self {
            runtime,
            places,
            workers,
            rules,
            deadline,
            control,
            reports,
            is_interruptible,
            ..
        } = self;
        Balancer {
            runtime,
            places,
            workers,
            rules,
            deadline,
            control,
            reports,
            is_interruptible,
            observe,
        }
    }

    /// Returns all parameters of the balancer, as they will be used. The global runtime is started,
    /// if it had not been.
    ///
    /// ```
    /// # use tautline::prelude::*;
    /// assert_eq!(tautline::balancer().places(4).workers(2).config()?.places, 4);
    /// let error = tautline::balancer().grain(0).config().unwrap_err();
    /// assert_eq!(error.to_string(), "grain 0: from 1 to 1048576");
    /// # Ok::<(), tautline::Error>(())
    /// ```
    ///
    /// # Errors
    /// The first setting that is out of bounds; as [`Runtime::new`], if the global runtime cannot
    /// start.
    pub fn config(&self) -> Result<Config> {
        self.config_of(self.runtime()?.plan())
    }

    fn runtime(&self) -> Result<&'a Runtime> {
        match self.runtime {
            Some(runtime) => Ok(runtime),
            None => global(),
        }
    }

    fn config_of(&self, plan: &Plan) -> Result<Config> {
        let (places, workers) = (self.places, self.workers);
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
        checked(self.rules.or(&plan.rules).over(shape))
    }

    /// Calls `run` with the computation in a task of its runtime, and attends it.
    fn start<'e, R>(
        &self,
        run: impl for<'c, 's> FnOnce(TaskBalancer<'c, 's, 'e, Node, &'c F>) -> R,
    ) -> Result<R> {
        let alone = Control::new();
        let control = self.control.unwrap_or(&alone);
        let runtime = self.runtime()?;
        let config = self.config_of(runtime.plan())?;
        let within = |cx: &mut Cx<'_, 'e>| {
            let balancer = cx.balancer().config(config).control(control);
            let balancer = match self.deadline {
                Some(after) => balancer.deadline(after),
                None => balancer,
            };
            run(balancer.observed(&self.observe))
        };
        let done = || control.done() as u64;
        self.attended(control, self.deadline, done, || runtime.run(within))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Machine;
    use crate::runtime::Builder;

    /// The message, if the setting is refused.
    fn refusal(set: impl FnOnce(Balancer<'static>) -> Balancer<'static>) -> String {
        set(balancer())
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
            let builder = Builder::on(machine.clone()).places(places);
            builder.plan().unwrap().workers()
        };
        assert_eq!([1, 2, 4, 7].map(workers), [6, 6, 6, 7]);
    }
}
