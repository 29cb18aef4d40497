//! Global load balancing on this machine: give a [`Bag`], call [`Glb::run`].
//!
//! A place is a group of threads with bags of their own; places ask each other for work at random and
//! then along lifelines. One place is best on one machine; more show how the program would do on many.
#![forbid(unsafe_code)]

use crate::choice;
use crate::deadline;
use crate::machines::Description;
use crate::pinning::Pinning;
use crate::{Error, Result};
use std::borrow::Cow;
use std::time::Duration;
use tautline_core::grain::GRAIN_MAX;
use tautline_core::lifeline::Crew;
use tautline_node::Machine;
use tautline_sim::Simulation;

pub use tautline_core::deque::Local;
pub use tautline_core::glb::{
    Bag, Config, Control, Fairness, Grain, Loot, Observer, Reason, Share, State, Steal, Steals,
    Tally, Task, Tasks, Times,
};
pub use tautline_core::grain::{Rule, Tuning};
pub use tautline_core::lifeline::{Bound, Graph, Traffic};
pub use tautline_core::{PlaceId, WorkerId};
pub use tautline_node::{PlaceRun, Run};
pub use tautline_sim::Outcome;

/// A balanced computation, being set up. What is not set: one place, a worker for each processor that
/// this process may use, pinned.
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
    config: Config,
    /// `None`: as many as there are processors for each place.
    workers: Option<usize>,
    /// `None`, here and for the lifelines: as [`choice`] says.
    random_steals: Option<usize>,
    lifelines: Option<Graph>,
    pinning: Pinning,
    /// Why the environment's list of places is none.
    refused: Option<Refused>,
    pinned: bool,
    control: Option<&'a Control>,
    deadline: Option<Duration>,
    observe: F,
}

/// A setting that was refused: its name, its value, what is allowed.
type Refused = (&'static str, String, Cow<'static, str>);

/// Nobody watches the workers.
pub type Unobserved = fn(PlaceId, WorkerId);

fn unobserved(_: PlaceId, _: WorkerId) {}

impl Default for Glb<'_> {
    fn default() -> Self {
        Self::new()
    }
}

impl Glb<'_> {
    /// A computation on the processors that [`Machine::discover`] finds, pinned as the environment asks
    /// for: [`pinning`](crate::pinning).
    pub fn new() -> Self {
        let machine = Machine::discover();
        let glb = Self::on(&machine);
        match Pinning::from_environment(&machine) {
            Ok(pinning) => glb.pinning(pinning),
            Err(Error::Setting {
                setting,
                value,
                allowed,
            }) => Self {
                refused: Some((setting, value, allowed)),
                ..glb
            },
            // A pinning is refused as a setting, above.
            Err(_) => glb,
        }
    }

    /// A computation on the processors of `machine`.
    pub fn on(machine: &Machine) -> Self {
        Self {
            config: Config::default(),
            workers: None,
            random_steals: None,
            lifelines: None,
            pinning: Pinning::of(machine),
            refused: None,
            pinned: true,
            control: None,
            deadline: None,
            observe: unobserved,
        }
    }
}

impl<'a, F> Glb<'a, F> {
    /// All workers together, and who serves messages in their stead, need a thread each: at most so many.
    pub const THREADS_MAX: usize = 4096;
    /// Most places of a simulation.
    pub const SIMULATED_MAX: u32 = 1 << 17;
    /// The longest time between two looks outside, in tasks: a fraction of a second if they are small.
    pub const GRAIN_MAX: usize = GRAIN_MAX;

    /// How many places: 1 to [`THREADS_MAX`](Self::THREADS_MAX).
    pub fn places(mut self, places: u32) -> Self {
        self.config.places = places;
        self
    }

    /// How many workers each place has: 1 to 64. Else the processors are divided among the places.
    pub fn workers(mut self, workers: usize) -> Self {
        self.workers = Some(workers);
        self
    }

    /// How many places a dry one asks at random before it turns to its lifelines. Else as
    /// [`choice::random_steals`] says.
    pub fn random_steals(mut self, tries: usize) -> Self {
        self.random_steals = Some(tries);
        self
    }

    /// Who may leave a request with whom. Else as [`choice::lifelines`] says.
    pub fn lifelines(mut self, graph: Graph) -> Self {
        self.lifelines = Some(graph);
        self
    }

    /// How much is taken for another place.
    pub fn steal(mut self, steal: Steal) -> Self {
        self.config.steal = steal;
        self
    }

    /// Tasks between two looks outside: a number from 1 to [`GRAIN_MAX`](Self::GRAIN_MAX), or a
    /// [`Tuning`]. Else it is measured.
    pub fn grain(mut self, grain: impl Into<Grain>) -> Self {
        self.config.grain = grain.into();
        self
    }

    /// Who serves messages while all workers of a place are busy.
    pub fn fairness(mut self, fairness: Fairness) -> Self {
        self.config.fairness = fairness;
        self
    }

    /// Seed of the choice of victims.
    pub fn seed(mut self, seed: u64) -> Self {
        self.config.seed = seed;
        self
    }

    /// Which processors workers stay on.
    pub fn pinning(mut self, pinning: Pinning) -> Self {
        self.pinning = pinning;
        self.refused = None;
        self
    }

    /// Workers stay on one processor each.
    pub fn pinned(mut self, pinned: bool) -> Self {
        self.pinned = pinned;
        self
    }

    /// Stops the computation for [`Reason::Deadline`] if it has not ended so long after the call of
    /// [`run`](Self::run); what has been found by then is its result. A worker notices after its grain.
    pub fn deadline(mut self, after: Duration) -> Self {
        self.deadline = Some(after);
        self
    }

    /// Lets others stop the computation and see how far it is.
    pub fn control<'b>(self, control: &'b Control) -> Glb<'b, F> {
        Glb {
            config: self.config,
            workers: self.workers,
            random_steals: self.random_steals,
            lifelines: self.lifelines,
            pinning: self.pinning,
            refused: self.refused,
            pinned: self.pinned,
            control: Some(control),
            deadline: self.deadline,
            observe: self.observe,
        }
    }

    /// Every worker is watched by what `observe` makes for it.
    pub fn observed<G>(self, observe: G) -> Glb<'a, G> {
        Glb {
            config: self.config,
            workers: self.workers,
            random_steals: self.random_steals,
            lifelines: self.lifelines,
            pinning: self.pinning,
            refused: self.refused,
            pinned: self.pinned,
            control: self.control,
            deadline: self.deadline,
            observe,
        }
    }

    /// How many processors there are for workers.
    pub fn processors(&self) -> usize {
        self.pinning.processors()
    }

    /// The processors that the threads are pinned to, place by place; none if they are not pinned.
    ///
    /// # Errors
    /// As [`config`](Self::config).
    pub fn cpus(&self) -> Result<Vec<usize>> {
        let config = self.config()?;
        let threads = config.places as usize * config.threads();
        Ok(match self.pinned {
            true => self.pinning.cpus(threads),
            false => Vec::new(),
        })
    }

    /// Is every worker to stay on one processor?
    pub fn is_pinned(&self) -> bool {
        self.pinned
    }

    /// All parameters, as they will be used.
    ///
    /// # Errors
    /// The first setting that is out of bounds.
    pub fn config(&self) -> Result<Config> {
        if let Some((setting, value, allowed)) = self.refused.clone() {
            return Err(Error::Setting {
                setting,
                value,
                allowed,
            });
        }
        let mut config = self.chosen();
        let places = config.places as usize;
        let most = Self::THREADS_MAX;
        if !(1..=most).contains(&places) {
            return refuse("places", places, format!("from 1 to {most}"));
        }
        let share = (self.pinning.processors() / places).clamp(1, Crew::MAX);
        config.workers = self.workers.unwrap_or(share);
        check(&config)?;
        let threads = places * config.threads();
        if threads > most {
            let stewards = match threads > places * config.workers {
                true => ", with one each to serve messages",
                false => "",
            };
            let allowed = format!(
                "at most {most} threads in all, and {places} places need {threads}{stewards}"
            );
            return refuse("workers", config.workers, allowed);
        }
        Ok(config)
    }

    /// All parameters, as [`simulate`](Self::simulate) will use them.
    ///
    /// # Errors
    /// The first setting that is out of bounds.
    pub fn config_on(&self, machine: &Description) -> Result<Config> {
        let mut config = self.chosen();
        config.workers = self.workers.unwrap_or(machine.workers as usize);
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
    fn chosen(&self) -> Config {
        let places = self.config.places;
        Config {
            random_steals: self
                .random_steals
                .unwrap_or_else(|| choice::random_steals(places)),
            lifelines: self.lifelines.unwrap_or_else(|| choice::lifelines(places)),
            ..self.config
        }
    }

    /// Runs `bag` to the end. `shared` makes what the workers of a place share, `output` is what the
    /// bags submit to.
    ///
    /// # Errors
    /// A setting out of bounds, or threads that the system would not start; nothing has run then.
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
        F: Fn(PlaceId, WorkerId) -> O + Sync,
    {
        let config = self.config()?;
        let cpus = self.cpus()?;
        let workers = config.places as usize * config.workers;
        self.pinning.warn(workers, self.pinned);
        let alone = Control::new();
        let control = self.control.unwrap_or(&alone);
        let run = || {
            let threads = config.places as usize * config.threads();
            tautline_node::run(&config, &cpus, bag, shared, output, control, &self.observe)
                .map_err(|source| Error::Threads { threads, source })
        };
        match self.deadline {
            Some(after) => deadline::within(after, control, run),
            None => run(),
        }
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
        if let Some(after) = self.deadline {
            simulation = simulation.deadline_ns(after.as_nanos() as u64);
        }
        Ok(simulation.run(bag, shared, output, |_, _| ()))
    }
}

/// Judges what holds wherever the computation runs.
fn check(config: &Config) -> Result<()> {
    let workers = config.workers;
    if !(1..=Crew::MAX).contains(&workers) {
        return refuse(
            "workers",
            workers,
            format!("from 1 to {} a place", Crew::MAX),
        );
    }
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

fn refuse<T>(setting: &'static str, value: impl ToString, allowed: String) -> Result<T> {
    Err(Error::Setting {
        setting,
        value: value.to_string(),
        allowed: allowed.into(),
    })
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
                "workers 64: at most 4096 threads in all, and 100 places need 6400",
            ),
            (
                refusal(|g| g.places(3000).workers(1).fairness(Fairness::Yield)),
                "workers 1: at most 4096 threads in all, and 3000 places need 6000, \
                 with one each to serve messages",
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
