//! Global load balancing on this machine: give a [`Bag`], call [`Glb::run`].
//!
//! A place is a share of the machine with workers of its own; places ask each other for work at
//! random and then along lifelines. As few places as the machine needs are best on one machine; more
//! show how the program would do on many.
#![forbid(unsafe_code)]

use crate::choice;
use crate::machines::Description;
use crate::pinning::Pinning;
use crate::plan::{Builder, Plan, refuse};
use crate::runtime::Runtime;
use crate::{Machine, Result};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use tautline_core::grain::GRAIN_MAX;
use tautline_core::lifeline::Crew;
use tautline_core::task::Balance;
use tautline_sim::Simulation;

pub use tautline_core::deque::Local;
pub use tautline_core::glb::{
    Bag, Config, Control, Fairness, Grain, Loot, Observer, PlaceRun, Reason, Run, Share, State,
    Steal, Steals, Tally, Task, Tasks, Times,
};
pub use tautline_core::grain::{Rule, Tuning};
pub use tautline_core::lifeline::{Bound, Graph, Traffic};
pub use tautline_core::{PlaceId, WorkerId};
pub use tautline_sim::Outcome;

/// A balanced computation, being set up.
///
/// [`Runtime::glb`] makes one on a runtime, whose workers it shares with tasks. [`Glb::new`] has a
/// runtime of its own, with what the [environment](crate::plan) asks for, else a worker for each
/// processor that this process may use; it is started at the first run, and kept for the next ones.
///
/// ```
/// use tautline::prelude::*;
///
/// struct Countdown(Vec<u32>);
///
/// impl Bag for Countdown {
///     type Shared = ();
///     type Output = u64;
///
///     fn process(&mut self, n: usize, _: &()) -> usize {
///         for done in 0..n {
///             let Some(task) = self.0.pop() else { return done };
///             self.0.extend((task > 0).then(|| task - 1));
///         }
///         n
///     }
///
///     fn split(&mut self, share: Share) -> Option<Self> {
///         let taken = share.of(self.0.len());
///         (taken > 0).then(|| Self(self.0.drain(..taken).collect()))
///     }
///
///     fn merge(&mut self, other: Self) {
///         self.0.extend(other.0);
///     }
///
///     fn len(&self) -> usize {
///         self.0.len()
///     }
///
///     fn submit(self, output: &mut u64) {
///         *output += 1;
///     }
/// }
///
/// let run = Glb::new().workers(1).run(Countdown(vec![5; 100]), |_| (), 0)?;
/// assert!(run.complete);
/// # Ok::<(), tautline::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use = "nothing runs before `run`"]
pub struct Glb<'a, F = Unobserved> {
    setup: Setup<'a>,
    control: Option<&'a Control>,
    observe: F,
}

/// All that is set but what watches the computation.
#[derive(Clone, Debug)]
struct Setup<'a> {
    ground: Ground<'a>,
    places: Option<u32>,
    workers: Option<usize>,
    random_steals: Option<usize>,
    lifelines: Option<Graph>,
    steal: Steal,
    grain: Grain,
    fairness: Fairness,
    seed: u64,
    deadline: Option<Duration>,
}

/// The runtime that it runs on.
#[derive(Clone, Debug)]
enum Ground<'a> {
    Lent(&'a Runtime),
    /// Started at the first run.
    Own(Box<Builder>, Arc<OnceLock<Runtime>>),
}

/// No worker is observed.
pub type Unobserved = fn(PlaceId, WorkerId);

fn unobserved(_: PlaceId, _: WorkerId) {}

impl Default for Glb<'_> {
    fn default() -> Self {
        Self::new()
    }
}

impl<'a> Glb<'a> {
    /// A computation on the processors that [`Machine::discover`] finds, as the environment asks
    /// for.
    pub fn new() -> Self {
        Self::with(Builder::new())
    }

    /// A computation on the processors of `machine`.
    pub fn on(machine: &Machine) -> Self {
        Self::with(Builder::on(machine.clone()))
    }

    /// A computation on a runtime of its own, built as `builder` says.
    pub fn with(builder: Builder) -> Self {
        Self::over(Ground::Own(Box::new(builder), Arc::default()))
    }

    fn over(ground: Ground<'a>) -> Self {
        let Config {
            steal,
            grain,
            fairness,
            seed,
            ..
        } = Config::default();
        Self {
            setup: Setup {
                ground,
                places: None,
                workers: None,
                random_steals: None,
                lifelines: None,
                steal,
                grain,
                fairness,
                seed,
                deadline: None,
            },
            control: None,
            observe: unobserved,
        }
    }
}

impl<'a, F> Glb<'a, F> {
    /// Most workers of all places.
    pub const THREADS_MAX: usize = crate::plan::WORKERS_MAX;
    /// Most places of a simulation.
    pub const SIMULATED_MAX: u32 = 1 << 17;
    /// The longest time between two polls, in tasks: a fraction of a second if they are small.
    pub const GRAIN_MAX: usize = GRAIN_MAX;

    /// Sets the number of places, 1 to [`THREADS_MAX`](Self::THREADS_MAX). Default: the runtime's.
    pub fn places(mut self, places: u32) -> Self {
        self.setup.renew();
        self.setup.places = Some(places);
        self
    }

    /// Sets the number of workers of each place, 1 to 64. Default: the runtime's, divided among the
    /// places.
    pub fn workers(mut self, workers: usize) -> Self {
        self.setup.renew();
        self.setup.workers = Some(workers);
        self
    }

    /// Sets how many places a dry one asks at random before it turns to its lifelines. Default:
    /// [`choice::random_steals`].
    pub fn random_steals(mut self, tries: usize) -> Self {
        self.setup.random_steals = Some(tries);
        self
    }

    /// Sets the lifeline graph. Default: [`choice::lifelines`].
    pub fn lifelines(mut self, graph: Graph) -> Self {
        self.setup.lifelines = Some(graph);
        self
    }

    /// Sets how much is taken for another place.
    pub fn steal(mut self, steal: Steal) -> Self {
        self.setup.steal = steal;
        self
    }

    /// Sets the tasks between two polls: a number from 1 to [`GRAIN_MAX`](Self::GRAIN_MAX), or a
    /// [`Tuning`]. Default: measured.
    pub fn grain(mut self, grain: impl Into<Grain>) -> Self {
        self.setup.grain = grain.into();
        self
    }

    /// Sets which worker serves messages while all workers of a place are busy.
    pub fn fairness(mut self, fairness: Fairness) -> Self {
        self.setup.fairness = fairness;
        self
    }

    /// Sets the seed of the choice of victims.
    pub fn seed(mut self, seed: u64) -> Self {
        self.setup.seed = seed;
        self
    }

    /// Sets which processors the workers of its own runtime stay on; no effect on a lent one.
    pub fn pinning(mut self, pinning: Pinning) -> Self {
        self.setup.rebuild(|builder| builder.pinning(pinning));
        self
    }

    /// Whether the workers of its own runtime stay on one processor each; no effect on a lent one.
    pub fn pinned(mut self, pinned: bool) -> Self {
        self.setup.rebuild(|builder| builder.pinned(pinned));
        self
    }

    /// Stops the computation for [`Reason::Deadline`] if it has not ended so long after the call of
    /// [`run`](Self::run); the result is then what has been found until then. A worker checks the
    /// time after each grain.
    pub fn deadline(mut self, after: Duration) -> Self {
        self.setup.deadline = Some(after);
        self
    }

    /// Lets others stop the computation and see how far it is.
    pub fn control<'b>(self, control: &'b Control) -> Glb<'b, F>
    where
        'a: 'b,
    {
        Glb {
            setup: self.setup,
            control: Some(control),
            observe: self.observe,
        }
    }

    /// Has every worker observed by what `observe` makes for it.
    pub fn observed<G>(self, observe: G) -> Glb<'a, G> {
        Glb {
            setup: self.setup,
            control: self.control,
            observe,
        }
    }

    /// The runtime's settings, as they will be used.
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
                    // Of the one place, unless the environment says how many there are.
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

    /// All parameters of the balancer, as they will be used.
    ///
    /// # Errors
    /// The first setting that is out of bounds.
    pub fn config(&self) -> Result<Config> {
        self.config_of(&self.plan()?)
    }

    fn config_of(&self, plan: &Plan) -> Result<Config> {
        let Setup {
            places, workers, ..
        } = self.setup;
        let all = plan.workers();
        let Config {
            places: planned,
            workers: each,
            ..
        } = plan.balancing;
        let places = places.unwrap_or(planned);
        let share = match places == planned {
            true => each,
            false => (all / places.max(1) as usize).clamp(1, Crew::MAX),
        };
        let config = self.chosen(places, workers.unwrap_or(share));
        check(&config)?;
        let most = Self::THREADS_MAX as u32;
        if !(1..=most).contains(&places) {
            return refuse("places", places, format!("from 1 to {most}"));
        }
        Ok(config)
    }

    /// All parameters, as [`simulate`](Self::simulate) will use them.
    ///
    /// # Errors
    /// The first setting that is out of bounds.
    pub fn config_on(&self, machine: &Description) -> Result<Config> {
        let workers = self.setup.workers.unwrap_or(machine.workers as usize);
        let config = self.chosen(self.setup.places.unwrap_or(1), workers);
        check(&config)?;
        let room = machine.places_max(config.workers as u32);
        let most = room.min(u64::from(Self::SIMULATED_MAX));
        if !(1..=most).contains(&u64::from(config.places)) {
            let name = &machine.name;
            let allowed = format!("from 1 to {most} of {} workers on {name}", config.workers);
            return refuse("places", config.places as usize, allowed);
        }
        Ok(config)
    }

    /// What was asked for, and what is chosen where nothing was.
    fn chosen(&self, places: u32, workers: usize) -> Config {
        let setup = &self.setup;
        Config {
            places,
            workers,
            random_steals: setup
                .random_steals
                .unwrap_or_else(|| choice::random_steals(places)),
            lifelines: setup.lifelines.unwrap_or_else(|| choice::lifelines(places)),
            steal: setup.steal,
            grain: setup.grain,
            fairness: setup.fairness,
            seed: setup.seed,
        }
    }

    /// Runs `bag` to the end. `shared` makes what the workers of a place share, `output` is what the
    /// bags submit to.
    ///
    /// # Errors
    /// A setting out of bounds, or a file that cannot be written; nothing has run then.
    ///
    /// # Panics
    /// With the payload of the first panic of a task, after all workers have stopped.
    pub fn run<B: Bag, O: Observer>(
        &self,
        bag: B,
        shared: impl Fn(PlaceId) -> B::Shared,
        output: B::Output,
    ) -> Result<Run<B::Output, O>>
    where
        F: Fn(PlaceId, WorkerId) -> O,
    {
        let plan;
        let (runtime, config) = match &self.setup.ground {
            Ground::Lent(runtime) => (*runtime, self.config_of(runtime.plan())?),
            Ground::Own(_, started) => {
                plan = self.plan()?;
                let config = self.config_of(&plan)?;
                let runtime = match started.get() {
                    Some(runtime) => runtime,
                    None => {
                        let runtime = Runtime::start(plan)?;
                        started.get_or_init(|| runtime)
                    }
                };
                (runtime, config)
            }
        };
        let alone = Control::new();
        let balance = Balance {
            config,
            control: self.control.unwrap_or(&alone),
            deadline: self.setup.deadline,
            observe: &self.observe,
        };
        let run = runtime.run(|cx| cx.balance_as(balance, bag, shared, output));
        Ok(run.expect("there is no scope around it that could be cancelled"))
    }

    /// Does what [`run`](Self::run) does on another machine, in virtual time: every task is done here, for
    /// the time that it would take there, given that it takes `task_ns` nanoseconds here.
    ///
    /// # Errors
    /// A setting out of bounds, or more places than the machine has room for.
    ///
    /// # Panics
    /// With the payload of the first panic of a task.
    pub fn simulate<B: Bag>(
        &self,
        machine: &Description,
        task_ns: u64,
        bag: B,
        shared: impl Fn(PlaceId) -> B::Shared,
        output: B::Output,
    ) -> Result<Outcome<B::Output>> {
        let config = self.config_on(machine)?;
        let (places, workers) = (config.places, config.workers as u32);
        let costs = machine.machine(places, workers, machine.task_ns(task_ns));
        let mut simulation = Simulation::new(config, costs);
        if let Some(after) = self.setup.deadline {
            simulation = simulation.deadline_ns(after.as_nanos() as u64);
        }
        Ok(simulation.run(bag, shared, output, |_, _| ()))
    }
}

impl Setup<'_> {
    /// The next run has a runtime with other settings.
    fn renew(&mut self) {
        if let Ground::Own(_, started) = &mut self.ground {
            *started = Arc::default();
        }
    }

    fn rebuild(&mut self, change: impl FnOnce(Builder) -> Builder) {
        self.renew();
        if let Ground::Own(builder, _) = &mut self.ground {
            **builder = change((**builder).clone());
        }
    }
}

fn within_place(workers: usize) -> Result<()> {
    if (1..=Crew::MAX).contains(&workers) {
        return Ok(());
    }
    refuse(
        "workers",
        workers,
        format!("from 1 to {} a place", Crew::MAX),
    )
}

impl Runtime {
    /// A balanced computation on this runtime, to be set up: with a deadline, observers, or
    /// parameters of its own.
    pub fn glb(&self) -> Glb<'_> {
        Glb::over(Ground::Lent(self))
    }
}

/// Judges what holds wherever the computation runs.
fn check(config: &Config) -> Result<()> {
    let workers = config.workers;
    within_place(workers)?;
    let grain = config.grain.initial();
    if !(1..=GRAIN_MAX).contains(&grain) {
        return refuse("grain", grain, format!("from 1 to {GRAIN_MAX}"));
    }
    if config.steal == Steal::Count(0) {
        return refuse("steal", 0, "half, or a count from 1".to_owned());
    }
    if let Graph::Hypercube {
        radix: radix @ 0..2,
    } = config.lifelines
    {
        let allowed = "ring, full, or hypercube:H with a radix H from 2".to_owned();
        return refuse("lifelines", format!("hypercube:{radix}"), allowed);
    }
    if config.fairness == Fairness::OneCoreFree && workers == 1 {
        let allowed = "needs 2 workers a place: one of them only serves messages".to_owned();
        return refuse("fairness", "one-core-free", allowed);
    }
    Ok(())
}

/// Splits a bag's deque: removes `share` of the tasks, the oldest ones, and returns them. `None` if
/// none may be taken.
pub(crate) fn split_oldest<T>(todo: &mut Local<T>, share: Share) -> Option<Local<T>> {
    let taken = share.of(todo.len());
    (taken > 0).then(|| todo.steal(taken).into())
}

#[cfg(test)]
mod tests {
    use super::*;

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
                "fairness one-core-free: needs 2 workers a place: one of them only serves messages",
            ),
        ] {
            assert_eq!(message, expected);
        }
    }

    #[test]
    fn workers_are_the_processors_divided_among_the_places() {
        let machine = Machine::read("/nowhere".as_ref(), &[3, 4, 5, 6, 7, 8]);
        let workers = |places| Glb::on(&machine).places(places).config().unwrap().workers;
        assert_eq!([1, 2, 4, 7].map(workers), [6, 3, 1, 1]);
    }
}
